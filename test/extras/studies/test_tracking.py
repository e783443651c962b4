"""Studies of paths and of tracking."""

from argparse import ArgumentParser
import math

import numpy as np
import pytest

from ik_service.exceptions import ArgumentError, MissingExtraError
from ik_service.extras.studies import tracking
from ik_service.extras.studies.arms import load_arm
from ik_service.extras.studies.paths import (
    FoundPath,
    stepwise_path,
    wandering_path,
    whole_path,
)
from ik_service.extras.studies.tables import read_csv
from ik_service.extras.studies.tracking import Circle, ClosedLoop
from ik_service.kinematics.link_poses import tip_poses

pytest.importorskip('matplotlib', reason='the figure needs Matplotlib')

from matplotlib.image import imread

from ik_service.cli import programs

READY = np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785])
UR_READY = np.array([0.0, -1.571, 1.571, -1.571, -1.571, 0.0])


@pytest.fixture
def needs_mujoco():
    pytest.importorskip('mujoco', reason='the extra sim is not installed')


def arguments(tmp_path, *options):
    parser = ArgumentParser()
    tracking.add_arguments(parser)
    parsed = parser.parse_args(options)
    parsed.output = tmp_path
    return parsed


@pytest.fixture(scope='module')
def chain():
    return load_arm('panda')


def test_the_circle_is_a_circle_that_keeps_its_orientation(chain):
    circle = Circle(chain.forward(READY), 0.1, 6.0)
    times = np.linspace(0.0, 6.0, 601)
    poses = np.array([circle.pose(time) for time in times])
    assert poses[0] == pytest.approx(chain.forward(READY))
    assert poses[-1] == pytest.approx(poses[0])
    centre = poses[:-1, :3, 3].mean(axis=0)
    assert np.linalg.norm(poses[:, :3, 3] - centre, axis=1) == pytest.approx(0.1)
    way = np.linalg.norm(np.diff(poses[:, :3, 3], axis=0), axis=1).sum()
    assert way == pytest.approx(2.0 * math.pi * 0.1, rel=1e-4)
    assert (poses[:, :3, :3] == poses[0, :3, :3]).all()


@pytest.mark.parametrize(
    ('name', 'start', 'engine'), [('ur5e', UR_READY, 'first_order'), ('panda', READY, 'mujoco')]
)
def test_both_arms_track_as_they_should(name, start, engine, request):
    """The bounds of the contract: 1 mm and 0.2° at rest, 5 mm along the circle."""
    if engine == 'mujoco':
        request.getfixturevalue('needs_mujoco')
    chain = load_arm(name)
    run = ClosedLoop(chain, start, engine, velocity_scaling=0.5)
    target = chain.forward(start)
    target[:3, 3] += (0.15, 0.1, -0.1)
    held = run.hold(target)
    assert held.position_error.max() < 1e-3
    assert held.orientation_error.max() < math.radians(0.2)
    run.hold(chain.forward(start))
    circle = run.follow(Circle(chain.forward(start), 0.1, 6.0))
    assert len(circle.time) == 600
    assert 5e-4 < circle.position_error.max() < 5e-3
    assert circle.position_error == pytest.approx(
        np.linalg.norm(circle.tip - circle.target, axis=1)
    )


def test_physics_are_at_work(chain, needs_mujoco):
    """Without gravity compensation the arm hangs lower, by more than the bound."""
    target = chain.forward(READY)
    held = ClosedLoop(chain, READY, 'mujoco', 0.0).hold(target)
    assert held.position_error.min() > 1e-3
    assert (held.tip[:, 2] < target[2, 3]).all()


def test_a_pose_out_of_reach_is_said(chain, monkeypatch):
    monkeypatch.setattr(tracking, '_PATIENCE', 2.0)  # time to get as near as it can [s]
    target = chain.forward(READY)
    target[0, 3] += 2.0
    with pytest.raises(ArgumentError, match='target: not reached: the target cannot be reached'):
        ClosedLoop(chain, READY, 'first_order').hold(target)


def test_it_prints_the_figures_and_writes_what_it_drew(tmp_path, capsys):
    pytest.importorskip('matplotlib', reason='the extra plot is not installed')
    options = ('--engine', 'first_order', '--duration', '2', '--radius', '0.05')
    files = tracking.run(arguments(tmp_path, *options))
    assert [file.name for file in files] == [
        'tracking.png',
        'tracking.csv',
        'tracking-summary.csv',
    ]
    assert all(file.stat().st_size > 100 for file in files)
    summary, other = read_csv(files[2])
    assert (summary['arm'], other['arm']) == ('panda', 'ur5e')
    curve = [row for row in read_csv(files[1]) if row['arm'] == 'panda']
    assert summary['engine'] == 'first_order'
    assert max(row['position_error'] for row in curve) <= summary['circle_largest_error'] + 1e-9
    assert len(curve) == 40
    assert f'{summary["circle_largest_error"]:.4g}' in capsys.readouterr().out


def test_without_mujoco_the_command_for_it_is_named(chain, monkeypatch):
    import sys

    for name in [*sys.modules]:
        if name.startswith('ik_service.sim.mujoco'):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, 'mujoco', None)
    with pytest.raises(MissingExtraError, match=r"pip install 'ik_service\[sim\]'"):
        ClosedLoop(chain, READY, 'mujoco')


@pytest.mark.parametrize('value', ['0', '-1', 'nan', 'wide'])
def test_a_circle_that_cannot_be_is_refused(tmp_path, value, capsys):
    with pytest.raises(SystemExit):
        arguments(tmp_path, '--radius', value)
    assert 'a number above 0 is needed' in capsys.readouterr().err


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
    targets = tip_poses(chain, truth)
    whole = whole_path(chain, targets, truth[0])
    stepwise = stepwise_path(chain, targets, truth[0])
    assert whole.fraction == 1.0
    assert len(whole.jumps) == 0
    assert stepwise.solved.all()
    assert len(stepwise.jumps) > 0


@pytest.mark.filterwarnings('error::UserWarning', 'error::RuntimeWarning')
def test_figure_and_tables(tmp_path, capsys):
    words = ['paths', '--output', tmp_path, '--poses', '300', '--legs', '6']
    assert programs.ik_study([str(word) for word in words]) == 0
    assert 'without_jump_up_to' in capsys.readouterr().out
    rows = {row['method']: row for row in read_csv(tmp_path / 'paths-summary.csv')}
    assert rows['solve_path']['without_jump_up_to'] == 1
    assert rows['levenberg_marquardt']['poses'] == 300
    joints = read_csv(tmp_path / 'paths.csv')
    assert {row['method'] for row in joints} == set(rows)
    image = imread(tmp_path / 'paths.png')
    assert (image[:, :, :3].min(axis=2) < 0.5).mean() > 0.002


def test_steps_of_which_none_arrives_are_drawn(tmp_path):
    assert programs.ik_study(['step-size', '--iterations', '1', '--output', str(tmp_path)]) == 0
    assert (tmp_path / 'step-size.png').exists()


@pytest.mark.parametrize(
    'words',
    [
        'paths --poses 1',
        'convergence --poses -1',
        'joint-limits --poses 0',
        'step-size --iterations 0',
        'unreachable --iterations 100001',
        'tracking --duration 1e-9',
    ],
)
def test_numbers_of_which_nothing_would_come_are_wrong_commands(words, capsys):
    with pytest.raises(SystemExit) as ending:
        programs.ik_study(words.split())
    assert ending.value.code == 2
    assert words.split()[-1] in capsys.readouterr().err.splitlines()[-1]
