"""Intake of the messages of ``joint_states``, once for all followers of an arm."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from sensor_msgs.msg import JointState

from ik_service.arm.arm import MeasuredState
from ik_service.common.fault_logger import FaultLogger
from ik_service.common.quoting import quote
from ik_service.exceptions import IkServiceError, nearest
from ik_service.ros.common.motion_clock import MotionClock
from ik_service.ros.motion.following.stamps import StampConverter

_ELSEWHERE = 0.005
"""Distance from where a joint was with the same stamp, beyond which that is told [rad] or [m]."""

_MOST_SETS, _MOST_STRANGERS = 64, 200
"""Sets of names that are remembered, and names that are no joints, at most."""

_MOST_NAMED = 3
"""Joints that a message names."""


class JointStateIntake:
    """
    Intake of joint states into the measured state of an arm.

    :param measured: the measured state.
    :param clock: the node's time [ns], which may be simulated.
    :param warn: logs a warning.
    :param motion_clock: the clock of what moves the arm; None for the real time.
    :ivar measured: the measured state.
    :ivar stamps: converter of the stamps, with the faults that it has noticed.
    :ivar ignored: log of the joint states that were ignored.
    :ivar strangers: names in joint states that are no joints of the robot.
    """

    def __init__(
        self,
        measured: MeasuredState,
        clock: Callable[[], int],
        warn: Callable[[str], object],
        motion_clock: MotionClock | None = None,
    ) -> None:
        self._motion_clock = motion_clock or MotionClock()
        self.measured = measured
        self.stamps = StampConverter(clock)
        self.ignored = FaultLogger(warn, recovered='joint states are good again')
        self._taken: tuple[JointState, float] | None = None
        self._seen: set[tuple[str, ...]] = set()
        self.strangers: tuple[str, ...] = ()

    def take(self, message: JointState, waited: float = 0.0) -> bool:
        """
        Take in a message; a bad one is ignored.

        One with the stamp of the last one tells nothing new, unless the joints are elsewhere:
        there may be two sources of joint states with the same clock.

        :param message: the joint states.
        :param waited: how long it has waited in the queue [s].
        :returns: whether it tells something new.
        """
        now = self.stamps.measured_at(message, self._motion_clock.now(), waited)
        now = self._same_time(message) if now is None else now
        if now is None:
            return False
        try:
            self.measured.update(message.name, message.position, now, message.velocity)
        except IkServiceError as error:
            self.ignored.report(f'joint state ignored: {error}')
            return False
        self.ignored.clear()
        self._note_names(tuple(message.name))
        self._taken = message, now
        return True

    def unmatched(self, missing: Sequence[str]) -> str:
        """
        Return a sentence about names in joint states that may be meant for joints without one.

        :param missing: names of joints that no joint state has named.
        :returns: the sentence; empty where no such name is like one of them.
        """
        pairs = [(nearest(name, self.strangers), name) for name in missing]
        meant = [f'{quote(stranger)} (is {name} meant?)' for stranger, name in pairs if stranger]
        if not meant:
            return ''
        more = ', …' if len(meant) > _MOST_NAMED else ''
        return (
            f'joint_states name {", ".join(meant[:_MOST_NAMED])}{more}, which the robot '
            'description does not have'
        )

    def _note_names(self, names: tuple[str, ...]) -> None:
        if names in self._seen or len(self._seen) >= _MOST_SETS:
            return
        self._seen.add(names)
        own = self.measured.arm.postures.names
        strange = (name for name in (*self.strangers, *names) if name not in own)
        self.strangers = tuple(dict.fromkeys(strange))[:_MOST_STRANGERS]

    def _same_time(self, message: JointState) -> float | None:
        """Return when the last message was measured, if this one is of then but differs."""
        if self._taken is None:
            return None
        last, then = self._taken
        if message.header.stamp != last.header.stamp or message.name != last.name:
            return None
        if len(message.position) != len(last.position):
            return None
        away = np.abs(np.subtract(message.position, last.position))
        return then if (away > _ELSEWHERE).any() else None
