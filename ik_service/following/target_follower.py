"""
Following a target pose with joint commands; knows no ROS.

The follower turns target poses, which may jump, into commands that never do: they start at the
measured joint state, move every joint by at most velocity × scaling / rate a tick, with bounded
acceleration, and never leave the joint limits. While a target is there a command comes out of
every tick, also when it has arrived: controllers of real arms want to be fed. Whatever ends the
following (no target any more, joint states gone stale) first brings the command to rest within
the acceleration time; after that nothing is commanded, and the next command starts from the
state measured then.
"""

from __future__ import annotations

from dataclasses import replace
import threading

import numpy as np

from ik_service.following.motion import JointMotion
from ik_service.following.nearby import NearbySolver
from ik_service.following.settings import (
    FollowedTarget,
    FollowerCommand,
    FollowerSettings,
    FollowerState,
    joint_speeds,
)
from ik_service.kinematics.pose import check_transform
from ik_service.solvers.result import IkResult
from ik_service.solvers.solver import Solver

_SAME_POSITION = 1e-6
"""Distance from its goal that does not matter for a joint that must not move [rad, m]."""

# Shares of the lag limit, which itself is only approached, at which lagging begins and ends; and
# the one that an arm has to come below within a time after the commands have come to rest [s].
_BEHIND, _CAUGHT_UP = 0.9, 0.5
_OFF, _SETTLING_TIME = 0.05, 1.0


class TargetFollower:
    """
    Commands that follow a target; thread-safe.

    Solving happens in the thread that brings the target or the joint state, outside the lock, so
    that :meth:`tick` never waits for it.

    :param solver: solves for the targets.
    :param settings: fields of :class:`FollowerSettings`; :meth:`tick` is called at its ``rate``.
    :ivar restarts: how often something else moved the arm, so that the commands started anew.
    :raises OptionError: naming the setting whose value cannot be.
    """

    def __init__(self, solver: Solver, **settings: float) -> None:
        self._lock = threading.Lock()
        self._settings = FollowerSettings(**settings)
        self._requests = 0
        self.restarts = 0
        self._start_with(NearbySolver(solver))

    # What the outside tells

    def set_measured(self, q: np.ndarray, now: float) -> None:
        """
        Take a measured joint state.

        :param q: (n,) positions [rad] or [m]; may lie outside the limits.
        :param now: when it was received, on a monotonic clock [s].
        :raises ArgumentError: when q has another shape or is not finite.
        """
        with self._lock:
            q = self._solver.chain.check_q(q, 'measured')
            self._measured = self._turned(q, self._motion.q) if self._motion else q
            self._measured_at = now
            target = self._target
            if target is None or target.goal is not None or target.solving or self._motion:
                return
            target.solving = True
            request, solver, seeds = self._requests, self._solver, self._seeds()
        try:
            result = solver.solve(target.T_base_tip, seeds)
            with self._lock:
                if request == self._requests:
                    target.result, target.goal = result, result.q
        finally:
            target.solving = False

    def set_target(self, T_base_tip: np.ndarray) -> IkResult:
        """
        Follow another target from now on.

        It is solved for here, from where the command is, or else the arm. The old target is
        followed meanwhile. Without a joint state it is solved again when the first one comes.

        :param T_base_tip: (4, 4) pose of the tip in the frame of the base link.
        :returns: the solution, or the nearest pose found, which is then gone to.
        :raises ArgumentError: when this is no pose; the old target is then followed further.
        """
        T_base_tip = check_transform(T_base_tip, 'target')
        with self._lock:
            self._requests += 1
            request, solver, seeds = self._requests, self._solver, self._seeds()
        result = solver.solve(T_base_tip, seeds)
        with self._lock:
            if request == self._requests:
                anchored = self._measured is not None and not self._restarting
                self._target = FollowedTarget(T_base_tip, result, result.q if anchored else None)
                self._state = self._state_on_the_way()
        return result

    def stop(self) -> None:
        """Forget the target; the command comes to rest, and then there is none."""
        with self._lock:
            self._requests += 1
            self._target = None
            self._state = FollowerState.IDLE

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
                self._requests += 1
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
        target = self._target
        return target.result if target else None

    @property
    def target(self) -> tuple[np.ndarray, IkResult] | None:
        """The target that is followed: T_base_tip (4, 4), and the solver's answer for it."""
        target = self._target
        return (target.T_base_tip, target.result) if target else None

    @property
    def following_error(self) -> float | None:
        """How far the arm's worst joint is from its command [rad] or [m]; None without one."""
        with self._lock:
            if self._motion is None or self._measured is None:
                return None
            return float(np.abs(self._motion.q - self._measured).max())

    @property
    def immobile_joints(self) -> tuple[str, ...]:
        """The joints that are never moved, because their velocity limit is 0."""
        names = self._solver.chain.joint_names
        return tuple(name for name, speed in zip(names, self._speeds, strict=True) if speed <= 0)

    def tick(self, now: float) -> FollowerCommand | None:
        """
        Advance by one period of the rate.

        :param now: on the clock of :meth:`set_measured` [s].
        :returns: the command to publish; None to publish nothing.
        """
        with self._lock:
            self._drop_old_target(now)
            if self._target is None:
                return self._come_to_rest()
            if self._measured is None:
                self._state = FollowerState.NO_STATE
                return None
            if now - self._measured_at > self._settings.state_timeout:
                self._state = FollowerState.STATE_STALE
                self._target.goal = None
                self._restarting = True
            if self._restarting or self._target.goal is None:
                return self._come_to_rest()
            return self._follow(self._target)

    # Inside; with the lock held

    def _start_with(self, solver: NearbySolver) -> None:
        chain = solver.chain
        self._solver = solver
        self._limits = self._settings.motion_limits(chain)
        self._speeds = joint_speeds(chain)
        unlimited = np.isinf(chain.lower) & np.isinf(chain.upper)
        self._turn = np.where(unlimited, chain.arrays.turn, 0.0)
        self._measured: np.ndarray | None = None
        self._measured_at = 0.0
        self._target: FollowedTarget | None = None
        self._motion: JointMotion | None = None
        self._restarting = False
        self._behind, self._off = False, 0
        self._state = FollowerState.IDLE

    def _seeds(self) -> list[np.ndarray]:
        """Return where the next solution shall be near to: where the joints are, and will be."""
        chain, target = self._solver.chain, self._target
        if self._motion is None:
            here = chain.mid_range() if self._measured is None else self._measured
            return [np.clip(here, chain.lower, chain.upper)]
        seeds = [np.clip(self._motion.q, chain.lower, chain.upper)]
        return seeds if target is None or target.goal is None else [*seeds, target.goal]

    def _turned(self, q: np.ndarray, reference: np.ndarray) -> np.ndarray:
        """Put joints that turn for ever, which some drivers wrap, on the turn of a reference."""
        turn = np.where(self._turn > 0.0, self._turn, 1.0)
        return q + self._turn * np.round((reference - q) / turn)

    def _drop_old_target(self, now: float) -> None:
        if self._target is None:
            return
        if self._target.since is None:
            self._target.since = now
        allowed = self._settings.target_timeout
        if 0.0 < allowed < now - self._target.since:
            self._requests += 1
            self._target = None
            self._state = FollowerState.TARGET_TIMED_OUT

    def _come_to_rest(self) -> FollowerCommand | None:
        command = None
        if self._motion is not None:
            self._motion.move(None, self._limits)
            command = self._command(self._motion)
            if self._motion.at_rest:
                self._motion = None
        self._restarting = self._motion is not None
        return command

    def _follow(self, target: FollowedTarget) -> FollowerCommand | None:
        if self._motion is None:
            self._motion, self._behind, self._off = JointMotion(self._measured), False, 0
            target.goal = self._turned(target.goal, self._measured)
        lag = self._lag(self._motion) / self._settings.lag_limit
        self._behind = self._is_behind(self._motion, lag)
        if lag > 2.0:
            self._motion = target.goal = None
            self.restarts += 1
            return None
        self._motion.move(target.goal, self._limits, float(np.clip(2.0 - 2.0 * lag, 0.0, 1.0)))
        self._state = self._state_on_the_way()
        return self._command(self._motion)

    def _is_behind(self, motion: JointMotion, lag: float) -> bool:
        self._off = self._off + 1 if motion.at_rest and lag > _OFF else 0
        if self._off > _SETTLING_TIME * self._settings.rate:
            return True
        return lag > (_CAUGHT_UP if self._behind else _BEHIND)

    def _lag(self, motion: JointMotion) -> float:
        """Return the time that the arm needs at full speed to where the command is [s]."""
        movable = self._speeds > 0.0
        behind = np.abs(motion.q - self._measured)[movable] / self._speeds[movable]
        return float(behind.max(initial=0.0))

    def _state_on_the_way(self) -> FollowerState:
        target = self._target
        if self._behind and self._motion is not None:
            return FollowerState.LAGGING
        if not target.result.success:
            return FollowerState.UNREACHABLE
        if self._motion is None or target.goal is None:
            return FollowerState.FOLLOWING
        ahead = np.abs(target.goal - self._motion.q)
        movable = self._speeds > 0.0
        if ahead[movable].any():
            return FollowerState.FOLLOWING
        blocked = (ahead > _SAME_POSITION).any()
        return FollowerState.UNREACHABLE if blocked else FollowerState.REACHED

    def _command(self, motion: JointMotion) -> FollowerCommand:
        return FollowerCommand(motion.q.copy(), motion.step * self._settings.rate)
