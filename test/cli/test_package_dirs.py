"""Programs for which a xacro file names a package in a folder of the user's."""

import pytest

pytest.importorskip('xacro', reason='the extra xacro is not installed')

from argparse import ArgumentParser

from ik_service.cli.demo import main as demo
from ik_service.exceptions import UrdfError
from ik_service.extras.learning import program as train
from ik_service.extras.reach import study


@pytest.fixture
def urdf(tmp_path):
    head = '<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro">'
    hand = tmp_path / 'ws' / 'hand-main'
    hand.mkdir(parents=True)
    (hand / 'package.xml').write_text('<package><name>hand</name></package>')
    (hand / 'hand.xacro').write_text(
        f"""{head}<link name="b"/><joint name="j" type="continuous">
        <parent link="a"/><child link="b"/></joint></robot>"""
    )
    file = tmp_path / 'arm' / 'arm.urdf.xacro'
    file.parent.mkdir()
    file.write_text(
        f'{head}<link name="a"/><xacro:include filename="$(find hand)/hand.xacro"/></robot>'
    )
    return file


def chain_of_train(words):
    return train._chain(train._parser().parse_args(words))


def chain_of_demo(words):
    return demo._robot(demo._parser().parse_args(['--urdf', *words]))[1]


def chain_of_reach(words):
    parser = ArgumentParser()
    study.add_arguments(parser)
    arguments = parser.parse_args(['--urdf', *words])
    return study._spec(arguments, arguments.urdf, None, None).build().chain


@pytest.mark.parametrize('chain', [chain_of_train, chain_of_demo, chain_of_reach])
def test_the_option_names_where_packages_lie(chain, urdf, tmp_path):
    folders = f'{tmp_path / "none"}:{tmp_path / "ws"}'
    found = chain([str(urdf), '--package-dirs', folders])
    assert found.joint_names == ('j',)
    assert found.robot.package_dirs == (tmp_path / 'none', tmp_path / 'ws')
    with pytest.raises(UrdfError, match="package 'hand' is not found"):
        chain([str(urdf)])
