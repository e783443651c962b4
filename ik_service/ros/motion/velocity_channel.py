"""Commands for controllers that take velocities."""

from __future__ import annotations

from collections import deque

import numpy as np

from ik_service.motion.command.command_stream import FollowerCommand
from ik_service.motion.command.gate import VelocityGate
from ik_service.motion.command.velocity_command import VelocityCommand
from ik_service.motion.target_follower import TargetFollower
from ik_service.ros.motion.command_channels import CommandChannel, CommandedGroup, multi_array

_FRESH = 0.1  # age up to which a joint state tells how far the arm is from its command [s]
_REMEMBERED = 0.5  # time for which commands are remembered, to compare joint states with them [s]


class VelocityChannel(CommandChannel):
    """Commands as velocities of all joints of a controller; the last ones are zeros."""

    ends_itself = False

    def __init__(self, group: CommandedGroup) -> None:
        super().__init__(group)
        self._velocities = VelocityCommand(len(group.names))
        self._gate = VelocityGate(len(group.names))
        self._commands: deque[tuple[float, np.ndarray]] = deque()
        self._history: deque[tuple[float, np.ndarray]] = deque()  # velocities

    @property
    def busy(self) -> bool:
        """Whether the arm may still move with the last velocity, or zeros are repeated."""
        return self._velocities.busy

    def begin(self, alone: bool) -> None:
        """Forget the commands of the last stream."""
        self._commands.clear()

    def encode(self, command: FollowerCommand, follower: TargetFollower, now: float) -> object:
        """Return the velocities of the command, plus a correction of the arm's lag."""
        self._commands.append((now, command.q))
        while now - self._commands[0][0] > _REMEMBERED:
            self._commands.popleft()
        measured, error = follower.measured, None
        q = command.q
        at_rest = follower.announcing  # exactly: another node may begin to move the arm
        if measured is not None and not at_rest and now - measured[1] <= _FRESH:
            error = self._error(*measured)
            q = self._here(*measured, now)
        limits, bounds = follower.limits, follower.bounds
        if bounds.scaling == limits.scaling:  # an acceleration under way ends smoothly
            limits = bounds
        velocity = self._velocities.next(command.velocity, error, q, limits, now, follower.period)
        return self._sent(velocity, q, follower, now)

    def _error(self, measured: np.ndarray, since: float) -> np.ndarray:
        """
        Return how far the joints are behind their commands (n,), as far as that is measured.

        What a coarse encoder does not show is left out, as the arm would go to and fro between
        two of its steps.
        """
        error = self._commanded_at(since) - measured
        unseen = 0.5 * self._group.measured.errors.of(self._group.all[self._indices]).steps
        return np.sign(error) * np.maximum(np.abs(error) - unseen, 0.0)

    def leave(self) -> None:
        """Send nothing more, not even zeros."""
        super().leave()
        self._velocities = VelocityCommand(len(self._group.names))
        self._history.clear()
        self._gate.leave()

    def discard(self) -> None:
        """Forget the last velocities."""
        self._velocities.discard()
        if self._history:
            self._history.pop()
        self._gate.withdraw()
        self._joints.put(self._indices, self._joints.q[self._indices], self._gate.velocity)

    def mark_sent(self, delay: float, period: float) -> None:
        """Take note of when the last velocities were really sent."""
        self._velocities.mark_sent(delay, period)
        if self._history:
            at, velocity = self._history.pop()
            self._history.append((at + delay, velocity))
        self._gate.mark_sent(delay, period)

    def rest(self, follower: TargetFollower, now: float) -> object | None:
        """Return velocities ramping to zero, and zeros for a while."""
        measured, period = follower.measured, follower.period
        if measured is None:
            still = np.zeros(len(self._group.names))
            return self._sent(still, None, follower, now) if self.busy else None
        q = self._here(*measured, now)
        velocity = self._velocities.rest(q, follower.limits, now, period)
        return None if velocity is None else self._sent(velocity, q, follower, now)

    def standstill(self) -> object:
        """Return zeros."""
        return multi_array(np.zeros(len(self._joints.names)))

    @property
    def refusals(self) -> int:
        """Number of velocities that the gate brought inside their bounds."""
        return self._gate.corrected

    def _sent(
        self, velocity: np.ndarray, q: np.ndarray | None, follower: TargetFollower, now: float
    ) -> object:
        bounds, period = follower.limits.joint_bounds, follower.period
        admitted = self._gate.admit(velocity, q, bounds, now, period)
        self._history.append((now, admitted))
        while now - self._history[0][0] > _REMEMBERED:
            self._history.popleft()
        self._joints.put(self._indices, self._joints.q[self._indices], admitted)
        return multi_array(self._joints.velocity)

    def _here(self, measured: np.ndarray, since: float, now: float) -> np.ndarray:
        """Return where the joints are now (n,), by the velocities since they were measured."""
        q, until = measured, now
        for at, velocity in reversed(self._history):
            q = q + velocity * max(until - max(at, since), 0.0)
            until = at
            if at <= since:
                break
        return q

    def _commanded_at(self, moment: float) -> np.ndarray:
        """Return where the commands were at a time, (n,)."""
        later = self._commands[-1]
        for earlier in reversed(self._commands):
            if earlier[0] <= moment:
                share = (moment - earlier[0]) / max(later[0] - earlier[0], 1e-9)
                return earlier[1] + min(share, 1.0) * (later[1] - earlier[1])
            later = earlier
        return later[1]
