"""The final bound on commands, for inputs of all kinds."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np

from ik_service.motion.command.command_stream import CommandGate
from ik_service.motion.command.joint_motion import JointMotion, MotionLimits

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
    assert gate.last[0].tolist() == first.tolist()


def test_without_elapsed_time_there_is_no_motion():
    gate = begun()
    here, _ = gate.admit(START, limits_of(), 10.0, PERIOD)
    q, _ = gate.admit(here + STEP, limits_of(), 10.0, PERIOD)
    assert q.tolist() == here.tolist()


def test_a_command_that_was_sent_late_leaves_the_next_one_less_time():
    gate = begun()
    first, _ = gate.admit(START, limits_of(acceleration_time=0.0), 10.0, PERIOD)
    gate.postpone(0.006)
    assert np.isclose(gate.elapsed(10.01), 0.004)
    q, _ = gate.admit(first + 1.0, limits_of(acceleration_time=0.0), 10.01, PERIOD)
    assert np.isclose(q[0] - first[0], 2.0 * 0.004)


numbers = st.one_of(
    st.floats(-3.0, 3.0), st.sampled_from([np.nan, np.inf, -np.inf, 1e300, -1e300, 0.0])
)


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_any_input_gives_bounded_commands(data):
    gate, now, last, speed = begun(), 10.0 - PERIOD, START, np.zeros(4)
    braking = 0.0
    for _ in range(data.draw(st.integers(1, 60))):
        scaling = data.draw(st.sampled_from([0.0, 0.1, 0.5, 1.0]))
        limits = limits_of(scaling, data.draw(st.sampled_from([0.05, 0.2, 5.0])))
        wanted = np.array(data.draw(st.tuples(numbers, numbers, numbers, numbers)))
        period = data.draw(st.sampled_from([0.001, 0.01, 0.5]))
        before = now
        now += data.draw(st.sampled_from([0.0, 1e-5, 0.0007, 0.01, 0.3, 2.0]))
        moving = gate.last[1].any()
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
