"""State machine of the follower: what every tick does, and why."""

from __future__ import annotations

import numpy as np

from ik_service.following.collision_guard import CollisionGuard, CollisionTest
from ik_service.following.command_stream import CommandStream
from ik_service.following.joint_sharing import JointSharing
from ik_service.following.joint_state_tracker import JointStateTracker
from ik_service.following.lag_monitor import LagMonitor
from ik_service.following.settings import (
    FollowerCommand,
    FollowerSettings,
    FollowerState,
    joint_speeds,
)
from ik_service.following.target_store import FollowedTarget, TargetStore
from ik_service.kinematics.chain import KinematicChain

_SAME_POSITION = 1e-6
"""Distance from its goal that does not matter for a joint that must not move [rad, m]."""

_FAULTS = (FollowerState.STATE_STALE, FollowerState.STATE_IMPLAUSIBLE)


class FollowerStateMachine:
    """
    States of following on one chain. Not thread-safe, and solves nothing.

    :param chain: the chain.
    :param settings: how targets are followed.
    :param targets: the target that is followed, and the one that was dropped.
    :param sharing: the followers of the arm, of which some may share joints with this one.
    :param collisions: tests postures of the chain, for the setting ``avoid_collisions``.
    :param group: name of the group of joints that is moved, for messages.
    :ivar joints: the joints that commands name.
    :ivar settings: those in force; see :meth:`configure`.
    :ivar limits: bounds on the motion.
    :ivar speeds: (n,) the joints' largest speeds [rad/s] or [m/s].
    :ivar arm: the measured joint states.
    :ivar stream: the commands.
    :ivar state: what is being done.
    :ivar restarting: whether the commands have to come to rest before they go anywhere.
    :ivar disabled: whether all targets are refused.
    :ivar other_commander: who else commands the arm; empty for nobody.
    :ivar displacements: how often something else moved the arm.
    """

    def __init__(
        self,
        chain: KinematicChain,
        settings: FollowerSettings,
        targets: TargetStore,
        sharing: JointSharing,
        collisions: CollisionTest,
        group: str = '',
    ) -> None:
        self.chain = chain
        self.targets = targets
        self.group = group
        self.joints = chain.joint_names
        self._sharing = sharing
        self._collisions = collisions
        self._guard = CollisionGuard(chain, collisions)
        self.stream = CommandStream()
        self.configure(settings)
        self.speeds = joint_speeds(chain)
        self.arm = JointStateTracker(chain, self.speeds)
        self._lag = LagMonitor(self.speeds)
        self._movable = self.speeds > 0.0
        self.state = FollowerState.IDLE
        self.restarting = False
        self.disabled = False
        self.other_commander = ''
        self.displacements = 0

    def configure(self, settings: FollowerSettings) -> None:
        """
        Put other settings into force.

        :param settings: how targets are followed from now on.
        """
        self.settings = settings
        self.limits = settings.motion_limits(self.chain)
        self.stream.guard = self._guard if settings.avoid_collisions else None

    def tick(self, now: float) -> FollowerCommand | None:
        """
        Return the next command; None to publish nothing.

        :param now: on the clock of the joint states [s].
        """
        self.arm.tick(now)
        if self.targets.has_expired(now, self.settings.target_timeout):
            self.targets.clear()
            self.state = FollowerState.TARGET_TIMED_OUT
        self._check_joint_states(now)
        target = self.targets.current
        if target is None:
            return self._come_to_rest(now)
        measured, goal = self.arm.measured, target.goal
        if measured is None:
            self.state = FollowerState.NO_STATE
            return None
        if self.restarting or goal is None:
            return self._come_to_rest(now)
        commanded = self.stream.q
        if commanded is None:
            return self._begin(target, goal, now)
        return self._follow(target, goal, commanded, measured, now)

    def follow(self, target: FollowedTarget) -> None:
        """
        Follow a target from now on.

        :param target: the target.
        """
        if self.restarting:
            target.goal = None  # it depends on where the arm comes to rest
        self.targets.follow(target)
        self.state = self._state_with(target)

    def stop(self) -> None:
        """Follow nothing."""
        self.targets.clear()
        self.state = FollowerState.DISABLED if self.disabled else FollowerState.IDLE

    def retry(self) -> None:
        """Go on to the target, if what is in the way has gone."""
        if self.targets.current is not None:
            self.targets.current.obstacle = ''

    @property
    def active(self) -> bool:
        """Whether there are commands."""
        return self.stream.active

    @property
    def busy(self) -> bool:
        """Whether there is a target that the commands do not rest at."""
        target, commanded = self.targets.current, self.stream.q
        if target is None or (target.obstacle and self.stream.at_rest):
            return False
        if commanded is None or target.goal is None or not self.stream.at_rest:
            return True
        return self._lag.lagging or bool((target.goal - commanded)[self._movable].any())

    @property
    def commanded_at(self) -> float:
        """When the last command was sent, on a monotonic clock [s]; −inf before the first."""
        return self.stream.gate.sent_at

    def let_go(self) -> None:
        """Forget the target, and the one that was dropped, as another group moves the joints."""
        if self.targets.current is not None or self.targets.dropped is not None:
            self.stop()

    def seeds(self) -> list[np.ndarray]:
        """Return where the next solution shall be near to: where the joints are, and will be."""
        chain, measured, commanded = self.chain, self.arm.measured, self.stream.q
        target = self.targets.current
        if commanded is None:
            here = chain.mid_range() if measured is None else measured
            return [np.clip(here, chain.lower, chain.upper)]
        seeds = [np.clip(commanded, chain.lower, chain.upper)]
        return seeds if target is None or target.goal is None else [*seeds, target.goal]

    def refusal(self) -> str:
        """Return why no target may be followed now; empty when one may."""
        if self.disabled:
            return 'following is switched off; ~/enable with data: true switches it on'
        refusal = self._sharing.refusal(self) or self._unguarded()
        if refusal:
            return refusal
        if self.settings.resume or self.arm.measured is None:
            return ''
        if self.arm.reason:
            return self.arm.reason
        return '' if self.stream.active else self._occupied()

    def _unguarded(self) -> str:
        """Return why collisions cannot be avoided; empty when they can, or need not be."""
        if not self.settings.avoid_collisions:
            return ''
        fault = self._collisions.fault
        allow = 'follow.avoid_collisions: false would allow it'
        return fault and f'collisions cannot be checked: {fault} ({allow})'

    def _occupied(self) -> str:
        """Return who keeps motions from being started; empty for nobody."""
        other = self.other_commander if self.settings.exclusive else ''
        return other and f'{other} commands the arm too (exclusive: false would allow it)'

    def _check_joint_states(self, now: float) -> None:
        """Lose the target when the joint states cannot be relied on; recover afterwards."""
        fault = self.arm.fault(now, self.settings.state_timeout)
        targets, dropped = self.targets, self.targets.dropped is not None
        if fault is not None and (targets.current is not None or dropped):
            self._lose_target(fault, self.arm.reason)
        elif fault is None and self.state in _FAULTS:
            self.state = FollowerState.TARGET_DROPPED if dropped else FollowerState.IDLE

    def _lose_target(self, state: FollowerState, reason: str) -> None:
        """Come to rest, and stay there unless targets are to be resumed."""
        self.state = state
        if self.targets.current is None:
            return
        self.restarting = True
        if self.settings.resume:
            self.targets.current.goal = None
        else:
            self.targets.drop(reason)

    def _come_to_rest(self, now: float) -> FollowerCommand | None:
        stream, command = self.stream, None
        if not stream.at_rest:
            period, speed = 1.0 / self.settings.rate, self.arm.speed(now)
            command = stream.advance(None, self.limits, now, period, speed)
        if stream.at_rest:
            stream.end()
        self.restarting = stream.active
        return command

    def _follow(
        self,
        target: FollowedTarget,
        goal: np.ndarray,
        commanded: np.ndarray,
        measured: np.ndarray,
        now: float,
    ) -> FollowerCommand | None:
        """Go on towards the goal, at the pace of the arm."""
        stream, period, limit = self.stream, 1.0 / self.settings.rate, self.settings.lag_limit
        self._lag.update(commanded, measured, stream.at_rest, limit, now)
        if self._lag.displaced:
            self.displacements += 1
            self._lose_target(FollowerState.TARGET_DROPPED, 'something else has moved the arm')
            return self._come_to_rest(now)
        speed, pace = self.arm.speed(now), self._lag.pace
        towards = goal if self.arm.current and not target.obstacle else None
        command = stream.advance(towards, self.limits, now, period, speed, pace)
        target.obstacle = target.obstacle or stream.obstacle
        self.state = self._state_with(target)
        return command

    def _begin(
        self, target: FollowedTarget, goal: np.ndarray, now: float
    ) -> FollowerCommand | None:
        """Start a motion where the arm is, if that is allowed and known."""
        occupied = self._occupied()
        if occupied:
            self._lose_target(FollowerState.OTHER_COMMANDER, occupied)
            return None
        free_since = self._sharing.free_since(self)
        if free_since is None:  # commands of another group are coming to rest
            return None
        if not self.arm.is_fresh(now, max(self.commanded_at, free_since)):
            return None
        start = self.arm.position()
        self._lag.reset()
        target.goal = self.arm.unwrapped(goal, start)
        self.state = self._state_with(target)
        return self.stream.begin(start, now)

    def _state_with(self, target: FollowedTarget) -> FollowerState:
        """Return the state on the way to a target, or at it."""
        commanded = self.stream.q
        if target.obstacle:
            return FollowerState.COLLISION_AHEAD
        if self._lag.lagging and commanded is not None:
            return FollowerState.LAGGING
        if not target.result.success:
            return FollowerState.UNREACHABLE
        if commanded is None or target.goal is None:
            return FollowerState.FOLLOWING
        ahead = np.abs(target.goal - commanded)
        if ahead[self._movable].any():
            return FollowerState.FOLLOWING
        blocked = (ahead > _SAME_POSITION).any()
        return FollowerState.UNREACHABLE if blocked else FollowerState.REACHED
