"""Trajectories: their interpolation, and the check against limits at and between their points."""

import numpy as np
import pytest

import ik_service as iks
from ik_service.exceptions import ArgumentError, TrajectoryError
from ik_service.paths.trajectory.limit_check import check_limits, TrajectoryLimits

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
    assert list(trajectory.at(np.array(3))[0]) == [3, 4]
    for wrong in ([0.5, 1.5], 'soon', None, 1j):
        with pytest.raises(ArgumentError, match=r'^t: '):
            trajectory.at(wrong)


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


LIMITS = TrajectoryLimits(
    np.array([-1.0, -np.inf]), np.array([1.0, np.inf]), np.array([2.0, 1.0]), np.array([5.0, 9.0])
)


def trajectory(positions, velocities=None, accelerations=None):
    times = np.arange(len(positions), dtype=float)
    return iks.JointTrajectory(NAMES, times, positions, velocities, accelerations)


def zeros(k):
    return np.zeros((k, 2))


GOOD = {
    'at rest': trajectory(zeros(2)),
    'one point': trajectory(zeros(1)),
    'on the limit': trajectory([[1.0, 0.0], [1.0, 0.9]]),
    'far on an unlimited joint': trajectory([[0.0, 100.0], [0.0, 100.5]]),
    'smooth': trajectory([[0.0, 0.0], [0.5, 0.5]], zeros(2), zeros(2)),
}


@pytest.mark.parametrize('name', GOOD)
def test_what_keeps_the_limits_passes(name):
    check_limits(GOOD[name], LIMITS)


def test_the_first_point_and_joint_beyond_a_limit_are_named():
    overshooting = trajectory([[0.9, 0.0], [0.9, 0.0], [0.9, 0.0]], [[0, 0], [1.5, 0], [0, 0]])
    cases = [
        (trajectory([[0, 0], [1.2, 0], [2.0, 0]]), 'position 1.2 is .* 1$', 1, 'a'),
        (trajectory([[0, 0], [-1.2, 0]]), 'position -1.2 is .* -1$', 1, 'a'),
        (trajectory(zeros(2), [[0, 0], [0, 1.1]]), 'velocity 1.1 .* 1$', 1, 'b'),
        (trajectory(zeros(2), zeros(2), [[-6, 0], [0, 0]]), 'acceleration -6 .* -5$', 0, 'a'),
        (trajectory([[0, 0], [0, 1.5]]), 'velocity 1.5 .* between .* at 1 s', 1, 'b'),
        (overshooting, 'position 1.122 is .* between', 2, 'a'),
        (trajectory([[0, 0], [0, 0.9]], [[0, 0], [0, 0]]), 'velocity 1.2.* between', 1, 'b'),
        (trajectory([[-1, 0], [1, 0]], zeros(2)), 'velocity 2.6.* between', 1, 'a'),
        (trajectory(zeros(3), [[0, 0], [0, 0], [0.1, 0]]), 'to end at rest', 2, 'a'),
    ]
    for wrong, message, point, joint in cases:
        with pytest.raises(TrajectoryError, match=message) as caught:
            check_limits(wrong, LIMITS)
        assert (caught.value.point, caught.value.joint) == (point, joint)


@pytest.mark.parametrize(('beyond', 'word'), [(1.01e-3, 'between'), (0.99e-3, '')])
@pytest.mark.parametrize('side', [1.0, -1.0])
@pytest.mark.parametrize('quintic', [False, True])
def test_positions_between_points_count_wherever_they_are(quintic, side, beyond, word):
    """The top of a parabola, at no sample; as a cubic, and as a quintic."""
    top, bend, times = 0.3141, 1.0, np.array([0.0, 1.0])
    q = side * (1.0 + beyond - 0.5 * bend * (times - top) ** 2)
    velocity = -side * bend * (times - top)
    limits = TrajectoryLimits(*(np.full(1, x) for x in (-1.0, 1.0, 9.0, 9.0)))
    # A second segment comes to rest inside.
    points = [
        (0.0, q[0], velocity[0], -side),
        (1.0, q[1], velocity[1], -side),
        (3.0, 0.0, 0.0, 0.0),
    ]
    times, *values = np.array(points).T
    columns = [column[:, None] for column in values[: 3 if quintic else 2]]
    made = iks.JointTrajectory(('a',), times, *columns)
    if not word:
        check_limits(made, limits)
        return
    with pytest.raises(TrajectoryError, match=r'position -?1\.001\d* is beyond .* between'):
        check_limits(made, limits)


def test_points_may_be_beyond_a_position_limit_by_a_thousandth_only():
    check_limits(trajectory([[1.0 + 9e-4, 0.0], [0.5, 0.0]]), LIMITS)
    with pytest.raises(TrajectoryError, match=r'position 1\.002 is beyond the limit 1$'):
        check_limits(trajectory([[1.002, 0.0], [0.5, 0.0]]), LIMITS)


def test_accelerations_between_points_count():
    bounds = TrajectoryLimits(*(np.full(2, x) for x in (-9.0, 9.0, 9.0, 1.0)))
    with pytest.raises(TrajectoryError, match=r'acceleration .* between'):
        check_limits(trajectory([[0, 0], [0.5, 0]], zeros(2), zeros(2)), bounds)


def test_a_joint_that_must_not_move_may_rest():
    fixed = TrajectoryLimits(LIMITS.lower, LIMITS.upper, np.array([2.0, 0.0]), LIMITS.acceleration)
    check_limits(trajectory([[0, 0.3], [0.5, 0.3]]), fixed)
    with pytest.raises(TrajectoryError, match=r"joint 'b'.* beyond the limit"):
        check_limits(trajectory([[0, 0.3], [0.5, 0.4]]), fixed)


def test_a_late_fault_among_many_points_is_found():
    positions = np.zeros((100_000, 2))
    positions[90_000, 0] = 1.5
    with pytest.raises(TrajectoryError) as caught:
        check_limits(trajectory(positions), LIMITS)
    assert caught.value.point == 90_000
    velocities = np.zeros_like(positions)
    velocities[70_000, 1] = 3.0
    with pytest.raises(TrajectoryError) as caught:
        check_limits(trajectory(np.zeros_like(positions), velocities), LIMITS)
    assert caught.value.point == 70_000


def test_points_can_be_counted_from_another_number():
    with pytest.raises(TrajectoryError) as caught:
        check_limits(trajectory([[0, 0], [1.2, 0]]), LIMITS, first=-1)
    assert caught.value.point == 0
