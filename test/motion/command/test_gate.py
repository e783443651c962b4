"""The gate before the controllers, fed with motions that no healthy code would make."""

import ast
from dataclasses import replace
import itertools
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
import pytest
from scipy.interpolate import CubicHermiteSpline

from ik_service.motion.command import cubic_kernels, trajectory_gate, vector_kernels
from ik_service.motion.command import gate as gate_module
from ik_service.motion.command.gate import JointBounds, VelocityGate
from ik_service.motion.command.trajectory_gate import (
    CubicMotion,
    CYCLE,
    resting,
    TAKEN_UP,
    TrajectoryGate,
)
from ik_service.motion.command.vector_kernels import LONGEST_SLOWING

NOW = 10.0
BOUNDS = JointBounds(
    np.array([-1.0, -np.inf]), np.array([1.0, np.inf]), np.array([2.0, 1.0]), np.array([5.0, 4.0])
)


def along(times, speeds, start=0.0):
    """Return a motion of the first joint, whose speed changes evenly between times since NOW."""
    times, speeds = np.array(times), np.array(speeds)
    moved = np.cumsum(0.5 * np.diff(times) * (speeds[1:] + speeds[:-1]))
    rows = np.array([start + np.append(0.0, moved), speeds])[:, :, None]
    return CubicMotion.of(NOW + times, *np.concatenate([rows, 0.0 * rows], axis=2))


def ramp(speed=1.0, start=0.0, begins=NOW - 0.05, acceleration=4.0, coast=0.05):
    """Return a motion of the first joint that goes on with a speed for a while, and then stops."""
    times = np.cumsum([begins - NOW, coast, abs(speed) / acceleration, 0.5])
    return along(times, [speed, speed, 0.0, 0.0], start)


def changed(motion, part, place, value):
    """Return a motion with another number among its times, positions or velocities."""
    times, rows = motion.times.copy(), motion.rows.copy()
    {'times': times, 'positions': rows[0], 'velocities': rows[1]}[part][place] = value
    return CubicMotion(times, rows)


def test_it_shares_nothing_with_what_makes_the_motion():
    allowed = ('__future__', 'collections', 'dataclasses', 'functools', 'math', 'numpy', 'typing')
    helpers = ('ik_service.jit.compile', 'ik_service.jit.entry')
    modules = gate_module, trajectory_gate, cubic_kernels, vector_kernels
    own = [module.__name__ for module in modules]
    for module in modules:
        tree = ast.walk(ast.parse(Path(module.__file__).read_text()))
        imported = [node for node in tree if isinstance(node, ast.Import | ast.ImportFrom)]
        assert imported
        for node in imported:
            names = [part.name for part in node.names]
            for name in names if isinstance(node, ast.Import) else [node.module]:
                assert name in (*own, *helpers) or name.split('.')[0] in allowed


@pytest.mark.parametrize(
    'motion',
    [ramp(speed=2.0, start=-0.9, acceleration=4.9), ramp(acceleration=5.0), ramp(start=0.825)],
    ids=['speed', 'acceleration', 'position'],
)
def test_a_motion_up_to_the_limits_passes(motion):
    gate = TrajectoryGate()
    assert gate.admit(motion, BOUNDS, NOW), gate.reason
    assert gate.refused == 0


@pytest.mark.parametrize(
    ('motion', 'reason'),
    [
        (changed(ramp(), 'velocities', (-1, 0), 1e-9), 'does not end at rest'),
        (changed(ramp(), 'positions', (2, 1), np.nan), 'finite'),
        (changed(ramp(), 'velocities', (1, 1), np.inf), 'finite'),
        (changed(ramp(), 'times', 2, NOW - 0.2), 'times do not increase'),
        (ramp(begins=NOW + 0.001), 'does not cover the present'),
        (ramp(begins=NOW - 9.0), 'does not cover the present'),
        (ramp(speed=2.00001, start=-0.9, acceleration=4.9), 'it is faster than the limits'),
        (ramp(acceleration=5.11), 'accelerates faster'),
        (ramp(start=0.82501), 'leaves the joint limits'),
        (ramp(speed=-1.0, start=-0.82501), 'leaves the joint limits'),
        (changed(ramp(), 'positions', (2, 1), 0.2), 'faster'),
    ],
)
def test_anything_else_is_refused_with_the_reason(motion, reason):
    gate = TrajectoryGate()
    assert not gate.admit(motion, BOUNDS, NOW)
    assert gate.refused == 1
    assert reason in gate.reason


def test_a_limit_that_is_crossed_only_between_two_points_is_seen():
    """There and back within one segment: both points are inside."""
    times, positions = NOW + np.array([-0.1, 0.9, 1.5]), np.tile([0.9, 0.0], (3, 1))
    velocities = np.array([[0.6, 0.0], [0.0, 0.0], [0.0, 0.0]])
    motion = CubicMotion.of(times, positions, velocities)
    spline = CubicHermiteSpline(times, positions, velocities)
    assert spline(np.linspace(*times[[0, -1]], 1000)).max() < 1.0 < 0.9 + 0.6
    wide = replace(BOUNDS, upper=np.array([0.95, np.inf]))
    assert TrajectoryGate().admit(motion, BOUNDS, NOW)
    assert not TrajectoryGate().admit(motion, wide, NOW - 0.05)


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_extremes_between_points_are_exact(data):
    number = st.floats(-3.0, 3.0)
    k = data.draw(st.integers(2, 5))
    steps = data.draw(st.lists(st.floats(0.01, 1.0), min_size=k, max_size=k))
    rows = [data.draw(st.lists(number, min_size=k, max_size=k)) for _ in range(2)]
    positions, velocities = (np.array(row)[:, None] for row in rows)
    motion = CubicMotion.of(np.cumsum(steps), positions, velocities)
    since = data.draw(st.floats(motion.times[0], motion.times[-2]))
    spline = CubicHermiteSpline(motion.times, positions, velocities)
    ends = [since, *motion.times[motion.times > since]]
    times = np.concatenate([np.linspace(*pair, 2001) for pair in itertools.pairwise(ends)])
    low, high, fastest, most, _ = motion.extremes(since)[:, 0]
    seen, speeds, accelerations = spline(times), np.abs(spline(times, 1)), np.abs(spline(times, 2))
    assert seen.min() - 1e-3 <= low <= seen.min() + 1e-9
    assert seen.max() - 1e-9 <= high <= seen.max() + 1e-3
    assert speeds.max() - 1e-6 <= fastest <= speeds.max() * 1.001 + 1e-6
    np.testing.assert_allclose(most, accelerations.max(), rtol=0.01, atol=1e-6)
    assert (motion.differences(motion, since) == 0.0).all()


SMOOTH = replace(BOUNDS, jerk=np.array([40.0, np.inf]))


def smooth(jerk=40.0, begins=NOW - 0.05, shape=(0, 1, 0, -1, 0)):
    """Return a motion of the first joint whose acceleration goes up, down, and back to zero."""
    h, accelerations = 0.1, 0.1 * jerk * np.array(shape, float)
    velocities = np.append(0.0, np.cumsum(0.5 * h * (accelerations[1:] + accelerations[:-1])))
    velocities[-1] = 0.0
    moved = h * velocities[:-1] + h * h * (accelerations[:-1] / 3.0 + accelerations[1:] / 6.0)
    rows = np.array([np.append(0.0, np.cumsum(moved)), velocities])[:, :, None]
    times = begins + h * np.arange(float(len(shape)))
    return CubicMotion.of(times, *np.concatenate([rows, 0.0 * rows], axis=2))


def test_a_motion_whose_acceleration_changes_within_the_jerk_passes():
    gate = TrajectoryGate()
    for now in np.arange(NOW, NOW + 0.35, 0.01):
        assert gate.admit(smooth(), SMOOTH, now), gate.reason
    assert smooth().extremes(NOW)[4, 0] == pytest.approx(40.0, rel=0.01)


def test_one_that_changes_it_faster_or_at_once_is_refused_where_the_jerk_is_limited():
    for motion in (smooth(jerk=41.4), ramp(), along([-0.1, 0.1], [0.1, 0.0])):
        assert TrajectoryGate().admit(motion, BOUNDS, NOW)
        gate = TrajectoryGate()
        assert not gate.admit(motion, SMOOTH, NOW)
        assert 'acceleration changes faster' in gate.reason


def test_a_leap_of_the_acceleration_is_refused_where_the_jerk_is_limited():
    """Another motion of the same position and velocity, which goes on with a constant speed."""
    now, motion, gate, h = NOW + 0.1, smooth(jerk=20.0), TrajectoryGate(), 0.2
    assert gate.admit(motion, SMOOTH, NOW)
    spline = CubicHermiteSpline(motion.times, *motion.rows[:, :, 0])
    q, speed = spline(now), spline(now, 1)
    positions = q + h * speed * np.array([0.0, 1.0, 11.0 / 6.0, 2.0])
    velocities = np.array([speed, speed, 0.5 * speed, 0.0])
    rows = np.array([positions, velocities])[:, :, None]
    points = np.concatenate([rows, 0.0 * rows], axis=2)
    other = CubicMotion.of(now + h * np.arange(4.0), *points)
    assert not gate.admit(other, SMOOTH, now)
    assert 'what is executed' in gate.reason
    assert TrajectoryGate().admit(other, SMOOTH, now)


@pytest.mark.parametrize('before', [1e-4, 1e-9, 1e-12, 4e-15])
def test_the_acceleration_of_the_last_instant_of_a_segment_is_that_of_the_segment(before):
    """A window that is judged just before one of its points has accelerations without rounding."""
    motion = ramp(start=2.34783)
    most = motion.extremes(motion.times[1] - before)[3]
    np.testing.assert_allclose(most, motion.extremes(motion.times[1])[3], rtol=1e-9)


@pytest.mark.parametrize('off', [1.0, -1.0, 1e3])
@pytest.mark.parametrize(
    ('bounds', 'most'),
    [
        (BOUNDS, 1.1e-5),  # what the acceleration changes in a cycle, and rounding [rad]
        (SMOOTH, 1.16e-6),  # what the jerk does
        (replace(BOUNDS, velocity=np.array([1e-3, 1.0])), 3e-6),  # what a speed turned round does
    ],
    ids=['acceleration', 'jerk', 'speed'],
)
def test_a_leap_from_what_is_executed_is_refused(bounds, most, off):
    gate, still = TrajectoryGate(), resting(np.zeros(2), NOW)
    assert gate.admit(still, bounds, NOW)
    assert not gate.admit(resting(np.array([1.01 * off * most, 0.0]), NOW), bounds, NOW)
    assert 'beside what is executed' in gate.reason
    assert gate.admit(resting(np.array([0.99 * np.sign(off) * most, 0.0]), NOW), bounds, NOW)


@pytest.mark.parametrize(('apart', 'passes'), [(0.0031, True), (0.0029, False)])
def test_until_a_controller_takes_it_up_a_motion_has_the_velocity_of_what_is_executed(
    apart, passes
):
    """Velocities go apart by 10 rad/s², and may do so by 0.01 rad/s within 4 ms."""
    times, gate = [-0.05, apart, apart + 0.02, 0.2], TrajectoryGate()
    assert gate.admit(along(times, [0.1, 0.1, 0.2, 0.0]), BOUNDS, NOW)
    assert gate.admit(along(times, [0.1, 0.1, 0.0, 0.0]), BOUNDS, NOW) == passes
    assert passes or 'velocity begins' in gate.reason


@pytest.mark.parametrize('side', [1.0, -1.0])
def test_a_joint_outside_its_limits_may_stay_or_come_back(side):
    gate, there = TrajectoryGate(), np.array([1.2 * side, 0.0])
    gate.begin(there, NOW)
    for speed in (0.0, -0.4 * side, 0.4 * side):
        motion = along([0.0, 0.01, 0.11, 0.21], [0.0, 0.0, speed, 0.0], there[0])
        passes = gate.admit(motion, BOUNDS, NOW)
    assert not passes
    assert (gate.refused, gate.reason) == (1, 'it leaves the joint limits')


def test_a_motion_begins_elsewhere_only_after_a_rest():
    gate = TrajectoryGate()
    assert gate.admit(ramp(), BOUNDS, NOW)
    elsewhere = np.array([-0.5, 0.3])
    gate.begin(elsewhere, NOW + 0.1)
    assert not gate.admit(resting(elsewhere, NOW), BOUNDS, NOW + 0.1)
    gate.begin(elsewhere, NOW + 5.0)
    assert gate.admit(resting(elsewhere, NOW + 4.5), BOUNDS, NOW + 5.0)


def test_limits_that_are_tightened_are_reached_along_a_motion_that_the_old_ones_allow():
    gate = TrajectoryGate()
    slow = replace(BOUNDS, velocity=np.full(2, 0.1), acceleration=np.full(2, 0.5))
    assert gate.admit(ramp(coast=0.2), BOUNDS, NOW)
    assert gate.admit(ramp(coast=0.2), slow, NOW + 0.01), 'it still moves as it was told before'
    assert not gate.admit(along([-0.05, 0.1, 0.15, 0.6], [1.0, 1.0, 1.2, 0.0]), slow, NOW + 0.02)
    assert gate.reason == 'it is faster than the limits allow'
    gate.begin(np.zeros(2), NOW + 5.0)
    gently = ramp(speed=0.1, begins=NOW + 5.0)
    assert not gate.admit(gently, slow, NOW + 5.0), 'after a rest it may not'
    assert gate.reason == 'it accelerates faster than the limits allow'


@pytest.mark.parametrize(
    ('jerk', 'waits', 'lowest', 'goes_on'),
    [(np.inf, 0.0, 0.1, 0), (60.0, 0.0, 0.1, 1), (60.0, 0.6, 0.1, 0), (60.0, 0.6, 0.05, 1)],
)
def test_only_where_the_jerk_is_limited_an_acceleration_goes_on_for_a_moment(
    jerk, waits, lowest, goes_on
):
    gate, bounds = TrajectoryGate(), replace(BOUNDS, jerk=np.array([jerk, np.inf]))
    cruise = [0.0] * 7
    motion, faster = (
        smooth(20.0, shape=[0, 1, *cruise, up, *cruise, -1, -up, 0]) for up in (0, 1)
    )
    slow = replace(bounds, velocity=np.full(2, 0.1))
    assert gate.admit(motion, bounds, NOW)
    assert gate.admit(motion, slow, NOW), 'it still moves as it was told before'
    slow = replace(slow, velocity=np.full(2, lowest))  # lowered again, or not
    assert gate.admit(faster, slow, NOW + waits) == goes_on, gate.reason


def test_a_motion_does_not_stay_faster_than_tightened_limits_for_ever():
    gate, slow = TrajectoryGate(), replace(BOUNDS, velocity=np.array([0.3, 0.1]))
    free = replace(slow, lower=np.full(2, -np.inf), upper=np.full(2, np.inf))
    assert gate.admit(ramp(coast=0.1), replace(free, velocity=BOUNDS.velocity), NOW)
    passed = 0.0
    while gate.refused == 0 and passed < 10.0:
        passed += 0.01
        motion = ramp(start=passed, begins=NOW - 0.05 + passed, coast=0.1)
        gate.admit(motion, free, NOW + passed)
    assert passed == pytest.approx(LONGEST_SLOWING, abs=0.1)


def test_what_was_not_sent_is_not_executed():
    gate = TrajectoryGate()
    assert gate.admit(ramp(speed=0.5), BOUNDS, NOW)
    assert not gate.admit(ramp(start=0.3), BOUNDS, NOW + 0.01)
    gate.withdraw()
    assert gate.refused == 1
    assert gate.admit(ramp(start=0.3), BOUNDS, NOW + 0.01)


def test_a_trajectory_is_late_when_the_controller_has_gone_on_without_it_or_it_is_over():
    gate = TrajectoryGate()
    assert gate.admit(ramp(), BOUNDS, NOW)
    assert gate.admit(ramp(coast=0.15), BOUNDS, NOW - 0.01)
    assert not gate.is_late(NOW - 0.01)
    assert gate.is_late(NOW + 0.1)
    gate, nowhere = TrajectoryGate(), resting(np.zeros(2), NOW - 0.5)
    gate.begin(np.zeros(2), NOW)
    assert gate.admit(nowhere, BOUNDS, NOW)
    assert not gate.is_late(NOW + 0.4)
    assert gate.is_late(NOW + 0.5)


@pytest.mark.parametrize('seed', range(5))
def test_any_velocities_are_brought_inside_the_bounds(seed):
    random, gate, now = np.random.default_rng(seed), VelocityGate(2), NOW
    q, last, odd = np.array([0.2, 0.0]), np.zeros(2), [np.nan, np.inf, -np.inf, 1e300, 0.0]
    gate.admit(last, q, BOUNDS, now, 0.01)
    for _ in range(1000):
        passed = random.choice([0.0, 0.001, 0.01, 0.3])
        now += passed
        q = np.clip(q + last * passed, [-1.0, -np.inf], [1.0, np.inf])
        wanted = np.where(random.random(2) < 0.3, random.choice(odd, 2), random.uniform(-9, 9, 2))
        velocity = gate.admit(wanted, q, BOUNDS, now, 0.01)
        assert (np.abs(velocity) <= BOUNDS.velocity + 1e-9).all()
        step = BOUNDS.acceleration * min(passed, 0.01) + 1e-6
        at_limit = np.array([abs(q[0]) >= 0.6, False])  # a gap of 0.3 s may lead it there at once
        assert ((np.abs(velocity - last) <= step) | at_limit).all()
        last = velocity


def test_a_joint_that_is_driven_into_its_limit_stops_before_it():
    gate, q, velocity, now = VelocityGate(2), np.zeros(2), np.zeros(2), NOW
    for _ in range(400):
        now += 0.01
        q = q + 0.01 * velocity
        last, velocity = velocity, gate.admit(np.array([2.0, 0.0]), q, BOUNDS, now, 0.01)
        assert abs(velocity[0] - last[0]) <= BOUNDS.acceleration[0] * 0.01 * 1.01
    assert 0.99 < q[0] <= 1.0
    assert gate.corrected > 0


def test_the_window_of_the_take_up_is_longer_than_a_cycle_of_the_controller():
    assert TAKEN_UP >= CYCLE
