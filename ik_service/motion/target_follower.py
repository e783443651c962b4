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

from collections.abc import Callable, Iterator
from dataclasses import replace
import threading

import numpy as np

from ik_service.common.measurement_errors import JointErrors
from ik_service.common.quoting import quote, safe_repr
from ik_service.exceptions import ArgumentError, TargetRefusedError
from ik_service.kinematics.chain import KinematicChain
from ik_service.kinematics.joint_space import joint_speeds
from ik_service.kinematics.pose_error import check_transform
from ik_service.model.motion_bounds import JointBounds, MotionBounds
from ik_service.motion.collision_guard import CollisionGuard, CollisionTest, NoCollisionTest
from ik_service.motion.command.command_stream import CommandStream, FollowerCommand
from ik_service.motion.command.motion_kernels import motion_kernels
from ik_service.motion.command.motion_limits import largest, MotionLimits
from ik_service.motion.command.vector_kernels import vector_kernels
from ik_service.motion.goal import MotionGoal, REST, Step, Tick
from ik_service.motion.settings import FollowerSettings, FollowerState
from ik_service.motion.state.joint_state_tracker import (
    FAULTS,
    JointStateTracker,
    stands,
    stands_by,
    unsure,
)
from ik_service.motion.state.lag_monitor import LagMonitor
from ik_service.motion.tracking.moving_goal import MovingGoal
from ik_service.motion.tracking.nearby_solver import NEAR
from ik_service.motion.tracking.singular_passage import PosturePath, SingularPassage
from ik_service.motion.tracking.target_goal import Anchor, following_anchor, TargetGoal
from ik_service.motion.tracking.target_path import TargetPath
from ik_service.motion.tracking.target_velocity import TargetVelocity
from ik_service.solvers.result import IkResult
from ik_service.solvers.solver import Solver


class GoalStore:
    """
    Current goal and dropped target.

    :ivar current: the goal that the commands pursue; None without one.
    :ivar dropped: (4, 4) the target that a fault has ended; None without one.
    :ivar reason: why that was dropped; empty without one.
    :ivar released: the solution of a target that the arm was left at; None without one.
    :ivar others: number of goals so far that were no targets.
    :ivar version: a number that grows with every change, to notice an answer of the solver that
        comes too late.
    """

    def __init__(self) -> None:
        self.version = self.others = 0
        self.current: MotionGoal | None = None
        self.dropped: np.ndarray | None = None
        self.reason = ''
        self.released: IkResult | None = None
        self._claimant: MotionGoal | None = None

    @property
    def target(self) -> TargetGoal | None:
        """The target pose that is followed; None when there is none, or another goal."""
        return self.current if isinstance(self.current, TargetGoal) else None

    @property
    def claim(self) -> str:
        """Why nothing may move the arm, after a goal that lays claim to it; empty when it may."""
        return self._claimant.claim if self._claimant is not None else ''

    def next_version(self) -> int:
        """Return the version of a goal that is going to be followed."""
        self.version += 1
        return self.version

    def follow(self, goal: MotionGoal) -> None:
        """Replace the current goal, and forget the dropped one."""
        replaced, self.current = self.current, goal
        self.others += not isinstance(goal, TargetGoal)
        self.dropped, self.reason, self.released = None, '', None
        if replaced is not None:
            replaced.replaced(goal.kind)
            self._note_claim(replaced)

    def clear(self, reason: str) -> None:
        """Forget goal and dropped target; the reason is empty when the goal has finished."""
        self.version += 1
        self._end(reason)
        self.dropped, self.reason, self.released = None, '', None

    def release(self, target: TargetGoal) -> None:
        """Forget a target that the arm has arrived at."""
        self.clear('')
        self.released = target.result

    def drop(self, reason: str) -> None:
        """End the current goal because of a fault, and keep a target for later."""
        self.version += 1
        if self.target is not None:
            self.dropped, self.reason = self.target.T_base_tip, reason
        self._end(reason)

    def has_expired(self, now: float, timeout: float) -> bool:
        """Return whether the target has been followed for longer than a time [s]; 0 for ever."""
        target = self.target
        if target is None:
            return False
        if target.since is None:
            target.since = now
        return 0.0 < timeout < now - target.since

    def _end(self, reason: str) -> None:
        ended, self.current = self.current, None
        if ended is not None:
            self._note_claim(ended)
            ended.ended(reason)

    def _note_claim(self, ended: MotionGoal) -> None:
        self._claimant = ended if ended.claim else self._claimant


class JointSharing:
    """
    Followers of one arm. Those that share a joint exclude each other.

    Only one of them has a target at a time, and only one commands: a target for another is
    refused while the first is in motion, and takes over while that only holds; then the commands
    of the first end, and the others begin at a state that was measured after them.

    All ticks have to come from one thread, or one after the other.

    :ivar lock: lock of all followers.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self._followers: list[TargetFollower] = []

    def join(self, follower: TargetFollower) -> None:
        """Add a follower."""
        with self.lock:
            self._followers.append(follower)

    def rivals(self, follower: TargetFollower) -> Iterator[tuple[TargetFollower, str]]:
        """Yield the followers that share joints with one, each with the first of these joints."""
        for other in self._followers:
            shared = [joint for joint in follower.joints if joint in other.joints]
            if shared and other is not follower:
                yield other, shared[0]


class OtherCommanders:
    """Others that may command the arm; this stands for an arm that nobody else commands."""

    def others(self) -> str:
        """Return who else commands the arm; empty for nobody."""
        return ''

    def awaited(self) -> bool:
        """Return whether that is not known yet, so that no motion begins."""
        return False

    def is_contested(self) -> bool:
        """Return whether another one may begin at this time, and has to see this one first."""
        return False


_SETTLING_TIME = 0.1
"""
Time after the last command of a group in which the arm catches up with it [s]. It is longer than
the time from which the states are taken that a motion begins at.
"""

_RECENT = 1.0  # age up to which the last command predicts the motion of the arm [s]
_SETTLED = 0.2  # time for which an arm stands after which it is not on its way any more [s]

_HELD = 1.0  # time after the arrival of the arm for which commands go on [s]
_LONGEST_WAIT = 3.0  # a target waits so long for the first joint state, discovered late [s]
_RETURN = 2.0  # longest time in which commands return to an arm that is stuck [s]
_ANNOUNCEMENT = 0.25  # time of commands at rest in which another one may give way [s]
_BEHIND = 0.05  # delay of commands behind a moving goal before it waits, as time at full speed [s]

_SWITCHED_OFF = 'following is disabled; ~/enable with data: true enables it'
_STOPPED_SINCE = 'the arm was stopped after this was asked for'
_ON_A_TRAJECTORY = 'a trajectory is being executed; cancel it, or call ~/stop, first'


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
    :param commanders: others that may command the arm; None for nobody.
    :param errors: returns the errors of the joint states; None to learn them here.
    :param settings: fields of :class:`FollowerSettings`; :meth:`tick` is called at its ``rate``.
    :raises ArgumentError: the solver is none, or for several tips, or its chain goes beyond the
        positions of the bounds.
    :raises OptionError: naming the setting whose value cannot be.
    :ivar joints: the joints that commands name.
    :ivar settings: the settings in force.
    :ivar limits: the bounds on the motion that are in force.
    :ivar state: state as of the last tick or call.
    :ivar announcing: whether the last command was one at rest, with which a motion begins that
        others have to see in time.
    :ivar unmeasured: joints that no joint state has named so far, for messages; set by the owner.
    :ivar displacements: number of times that something else moved the arm.
    :ivar configuration_changes: number of times that joints went to another configuration on the
        path of a target.
    """

    def __init__(
        self,
        solver: Solver,
        sharing: JointSharing | None = None,
        group: str = '',
        collisions: CollisionTest | None = None,
        bounds: MotionBounds | None = None,
        commanders: OtherCommanders | None = None,
        errors: Callable[[], JointErrors] | None = None,
        **settings: float,
    ) -> None:
        if not (isinstance(solver, Solver) and isinstance(solver.chain, KinematicChain)):
            raise ArgumentError(
                'solver', f'has to be a Solver for a KinematicChain, not {safe_repr(solver)}'
            )
        chain = self._chain = solver.chain
        _check_positions(chain, bounds or MotionBounds())
        self.joints, self._group = chain.joint_names, group
        self._velocity, self._path = TargetVelocity(), TargetPath()
        self._collisions = collisions or NoCollisionTest()
        self._guard, self._bounds = CollisionGuard(chain, self._collisions), bounds
        self._goals, self._stream = GoalStore(), CommandStream()
        self._arm = JointStateTracker(chain, joint_speeds(chain), errors)
        self.limits: MotionLimits
        self._configure(FollowerSettings().changed(settings))
        self._passage = SingularPassage(solver, self.limits.velocity)
        self._lag = LagMonitor(chain, self.limits.velocity)
        self.state = FollowerState.IDLE
        self.announcing = False
        self._commanders = commanders or OtherCommanders()
        self.unmeasured: tuple[str, ...] = ()
        self.displacements = self.configuration_changes = 0
        self._disabled, self._stopped_at = False, -float('inf')
        self._restarting = False  # whether commands come to rest before they go anywhere
        self._announced = -float('inf')  # until when commands at rest last [s]
        self._rest_since: float | None = None
        self._rested: np.ndarray | None = None  # (n,) where the arm was after its last command
        self._rested_at = -float('inf')  # when it was first measured there [s]
        self._return: tuple[np.ndarray, float] | None = None
        self._sharing = sharing or JointSharing()
        self._lock = self._sharing.lock
        self._sharing.join(self)

    # State

    @property
    def other_motions(self) -> int:
        """Number of motions so far that were not for a target: trajectories, and servo motions."""
        return self._goals.others

    @property
    def period(self) -> float:
        """Time between two commands [s]; it follows a changed rate, at once or step by step."""
        return (self._stream.active and self._stream.period) or 1.0 / self.settings.rate

    @property
    def measured(self) -> tuple[np.ndarray, float] | None:
        """Last positions of the joints (n,) [rad] or [m], and their time [s]; None before any."""
        with self._lock:
            arm = self._arm
            return None if arm.measured is None else (arm.measured, arm.measured_at)

    @property
    def method(self) -> str:
        """Name of the solver's method."""
        return self._passage.nearby.beside.name

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
            stream, limits = self._stream, self.limits
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
            return self._stream.q

    @property
    def bounds(self) -> MotionLimits:
        """The bounds that the commands keep: where a jerk is limited, old ones for a while too."""
        with self._lock:
            return self._stream.bounds(self.limits)

    @property
    def following_error(self) -> float | None:
        """Largest distance of a joint from its command [rad] or [m]; None without a command."""
        with self._lock:
            stream, measured = self._stream, self._arm.measured
            if not stream.active or measured is None:
                return None
            return float(np.abs(stream.q - measured).max())

    @property
    def active(self) -> bool:
        """Whether there are commands; without, the arm is left alone."""
        return self._stream.active

    @property
    def idle(self) -> bool:
        """Whether there are neither a goal nor commands."""
        return self._goals.current is None and not self._stream.active

    @property
    def violations(self) -> int:
        """Number of commands that the gate had to correct; 0 in a healthy system."""
        return self._stream.gate.counts.total

    @property
    def state_fault(self) -> str:
        """Reason why the joint states cannot be relied on; empty when they can."""
        return self._arm.reason

    @property
    def contradictory_states(self) -> bool:
        """Whether two sources publish joint states that contradict each other."""
        return self._arm.contradictory

    @property
    def immobile_joints(self) -> tuple[str, ...]:
        """The joints that are never moved, because their velocity limit is 0."""
        joints = zip(self.joints, self.limits.movable.tolist(), strict=True)
        return tuple(name for name, movable in joints if not movable)

    # Inputs

    def set_measured(self, q: np.ndarray, now: float) -> None:
        """
        Take a measured joint state.

        :param q: (n,) positions [rad] or [m]; may lie outside the limits.
        :param now: when it was measured, on a monotonic clock [s].
        :raises ArgumentError: when q has another shape, or it or the time is not finite.
        """
        with self._lock:
            q = self._chain.check_q(q, 'measured')
            if not self._arm.update(q, now, self._stream.q):
                return
            target = self._goals.target
            busy = self._stream.active
            if target is None or target.ready or target.solving or busy:
                return
            target.solving = True
            passage, seeds = self._passage, self._seeds()
            still = self.limits.immovable
        try:
            nearby = passage.holding(still, seeds[0]).nearby
            result = nearby.solve(target.T_base_tip, seeds)
            with self._lock:
                target.result, target.posture = result, result.q
        finally:
            target.solving = False

    def set_target(
        self,
        T_base_tip: np.ndarray,
        at: float | None = None,
        twist: np.ndarray | None = None,
        arrived: float | None = None,
        asked_at: float = float('inf'),
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
        :param asked_at: when it was asked for, on the clock of :meth:`stop` [s].
        :returns: the solution, or the nearest pose found, which is then the target.
        :raises ArgumentError: when pose, times or twist cannot be; the old target stays then.
        :raises TargetRefusedError: when nothing may be followed now; the message says why.
        """
        T_base_tip = check_transform(T_base_tip, 'target')
        with self._lock:
            self._refuse(self._refusal(asked_at=asked_at))
            moves_at = at if self.settings.feed_forward else None
            motion = self._velocity.update(T_base_tip, moves_at, twist, arrived)
            version = self._goals.next_version()
            passage, seeds = self._passage, self._seeds()
            last = self._path_end() if motion.interval > 0.0 else None
            anchor = self._anchor()
            settings, limits = self.settings, self.limits
        passage = passage.holding(limits.immovable, seeds[0])
        near = anchor is not None and anchor.is_near(T_base_tip)
        if anchor is not None and near and motion.still:
            seeds, last = [anchor.posture], None if last is None else anchor.posture
        if at is None or last is None:
            result = passage.nearby.solve(T_base_tip, seeds)
            found = PosturePath(result, result.q[None])
        else:
            found = passage.solve(T_base_tip, last, at, settings.branch_time)
        result, moving = found.result, None
        if not (result.success or found.changes):
            anchor = following_anchor(anchor, T_base_tip, result.q, motion)
            result = passage.nearby.as_near(anchor.posture, T_base_tip, result)
            found = PosturePath(result, result.q[None])
        elif not near:
            anchor = None
        if at is not None and result.success and not (motion.still or found.changes):
            solve = passage.nearby.next.position
            moving = MovingGoal(solve, T_base_tip, result.q, motion, at, limits)
        with self._lock:
            if version == self._goals.version:
                self._take_target(T_base_tip, found, at, moving, last is not None, anchor)
        return result

    def _anchor(self) -> Anchor | None:
        """Return the anchor of the present target; None without one."""
        target = self._goals.target
        if target is None or target.obstacle or self._passage.nearby.bounded:
            return None
        return target.anchor

    def _path_end(self) -> np.ndarray | None:
        """Return where the path of the target ends by now; None where another one begins."""
        target = self._goals.target
        if target is None or target.obstacle or self._restarting or not self._stream.active:
            return None
        return None if target.path is None else target.path.end()

    def _take_target(
        self,
        T_base_tip: np.ndarray,
        found: PosturePath,
        at: float | None,
        moving: MovingGoal | None,
        goes_on: bool,
        anchor: Anchor | None,
    ) -> None:
        """Follow a target that was solved for, unless something goes before it by now."""
        self._refuse(self._precedence())
        posture, path = None if self._arm.measured is None else found.result.q, None
        if at is not None and posture is not None and self.settings.feed_forward:
            path = self._path
            if goes_on:
                path.extend(found.points, at, found.changes)
            else:
                path.restart(posture, at)
            self.configuration_changes += goes_on and found.changes
        if posture is not None:
            away = np.inf if anchor is None else largest(np.abs(posture - anchor.posture))
            if away > (NEAR if found.result.success else 0.0):
                anchor = Anchor(T_base_tip, posture, found.result.success)
        movable = self.limits.movable
        goal = TargetGoal(T_base_tip, found.result, posture, movable, moving, path, anchor)
        self._set_goal(goal)

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
            self._refuse(self._refusal(goal))
            self._goals.next_version()
            self._set_goal(goal)

    follow_aim = follow_goal
    """Former name, which programs of users call."""

    def precedence(self) -> str:
        """Return the motion that precedes a new goal: a trajectory, or that of other joints."""
        with self._lock:
            return self._precedence()

    def release(self, goal: MotionGoal) -> None:
        """Withdraw a goal, if it is the one followed; the commands come to rest, and end."""
        with self._lock:
            if goal is self._goals.current:
                self._stop('it was withdrawn')

    def give_way(self, reason: str, at_once: bool = False) -> None:
        """
        Drop the goal and come to rest, as somebody else commands the arm.

        :param at_once: whether nothing more is commanded, as the arm follows the other by now.
        """
        with self._lock:
            if self._stream.active and self._goals.current is not None:
                self._lose(FollowerState.OTHER_COMMANDER, reason, resumes=False)
            if at_once:
                self._stream.leave()
                self._return = None

    def stop(self, reason: str = 'it was stopped', at: float = -float('inf')) -> None:
        """
        Drop the goal followed; the command comes to rest, and then there is none.

        :param reason: why, for who has set the goal.
        :param at: when that was asked for, on any one clock [s]: goals that were asked for before
            are refused from then on, as they may still be prepared by other threads.
        """
        with self._lock:
            self._stopped_at = at
            self._stop(reason)

    def break_off(self, reason: str) -> None:
        """
        Drop the goal followed, and command nothing more, whether the arm rests or not.

        :param reason: why, for who has set the goal.
        """
        with self._lock:
            self._stop(reason)
            self._stream.leave()
            self._return = None

    def enable(self, enabled: bool, at: float = -float('inf')) -> bool:
        """
        Allow motion, or stop and refuse all targets until it is allowed again.

        A target that was dropped because of a fault is taken up again from where the arm is, and
        one that was stopped before a collision is tried again.

        :param enabled: whether motion is allowed.
        :param at: as for :meth:`stop`.
        :returns: whether there is a target to move to now.
        :raises TargetRefusedError: when the dropped target may not be followed; it is kept.
        """
        with self._lock:
            self._disabled = not enabled
            if self._goals.current is not None:
                self._goals.current.obstacle = ''  # it may have gone
            dropped = self._goals.dropped
        if not enabled:
            self.stop('it was stopped by ~/enable with data: false', at)
            return False
        if dropped is not None:
            self.set_target(dropped)
        elif self.state is FollowerState.DISABLED:
            self.state = FollowerState.IDLE
        return self._goals.current is not None

    def configure(self, *, solver: Solver | None = None, **settings: float) -> None:
        """
        Change the solver or settings while following, without a jump.

        :param solver: another solver for the same chain.
        :param settings: fields of :class:`FollowerSettings`.
        :raises ArgumentError: the solver is for another chain.
        :raises OptionError: naming the setting whose value cannot be; nothing is changed then.
        """
        if solver is not None and solver.chain is not self._chain:
            raise ArgumentError('solver', 'has to be for the chain that is followed with')
        passage = None if solver is None else SingularPassage(solver, self.limits.velocity)
        with self._lock:
            self._configure(self.settings.changed(settings))
            self._passage = passage or self._passage

    # Outputs

    def tick(self, now: float) -> FollowerCommand | None:
        """
        Return the next command; to be called once in a period of the rate.

        :param now: on the clock of :meth:`set_measured` [s].
        :returns: the command to publish; None to publish nothing.
        :raises ArgumentError: when the time is not finite.
        """
        with self._lock:
            return self._next_command(now)

    def mark_sent(self, delay: float) -> None:
        """Note that the command of the last tick was sent, `delay` after the tick [s]."""
        with self._lock:
            self._stream.mark_sent(delay, self.period)

    def note_held(self, q: np.ndarray, since: float | None = None) -> None:
        """
        Note where a controller holds the joints, which a sagging arm does not show.

        :param q: (n,) their positions [rad] or [m].
        :param since: when they came there other than by commands, on the clock of :meth:`tick`
            [s]; None after the last command.
        """
        with self._lock:
            gate = self._stream.gate
            if self._stream.active or not (len(gate.q) or since is not None):
                return
            gate.q = q
            if since is not None:
                gate.sent_at, self._rested = since, None

    def held(self, now: float) -> np.ndarray | None:
        """Return the last command (n,) [rad] or [m] where the arm rests by it; else None."""
        with self._lock:
            known = self._arm.measured is not None and not self._stream.active
            return self._held_command(now) if known else None

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
            discarded = self._stream.discard_late(delay, self.period, at_once)
            if discarded and self._goals.current is not None:
                self._goals.current.missed()
            return discarded

    # Admission of goals, from here on while the lock is held

    def _refusal(self, goal: MotionGoal | None = None, asked_at: float = float('inf')) -> str:
        """
        Return why a goal may not be followed now; empty when it may.

        :param goal: the goal; None for a target pose, which may wait for the first joint state.
        :param asked_at: when a target pose was asked for.
        """
        if self._disabled:
            return _SWITCHED_OFF
        if (asked_at if goal is None else goal.asked_at) < self._stopped_at:
            return _STOPPED_SINCE
        refusal = self._precedence(goal) or self._unguarded()
        if refusal:
            return refusal
        if self._arm.measured is None:
            return '' if goal is None else 'no joint state has arrived yet'
        if self.settings.resume and goal is None:
            return ''
        if self._arm.reason:
            return self._arm.reason
        moves = self._stream.active and not self._stream.at_rest
        return '' if moves else self._occupied()

    def _precedence(self, goal: MotionGoal | None = None) -> str:
        """
        Return the motion that precedes a goal: a trajectory, or a motion of other joints.

        :param goal: the goal; None for a target pose.
        """
        current = self._goals.current
        if current is not None and current.kind == 'trajectory' and current.busy:
            if goal is not None and current is goal.replaces:
                return ''
            return current.claim or _ON_A_TRAJECTORY
        return self._goals.claim or self._rivals_refusal()

    def _occupied(self) -> str:
        """Return who else commands the arm and keeps motions from being started."""
        other = self._commanders.others() if self.settings.exclusive else ''
        return other and f'{other} commands the arm too (allowed with exclusive: false)'

    def _unguarded(self) -> str:
        """Return why collisions cannot be avoided; empty when they can, or need not be."""
        if not self.settings.avoid_collisions:
            return ''
        fault = self._collisions.fault
        allow = 'allowed with follow.avoid_collisions: false'
        return fault and f'collisions cannot be checked: {fault} ({allow})'

    def _rivals_refusal(self) -> str:
        """Return why followers that share joints keep this one from a goal; empty for nothing."""
        for other, joint in self._sharing.rivals(self):
            if other._busy:
                return f'group {quote(other._group)} moves {joint}; stop it with ~/stop first'
            if other.claim:
                return other.claim
        return ''

    @property
    def _busy(self) -> bool:
        """Whether there is a goal that the commands do not rest at."""
        goal, stream = self._goals.current, self._stream
        if goal is None or (goal.obstacle and stream.at_rest):
            return False
        return goal.busy or not (stream.active and stream.at_rest) or self._lag.lagging

    @staticmethod
    def _refuse(reason: str) -> None:
        if reason:
            raise TargetRefusedError(reason)

    def _set_goal(self, goal: MotionGoal) -> None:
        """Move for a goal from now on; followers that share joints let theirs go."""
        for other, _ in self._sharing.rivals(self):
            other._let_go()
        if self._restarting:
            goal.renew()  # where it leads depends on where the arm comes to rest
        self._goals.follow(goal)
        self.state = self._state_with(goal)

    def _let_go(self) -> None:
        """Forget the goal, and the target that was dropped, as another group moves the joints."""
        ended = self.state in (FollowerState.RELEASED, FollowerState.UNREACHABLE)
        if self._goals.current is not None or self._goals.dropped is not None or ended:
            self._stop('another group moves its joints')

    def _stop(self, reason: str) -> None:
        """Come to rest, and follow nothing."""
        self._goals.clear(reason)
        self.state = FollowerState.DISABLED if self._disabled else FollowerState.IDLE

    def _configure(self, settings: FollowerSettings) -> None:
        """Put other settings into force."""
        self.settings = settings
        self._stream.guard = self._guard if settings.avoid_collisions else None
        self._asked_limits = asked = settings.motion_limits(self._chain, self._bounds)
        if self._keeps_path():
            acceleration = np.maximum(asked.acceleration, self.limits.acceleration)
            scaling = max(asked.scaling, self.limits.scaling)
            self._goal_limits = replace(asked, acceleration=acceleration)
            self.limits = replace(self._goal_limits, scaling=scaling)
        else:
            self.limits = self._goal_limits = asked

    def _keeps_path(self) -> bool:
        """
        Return whether the commands are on a path that lower limits must not lead them off.

        There, lower velocities are in force as soon as the clock of the goal has slowed down to
        them, within the accelerations from before, and lower accelerations as soon as it rests.
        """
        goal, moves = self._goals.current, self._stream.active and not self._stream.at_rest
        return moves and (goal is None or goal.slowing is not None)

    def _seeds(self) -> list[np.ndarray]:
        """Return where the next solution shall be near to: where the joints are, and will be."""
        chain, measured, commanded = self._chain, self._arm.measured, self._stream.q
        target = self._goals.target
        if commanded is None:
            held = None if measured is None else self._held_command(self._arm.measured_at)
            here = chain.mid_range() if measured is None else measured if held is None else held
            return [np.clip(here, chain.lower, chain.upper)]
        seeds = [np.clip(commanded, chain.lower, chain.upper)]
        return seeds if target is None or target.posture is None else [*seeds, target.posture]

    # Ticks

    def _next_command(self, now: float) -> FollowerCommand | None:
        """Return the next command; None to publish nothing."""
        self._arm.tick(now, 1.0 / self.settings.rate)
        if self.limits is not self._asked_limits and not self._keeps_path():
            self.limits = self._goal_limits = self._asked_limits
        if self._goals.has_expired(now, self.settings.target_timeout):
            self._goals.clear('target_timeout has passed')
            self.state = FollowerState.TARGET_TIMED_OUT
        self._check_joint_states(now)
        goal, measured = self._goals.current, self._arm.measured
        if measured is not None and not self._stream.active:
            self._note_rest(now)
        if goal is None:
            return self._come_to_rest(now)
        if measured is None:
            self._await_state(now)
            return None
        if self._restarting or not goal.ready:
            return self._come_to_rest(now)
        if self._stream.active:
            return self._go_on(goal, measured, now)
        return None if goal.obstacle else self._begin(goal, now)

    def _note_rest(self, now: float) -> None:
        """Note where the arm comes to rest after the last command; others may move it later."""
        if self._stream.gate.elapsed(now) > _RECENT:
            return
        arm, here, rested = self._arm, self._arm.position(), self._rested
        if rested is None or not (
            self._settled or stands(here, rested, arm.noise, arm.errors).all()
        ):
            self._rested, self._rested_at = here, arm.measured_at
        goal = self._goals.current
        if goal is not None and not goal.commands:  # whatever moves the arm by now is another
            self._rested_at = -float('inf')

    @property
    def _settled(self) -> bool:
        """Whether the arm has stood where it came to rest after the last command."""
        return self._arm.measured_at - self._rested_at >= _SETTLED

    def _await_state(self, now: float) -> None:
        """Let a target wait for the first joint state, but not for long."""
        target = self._goals.target
        self.state = FollowerState.NO_STATE
        if target is None or target.since is None or now - target.since <= _LONGEST_WAIT:
            return
        of = f' of {", ".join(self.unmeasured)}' if self.unmeasured else ''
        self._goals.drop(f'no joint state{of} has arrived within {_LONGEST_WAIT:g} s')
        self.state = FollowerState.TARGET_DROPPED

    def _check_joint_states(self, now: float) -> None:
        """Lose the target when the joint states cannot be relied on; recover afterwards."""
        fault = self._arm.fault(now, self.settings.state_timeout)
        goals, dropped = self._goals, self._goals.dropped is not None
        if fault is not None and (goals.current is not None or dropped):
            self._lose(fault, self._arm.reason)
        elif fault is None and self.state in FAULTS:
            self.state = FollowerState.TARGET_DROPPED if dropped else FollowerState.IDLE

    def _lose(self, state: FollowerState, reason: str, resumes: bool = True) -> None:
        """Come to rest, and stay there unless targets are to be resumed and this one may be."""
        self.state = state
        if self._goals.current is None:
            return
        self._restarting = True
        if not (resumes and self.settings.resume and self._goals.current.renew()):
            self._goals.drop(reason)

    def _come_to_rest(self, now: float) -> FollowerCommand | None:
        stream, command = self._stream, None
        self._rest_since = None
        step = self._return_step(now)
        if step.leads_on or not stream.at_rest:
            period = 1.0 / self.settings.rate
            if stream.resume(self.limits, now, period, self._arm.speed) is not None:
                command = stream.advance(step, self.limits, now, self.period)
        if stream.at_rest and self._return is None:
            stream.end()
        self._restarting = stream.active
        return command

    def _return_step(self, now: float) -> Step:
        """Return the step of commands that come to rest: to an arm that is stuck, or none."""
        if self._return is None:
            return REST
        goal, until = self._return
        q = self._stream.q
        over = now > until or not self._arm.current or bool(self._stream.obstacle)
        if q is None or over or (q == goal)[self.limits.movable].all():
            self._return = None
            return REST
        return Step(goal)

    def _go_on(self, goal: MotionGoal, measured: np.ndarray, now: float) -> FollowerCommand | None:
        """Go on, at the pace of the arm."""
        stream, settings, period = self._stream, self.settings, 1.0 / self.settings.rate
        commanded = stream.q
        assert commanded is not None
        arm, resting, limits = self._arm, stream.at_rest, self.limits
        noise, since = arm.errors.noise, arm.measured_at
        self._lag.update(commanded, measured, noise, since, resting, settings, limits, now)
        if self._lag.displaced:
            self.displacements += 1
            return self._give_up('something else has moved the arm', now)
        stuck = self._lag.stuck(resting, settings)
        if stuck:
            here = self.limits.inside(measured, commanded)
            self._return = np.where(self.limits.movable, here, commanded), now + _RETURN
            return self._give_up(stuck, now, resumes=False)
        if resting and self._is_over(goal, now):
            self._end(goal)
            return None
        late = stream.resume(self.limits, now, period, self._arm.speed)
        if late is None:
            self.state = self._state_with(goal)
            return None
        try:
            self.announcing = now < self._announced
            tick = self._tick(commanded, measured, now, late)
            step = REST if self.announcing else goal.step(tick)
        except Exception as error:  # the arm has to come to rest, whatever it is
            return self._give_up(f'{type(error).__name__}: {error}', now)
        if not goal.slowing:
            self.limits = self._goal_limits
        if goal.obstacle or not self._arm.current:
            step = REST
            goal.missed()
        command = stream.advance(step, self.limits, now, self.period, self._lag.pace)
        goal.obstacle = goal.obstacle or stream.obstacle
        self.state = self._state_with(goal)
        return command

    def _give_up(self, reason: str, now: float, resumes: bool = True) -> FollowerCommand | None:
        """Lose the goal, and come to rest."""
        state = FollowerState.TARGET_DROPPED if self._goals.target else FollowerState.IDLE
        self._lose(state, reason, resumes)
        return self._come_to_rest(now)

    def _tick(self, commanded: np.ndarray, measured: np.ndarray, now: float, late: bool) -> Tick:
        """Return the data from which a goal computes its next step."""
        stream, limits = self._stream, self._goal_limits
        dt = min(stream.gate.elapsed(now), self.period)
        behind = min(max(2.0 - 2.0 * stream.behind / _BEHIND, 0.0), 1.0)
        pace = min(self._lag.pace, behind)
        q, speed = stream.leading
        leading = q, speed * limits.velocity
        velocity = stream.gate.speed * limits.velocity
        return Tick(now, dt, commanded, velocity, measured, limits, leading, pace, late)

    def _is_over(self, goal: MotionGoal, now: float) -> bool:
        """Whether a goal needs no commands any more, given that they are at rest."""
        if goal.finished:
            return True
        waits = not goal.busy or (goal.obstacle and goal is self._goals.target)
        if self.settings.hold or not (waits and self._lag.arrived):
            self._rest_since = None
            return False
        self._rest_since = now if self._rest_since is None else self._rest_since
        return now - self._rest_since >= _HELD

    def _end(self, goal: MotionGoal) -> None:
        """End the commands of a goal that is over; a target before an obstacle waits on."""
        self._stream.end()
        self._rest_since = None
        target = self._goals.target
        if target is None:
            self._goals.clear(goal.obstacle)
            self.state = FollowerState.IDLE
        elif not goal.obstacle:
            self._goals.release(target)
            if self.state is not FollowerState.UNREACHABLE:
                self.state = FollowerState.RELEASED

    def _begin(self, goal: MotionGoal, now: float) -> FollowerCommand | None:
        """Start a motion where the arm is, if that is allowed and known."""
        occupied = self._occupied()
        if occupied:
            self._lose(FollowerState.OTHER_COMMANDER, occupied)
            return None
        if self._commanders.awaited():
            self.state = FollowerState.AWAITING_CONTROLLER
            return None
        free_since = self._free_since()  # None while another group comes to rest
        gate = self._stream.gate
        if free_since is None or not self._arm.is_fresh(now, max(gate.sent_at, free_since)):
            return None
        start = self._start_place(now, free_since)
        if start is None:
            self.state = FollowerState.AWAITING_REST
            return None
        self._lag.reset()
        self._rest_since = self._rested = None
        goal.begin(start, lambda q: self._arm.unwrapped(q, start))
        self.announcing = self.settings.exclusive and self._commanders.is_contested()
        if self.announcing:
            self._announced = now + max(_ANNOUNCEMENT, 3.0 / self.settings.rate)
        self.state = self._state_with(goal)
        return self._stream.begin(start, now, self.limits.window)

    def _free_since(self) -> float | None:
        """
        Return since when the joints follow no command of another group any more [s].

        :returns: on a monotonic clock; −inf when they never did, and None while there are such
            commands. States from before do not tell where a motion has to begin.
        """
        latest = -float('inf')
        for other, _ in self._sharing.rivals(self):
            if other._stream.active:
                return None
            latest = max(latest, other._stream.gate.sent_at + _SETTLING_TIME)
        return latest

    def _start_place(self, now: float, others: float) -> np.ndarray | None:
        """
        Return where a motion may start (n,) [rad] or [m]; None while the arm may still move.

        An arm that has reached its last command rests there, and the motion starts at that
        command, which the controller holds; so it does as long as the arm stands where it has
        rested then. Any other arm has to be seen at rest first: it may be still moving to the last
        command, or be moved by somebody else.

        :param others: when others commanded the joints last [s]; −inf for never.
        """
        arm, sent_at = self._arm, self._stream.gate.sent_at
        here = arm.position()
        last = self._held_command(now) if sent_at >= others else None
        if last is not None:
            arm.note_rest()
            return np.where(self.limits.movable, last, here)
        return here if arm.rests(now, max(sent_at, others)) else None

    def _held_command(self, now: float) -> np.ndarray | None:
        """Return the last command (n,), on the turn of an arm that stands by it, or else None."""
        arm, gate = self._arm, self._stream.gate
        if not len(gate.q):
            return None
        here, errors = arm.position(), arm.errors
        last = arm.unwrapped(gate.q, here)
        settles = gate.elapsed(now) <= _RECENT and (self._rested is None or not self._settled)
        near = np.maximum(arm.noise, unsure(arm.noise, errors))
        if settles and (np.abs(here - last) <= near).all():
            return last
        if self._rested is None:
            return None
        rested = arm.unwrapped(self._rested, here)
        by_it = stands_by(last, here, rested, arm.noise, errors)
        return last if by_it.all() else None

    def _state_with(self, goal: MotionGoal) -> FollowerState:
        """Return the state while a goal is pursued, or at its end."""
        commanded = self._stream.q
        if goal.obstacle:
            return FollowerState.COLLISION_AHEAD
        if self._lag.lagging and commanded is not None:
            return FollowerState.LAGGING
        return goal.state(commanded, self._stream.at_rest)


def _check_positions(chain: KinematicChain, bounds: MotionBounds) -> None:
    """Refuse a chain that goes beyond the positions of bounds, by an ArgumentError."""
    for joint, lower, upper in zip(chain.joint_names, chain.lower, chain.upper, strict=True):
        own = bounds.joints.get(joint, JointBounds())
        if lower < own.lower or upper > own.upper:
            raise ArgumentError(
                'bounds',
                f'limits {quote(joint)} to {own.lower:g} … {own.upper:g}, and the chain to '
                f'{lower:g} … {upper:g}: make it from robot.with_limits(bounds)',
            )


def warm_up() -> None:
    """Compile the kernels of followers, or load them; they are the same for all chains."""
    motion_kernels()
    vector_kernels()
    TargetPath()
    TargetVelocity()
