"""The topics of following a target: joint states and targets in, commands out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
import time

from geometry_msgs.msg import PoseStamped
from sensor_msgs.msg import JointState

from ik_service.exceptions import IkServiceError
from ik_service.following.settings import FollowerCommand, FollowerSettings, FollowerState
from ik_service.following.target_follower import TargetFollower
from ik_service.ros.complaint import Complaint
from ik_service.ros.conversions import matrix_from_pose
from ik_service.ros.frames import in_base, TfLookup
from ik_service.ros.measured import MeasuredState
from ik_service.solvers.solver import Solver

Publish = Callable[[tuple[str, ...], FollowerCommand, float], None]

_ALARMING = (
    FollowerState.LAGGING,
    FollowerState.NO_STATE,
    FollowerState.STATE_STALE,
    FollowerState.TARGET_TIMED_OUT,
)


class Following:
    """
    An arm that follows targets. Safe to share between threads.

    :param measured: the measured state, and with it the arm.
    :param solver: solves for targets of the arm's tip.
    :param settings: how targets are followed.
    :param publish: publishes a command: joint names, command, time until the next one [s].
    :param warn: logs a warning.
    :param tf: looks up frames that are no links of the robot; None without tf.
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
        publish: Publish,
        warn: Callable[[str], object],
        tf: TfLookup | None = None,
    ) -> None:
        self.measured = measured
        self.follower = TargetFollower(solver, **vars(settings))
        self.bad_targets = Complaint(warn)
        self.bad_states = Complaint(warn, well='joint states are good again')
        self._unreachable = Complaint(warn)
        self._publish = publish
        self._warn = warn
        self._tf = tf
        self._said: FollowerState | None = None
        self._restarts = 0
        self._stopped = False

    def on_joint_states(self, message: JointState) -> None:
        """Take in a message of ``joint_states``; a bad one is ignored."""
        try:
            self.measured.update(message.name, message.position, time.monotonic())
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
            target = in_base(self.measured.arm, message.header.frame_id, T, posture, self._tf)
            result = self.follower.set_target(target)
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
        command = self.follower.tick(now)
        if command is not None:
            rate = self.follower.settings.rate
            self._publish(self.measured.arm.chain.joint_names, command, 1.0 / rate)

    def stop(self, timeout: float = 1.0) -> None:
        """
        Take no more targets, and let the commands come to rest while somebody else ticks.

        :param timeout: how long to wait for that [s].
        """
        self._stopped = True
        self.follower.stop()
        deadline = time.monotonic() + timeout
        while self.follower.following_error is not None and time.monotonic() < deadline:
            time.sleep(0.01)

    def watch(self) -> None:
        """Log, once, that following has stopped for a reason that the user should know."""
        restarts = self.follower.restarts
        if restarts != self._restarts:
            self._warn('following: something has moved the arm; starting anew from where it is')
        self._restarts = restarts
        state = self.follower.state
        if state in _ALARMING and state is not self._said:
            self._warn(f'following: {state.value}')
        self._said = state

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
            'started anew': str(self.follower.restarts),
            'ignored targets': str(self.bad_targets.count),
            'last ignored target': self.bad_targets.last or 'none',
            'ignored joint states': str(self.bad_states.count),
            'joints without a joint state': ', '.join(self.missing_joints()) or 'none',
        }
        result = self.follower.result
        if result is not None:
            report['target'] = result.reason
        immobile = self.follower.immobile_joints
        if immobile:
            report['joints with velocity limit 0'] = ', '.join(immobile)
        return report
