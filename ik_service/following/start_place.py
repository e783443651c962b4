"""Place at which a motion starts: where the arm is, if it rests there."""

from __future__ import annotations

import numpy as np

from ik_service.following.command_gate import CommandGate
from ik_service.following.joint_state_tracker import JointStateTracker
from ik_service.following.motion_limits import MotionLimits

_RECENT = 1.0
"""Age up to which the last command tells where the arm goes [s]."""


def start_place(
    arm: JointStateTracker,
    gate: CommandGate,
    limits: MotionLimits,
    now: float,
    others: float,
) -> np.ndarray | None:
    """
    Return where a motion may start; None while the arm may still move.

    An arm that has reached its last command rests there. The start is then no farther from that
    command than the arm may move in the time since. Any other arm has to be seen at rest first: it
    may be on its way to the last command, or be moved by somebody else.

    :param arm: the measured joint states, of which the last is fresh.
    :param gate: the last command.
    :param limits: bounds on the motion.
    :param now: on the clock of the joint states [s].
    :param others: when others commanded the joints last [s]; −inf for never.
    :returns: (n,) [rad] or [m].
    """
    here, elapsed = arm.position(), gate.elapsed(now)
    if gate.sent_at >= others and elapsed <= _RECENT:
        last = arm.unwrapped(gate.last[0], here)
        away = here - last
        if (np.abs(away) <= arm.noise).all():
            arm.note_rest()
            reach = np.where(limits.movable, limits.velocity_now * elapsed, np.inf)
            return last + np.clip(away, -reach, reach)
    return here if arm.rests(now, max(gate.sent_at, others)) else None
