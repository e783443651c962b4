"""Windows of motion of which some come late, as a controller plays them."""

from dataclasses import replace

import numpy as np
import pytest

from ik_service.motion.command.averaged_motion import JerkLimitedMotion
from ik_service.motion.command.command_stream import CommandGate
from ik_service.motion.command.command_window import COAST, CommandWindow, DELAY, MARGIN
from ik_service.motion.command.joint_motion import JointMotion
from ik_service.motion.command.motion_limits import MotionLimits
from ik_service.paths.trajectory.joint_trajectory import segment_coefficients

NAMES = ('shoulder', 'elbow')
LIMITS = MotionLimits(np.full(2, -3.0), np.full(2, 3.0), np.array([2.0, 1.5]), 0.5, 2.5)
"""Two joints that move at 1 and 0.75 rad/s at most, and reach that speed in 0.2 s."""

CYCLE = 0.002
"""Time between two samples [s]."""

TRANSPORT = 0.001
"""Time from a tick to the arrival of its window [s]."""


class Played:
    """Commands (c, 2) [rad], their windows, and what a controller makes of them in each cycle."""

    def __init__(self, commands, arrivals):
        self.commands, self.windows = np.array(commands), [planned for _, planned in arrivals]
        begins = np.array([arrival for arrival, _ in arrivals])
        times = np.arange(begins[0], begins[-1] + 1.0, CYCLE)
        parts = zip(self.windows, np.split(times, np.searchsorted(times, begins[1:])), strict=True)
        self.output = np.concatenate([_at(planned, part) for planned, part in parts])
        self.speeds = np.diff(self.output, axis=0) / CYCLE
        self.jumps = np.abs(np.diff(self.speeds, axis=0))
        self.accelerations = np.array([_largest_accelerations(p) for p in self.windows])


def play(late, drive, ticks, rate=100.0, rest=100, limits=LIMITS):
    """
    Send windows, and record what a controller makes of them.

    :param late: by how much the tick of a number is later than a period after the last one [s].
    :param drive: moves the commands by one tick, at a time, by the length of a step [s].
    :param rest: number of ticks after those, in which the commands come to rest.
    """
    window, motion, period = CommandWindow(NAMES), JointMotion(np.zeros(2)), 1.0 / rate
    now, before, arrivals, commands = 5.0, 5.0 - period, [], []
    for k in range(ticks + rest):
        step = min(now - before, period)
        if 0 < k < ticks:
            drive(motion, now, step)
        else:
            motion.move(None, limits, step)
        arrivals.append((now + TRANSPORT, window.add(motion.q, limits, now, period)))
        commands.append(motion.q)
        before = now
        now += period + (late(k + 1) if k < ticks else 0.0)
    return Played(commands, arrivals)


def _largest_accelerations(planned):
    way = planned.trajectory
    polynomials = segment_coefficients(way.times, way.positions, way.velocities, None)
    begin = 2.0 * polynomials[:, 2]
    end = begin + 6.0 * polynomials[:, 3] * np.diff(way.times)[:, None]
    return np.abs([begin, end]).max(axis=(0, 1))


def _at(planned, times):
    """Return where the cubics between the points are at times (k,), and the end after them."""
    way = planned.trajectory
    points = planned.start + way.times
    i = np.clip(np.searchsorted(points, times, 'right') - 1, 0, len(points) - 2)
    h, s = (points[i + 1] - points[i])[:, None], np.maximum(times - points[i], 0.0)[:, None]
    (q0, q1), (v0, v1) = ((rows[i], rows[i + 1]) for rows in (way.positions, way.velocities))
    mean = (q1 - q0) / h
    square, cube = 3.0 * mean - 2.0 * v0 - v1, v0 + v1 - 2.0 * mean
    q = q0 + v0 * s + square * s**2 / h + cube * s**3 / h**2
    return np.where((times >= points[-1])[:, None], way.positions[-1], q)


FAR = np.array([50.0, 37.5])  # [rad/s], more than the limits allow
NARROW = replace(LIMITS, lower=np.full(2, -0.3), upper=np.full(2, 0.3))
FASTEST, ACCELERATION = LIMITS.velocity_now, LIMITS.acceleration_now
BRAKED = FASTEST**2 / (2.0 * ACCELERATION)  # way in which the joints come to rest [rad]


def forward(motion, now, step):
    motion.drive(FAR, LIMITS, step)


class Wanderer:
    """Moves to goals that change at random, or with velocities that do."""

    def __init__(self, random, limits):
        self.random, self.limits = random, limits
        self.until, self.goal, self.drives = 0.0, None, random.random() < 0.5

    def __call__(self, motion, now, step):
        if now >= self.until:
            most = 1.5 if self.drives else np.minimum(self.limits.upper, 1.5)
            self.goal = self.random.uniform(-1.0, 1.0, 2) * most
            self.until = now + self.random.uniform(0.05, 1.0)
        (motion.drive if self.drives else motion.move)(self.goal, self.limits, step)


def lateness(random, period):
    """Return by how much ticks are late: stalls, waves, always or a little."""

    def stalls(k):
        sizes = [0.005, 0.015, 0.03, 0.045, 0.06, 0.1, 0.3]
        return random.choice(sizes) if random.random() < 0.05 else 0.0

    def often(k):
        return random.uniform(0.0, 0.08) if random.random() < 0.3 else 0.0

    def unevenly(k):
        return period * random.uniform(-0.3, 0.5)

    def a_little(k):
        return max(random.normal(0.0, 2e-4), -0.4 * period)

    always = random.random() * period
    return random.choice([stalls, often, unevenly, a_little, lambda k: always])


def assert_kept(played, limits, changes):
    """Assert bounds of speed, its changes, positions and points; and a rest at the commands."""
    assert (np.abs(played.speeds) <= FASTEST * (1.0 + 1e-6)).all()
    assert (played.jumps <= changes * ACCELERATION * CYCLE).all()
    for planned in played.windows:
        assert (np.abs(planned.trajectory.velocities) <= FASTEST * (1.0 + 1e-6)).all()
        assert (planned.trajectory.positions <= limits.upper + 1e-7).all()
        assert (planned.trajectory.positions >= limits.lower - 1e-7).all()
    np.testing.assert_allclose(played.output[-1], played.commands[-1], atol=1e-8)


@pytest.mark.parametrize('stall', [0.055, 0.2])
@pytest.mark.parametrize('stalls', [2, 8])
def test_stalls_soon_after_each_other_do_not_make_the_arm_run_away(stall, stalls):
    late = [stall if k % 5 == 0 and 10 < k <= 10 + 5 * stalls else 0.0 for k in range(60)]
    played = play(late.__getitem__, forward, 59)
    assert_kept(played, LIMITS, 1.1)
    beyond = FASTEST * COAST + BRAKED
    assert (played.output.max(axis=0) <= played.commands[-1] + beyond).all()


@pytest.mark.parametrize('rate', [50.0, 100.0, 500.0])
@pytest.mark.parametrize('late', [0.003, 0.045, 0.3])
def test_one_late_tick_changes_the_velocity_no_faster_than_the_acceleration(late, rate):
    at = round(0.35 * rate)  # at full speed
    played = play(lambda k: late if k == at else 0.0, forward, 2 * at, rate)
    assert_kept(played, LIMITS, 1.6 if late < 0.1 else 2.0)
    assert (played.speeds >= (-0.02 if late < 0.1 else -0.3)).all()


@pytest.mark.parametrize(('longer', 'rate'), [(0.05, 250.0), (0.3, 100.0), (0.9, 50.0)])
def test_ticks_that_are_always_late_move_the_arm_evenly(rate, longer):
    played = play(lambda k: longer / rate, forward, round(2.8 * rate), rate)
    assert_kept(played, LIMITS, 1.6)
    lasts = round(2.8 * (1.0 + longer) / CYCLE)
    moving = played.speeds[round(0.8 * lasts) : round(0.95 * lasts)]  # planned far enough ahead
    expected = FASTEST / (1.0 + longer)  # a command moves on by one period at most
    np.testing.assert_allclose(moving.mean(axis=0), expected, rtol=0.01)
    assert (moving.max(axis=0) <= moving.min(axis=0) + 2.5 * ACCELERATION / rate).all()


@pytest.mark.parametrize('seed', range(6))
def test_whatever_is_late_the_motion_keeps_its_bounds(seed):
    random, limits = np.random.default_rng(seed), (LIMITS, NARROW)[seed % 2]
    rate = float(random.choice([50, 80, 100, 200, 250, 500]))
    late, drive = lateness(random, 1.0 / rate), Wanderer(random, limits)
    played = play(late, drive, round(1.2 * rate), rate, round(rate), limits)
    assert_kept(played, limits, 4.0)  # next to a joint limit it brakes sharply
    beyond = FASTEST * (COAST + 3.0 / rate) + BRAKED
    low, high = played.commands.min(axis=0), played.commands.max(axis=0)
    assert ((played.output >= low - beyond) & (played.output <= high + beyond)).all()
    outside = np.maximum(limits.lower - played.output, played.output - limits.upper)
    assert outside.max() <= 1e-4


UNEVEN = {
    'even': lambda random: 0.0,
    'a little uneven': lambda random: random.uniform(-0.1, 0.1),
    'uneven': lambda random: random.uniform(-0.3, 0.5),
    'some early': lambda random: random.choice([0.0, -0.49]),
    'some late': lambda random: random.choice([0.0, 0.0, random.uniform(0.0, 6.0)]),
}
"""Lateness of ticks, in periods."""


@pytest.mark.parametrize('rate', [50.0, 250.0])
@pytest.mark.parametrize('ticks', UNEVEN)
def test_the_cubics_of_windows_keep_the_acceleration_however_uneven_the_ticks(ticks, rate):
    random = np.random.default_rng(1)
    drive = Wanderer(random, LIMITS)
    played = play(lambda k: UNEVEN[ticks](random) / rate, drive, 200, rate)
    assert (played.accelerations <= 1.001 * ACCELERATION).all()
    assert (played.jumps <= 1.001 * ACCELERATION * CYCLE).all()


def distance_from_way(points, way):
    """Return how far points (k, n) are from lines between the places (m, n) of a way."""
    begins, steps = way[:-1], np.diff(way, axis=0)
    away = points[:, None] - begins
    sizes = np.maximum((steps**2).sum(axis=1), 1e-18)
    along = np.clip((away * steps).sum(axis=2) / sizes, 0.0, 1.0)
    return np.linalg.norm(away - along[..., None] * steps, axis=2).min(axis=1)


@pytest.mark.parametrize('rate', [50.0, 500.0])
def test_the_motion_of_windows_stays_on_the_way_of_the_commands_when_ticks_jitter(rate):
    random = np.random.default_rng(0)
    drive = Wanderer(random, LIMITS)
    played = play(lambda k: random.uniform(-0.2, 0.2) / rate, drive, 600, rate)
    far = distance_from_way(played.output[::5], played.commands).max()
    assert far < (2e-3 if rate == 500.0 else 1.5e-3)


def test_the_motion_of_windows_stays_near_the_commands_when_ticks_are_early():
    random, period, now, before = np.random.default_rng(3), 0.01, 5.0, 5.0
    window, motion = CommandWindow(('a', 'b')), JointMotion(np.zeros(2))
    drive = Wanderer(random, LIMITS)
    window.add(motion.q, LIMITS, now, period)
    for _ in range(400):
        now += period * random.choice([1.0, 0.51])
        drive(motion, now, now - before)
        planned = window.add(motion.q, LIMITS, now, period)
        there, _ = planned.at(now + DELAY * period + MARGIN)
        np.testing.assert_allclose(there, motion.q, atol=5e-3)
        before = now


@pytest.mark.parametrize('seed', [0, 1, 6, 15])
def test_next_to_a_joint_limit_uneven_ticks_do_not_make_the_arm_brake_sharply(seed):
    random, rate = np.random.default_rng(seed), 100.0
    drive = Wanderer(random, NARROW)
    played = play(lambda k: random.uniform(-0.003, 0.005), drive, 400, rate, limits=NARROW)
    assert_kept(played, NARROW, 1.01)


def test_what_is_played_already_is_not_changed_by_a_late_tick():
    window, motion, now = CommandWindow(('a', 'b')), JointMotion(np.zeros(2)), 5.0
    random, before, planned = np.random.default_rng(1), 5.0 - 0.01, None
    for _ in range(300):
        forward(motion, now, min(now - before, 0.01))
        last, planned = planned, window.add(motion.q, LIMITS, now, 0.01)
        if last is not None:
            for time in np.arange(now, now + MARGIN - 1e-4, 0.0005):
                ways = [np.concatenate(way.at(time)) for way in (last, planned)]
                np.testing.assert_allclose(*ways, atol=1e-6)
        before = now
        now += 0.01 + random.choice([0.0, 0.0, 0.0, 0.002, 0.02, 0.07])


def test_commands_that_leap_are_followed_within_the_limits():
    def leap(motion, now, step):
        motion.q = np.array([0.4, -0.3]) if now > 5.2 else motion.q

    assert_kept(play(lambda k: 0.0, leap, 100), LIMITS, 1.1)


@pytest.mark.parametrize('averaged', [0.0, 0.15])
@pytest.mark.parametrize('seed', range(2))
def test_commands_in_time_are_played_as_they_are_also_when_limits_change(seed, averaged):
    random, period, goal = np.random.default_rng(seed), 0.01, np.zeros(2)
    motion = JerkLimitedMotion(goal, averaged) if averaged else JointMotion(goal)
    window, gate = CommandWindow(('a', 'b')), CommandGate()
    limits = replace(LIMITS, window=averaged)
    gate.begin(goal, 5.0)
    for k in range(400):
        now = 5.0 + k * period
        if random.random() < 0.02:
            goal = random.uniform(-2.0, 2.0, 2)
        if random.random() < 0.02:
            scaling, acceleration = random.choice([0.1, 0.5, 1.0]), random.choice([0.5, 2.5, 5.0])
            limits = replace(limits, scaling=scaling, acceleration=acceleration)
        before = motion.q
        if k > 0:
            motion.move(goal, limits, period)
            motion.q, motion.speed = gate.admit(motion.q, motion.bounds(limits), now, period)
        planned = window.add(motion.q, limits, now, period)
        middle, _ = planned.at(now + period + MARGIN)
        np.testing.assert_allclose(middle, 0.5 * (before + motion.q), atol=1e-9)
