"""Windows of motion, as a joint_trajectory_controller plays them."""

from dataclasses import replace

import numpy as np
import pytest

from ik_service.motion.command.command_window import (
    CommandStep,
    CommandWindow,
    cubic_changes,
    motion_to,
    motion_to_rest,
    StepClock,
)
from ik_service.motion.command.joint_motion import JointMotion
from ik_service.motion.command.motion_limits import MotionLimits
from ik_service.paths.trajectory.joint_trajectory import segment_coefficients, time_powers

NAMES = ('shoulder', 'elbow')
LIMITS = MotionLimits(np.full(2, -3.0), np.full(2, 3.0), np.full(2, 2.0), 0.5, 2.5)
"""Two joints that move at 1 rad/s at most, and reach that speed in 0.2 s."""

PERIOD = 0.01
FASTEST = 1.0  # [rad/s]
ACCELERATION = 5.0  # [rad/s²]


def test_a_window_holds_the_past_the_newest_command_and_a_rest():
    window, motion = CommandWindow(NAMES), JointMotion(np.zeros(2))
    for k in range(30):
        motion.move(np.array([1.0, -0.5]), LIMITS, PERIOD)
        planned = window.add(motion.q, LIMITS, 5.0 + k * PERIOD, PERIOD)
    now, way = 5.0 + 29 * PERIOD, planned.trajectory
    assert planned.start <= now - 0.05 + PERIOD
    assert planned.start + way.duration >= now + 0.1
    assert not way.velocities[-1].any()
    assert (np.diff(way.times) > 0.0).all()
    times = np.linspace(0.0, way.duration, 500)
    motion_between = [way.at(t) for t in times]
    assert np.abs([v for _, v, _ in motion_between]).max() <= FASTEST + 1e-9
    assert np.abs([a for _, _, a in motion_between]).max() <= 1.5 * ACCELERATION


def test_after_a_higher_rate_no_joint_is_faster_between_two_points_either():
    limits = replace(LIMITS, acceleration=25.0)
    window, q, now = CommandWindow(NAMES), np.zeros(2), 5.0
    for speed, period in [(0.0, 0.05), (0.5, 0.05), *[(FASTEST, 0.05)] * 10, (0.5, PERIOD)]:
        now, q = now + period, q + speed * period
        planned = window.add(q, limits, now, period)
    times = np.arange(now, planned.start + planned.trajectory.duration, 0.0005)
    assert np.max([planned.at(t)[1] for t in times]) <= FASTEST * (1.0 + 1e-6)


@pytest.mark.parametrize('coast', [True, False])
@pytest.mark.parametrize('period', [0.01, 0.05])
def test_without_more_commands_joints_go_on_for_a_while_and_brake_as_they_may(period, coast):
    window, motion, speeds = CommandWindow(NAMES), JointMotion(np.zeros(2)), np.array([1.0, -0.5])
    for k in range(round(0.4 / period)):
        planned = window.add(motion.q, LIMITS, 5.0 + k * period, period, coast)
        rests = motion.q + speeds * (
            max(0.05, 3.0 * period) * coast + 0.5 * FASTEST / ACCELERATION
        )
        motion.drive(speeds, LIMITS, period)
    np.testing.assert_allclose(planned.trajectory.positions[-1], rests, atol=2e-6)


@pytest.mark.parametrize(
    ('passed', 'away', 'fresh'), [(4.0, 0.002, True), (4.0, 0.0005, False), (0.05, 0.06, False)]
)
def test_a_motion_begins_anew_only_where_the_last_one_is_over_and_the_arm_stands_elsewhere(
    passed, away, fresh
):
    window, there = CommandWindow(NAMES), np.array([0.0, away])
    window.add(np.zeros(2), LIMITS, 5.0, PERIOD)
    window.end()
    planned = window.add(there, LIMITS, 5.0 + passed, PERIOD)
    assert planned.fresh is fresh
    np.testing.assert_allclose(planned.at(5.0 + passed)[0], there if fresh else 0.0)


def step(velocity, fastest=FASTEST, q=0.0):
    """Return a step of a period from a place (2,) with a velocity (2,)."""
    braking, dt = LIMITS.braking, PERIOD
    return CommandStep(np.full(2, q), np.asarray(velocity), braking, np.full(2, fastest), dt)


@pytest.mark.parametrize('joint', [0, 1])
@pytest.mark.parametrize('sign', [1.0, -1.0])
@pytest.mark.parametrize(
    ('velocity', 'end', 'off', 'may'),
    [
        (0.5, 0.55, 0.0, True),
        (0.5, 0.5501, 0.0, False),
        (0.5, 0.45, 0.0, True),
        (0.5, 0.4499, 0.0, False),
        (0.97, 1.0, 0.0, True),
        (0.97, 1.0001, 0.0, False),
        (0.5, 0.5, 8.3e-5, True),  # an acceleration of ±5 rad/s² at the ends of a cubic
        (0.5, 0.5, 8.4e-5, False),
    ],
)
def test_a_step_may_be_as_fast_and_change_as_much_as_the_limits_allow(
    velocity, end, off, may, sign, joint
):
    velocities = np.zeros((2, 2))
    velocities[:, joint] = sign * velocity, sign * end
    q = 0.5 * PERIOD * velocities.sum(axis=0)
    q[joint] += sign * off
    assert step(velocities[0]).may_lead_to(q, velocities[1], LIMITS) == may


@pytest.mark.parametrize('slowly', [True, False])
def test_a_step_towards_any_waypoint_keeps_the_limits(slowly):
    random = np.random.default_rng(0)
    for _ in range(200):
        fastest, velocity = random.uniform(0.2, FASTEST), random.uniform(-0.2, 0.2, 2)
        begins = step(velocity * random.choice([1.0, fastest / 0.2]), fastest)
        waypoint = random.uniform(-0.3, 0.3, 2) * random.choice([0.01, 1.0])
        end, speeds = begins.towards(waypoint, random.uniform(-1.0, 1.0, 2), LIMITS, slowly)
        assert begins.may_lead_to(end, speeds, LIMITS)


def test_a_command_that_was_not_sent_is_forgotten():
    one, other = CommandWindow(NAMES), CommandWindow(NAMES)
    for window in (one, other):
        window.add(np.zeros(2), LIMITS, 1.0, PERIOD)
        window.add(np.full(2, 0.004), LIMITS, 1.01, PERIOD)
    one.add(np.full(2, 0.011), LIMITS, 1.02, PERIOD)
    one.discard()
    ways = [w.add(np.full(2, 0.01), LIMITS, 1.021, PERIOD).trajectory for w in (one, other)]
    np.testing.assert_array_equal(ways[0].positions, ways[1].positions)


def test_the_way_to_rest_ends_inside_the_joint_limits():
    random = np.random.default_rng(3)
    for _ in range(200):
        q = random.uniform(-3.0, 3.0, 2)
        velocity = random.uniform(-1.0, 1.0, 2)
        room = np.where(velocity > 0.0, LIMITS.upper - q, q - LIMITS.lower)
        velocity *= np.minimum(1.0, np.sqrt(2.0 * ACCELERATION * room) / np.abs(velocity))
        times, positions, velocities = motion_to_rest(
            q, velocity, LIMITS, LIMITS.braking, 0.05, PERIOD
        )
        assert ((positions >= LIMITS.lower) & (positions <= LIMITS.upper)).all()
        assert not velocities[-1].any()
        # A joint that is near its limit slows down at once, while the fastest one goes on.
        times, rows = np.append(0.0, times), np.vstack([[q], positions])
        speeds = np.vstack([[velocity], velocities])
        for i, h in enumerate(np.diff(times)):
            changes = cubic_changes(rows[i], speeds[i], rows[i + 1], speeds[i + 1], h)
            assert (np.abs(changes) <= ACCELERATION * 1.05 * h + 1e-6).all()


@pytest.mark.parametrize('period', [0.01, 0.004, 0.002])
def test_the_way_to_a_goal_keeps_the_acceleration_from_point_to_point(period):
    random = np.random.default_rng(4)
    for _ in range(100):
        q = random.uniform(-1.0, 1.0, 2)
        goal = q + random.choice([0.001, 0.01, 0.03]) * random.uniform(-1.0, 1.0, 2)
        way = motion_to(goal, q, np.zeros(2), LIMITS, LIMITS.braking, period)
        assert way is not None
        times = np.concatenate([[-0.5 * period], way[0]])
        positions, velocities = np.vstack([q, way[1]]), np.vstack([np.zeros(2), way[2]])
        np.testing.assert_array_equal(positions[-1], goal)
        assert not velocities[-1].any()
        polynomials = segment_coefficients(times, positions, velocities, None)
        for polynomial, duration in zip(polynomials, np.diff(times), strict=True):
            for t in (0.0, duration):
                assert np.abs((time_powers(t) @ polynomial)[2]).max() <= 1.001 * ACCELERATION


def test_without_a_limit_of_acceleration_an_arm_comes_to_rest_within_a_period():
    limits = MotionLimits(LIMITS.lower, LIMITS.upper, LIMITS.velocity, 0.5, np.inf)
    times, _, _ = motion_to_rest(np.zeros(2), np.ones(2), limits, limits.braking, 0.0, PERIOD)
    assert times[-1] == pytest.approx(PERIOD)
    rest, goal = np.zeros(2), np.array([0.5, 0.0])
    step = CommandStep(rest, rest, limits.braking, limits.velocity_now, PERIOD)
    with np.errstate(invalid='raise'):
        q, velocity = step.towards(goal, rest, limits, slowly=False)
    assert np.abs(velocity).max() == pytest.approx(FASTEST)
    assert q[1] == velocity[1] == 0.0


@pytest.mark.parametrize('room', [0.01, 0.002, 0.0])
@pytest.mark.parametrize('side', [1.0, -1.0])
@pytest.mark.parametrize('slowly', [True, False])
def test_a_joint_that_is_too_fast_for_its_limit_brakes_as_sharply_as_it_has_to(slowly, side, room):
    limit, still = np.array([3.0 * side, 0.0]), np.zeros(2)
    q, velocity = limit - np.array([room * side, 0.0]), np.array([0.5 * side, 0.0])
    for _ in range(100):
        begins = CommandStep(q, velocity, LIMITS.braking, np.full(2, FASTEST), PERIOD)
        before, (q, velocity) = velocity, begins.towards(limit, still, LIMITS, slowly)
        assert side * q[0] <= 3.0 + 1e-6
        assert abs(velocity[0]) <= abs(before[0]) + ACCELERATION * PERIOD + 1e-9
    np.testing.assert_allclose([q, velocity], [limit, still], atol=1e-4)


TICK, BRAKING = 0.01, 5.0


def after(intervals):
    """Return the clocks after ticks, and how far ahead of the last one its step ends [s]."""
    clocks, ahead = [StepClock()], 0.0
    for elapsed in intervals:
        dt, ticked = min(elapsed, TICK), clocks[-1].ticked(elapsed, TICK)
        clocks.append(ticked.stepped(elapsed - ahead, dt, BRAKING))
        ahead += clocks[-1].ratio * dt - elapsed
    return clocks, ahead


def test_even_ticks_are_steps_as_they_are():
    clocks, ahead = after([TICK] * 50)
    assert clocks[-1] == StepClock()
    assert ahead == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize('late', [0.0005, 0.002, 0.008])
def test_ticks_that_are_all_late_are_longer_steps(late):
    clocks, ahead = after([TICK + late] * 1000)
    assert clocks[-1].ratio == pytest.approx(1.0 + late / TICK, rel=1e-3)
    assert ahead == pytest.approx(clocks[-1].reserve, rel=0.05)


def test_steps_keep_up_with_ticks_that_jitter():
    random = np.random.default_rng(1)
    clocks, ahead = after(TICK * random.uniform(0.8, 1.2, 2000))
    assert all(1.0 <= clock.ratio < 1.3 for clock in clocks)
    assert 0.0 < ahead < 2.0 * TICK
    assert clocks[-1].lateness == pytest.approx(0.05, abs=0.02)
    assert clocks[-1].reserve == pytest.approx(3.0 * 0.2 * TICK, rel=0.2)


def test_a_stall_tells_nothing_about_the_ticks_that_follow():
    clocks, _ = after([TICK, 0.5, TICK])
    assert (clocks[-1].lateness, clocks[-1].reserve) == (0.0, 0.0)


def test_the_ratio_changes_slowly_and_within_bounds():
    clock = StepClock()
    for _ in range(1000):
        ratio = clock.ratio
        clock = clock.ticked(2.0 * TICK, TICK).stepped(100.0, TICK, BRAKING)
        assert 0.0 <= clock.ratio - ratio <= 0.1 * BRAKING * TICK + 1e-12
    assert clock.ratio == 2.0
    assert StepClock().stepped(-1.0, TICK, BRAKING).ratio == 1.0, 'shorter steps brake sharply'
    assert clock.reserve == 1.5 * TICK
