"""Windows for controllers that blend them: which are sent, and in what form."""

from __future__ import annotations

import numpy as np
import pytest
from support.streaming import LIMITS, NAMES

from ik_service.motion.command.command_window import CommandWindow
from ik_service.motion.command.commanded_joints import (
    BLENDED_HISTORY,
    BlendedWindows,
    BRIDGE,
    delayed,
    INTERVAL,
    LAG,
)
from ik_service.motion.command.joint_motion import JointMotion

PERIOD = 0.01
GOAL = np.array([1.0, -0.5])


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
