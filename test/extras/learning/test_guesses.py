"""Guesses by a table and by a network."""

import subprocess
import sys
import warnings

import numpy as np
import pytest
from support.chains import (
    arm,
    joint_xml,
    limit_xml,
    pose_difference,
    robot_xml,
    rotation,
    snake,
    targets,
    within_limits,
)

import ik_service as iks
from ik_service import Robot
from ik_service.exceptions import ArgumentError, MissingExtraError
from ik_service.extras.learning import training
from ik_service.extras.learning.network import NetworkGuess
from ik_service.extras.learning.table import (
    manipulable_postures,
    sample_postures,
    TableGuess,
    train_table,
)
from ik_service.extras.learning.training import train_network, TrainingError

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
    table = train_table(arm('planar_6r'), 100)
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


def constant_network(chain, values):
    """A network that gives the same for every pose."""
    values = np.asarray(values)
    return NetworkGuess(
        chain, [(np.zeros((12, 3)), np.zeros(3)), (np.zeros((3, len(values))), values)]
    )


def test_layers_are_those_of_a_network_with_rectifiers():
    chain = arm('ur5e')
    rng = np.random.default_rng(2)
    W0, b0 = rng.normal(size=(12, 8)), rng.normal(size=8)
    W1, b1 = rng.normal(size=(8, 12)), rng.normal(size=12)
    (T,) = (chain.forward(q) for q in sample_postures(chain, 1, seed=3))
    values = np.maximum(T[:3].ravel() @ W0 + b0, 0.0) @ W1 + b1
    expected = chain.mid_range() + np.arctan2(values[:6], values[6:])
    network = NetworkGuess(chain, [(W0, b0), (W1, b1)])
    np.testing.assert_allclose(network.guess(T), expected, atol=1e-4)


def test_guesses_are_cut_to_narrower_limits():
    chain = arm('panda').with_limits(np.full(7, -10.0), [0.1, 0.1, 0.1, -2, 0.1, 0.1, 0.1])
    q = constant_network(chain, np.full(14, 3.0)).guess(np.eye(4))
    assert (q <= chain.upper).all()
    assert (q >= chain.lower).all()


@pytest.mark.parametrize(
    ('name', 'value'),
    [
        ('matrix0', np.zeros((11, 4))),
        ('vector0', np.zeros(3)),
        ('matrix1', np.zeros((4, 13))),
        ('matrix1', np.full((4, 12), np.nan)),
        ('layers', np.zeros(2)),
        ('layers', np.array(1)),
        ('layers', np.array(0)),
    ],
)
def test_arrays_that_do_not_fit_are_refused(name, value):
    chain = arm('ur5e')
    arrays = {
        'layers': np.array(2),
        'matrix0': np.zeros((12, 4)),
        'vector0': np.zeros(4),
        'matrix1': np.zeros((4, 12)),
        'vector1': np.zeros(12),
    }
    NetworkGuess.from_arrays(chain, arrays)
    with pytest.raises(ValueError, match=r'shape|NaN|layer'):
        NetworkGuess.from_arrays(chain, {**arrays, name: value})


def test_loading_imports_neither_scikit_learn_nor_a_solver():
    program = (
        'import sys\n'
        'from ik_service.extras.learning.guess_file import load_guess\n'
        'heavy = {"sklearn", "ik_service.solvers.solver"}\n'
        'sys.exit(", ".join(heavy & sys.modules.keys()) or 0)'
    )
    done = subprocess.run([sys.executable, '-c', program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_joints_that_slide_and_few_samples_do_without_a_warning():
    pytest.importorskip('sklearn')
    chain = snake(6, seed=3, prismatic=0.5)
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        network = train_network(chain, 150)
    guesses = network.guess_many(np.array(targets(chain, 10, seed=3)))
    assert np.isfinite(guesses).all()


def test_training_fails_for_a_chain_that_cannot_be_solved(monkeypatch):
    pytest.importorskip('sklearn')

    def unsolved(chain, targets, *_, **__):
        far = np.tile(np.eye(4), (len(targets), 1, 1))
        far[:, 0, 3] = 100.0
        return iks.solve_ik_batch(chain, far)

    monkeypatch.setattr(training, 'solve_ik_batch', unsolved)
    with pytest.raises(TrainingError, match='only 0 of 200'):
        train_network(arm('planar_6r'), 200, seed=0)


def test_missing_scikit_learn_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, 'sklearn.neural_network', None)
    with pytest.raises(MissingExtraError, match=r'scikit-learn .* pip install .*\[learn\]'):
        train_network(arm('planar_6r'), 200)
