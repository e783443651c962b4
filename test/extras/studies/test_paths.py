"""The study of whole paths: its paths, its methods, and its files."""

from types import SimpleNamespace
from xml.etree import ElementTree

import numpy as np
import pytest
from support.chains import joint_xml, limit_xml, planar, robot_xml

import ik_service as iks
from ik_service.common.resources import urdf_path
from ik_service.extras.studies.arms import load_arm
from ik_service.extras.studies.paths import (
    AbsentPeerError,
    FoundPath,
    path_arms,
    plain_urdf,
    poses_along,
    revolute_path,
    stepwise_paths,
    trac_ik_solver,
    trac_ik_target,
    wandering_path,
    whole_path,
)

pytest.importorskip('matplotlib', reason='the figure needs Matplotlib')

from matplotlib.image import imread

from ik_service.cli import programs
from ik_service.extras.studies.tables import read_csv


def test_paths_stay_within_limits_and_are_smooth():
    chain = load_arm('panda')
    path = wandering_path(chain, 3, 500, 10)
    assert path.shape == (500, 7)
    assert (path >= chain.lower).all()
    assert (path <= chain.upper).all()
    assert np.ptp(path, axis=0).min() > 0.5
    assert np.abs(np.diff(path, axis=0)).max() < 0.06
    assert np.abs(np.diff(path, 2, axis=0)).max() < 0.01
    np.testing.assert_array_equal(path, wandering_path(chain, 3, 500, 10))
    assert np.abs(path - wandering_path(chain, 4, 500, 10)).max() > 0.5
    np.testing.assert_array_equal(poses_along(chain, path)[7], chain.forward(path[7]))


def test_jumps_and_fraction_of_a_course():
    q = np.array([[0.0, 0.0], [0.05, 0.0], [np.nan, np.nan], [0.05, 0.2], [0.05, 0.25]])
    found = FoundPath('method', q, 1.0)
    np.testing.assert_allclose(found.motions, [0.0, 0.05, 0.0, 0.2, 0.05])
    assert found.jumps.tolist() == [3]
    assert found.fraction == 0.4
    assert FoundPath('method', q[:2], 1.0).fraction == 1.0


def test_pose_after_pose_jumps_where_the_whole_path_does_not():
    chain = load_arm('panda')
    truth = wandering_path(chain, 1, 600, 12)
    targets = poses_along(chain, truth)
    whole = whole_path(chain, targets, truth[0])
    found_paths, absent = stepwise_paths(chain, urdf_path('panda'), targets, truth[0])
    assert whole.fraction == 1.0
    assert len(whole.jumps) == 0
    assert found_paths[0].solved.all()
    assert {found.method for found in found_paths} | set(absent) == {
        'levenberg_marquardt', 'roboticstoolbox', 'TRAC-IK'
    }  # fmt: skip


def test_the_panda_is_there_without_other_arms(tmp_path):
    arms, missing = path_arms(tmp_path)
    assert [arm.name for arm in arms] == ['panda']
    assert 'there is no' in missing


def test_arms_of_seven_joints_in_a_folder(tmp_path):
    for name in ('seven', 'six'):
        joints = range(7 if name == 'seven' else 6)
        (tmp_path / f'{name}.urdf').write_text(
            '<robot name="r">'
            + ''.join(f'<link name="l{i}"/>' for i in (*joints, len(joints)))
            + ''.join(
                f'<joint name="j{i}" type="revolute"><parent link="l{i}"/>'
                f'<child link="l{i + 1}"/><axis xyz="0 0 1"/>'
                '<limit lower="-1" upper="1" velocity="1" effort="1"/></joint>'
                for i in joints
            )
            + '</robot>'
        )
    (tmp_path / 'chains.yaml').write_text(
        '- {name: seven, urdf: seven.urdf, base_link: l0, tip_link: l7}\n'
        '- {name: six, urdf: six.urdf, base_link: l0, tip_link: l6}\n'
    )
    arms, missing = path_arms(tmp_path)
    assert [arm.name for arm in arms] == ['panda', 'seven']
    assert missing == ''


def test_descriptions_for_others_have_no_soft_limits(tmp_path):
    path = tmp_path / 'arm.urdf'
    path.write_text(
        '<robot><joint><safety_controller/><limit/></joint><link><visual/></link></robot>'
    )
    root = ElementTree.fromstring(plain_urdf(path))
    assert {element.tag for element in root.iter()} == {'robot', 'joint', 'limit', 'link'}


def test_sliding_joints_are_not_for_others():
    assert len(revolute_path(planar(1.0, 1.0)).motions) == 2
    inner = limit_xml(-1, 1)
    xml = robot_xml(
        ['a', 'b'], [joint_xml('j', 'prismatic', 'a', 'b', axis=(1, 0, 0), inner=inner)]
    )
    with pytest.raises(AbsentPeerError, match='joints all turn'):
        revolute_path(iks.Robot.from_urdf(xml).chain('a', 'b'))


def test_answers_of_trac_ik():
    """Its first number tells failure; the others are the joints."""
    asked = []

    def ik(solver, seed, *target):
        asked.append(target)
        return np.array([-1.0, 0.0, 0.0]) if seed[0] else np.array([0.0, 0.3, 0.4])

    library = SimpleNamespace(
        TRAC_IK=lambda *_: None, ik=ik, SolveType=SimpleNamespace(Speed=0, Distance=1)
    )
    solve = trac_ik_solver(library, '<robot/>', ('a', 'b'))
    T = np.eye(4)
    T[:3, 3] = 1.0, 2.0, 3.0
    np.testing.assert_array_equal(solve(trac_ik_target(T), np.zeros(2)), [0.3, 0.4])
    assert solve(trac_ik_target(T), np.ones(2)) is None
    assert asked[0] == (1.0, 2.0, 3.0, 0.0, 0.0, 0.0, 1.0)


@pytest.mark.filterwarnings('error::UserWarning', 'error::RuntimeWarning')
def test_figure_and_tables(tmp_path, capsys):
    words = ['paths', '--output', tmp_path, '--poses', '300', '--legs', '6', '--robots', tmp_path]
    assert programs.ik_study([str(word) for word in words]) == 0
    out = capsys.readouterr().out
    assert 'other arms are skipped' in out
    rows = {row['method']: row for row in read_csv(tmp_path / 'paths-summary.csv')}
    assert rows['solve_path']['jumps'] == 0
    assert rows['solve_path']['without_jump_up_to'] == 1
    assert rows['levenberg_marquardt']['poses'] == 300
    joints = read_csv(tmp_path / 'paths.csv')
    assert {row['method'] for row in joints} == set(rows)
    image = imread(tmp_path / 'paths.png')
    for part in np.array_split(image[:, :, :3], 2, axis=1):
        assert (part.min(axis=2) < 0.5).mean() > 0.002


def test_counts_have_to_be_positive(capsys):
    with pytest.raises(SystemExit):
        programs.ik_study(['paths', '--poses', '0'])
    assert 'a whole number of at least 1' in capsys.readouterr().err
