"""ROS interface of the follower: joint states and targets in, commands out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
import time

from geometry_msgs.msg import PoseStamped
from sensor_msgs.msg import JointState

from ik_service.arm.arm import MeasuredState
from ik_service.common.fault_logger import FaultLogger
from ik_service.exceptions import IkServiceError, TargetRefusedError
from ik_service.following.motion import LONGEST_RAMP
from ik_service.following.settings import FollowerSettings, FollowerState
from ik_service.following.target_follower import TargetFollower
from ik_service.ros.common.conversions import matrix_from_pose
from ik_service.ros.common.frames import FrameResolver, Frames
from ik_service.ros.following.command_monitor import CommandMonitor
from ik_service.ros.following.command_publisher import CommandPublisher
from ik_service.ros.following.stamps import StampConverter
from ik_service.solvers.solver import Solver

_ALARMING = (
    FollowerState.LAGGING,
    FollowerState.NO_STATE,
    FollowerState.STATE_STALE,
    FollowerState.STATE_IMPLAUSIBLE,
    FollowerState.TARGET_TIMED_OUT,
    FollowerState.OTHER_COMMANDER,
)

_STATE_FAULTS = (FollowerState.STATE_STALE, FollowerState.STATE_IMPLAUSIBLE)

_LONGEST_END = LONGEST_RAMP + 0.5
"""Longest time in which a motion ends, with some for late ticks [s]."""


@dataclass(frozen=True)
class NodeContext:
    """
    Access to the graph for the follower, through its node.

    :ivar clock: returns the node's time [ns], which may be simulated.
    :ivar state_publishers: returns the names of the nodes that publish joint states.
    :ivar monitor: monitor of other publishers of commands; None without one.
    :ivar frames: frames besides the links of the robot.
    """

    clock: Callable[[], int]
    state_publishers: Callable[[], list[str]] = list
    monitor: CommandMonitor | None = None
    frames: Frames = field(default_factory=Frames)

    def other_commanders(self) -> str:
        """Return the names of the other nodes that command the arm; empty for none."""
        return self.monitor.others() if self.monitor else ''


class FollowerInterface:
    """
    Follower of one arm behind its topics. Safe to share between threads.

    :param measured: the measured state, and with it the arm.
    :param solver: solves for targets of the arm's tip.
    :param settings: how targets are followed.
    :param output: publishes the commands.
    :param warn: logs a warning.
    :param context: access to the graph.
    :ivar measured: the measured state.
    :ivar follower: the follower.
    :ivar ignored_targets: log of the targets that were ignored.
    :ivar ignored_states: log of the joint states that were ignored.
    """

    def __init__(
        self,
        measured: MeasuredState,
        solver: Solver,
        settings: FollowerSettings,
        output: CommandPublisher,
        warn: Callable[[str], object],
        context: NodeContext,
    ) -> None:
        self.measured = measured
        self.follower = TargetFollower(solver, **vars(settings))
        self.ignored_targets = FaultLogger(warn)
        self.ignored_states = FaultLogger(warn, recovered='joint states are good again')
        self._unreachable = FaultLogger(warn)
        self._output = output
        self._warn = warn
        self._context = context
        self._stamps = StampConverter(context.clock)
        self._logged_state: FollowerState | None = None
        self._logged_drop = ''
        self._stopped = False

    def on_joint_states(self, message: JointState, waited: float = 0.0) -> None:
        """
        Take in a message of ``joint_states``; a bad one is ignored.

        :param message: the joint states.
        :param waited: how long it has waited in the queue [s].
        """
        now = self._stamps.measured_at(message, time.monotonic(), waited)
        if now is None:
            return
        try:
            self.measured.update(message.name, message.position, now)
        except IkServiceError as error:
            self.ignored_states.report(f'joint state ignored: {error}')
            return
        self.ignored_states.clear()
        self.forward_state()

    def forward_state(self) -> None:
        """Give the measured joints to the follower, if all of them are known."""
        joints = self.measured.joints()
        if joints is not None:
            self.follower.set_measured(*joints)

    def on_target(self, message: PoseStamped) -> None:
        """
        Take in a message of ``target_pose``; a bad one is ignored.

        :param message: the target.
        """
        if self._stopped:
            self.ignored_targets.report(
                'target_pose ignored: the robot description is being replaced'
            )
            return
        arm = self.measured.arm
        posture = arm.postures.complete(self.measured.posture())
        try:
            T = matrix_from_pose(message.pose, 'pose')
            frames = FrameResolver(self.measured, posture, self._context.frames)
            target = frames.in_base(arm.chain.base_link, message.header.frame_id, T)
            self.follower.other_commander = self._context.other_commanders()
            result = self.follower.set_target(target)
        except TargetRefusedError as error:
            hint = self._stamps.fault
            self.ignored_targets.report(
                f'target_pose ignored: {error}' + (f' ({hint})' if hint else '')
            )
            return
        except IkServiceError as error:
            self.ignored_targets.report(f'target_pose ignored: {error}')
            return
        self.ignored_targets.clear()
        if result.success:
            self._unreachable.clear()
        else:
            self._unreachable.report(
                f'target_pose cannot be reached: {result.reason}', 'unreachable'
            )

    def tick(self, now: float) -> None:
        """
        Publish the next command, if there is one.

        :param now: time on the monotonic clock [s].
        """
        began = time.monotonic()
        message = self._next_message(now)
        if message is not None and self.follower.discard_late(time.monotonic() - began):
            began = time.monotonic()
            message = self._next_message(began)
        if message is not None:
            self._output.publish(message)
            self.follower.mark_sent(time.monotonic() - began)
        dropped = self.follower.drop_reason
        if dropped != self._logged_drop:
            self._logged_drop = dropped
            if dropped:
                self._warn(f'target dropped: {dropped}; a new one, or ~/enable, is waited for')

    def _next_message(self, now: float) -> bytes | None:
        """Return the next command as a message; None when there is none."""
        command = self.follower.tick(now)
        if command is None:
            return None
        period = 1.0 / self.follower.settings.rate
        return self._output.serialize(self.measured.arm.chain.joint_names, command, period)

    def end(self) -> None:
        """Refuse all targets, and wait until the commands are at rest; ticks have to go on."""
        self._stopped = True
        self.follower.stop()
        deadline = time.monotonic() + _LONGEST_END
        while self.follower.active and time.monotonic() < deadline:
            time.sleep(0.005)

    def stop(self) -> str:
        """Let the commands come to rest, and drop the target; return a sentence about it."""
        moving = self.follower.active
        self.follower.stop()
        return 'the commands come to rest; the target is dropped' if moving else 'nothing moves'

    def enable(self, enabled: bool) -> tuple[bool, str]:
        """
        Allow motion, or stop and refuse all targets.

        :param enabled: whether motion is allowed.
        :returns: whether that could be done, and a sentence about what happens now.
        """
        self.follower.other_commander = self._context.other_commanders()
        try:
            moves = self.follower.enable(enabled)
        except IkServiceError as error:
            return False, f'the dropped target cannot be followed: {error}'
        if not enabled:
            return True, 'the commands come to rest, and targets are refused'
        return True, 'the dropped target is followed again' if moves else 'waiting for a target'

    def log_state(self) -> None:
        """Log, once, that following has stopped for a reason that the user should know."""
        self.follower.other_commander = self._context.other_commanders()
        state = self.follower.state
        if state in _ALARMING and state is not self._logged_state:
            fault = self.state_fault() if state in _STATE_FAULTS else ''
            self._warn(f'following: {state.value}' + (f'; {fault}' if fault else ''))
        elif self._logged_state in _STATE_FAULTS and state not in _STATE_FAULTS:
            self._warn(f'following: the joint states are good again; {state.value}')
        self._logged_state = state

    def state_fault(self) -> str:
        """Return why the joint states cannot be relied on; empty when they can."""
        fault = self.follower.state_fault
        publishers = self._context.state_publishers() if self.follower.contradictory_states else []
        if len(publishers) > 1:
            fault += f'; publishers that contradict each other: {", ".join(publishers)}'
        stamps = self._stamps.fault
        if fault and not stamps and self._stamps.age > self.follower.settings.state_timeout:
            stamps = (
                f'stamped {self._stamps.age:.2f} s before it arrived; the clocks of arm and node '
                'have to agree'
            )
        return '; '.join(part for part in (fault, stamps) if part)

    def missing_joints(self) -> list[str]:
        """Return the chain's joints that no joint state has named so far."""
        arm = self.measured.arm
        return [arm.postures.names[i] for i in self.measured.unmeasured(arm.indices)]

    def report(self) -> Mapping[str, str]:
        """Return names and values for the diagnostics."""
        error = self.follower.following_error
        report = {
            'state': self.follower.state.name,
            'following error [rad or m]': 'none' if error is None else f'{error:.6f}',
            'dropped target': self.follower.drop_reason or 'none',
            'stopped by the gate': str(self.follower.violations),
            'joint states': self.state_fault() or 'good',
            'moved by something else': str(self.follower.displacements),
            'ignored targets': str(self.ignored_targets.count),
            'last ignored target': self.ignored_targets.last or 'none',
            'ignored joint states': str(self.ignored_states.count),
            'joints without a joint state': ', '.join(self.missing_joints()) or 'none',
        }
        report |= self._commanders()
        result = self.follower.result
        if result is not None:
            report['target'] = result.reason
        immobile = self.follower.immobile_joints
        if immobile:
            report['joints with velocity limit 0'] = ', '.join(immobile)
        return report

    def _commanders(self) -> Mapping[str, str]:
        monitor, others = self._context.monitor, self.follower.other_commander
        if monitor is None:
            return {}
        silent = (
            'a second node of the same name, silent so far' if monitor.has_namesake() else 'none'
        )
        return {
            'other commanders': others or silent,
            'commands of others': str(monitor.foreign_count),
        }
