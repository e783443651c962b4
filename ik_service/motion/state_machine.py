"""State machine of the follower: the actions of every tick, and their reasons."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
import threading

import numpy as np

from ik_service.common.quoting import quote
from ik_service.kinematics.chain import KinematicChain
from ik_service.kinematics.joint_space import joint_speeds
from ik_service.model.motion_bounds import MotionBounds
from ik_service.motion.collision_guard import CollisionGuard, CollisionTest
from ik_service.motion.command.command_stream import CommandGate, CommandStream, FollowerCommand
from ik_service.motion.command.motion_limits import MotionLimits
from ik_service.motion.goal import MotionGoal, REST, Step, Tick
from ik_service.motion.settings import FollowerSettings, FollowerState
from ik_service.motion.state.joint_state_tracker import FAULTS, JointStateTracker
from ik_service.motion.state.lag_monitor import LagMonitor
from ik_service.motion.tracking.target_goal import TargetGoal
from ik_service.solvers.result import IkResult


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


_SETTLING_TIME = 0.1
"""
Time after the last command of a group in which the arm catches up with it [s]. It is longer than
the time from which the states are taken that a motion begins at.
"""


class JointSharing:
    """
    Followers of one arm. Those that share a joint exclude each other.

    Only one of them has a target at a time, and only one commands: a target for another is
    refused while the first is in motion, and takes over while that only holds; then the commands
    of the first end, and the others begin at a state that was measured after them.

    All ticks have to come from one thread, or one after the other.

    :ivar lock: lock of all followers; everything else here is called while it is held.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self._motions: list[FollowerStateMachine] = []

    def join(self, motion: FollowerStateMachine) -> None:
        """Add a follower."""
        with self.lock:
            self._motions.append(motion)

    def refusal(self, motion: FollowerStateMachine) -> str:
        """Return why a group may not take a target; empty when it may."""
        for other, joint in self._rivals(motion):
            if other.busy:
                return f'group {quote(other.group)} moves {joint}; stop it with ~/stop first'
            if other.goals.claim:
                return other.goals.claim
        return ''

    def take_over(self, motion: FollowerStateMachine) -> None:
        """Let all other groups that share joints with one go, with the targets that they hold."""
        for other, _ in self._rivals(motion):
            other.let_go()

    def free_since(self, motion: FollowerStateMachine) -> float | None:
        """
        Return since when the joints of a group follow no command of another any more [s].

        :returns: on a monotonic clock; −inf when they never did, and None while there are such
            commands. States from before do not tell where a motion has to begin.
        """
        latest = -float('inf')
        for other, _ in self._rivals(motion):
            if other.stream.active:
                return None
            latest = max(latest, other.stream.gate.sent_at + _SETTLING_TIME)
        return latest

    def _rivals(self, motion: FollowerStateMachine) -> Iterator[tuple[FollowerStateMachine, str]]:
        """Yield the motions that share joints with one, each with the first of these joints."""
        for other in self._motions:
            shared = [joint for joint in motion.joints if joint in other.joints]
            if shared and other is not motion:
                yield other, shared[0]


RECENT = 1.0  # age up to which the last command predicts the motion of the arm [s]

_STANDS = 0.2
"""Distance of an arm that still stands where its last motion has ended, in those of noise."""

_SAG = 2.0  # distance from its last command at which an arm may stand, likewise: 0.05 rad or 6 mm


def start_place(
    arm: JointStateTracker,
    gate: CommandGate,
    limits: MotionLimits,
    now: float,
    others: float,
    rested: np.ndarray | None,
) -> np.ndarray | None:
    """
    Return where a motion may start; None while the arm may still move.

    An arm that has reached its last command rests there, and the motion starts at that command,
    which the controller holds; so it does as long as the arm stands where it has rested then. Any
    other arm has to be seen at rest first: it may be still moving to the last command, or be moved
    by somebody else.

    :param others: when others commanded the joints last [s]; −inf for never.
    :param rested: (n,) where the arm was soon after the last command [rad] or [m]; None when that
        is not known.
    :returns: (n,) [rad] or [m].
    """
    here = arm.position()
    last = held_command(arm, gate, now, rested) if gate.sent_at >= others else None
    if last is not None:
        arm.note_rest()
        return np.where(limits.movable, last, here)
    return here if arm.rests(now, max(gate.sent_at, others)) else None


def held_command(
    arm: JointStateTracker, gate: CommandGate, now: float, rested: np.ndarray | None
) -> np.ndarray | None:
    """
    Return the last command, if the arm stands by it; None otherwise.

    :param arm: the measured joint states; there is one.
    :param rested: (n,) where the arm was soon after that [rad] or [m]; None when not known.
    :returns: (n,) [rad] or [m], with continuous joints on the turn of the arm.
    """
    if not len(gate.q):
        return None
    here = arm.position()
    last = arm.unwrapped(gate.q, here)
    away = np.abs(here - last)
    if gate.elapsed(now) <= RECENT and (away <= arm.noise).all():
        return last
    if rested is None:
        return None
    moved = np.abs(here - arm.unwrapped(rested, here))
    stands = (away <= _SAG * arm.noise) & (moved <= _STANDS * arm.noise)
    return last if stands.all() else None


_SWITCHED_OFF = 'following is disabled; ~/enable with data: true enables it'

_ON_A_TRAJECTORY = 'a trajectory is being executed; cancel it, or call ~/stop, first'


_HELD = 1.0  # time after the arrival of the arm for which commands go on [s]
_LONGEST_WAIT = 1.0  # time for which a target waits for the first joint state [s]
_RETURN = 2.0  # longest time in which commands return to an arm that is stuck [s]
_ANNOUNCEMENT = 0.25  # time of commands at rest in which another one may give way [s]
_BEHIND = 0.05  # delay of commands behind a moving goal before it waits, as time at full speed [s]


class FollowerStateMachine:
    """
    States of following on one chain. Not thread-safe, and solves nothing.

    :param sharing: the followers of the arm, of which some may share joints with this one.
    :param collisions: tests postures of the chain, for the setting ``avoid_collisions``.
    :param bounds: limits of its joints beyond those of the URDF; None for none.
    :ivar joints: the joints that commands name.
    :ivar settings: those in force; see :meth:`configure`.
    :ivar limits: the bounds on the motion in force.
    :ivar speeds: (n,) the joints' largest speeds [rad/s] or [m/s].
    :ivar movable: (n,) mask of the joints that may move.
    :ivar arm: the measured joint states.
    :ivar stream: the commands.
    :ivar state: the present state.
    :ivar restarting: whether the commands have to come to rest before they go anywhere.
    :ivar disabled: whether all goals are refused.
    :ivar other_commander: who else commands the arm; empty for nobody.
    :ivar awaits_controller: whether no motion begins, as the controller has still to answer.
    :ivar announces: whether a motion begins with commands at rest, for others to see in time.
    :ivar announcing: whether the last command was one of those.
    :ivar displacements: how often something else moved the arm.
    :ivar unmeasured: joints that no joint state has named so far, for messages.
    """

    def __init__(
        self,
        chain: KinematicChain,
        settings: FollowerSettings,
        sharing: JointSharing,
        collisions: CollisionTest,
        group: str = '',
        bounds: MotionBounds | None = None,
    ) -> None:
        self.chain = chain
        self.goals = GoalStore()
        self.group = group
        self.joints = chain.joint_names
        self._sharing = sharing
        self._collisions = collisions
        self._guard = CollisionGuard(chain, collisions)
        self._bounds = bounds
        self.stream = CommandStream()
        self.disabled = self.awaits_controller = self.announces = self.announcing = False
        self.other_commander = ''
        self.limits: MotionLimits
        self.configure(settings)
        self.speeds = self.limits.velocity
        self.arm = JointStateTracker(chain, joint_speeds(chain))
        self._lag = LagMonitor(chain, self.speeds)
        self.movable = self.speeds > 0.0
        self.state = FollowerState.IDLE
        self.restarting = False
        self.displacements = 0
        self.unmeasured: tuple[str, ...] = ()
        self._announced = -float('inf')  # until when that lasts [s]
        self._rest_since: float | None = None
        self._rested: np.ndarray | None = None
        self._return: tuple[np.ndarray, float] | None = None

    def configure(self, settings: FollowerSettings) -> None:
        """Put other settings into force."""
        self.settings = settings
        self.stream.guard = self._guard if settings.avoid_collisions else None
        self._asked_limits = asked = settings.motion_limits(self.chain, self._bounds)
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
        goal, moves = self.goals.current, self.stream.active and not self.stream.at_rest
        return moves and (goal is None or goal.slowing is not None)

    def tick(self, now: float) -> FollowerCommand | None:
        """Return the next command; None to publish nothing."""
        self.arm.tick(now)
        if self.limits is not self._asked_limits and not self._keeps_path():
            self.limits = self._goal_limits = self._asked_limits
        if self.goals.has_expired(now, self.settings.target_timeout):
            self.goals.clear('target_timeout has passed')
            self.state = FollowerState.TARGET_TIMED_OUT
        self._check_joint_states(now)
        goal, measured = self.goals.current, self.arm.measured
        if measured is not None and not self.stream.active:
            self._note_rest(now)
        if goal is None:
            return self._come_to_rest(now)
        if measured is None:
            self._await_state(now)
            return None
        if self.restarting or not goal.ready:
            return self._come_to_rest(now)
        if self.stream.active:
            return self._follow(goal, measured, now)
        return None if goal.obstacle else self._begin(goal, now)

    # Admission of goals

    def refusal(self, goal: MotionGoal | None = None) -> str:
        """
        Return why a goal may not be followed now; empty when it may.

        :param goal: the goal; None for a target pose, which may wait for the first joint state.
        """
        if self.disabled:
            return _SWITCHED_OFF
        refusal = self.precedence(goal) or self._unguarded()
        if refusal:
            return refusal
        if self.arm.measured is None:
            return '' if goal is None else 'no joint state has arrived yet'
        if self.settings.resume and goal is None:
            return ''
        if self.arm.reason:
            return self.arm.reason
        moves = self.stream.active and not self.stream.at_rest
        return '' if moves else self._occupied()

    def precedence(self, goal: MotionGoal | None = None) -> str:
        """
        Return the motion that precedes a goal: a trajectory, or a motion of other joints.

        :param goal: the goal; None for a target pose.
        """
        current = self.goals.current
        if current is not None and current.kind == 'trajectory' and current.busy:
            if goal is not None and current is goal.replaces:
                return ''
            return current.claim or _ON_A_TRAJECTORY
        return self.goals.claim or self._sharing.refusal(self)

    def _occupied(self) -> str:
        """Return who else commands the arm and keeps motions from being started."""
        other = self.other_commander if self.settings.exclusive else ''
        return other and f'{other} commands the arm too (allowed with exclusive: false)'

    def _unguarded(self) -> str:
        """Return why collisions cannot be avoided; empty when they can, or need not be."""
        if not self.settings.avoid_collisions:
            return ''
        fault = self._collisions.fault
        allow = 'allowed with follow.avoid_collisions: false'
        return fault and f'collisions cannot be checked: {fault} ({allow})'

    # Parts of a tick

    def _note_rest(self, now: float) -> None:
        """Note where the arm comes to rest after the last command."""
        if self.stream.gate.elapsed(now) <= RECENT:
            self._rested = self.arm.position()

    def _await_state(self, now: float) -> None:
        """Let a target wait for the first joint state, but not for long."""
        target = self.goals.target
        self.state = FollowerState.NO_STATE
        if target is None or target.since is None or now - target.since <= _LONGEST_WAIT:
            return
        of = f' of {", ".join(self.unmeasured)}' if self.unmeasured else ''
        self.goals.drop(f'no joint state{of} has arrived within {_LONGEST_WAIT:g} s')
        self.state = FollowerState.TARGET_DROPPED

    def follow(self, goal: MotionGoal) -> None:
        """Move for a goal from now on."""
        if self.restarting:
            goal.renew()  # where it leads depends on where the arm comes to rest
        self.goals.follow(goal)
        self.state = self._state_with(goal)

    def stop(self, reason: str = 'it was stopped') -> None:
        """Come to rest, and follow nothing."""
        self.goals.clear(reason)
        off = self.disabled
        self.state = FollowerState.DISABLED if off else FollowerState.IDLE

    def retry(self) -> None:
        """Go on to the target, if the obstacle has gone."""
        if self.goals.current is not None:
            self.goals.current.obstacle = ''

    @property
    def period(self) -> float:
        """Time between two commands [s]."""
        return (self.stream.active and self.stream.period) or 1.0 / self.settings.rate

    @property
    def busy(self) -> bool:
        """Whether there is a goal that the commands do not rest at."""
        goal, stream = self.goals.current, self.stream
        if goal is None or (goal.obstacle and stream.at_rest):
            return False
        return goal.busy or not (stream.active and stream.at_rest) or self._lag.lagging

    def let_go(self) -> None:
        """Forget the goal, and the target that was dropped, as another group moves the joints."""
        ended = self.state in (FollowerState.RELEASED, FollowerState.UNREACHABLE)
        if self.goals.current is not None or self.goals.dropped is not None or ended:
            self.stop('another group moves its joints')

    def give_way(self, reason: str, at_once: bool = False) -> None:
        """Come to rest, as somebody else commands the arm; or leave it to them at once."""
        if self.stream.active and self.goals.current is not None:
            self._lose(FollowerState.OTHER_COMMANDER, reason, resumes=False)
        if at_once:
            self.stream.leave()
            self._return = None

    def seeds(self) -> list[np.ndarray]:
        """Return where the next solution shall be near to: where the joints are, and will be."""
        chain, measured, commanded = self.chain, self.arm.measured, self.stream.q
        target = self.goals.target
        if commanded is None:
            gate, now = self.stream.gate, self.arm.measured_at
            held = None if measured is None else held_command(self.arm, gate, now, self._rested)
            here = chain.mid_range() if measured is None else measured if held is None else held
            return [np.clip(here, chain.lower, chain.upper)]
        seeds = [np.clip(commanded, chain.lower, chain.upper)]
        return seeds if target is None or target.posture is None else [*seeds, target.posture]

    def discard_late(self, delay: float, at_once: bool) -> bool:
        """
        Discard the command of the last tick if it is too late to send it.

        :param delay: since the tick [s].
        :param at_once: whether it is too late whatever the delay is.
        :returns: whether it is discarded.
        """
        discarded = self.stream.discard_late(delay, self.period, at_once)
        if discarded and self.goals.current is not None:
            self.goals.current.missed()
        return discarded

    def _check_joint_states(self, now: float) -> None:
        """Lose the target when the joint states cannot be relied on; recover afterwards."""
        fault = self.arm.fault(now, self.settings.state_timeout)
        goals, dropped = self.goals, self.goals.dropped is not None
        if fault is not None and (goals.current is not None or dropped):
            self._lose(fault, self.arm.reason)
        elif fault is None and self.state in FAULTS:
            self.state = FollowerState.TARGET_DROPPED if dropped else FollowerState.IDLE

    def _lose(self, state: FollowerState, reason: str, resumes: bool = True) -> None:
        """Come to rest, and stay there unless targets are to be resumed and this one may be."""
        self.state = state
        if self.goals.current is None:
            return
        self.restarting = True
        if not (resumes and self.settings.resume and self.goals.current.renew()):
            self.goals.drop(reason)

    def _come_to_rest(self, now: float) -> FollowerCommand | None:
        stream, command = self.stream, None
        self._rest_since = None
        step = self._return_step(now)
        if step.leads_on or not stream.at_rest:
            period = 1.0 / self.settings.rate
            if stream.resume(self.limits, now, period, self.arm.speed) is not None:
                command = stream.advance(step, self.limits, now, self.period)
        if stream.at_rest and self._return is None:
            stream.end()
        self.restarting = stream.active
        return command

    def _return_step(self, now: float) -> Step:
        """Return the step of commands that come to rest: to an arm that is stuck, or none."""
        if self._return is None:
            return REST
        goal, until = self._return
        q = self.stream.q
        over = now > until or not self.arm.current or bool(self.stream.obstacle)
        if q is None or over or (q == goal)[self.movable].all():
            self._return = None
            return REST
        return Step(goal)

    def _follow(
        self, goal: MotionGoal, measured: np.ndarray, now: float
    ) -> FollowerCommand | None:
        """Go on, at the pace of the arm."""
        stream, settings, period = self.stream, self.settings, 1.0 / self.settings.rate
        commanded = stream.q
        assert commanded is not None
        since, resting = self.arm.measured_at, stream.at_rest
        self._lag.update(commanded, measured, since, resting, settings, self.limits, now)
        if self._lag.displaced:
            self.displacements += 1
            return self._give_up('something else has moved the arm', now)
        stuck = self._lag.stuck(resting, settings)
        if stuck:
            here = self.limits.inside(measured, commanded)
            self._return = np.where(self.movable, here, commanded), now + _RETURN
            return self._give_up(stuck, now, resumes=False)
        if resting and self._is_over(goal, now):
            self._end(goal)
            return None
        late = stream.resume(self.limits, now, period, self.arm.speed)
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
        if goal.obstacle or not self.arm.current:
            step = REST
            goal.missed()
        command = stream.advance(step, self.limits, now, self.period, self._lag.pace)
        goal.obstacle = goal.obstacle or stream.obstacle
        self.state = self._state_with(goal)
        return command

    def _give_up(self, reason: str, now: float, resumes: bool = True) -> FollowerCommand | None:
        """Lose the goal, and come to rest."""
        state = FollowerState.TARGET_DROPPED if self.goals.target else FollowerState.IDLE
        self._lose(state, reason, resumes)
        return self._come_to_rest(now)

    def _tick(self, commanded: np.ndarray, measured: np.ndarray, now: float, late: bool) -> Tick:
        """Return the data from which a goal computes its next step."""
        stream, limits = self.stream, self._goal_limits
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
        waits = not goal.busy or (goal.obstacle and goal is self.goals.target)
        if self.settings.hold or not (waits and self._lag.arrived):
            self._rest_since = None
            return False
        self._rest_since = now if self._rest_since is None else self._rest_since
        return now - self._rest_since >= _HELD

    def _end(self, goal: MotionGoal) -> None:
        """End the commands of a goal that is over; a target before an obstacle waits on."""
        self.stream.end()
        self._rest_since = None
        target = self.goals.target
        if target is None:
            self.goals.clear(goal.obstacle)
            self.state = FollowerState.IDLE
        elif not goal.obstacle:
            self.goals.release(target)
            if self.state is not FollowerState.UNREACHABLE:
                self.state = FollowerState.RELEASED

    def _begin(self, goal: MotionGoal, now: float) -> FollowerCommand | None:
        """Start a motion where the arm is, if that is allowed and known."""
        occupied = self._occupied()
        if occupied:
            self._lose(FollowerState.OTHER_COMMANDER, occupied)
            return None
        if self.awaits_controller:
            self.state = FollowerState.AWAITING_CONTROLLER
            return None
        free_since = self._sharing.free_since(self)  # None while another group comes to rest
        gate = self.stream.gate
        if free_since is None or not self.arm.is_fresh(now, max(gate.sent_at, free_since)):
            return None
        start = start_place(self.arm, gate, self.limits, now, free_since, self._rested)
        if start is None:
            self.state = FollowerState.AWAITING_REST
            return None
        self._lag.reset()
        self._rest_since = None
        goal.begin(start, lambda q: self.arm.unwrapped(q, start))
        self.announcing = self.announces
        if self.announces:
            self._announced = now + max(_ANNOUNCEMENT, 3.0 / self.settings.rate)
        self.state = self._state_with(goal)
        return self.stream.begin(start, now, self.limits.window)

    def _state_with(self, goal: MotionGoal) -> FollowerState:
        """Return the state while a goal is pursued, or at its end."""
        commanded = self.stream.q
        if goal.obstacle:
            return FollowerState.COLLISION_AHEAD
        if self._lag.lagging and commanded is not None:
            return FollowerState.LAGGING
        return goal.state(commanded, self.stream.at_rest)
