"""The final bound on commands, for inputs of all kinds."""

import numpy as np
import pytest
from support.motion.rigs import free_limits, Playing, READY, Rig

import ik_service as iks
from ik_service.model.motion_bounds import JointBounds, MotionBounds
from ik_service.motion.command.command_stream import CommandGate, CommandStream, CommandVelocity
from ik_service.motion.command.gate import PositionGate
from ik_service.motion.command.joint_motion import JointMotion
from ik_service.motion.command.motion_limits import MotionLimits
from ik_service.motion.goal import Step
from ik_service.motion.servo.commands import joint_command, ServoSettings
from ik_service.motion.servo.servo_goal import ServoGoal
from ik_service.motion.target_follower import TargetFollower
from ik_service.solvers.solver import Solver

LOWER = np.array([-1.0, -2.0, -np.inf, 0.0])
UPPER = np.array([1.0, 2.0, np.inf, 0.3])
VELOCITY = np.array([2.0, 0.5, 3.0, 0.0])
START = np.array([0.2, -0.3, 4.0, 0.1])
STEP = np.array([0.001, 0.0, 0.0, 0.0])
PERIOD = 0.01
ROUNDING = 2e-8  # of a position, as the time at full speed [s]


def limits_of(scaling=1.0, acceleration_time=0.2):
    acceleration = scaling / acceleration_time if acceleration_time else np.inf
    return MotionLimits(LOWER, UPPER, VELOCITY, scaling, acceleration)


def begun(now=10.0):
    gate = CommandGate()
    gate.begin(START, now - PERIOD)
    return gate


def test_a_motion_within_the_limits_passes_untouched():
    gate, motion, limits, now = begun(), JointMotion(START), limits_of(), 10.0
    for goal in ([0.9, 1.9, -3.0, 0.1], [-0.9, 0.0, 9.0, 0.1], None):
        for _ in range(150):
            motion.move(None if goal is None else np.array(goal), limits, PERIOD)
            q, _ = gate.admit(motion.q, limits, now, PERIOD)
            assert np.array_equal(q, motion.q)
            now += PERIOD
    assert gate.counts.total == 0


def test_a_leap_becomes_the_first_step_of_a_motion_and_is_counted():
    gate, leap = begun(), START + np.array([0.5, 0.0, 0.0, 0.0])
    q, speed = gate.admit(leap, limits_of(), 10.0, PERIOD)
    assert np.isclose(q[0] - START[0], 2.0 * 0.05 * PERIOD)
    assert np.isclose(speed[0], 0.05)
    assert q[1:].tolist() == START[1:].tolist()
    assert gate.counts.steps == 1


def test_nan_infinity_and_wrong_lengths_hold_the_arm():
    gate = begun()
    for wrong in (np.full(4, np.nan), np.array([np.inf, 0, 0, 0]), np.zeros(3)):
        q, _ = gate.admit(wrong, limits_of(), 10.0, PERIOD)
        assert q.tolist() == START.tolist()
    assert gate.counts.steps == 3


def test_a_stream_does_not_begin_elsewhere_while_it_moves():
    gate = begun()
    first, _ = gate.admit(START + STEP, limits_of(), 10.0, PERIOD)
    gate.begin(START + 1.0, 10.01)
    assert gate.counts.starts == 1
    assert gate.q.tolist() == first.tolist()


def test_without_elapsed_time_there_is_no_motion():
    gate = begun()
    here, _ = gate.admit(START, limits_of(), 10.0, PERIOD)
    q, _ = gate.admit(here + STEP, limits_of(), 10.0, PERIOD)
    assert q.tolist() == here.tolist()


def test_a_command_that_was_sent_late_leaves_the_next_one_less_time():
    gate = begun()
    first, _ = gate.admit(START, limits_of(acceleration_time=0.0), 10.0, PERIOD)
    gate.sent_at += 0.006
    assert np.isclose(gate.elapsed(10.01), 0.004)
    q, _ = gate.admit(first + 1.0, limits_of(acceleration_time=0.0), 10.01, PERIOD)
    assert np.isclose(q[0] - first[0], 2.0 * 0.004)


def test_after_a_late_command_an_arm_is_no_slower_than_its_braking_makes_it():
    gate, motion, limits = begun(), JointMotion(START), limits_of()
    for k in range(10):
        motion.move(np.array([0.9, -0.3, 4.0, 0.1]), limits, PERIOD)
        gate.admit(motion.q, limits, 10.0 + k * PERIOD, PERIOD)
    assert gate.speed[0] == pytest.approx(0.5)
    assert gate.slow_down(0.0, late=0.05) == pytest.approx(0.5)
    assert gate.speed[0] == pytest.approx(0.25)


@pytest.mark.parametrize('seed', range(5))
def test_any_input_gives_bounded_commands(seed):
    random, gate, now = np.random.default_rng(seed), begun(), 10.0 - PERIOD
    last, speed, braking = START, np.zeros(4), 0.0
    for _ in range(1000):
        scaling = random.choice([0.0, 0.1, 0.5, 1.0])
        limits = limits_of(scaling, random.choice([0.05, 0.2, 5.0]))
        period = random.choice([0.001, 0.01, 0.5])
        before = now
        now += random.choice([0.0, 1e-5, 0.0007, 0.01, 0.3, 2.0])
        moving = gate.speed.any()
        odd = random.choice([np.nan, np.inf, -np.inf, 1e300, -1e300, 0.0], 4)
        wanted = np.where(random.random(4) < 0.3, odd, random.uniform(-3.0, 3.0, 4))
        q, _ = gate.admit(wanted, limits, now, period)
        passed = min(now - before, period)
        braking = max(braking if moving else 0.0, float(limits.braking.max()))
        if passed <= 0.0:
            assert q.tolist() == last.tolist()
            continue
        new = (q - last)[:3] / VELOCITY[:3] / passed
        assert (np.abs(new) <= np.maximum(scaling, np.abs(speed[:3])) + ROUNDING / passed).all()
        assert np.abs(new - speed[:3]).max() <= braking * passed * (1.0 + 1e-6) + 1e-6 / passed
        assert ((q >= LOWER) & (q <= UPPER)).all()
        assert q[3] == START[3]
        last, speed = q, np.append(new, 0.0)


LIMITS = free_limits()
MOST = 0.04  # change in a tick of 10 ms [rad/s]


def uneven_ticks(rig, random, jitter, before=lambda: None):
    """Tick until the commands end; return times (k,) [s] and velocities (k, n) [rad/s]."""
    times, velocities = [], []
    for _ in range(1500):
        rig.measure()
        before()
        rig.now += 0.01 + random.uniform(-jitter, jitter)
        command = rig.follower.tick(rig.now)
        if command is None and times:
            break
        if command is not None:
            rig.q = command.q
            times.append(rig.now)
            velocities.append(command.velocity)
    return np.array(times), np.array(velocities)


def assert_within(times, velocities, acceleration):
    passed = np.maximum(np.diff(times), 0.01)
    change = np.abs(np.diff(velocities, axis=0))
    assert (change <= acceleration * passed[:, None] * (1.0 + 1e-9)).all()
    np.testing.assert_array_equal(velocities[-1], 0.0)


@pytest.mark.parametrize('jitter', [0.0, 1.5e-3])
@pytest.mark.parametrize('seed', range(3))
@pytest.mark.parametrize('bound', [None, 3.0])
def test_trajectories_with_uneven_ticks(solver, jitter, seed, bound):
    random, names = np.random.default_rng(seed), solver.chain.joint_names
    ways = random.uniform(-0.5, 0.5, (1 + seed % 3, 7))
    times = np.concatenate([[0.0], np.cumsum(random.uniform(0.4, 1.5, len(ways)))])
    trajectory = iks.JointTrajectory(names, times, np.vstack([READY, READY + ways]))
    bounds = dict.fromkeys(names, JointBounds(acceleration=bound)) if bound else {}
    rig = Playing(solver, trajectory, velocity_scaling=0.5, bounds=MotionBounds(bounds))
    acceleration = rig.follower.limits.acceleration_now
    assert_within(*uneven_ticks(rig, random, jitter), acceleration)
    assert rig.ends


@pytest.mark.parametrize('seed', range(3))
def test_targets_that_move_with_uneven_ticks(solver, seed):
    random, rig = np.random.default_rng(seed), Rig(solver, READY, velocity_scaling=0.5, hold=False)
    rig.measure()
    start, T = rig.now, solver.chain.forward(READY)

    def send():
        angle, target = 3.0 * (rig.now - start), T.copy()
        if angle < 6.0:
            target[:3, 3] += 0.1 * np.array([np.sin(angle), 0.0, np.cos(angle) - 1.0])
            rig.follower.set_target(target, at=rig.now)

    times, velocities = uneven_ticks(rig, random, 1.5e-3, send)
    assert len(times) > 200
    assert_within(times, velocities, rig.follower.limits.acceleration_now)


def test_the_velocity_at_the_end_of_a_step_is_shown_as_far_as_it_may():
    shown = CommandVelocity()
    shown.last = np.array([0.1, 0.0])
    mean, at_end = np.array([0.13, 0.01]), np.array([0.14, 0.06])
    np.testing.assert_allclose(shown.next(mean, at_end, LIMITS, 0.01), [0.14, 0.03])
    # The next one changes by no more than a tick allows, and stays as near to its mean.
    following = shown.next(np.array([0.09, 0.01]), np.array([0.07, 0.01]), LIMITS, 0.01)
    np.testing.assert_allclose(following, [0.1, 0.01])
    np.testing.assert_array_equal(shown.next(np.zeros(2), None, LIMITS, 0.01), 0.0)


def test_velocities_that_are_shown_end_with_the_motion_within_the_accelerations():
    shown, last, most = CommandVelocity(), np.zeros(2), np.full(2, MOST)
    shown.last = last
    for ticks in (0.2425, 0.97, 1.94, 2.91, 1.91, 0.91, 0.0):  # times what a tick can change
        rises = ticks not in (1.91, 0.91)
        velocity = shown.next(ticks * most, (ticks + 0.5) * most if rises else None, LIMITS, 0.01)
        assert (np.abs(velocity - last) <= most * (1.0 + 1e-9)).all()
        assert (np.abs(velocity - ticks * most) <= 0.5 * most).all()
        last = velocity
    assert not last.any()


def test_velocities_stay_below_the_limits():
    shown = CommandVelocity()
    mean = np.array([0.99, 1.5])
    np.testing.assert_allclose(shown.next(mean, mean + MOST, LIMITS, 0.01), [1.0, 1.5])


def moving(step=None):
    """Return a stream of commands that moves two joints, and the time of its last command."""
    stream, now = CommandStream(), 10.0
    stream.begin(np.zeros(2), now)
    for k in range(1, 20 if step is None else 80):
        stream.mark_sent(0.0, PERIOD)
        now = 10.0 + k * PERIOD
        assert stream.resume(LIMITS, now, PERIOD, lambda _: None) is False
        stream.advance(Step(np.ones(2)) if k < 20 else step, LIMITS, now, PERIOD)
    return stream, now


@pytest.mark.parametrize(
    ('passed', 'sending', 'late'),
    [(1.9, 0.0, False), (2.1, 0.0, True), (1.0, 1.9, False), (1.0, 2.1, True)],
)
def test_ticks_and_sendings_of_more_than_two_periods_are_late(passed, sending, late):
    stream, now = moving()
    stream.mark_sent(sending * PERIOD, PERIOD)
    now += (sending + passed) * PERIOD
    assert stream.resume(LIMITS, now, PERIOD, lambda _: None) is late


@pytest.mark.parametrize(
    'step', [Step(np.full(2, np.nan)), Step(np.zeros(3)), Step(velocity=np.array([np.inf, 0.0]))]
)
def test_a_step_that_cannot_be_brings_the_arm_to_rest_within_the_limits(step):
    stream, _ = moving(step)
    assert stream.at_rest
    assert (stream.q > 0.01).all()
    assert stream.gate.counts.total == 0


def test_after_somebody_else_has_taken_over_a_stream_begins_where_the_arm_is():
    stream, now = moving()
    stream.leave()
    assert stream.begin(np.ones(2), now).q.tolist() == [1.0, 1.0]
    assert stream.gate.counts.total == 0


UNNOTICED = 0.1  # share of a period by which sending may take longer


def jog(ur5e, delay, rate, seconds):
    """
    Jog the first joint; return when the commands were sent (k,) [s], and where they lead [rad].

    :param delay: how long it takes to send the command of a number [s].
    """
    settings = ServoSettings()
    follower, goal = TargetFollower(Solver(ur5e), rate=rate), ServoGoal(ur5e, settings)
    command, _ = joint_command({ur5e.joint_names[0]: 1.0}, settings, ur5e)
    goal.command(command, until=seconds + 1.0)
    measured, sent, places = np.array([0.0, -1.2, 1.2, -1.2, -1.2, 0.0]), [], []
    follower.set_measured(measured, 0.0)
    follower.follow_goal(goal)
    for k in range(round(seconds * rate)):
        now = k / rate
        follower.set_measured(measured, now)
        moved = follower.tick(now)
        if moved is not None:
            took = delay(k)
            follower.mark_sent(took)
            measured = moved.q
            sent.append(now + took)
            places.append(measured[0])
    assert follower.violations == 0
    return np.array(sent), np.array(places)


@pytest.mark.parametrize('rate', [100.0, 500.0])
@pytest.mark.parametrize('share', [0.0, 0.05, 0.2, 0.5])
def test_a_constant_time_of_sending_costs_no_speed(ur5e, rate, share):
    sent, places = jog(ur5e, lambda k: share / rate, rate, 1.0)
    moving = sent > 0.5
    speed = np.polyfit(sent[moving], places[moving], 1)[0]
    assert speed == pytest.approx(0.5, rel=0.01)


def test_a_delay_that_is_new_and_stays_costs_its_own_time_alone(ur5e):
    before = jog(ur5e, lambda k: 0.0, 100.0, 2.0)[1]
    after = jog(ur5e, lambda k: 0.004 if k > 100 else 0.0, 100.0, 2.0)[1]
    assert before[-1] - after[-1] <= 0.5 * 0.004 * 11  # until the times before are forgotten


@pytest.mark.parametrize('rate', [100.0, 500.0])
@pytest.mark.parametrize('seed', range(3))
def test_no_step_is_longer_than_the_time_since_the_command_before_has_arrived(ur5e, rate, seed):
    random, period = np.random.default_rng(seed), 1.0 / rate
    usual = random.uniform(0.0, 0.4) * period

    def delay(k):
        return usual + (random.uniform(0.0, 0.9 * period) if random.random() < 0.2 else 0.0)

    sent, places = jog(ur5e, delay, rate, 1.0)
    assert (np.diff(places) <= (0.5 + 1e-9) * (np.diff(sent) + UNNOTICED * period)).all()


@pytest.mark.parametrize('seed', range(3))
def test_what_a_step_had_too_much_as_sending_was_quick_is_taken_from_the_next_one(ur5e, seed):
    period = 0.01
    levels = np.random.default_rng(seed).uniform(0.0, 0.5 * period, 8)
    sent, places = jog(ur5e, lambda k: levels[k // 25], 100.0, 2.0)
    more = np.diff(places) / 0.5 - np.diff(sent)  # time that the steps had too much [s]
    too_much = more[:-1] > UNNOTICED * period
    assert too_much.any()
    assert ((more[:-1] + more[1:])[too_much] <= UNNOTICED * period).all()


class Averaged:
    """Stream of commands of limited jerk, and the gate after it."""

    def __init__(self, random, window=0.4):
        velocity, acceleration = random.uniform(0.2, 4.0, 3), random.uniform(0.5, 20.0, 3)
        velocity = np.minimum(velocity, 2.0 * acceleration)
        self.random, most, jerk = random, acceleration / velocity, 2.0 * acceleration / window
        limits = np.full(3, -3.0), np.full(3, 3.0), velocity, 1.0, most, jerk / velocity, window
        self.limits = MotionLimits(*limits)
        self.stream, self.gate = CommandStream(), PositionGate(3)
        self.now = 10.0
        self.stream.begin(np.zeros(3), self.now, window)
        self.gate.begin(np.zeros(3), np.arange(3), self.now)

    def run(self, seconds, period, shortest):
        """Move to and fro in ticks of a period, or less."""
        limits, stream, random, end = self.limits, self.stream, self.random, self.now + seconds
        step = Step(random.uniform(-2.9, 2.9, 3))
        if random.random() < 0.5:
            step = Step(velocity=random.uniform(-1.0, 1.0, 3) * limits.velocity)
        while self.now < end:
            self.now += period * random.uniform(shortest, 1.1)
            if stream.resume(limits, self.now, period, lambda _: None) is None:
                continue
            command = stream.advance(step, limits, self.now, stream.period)
            sent = self.now, stream.period
            bounds, joints = limits.joint_bounds, np.arange(3)
            self.gate.admit(command.q, command.velocity, joints, bounds, *sent)
            stream.mark_sent(0.0, stream.period)


@pytest.mark.parametrize('seed', range(2))
@pytest.mark.parametrize(('rates', 'shortest'), [((100, 500), 1.0), ((100,), 0.5), ((500,), 0.5)])
def test_commands_of_limited_jerk_pass_the_gate_in_ticks_of_any_lengths(rates, shortest, seed):
    random = np.random.default_rng(seed)
    motion = Averaged(random)
    for _ in range(6):
        motion.run(random.uniform(0.1, 1.0), 1.0 / random.choice(rates), shortest)
    assert motion.gate.corrected == 0, motion.gate.reason
    assert motion.stream.gate.counts.total == 0


def test_commands_of_limited_jerk_come_back_to_their_average_and_rest_at_the_goal():
    motion, goal = Averaged(np.random.default_rng(0)), np.array([1.0, -2.0, 0.5])
    for k in range(1500):
        motion.now += 0.01 if k % 3 else 0.006
        if motion.stream.resume(motion.limits, motion.now, 0.01, lambda _: None) is not None:
            motion.stream.advance(Step(goal), motion.limits, motion.now, motion.stream.period)
            motion.stream.mark_sent(0.0, 0.01)
    assert motion.stream.q.tolist() == goal.tolist()
    assert motion.stream.at_rest
