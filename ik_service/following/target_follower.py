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

from dataclasses import replace
import threading

import numpy as np

from ik_service.exceptions import TargetRefusedError
from ik_service.following.arm_watch import ArmWatch
from ik_service.following.command_stream import CommandStream
from ik_service.following.lag import LagWatch
from ik_service.following.nearby import NearbySolver
from ik_service.following.settings import (
    FollowerCommand,
    FollowerSettings,
    FollowerState,
    joint_speeds,
)
from ik_service.following.targets import FollowedTarget, Targets
from ik_service.kinematics.pose import check_transform
from ik_service.solvers.result import IkResult
from ik_service.solvers.solver import Solver

_SAME_POSITION = 1e-6
"""Distance from its goal that does not matter for a joint that must not move [rad, m]."""

_SLOW = 0.1
"""Share of a period that sending a command may take without being noticed by the arm."""

_FAULTS = (FollowerState.STATE_STALE, FollowerState.STATE_IMPLAUSIBLE)


class TargetFollower:
    """
    Commands that follow a target; thread-safe.

    Solving happens in the thread that brings the target or the joint state, outside the lock, so
    that :meth:`tick` never waits for it.

    :param solver: solves for the targets.
    :param settings: fields of :class:`FollowerSettings`; :meth:`tick` is called at its ``rate``.
    :ivar restarts: how often something else moved the arm.
    :ivar other_commander: who else commands the arm, to be set from outside; empty for nobody.
    :raises OptionError: naming the setting whose value cannot be.
    """

    def __init__(self, solver: Solver, **settings: float) -> None:
        self._lock = threading.Lock()
        self._settings = FollowerSettings(**settings)
        self._disabled = False
        self._targets = Targets()
        self.restarts = 0
        self.other_commander = ''
        self._start_with(NearbySolver(solver))

    # What the outside tells

    def set_measured(self, q: np.ndarray, now: float) -> None:
        """
        Take a measured joint state.

        :param q: (n,) positions [rad] or [m]; may lie outside the limits.
        :param now: when it was measured, on a monotonic clock [s].
        :raises ArgumentError: when q has another shape or is not finite.
        """
        with self._lock:
            q = self._solver.chain.check_q(q, 'measured')
            if not self._arm.see(q, now, self._stream.q):
                return
            target = self._targets.current
            if target is None or target.goal is not None or target.solving or self._stream.active:
                return
            target.solving = True
            version, solver, seeds = self._targets.version, self._solver, self._seeds()
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
            refusal = self._refusal()
            if refusal:
                raise TargetRefusedError(refusal)
            version, solver, seeds = self._targets.renew(), self._solver, self._seeds()
        result = solver.solve(T_base_tip, seeds)
        with self._lock:
            if version == self._targets.version:
                anchored = self._arm.measured is not None and not self._restarting
                goal = result.q if anchored else None
                self._targets.follow(FollowedTarget(T_base_tip, result, goal))
                self._state = self._state_on_the_way()
        return result

    def stop(self) -> None:
        """Forget the target; the command comes to rest, and then there is none."""
        with self._lock:
            self._targets.forget()
            self._state = FollowerState.DISABLED if self._disabled else FollowerState.IDLE

    def enable(self, enabled: bool) -> bool:
        """
        Allow motion, or stop and refuse all targets until it is allowed again.

        A target that was dropped because of a fault is taken up again from where the arm is.

        :param enabled: whether motion is allowed.
        :returns: whether there is a target to move to now.
        :raises TargetRefusedError: when the dropped target may not be followed; it is kept.
        """
        with self._lock:
            self._disabled = not enabled
            dropped = self._targets.dropped
        if not enabled:
            self.stop()
            return False
        if dropped is not None:
            self.set_target(dropped)
        elif self._state is FollowerState.DISABLED:
            self._state = FollowerState.IDLE
        return self._targets.current is not None

    def configure(self, *, solver: Solver | None = None, **settings: float) -> None:
        """
        Change the solver or settings while following, without a jump.

        :param solver: another solver. With another chain all else is forgotten as well: state,
            command and target belong to the chain.
        :param settings: fields of :class:`FollowerSettings`.
        :raises OptionError: naming the setting whose value cannot be; nothing is changed then.
        """
        nearby = None if solver is None else NearbySolver(solver)
        with self._lock:
            self._settings = replace(self._settings, **settings)
            if nearby is not None and nearby.chain is not self._solver.chain:
                self._start_with(nearby)
                return
            self._solver = nearby or self._solver
            self._limits = self._settings.motion_limits(self._solver.chain)

    # What the outside asks

    @property
    def settings(self) -> FollowerSettings:
        """The settings in force."""
        return self._settings

    @property
    def state(self) -> FollowerState:
        """What it is doing, as of the last tick or call."""
        return self._state

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
    def following_error(self) -> float | None:
        """How far the arm's worst joint is from its command [rad] or [m]; None without one."""
        with self._lock:
            if not self._stream.active or self._arm.measured is None:
                return None
            return float(np.abs(self._stream.q - self._arm.measured).max())

    @property
    def active(self) -> bool:
        """Whether there are commands; without, the arm is left alone."""
        return self._stream.active

    @property
    def violations(self) -> int:
        """How many commands the last gate had to change; 0 in a healthy system."""
        return self._stream.gate.counts.total

    @property
    def state_fault(self) -> str:
        """Why the joint states cannot be relied on; empty when they can."""
        return self._arm.reason

    @property
    def contradictory_states(self) -> bool:
        """Whether there must be two sources of joint states that contradict each other."""
        return self._arm.contradictory

    @property
    def immobile_joints(self) -> tuple[str, ...]:
        """The joints that are never moved, because their velocity limit is 0."""
        names = self._solver.chain.joint_names
        return tuple(name for name, speed in zip(names, self._speeds, strict=True) if speed <= 0)

    def tick(self, now: float) -> FollowerCommand | None:
        """
        Return the next command; to be called once in a period of the rate.

        :param now: on the clock of :meth:`set_measured` [s].
        :returns: the command to publish; None to publish nothing.
        """
        with self._lock:
            self._arm.tick(now)
            if self._targets.is_too_old(now, self._settings.target_timeout):
                self._targets.forget()
                self._state = FollowerState.TARGET_TIMED_OUT
            self._look_for_faults(now)
            target = self._targets.current
            if target is None:
                return self._come_to_rest(now)
            if self._arm.measured is None:
                self._state = FollowerState.NO_STATE
                return None
            if self._restarting or target.goal is None:
                return self._come_to_rest(now)
            return self._follow(target, now)

    def sent(self, delay: float) -> None:
        """
        Note how long it took to send the command of the last tick.

        When that was long, less time has passed for the arm than for the ticks.

        :param delay: from the tick to the end of sending [s].
        """
        with self._lock:
            if delay > _SLOW / self._settings.rate:
                self._stream.gate.postpone(delay)

    # Inside; with the lock held

    def _start_with(self, solver: NearbySolver) -> None:
        chain = solver.chain
        self._solver = solver
        self._limits = self._settings.motion_limits(chain)
        self._speeds = joint_speeds(chain)
        self._arm = ArmWatch(chain, self._speeds)
        self._lag = LagWatch(self._speeds)
        self._stream = CommandStream()
        self._targets.forget()
        self._restarting = False
        self._state = FollowerState.IDLE

    def _seeds(self) -> list[np.ndarray]:
        """Return where the next solution shall be near to: where the joints are, and will be."""
        chain, measured = self._solver.chain, self._arm.measured
        target = self._targets.current
        if not self._stream.active:
            here = chain.mid_range() if measured is None else measured
            return [np.clip(here, chain.lower, chain.upper)]
        seeds = [np.clip(self._stream.q, chain.lower, chain.upper)]
        return seeds if target is None or target.goal is None else [*seeds, target.goal]

    def _refusal(self) -> str:
        """Return why no target may be followed now; empty when one may."""
        if self._disabled:
            return 'following is switched off; ~/enable with data: true switches it on'
        if self._settings.resume or self._arm.measured is None:
            return ''
        if self._arm.reason:
            return self._arm.reason
        return '' if self._stream.active else self._occupied()

    def _occupied(self) -> str:
        """Return who keeps motions from being started; empty for nobody."""
        other = self.other_commander if self._settings.exclusive else ''
        return other and f'{other} commands the arm too (exclusive: false would allow it)'

    def _look_for_faults(self, now: float) -> None:
        fault = self._arm.fault(now, self._settings.state_timeout)
        targets, dropped = self._targets, self._targets.dropped is not None
        if fault is not None and (targets.current is not None or dropped):
            self._lose_target(fault, self._arm.reason)
        elif fault is None and self._state in _FAULTS:
            self._state = FollowerState.TARGET_DROPPED if dropped else FollowerState.IDLE

    def _lose_target(self, state: FollowerState, reason: str) -> None:
        """Come to rest, and stay there unless targets are to be resumed."""
        self._state = state
        if self._targets.current is None:
            return
        self._restarting = True
        if self._settings.resume:
            self._targets.current.goal = None
        else:
            self._targets.drop(reason)

    def _come_to_rest(self, now: float) -> FollowerCommand | None:
        stream, command = self._stream, None
        if not stream.at_rest:
            period, speed = 1.0 / self._settings.rate, self._arm.speed(now)
            command = stream.advance(None, self._limits, now, period, speed)
        if stream.at_rest:
            stream.end()
        self._restarting = stream.active
        return command

    def _follow(self, target: FollowedTarget, now: float) -> FollowerCommand | None:
        stream, period = self._stream, 1.0 / self._settings.rate
        if not stream.active:
            return self._begin(target, now)
        limit = self._settings.lag_limit
        self._lag.look(stream.q, self._arm.measured, stream.at_rest, limit, now)
        if self._lag.elsewhere:
            self.restarts += 1
            self._lose_target(FollowerState.TARGET_DROPPED, 'something else has moved the arm')
            return self._come_to_rest(now)
        goal = target.goal if self._arm.awake else None
        speed, pace = self._arm.speed(now), self._lag.pace
        command = stream.advance(goal, self._limits, now, period, speed, pace)
        self._state = self._state_on_the_way()
        return command

    def _begin(self, target: FollowedTarget, now: float) -> FollowerCommand | None:
        """Start a motion where the arm is, if that is allowed and known."""
        occupied = self._occupied()
        if occupied:
            self._lose_target(FollowerState.OTHER_COMMANDER, occupied)
            return None
        if not self._arm.is_new(now):
            return None
        start = self._arm.position()
        self._lag.begin()
        target.goal = self._arm.turned(target.goal, start)
        self._state = self._state_on_the_way()
        return self._stream.begin(start, now)

    def _state_on_the_way(self) -> FollowerState:
        target = self._targets.current
        if self._lag.behind and self._stream.active:
            return FollowerState.LAGGING
        if not target.result.success:
            return FollowerState.UNREACHABLE
        if not self._stream.active or target.goal is None:
            return FollowerState.FOLLOWING
        ahead = np.abs(target.goal - self._stream.q)
        movable = self._speeds > 0.0
        if ahead[movable].any():
            return FollowerState.FOLLOWING
        blocked = (ahead > _SAME_POSITION).any()
        return FollowerState.UNREACHABLE if blocked else FollowerState.REACHED
