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
from ik_service.following.continuous_solving import NearbySolver
from ik_service.following.pursuit import Pursuit
from ik_service.following.settings import (
    FollowerCommand,
    FollowerSettings,
    FollowerState,
)
from ik_service.following.targets import FollowedTarget, Targets
from ik_service.kinematics.pose import check_transform
from ik_service.solvers.result import IkResult
from ik_service.solvers.solver import Solver


class TargetFollower:
    """
    Commands that follow a target; thread-safe.

    Solving happens in the thread that brings the target or the joint state, outside the lock, so
    that :meth:`tick` never waits for it.

    :param solver: solves for the targets.
    :param settings: fields of :class:`FollowerSettings`; :meth:`tick` is called at its ``rate``.
    :raises OptionError: naming the setting whose value cannot be.
    """

    def __init__(self, solver: Solver, **settings: float) -> None:
        self._lock = threading.Lock()
        self._targets = Targets()
        self._solver = NearbySolver(solver)
        self._pursuit = Pursuit(solver.chain, FollowerSettings(**settings), self._targets)

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
            if not self._pursuit.arm.see(q, now, self._pursuit.stream.q):
                return
            target = self._targets.current
            busy = self._pursuit.stream.active
            if target is None or target.goal is not None or target.solving or busy:
                return
            target.solving = True
            version, solver, seeds = self._targets.version, self._solver, self._pursuit.seeds()
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
            refusal = self._pursuit.refusal()
            if refusal:
                raise TargetRefusedError(refusal)
            version, solver, seeds = self._targets.renew(), self._solver, self._pursuit.seeds()
        result = solver.solve(T_base_tip, seeds)
        with self._lock:
            if version == self._targets.version:
                goal = None if self._pursuit.arm.measured is None else result.q
                self._pursuit.follow(FollowedTarget(T_base_tip, result, goal))
        return result

    def stop(self) -> None:
        """Forget the target; the command comes to rest, and then there is none."""
        with self._lock:
            self._pursuit.stop()

    def enable(self, enabled: bool) -> bool:
        """
        Allow motion, or stop and refuse all targets until it is allowed again.

        A target that was dropped because of a fault is taken up again from where the arm is.

        :param enabled: whether motion is allowed.
        :returns: whether there is a target to move to now.
        :raises TargetRefusedError: when the dropped target may not be followed; it is kept.
        """
        with self._lock:
            self._pursuit.disabled = not enabled
            dropped = self._targets.dropped
        if not enabled:
            self.stop()
            return False
        if dropped is not None:
            self.set_target(dropped)
        elif self.state is FollowerState.DISABLED:
            self._pursuit.state = FollowerState.IDLE
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
            settings_now = replace(self._pursuit.settings, **settings)
            if nearby is not None and nearby.chain is not self._solver.chain:
                self._targets.forget()
                self._pursuit = Pursuit(nearby.chain, settings_now, self._targets)
            self._solver = nearby or self._solver
            self._pursuit.configure(settings_now)

    # What the outside asks

    @property
    def restarts(self) -> int:
        """How often something else moved the arm."""
        return self._pursuit.encounters

    @property
    def other_commander(self) -> str:
        """Who else commands the arm, to be set from outside; empty for nobody."""
        return self._pursuit.other_commander

    @other_commander.setter
    def other_commander(self, name: str) -> None:
        self._pursuit.other_commander = name

    @property
    def settings(self) -> FollowerSettings:
        """The settings in force."""
        return self._pursuit.settings

    @property
    def state(self) -> FollowerState:
        """What it is doing, as of the last tick or call."""
        return self._pursuit.state

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
            stream, measured = self._pursuit.stream, self._pursuit.arm.measured
            if not stream.active or measured is None:
                return None
            return float(np.abs(stream.q - measured).max())

    @property
    def active(self) -> bool:
        """Whether there are commands; without, the arm is left alone."""
        return self._pursuit.stream.active

    @property
    def violations(self) -> int:
        """How many commands the last gate had to change; 0 in a healthy system."""
        return self._pursuit.stream.gate.counts.total

    @property
    def state_fault(self) -> str:
        """Why the joint states cannot be relied on; empty when they can."""
        return self._pursuit.arm.reason

    @property
    def contradictory_states(self) -> bool:
        """Whether there must be two sources of joint states that contradict each other."""
        return self._pursuit.arm.contradictory

    @property
    def immobile_joints(self) -> tuple[str, ...]:
        """The joints that are never moved, because their velocity limit is 0."""
        names = self._solver.chain.joint_names
        return tuple(
            name for name, speed in zip(names, self._pursuit.speeds, strict=True) if speed <= 0
        )

    def tick(self, now: float) -> FollowerCommand | None:
        """
        Return the next command; to be called once in a period of the rate.

        :param now: on the clock of :meth:`set_measured` [s].
        :returns: the command to publish; None to publish nothing.
        """
        with self._lock:
            return self._pursuit.tick(now)

    def sent(self, delay: float) -> None:
        """
        Note how long it took to send the command of the last tick.

        :param delay: from the tick to the end of sending [s].
        """
        with self._lock:
            self._pursuit.stream.sent(delay, 1.0 / self._pursuit.settings.rate)

    def take_back(self, delay: float) -> bool:
        """
        Forget the command of the last tick if it comes too late to be sent.

        That happens when the process was stopped after it had reckoned the command: the arm has
        come to rest meanwhile.

        :param delay: since the tick [s].
        :returns: whether it is forgotten; then :meth:`tick` is to be called again.
        """
        with self._lock:
            return self._pursuit.stream.take_back(delay, 1.0 / self._pursuit.settings.rate)
