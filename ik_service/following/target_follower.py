"""
Following a target pose with joint commands; knows no ROS.

The follower turns target poses, which may jump, into commands that never do: they start at the
measured joint state, keep every joint within its velocity limit × scaling, with bounded
acceleration, and never leave the joint limits. While a target is there a command comes out of
every tick, also when it has arrived: controllers of real arms want to be fed. Whatever ends the
following (no target any more, joint states gone stale or impossible, an arm found elsewhere)
first brings the command to rest; after that nothing is commanded. The arm does not move again by
itself: the target is dropped, and the next one starts from the state measured then.
"""

from __future__ import annotations

import numpy as np

from ik_service.exceptions import TargetRefusedError
from ik_service.following.collision_guard import CollisionTest, NoCollisionTest
from ik_service.following.joint_sharing import JointSharing
from ik_service.following.motion import MotionLimits
from ik_service.following.nearby_solver import NearbySolver
from ik_service.following.settings import FollowerCommand, FollowerSettings, FollowerState
from ik_service.following.state_machine import FollowerStateMachine
from ik_service.following.target_store import FollowedTarget, TargetStore
from ik_service.kinematics.pose_error import check_transform
from ik_service.solvers.result import IkResult
from ik_service.solvers.solver import Solver


class TargetFollower:
    """
    Follower of a target pose with joint commands; thread-safe.

    Solving happens in the thread that brings the target or the joint state, outside the lock, so
    that :meth:`tick` never waits for it.

    :param solver: solves for the targets.
    :param sharing: the followers of the same arm, of which those that share joints exclude each
        other; None for the only one.
    :param group: name of the group of joints that is moved, for messages of the others.
    :param collisions: tests postures of the chain, for the setting ``avoid_collisions``; None
        when collisions cannot be tested, and targets are refused with that setting.
    :param settings: fields of :class:`FollowerSettings`; :meth:`tick` is called at its ``rate``.
    :raises OptionError: naming the setting whose value cannot be.
    """

    def __init__(
        self,
        solver: Solver,
        sharing: JointSharing | None = None,
        group: str = '',
        collisions: CollisionTest | None = None,
        **settings: float,
    ) -> None:
        self._sharing = sharing or JointSharing()
        self._lock = self._sharing.lock
        self._group = group
        self._targets = TargetStore()
        self._solver = NearbySolver(solver)
        self._collisions = collisions or NoCollisionTest()
        self._machine = self._new_machine(FollowerSettings().changed(settings))
        self._sharing.join(lambda: self._machine)

    def _new_machine(self, settings: FollowerSettings) -> FollowerStateMachine:
        around = self._targets, self._sharing, self._collisions, self._group
        return FollowerStateMachine(self._solver.chain, settings, *around)

    # Inputs

    def set_measured(self, q: np.ndarray, now: float) -> None:
        """
        Take a measured joint state.

        :param q: (n,) positions [rad] or [m]; may lie outside the limits.
        :param now: when it was measured, on a monotonic clock [s].
        :raises ArgumentError: when q has another shape or is not finite.
        """
        with self._lock:
            q = self._solver.chain.check_q(q, 'measured')
            if not self._machine.arm.update(q, now, self._machine.stream.q):
                return
            target = self._targets.current
            busy = self._machine.stream.active
            if target is None or target.goal is not None or target.solving or busy:
                return
            target.solving = True
            version, solver, seeds = self._targets.version, self._solver, self._machine.seeds()
        try:
            result = solver.solve(target.T_base_tip, seeds)
            with self._lock:
                if version == self._targets.version:
                    target.result, target.goal = result, result.q
        finally:
            target.solving = False

    def set_target(self, T_base_tip: np.ndarray) -> IkResult:
        """
        Follow another target from now on.

        It is solved for here, from where the command is, or else the arm. The old target is
        followed meanwhile. Before the first joint state it is kept, and solved again then.

        :param T_base_tip: (4, 4) pose of the tip in the frame of the base link.
        :returns: the solution, or the nearest pose found, which is then gone to.
        :raises ArgumentError: when this is no pose; the old target is then followed further.
        :raises TargetRefusedError: when nothing may be followed now; the message says why.
        """
        T_base_tip = check_transform(T_base_tip, 'target')
        with self._lock:
            refusal = self._machine.refusal()
            if refusal:
                raise TargetRefusedError(refusal)
            version = self._targets.next_version()
            solver, seeds = self._solver, self._machine.seeds()
        result = solver.solve(T_base_tip, seeds)
        with self._lock:
            if version == self._targets.version:
                self._follow(T_base_tip, result)
        return result

    def _follow(self, T_base_tip: np.ndarray, result: IkResult) -> None:
        """Follow a target that was solved for, unless a group that shares joints has one."""
        machine = self._machine
        refusal = self._sharing.refusal(machine)
        if refusal:
            raise TargetRefusedError(refusal)
        self._sharing.take_over(machine)
        goal = None if machine.arm.measured is None else result.q
        machine.follow(FollowedTarget(T_base_tip, result, goal))

    def stop(self) -> None:
        """Forget the target; the command comes to rest, and then there is none."""
        with self._lock:
            self._machine.stop()

    def enable(self, enabled: bool) -> bool:
        """
        Allow motion, or stop and refuse all targets until it is allowed again.

        A target that was dropped because of a fault is taken up again from where the arm is, and
        one that was stopped before a collision is tried again.

        :param enabled: whether motion is allowed.
        :returns: whether there is a target to move to now.
        :raises TargetRefusedError: when the dropped target may not be followed; it is kept.
        """
        with self._lock:
            self._machine.disabled = not enabled
            self._machine.retry()
            dropped = self._targets.dropped
        if not enabled:
            self.stop()
            return False
        if dropped is not None:
            self.set_target(dropped)
        elif self.state is FollowerState.DISABLED:
            self._machine.state = FollowerState.IDLE
        return self._targets.current is not None

    def configure(self, *, solver: Solver | None = None, **settings: float) -> None:
        """
        Change the solver or settings while following, without a jump.

        :param solver: another solver. With another chain all else is forgotten as well: state,
            command, target and test of collisions belong to the chain.
        :param settings: fields of :class:`FollowerSettings`.
        :raises OptionError: naming the setting whose value cannot be; nothing is changed then.
        """
        nearby = None if solver is None else NearbySolver(solver)
        with self._lock:
            settings_now = self._machine.settings.changed(settings)
            before, self._solver = self._solver, nearby or self._solver
            if self._solver.chain is not before.chain:
                self._targets.clear()
                self._collisions = NoCollisionTest()
                self._machine = self._new_machine(settings_now)
            self._machine.configure(settings_now)

    # Outputs

    @property
    def displacements(self) -> int:
        """How often something else moved the arm."""
        return self._machine.displacements

    @property
    def other_commander(self) -> str:
        """Name of somebody else who commands the arm, to be set by the owner; empty for nobody."""
        return self._machine.other_commander

    @other_commander.setter
    def other_commander(self, name: str) -> None:
        self._machine.other_commander = name

    @property
    def settings(self) -> FollowerSettings:
        """The settings in force."""
        return self._machine.settings

    @property
    def limits(self) -> MotionLimits:
        """The bounds on the motion that are in force."""
        return self._machine.limits

    @property
    def measured(self) -> tuple[np.ndarray, float] | None:
        """Where the joints were last, (n,) [rad] or [m], and when [s]; None before a state."""
        with self._lock:
            arm = self._machine.arm
            return None if arm.measured is None else (arm.measured, arm.measured_at)

    @property
    def state(self) -> FollowerState:
        """State as of the last tick or call."""
        return self._machine.state

    @property
    def result(self) -> IkResult | None:
        """The answer of the solver for the target that is followed; None without a target."""
        target = self._targets.current
        return target.result if target else None

    @property
    def target(self) -> tuple[np.ndarray, IkResult] | None:
        """The target that is followed: T_base_tip (4, 4), and the solver's answer for it."""
        target = self._targets.current
        return (target.T_base_tip, target.result) if target else None

    @property
    def drop_reason(self) -> str:
        """Why the last target was dropped; empty when none was, or another one is followed."""
        return self._targets.reason

    @property
    def obstacle(self) -> str:
        """What the commands to the target have stopped before; empty for nothing."""
        target = self._targets.current
        return target.obstacle if target else ''

    @property
    def following_error(self) -> float | None:
        """How far the arm's worst joint is from its command [rad] or [m]; None without one."""
        with self._lock:
            stream, measured = self._machine.stream, self._machine.arm.measured
            if not stream.active or measured is None:
                return None
            return float(np.abs(stream.q - measured).max())

    @property
    def active(self) -> bool:
        """Whether there are commands; without, the arm is left alone."""
        return self._machine.stream.active

    @property
    def idle(self) -> bool:
        """Whether there are neither a target nor commands."""
        return self._targets.current is None and not self._machine.stream.active

    @property
    def violations(self) -> int:
        """Number of commands that the gate had to correct; 0 in a healthy system."""
        return self._machine.stream.gate.counts.total

    @property
    def state_fault(self) -> str:
        """Why the joint states cannot be relied on; empty when they can."""
        return self._machine.arm.reason

    @property
    def contradictory_states(self) -> bool:
        """Whether there must be two sources of joint states that contradict each other."""
        return self._machine.arm.contradictory

    @property
    def immobile_joints(self) -> tuple[str, ...]:
        """The joints that are never moved, because their velocity limit is 0."""
        names = self._solver.chain.joint_names
        return tuple(
            name for name, speed in zip(names, self._machine.speeds, strict=True) if speed <= 0
        )

    def tick(self, now: float) -> FollowerCommand | None:
        """
        Return the next command; to be called once in a period of the rate.

        :param now: on the clock of :meth:`set_measured` [s].
        :returns: the command to publish; None to publish nothing.
        """
        with self._lock:
            return self._machine.tick(now)

    def mark_sent(self, delay: float) -> None:
        """
        Note that the command of the last tick was sent.

        :param delay: from the tick to the end of sending [s].
        """
        with self._lock:
            self._machine.stream.mark_sent(delay, 1.0 / self._machine.settings.rate)

    def discard_late(self, delay: float) -> bool:
        """
        Discard the command of the last tick if it is too late to send it.

        That happens when the process was suspended after it had computed the command: the arm has
        come to rest meanwhile.

        :param delay: since the tick [s].
        :returns: whether it is discarded; then :meth:`tick` is to be called again.
        """
        with self._lock:
            return self._machine.stream.discard_late(delay, 1.0 / self._machine.settings.rate)
