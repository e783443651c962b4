"""Commands of several groups for the joints of one controller, and windows around them."""

from dataclasses import replace

import numpy as np
import pytest

from ik_service.motion.command.averaged_motion import JerkLimitedMotion
from ik_service.motion.command.command_stream import FollowerCommand
from ik_service.motion.command.command_window import CommandWindow, HISTORY
from ik_service.motion.command.gate import CommandedJoints
from ik_service.motion.command.joint_motion import JointMotion
from ik_service.motion.command.motion_limits import MotionLimits
from ik_service.motion.command.windowed_joints import (
    BLENDED_HISTORY,
    BlendedWindows,
    BRIDGE,
    delayed,
    INTERVAL,
    LAG,
    limits_among,
    WindowedJoints,
)

NAMES = ('shoulder', 'elbow')
LIMITS = MotionLimits(np.full(2, -3.0), np.full(2, 3.0), np.full(2, 2.0), 0.5, 2.5)
"""Two joints that move at 1 rad/s at most, and reach that speed in 0.2 s."""

LEFT, RIGHT = np.array([2, 0]), np.array([3])
MEASURED = np.array([1.0, 2.0, 3.0, 4.0])
OTHERS = MotionLimits(np.full(4, -9.0), np.full(4, 9.0), np.full(4, 0.1), 0.5, 3.0)


def test_joints_are_held_where_the_commands_began_or_where_their_group_has_come_to_rest():
    joints = CommandedJoints('abcd')
    joints.begin(1, MEASURED)
    joints.put(LEFT, np.array([3.5, 1.5]), np.array([0.1, 0.2]))
    np.testing.assert_array_equal(joints.q, [1.5, 2.0, 3.5, 4.0])
    np.testing.assert_array_equal(joints.velocity, [0.2, 0.0, 0.1, 0.0])
    joints.begin(2, MEASURED + 0.01)  # where they are measured, a little off, counts no more
    joints.put(RIGHT, np.array([4.5]), np.array([0.3]))
    joints.end(1, LEFT)
    np.testing.assert_array_equal(joints.q, [1.5, 2.0, 3.5, 4.5])
    np.testing.assert_array_equal(joints.velocity, [0.0, 0.0, 0.0, 0.3])
    joints.end(2, RIGHT)
    joints.begin(1, MEASURED + 1.0)
    np.testing.assert_array_equal(joints.q, MEASURED + 1.0)


def test_two_groups_that_move_in_the_same_tick_share_a_window():
    joints = WindowedJoints('abcd')
    infinite = np.full(4, np.inf)
    limits = MotionLimits(-infinite, infinite, np.ones(4), 1.0, 5.0)
    joints.begin(1, MEASURED)
    joints.begin(2, MEASURED)
    joints.window.add(joints.q, limits, 1.0, 0.01)
    joints.put(LEFT, np.array([3.001, 1.001]), np.array([0.1, 0.1]))
    one = joints.window.add(joints.q, limits, 1.01, 0.01).trajectory
    joints.put(RIGHT, np.array([4.001]), np.array([0.1]))
    both = joints.window.add(joints.q, limits, 1.01, 0.01).trajectory
    assert (one.velocities > 0.0).any(axis=0).tolist() == [True, False, True, False]
    assert (both.velocities > 0.0).any(axis=0).tolist() == [True, False, True, True]
    np.testing.assert_array_equal(one.times[:3], both.times[:3])  # one waypoint for the tick


def test_limits_are_put_where_the_joints_are():
    most = np.array([1.0, 2.0])
    limits = MotionLimits(-most, most, np.array([0.5, 0.6]), 0.5, 2.0)
    placed = limits_among([(LEFT, limits)], OTHERS)
    np.testing.assert_array_equal(placed.lower, [-2.0, -9.0, -1.0, -9.0])
    np.testing.assert_array_equal(placed.velocity, [0.6, 0.1, 0.5, 0.1])
    assert placed.scaling == 0.5
    np.testing.assert_array_equal(placed.acceleration, [2.0, 3.0, 2.0, 3.0])
    assert limits_among([(np.arange(4), OTHERS)], OTHERS) is OTHERS


def test_limits_of_a_group_hold_while_another_one_moves_too():
    joints = WindowedJoints('abcd')
    infinite = np.full(2, np.inf)
    left = MotionLimits(-infinite, infinite, np.array([0.5, 0.6]), 0.5, 2.0)
    right = MotionLimits(-infinite[:1], infinite[:1], np.array([3.0]), 0.4, 5.0)
    assert joints.limits(1, LEFT, left, OTHERS).velocity.tolist() == [0.6, 0.1, 0.5, 0.1]
    for user, places, limits in ((2, RIGHT, right), (1, LEFT, left)):
        placed = joints.limits(user, places, limits, OTHERS)
        assert placed.velocity.tolist() == [0.6, 0.1, 0.5, 3.0]
        assert placed.acceleration.tolist() == [2.0, 3.0, 2.0, 5.0]
        assert placed.scaling == 0.5


PERIOD = 0.01
GOAL = np.array([1.0, -0.5])


def test_a_discarded_window_leaves_that_of_another_group_in_the_same_tick():
    window, motion = CommandWindow(NAMES), JointMotion(np.zeros(2))
    for k in range(20):
        motion.move(GOAL, LIMITS, PERIOD)
        sent = window.add(motion.q.copy(), LIMITS, k * PERIOD, PERIOD)
    window.add(motion.q + 1e-3, LIMITS, k * PERIOD, PERIOD)
    window.discard()
    now = k * PERIOD + 1.0
    later = window.add(motion.q.copy(), LIMITS, now, PERIOD)
    np.testing.assert_allclose(later.at(now), sent.at(now), atol=1e-12)


def test_a_group_with_a_longer_average_joins_one_that_moves():
    joints, motion, before = WindowedJoints(NAMES), JointMotion(np.zeros(2)), None
    first, second, still = np.array([0]), np.array([1]), np.zeros(1)
    for k in range(40):
        now = k * PERIOD
        if k:
            motion.move(np.array([1.0, 0.0]), LIMITS, PERIOD)
        command = FollowerCommand(motion.q[:1].copy(), still)
        planned = joints.plan(first, command, LIMITS, now, PERIOD, True, HISTORY)
        if k >= 20:
            command = FollowerCommand(still, still, window=0.4)
            planned = joints.plan(second, command, LIMITS, now, PERIOD, True, HISTORY)
        assert planned.start <= now - 0.9 * HISTORY
        if before is not None:
            for a, b in zip(planned.at(now), before.at(now), strict=True):
                np.testing.assert_allclose(a, b, atol=1e-6)
        before = planned


@pytest.mark.parametrize('loses', [True, False])
def test_joints_in_motion_go_on_being_averaged_and_judged_as_what_was_sent(loses):
    """Where some windows are not sent, the gate goes on from the last one that was."""
    joints, motion, both = WindowedJoints(NAMES), JointMotion(np.zeros(2)), np.arange(2)
    for k in range(20 if loses else 40):
        if k:
            motion.move(GOAL, LIMITS, PERIOD)
        if k == 19 and loses:
            joints.back_to_sent()
        command = FollowerCommand(motion.q.copy(), np.zeros(2), window=0.4 if k >= 20 else 0.0)
        planned = joints.plan(both, command, LIMITS, k * PERIOD, PERIOD, True, HISTORY)
        assert joints.admit(planned, LIMITS, k * PERIOD), joints.gate.reason
        if k == 10 and loses:
            joints.mark_sent()
    assert not joints.spans.any()


@pytest.mark.parametrize('coast', [True, False])
@pytest.mark.parametrize('seed', [2, 3, 5])
def test_no_window_is_refused_where_limits_and_goals_change_while_the_speed_rises(coast, seed):
    random, free, period = np.random.default_rng(seed), np.full(2, np.inf), 0.01
    span = random.choice([0.1, 0.5])
    limits = MotionLimits(-free, free, np.ones(2), 1.0, 2.0, np.full(2, 4.0 / span), span)
    joints, motion = WindowedJoints(NAMES), JerkLimitedMotion(np.zeros(2), span)
    for k in range(400):
        if k % 30 == 0:
            goal = random.uniform(-3.0, 3.0, 2)
        if k % 40 == 20:
            limits = replace(limits, scaling=random.choice([0.05, 0.2, 0.5, 1.0]))
        if k:
            motion.move(goal, limits, period)
        command = FollowerCommand(motion.q, motion.speed, False, motion.leading[0].copy(), span)
        planned = joints.plan(np.arange(2), command, limits, k * period, period, coast, HISTORY)
        assert joints.admit(planned, limits, k * period), joints.gate.reason


@pytest.mark.parametrize('seed', [73, 106])
def test_windows_after_late_ticks_at_a_high_rate_keep_the_acceleration_where_points_are_near(seed):
    random, period, now, still = np.random.default_rng(seed), 0.001, 0.0, np.zeros(2)
    limits = replace(LIMITS, scaling=1.0, velocity=np.full(2, 0.3), acceleration=np.ones(2))
    joints, motion, goal = WindowedJoints(NAMES), JointMotion(still), np.array([0.001, -0.0007])
    for k in range(150):
        dt = period * (1.0 + (random.uniform(0.0, 3.0) if random.random() < 0.15 else 0.0))
        now += dt
        goal = still if k == 30 else None if k == 80 else goal
        if k:
            motion.move(goal, limits, period)
        command = FollowerCommand(motion.q.copy(), still)
        planned = joints.plan(np.arange(2), command, limits, now, period, True, HISTORY)
        assert joints.admit(planned, limits, now), joints.gate.reason


def windows(count, period=PERIOD):
    """Yield time and window of each tick of a motion."""
    window, motion = CommandWindow(NAMES), JointMotion(np.zeros(2))
    for k in range(count):
        if k:
            motion.move(GOAL, LIMITS, period)
        now = 5.0 + k * period
        yield now, window.add(motion.q, LIMITS, now, period, history=BLENDED_HISTORY)


def test_a_window_is_the_same_motion_by_its_stamp():
    for now, planned in windows(40):
        sent = delayed(planned, now)
        assert sent.start == now - LAG
        assert sent.trajectory.times[0] == BRIDGE
        assert (np.diff(sent.trajectory.times) > 0.0).all()
        for moment in np.linspace(now - LAG + BRIDGE, planned.start + planned.trajectory.duration):
            for one, other in zip(planned.at(moment), sent.at(moment), strict=True):
                np.testing.assert_allclose(one, other, atol=1e-9)
        assert not sent.trajectory.velocities[-1].any()


@pytest.mark.parametrize('period', [0.004, 0.01, 0.02, 0.1])
def test_few_windows_are_sent_and_the_first_at_once(period):
    blended, sent = BlendedWindows(), []
    for now, planned in windows(100, period):
        if blended.is_due(planned, now, period):
            blended.sent(now)
            assert not blended.busy
            sent.append(now)
        else:
            assert blended.newest is planned
        assert not blended.has_stalled(now, period)
    assert sent[0] == 5.0
    between = np.diff(sent)
    assert between.min() >= max(INTERVAL, period) - 0.5 * period - 1e-9
    assert between.max() <= max(INTERVAL, period) + 0.5 * period + 1e-9


def test_a_stall_is_noticed_when_the_controller_comes_to_the_way_to_rest():
    blended = BlendedWindows()
    assert not blended.has_stalled(5.0, PERIOD)
    ((now, planned),) = windows(1)
    assert blended.is_due(planned, now, PERIOD)
    blended.sent(now)
    assert not blended.has_stalled(now + INTERVAL + PERIOD, PERIOD)
    assert blended.has_stalled(now + LAG + 2.0 * PERIOD, PERIOD)


def test_a_window_that_was_not_sent_after_all_is_due_again():
    blended = BlendedWindows()
    (now, planned), (later, newer) = windows(2)
    assert blended.is_due(planned, now, PERIOD)
    blended.sent(now)
    assert not blended.is_due(newer, later, PERIOD)
    blended.discard()
    assert blended.is_due(newer, later, PERIOD)
