"""
Following a target pose with joint commands; knows no ROS.

The follower turns target poses, which may jump, into commands that never do: they start at the
measured joint state, keep every joint within its velocity limit × scaling, with bounded
acceleration, and never leave the joint limits. A second after the arm has arrived they end, unless
they shall hold it; another controller may take over then. Whatever ends the following (no
target any more, joint states gone stale or impossible, an arm that is stuck, or found elsewhere)
first brings the command to rest; after that nothing is commanded. The arm does not move again by
itself: the target is dropped, and the next one starts where the arm is by then.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ik_service.common.fault_logger import FaultLogger
from ik_service.exceptions import ArgumentError, TargetRefusedError
from ik_service.kinematics.pose_error import check_transform
from ik_service.model.motion_bounds import MotionBounds
from ik_service.motion.collision_guard import CollisionTest, NoCollisionTest
from ik_service.motion.command.command_stream import FollowerCommand
from ik_service.motion.command.motion_limits import MotionLimits
from ik_service.motion.goal import MotionGoal
from ik_service.motion.settings import FollowerSettings, FollowerState
from ik_service.motion.state_machine import FollowerStateMachine, JointSharing
from ik_service.motion.tracking.moving_goal import MovingGoal
from ik_service.motion.tracking.nearby_solver import NearbySolver
from ik_service.motion.tracking.singular_passage import PosturePath, SingularPassage
from ik_service.motion.tracking.target_goal import TargetGoal
from ik_service.motion.tracking.target_path import TargetPath
from ik_service.motion.tracking.target_velocity import TargetVelocity
from ik_service.solvers.result import IkResult
from ik_service.solvers.solver import Solver


class TargetFollower:
    """
    Follower of a target pose, or of another goal, with joint commands; thread-safe.

    Solving happens in the thread that brings the target or the joint state, outside the lock, so
    that :meth:`tick` never waits for it.

    :param solver: solves for the targets.
    :param sharing: the followers of the same arm, of which those that share joints exclude each
        other; None for the only one.
    :param group: name of the group of joints that is moved, for messages of the others.
    :param collisions: tests postures of the chain, for the setting ``avoid_collisions``; None
        when collisions cannot be tested, and targets are refused with that setting.
    :param bounds: limits of the joints beyond those of the URDF, such as of acceleration and jerk
        (:func:`~ik_service.model.joint_limits_file.load_joint_limits`); None for none.
    :param settings: fields of :class:`FollowerSettings`; :meth:`tick` is called at its ``rate``.
    :raises OptionError: naming the setting whose value cannot be.
    """

    def __init__(
        self,
        solver: Solver,
        sharing: JointSharing | None = None,
        group: str = '',
        collisions: CollisionTest | None = None,
        bounds: MotionBounds | None = None,
        **settings: float,
    ) -> None:
        self._sharing = sharing or JointSharing()
        self._lock = self._sharing.lock
        self._solver = NearbySolver(solver)
        self._passage = SingularPassage(solver, self._solver)
        self._velocity, self._path = TargetVelocity(), TargetPath()
        self.configuration_changes = 0
        self._machine = FollowerStateMachine(
            solver.chain,
            FollowerSettings().changed(settings),
            self._sharing,
            collisions or NoCollisionTest(),
            group,
            bounds,
        )
        self._goals = self._machine.goals
        self._sharing.join(self._machine)

    # State

    @property
    def displacements(self) -> int:
        """Number of times that something else moved the arm."""
        return self._machine.displacements

    @property
    def other_motions(self) -> int:
        """Number of motions so far that were not for a target: trajectories, and servo motions."""
        return self._goals.others

    @property
    def other_commander(self) -> str:
        """Name of somebody else who commands the arm, to be set by the owner; empty for nobody."""
        return self._machine.other_commander

    @other_commander.setter
    def other_commander(self, name: str) -> None:
        self._machine.other_commander = name

    @property
    def awaits_controller(self) -> bool:
        """Whether no motion begins, as the controller has still to answer; set by the owner."""
        return self._machine.awaits_controller

    @awaits_controller.setter
    def awaits_controller(self, awaits: bool) -> None:
        self._machine.awaits_controller = awaits

    @property
    def announces(self) -> bool:
        """Whether a motion begins with commands at rest, for others to see; set by the owner."""
        return self._machine.announces

    @announces.setter
    def announces(self, announces: bool) -> None:
        self._machine.announces = announces

    @property
    def announcing(self) -> bool:
        """Whether the last command was one of those."""
        return self._machine.announcing

    @property
    def settings(self) -> FollowerSettings:
        """The settings in force."""
        return self._machine.settings

    @property
    def period(self) -> float:
        """Time between two commands [s]; it follows a changed rate, at once or step by step."""
        return self._machine.period

    @property
    def measured(self) -> tuple[np.ndarray, float] | None:
        """Last positions of the joints (n,) [rad] or [m], and their time [s]; None before any."""
        with self._lock:
            arm = self._machine.arm
            return None if arm.measured is None else (arm.measured, arm.measured_at)

    @property
    def state(self) -> FollowerState:
        """State as of the last tick or call."""
        return self._machine.state

    @property
    def method(self) -> str:
        """Name of the solver's method."""
        return self._solver.beside.name

    @property
    def result(self) -> IkResult | None:
        """The answer of the solver for the target, also when the arm is left there; or None."""
        target = self._goals.target
        return target.result if target else self._goals.released

    @property
    def target(self) -> tuple[np.ndarray, IkResult] | None:
        """The target that is followed: T_base_tip (4, 4), and the solver's answer for it."""
        target = self._goals.target
        return (target.T_base_tip, target.result) if target else None

    @property
    def drop_reason(self) -> str:
        """Reason for dropping the last target; empty when none was, or another one is followed."""
        return self._goals.reason

    @property
    def obstacle(self) -> str:
        """Obstacle before which the commands have stopped; empty for none."""
        goal = self._goals.current
        return goal.obstacle if goal else ''

    @property
    def goal(self) -> MotionGoal | None:
        """Goal of the commands; None without one."""
        return self._goals.current

    @property
    def motion(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Positions (n,) and velocities (n,) that steps of goals are for; None at rest."""
        with self._lock:
            stream, limits = self._machine.stream, self._machine.limits
            if not stream.active or stream.at_rest:
                return None
            q, speed = stream.leading
            return q.copy(), speed * limits.velocity

    @property
    def claim(self) -> str:
        """Why nothing may move the arm although nothing is followed; empty when it may."""
        return self._goals.claim

    @property
    def commanded(self) -> np.ndarray | None:
        """The last command (n,) [rad] or [m]; None while nothing is commanded."""
        with self._lock:
            return self._machine.stream.q

    @property
    def limits(self) -> MotionLimits:
        """The bounds on the motion that are in force."""
        return self._machine.limits

    @property
    def bounds(self) -> MotionLimits:
        """The bounds that the commands keep: where a jerk is limited, old ones for a while too."""
        with self._lock:
            return self._machine.stream.bounds(self._machine.limits)

    @property
    def following_error(self) -> float | None:
        """Largest distance of a joint from its command [rad] or [m]; None without a command."""
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
        """Whether there are neither a goal nor commands."""
        return self._goals.current is None and not self._machine.stream.active

    @property
    def violations(self) -> int:
        """Number of commands that the gate had to correct; 0 in a healthy system."""
        return self._machine.stream.gate.counts.total

    @property
    def state_fault(self) -> str:
        """Reason why the joint states cannot be relied on; empty when they can."""
        return self._machine.arm.reason

    @property
    def contradictory_states(self) -> bool:
        """Whether two sources publish joint states that contradict each other."""
        return self._machine.arm.contradictory

    @property
    def immobile_joints(self) -> tuple[str, ...]:
        """The joints that are never moved, because their velocity limit is 0."""
        names = self._solver.chain.joint_names
        return tuple(
            name for name, speed in zip(names, self._machine.speeds, strict=True) if speed <= 0
        )

    # Inputs

    def set_measured(self, q: np.ndarray, now: float) -> None:
        """
        Take a measured joint state.

        :param q: (n,) positions [rad] or [m]; may lie outside the limits.
        :param now: when it was measured, on a monotonic clock [s].
        :raises ArgumentError: when q has another shape, or it or the time is not finite.
        """
        with self._lock:
            q = self._solver.chain.check_q(q, 'measured')
            if not self._machine.arm.update(q, now, self._machine.stream.q):
                return
            target = self._goals.target
            busy = self._machine.stream.active
            if target is None or target.ready or target.solving or busy:
                return
            target.solving = True
            version, solver, seeds = self._goals.version, self._solver, self._machine.seeds()
        try:
            result = solver.solve(target.T_base_tip, seeds)
            with self._lock:
                if version == self._goals.version:
                    target.result, target.posture = result, result.q
        finally:
            target.solving = False

    def set_target(
        self,
        T_base_tip: np.ndarray,
        at: float | None = None,
        twist: np.ndarray | None = None,
        arrived: float | None = None,
    ) -> IkResult:
        """
        Follow another target from now on.

        It is solved for here, from where the command is, or else the arm. The old target is
        followed meanwhile. Before the first joint state it is kept, and solved again then.

        :param T_base_tip: (4, 4) pose of the tip in the frame of the base link.
        :param at: when the target was there, on the clock of :meth:`tick` [s]. Targets with times
            that are on one motion are followed without a lag; None for one at rest.
        :param twist: (6,) the target's velocity in the base frame, linear before angular [m/s,
            rad/s], where that is known.
        :param arrived: when this became known [s]; where it is given, a target that falls silent
            is noticed as soon as the next one is overdue.
        :returns: the solution, or the nearest pose found, which is then the target.
        :raises ArgumentError: when pose, times or twist cannot be; the old target stays then.
        :raises TargetRefusedError: when nothing may be followed now; the message says why.
        """
        T_base_tip = check_transform(T_base_tip, 'target')
        with self._lock:
            self._refuse(self._machine.refusal())
            moves_at = at if self._machine.settings.feed_forward else None
            motion = self._velocity.update(T_base_tip, moves_at, twist, arrived)
            version = self._goals.next_version()
            solver, passage, seeds = self._solver, self._passage, self._machine.seeds()
            last = self._path_end() if motion.interval > 0.0 else None
            settings, limits = self._machine.settings, self._machine.limits
        if at is None or last is None:
            result = solver.solve(T_base_tip, seeds)
            found = PosturePath(result, result.q[None])
        else:
            found = passage.solve(T_base_tip, last, at, settings.branch_time)
        result, moving = found.result, None
        if at is not None and result.success and not (motion.still or found.changes):
            moving = MovingGoal(passage.next.position, T_base_tip, result.q, motion, at, limits)
        with self._lock:
            if version == self._goals.version:
                self._follow(T_base_tip, found, at, moving, last is not None)
        return result

    def _path_end(self) -> np.ndarray | None:
        """Return where the path of the target ends by now; None where another one begins."""
        target, machine = self._goals.target, self._machine
        if target is None or target.obstacle or machine.restarting or not machine.stream.active:
            return None
        return None if target.path is None else target.path.end()

    def _follow(
        self,
        T_base_tip: np.ndarray,
        found: PosturePath,
        at: float | None,
        moving: MovingGoal | None,
        goes_on: bool,
    ) -> None:
        """Follow a target that was solved for, unless something goes before it by now."""
        machine, path = self._machine, None
        self._refuse(machine.precedence())
        posture = None if machine.arm.measured is None else found.result.q
        if at is not None and posture is not None and machine.settings.feed_forward:
            path = self._path
            if goes_on:
                path.extend(found.points, at, found.changes)
            else:
                path.restart(posture, at)
            self.configuration_changes += goes_on and found.changes
        self._set_goal(
            TargetGoal(T_base_tip, found.result, posture, machine.movable, moving, path)
        )

    def follow_goal(self, goal: MotionGoal) -> None:
        """
        Move for a goal from now on; it replaces the one before.

        :param goal: the goal that the commands pursue.
        :raises TargetRefusedError: when it may not be followed now; the message says why. The
            present goal goes on then.
        """
        with self._lock:
            if goal is self._goals.current:
                return
            self._refuse(self._machine.refusal(goal))
            self._goals.next_version()
            self._set_goal(goal)

    follow_aim = follow_goal
    """Former name, which programs of users call."""

    def _set_goal(self, goal: MotionGoal) -> None:
        self._sharing.take_over(self._machine)
        self._machine.follow(goal)

    def precedence(self) -> str:
        """Return the motion that precedes a new goal: a trajectory, or that of other joints."""
        with self._lock:
            return self._machine.precedence()

    @staticmethod
    def _refuse(reason: str) -> None:
        if reason:
            raise TargetRefusedError(reason)

    def release(self, goal: MotionGoal) -> None:
        """Withdraw a goal, if it is the one followed; the commands come to rest, and end."""
        with self._lock:
            if goal is self._goals.current:
                self._machine.stop('it was withdrawn')

    def give_way(self, reason: str, at_once: bool = False) -> None:
        """
        Drop the goal and come to rest, as somebody else commands the arm.

        :param at_once: whether nothing more is commanded, as the arm follows the other by now.
        """
        with self._lock:
            self._machine.give_way(reason, at_once)

    def note_unmeasured(self, names: Sequence[str]) -> None:
        """Note the joints that no joint state has named so far, for messages."""
        self._machine.unmeasured = tuple(names)

    def stop(self) -> None:
        """Drop the goal followed; the command comes to rest, and then there is none."""
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
            dropped = self._goals.dropped
        if not enabled:
            self.stop()
            return False
        if dropped is not None:
            self.set_target(dropped)
        elif self.state is FollowerState.DISABLED:
            self._machine.state = FollowerState.IDLE
        return self._goals.current is not None

    def configure(self, *, solver: Solver | None = None, **settings: float) -> None:
        """
        Change the solver or settings while following, without a jump.

        :param solver: another solver for the same chain.
        :param settings: fields of :class:`FollowerSettings`.
        :raises ArgumentError: the solver is for another chain.
        :raises OptionError: naming the setting whose value cannot be; nothing is changed then.
        """
        if solver is not None and solver.chain is not self._solver.chain:
            raise ArgumentError('solver', 'has to be for the chain that is followed with')
        nearby = None if solver is None else NearbySolver(solver)
        passage = None if solver is None or nearby is None else SingularPassage(solver, nearby)
        with self._lock:
            self._machine.configure(self._machine.settings.changed(settings))
            self._solver, self._passage = nearby or self._solver, passage or self._passage

    # Outputs

    def tick(self, now: float) -> FollowerCommand | None:
        """
        Return the next command; to be called once in a period of the rate.

        :param now: on the clock of :meth:`set_measured` [s].
        :returns: the command to publish; None to publish nothing.
        :raises ArgumentError: when the time is not finite.
        """
        with self._lock:
            return self._machine.tick(now)

    def mark_sent(self, delay: float) -> None:
        """Note that the command of the last tick was sent, `delay` after the tick [s]."""
        with self._lock:
            self._machine.stream.mark_sent(delay, self._machine.period)

    def discard_late(self, delay: float, at_once: bool = False) -> bool:
        """
        Discard the command of the last tick if it is too late to send it.

        That happens when the process was suspended after it had computed the command: the arm has
        come to rest meanwhile.

        :param delay: since the tick [s].
        :param at_once: whether it is too late whatever the delay is.
        :returns: whether it is discarded; then :meth:`tick` is to be called again.
        """
        with self._lock:
            return self._machine.discard_late(delay, at_once)


_SLOW = (FollowerState.CATCHING_UP, FollowerState.RECONFIGURING)
_AWAITED = 'waiting for a new target, or ~/enable'


class FollowingLog:
    """
    Log of the dropped targets of a follower, and of the obstacles and delays on its path.

    :param group: name of its group, where it is not the default one; else empty.
    """

    def __init__(
        self, follower: TargetFollower, group: str, warn: Callable[[str], object]
    ) -> None:
        self._follower = follower
        self._of = f' of {group}' if group else ''
        self._label = f'following {group}' if group else 'following'
        self._warn = warn
        self._slow, self._obstacles = FaultLogger(warn), FaultLogger(warn)
        self._logged_slow = FollowerState.IDLE
        self._logged_drop = self._logged_obstacle = ''

    def log_stops(self) -> None:
        """Log obstacles that stop the commands before the target, or slow them down."""
        state = self._follower.state
        if state in _SLOW and state is not self._logged_slow:
            self._slow.report(f'{self._label}: {state.value}')
        self._logged_slow = state
        obstacle = self._follower.obstacle
        if obstacle != self._logged_obstacle:
            self._logged_obstacle = obstacle
            if obstacle:
                awaited = f'; {_AWAITED}' if self._follower.target else ''
                self._obstacles.report(f'{self._label}: {obstacle}{awaited}')
        dropped = self._follower.drop_reason
        if dropped != self._logged_drop:
            self._logged_drop = dropped
            if dropped:
                self._warn(f'target{self._of} dropped: {dropped}; {_AWAITED}')
