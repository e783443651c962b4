"""Trajectories of messages as other clients send them: points without some of their fields."""

import numpy as np
import pytest
from support.ros.cells import READY
from support.ros.trajectories import AWAY, message

from ik_service.exceptions import TrajectoryError
from ik_service.ros.capabilities.trajectory_goals import smooth_slopes, trajectory_from

TIMES = [0.0, 0.5, 1.3, 2.0, 2.4]


def points(seed=0):
    rng = np.random.default_rng(seed)
    return READY + np.cumsum(rng.uniform(-0.2, 0.2, (5, 7)), axis=0)


def test_velocities_that_are_missing_at_the_ends_are_0_and_the_others_stay():
    velocities = [[], *np.full((3, 7), 0.1), []]
    trajectory = trajectory_from(message(TIMES, points(), velocities))
    np.testing.assert_array_equal(trajectory.velocities[[0, -1]], 0.0)
    np.testing.assert_array_equal(trajectory.velocities[1:4], 0.1)


@pytest.mark.parametrize('seed', range(10))
def test_between_points_without_velocities_nothing_overshoots(seed):
    q = points(seed)
    velocities = [np.zeros(7), [], [], [], np.zeros(7)]
    trajectory = trajectory_from(message(TIMES, q, velocities))
    for i in range(4):
        low, high = np.minimum(q[i], q[i + 1]), np.maximum(q[i], q[i + 1])
        for t in np.linspace(TIMES[i], TIMES[i + 1], 30):
            there = trajectory.at(t)[0]
            assert (there >= low - 1e-9).all()
            assert (there <= high + 1e-9).all()


def test_on_a_straight_line_at_constant_speed_the_velocity_is_that():
    steps = np.array([0.5, 0.2, 1.0])
    q = np.cumsum(np.append(0.0, 0.3 * steps))[:, None]
    np.testing.assert_allclose(smooth_slopes(steps, q)[1:-1], 0.3)


def test_accelerations_in_some_points_do_not_count():
    trajectory = trajectory_from(
        message([0.0, 1.0], [READY, AWAY], np.zeros((2, 7)), [np.ones(7), []])
    )
    assert trajectory.accelerations is None


def test_efforts_count_only_where_they_are_not_0():
    zero = message([1.0], [READY])
    zero.points[0].effort = [0.0] * 7
    assert len(trajectory_from(zero)) == 1
    zero.points[0].effort = [0.0] * 6 + [float('nan')]
    with pytest.raises(TrajectoryError, match='efforts'):
        trajectory_from(zero)
