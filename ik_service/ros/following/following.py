"""The topics of following a target: joint states and targets in, commands out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
import time

from geometry_msgs.msg import PoseStamped
from sensor_msgs.msg import JointState

from ik_service.arm.arm import MeasuredState
from ik_service.common.fault_log import Complaint
from ik_service.exceptions import IkServiceError, TargetRefusedError
from ik_service.following.motion import LONGEST_RAMP
from ik_service.following.settings import FollowerCommand, FollowerSettings, FollowerState
from ik_service.following.target_follower import TargetFollower
from ik_service.ros.common.conversions import in_base, matrix_from_pose, TfLookup
from ik_service.ros.following.commanders import CommanderWatch
from ik_service.ros.following.stamps import StampWatch
from ik_service.solvers.solver import Solver

Prepare = Callable[[tuple[str, ...], FollowerCommand, float], Callable[[], object]]

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
"""How long a motion may take to end, with some time for late ticks [s]."""


@dataclass(frozen=True)
class Surroundings:
    """
    What the node knows of its surroundings.

    :ivar clock: its time [ns], which may be simulated.
    :ivar state_publishers: returns the nodes that publish joint states.
    :ivar commanders: tells who else commands the arm; None where nobody can.
    :ivar tf: looks up frames that are no links of the robot; None without tf.
    """

    clock: Callable[[], int]
    state_publishers: Callable[[], list[str]] = list
    commanders: CommanderWatch | None = None
    tf: TfLookup | None = None

    def others(self) -> str:
        """Return who else commands the arm; empty for nobody."""
        return self.commanders.others() if self.commanders else ''


class Following:
    """
    An arm that follows targets. Safe to share between threads.

    :param measured: the measured state, and with it the arm.
    :param solver: solves for targets of the arm's tip.
    :param settings: how targets are followed.
    :param prepare: makes a message of a command (joint names, command, time until the next one
        [s]), and returns what publishes it.
    :param warn: logs a warning.
    :param around: what the node knows of its surroundings.
    :ivar measured: the measured state.
    :ivar follower: the follower.
    :ivar bad_targets: the targets that were ignored.
    :ivar bad_states: the joint states that were ignored.
    """

    def __init__(
        self,
        measured: MeasuredState,
        solver: Solver,
        settings: FollowerSettings,
        prepare: Prepare,
        warn: Callable[[str], object],
        around: Surroundings,
    ) -> None:
        self.measured = measured
        self.follower = TargetFollower(solver, **vars(settings))
        self.bad_targets = Complaint(warn)
        self.bad_states = Complaint(warn, well='joint states are good again')
        self._unreachable = Complaint(warn)
        self._prepare = prepare
        self._warn = warn
        self._around = around
        self._stamps = StampWatch(around.clock)
        self._said: FollowerState | None = None
        self._said_dropped = ''
        self._stopped = False

    def on_joint_states(self, message: JointState, waited: float = 0.0) -> None:
        """
        Take in a message of ``joint_states``; a bad one is ignored.

        :param waited: how long it has waited for us since it arrived [s].
        """
        now = self._stamps.measured_at(message, time.monotonic(), waited)
        if now is None:
            return
        try:
            self.measured.update(message.name, message.position, now)
        except IkServiceError as error:
            self.bad_states.about(f'joint state ignored: {error}')
            return
        self.bad_states.settle()
        self.pass_on_state()

    def pass_on_state(self) -> None:
        """Give the measured joints to the follower, if all of them are known."""
        joints = self.measured.joints()
        if joints is not None:
            self.follower.set_measured(*joints)

    def on_target(self, message: PoseStamped) -> None:
        """Take in a message of ``target_pose``; a bad one is ignored."""
        if self._stopped:
            self.bad_targets.about('target_pose ignored: the robot description is being replaced')
            return
        posture = self.measured.posture()
        try:
            T = matrix_from_pose(message.pose, 'pose')
            target = in_base(
                self.measured.arm, message.header.frame_id, T, posture, self._around.tf
            )
            self.follower.other_commander = self._around.others()
            result = self.follower.set_target(target)
        except TargetRefusedError as error:
            hint = self._stamps.fault
            self.bad_targets.about(
                f'target_pose ignored: {error}' + (f' ({hint})' if hint else '')
            )
            return
        except IkServiceError as error:
            self.bad_targets.about(f'target_pose ignored: {error}')
            return
        self.bad_targets.settle()
        if result.success:
            self._unreachable.settle()
        else:
            self._unreachable.about(
                f'target_pose cannot be reached: {result.reason}', 'unreachable'
            )

    def tick(self, now: float) -> None:
        """
        Publish the next command, if there is one.

        :param now: time on the monotonic clock [s].
        """
        began = time.monotonic()
        send = self._prepared(now)
        if send is not None and self.follower.take_back(time.monotonic() - began):
            began = time.monotonic()
            send = self._prepared(began)
        if send is not None:
            send()
            self.follower.sent(time.monotonic() - began)
        dropped = self.follower.drop_reason
        if dropped != self._said_dropped:
            self._said_dropped = dropped
            if dropped:
                self._warn(f'target dropped: {dropped}; a new one, or ~/enable, is waited for')

    def _prepared(self, now: float) -> Callable[[], object] | None:
        """Return what sends the next command; None when there is none."""
        command = self.follower.tick(now)
        if command is None:
            return None
        period = 1.0 / self.follower.settings.rate
        return self._prepare(self.measured.arm.chain.joint_names, command, period)

    def end(self) -> None:
        """Take no more targets, and let the commands come to rest while somebody else ticks."""
        self._stopped = True
        self.follower.stop()
        deadline = time.monotonic() + _LONGEST_END
        while self.follower.active and time.monotonic() < deadline:
            time.sleep(0.005)

    def stop(self) -> str:
        """Let the commands come to rest, and drop the target; return what that means."""
        moving = self.follower.active
        self.follower.stop()
        return 'the commands come to rest; the target is dropped' if moving else 'nothing moves'

    def enable(self, enabled: bool) -> tuple[bool, str]:
        """
        Allow motion, or stop and refuse all targets.

        :returns: whether that could be done, and what happens now.
        """
        self.follower.other_commander = self._around.others()
        try:
            moves = self.follower.enable(enabled)
        except IkServiceError as error:
            return False, f'the dropped target cannot be followed: {error}'
        if not enabled:
            return True, 'the commands come to rest, and targets are refused'
        return True, 'the dropped target is followed again' if moves else 'waiting for a target'

    def watch(self) -> None:
        """Log, once, that following has stopped for a reason that the user should know."""
        self.follower.other_commander = self._around.others()
        state = self.follower.state
        if state in _ALARMING and state is not self._said:
            fault = self.state_fault() if state in _STATE_FAULTS else ''
            self._warn(f'following: {state.value}' + (f'; {fault}' if fault else ''))
        elif self._said in _STATE_FAULTS and state not in _STATE_FAULTS:
            self._warn(f'following: the joint states are good again; {state.value}')
        self._said = state

    def state_fault(self) -> str:
        """Return why the joint states cannot be relied on; empty when they can."""
        fault = self.follower.state_fault
        publishers = self._around.state_publishers() if self.follower.contradictory_states else []
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
        """Return what diagnostics show."""
        error = self.follower.following_error
        report = {
            'state': self.follower.state.name,
            'following error [rad or m]': 'none' if error is None else f'{error:.6f}',
            'dropped target': self.follower.drop_reason or 'none',
            'stopped by the gate': str(self.follower.violations),
            'joint states': self.state_fault() or 'good',
            'moved by something else': str(self.follower.restarts),
            'ignored targets': str(self.bad_targets.count),
            'last ignored target': self.bad_targets.last or 'none',
            'ignored joint states': str(self.bad_states.count),
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
        watch, others = self._around.commanders, self.follower.other_commander
        if watch is None:
            return {}
        silent = 'a second node of the same name, silent so far' if watch.has_twin() else 'none'
        return {'other commanders': others or silent, 'commands of others': str(watch.foreign)}
