"""Clock of the trail of a target: which commands are on its way, and how fast they go along it."""

import numpy as np
import pytest

from ik_service.motion.command.motion_limits import MotionLimits
from ik_service.motion.goal import Tick
from ik_service.motion.tracking.target_path import PathClock, PathView, TimedRows

DT, NOW, PLACE = 0.01, 100.0, 98.0
"""Period, time, and when the target was about where the commands are [s]."""

ALONG = np.array([0.5, 0.0])
LIMITS = MotionLimits(
    np.full(2, -np.inf), np.full(2, np.inf), np.full(2, 2.0), 0.5, np.full(2, 2.0)
)


def view(faster_from=np.inf):
    """A straight way along the first joint, on which the target became faster from a time on."""
    times = PLACE + np.arange(-20, 151) * DT
    speeds = ALONG[0] + 10.0 * np.clip(times - faster_from, 0.0, 0.25)
    places = np.concatenate([[0.0], np.cumsum(speeds[:-1] * DT)])
    points = np.stack([places - places[20], np.zeros(len(places))], axis=1)
    return PathView(TimedRows(times, points, np.zeros(len(times))), None, PLACE)


def step_of(clock, at, q, velocity):
    q, velocity = np.array(q), np.array(velocity)
    tick = Tick(NOW, DT, q, velocity, q, LIMITS, (q, velocity))
    return clock.step(at, tick, NOW, 0.0)


def test_commands_on_a_way_go_along_it_and_become_faster():
    clock, q, velocity, speeds = PathClock(), np.zeros(2), ALONG, []
    for _ in range(20):
        step = step_of(clock, view(), q, velocity)
        q, velocity = step.goal, step.velocity
        speeds.append(velocity[0])
    assert q[1] == pytest.approx(0.0, abs=1e-12)
    assert speeds[-1] == pytest.approx(0.98, abs=1e-9)  # of 1 rad/s
    assert 0.0 < np.diff([ALONG[0], *speeds]).max() <= 4.0 * DT * (1.0 + 1e-9)


@pytest.mark.parametrize('across', [0.4, -0.6, 1.0])
def test_commands_that_cross_a_way_are_not_on_it(across):
    """They would be beside it by the time at which they have come to rest across it."""
    assert step_of(PathClock(), view(), (0.0, 0.0), (0.5, across)) is None
    assert step_of(PathClock(), view(), (0.0, 0.0), (0.5, 0.02)) is not None


@pytest.mark.parametrize('velocity', [0.5, 0.9])
def test_a_way_that_becomes_too_fast_is_slowed_down_for_in_time(velocity):
    clock, at = PathClock(), view(PLACE + 0.3)
    q, speed, speeds = np.zeros(2), np.array([velocity, 0.0]), []
    while q[0] < 0.4:
        step = step_of(clock, at, q, speed)
        q, speed = step.goal, step.velocity
        speeds.append(speed[0])
    assert max(speeds) <= 1.0 + 1e-9
    assert np.abs(np.diff([velocity, *speeds])).max() <= 4.0 * DT * (1.0 + 1e-9)


def test_commands_too_fast_for_what_comes_leave_the_way():
    """What bounds them has come up too late: going along the way would need a leap in speed."""
    clock, q = PathClock(), np.zeros(2)
    step = step_of(clock, view(), q, (0.95, 0.0))
    assert step is not None
    bent = view()
    bent.path.points[28:, 1] = 2.0 * (bent.path.times[28:] - bent.path.times[28]) ** 0.5
    assert step_of(clock, bent, step.goal, step.velocity) is None
