"""Tests of trajectories: their interpolation, and what is none."""

import numpy as np
import pytest

import ik_service as iks
from ik_service.exceptions import TrajectoryError

NAMES = ('a', 'b')
TIMES = [0.5, 1.0, 2.5]


def polynomial(degree: int, seed: int = 3) -> np.ndarray:
    """Coefficients (degree + 1, 2) of a motion of both joints."""
    return np.random.default_rng(seed).normal(size=(degree + 1, 2))


def values(coefficients: np.ndarray, t: float) -> list[np.ndarray]:
    """Position, velocity and acceleration (2,) of a motion."""
    series = np.polynomial.Polynomial
    columns = [series(column) for column in coefficients.T]
    return [np.array([column.deriv(d)(t) for column in columns]) for d in range(3)]


@pytest.mark.parametrize('degree', [1, 3, 5])
def test_points_with_more_derivatives_make_polynomials_of_a_higher_degree(degree: int) -> None:
    """Linear, cubic and quintic motions are given back exactly, with their derivatives."""
    motion = polynomial(degree)
    points = [np.array([values(motion, t)[d] for t in TIMES]) for d in range(3)]
    given = points[: (degree + 1) // 2]
    trajectory = iks.JointTrajectory(NAMES, TIMES, *given)
    for t in (0.5, 0.7, 1.0, 1.3, 2.5):
        for found, wanted in zip(trajectory.at(t), values(motion, t), strict=True):
            np.testing.assert_allclose(found, wanted, atol=1e-9)
    assert trajectory.duration == 2.5
    assert not trajectory.positions.flags.writeable


def test_rests_before_the_first_and_after_the_last_point() -> None:
    trajectory = iks.JointTrajectory(NAMES, [1, 2], [[1, 2], [3, 4]], [[1, 1], [1, 1]])
    for t, q in ((0.0, [1, 2]), (3.0, [3, 4]), (-np.inf, [1, 2])):
        position, velocity, acceleration = trajectory.at(t)
        assert list(position) == q
        assert not velocity.any()
        assert not acceleration.any()
    with pytest.raises(TrajectoryError, match='NaN'):
        trajectory.at(np.nan)


def test_one_point_is_a_place_to_rest() -> None:
    trajectory = iks.JointTrajectory(NAMES, [2.0], [[1, 2]])
    assert list(trajectory.at(2.0)[0]) == [1, 2]
    assert not trajectory.at(2.0)[1].any()


@pytest.mark.parametrize(
    ('change', 'message', 'point', 'joint'),
    [
        ({'times': [0, 1, 1]}, 'have to increase', 2, ''),
        ({'times': [0, 2, 1]}, 'have to increase', 2, ''),
        ({'times': [-1, 1, 2]}, '0 or more', 0, ''),
        ({'times': [0, np.nan, 2]}, '0 or more', 1, ''),
        ({'times': [], 'positions': np.zeros((0, 2))}, 'no points', None, ''),
        ({'times': [[0, 1, 2]]}, r'\(k,\) is right', None, ''),
        ({'times': 'soon'}, 'no array of numbers', None, ''),
        ({'positions': [[0, 0], [0, np.inf], [0, 0]]}, 'position inf', 1, 'b'),
        ({'positions': [[0, 0, 0]] * 3}, r'\(3, 2\) is right', None, ''),
        ({'positions': None}, 'no positions', None, ''),
        ({'velocities': [[0, 0]] * 2}, r'velocities of shape \(2, 2\)', None, ''),
        ({'velocities': [[np.nan, 0]] * 3}, 'velocity nan', 0, 'a'),
        ({'accelerations': [[0, 0]] * 3}, 'no velocities', None, ''),
        ({'joint_names': ('a', 'a')}, 'twice', None, 'a'),
        ({'joint_names': 'ab'}, 'one text', None, ''),
        ({'joint_names': ()}, 'no joints', None, ''),
    ],
)
def test_what_is_no_trajectory_is_refused(
    change: dict, message: str, point: int | None, joint: str
) -> None:
    arguments = {'joint_names': NAMES, 'times': [0, 1, 2], 'positions': [[0, 0]] * 3}
    with pytest.raises(TrajectoryError, match=message) as caught:
        iks.JointTrajectory(**(arguments | change))
    assert (caught.value.point, caught.value.joint) == (point, joint)


def test_joints_come_in_the_order_of_the_arm() -> None:
    trajectory = iks.JointTrajectory(NAMES, [0, 1], [[0, 1], [2, 3]], [[4, 5], [6, 7]])
    other = trajectory.of_joints(('b', 'a'))
    assert other.positions.tolist() == [[1, 0], [3, 2]]
    assert other.velocities.tolist() == [[5, 4], [7, 6]]
    assert trajectory.of_joints(NAMES) is trajectory
    with pytest.raises(TrajectoryError, match='does not name') as caught:
        trajectory.of_joints(('a', 'b', 'c'))
    assert caught.value.joint == 'c'
    with pytest.raises(TrajectoryError, match='another joint') as caught:
        trajectory.of_joints(('a',))
    assert caught.value.joint == 'b'
