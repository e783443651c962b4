"""Encoding of a planning group's commands for a command interface, and the one of positions."""

from __future__ import annotations

from abc import ABC, abstractmethod
import array
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
import itertools

import numpy as np
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectoryPoint

from ik_service.arm.measured_state import MeasuredState
from ik_service.kinematics.joint_space import JointSpace, own_bounds
from ik_service.motion.command.command_stream import FollowerCommand, SendingTimes
from ik_service.motion.command.gate import CommandedJoints, VelocityGate
from ik_service.motion.command.velocity_command import VelocityCommand
from ik_service.motion.state.joint_state_tracker import noise_of, stands_by
from ik_service.motion.target_follower import TargetFollower
from ik_service.ros.common.motion_clock import MotionClock


def joint_command(
    names: Sequence[str], command: FollowerCommand, used: JointState | None = None
) -> JointState:
    """
    Return a command as a ``sensor_msgs/JointState`` without a stamp.

    :param names: names of the n joints.
    :param command: positions [rad] or [m] and speeds [rad/s] or [m/s].
    :param used: message of these joints that is not needed any more, to be filled again; None to
        make one, which takes as long as all the rest.
    """
    message = JointState(name=list(names)) if used is None else used
    message.position = number_array(command.q)
    message.velocity = number_array(command.velocity)
    return message


def multi_array(values: np.ndarray) -> Float64MultiArray:
    """Return positions or velocities (m,) as a ``std_msgs/Float64MultiArray``."""
    return Float64MultiArray(data=number_array(values))


def number_array(values: np.ndarray | Sequence[float]) -> array.array:
    """Return numbers as messages hold them."""
    return array.array('d', np.ascontiguousarray(values, dtype=np.float64).tobytes())


def trajectory_point(nanoseconds: int, *motion: np.ndarray) -> JointTrajectoryPoint:
    """Return a point with positions (n,), and with velocities and accelerations if given."""
    point = JointTrajectoryPoint()
    for field, values in zip(('positions', 'velocities', 'accelerations'), motion, strict=False):
        setattr(point, field, number_array(values))
    point.time_from_start.sec, point.time_from_start.nanosec = divmod(nanoseconds, 10**9)
    return point


_numbers = itertools.count()


@dataclass(frozen=True, eq=False)
class CommandedGroup:
    """
    Joints of a group among those of a controller.

    :ivar joints: commands of the controller's joints, those of the group among them.
    :ivar clock: the motion clock, by which messages are stamped.
    """

    names: Sequence[str]
    joints: CommandedJoints
    measured: MeasuredState
    clock: MotionClock

    @cached_property
    def indices(self) -> np.ndarray:
        """Indices (n,) of the group's joints among those of the controller."""
        return self.joints.indices(self.names)

    @cached_property
    def all(self) -> np.ndarray:
        """Indices (m,) of the controller's joints in the full posture."""
        return self.measured.arm.postures.indices(self.joints.names)

    @cached_property
    def others(self) -> np.ndarray:
        """Those of the controller's joints that are not of the group."""
        return np.setdiff1d(self.all, self.measured.arm.postures.indices(self.names))

    @cached_property
    def space(self) -> JointSpace:
        """All joints of the controller, with their limits."""
        robot, names = self.measured.arm.robot, self.joints.names
        return JointSpace(robot, names, *own_bounds(robot, names))

    def here(self) -> np.ndarray:
        """Return where the controller's joints are measured (m,) [rad] or [m]."""
        return self.measured.posture()[self.all]

    def held(self, last: np.ndarray) -> np.ndarray:
        """Return last commands (m,) of joints that stand by them, and where the others are."""
        here, errors = self.here(), self.measured.errors.of(self.all)
        stand = stands_by(last, here, self.joints.rested, noise_of(self.space), errors)
        return np.where(stand, last, here)


class CommandChannel(ABC):
    """
    Commands of one group, as messages of one interface.

    :cvar joints: class of the commands of a controller's joints.
    :cvar ends_itself: whether a motion ends by itself when nothing more is sent.
    :ivar others: indices, in the full posture, of the joints of the controller that are not of the
        group; they have to be measured before anything moves.
    """

    joints = CommandedJoints
    ends_itself = True

    def __init__(self, group: CommandedGroup) -> None:
        self._group, self._joints, self._indices = group, group.joints, group.indices
        self.others = group.others
        self._number = next(_numbers)
        self._streams = False  # whether a stream of commands goes on

    @property
    def busy(self) -> bool:
        """Whether something is still to be sent after the last command."""
        return False

    @property
    def refusals(self) -> int:
        """Number of messages that the gate did not let pass as they were; 0 in health."""
        return 0

    def message(
        self, command: FollowerCommand | None, follower: TargetFollower, now: float
    ) -> object | None:
        """Return the message for the command of this tick, or None; None for nothing to send."""
        if command is None:
            if self._streams and not follower.active:
                self._end()
                self.tell_end(follower)
            return None if self._streams else self.rest(follower, now)
        if command.begins:
            self._end()
        if not self._streams:
            self._streams = True
            held = self._group.held(self._joints.q)
            self.begin(alone=self._joints.begin(self._number, held))
        return self.encode(command, follower, now)

    def _end(self) -> None:
        if self._streams:
            self._streams = False
            self._joints.end(self._number, self._indices)
            self._joints.rested = self._group.here()

    def tell_end(self, follower: TargetFollower) -> None:  # noqa: B027
        """Tell a follower where the controller holds its joints, if not at its last command."""

    def begin(self, alone: bool) -> None:  # noqa: B027
        """Begin a stream of commands; alone where no other group has one."""

    def leave(self) -> None:
        """Send nothing more, as the arm follows the commands of somebody else by now."""
        self._end()

    def is_late(self, now: float) -> bool:
        """Return whether the last message is too late to be sent."""
        return False

    def discard(self) -> None:  # noqa: B027
        """Forget the last message, which was not sent."""

    def mark_sent(self, delay: float, period: float) -> None:  # noqa: B027
        """Take note of the delay from the tick to the end of sending the last message [s]."""

    @abstractmethod
    def encode(
        self, command: FollowerCommand, follower: TargetFollower, now: float
    ) -> object | None:
        """Return the message for a command; arguments and result as for :meth:`message`."""

    def rest(self, follower: TargetFollower, now: float) -> object | None:
        """Return the message after the last command; arguments as for :meth:`message`."""
        return None

    def standstill(self) -> object | None:
        """Return the message that lets the arm rest where no more follow; None for none."""
        return None


class PositionChannel(CommandChannel):
    """Commands as positions of all joints of a controller, as the gate lets them pass."""

    def __init__(self, group: CommandedGroup) -> None:
        super().__init__(group)
        self._gate, self._times = group.joints.positions, SendingTimes()
        self._passed, self._period = np.zeros(0), 0.0  # the last positions of the group

    def begin(self, alone: bool) -> None:
        """Hold the joints of no group at their last commands, or where they are."""
        if alone:
            held = self._group.held(self._gate.q)
            self._gate.begin(held, np.arange(len(held)), -np.inf)

    def encode(self, command: FollowerCommand, follower: TargetFollower, now: float) -> object:
        """Return the positions."""
        self._admit(command, follower, now)
        return multi_array(self._gate.q)

    def leave(self) -> None:
        """Send nothing more, not even to brake joints that the gate has held back."""
        super().leave()
        self._gate.leave(self._indices)

    def _admit(
        self, command: FollowerCommand, follower: TargetFollower, now: float
    ) -> FollowerCommand:
        gate, period, joints = self._gate, follower.period, self._indices
        at = self._times.moment(now, period, command.begins)
        if command.begins:
            gate.begin(command.q, joints, at)
        bounds = follower.limits.joint_bounds
        admitted = gate.admit(command.q, command.velocity, joints, bounds, at, period)
        self._passed, self._period = admitted[0], period
        return FollowerCommand(*admitted, begins=command.begins)

    @property
    def busy(self) -> bool:
        """Whether joints that the gate has held back still move after the last command."""
        passed = self._passed
        if not len(passed) or not self._gate.moving(self._indices, self._period):
            return False
        return np.array_equal(self._gate.q[self._indices], passed)  # no other group moves them

    def rest(self, follower: TargetFollower, now: float) -> object | None:
        """Return commands that brake joints which the gate has held back."""
        passed = self._passed
        if self.busy:
            return self.encode(
                FollowerCommand(passed.copy(), np.zeros(len(passed))), follower, now
            )
        if len(passed) and np.array_equal(self._gate.q[self._indices], passed):
            self._gate.leave(self._indices)  # they stop at once
        self._passed = np.zeros(0)
        return None

    def mark_sent(self, delay: float, period: float) -> None:
        """Take note of when the last positions were really sent."""
        late = self._times.mark_sent(delay, period)
        self._gate.mark_sent(self._indices, delay, late, period)

    def discard(self) -> None:
        """Forget the last positions."""
        self._times.discard()
        self._gate.withdraw()
        self._passed = self._gate.q[self._indices]

    @property
    def refusals(self) -> int:
        """Number of vectors that the gate brought inside their bounds."""
        return self._gate.corrected


class JointCommandChannel(PositionChannel):
    """Commands as ``sensor_msgs/JointState``; it names the joints of the group alone."""

    _message: JointState | None = None

    def encode(self, command: FollowerCommand, follower: TargetFollower, now: float) -> object:
        """Return positions and velocities of the group, stamped with the present."""
        admitted = self._admit(command, follower, now)
        message = self._message = joint_command(self._group.names, admitted, self._message)
        clock = self._group.clock
        stamp = clock.stamp_of(clock.now())
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(max(stamp, 0), 10**9)
        return message


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
        velocity = self._velocities.next(
            command.velocity, error, q, follower.limits, now, follower.period, follower.bounds
        )
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
