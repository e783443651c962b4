"""Stream of joint commands: motion towards a goal, every command through the gate."""

from __future__ import annotations

import numpy as np

from ik_service.following.collision_guard import CollisionGuard
from ik_service.following.command_gate import CommandGate, GateState
from ik_service.following.motion import JointMotion, MotionLimits
from ik_service.following.settings import FollowerCommand

_EARLY, _LATE, _SLOW = 0.5, 2.0, 0.1
"""
Shares of the period: nothing is commanded sooner; a tick that comes later is late; sending may
take so long without being noticed by the arm.
"""

_Snapshot = tuple[JointMotion, np.ndarray, np.ndarray, float, GateState]
"""A motion, its command, speed and braking, and the state of the gate."""


class CommandStream:
    """
    Commands between two rests of an arm.

    :ivar gate: the last bound on them; it outlives every single stream.
    :ivar guard: keeps them free of collisions; None for no such guard.
    :ivar obstacle: what kept the last command from going on to its goal; empty for nothing.
    """

    def __init__(self) -> None:
        self.gate = CommandGate()
        self.guard: CollisionGuard | None = None
        self.obstacle = ''
        self._period = 0.0
        self._stalled = 0.0
        self._unsent_from: _Snapshot | None = None
        self._motion: JointMotion | None = None

    @property
    def active(self) -> bool:
        """Whether there are commands."""
        return self._motion is not None

    @property
    def at_rest(self) -> bool:
        """Whether the commands stand still, or there are none."""
        return self._motion is None or self._motion.at_rest

    @property
    def q(self) -> np.ndarray | None:
        """The last command (n,) [rad] or [m]; None when there are none."""
        motion = self._motion
        return None if motion is None else motion.q

    def begin(self, q: np.ndarray, now: float) -> FollowerCommand:
        """
        Return the first command: to be at rest where the arm is.

        :param q: (n,) measured positions [rad] or [m].
        :param now: on a monotonic clock [s].
        """
        self.gate.begin(q, now)
        self._unsent_from, self._stalled = None, 0.0
        self._motion = JointMotion(self.gate.last[0])
        return FollowerCommand(self._motion.q.copy(), np.zeros_like(self._motion.q))

    def end(self) -> None:
        """Command nothing more; the commands have to be at rest."""
        self._motion = None

    def advance(
        self,
        goal: np.ndarray | None,
        limits: MotionLimits,
        now: float,
        period: float,
        measured_speed: np.ndarray | None,
        pace: float = 1.0,
    ) -> FollowerCommand | None:
        """
        Return the next command.

        :param goal: (n,) where to [rad] or [m]; None to come to rest.
        :param limits: bounds on the motion.
        :param now: on the clock of :meth:`begin` [s].
        :param period: time between two commands [s].
        :param measured_speed: (n,) how fast the arm moves [rad/s] or [m/s], where a late tick
            goes on from; None when it is not known, and taken for rest.
        :param pace: share of the full speed that is asked for, 0 to 1.
        :returns: the command; None when the last one is less than half a period old, or the
            stream is not active.
        """
        motion, elapsed, self.obstacle = self._motion, self.gate.elapsed(now), ''
        if motion is None or elapsed < _EARLY * period:
            return None
        self._unsent_from = self._snapshot(motion)
        # A tick is not late that the rate of the last command would have brought even later.
        expected, self._period = max(period, self._period), period
        late = max(elapsed - period if elapsed > _LATE * expected else 0.0, self._stalled)
        self._stalled = 0.0
        if late > 0.0:
            self._resume_late(motion, limits, late, measured_speed)
        self._move(motion, goal, limits, now, period, pace)
        return FollowerCommand(motion.q.copy(), motion.speed * limits.velocity)

    def _move(
        self,
        motion: JointMotion,
        goal: np.ndarray | None,
        limits: MotionLimits,
        now: float,
        period: float,
        pace: float,
    ) -> None:
        """Move towards the goal where the guard allows it, otherwise towards rest."""
        guard, dt = self.guard, min(self.gate.elapsed(now), period)
        if guard is not None and goal is not None:
            before, resting = self._snapshot(motion), motion.at_rest
            pace = min(pace, guard.pace(motion.q, goal, limits, dt))
            motion.move(goal, limits, dt, pace, cautious=True)
            motion.q, motion.speed = self.gate.admit(motion.q, limits, now, period)
            verdict = guard.verdict(before[1], resting, motion, goal, limits)
            if verdict.allowed:
                return
            self.obstacle, goal = verdict.obstacle, None
            self._restore(before)
        motion.move(goal, limits, dt, pace)
        motion.q, motion.speed = self.gate.admit(motion.q, limits, now, period)

    def mark_sent(self, delay: float, period: float) -> None:
        """
        Note that the last command was sent, and how long that took.

        When that was long, less time has passed for the arm than for the ticks; when it was very
        long, the arm has slowed down meanwhile.

        :param delay: from the tick to the end of sending [s].
        :param period: time between two commands [s].
        """
        self._unsent_from = None  # what was sent cannot be discarded
        if delay > _SLOW * period:
            self.gate.postpone(delay)
        if delay > _LATE * period:
            self._stalled = delay

    def discard_late(self, delay: float, period: float) -> bool:
        """
        Discard the last command if it is too late to send it, and go back to the one before.

        :param delay: since the tick [s].
        :param period: time between two commands [s].
        :returns: whether it is discarded.
        """
        if self._unsent_from is None or delay <= _LATE * period:
            return False
        self._restore(self._unsent_from)
        self._motion, self._unsent_from = self._unsent_from[0], None
        return True

    def _snapshot(self, motion: JointMotion) -> _Snapshot:
        return motion, motion.q, motion.speed, motion.braking, self.gate.state

    def _restore(self, snapshot: _Snapshot) -> None:
        motion, q, speed, braking, self.gate.state = snapshot
        motion.q, motion.speed, motion.braking = q, speed, braking

    def _resume_late(
        self,
        motion: JointMotion,
        limits: MotionLimits,
        late: float,
        measured_speed: np.ndarray | None,
    ) -> None:
        """Start a late tick from the speed that the arm still has."""
        planned = motion.speed * limits.velocity
        size = float(planned @ planned)
        share = 0.0 if measured_speed is None or not size else float(measured_speed @ planned)
        self.gate.slow_down(share / size if size else 0.0, late)
        motion.speed = self.gate.last[1]
