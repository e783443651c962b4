"""Place at which a motion starts: where the arm is, if it rests there."""

from __future__ import annotations

import numpy as np

from ik_service.following.command_gate import CommandGate
from ik_service.following.joint_state_tracker import JointStateTracker
from ik_service.following.motion_limits import MotionLimits

RECENT = 1.0
"""Age up to which the last command tells where the arm goes [s]."""

_STANDS = 0.2
"""Distance of an arm that still stands where its last motion has ended, in those of noise."""

_SAG = 2.0
"""Distance from its last command at which an arm may stand, likewise: 0.05 rad or 6 mm."""


def start_place(
    arm: JointStateTracker,
    gate: CommandGate,
    limits: MotionLimits,
    now: float,
    others: float,
    rested: np.ndarray | None,
) -> np.ndarray | None:
    """
    Return where a motion may start; None while the arm may still move.

    An arm that has reached its last command rests there, and the motion starts at that command,
    which the controller holds; so it does as long as the arm stands where it has rested then. Any
    other arm has to be seen at rest first: it may be on its way to the last command, or be moved
    by somebody else.

    :param arm: the measured joint states, of which the last is fresh.
    :param gate: the last command.
    :param limits: bounds on the motion.
    :param now: on the clock of the joint states [s].
    :param others: when others commanded the joints last [s]; −inf for never.
    :param rested: (n,) where the arm was soon after the last command [rad] or [m]; None when that
        is not known.
    :returns: (n,) [rad] or [m].
    """
    here = arm.position()
    last = held_command(arm, gate, now, rested) if gate.sent_at >= others else None
    if last is not None:
        arm.note_rest()
        return np.where(limits.movable, last, here)
    return here if arm.rests(now, max(gate.sent_at, others)) else None


def held_command(
    arm: JointStateTracker, gate: CommandGate, now: float, rested: np.ndarray | None
) -> np.ndarray | None:
    """
    Return the last command, if the arm stands by it; None otherwise.

    :param arm: the measured joint states; there is one.
    :param gate: the last command.
    :param now: on the clock of the joint states [s].
    :param rested: (n,) where the arm was soon after that [rad] or [m]; None when not known.
    :returns: (n,) [rad] or [m], with continuous joints on the turn of the arm.
    """
    if not len(gate.last[0]):
        return None
    here = arm.position()
    last = arm.unwrapped(gate.last[0], here)
    away = np.abs(here - last)
    if gate.elapsed(now) <= RECENT and (away <= arm.noise).all():
        return last
    if rested is None:
        return None
    moved = np.abs(here - arm.unwrapped(rested, here))
    stands = (away <= _SAG * arm.noise) & (moved <= _STANDS * arm.noise)
    return last if stands.all() else None
