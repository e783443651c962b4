"""Clock of a goal that moves: how commands that are behind it catch up."""

import numpy as np
import pytest

from ik_service.motion.command.motion_limits import MotionLimits
from ik_service.motion.goal import Tick
from ik_service.motion.tracking.moving_goal import GoalClock
from ik_service.motion.tracking.target_path import PathClock, PathView, TimedRows

DT, BEGUN = 0.01, 100.0
VELOCITY = np.array([0.5, 0.0])
LIMITS = MotionLimits(
    np.full(2, -np.inf), np.full(2, np.inf), np.full(2, 2.0), 0.5, np.full(2, 2.0)
)


class Line:
    """Goal on a line, of constant velocity along the first joint."""

    def __init__(self, aside=0.0):
        self.acceleration = np.zeros(2)
        self.aside = aside

    def at(self, now, later=0.0):
        return VELOCITY * (now + later - BEGUN) + [0.0, self.aside], VELOCITY


def tick_at(now, q, velocity, late=False, limits=LIMITS):
    return Tick(now, DT, q, velocity, q, limits, (q, velocity), 1.0, late)


def followed(clock, goal, q, velocity, count, late=True, blind=False):
    """Steps, each of which is done; q is not moved aside where blind."""
    steps = []
    for k in range(count):
        now = BEGUN + 1.0 + DT * k
        step = clock.step(goal, tick_at(now, q, velocity, late=late and k == 0), waits=False)
        steps.append(step)
        q, velocity = (np.array([step.goal[0], q[1]]) if blind else step.goal), step.velocity
    return steps


def distances(steps):
    """How far the goals are behind that of the clock, in the middle of the ticks."""
    ahead = [VELOCITY[0] * (1.0 + DT * (k + 0.5)) for k in range(len(steps))]
    return np.array(ahead) - [step.goal[0] for step in steps]


def test_commands_that_were_held_up_go_on_from_where_they_are_and_catch_up():
    steps = followed(GoalClock(), Line(), np.array([0.46, 0.0]), np.zeros(2), 100)
    behind, speeds = distances(steps), np.array([step.velocity[0] for step in steps])
    assert behind[0] == pytest.approx(0.0425, abs=1e-3)
    assert behind.min() >= -1e-12
    assert behind[60:] == pytest.approx(0.0, abs=1e-12)
    assert speeds.max() <= 1.0 + 1e-9
    # The motion's own bounds are above the share of the acceleration that the clock uses.
    assert np.abs(np.diff([0.0, *speeds])).max() <= 4.0 * DT * (1.0 + 1e-9)


def test_they_are_faster_than_the_goal_only_as_far_as_the_pace_allows():
    clock, q, velocity = GoalClock(), np.array([0.4, 0.0]), VELOCITY
    for k in range(100):
        tick = Tick(BEGUN + 1.0 + DT * k, DT, q, velocity, q, LIMITS, (q, velocity), 0.6)
        step = clock.step(Line(), tick, waits=False)
        q, velocity = step.goal, step.velocity
        assert velocity[0] <= 0.6 * 1.0 + 1e-9


def test_commands_beside_the_way_are_not_left_behind():
    """As where a few poses a second tell little about the way: it is another one each time."""
    clock, goal = GoalClock(), Line()
    followed(clock, goal, np.array([0.46, 0.0]), VELOCITY, 1)
    goal.aside = 0.1
    steps = followed(clock, goal, np.array([0.47, 0.0]), VELOCITY, 100, late=False, blind=True)
    assert distances(steps)[-1] <= 0.06


def test_commands_far_beside_the_way_wait_where_something_else_leads_there():
    clock, q = GoalClock(), np.array([0.4, 0.3])
    assert clock.step(Line(), tick_at(BEGUN + 1.0, q, np.zeros(2)), waits=True) is None
    step = clock.step(Line(), tick_at(BEGUN + 1.0, q, np.zeros(2)), waits=False)
    assert step.goal == pytest.approx(VELOCITY * (1.0 + 0.5 * DT))


def test_where_jerks_are_limited_the_goal_is_half_a_window_later():
    limits = MotionLimits(
        LIMITS.lower, LIMITS.upper, LIMITS.velocity, 0.5, LIMITS.acceleration, window=0.1
    )
    q = VELOCITY * 1.05
    clock, now = GoalClock(), BEGUN + 1.0
    for k in range(20):
        step = clock.step(Line(), tick_at(now + DT * k, q, VELOCITY, limits=limits), waits=False)
        q = step.goal
    assert q == pytest.approx(VELOCITY * (1.0 + 19 * DT + 0.05 + 0.5 * DT), abs=1e-9)


def test_a_goal_that_rests_gives_no_step():
    class Rests(Line):
        def at(self, now, later=0.0):
            return None

    tick = tick_at(BEGUN, np.zeros(2), np.zeros(2), late=True)
    assert GoalClock().step(Rests(), tick, waits=False) is None


TICK, NOW, PLACE = 0.01, 100.0, 98.0
"""Period, time, and when the target was about where the commands are [s]."""

ALONG = np.array([0.5, 0.0])


def view(faster_from=np.inf):
    """A straight way along the first joint, on which the target became faster from a time on."""
    times = PLACE + np.arange(-20, 151) * TICK
    speeds = ALONG[0] + 10.0 * np.clip(times - faster_from, 0.0, 0.25)
    places = np.concatenate([[0.0], np.cumsum(speeds[:-1] * TICK)])
    points = np.stack([places - places[20], np.zeros(len(places))], axis=1)
    return PathView(TimedRows(times, points, np.zeros(len(times))), None, PLACE)


def step_of(clock, at, q, velocity):
    q, velocity = np.array(q), np.array(velocity)
    tick = Tick(NOW, TICK, q, velocity, q, LIMITS, (q, velocity))
    return clock.step(at, tick, NOW, 0.0)


def test_commands_on_a_way_go_along_it_and_become_faster():
    clock, q, velocity, speeds = PathClock(), np.zeros(2), ALONG, []
    for _ in range(20):
        step = step_of(clock, view(), q, velocity)
        q, velocity = step.goal, step.velocity
        speeds.append(velocity[0])
    assert q[1] == pytest.approx(0.0, abs=1e-12)
    assert speeds[-1] == pytest.approx(0.98, abs=1e-9)  # of 1 rad/s
    assert 0.0 < np.diff([ALONG[0], *speeds]).max() <= 4.0 * TICK * (1.0 + 1e-9)


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
    assert np.abs(np.diff([velocity, *speeds])).max() <= 4.0 * TICK * (1.0 + 1e-9)


def test_commands_too_fast_for_what_comes_leave_the_way():
    """What bounds them has come up too late: going along the way would need a leap in speed."""
    clock, q = PathClock(), np.zeros(2)
    step = step_of(clock, view(), q, (0.95, 0.0))
    assert step is not None
    bent = view()
    bent.path.points[28:, 1] = 2.0 * (bent.path.times[28:] - bent.path.times[28]) ** 0.5
    assert step_of(clock, bent, step.goal, step.velocity) is None
