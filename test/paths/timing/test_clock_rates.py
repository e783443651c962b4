"""Tests of the highest rates at which a trajectory's clock may run."""

import numpy as np
import pytest
from support.paths import smooth_trajectory

import ik_service as iks
from ik_service.paths.timing.clock_rates import ClockGrid

NAMES = ('a', 'b', 'c')
BEGIN, END = np.zeros(3), np.array([1.0, -0.6, 0.3])
PERIOD = 0.01


@pytest.mark.parametrize('velocity', [0.2, 0.5, 10.0])
@pytest.mark.parametrize('acceleration', [0.1, 1.0, 50.0, np.inf])
@pytest.mark.parametrize('derivatives', [1, 2])
def test_the_rest_can_be_played_from_the_highest_rates(velocity, acceleration, derivatives):
    """Forwards in x = r², as fast as the accelerations allow, no interval has no way on."""
    full = smooth_trajectory(NAMES, BEGIN, END, 2.0, 9)
    given = (full.velocities, full.accelerations)[:derivatives]
    trajectory = iks.JointTrajectory(NAMES, full.times, full.positions, *given)
    limits = np.full(3, velocity), np.full(3, acceleration)
    rates = ClockGrid(trajectory).highest_rates(*limits, PERIOD)
    assert (rates.squares >= 0.0).all()
    assert (rates.squares <= 1.0).all()
    spans, x = np.diff(rates.times), rates.squares[0]
    for t, h, highest in zip(rates.times, spans, rates.squares[1:], strict=False):
        _, v, a = trajectory.at(t + 0.5 * h)
        assert (x * v**2 <= velocity**2 * (1.0 + 1e-2)).all()
        v = np.where(np.abs(v) > 1e-9, v, 1e-9)
        bounds = (np.array([acceleration, -acceleration])[:, None] * 1.02 - x * a) / v
        least, most = bounds.min(axis=0).max(), bounds.max(axis=0).min()
        assert x + 2.0 * h * least <= highest + 1e-3
        x = np.clip(x + 2.0 * h * most, 0.0, highest)


def test_slack_limits_leave_the_clock_alone():
    trajectory = smooth_trajectory(NAMES, BEGIN, END, 2.0)
    rates = ClockGrid(trajectory).highest_rates(np.full(3, 9.0), np.full(3, 99.0), PERIOD)
    assert (rates.squares == 1.0).all()


def test_the_clock_all_but_stops_at_a_corner():
    points = [[0.0, 0, 0], [1.0, 0, 0], [1.0, 1.0, 0]]
    trajectory = iks.JointTrajectory(NAMES, [0.0, 1.0, 2.0], points)
    rates = ClockGrid(trajectory).highest_rates(np.full(3, 9.0), np.full(3, 5.0), PERIOD)
    for corner in trajectory.times:  # both ends are corners, too
        assert rates.between(corner, corner) == pytest.approx(5.0 * PERIOD)
        assert rates.between(max(corner - 0.1, 0.0), corner + 0.1) == pytest.approx(5.0 * PERIOD)
    assert rates.between(0.5, 0.6) == 1.0


def test_a_joint_that_must_not_move_stops_the_clock():
    trajectory = smooth_trajectory(NAMES, BEGIN, END, 2.0)
    rates = ClockGrid(trajectory).highest_rates(np.array([9.0, 9.0, 0.0]), np.full(3, 9.0), PERIOD)
    assert rates.between(1.0, 1.1) == 0.0


def test_one_point_has_the_rate_1():
    trajectory = iks.JointTrajectory(NAMES, [0.0], [BEGIN])
    rates = ClockGrid(trajectory).highest_rates(np.ones(3), np.ones(3), PERIOD)
    assert rates.between(0.0, 0.0) == 1.0
