"""Guesses by a table of postures."""

import subprocess
import sys

import numpy as np
import pytest
from support.chains import (
    arm,
    joint_xml,
    limit_xml,
    pose_difference,
    robot_xml,
    rotation,
    targets,
    within_limits,
)

from ik_service import Robot
from ik_service.exceptions import ArgumentError, MissingExtraError
from ik_service.extras.learning.table import manipulable_postures, sample_postures, TableGuess

pytest.importorskip('scipy')


def test_postures_fill_the_limits_and_are_repeatable():
    chain = arm('panda')
    postures = sample_postures(chain, 4000, seed=3)
    assert all(within_limits(chain, q) for q in postures)
    spread = (postures.max(axis=0) - postures.min(axis=0)) / (chain.upper - chain.lower)
    assert (spread > 0.99).all()
    np.testing.assert_array_equal(postures, sample_postures(chain, 4000, seed=3))
    assert not np.array_equal(postures, sample_postures(chain, 4000, seed=4))


def test_manipulable_postures_are_the_better_third():
    chain = arm('panda')

    def measure(postures):
        jacobians = np.array([chain.jacobian(q) for q in postures])
        return np.sqrt(np.linalg.det(jacobians @ np.swapaxes(jacobians, 1, 2)))

    drawn = measure(sample_postures(chain, 900, seed=8))
    kept = measure(manipulable_postures(chain, 300, seed=8))
    assert len(kept) == 300
    assert np.median(kept) > np.percentile(drawn, 75)
    assert kept.min() > np.percentile(drawn, 25)


POSITION_ONLY = (1, 1, 1, 0, 0, 0)


def test_the_pose_of_a_row_is_found():
    chain = arm('panda')
    postures = sample_postures(chain, 500, seed=1)
    table = TableGuess(chain, postures)
    for q in postures[:20]:
        distance, angle = pose_difference(
            chain.forward(table.guess(chain.forward(q))), chain.forward(q)
        )
        assert distance < 1e-9
        assert angle < 1e-7


def test_guess_is_closer_to_the_target_than_the_nearest_row():
    chain = arm('panda')
    (q,) = sample_postures(chain, 1, seed=2)
    table = TableGuess(chain, [q])
    target = chain.forward(q + 0.02)
    before = pose_difference(chain.forward(q), target)
    after = pose_difference(chain.forward(table.guess(target)), target)
    assert after[0] < 0.2 * before[0]
    assert after[1] < 0.2 * before[1]


def test_row_is_chosen_by_its_error_after_the_step_within_limits():
    joints = [
        joint_xml('j1', 'revolute', 'base', 'one', inner=limit_xml(-1.0, 1.0)),
        joint_xml('j2', 'revolute', 'one', 'two', (0.5, 0, 0), inner=limit_xml(-2.0, 2.0)),
        joint_xml('end', 'fixed', 'two', 'tip', (0.5, 0, 0)),
    ]
    chain = Robot.from_urdf(robot_xml(['base', 'one', 'two', 'tip'], joints)).chain()
    held, free = np.array([1.0, -0.9]), np.array([0.4, 0.3])
    target = chain.forward([0.32, 0.78])
    position = TableGuess(chain, [held, free], POSITION_ONLY)
    target[:3, 3] = chain.forward(held)[:3, 3] + [-0.02, 0.03, 0.0]  # j1 would have to go on
    nearest = np.linalg.norm(chain.forward(free)[:3, 3] - target[:3, 3])
    assert nearest > np.linalg.norm(chain.forward(held)[:3, 3] - target[:3, 3])
    q = position.guess(target)
    assert abs(q[0] - free[0]) < abs(q[0] - held[0])


def test_position_only_leaves_the_orientation_out():
    chain = arm('ur5e')
    postures = sample_postures(chain, 2000, seed=3)
    whole = TableGuess(chain, postures)
    position = TableGuess(chain, postures, POSITION_ONLY)
    poses = np.array(targets(chain, 100, seed=4))

    def distances(table):
        reached = [chain.forward(q)[:3, 3] for q in table.guess_many(poses)]
        return np.linalg.norm(np.array(reached) - poses[:, :3, 3], axis=1)

    assert np.median(distances(position)) < 0.3 * np.median(distances(whole))
    turned = poses.copy()
    turned[:, :3, :3] = rotation((1, 2, 3), 1.0)
    np.testing.assert_allclose(position.guess_many(turned), position.guess_many(poses), atol=1e-9)


def test_orientation_only_leaves_the_position_out():
    chain = arm('ur5e')
    table = TableGuess(chain, sample_postures(chain, 500, seed=5), (0, 0, 0, 1, 1, 1))
    for T in targets(chain, 10, seed=6):
        moved = T.copy()
        moved[:3, 3] += 0.5
        np.testing.assert_allclose(table.guess(moved), table.guess(T), atol=1e-9)


def test_rows_outside_the_limits_are_brought_inside():
    chain = arm('panda')
    narrow = chain.with_limits(np.maximum(chain.lower, -0.5), np.minimum(chain.upper, 0.5))
    table = TableGuess(narrow, sample_postures(chain, 300, seed=7))
    for T in targets(chain, 20, seed=8):
        assert within_limits(narrow, table.guess(T))


def test_an_arm_whose_tip_stays_in_place():
    joints = [joint_xml('j', 'continuous', 'base', 'tip')]
    chain = Robot.from_urdf(robot_xml(['base', 'tip'], joints)).chain()
    table = TableGuess(chain, np.linspace(-3, 3, 50)[:, None])
    target = chain.forward([1.234])
    assert pose_difference(chain.forward(table.guess(target)), target)[1] < 0.01


@pytest.mark.parametrize('value', [np.nan, np.inf])
def test_a_target_that_is_not_finite_is_refused(value):
    chain = arm('planar_6r')
    table = TableGuess(chain, sample_postures(chain, 100, seed=9))
    target = np.eye(4)
    target[1, 3] = value
    with pytest.raises(ArgumentError, match='NaN or infinity'):
        table.guess(target)
    with pytest.raises(ArgumentError, match=r'targets\[1\]'):
        table.guess_many(np.array([np.eye(4), target]))


def test_missing_scipy_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, 'scipy.spatial', None)
    with pytest.raises(MissingExtraError, match=r'scipy .* pip install .*\[learn\]'):
        TableGuess(arm('planar_6r'), np.zeros((1, 6)))


def test_loading_imports_no_solver():
    program = (
        'import sys\n'
        'import ik_service.extras.learning.table_file\n'
        'sys.exit("ik_service.solvers.solver" in sys.modules)'
    )
    done = subprocess.run([sys.executable, '-c', program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def errors(chain, postures, poses):
    """Distances [m] and angles [rad] from the poses, one row each."""
    return np.array(
        [pose_difference(chain.forward(q), T) for q, T in zip(postures, poses, strict=True)]
    )


def test_guesses_are_closer_than_the_middle_within_limits_and_rows_of_many():
    chain = arm('ur5e')
    table = TableGuess(chain, sample_postures(chain, 2000, seed=30))
    poses = np.array(targets(chain, 200, seed=31))
    guesses = table.guess_many(poses)
    assert guesses.shape == (200, chain.n)
    assert all(within_limits(chain, q) for q in guesses)
    guessed = np.median(errors(chain, guesses, poses), axis=0)
    middle = np.median(errors(chain, [chain.mid_range()] * 200, poses), axis=0)
    assert (guessed < 0.5 * middle).all()
    # Products of matrices of other sizes are summed up in another order.
    np.testing.assert_allclose([table.guess(T) for T in poses[:20]], guesses[:20], atol=1e-4)
