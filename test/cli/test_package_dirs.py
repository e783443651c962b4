"""Programs for which a xacro file names a package in a folder of the user's."""

import pytest

pytest.importorskip('xacro', reason='the extra xacro is not installed')

from ik_service.cli import programs


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


PROGRAMS = {
    'ik_demo': ('ik_demo', '--once', '--urdf'),
    'ik_study': ('ik_study', 'reach', '--urdf'),
    'ik_train': ('ik_train',),
}


@pytest.mark.parametrize('words', PROGRAMS.values(), ids=PROGRAMS.keys())
def test_the_option_names_where_packages_lie(words, urdf, tmp_path, capsys):
    if 'ik_demo' in words:
        pytest.importorskip('rclpy', reason='ROS 2 is not installed')
    program, *words = words
    words = [*words, str(urdf), '--tip-link', 'nose']
    folders = f'{tmp_path / "none"}:{tmp_path / "ws"}'
    assert getattr(programs, program)([*words, '--package-dirs', folders]) != 0
    assert "unknown link 'nose'; valid: a, b" in capsys.readouterr().err
    assert getattr(programs, program)(words) != 0
    assert "package 'hand' is not found" in capsys.readouterr().err
