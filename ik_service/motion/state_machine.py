"""State machine of the follower: what every tick does, and why."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from ik_service.kinematics.chain import KinematicChain
from ik_service.kinematics.joint_space import joint_speeds
from ik_service.model.motion_bounds import MotionBounds
from ik_service.motion.aim import Aim, REST, Step, Tick
from ik_service.motion.aim_store import AimStore
from ik_service.motion.collision_guard import CollisionGuard, CollisionTest
from ik_service.motion.command.command_gate import CommandGate
from ik_service.motion.command.command_stream import CommandStream
from ik_service.motion.command.motion_limits import MotionLimits
from ik_service.motion.joint_sharing import JointSharing, SharedMotion
from ik_service.motion.settings import FollowerCommand, FollowerSettings, FollowerState
from ik_service.motion.state.joint_state_tracker import FAULTS, JointStateTracker
from ik_service.motion.state.lag_monitor import LagMonitor

RECENT = 1.0
"""Age up to which the last command tells where the arm goes [s]."""

_STANDS = 0.2
"""Distance of an arm that still stands where its last motion has ended, in those of noise."""

_SAG = 2.0
"""Distance from its last command at which an arm may stand, likewise: 0.05 rad or 6 mm."""


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
    other arm has to be seen at rest first: it may be on its way to the last command, or be moved
    by somebody else.

    :param arm: the measured joint states, of which the last is fresh.
    :param gate: the last command.
    :param limits: bounds on the motion.
    :param now: on the clock of the joint states [s].
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
    :param gate: the last command.
    :param now: on the clock of the joint states [s].
    :param rested: (n,) where the arm was soon after that [rad] or [m]; None when not known.
    :returns: (n,) [rad] or [m], with continuous joints on the turn of the arm.
    """
    if not len(gate.last[0]):
        return None
    here = arm.position()
    last = arm.unwrapped(gate.last[0], here)
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


class AdmittedMotion(SharedMotion, Protocol):
    """Motion that aims are admitted to."""

    arm: JointStateTracker
    settings: FollowerSettings
    stream: CommandStream


class Admission:
    """
    Admission of aims to the motion of a chain.

    :param motion: the motion.
    :param sharing: the followers of the arm.
    :param collisions: tests postures of the chain.
    :ivar disabled: whether all aims are refused.
    :ivar other_commander: who else commands the arm; empty for nobody.
    """

    def __init__(
        self, motion: AdmittedMotion, sharing: JointSharing, collisions: CollisionTest
    ) -> None:
        self._motion = motion
        self._sharing = sharing
        self._collisions = collisions
        self.disabled = False
        self.other_commander = ''

    def refusal(self, aim: Aim | None = None) -> str:
        """
        Return why an aim may not be followed now; empty when it may.

        :param aim: the aim; None for a target pose, which may wait for the first joint state.
        """
        motion = self._motion
        if self.disabled:
            return _SWITCHED_OFF
        refusal = self.precedence(aim) or self._unguarded()
        if refusal:
            return refusal
        if motion.arm.measured is None:
            return '' if aim is None else 'no joint state has arrived yet'
        if motion.settings.resume and aim is None:
            return ''
        if motion.arm.reason:
            return motion.arm.reason
        moves = motion.stream.active and not motion.stream.at_rest
        return '' if moves else self.occupied()

    def precedence(self, aim: Aim | None = None) -> str:
        """
        Return what goes before an aim: a trajectory, or a motion of other joints.

        :param aim: the aim; None for a target pose.
        """
        current = self._motion.aims.current
        replaced = None if aim is None else aim.replaces
        if current is not None and current.kind == 'trajectory' and current.busy:
            if current is replaced:
                return ''
            return current.claim or _ON_A_TRAJECTORY
        if self._motion.aims.claim:
            return self._motion.aims.claim
        return self._sharing.refusal(self._motion)

    def occupied(self) -> str:
        """Return who else commands the arm and keeps motions from being started."""
        other = self.other_commander if self._motion.settings.exclusive else ''
        return other and f'{other} commands the arm too (allowed with exclusive: false)'

    def _unguarded(self) -> str:
        """Return why collisions cannot be avoided; empty when they can, or need not be."""
        if not self._motion.settings.avoid_collisions:
            return ''
        fault = self._collisions.fault
        allow = 'allowed with follow.avoid_collisions: false'
        return fault and f'collisions cannot be checked: {fault} ({allow})'


_HELD = 1.0
"""Time after the arrival of the arm for which commands go on [s]."""

_LONGEST_WAIT = 1.0
"""Time for which a target waits for the first joint state [s]."""

_RETURN = 2.0
"""Longest time in which commands return to an arm that is stuck [s]."""

_BEHIND = 0.05
"""Delay of commands behind a moving goal before it waits, as time at full speed [s]."""


class FollowerStateMachine:
    """
    States of following on one chain. Not thread-safe, and solves nothing.

    :param chain: the chain.
    :param settings: how targets are followed.
    :param aims: what the commands are for, and the target that was dropped.
    :param sharing: the followers of the arm, of which some may share joints with this one.
    :param collisions: tests postures of the chain, for the setting ``avoid_collisions``.
    :param group: name of the group of joints that is moved, for messages.
    :param bounds: limits of its joints beyond those of the URDF; None for none.
    :ivar joints: the joints that commands name.
    :ivar settings: those in force; see :meth:`configure`.
    :ivar limits: the bounds on the motion in force.
    :ivar speeds: (n,) the joints' largest speeds [rad/s] or [m/s].
    :ivar movable: (n,) mask of the joints that may move.
    :ivar arm: the measured joint states.
    :ivar stream: the commands.
    :ivar state: what is being done.
    :ivar restarting: whether the commands have to come to rest before they go anywhere.
    :ivar admission: who may move the arm now.
    :ivar displacements: how often something else moved the arm.
    :ivar unmeasured: joints that no joint state has named so far, for messages.
    """

    def __init__(
        self,
        chain: KinematicChain,
        settings: FollowerSettings,
        aims: AimStore,
        sharing: JointSharing,
        collisions: CollisionTest,
        group: str = '',
        bounds: MotionBounds | None = None,
    ) -> None:
        self.chain = chain
        self.aims = aims
        self.group = group
        self.joints = chain.joint_names
        self._sharing = sharing
        self._guard = CollisionGuard(chain, collisions)
        self._bounds = bounds
        self.stream = CommandStream()
        self.admission = Admission(self, sharing, collisions)
        self.configure(settings)
        self.speeds = self.limits.velocity
        self.arm = JointStateTracker(chain, joint_speeds(chain))
        self._lag = LagMonitor(chain, self.speeds)
        self.movable = self.speeds > 0.0
        self.state = FollowerState.IDLE
        self.restarting = False
        self.displacements = 0
        self.unmeasured: tuple[str, ...] = ()
        self._rest_since: float | None = None
        self._rested: np.ndarray | None = None
        self._return: tuple[np.ndarray, float] | None = None

    def configure(self, settings: FollowerSettings) -> None:
        """
        Put other settings into force.

        :param settings: how targets are followed from now on.
        """
        self.settings = settings
        self.limits = settings.motion_limits(self.chain, self._bounds)
        self.stream.guard = self._guard if settings.avoid_collisions else None

    def tick(self, now: float) -> FollowerCommand | None:
        """
        Return the next command; None to publish nothing.

        :param now: on the clock of the joint states [s].
        """
        self.arm.tick(now)
        if self.aims.has_expired(now, self.settings.target_timeout):
            self.aims.clear('target_timeout has passed')
            self.state = FollowerState.TARGET_TIMED_OUT
        self._check_joint_states(now)
        aim, measured = self.aims.current, self.arm.measured
        if measured is not None and not self.stream.active:
            self._note_rest(now)
        if aim is None:
            return self._come_to_rest(now)
        if measured is None:
            self._await_state(now)
            return None
        if self.restarting or not aim.ready:
            return self._come_to_rest(now)
        if self.stream.active:
            return self._follow(aim, measured, now)
        return None if aim.obstacle else self._begin(aim, now)

    def _note_rest(self, now: float) -> None:
        """Note where the arm comes to rest after the last command."""
        if self.stream.gate.elapsed(now) <= RECENT:
            self._rested = self.arm.position()

    def _await_state(self, now: float) -> None:
        """Let a target wait for the first joint state, but not for long."""
        target = self.aims.target
        self.state = FollowerState.NO_STATE
        if target is None or target.since is None or now - target.since <= _LONGEST_WAIT:
            return
        of = f' of {", ".join(self.unmeasured)}' if self.unmeasured else ''
        self.aims.drop(f'no joint state{of} has arrived within {_LONGEST_WAIT:g} s')
        self.state = FollowerState.TARGET_DROPPED

    def follow(self, aim: Aim) -> None:
        """
        Move for an aim from now on.

        :param aim: what the commands are for.
        """
        if self.restarting:
            aim.renew()  # where it leads depends on where the arm comes to rest
        self.aims.follow(aim)
        self.state = self._state_with(aim)

    def stop(self, reason: str = 'it was stopped') -> None:
        """
        Come to rest, and follow nothing.

        :param reason: why.
        """
        self.aims.clear(reason)
        off = self.admission.disabled
        self.state = FollowerState.DISABLED if off else FollowerState.IDLE

    def retry(self) -> None:
        """Go on to the target, if what is in the way has gone."""
        if self.aims.current is not None:
            self.aims.current.obstacle = ''

    @property
    def active(self) -> bool:
        """Whether there are commands."""
        return self.stream.active

    @property
    def busy(self) -> bool:
        """Whether there is an aim that the commands do not rest at."""
        aim, stream = self.aims.current, self.stream
        if aim is None or (aim.obstacle and stream.at_rest):
            return False
        return aim.busy or not (stream.active and stream.at_rest) or self._lag.lagging

    @property
    def commanded_at(self) -> float:
        """When the last command was sent, on a monotonic clock [s]; −inf before the first."""
        return self.stream.gate.sent_at

    def let_go(self) -> None:
        """Forget the aim, and the target that was dropped, as another group moves the joints."""
        ended = self.state in (FollowerState.RELEASED, FollowerState.UNREACHABLE)
        if self.aims.current is not None or self.aims.dropped is not None or ended:
            self.stop('another group moves its joints')

    def give_way(self, reason: str) -> None:
        """
        Come to rest, as somebody else commands the arm and was there before.

        :param reason: who.
        """
        if self.stream.active and self.aims.current is not None:
            self._lose(FollowerState.OTHER_COMMANDER, reason, resumes=False)

    def seeds(self) -> list[np.ndarray]:
        """Return where the next solution shall be near to: where the joints are, and will be."""
        chain, measured, commanded = self.chain, self.arm.measured, self.stream.q
        target = self.aims.target
        if commanded is None:
            gate, now = self.stream.gate, self.arm.measured_at
            held = None if measured is None else held_command(self.arm, gate, now, self._rested)
            here = chain.mid_range() if measured is None else measured if held is None else held
            return [np.clip(here, chain.lower, chain.upper)]
        seeds = [np.clip(commanded, chain.lower, chain.upper)]
        return seeds if target is None or target.goal is None else [*seeds, target.goal]

    def discard_late(self, delay: float, at_once: bool) -> bool:
        """
        Discard the command of the last tick if it is too late to send it.

        :param delay: since the tick [s].
        :param at_once: whether it is too late whatever the delay is.
        :returns: whether it is discarded.
        """
        discarded = self.stream.discard_late(delay, 1.0 / self.settings.rate, at_once)
        if discarded and self.aims.current is not None:
            self.aims.current.missed()
        return discarded

    def _check_joint_states(self, now: float) -> None:
        """Lose the target when the joint states cannot be relied on; recover afterwards."""
        fault = self.arm.fault(now, self.settings.state_timeout)
        aims, dropped = self.aims, self.aims.dropped is not None
        if fault is not None and (aims.current is not None or dropped):
            self._lose(fault, self.arm.reason)
        elif fault is None and self.state in FAULTS:
            self.state = FollowerState.TARGET_DROPPED if dropped else FollowerState.IDLE

    def _lose(self, state: FollowerState, reason: str, resumes: bool = True) -> None:
        """Come to rest, and stay there unless targets are to be resumed and this one may be."""
        self.state = state
        if self.aims.current is None:
            return
        self.restarting = True
        if not (resumes and self.settings.resume and self.aims.current.renew()):
            self.aims.drop(reason)

    def _come_to_rest(self, now: float) -> FollowerCommand | None:
        stream, command = self.stream, None
        self._rest_since = None
        step = self._return_step(now)
        if step.leads_on or not stream.at_rest:
            period = 1.0 / self.settings.rate
            if stream.resume(self.limits, now, period, self.arm.speed(now)) is not None:
                command = stream.advance(step, self.limits, now, period)
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

    def _follow(self, aim: Aim, measured: np.ndarray, now: float) -> FollowerCommand | None:
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
            goal = self.limits.inside(measured, commanded)
            self._return = np.where(self.movable, goal, commanded), now + _RETURN
            return self._give_up(stuck, now, resumes=False)
        if resting and self._is_over(aim, now):
            self._end(aim)
            return None
        late = stream.resume(self.limits, now, period, self.arm.speed(now))
        if late is None:
            self.state = self._state_with(aim)
            return None
        try:
            step = aim.step(self._tick(commanded, measured, now, period, late))
        except Exception as error:  # the arm has to come to rest, whatever it is
            return self._give_up(f'{type(error).__name__}: {error}', now)
        if aim.obstacle or not self.arm.current:
            step = REST
            aim.missed()
        command = stream.advance(step, self.limits, now, period, self._lag.pace)
        aim.obstacle = aim.obstacle or stream.obstacle
        self.state = self._state_with(aim)
        return command

    def _give_up(self, reason: str, now: float, resumes: bool = True) -> FollowerCommand | None:
        """Lose the aim, and come to rest."""
        state = FollowerState.TARGET_DROPPED if self.aims.target else FollowerState.IDLE
        self._lose(state, reason, resumes)
        return self._come_to_rest(now)

    def _tick(
        self,
        commanded: np.ndarray,
        measured: np.ndarray,
        now: float,
        period: float,
        late: bool,
    ) -> Tick:
        """Return what an aim may know for its next step."""
        stream, limits = self.stream, self.limits
        dt = min(stream.gate.elapsed(now), period)
        behind = min(max(2.0 - 2.0 * stream.behind / _BEHIND, 0.0), 1.0)
        pace = min(self._lag.pace, behind)
        q, speed = stream.leading
        leading = q, speed * limits.velocity
        velocity = stream.speed * limits.velocity
        return Tick(now, dt, commanded, velocity, measured, limits, leading, pace, late)

    def _is_over(self, aim: Aim, now: float) -> bool:
        """Whether an aim needs no commands any more, given that they are at rest."""
        if aim.finished:
            return True
        waits = not aim.busy or (aim.obstacle and aim is self.aims.target)
        if self.settings.hold or not (waits and self._lag.arrived):
            self._rest_since = None
            return False
        self._rest_since = now if self._rest_since is None else self._rest_since
        return now - self._rest_since >= _HELD

    def _end(self, aim: Aim) -> None:
        """End the commands of an aim that is over; a target before an obstacle waits on."""
        self.stream.end()
        self._rest_since = None
        target = self.aims.target
        if target is None:
            self.aims.clear(aim.obstacle)
            self.state = FollowerState.IDLE
        elif not aim.obstacle:
            self.aims.release(target)
            if self.state is not FollowerState.UNREACHABLE:
                self.state = FollowerState.RELEASED

    def _begin(self, aim: Aim, now: float) -> FollowerCommand | None:
        """Start a motion where the arm is, if that is allowed and known."""
        occupied = self.admission.occupied()
        if occupied:
            self._lose(FollowerState.OTHER_COMMANDER, occupied)
            return None
        free_since = self._sharing.free_since(self)  # None while another group comes to rest
        if free_since is None or not self.arm.is_fresh(now, max(self.commanded_at, free_since)):
            return None
        gate = self.stream.gate
        start = start_place(self.arm, gate, self.limits, now, free_since, self._rested)
        if start is None:
            self.state = FollowerState.AWAITING_REST
            return None
        self._lag.reset()
        self._rest_since = None
        aim.begin(start, lambda q: self.arm.unwrapped(q, start))
        self.state = self._state_with(aim)
        return self.stream.begin(start, now, self.limits.window)

    def _state_with(self, aim: Aim) -> FollowerState:
        """Return the state on the way with an aim, or at its end."""
        commanded = self.stream.q
        if aim.obstacle:
            return FollowerState.COLLISION_AHEAD
        if self._lag.lagging and commanded is not None:
            return FollowerState.LAGGING
        return aim.state(commanded, self.stream.at_rest)
