"""Velocity of a target from its poses, and the clocks that stamp them."""

import numpy as np
import pytest
from support.motion.rigs import free_limits

from ik_service.common.transforms import rotation_about_axis
from ik_service.motion.goal import Tick
from ik_service.motion.tracking.path_clocks import GoalClock, PathClock, PathView, TimedRows
from ik_service.motion.tracking.target_kernels import fit_motion
from ik_service.motion.tracking.target_velocity import (
    LONGEST_AHEAD,
    TargetGaps,
    TargetTimes,
    TargetVelocity,
)


def pose(position, angle=0.0):
    T = np.eye(4)
    T[:3, 3] = position
    T[:3, :3] = rotation_about_axis((0.0, 0.0, 1.0), angle)
    return T


def circle(time):
    return pose([0.2 * np.cos(time), 0.2 * np.sin(time), 0.3], 0.5 * np.sin(time))


def twist(time):
    return np.array([-0.2 * np.sin(time), 0.2 * np.cos(time), 0, 0, 0, 0.5 * np.cos(time)])


@pytest.mark.parametrize('rate', [20.0, 50.0, 100.0, 500.0])
def test_a_motion_is_estimated_whatever_the_rate_and_though_messages_are_lost(rate):
    velocity, random, motion = TargetVelocity(), np.random.default_rng(1), None
    for k in range(int(2 * rate)):
        if k > 20 and random.random() < 0.1:
            continue
        motion = velocity.update(circle(k / rate), k / rate)
        if k > 10:
            assert motion.velocity == pytest.approx(twist(k / rate), abs=0.01)
    assert motion.interval == pytest.approx(1.0 / rate, rel=0.01)


@pytest.mark.parametrize('count', [3, 4, 5, 9, 32])
def test_the_fit_is_that_of_least_squares(count):
    random = np.random.default_rng(count)
    for _ in range(50):
        times = 7.0 + np.cumsum(random.uniform(1e-3, 0.05, count))
        ways, motion = random.normal(size=(count, 6)), np.empty((2, 6))
        fit_motion(times, ways, count > 3, 0.0, np.inf, motion)
        powers = np.vander(times - times[-1], 3 if count > 3 else 2, increasing=True)
        wanted = np.linalg.lstsq(powers, ways, rcond=None)[0]
        assert motion[0] == pytest.approx(wanted[1], rel=1e-7, abs=1e-7)
        curve = 2.0 * wanted[2] if count > 3 else np.zeros(6)
        assert motion[1] == pytest.approx(curve, rel=1e-7, abs=1e-5)


def test_what_is_no_motion_has_no_velocity():
    velocity, random = TargetVelocity(), np.random.default_rng(2)
    for k in range(100):  # a still target with noise
        noisy = pose(random.normal(0.0, 1e-4, 3))
        motion = velocity.update(noisy, 0.01 * k)
        assert np.linalg.norm(motion.velocity[:3]) < 0.02
    for k in range(8):  # put elsewhere, again and again
        leap = velocity.update(pose([0.1 * (-1) ** k, 0.0, 0.3]), 1.0 + 0.02 * k)
        assert leap.still
    velocity.update(pose([0.0, 0.0, 0.0]), 5.0)
    assert velocity.update(pose([0.1, 0.0, 0.0]), 6.0).still  # too long ago
    for at in (6.01, 6.0, 3.0, 6.0, 6.0):  # clocks that stand still or run backwards
        assert np.isfinite(velocity.update(pose([0.0, 0.0, 0.1]), at).velocity).all()


def test_a_twist_that_is_known_counts():
    velocity = TargetVelocity()
    known = np.array([0.1, 0.0, 0.0, 0.0, 0.0, 0.2])
    assert velocity.update(circle(0.0), 0.0, known).velocity == pytest.approx(known)


def test_stamps_count_without_the_time_on_the_way_and_whatever_the_clock():
    random = np.random.default_rng(3)
    for offset in (0.0, 0.03, 1000.0, -1000.0):
        times = TargetTimes()
        for k in range(100):
            true = 50.0 + 0.02 * k
            arrived = true + random.uniform(0.001, 0.005)
            found = times.time_of(true + offset, arrived)
            assert found <= arrived
            if k > 20:
                assert found == pytest.approx(true, abs=0.006)


def test_stamps_that_are_none_count_from_the_arrival():
    times = TargetTimes()
    for stamp, arrived in ((None, 1.0), (7.0, 1.1), (7.0, 1.2), (None, 1.3), (900.0, 1.4)):
        assert times.time_of(stamp, arrived) == arrived
    assert times.time_of(5.0, 1.5) == 1.5  # it leaps


INTERVAL = 0.02


@pytest.mark.parametrize(
    ('ways', 'lost', 'longest'),
    [
        ([0.002] * 10, (), 0.022 + 0.15 * INTERVAL),  # steady
        ([0.002, 0.015] * 5, (), 0.035 + 0.15 * INTERVAL),  # late at times
        ([0.002] * 10, (5,), 0.042 + 0.15 * INTERVAL),  # one gets lost
        ([0.002] * 3, (), 2.2 * INTERVAL),  # little is known
        ([None] * 10, (), 2.2 * INTERVAL),
    ],
)
def test_a_stream_is_overdue_when_the_next_target_takes_longer_than_ever(ways, lost, longest):
    gaps = TargetGaps()
    for k, way in enumerate(ways):
        if k not in lost:
            gaps.update(k * INTERVAL, None if way is None else k * INTERVAL + way)
    assert gaps.longest_ahead(INTERVAL) == pytest.approx(longest)


def test_a_pause_of_the_stream_is_no_age():
    gaps = TargetGaps()
    for k in range(10):
        at = k * INTERVAL + (60.0 if k > 4 else 0.0)
        gaps.update(at, at + 0.01 * (k < 5))  # those before the pause travelled longer
    assert gaps.longest_ahead(INTERVAL) == pytest.approx(1.15 * INTERVAL)
    assert TargetGaps().longest_ahead(1.0) == LONGEST_AHEAD


DT, BEGUN = 0.01, 100.0
VELOCITY = np.array([0.5, 0.0])
LIMITS = free_limits()


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
    q, limits = VELOCITY * 1.05, free_limits(window=0.1)
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


def speeds_along(at, speed, until):
    """Speeds of commands along a way, from one on; until they are so far."""
    clock, q, speeds = PathClock(), np.zeros(2), [speed]
    velocity = np.array([speed, 0.0])
    while q[0] < until:
        step = step_of(clock, at, q, velocity)
        q, velocity = step.goal, step.velocity
        speeds.append(velocity[0])
    assert q[1] == pytest.approx(0.0, abs=1e-12)
    assert np.abs(np.diff(speeds)).max() <= 4.0 * TICK * (1.0 + 1e-9)
    return speeds


def test_commands_on_a_way_go_along_it_and_become_faster():
    speeds = speeds_along(view(), ALONG[0], 0.17)
    assert speeds[-1] == pytest.approx(0.98, abs=1e-9)  # of 1 rad/s
    assert np.diff(speeds).max() > 0.0


@pytest.mark.parametrize('across', [0.4, -0.6, 1.0])
def test_commands_that_cross_a_way_are_not_on_it(across):
    """They would be beside it by the time at which they have come to rest across it."""
    assert step_of(PathClock(), view(), (0.0, 0.0), (0.5, across)) is None
    assert step_of(PathClock(), view(), (0.0, 0.0), (0.5, 0.02)) is not None


@pytest.mark.parametrize('velocity', [0.5, 0.9])
def test_a_way_that_becomes_too_fast_is_slowed_down_for_in_time(velocity):
    assert max(speeds_along(view(PLACE + 0.3), velocity, 0.4)) <= 1.0 + 1e-9


def test_commands_too_fast_for_what_comes_leave_the_way():
    """What bounds them has come up too late: going along the way would need a leap in speed."""
    clock, q = PathClock(), np.zeros(2)
    step = step_of(clock, view(), q, (0.95, 0.0))
    assert step is not None
    bent = view()
    bent.path.points[28:, 1] = 2.0 * (bent.path.times[28:] - bent.path.times[28]) ** 0.5
    assert step_of(clock, bent, step.goal, step.velocity) is None
