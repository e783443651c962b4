"""ROS interface of the follower of a planning group: targets in, commands out."""

from __future__ import annotations

from collections.abc import Callable
import time

from geometry_msgs.msg import PoseStamped, TwistStamped
import numpy as np
from rclpy.time import Time

from ik_service.arm.group import ArmGroup
from ik_service.common.fault_logger import FaultLogger
from ik_service.exceptions import IkServiceError, TargetRefusedError
from ik_service.motion.goal import MotionGoal
from ik_service.motion.settings import FollowerSettings, FollowerState
from ik_service.motion.target_follower import JointSharing, TargetFollower
from ik_service.ros.motion.command_channels import CommandChannel
from ik_service.ros.motion.command_publisher import CommandPublisher, STALL
from ik_service.ros.motion.intake import JointStateIntake, TargetIntake
from ik_service.ros.requests.frame_resolver import FrameResolver
from ik_service.ros.requests.service_handler import SolveRecord
from ik_service.ros.scene.collision_world import CollisionWorld, MeasuredCollisions
from ik_service.ros.scene.frames import Frames
from ik_service.solvers.result import IkResult
from ik_service.solvers.solver import Solver

TARGET_TOPIC = 'target_pose'
"""Topic of the targets of the default group, and last part of those of the others."""

_LATE = 2.0  # time from a tick to its command after which the process was suspended, in periods

_SLOW = (FollowerState.CATCHING_UP, FollowerState.RECONFIGURING)
_AWAITED = 'waiting for a new target, or ~/enable'
_REPLACED = 'the robot description is being replaced'


class FollowerInterface:
    """
    Follower of one planning group behind its topics. Safe to share between threads.

    :param group: the group; it has one tip.
    :param sharing: the followers of the arm; those that share joints exclude each other.
    :ivar label: what it does, in words, for logs.
    :ivar last_solve: the solve for the last target that was not; None before there was one.
    :ivar stopped: whether all targets are refused, as the robot is being replaced.
    """

    def __init__(
        self,
        states: JointStateIntake,
        group: ArmGroup,
        solver: Solver,
        settings: FollowerSettings,
        output: CommandPublisher,
        frames: Frames,
        collisions: CollisionWorld,
        warn: Callable[[str], object],
        sharing: JointSharing | None = None,
        topic: str = TARGET_TOPIC,
    ) -> None:
        self.group, self.chain = group, solver.chain
        self.states, self.measured = states, states.measured
        self.clock, self.monitor = output.clock, output.monitor
        self._collisions = MeasuredCollisions(collisions, states.measured, group)
        self.follower = TargetFollower(
            solver,
            sharing,
            group.name,
            self._collisions,
            states.measured.arm.bounds,
            output.monitor,
            lambda: states.measured.errors.of(group.indices),
            **vars(settings),
        )
        self.topic = topic
        self.ignored_targets = FaultLogger(warn)
        self.last_solve: SolveRecord | None = None
        self._targets = TargetIntake(states.measured, group, self.clock, frames)
        self._bad_twists, self._unreachable = FaultLogger(warn), FaultLogger(warn)
        self._output = output
        self._channel = output.channel(self.chain.joint_names, states.measured)
        others = [] if self._channel is None else [self._channel.others]
        self._commanded = np.concatenate([group.indices, *others])  # indices in the full posture
        self._unfit = output.unfit(self.chain.joint_names, states.measured.arm)
        named = group.name if topic != TARGET_TOPIC else ''
        self.label = f'following {named}' if named else 'following'
        self._warn, self._of = warn, f' of {named}' if named else ''
        self._slow, self._obstacles = FaultLogger(warn), FaultLogger(warn)
        self._logged = FollowerState.IDLE, '', ''
        self.stopped = False

    def forward_state(self) -> None:
        """Give the measured joints to the follower, if all of them are known."""
        missing = self.missing_joints() if self.follower.measured is None else []
        joints = self.measured.joints(self.group.indices)
        if missing:
            self.follower.unmeasured = tuple(missing)
        elif joints is not None:
            self.follower.set_measured(*joints)

    def on_target(self, message: PoseStamped, waited: float = 0.0) -> None:
        """Take in a target that has waited in the queue [s]; a bad one is ignored."""
        asked_at, refusal = time.monotonic() - waited, self._refusal()
        if refusal:
            self._ignore(refusal)
            return
        try:
            result = self._targets.give(message, waited, self.follower, asked_at)
        except TargetRefusedError as error:
            hint = self.states.stamps.fault
            self._ignore(f'{error}' + (f' ({hint})' if hint else ''))
            return
        except IkServiceError as error:
            self._ignore(str(error))
            return
        self.ignored_targets.clear()
        now = Time(nanoseconds=self.clock.graph_time())
        self.last_solve = SolveRecord(now, self.topic, self.follower.method, result)
        if result.success:
            self._unreachable.clear()
        else:
            self._unreachable.report(
                f'{self.topic} cannot be reached: {self.reason_of(result)}', 'unreachable'
            )

    def on_twist(self, message: TwistStamped, waited: float = 0.0) -> None:
        """Take in the velocity of the target, which waited in the queue [s], or ignore it."""
        try:
            self._targets.take_twist(message, waited)
        except IkServiceError as error:
            self._bad_twists.report(f'velocity of {self.topic} ignored: {error}')
        else:
            self._bad_twists.clear()

    def reason_of(self, result: IkResult) -> str:
        """Return how a target was solved, with the joints that are never moved if in vain."""
        held = self.follower.immobile_joints
        if result.success or not held:
            return result.reason
        return (
            f'{result.reason}; not moved: {", ".join(held)}, whose velocity limit is 0 '
            '(velocity="0" in the robot description, or in joint_limits)'
        )

    def frames(self) -> FrameResolver:
        """Return the frames of the robot as it is measured now, and of its surroundings."""
        return self._targets.frames()

    def _refusal(self, commands: bool = True) -> str:
        """Return why nothing is followed, or nothing that commands joints; empty if it may be."""
        if self.stopped:
            return _REPLACED
        unfit = self._unfit if commands else ''
        return unfit and f'command_joints {unfit}'

    def _ignore(self, reason: str) -> None:
        self.ignored_targets.report(f'{self.topic} ignored: {reason}')

    def tick(self, now: float) -> None:
        """Publish the next command, if there is one."""
        clock = self.clock
        self._give_way()
        message = self._next(now)
        channel = self._channel
        if channel is not None and message is not None:
            discarded = self._discards(channel, now)
            if clock.now() - now > max(STALL, _LATE * self.follower.period):
                return  # others may command the arm by now; the next tick will know
            if discarded:
                now = clock.now()
                message = self._next(now)
                if message is not None and self._discards(channel, now):
                    message = None  # the arm goes on with earlier commands
            if message is not None:
                self._output.publish(message)
                delay = clock.now() - now
                self.follower.mark_sent(delay)
                channel.mark_sent(delay, self.follower.period)
        self._log_stops()

    def _log_stops(self) -> None:
        """Log a target that is dropped, and what stops the commands before it or slows them."""
        follower = self.follower
        state, obstacle, dropped = follower.state, follower.obstacle, follower.drop_reason
        was, obstacle_was, dropped_was = self._logged
        if state is was and obstacle == obstacle_was and dropped == dropped_was:
            return
        self._logged = state, obstacle, dropped
        if state in _SLOW and state is not was:
            self._slow.report(f'{self.label}: {state.value}')
        if obstacle and obstacle != obstacle_was:
            awaited = f'; {_AWAITED}' if follower.target else ''
            self._obstacles.report(f'{self.label}: {obstacle}{awaited}')
        if dropped and dropped != dropped_was:
            self._warn(f'target{self._of} dropped: {dropped}; {_AWAITED}')

    def rival(self) -> str:
        """Return who commands the arm, so that this node must not; empty for nobody."""
        return self.monitor.rival() if self.follower.settings.exclusive else ''

    def _give_way(self) -> None:
        """Leave the arm to somebody else: after coming to rest, or at once if it follows them."""
        channel, monitor = self._channel, self.monitor
        rival = self.rival() if channel is not None and self.active else ''
        if channel is not None and rival:
            at_once = monitor.overtaken or (monitor.goes_on and channel.ends_itself)
            self.follower.give_way(f'{rival} commands the arm too', at_once)
            if at_once:
                channel.leave()

    def _next(self, now: float) -> bytes | None:
        """Return the next message, serialised; None when there is none."""
        channel, follower = self._channel, self.follower
        command = follower.tick(now)
        message = None if channel is None else channel.message(command, follower, now)
        return None if message is None else self._output.serialize(message)

    def _discards(self, channel: CommandChannel, began: float) -> bool:
        """Discard the message of a tick if it is too late to send it; return whether it was."""
        now = self.clock.now()
        late = channel.is_late(now)
        if not (self.follower.discard_late(now - began, at_once=late) or late):
            return False
        channel.discard()
        return True

    @property
    def active(self) -> bool:
        """Whether there are commands, or something is to be sent after the last one."""
        return self.follower.active or (self._channel is not None and self._channel.busy)

    @property
    def idle(self) -> bool:
        """Whether there is neither a target nor anything to be sent."""
        return self.follower.idle and not self.active

    @property
    def refusals(self) -> int:
        """Number of messages that the gate did not let pass as they were; 0 in health."""
        return 0 if self._channel is None else self._channel.refusals

    def follow_goal(self, goal: MotionGoal) -> None:
        """Move for a goal from now on; raises TargetRefusedError, which says why not."""
        self.forward_state()  # an idle one may not have got the last ones
        refusal = self._refusal(goal.commands) or self.unmatched_names()
        if refusal:
            raise TargetRefusedError(refusal)
        self.follower.follow_goal(goal)

    def end(self) -> None:
        """Refuse all targets from now on, and let the commands come to rest."""
        self.stopped = True
        self.follower.stop(_REPLACED, float('inf'))

    def break_off(self, reason: str) -> None:
        """End motion without further ticks, for a reason; an arm at rest is left as it is."""
        channel, moves = self._channel, self.active
        self.follower.break_off(reason)
        if channel is None or not moves:
            return
        channel.leave()
        message = channel.standstill()
        if message is not None:
            self._output.publish(self._output.serialize(message))

    def reopen(self) -> None:
        """Take targets again after :meth:`end`."""
        self.stopped = False
        self.follower.stop(at=time.monotonic())

    def collision_fault(self, settings: FollowerSettings) -> str:
        """Return why collisions cannot be avoided; empty when they can, or need not be."""
        return self._collisions.fault if settings.avoid_collisions else ''

    def missing_joints(self) -> list[str]:
        """Return joints that commands name, and no joint state so far; the group's come first."""
        names = self.measured.arm.postures.names
        return [names[i] for i in self.measured.unmeasured(self._commanded)]

    def no_joint_state(self) -> str:
        """Return the missing joint states, in a sentence; empty for none."""
        missing = ', '.join(self.missing_joints())
        if not missing:
            return ''
        return self.unmatched_names() or f'no joint state has arrived yet of: {missing}'

    def unmatched_names(self) -> str:
        """Return names in joint states that may be meant for joints without one; or empty."""
        missing = self.missing_joints()
        return self.states.unmatched(missing) if missing else ''
