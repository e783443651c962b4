"""The gate before controllers that go to positions, fed with what no healthy code would send."""

from dataclasses import replace

import numpy as np
import pytest

from ik_service.motion.command.command_stream import SendingTimes
from ik_service.motion.command.gate import JointBounds, PositionGate, VelocityGate
from ik_service.motion.command.vector_kernels import LONGEST_SLOWING

NOW, PERIOD = 10.0, 0.01
BOUNDS = JointBounds(
    np.array([-1.0, -np.inf]), np.array([1.0, np.inf]), np.array([2.0, 1.0]), np.array([5.0, 4.0])
)
START, STILL = np.array([0.2, 7.0]), np.zeros(2)
LEAP = np.array([0.4, -0.3])
BOTH = np.arange(2)


def first(way):
    return np.array([way, 0.0])


class Sender:
    """Positions, one after the other, through a gate that began at a place."""

    def __init__(self, start=START, bounds=BOUNDS):
        self.gate, self.bounds, self.at, self.q = PositionGate(2), bounds, NOW, np.array(start)
        self.gate.begin(self.q, BOTH, self.at)

    def send(self, q, velocity=None, passed=PERIOD):
        """Return what passes; the velocity is that of the step unless it is given."""
        self.at += passed
        if velocity is None:
            with np.errstate(all='ignore'):
                velocity = (np.asarray(q, float) - self.q) / min(passed, PERIOD)
        self.q, shown = self.gate.admit(
            np.asarray(q, float), np.asarray(velocity, float), BOTH, self.bounds, self.at, PERIOD
        )
        return self.q, shown

    def drive(self, velocity, seconds):
        """Speed up to a velocity of the first joint and go on with it."""
        speed = 0.0 if seconds is None else (self.q[0] - self.before) / PERIOD
        for _ in range(round(seconds / PERIOD)):
            speed += np.clip(velocity - speed, -0.05, 0.05)
            self.before = self.q[0]
            self.send(self.q + first(speed * PERIOD))
        return self

    before = START[0]


def test_a_motion_within_the_bounds_passes_untouched():
    sender, speed = Sender(), np.zeros(2)
    for k in range(200):
        wanted = [1.0, -1.0] if k < 30 else [-0.5, 0.5] if k < 120 else [0.0, 0.0]
        speed = speed + np.clip(np.array(wanted) - speed, -0.04, 0.04)
        asked = sender.q + PERIOD * speed
        admitted, shown = sender.send(asked, speed)
        assert np.array_equal(admitted, asked)
        assert np.array_equal(shown, speed)
    assert sender.gate.corrected == 0
    assert sender.gate.reason == ''


@pytest.mark.parametrize(
    ('ask', 'reason'),
    [
        ([0.25, 0.0], 'faster than the limits'),
        ([0.001, 0.0], 'speed changes'),
        ([0.0, -0.001], 'speed changes'),
        ([np.nan, 0.0], 'not finite'),
        ([0.0, np.inf], 'not finite'),
        ([2.0, 0.0], 'leaves the joint limits'),
    ],
)
def test_what_is_beyond_becomes_the_first_step_of_a_motion_and_is_counted(ask, reason):
    sender = Sender()
    q, velocity = sender.send(START + ask)
    most = BOUNDS.acceleration * PERIOD**2
    assert (np.abs(q - START) <= most * (1.0 + 1e-9)).all()
    assert (np.abs(velocity) <= 1.5 * BOUNDS.acceleration * PERIOD + 2e-6).all()
    assert sender.gate.corrected == 1
    assert reason in sender.gate.reason
    moved = np.isfinite(ask) & (np.array(ask) != 0.0)
    assert (np.sign(q - START)[moved] == np.sign(ask)[moved]).all()


def test_a_leap_is_gone_to_and_rested_at():
    sender, ways = Sender(), []
    for _ in range(300):
        sender.send(START + LEAP, STILL)
        ways.append(sender.q)
    assert np.abs(sender.q - START - LEAP).max() < 1e-9
    assert np.max(ways, axis=0)[0] <= START[0] + 0.4 + 2e-3
    assert np.min(ways, axis=0)[1] >= START[1] - 0.3 - 2e-3
    assert 10 < sender.gate.corrected < 250


def test_wrong_lengths_and_starts_that_are_no_numbers_hold_the_joints():
    sender = Sender()
    sender.gate.begin(np.full(2, np.nan), BOTH, NOW)
    q, velocity = sender.gate.admit(np.zeros(3), STILL, BOTH, BOUNDS, NOW + PERIOD, PERIOD)
    assert np.array_equal(q, START)
    assert not velocity.any()
    assert sender.gate.corrected == 1


@pytest.mark.parametrize('velocity', [[0.1, 0.0], [np.nan, 0.0], [np.inf, 0.0], [-0.1, 0.0]])
def test_a_velocity_that_is_not_that_of_the_step_is_corrected(velocity):
    sender = Sender()
    q, shown = sender.send(START, velocity)
    assert np.array_equal(q, START)
    assert (np.abs(shown) <= 0.5 * BOUNDS.acceleration * PERIOD + 2e-6).all()
    assert 'velocity' in sender.gate.reason


def test_no_velocity_is_shown_above_the_limit():
    sender = Sender(bounds=replace(BOUNDS, velocity=np.full(2, 0.5))).drive(0.5, 0.2)
    _, shown = sender.send(sender.q + first(0.005), first(0.52))
    assert shown[0] == pytest.approx(0.5, abs=1e-5)


def test_no_step_is_longer_than_the_time_between_two_sendings_allows():
    """A message that took long to send leaves less time for the next step."""
    sender = Sender(bounds=replace(BOUNDS, acceleration=np.full(2, np.inf)))
    sender.send(START + first(0.02))
    sender.gate.mark_sent(BOTH, delay=0.008, late=0.008, period=PERIOD)
    q, _ = sender.send(START + first(0.04))
    assert q[0] - START[0] - 0.02 == pytest.approx(2.0 * 0.002, rel=1e-3)
    assert sender.gate.corrected == 1


@pytest.mark.parametrize(
    ('passed', 'held_up', 'corrected'),
    [(0.2 + PERIOD, 0.0, 0), (0.2 + PERIOD, 0.2, 0), (PERIOD, 0.0, 1)],
    ids=['late', 'sending was held up', 'in time'],
)
def test_a_joint_whose_message_was_late_may_have_stopped(passed, held_up, corrected):
    sender = Sender().drive(0.5, 0.3)
    if held_up:
        sender.gate.mark_sent(BOTH, delay=held_up, late=held_up, period=PERIOD)
    sender.send(sender.q, passed=passed)
    assert sender.gate.corrected == corrected


def test_a_joint_that_is_driven_into_its_limit_stops_before_it():
    sender, speed = Sender(), 0.0
    for _ in range(300):
        before, speed_before = sender.q[0], speed
        sender.send(sender.q + first(0.02))
        speed = (sender.q[0] - before) / PERIOD
        assert abs(speed - speed_before) <= 0.05 * (1.0 + 1e-6)
    assert 0.999 < sender.q[0] <= 1.0


def test_a_joint_outside_its_limits_may_stay_or_come_back():
    sender = Sender([1.3, 7.0])
    sender.send(sender.q)
    sender.send(sender.q - first(0.0004))
    assert sender.gate.corrected == 0
    sender.send(sender.q + first(0.0001))
    assert sender.gate.corrected == 1


def test_a_stream_does_not_begin_elsewhere_while_it_moves():
    sender = Sender().drive(0.5, 0.2)
    there = sender.q.copy()
    sender.gate.begin(START + 1.0, BOTH, sender.at)
    assert np.array_equal(sender.gate.q, [there[0], START[1] + 1.0])
    assert sender.gate.corrected == 1
    sender.q = sender.gate.q
    sender.drive(0.0, 0.3).gate.begin(START, BOTH, sender.at)
    assert np.array_equal(sender.gate.q, START)
    assert sender.gate.corrected == 1


def test_what_was_not_sent_leaves_no_trace():
    sender = Sender().drive(0.5, 0.2)
    there = sender.q.copy()
    sender.send(there + first(0.0054))
    sender.gate.withdraw()
    assert np.array_equal(sender.gate.q, there)
    sender.q, sender.at = there, sender.at - PERIOD
    sender.send(there + first(0.005))
    assert sender.gate.corrected == 0


def test_joints_of_two_groups_have_their_own_times():
    gate, one, other = PositionGate(2), np.array([0]), np.array([1])
    gate.begin(START, BOTH, NOW)
    bounds = [JointBounds(*(row[i : i + 1] for row in BOUNDS.rows[:4])) for i in range(2)]
    for k in range(1, 5):
        at, step = NOW + k * PERIOD, 0.0002 * k
        q = gate.q
        gate.admit(q[:1] + step, np.full(1, step / PERIOD), one, bounds[0], at, PERIOD)
        gate.admit(q[1:] + step, np.full(1, step / PERIOD), other, bounds[1], at + 1e-4, PERIOD)
        np.testing.assert_allclose(gate.q, q + step)
    assert gate.corrected == 0
    gate.admit(gate.q[:1] + 0.0002, np.zeros(1), one, bounds[0], at + 1e-4, PERIOD)
    assert gate.corrected == 1, 'somebody else has just moved it'


def test_limits_that_are_tightened_are_reached_along_a_motion_that_the_old_ones_allow():
    slow = replace(BOUNDS, velocity=np.full(2, 0.1), acceleration=np.full(2, 0.5))
    sender = Sender().drive(0.5, 0.2)
    sender.bounds = slow
    sender.drive(0.45, 0.02)
    assert sender.gate.corrected == 0, 'it still moves as it was told before'
    sender.drive(0.5, 0.02)
    assert sender.gate.corrected > 0, 'but gets no faster again'


def test_a_motion_does_not_stay_faster_than_tightened_limits_for_ever():
    free = replace(BOUNDS, lower=np.full(2, -np.inf), upper=np.full(2, np.inf))
    sender = Sender(bounds=free).drive(0.5, 0.2)
    sender.bounds = replace(free, velocity=np.full(2, 0.1))
    passed = 0.0
    while sender.gate.corrected == 0 and passed < 10.0:
        passed += PERIOD
        sender.send(sender.q + first(0.005))
    assert passed == pytest.approx(LONGEST_SLOWING, abs=0.05)
    assert 'faster' in sender.gate.reason


@pytest.mark.parametrize(
    ('jerk', 'waits', 'goes_on'), [(np.inf, 0.0, False), (500.0, 0.0, True), (500.0, 0.6, False)]
)
def test_only_where_the_jerk_is_limited_an_acceleration_goes_on_for_a_moment(jerk, waits, goes_on):
    jerks = np.array([np.inf, jerk])  # all joints are averaged where one is limited
    sender = Sender(bounds=replace(BOUNDS, jerk=jerks)).drive(0.5, 0.05)
    sender.bounds = replace(sender.bounds, velocity=np.full(2, 0.1))
    sender.drive(0.25, waits)
    assert sender.gate.corrected == 0
    sender.drive(0.5, 0.03)
    assert (sender.gate.corrected == 0) == goes_on


JERK = 50.0


@pytest.mark.parametrize(
    'asked',
    [
        lambda k, q: np.array([0.6, 6.7]),
        lambda k, q: np.array([1.0, 9.0]),
        lambda k, q: np.array([0.2 + 0.5 * (k // 30 % 2), 7.0]),
        lambda k, q: np.array([0.6, 6.7]) if k < 20 else np.full(2, np.nan),
        lambda k, q: q + first(0.02) if k < 25 else q,
    ],
    ids=['leap', 'leap to a limit', 'to and fro', 'not finite', 'sudden stop'],
)
def test_where_the_jerk_is_limited_what_is_corrected_keeps_it(asked):
    sender = Sender(bounds=replace(BOUNDS, jerk=np.full(2, JERK)))
    path = [START] * 3
    for k in range(400):
        path.append(sender.send(asked(k, sender.q))[0])
    assert sender.gate.corrected > 0
    path = np.array(path)
    assert (np.abs(np.diff(path, n=2, axis=0)) <= BOUNDS.acceleration * PERIOD**2 * 1.001).all()
    assert (np.abs(np.diff(path, n=3, axis=0)) <= JERK * PERIOD**3 * 1.001).all()
    assert ((path >= BOUNDS.lower) & (path <= BOUNDS.upper)).all()
    goal = asked(0, path[-1])
    if np.array_equal(goal, asked(399, path[-1])):
        beyond = np.abs(path - START).max(axis=0) - np.abs(goal - START)
        assert (beyond < 1e-3).all()


SMOOTH = replace(BOUNDS, jerk=np.full(2, JERK))
STEP = first(0.0004)  # 4 rad/s² at once


def test_a_change_of_the_acceleration_by_more_than_the_jerk_is_named():
    sender = Sender(bounds=SMOOTH)
    sender.send(START + STEP)
    assert sender.gate.reason == 'its acceleration changes by more than the limits allow'


def test_in_uneven_ticks_the_acceleration_may_change_faster_for_a_second():
    sender = Sender(bounds=SMOOTH)
    sender.send(START, passed=0.3 * PERIOD)
    for _ in range(80):
        sender.send(START)
    sender.send(START + STEP)
    assert sender.gate.corrected == 0


def test_a_motion_whose_first_step_is_late_may_begin_as_any_other():
    sender = Sender(bounds=SMOOTH)
    sender.send(START, STILL, passed=0.0)
    sender.send(START + first(0.5 * JERK * PERIOD**3), passed=3.0)
    assert sender.gate.corrected == 0, sender.gate.reason


def test_velocities_of_limited_jerk_get_to_what_is_asked_for_without_overshoot():
    gate, velocities, wanted = VelocityGate(2), [STILL] * 2, np.array([0.4, -1.0])
    for k in range(300):
        asked = wanted if k < 120 else STILL
        velocities.append(gate.admit(asked, None, SMOOTH, NOW + k * PERIOD, PERIOD))
    velocities = np.array(velocities)
    assert (np.abs(np.diff(velocities, axis=0)) <= BOUNDS.acceleration * PERIOD * 1.001).all()
    assert (np.abs(np.diff(velocities, n=2, axis=0)) <= JERK * PERIOD**2 * 1.001).all()
    np.testing.assert_allclose(velocities[121], wanted, atol=1e-6)
    assert not velocities[-1].any()
    assert (np.abs(velocities) <= np.abs(wanted) + 1e-6).all()


def test_velocities_that_the_acceleration_bounds_in_a_shorter_step_are_no_correction():
    gate, bounds, at, speed = VelocityGate(2), replace(BOUNDS, jerk=np.full(2, 20.0)), NOW, 0.0
    for passed, change in [*((0.05, 0.05 * k) for k in range(6)), (0.02, 0.1), (0.02, 0.06)]:
        at, speed = at + passed, speed + change
        gate.admit(first(speed), None, bounds, at, passed)
        assert gate.corrected == 0, gate.reason


@pytest.mark.parametrize('seed', range(5))
def test_any_positions_are_brought_inside_the_bounds(seed):
    random, sender, last = np.random.default_rng(seed), Sender(), np.zeros(2)
    odd = [np.nan, np.inf, -np.inf, 1e300, 0.0]
    for _ in range(1000):
        before, at = sender.q.copy(), sender.at
        passed = random.choice([0.0, 0.001, 0.01, 0.015, 0.3])
        wanted = np.where(random.random(3) < 0.3, random.choice(odd, 3), random.uniform(-9, 9, 3))
        q, velocity = sender.send(wanted[:2], [wanted[2], 0.0], passed)
        dt = min(sender.at - at, PERIOD)
        assert np.isfinite([q, velocity]).all()
        assert ((q >= BOUNDS.lower) & (q <= BOUNDS.upper)).all()
        step = np.abs(q - before)
        assert (step <= BOUNDS.velocity * dt * (1.0 + 2e-6) + 2e-9).all()
        assert (np.abs(velocity) <= BOUNDS.velocity + 1e-5).all()
        if dt > 0.0 and passed < 2.0 * PERIOD:
            speed = (q - before) / dt
            change = BOUNDS.acceleration * dt + 1e-5 + 4e-9 / dt
            assert ((np.abs(speed - last) <= change) | (np.abs(q) >= 0.6)).all()
        last = (q - before) / dt if dt > 0.0 else last


def test_sending_is_expected_to_take_no_less_than_it_took_lately():
    times = SendingTimes()
    for _ in range(10):
        assert times.moment(NOW, PERIOD, begins=False) == NOW
        times.mark_sent(0.003, PERIOD)
    assert times.moment(NOW, PERIOD, begins=False) == NOW + 0.003
    assert times.mark_sent(0.0035, PERIOD) == 0.0, 'too little to be noticed'
    assert times.moment(NOW, PERIOD, begins=False) == NOW + 0.003
    assert times.mark_sent(0.009, PERIOD) == pytest.approx(0.006)
    times.moment(NOW, PERIOD, begins=False)  # nothing becomes known of it
    assert times.moment(NOW, PERIOD, begins=False) == NOW


def test_no_more_than_half_a_period_is_expected_and_what_was_discarded_tells_nothing():
    times = SendingTimes()
    for _ in range(12):
        times.moment(NOW, PERIOD, begins=False)
        times.mark_sent(0.02, PERIOD)
    assert times.moment(NOW, PERIOD, begins=False) == NOW + 0.005
    times.discard()
    assert times.moment(NOW, PERIOD, begins=False) == NOW + 0.005


def test_velocities_change_within_the_time_between_two_sendings():
    gate = VelocityGate(2)
    gate.admit(STILL, START, BOUNDS, NOW, PERIOD)
    gate.mark_sent(0.0005, PERIOD)  # is not noticed
    gate.admit(np.array([0.05, 0.0]), START, BOUNDS, NOW + PERIOD, PERIOD)
    assert gate.corrected == 0
    gate.mark_sent(0.006, PERIOD)
    velocity = gate.admit(np.array([0.1, 0.0]), START, BOUNDS, NOW + 2.0 * PERIOD, PERIOD)
    assert velocity[0] == pytest.approx(0.05 + 5.0 * 0.004)
    assert 'changes' in gate.reason


def test_joints_that_slow_down_in_proportion_may_do_so_less_than_they_could():
    """A joint whose acceleration is high waits for the others after a change of the limits."""
    free = np.full(2, np.inf)
    bounds = JointBounds(-free, free, np.array([2.0, 2.0]), np.array([5.0, 50.0]))
    gate, velocity, now = VelocityGate(2), np.zeros(2), NOW
    for _ in range(40):
        now += PERIOD
        velocity = gate.admit(np.minimum(velocity + 0.05, 1.0), START, bounds, now, PERIOD)
    slow = replace(bounds, velocity=np.full(2, 0.2))
    for k in range(16):
        now += PERIOD
        gate.admit(np.full(2, 1.0 - 0.05 * (k + 1)), START, slow, now, PERIOD)
    assert gate.corrected == 0


def test_no_velocity_is_one_from_which_a_joint_could_not_stop_after_a_whole_period():
    gate, q = VelocityGate(1), np.array([0.99])
    bounds = JointBounds(*(row[:1] for row in BOUNDS.rows[:4]))
    wide = replace(bounds, acceleration=np.full(1, 1e3))
    gate.admit(np.zeros(1), q, wide, NOW, PERIOD)
    velocity = gate.admit(np.full(1, 2.0), q, wide, NOW + 0.005, PERIOD)
    assert velocity[0] * PERIOD + velocity[0] ** 2 / 2e3 == pytest.approx(0.01)
