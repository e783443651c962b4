"""State of a follower, as others may read it."""

from __future__ import annotations

import threading

import numpy as np

from ik_service.following.aim import Aim
from ik_service.following.aim_store import AimStore
from ik_service.following.motion_limits import MotionLimits
from ik_service.following.nearby_solver import NearbySolver
from ik_service.following.settings import FollowerSettings, FollowerState
from ik_service.following.state_machine import FollowerStateMachine
from ik_service.solvers.result import IkResult


class FollowerStatus:
    """State of a :class:`~ik_service.following.target_follower.TargetFollower`, its base."""

    _lock: threading.Lock
    _aims: AimStore
    _solver: NearbySolver
    _machine: FollowerStateMachine

    @property
    def displacements(self) -> int:
        """How often something else moved the arm."""
        return self._machine.displacements

    @property
    def other_motions(self) -> int:
        """Number of motions so far that were not for a target: trajectories, and servo motions."""
        return self._aims.others

    @property
    def other_commander(self) -> str:
        """Name of somebody else who commands the arm, to be set by the owner; empty for nobody."""
        return self._machine.admission.other_commander

    @other_commander.setter
    def other_commander(self, name: str) -> None:
        self._machine.admission.other_commander = name

    @property
    def settings(self) -> FollowerSettings:
        """The settings in force."""
        return self._machine.settings

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
        """The answer of the solver for the target, also when the arm is left there; or None."""
        target = self._aims.target
        return target.result if target else self._aims.released

    @property
    def target(self) -> tuple[np.ndarray, IkResult] | None:
        """The target that is followed: T_base_tip (4, 4), and the solver's answer for it."""
        target = self._aims.target
        return (target.T_base_tip, target.result) if target else None

    @property
    def drop_reason(self) -> str:
        """Why the last target was dropped; empty when none was, or another one is followed."""
        return self._aims.reason

    @property
    def obstacle(self) -> str:
        """What the commands have stopped before; empty for nothing."""
        aim = self._aims.current
        return aim.obstacle if aim else ''

    @property
    def aim(self) -> Aim | None:
        """What the commands are for; None without."""
        return self._aims.current

    @property
    def motion(self) -> tuple[np.ndarray, np.ndarray] | None:
        """
        Motion that steps of aims are for: (n,) positions and (n,) velocities; None at rest.

        In [rad] or [m], and [rad/s] or [m/s].
        """
        with self._lock:
            stream, limits = self._machine.stream, self._machine.limits
            if not stream.active or stream.at_rest:
                return None
            q, speed = stream.leading
            return q.copy(), speed * limits.velocity

    @property
    def claim(self) -> str:
        """Why nothing may move the arm although nothing is followed; empty when it may."""
        return self._aims.claim

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
        """Whether there are neither an aim nor commands."""
        return self._aims.current is None and not self._machine.stream.active

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
        """Whether two sources publish joint states that contradict each other."""
        return self._machine.arm.contradictory

    @property
    def immobile_joints(self) -> tuple[str, ...]:
        """The joints that are never moved, because their velocity limit is 0."""
        names = self._solver.chain.joint_names
        return tuple(
            name for name, speed in zip(names, self._machine.speeds, strict=True) if speed <= 0
        )
