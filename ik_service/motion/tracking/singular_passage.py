"""
Solutions for a target that moves, which stay on its way where the joints cannot simply follow.

The next solution is looked for beside the last one, and away from joint limits. Where it lies
farther away, at a singular posture or at a limit, the joints are led to it: along motions that
leave the tip at its pose where there are such (self-motions of redundant arms), or else at its
place, while it turns. Where neither is possible, the least error in the present configuration is
kept. After a while any other configuration is led to, or else that is gone to straight away on
whose way the tip swings least.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ik_service.kinematics.chain import KinematicChain
from ik_service.kinematics.pose_error import pose_error
from ik_service.motion.tracking.led_ways import NEAR, straight_way, WaySearch
from ik_service.motion.tracking.nearby_solver import NearbySolver
from ik_service.solvers.options import IkOptions
from ik_service.solvers.registry import DEFAULT_SOLVER
from ik_service.solvers.result import IkResult, IkStatus
from ik_service.solvers.solver import Solver

_POSITION_ONLY = (1.0, 1.0, 1.0, 0.0, 0.0, 0.0)

_TURN = 0.1
"""Weight of turning beside moving, where the tip cannot keep its pose."""

_STARTS, _LOOKS = 24, 9
"""Searches for other configurations, where nothing leads to the nearest one; looks at the way."""

_SAME = 0.1
"""Distance of postures that count as one configuration [rad] or [m]."""


@dataclass(frozen=True)
class Way:
    """
    Way of the joints to where a target is now.

    :ivar result: the solution, or the nearest pose.
    :ivar points: (k, n) postures one after the other [rad] or [m]; the last one is the result's.
    :ivar changes: whether they lead to another configuration.
    """

    result: IkResult
    points: np.ndarray
    changes: bool = False


class SingularPassage:
    """
    Solver for the next pose of a target that moves.

    :param solver: method and options.
    :param nearby: solver for targets that are put anywhere.
    :ivar next: solver for the poses that come next.
    """

    def __init__(self, solver: Solver, nearby: NearbySolver) -> None:
        self._nearby = nearby
        self._chain = solver.chain
        self.next, self._beside = nearby.next, nearby.beside
        options = self._beside.options
        bound = min(options.max_joint_motion or NEAR, NEAR)
        weights = np.array(options.task_weights)
        placed = tuple(weights * _POSITION_ONLY)
        near = replace(options, max_joint_motion=bound)
        self._bounded = Solver(solver.chain, solver.name, near)
        rough = tuple(weights * [1.0, 1.0, 1.0, _TURN, _TURN, _TURN])
        limits = IkOptions(
            task_weights=rough, max_joint_motion=bound, max_searches=1, max_iterations=30
        )
        self._least = Solver(solver.chain, DEFAULT_SOLVER, limits)
        self._leaders = [self._beside]
        if any(placed):
            free = replace(options, task_weights=placed)
            self._leaders.append(Solver(solver.chain, solver.name, free))
        for prepared in (self._bounded, self._least, *self._leaders):
            prepared.warm_up()
        self._starts = _postures(solver.chain)
        self._off_since: float | None = None

    def solve(
        self, T_base_target: np.ndarray, last: np.ndarray, at: float, patience: float
    ) -> Way:
        """
        Return the way to the next pose.

        :param T_base_target: (4, 4) pose of the tip.
        :param last: (n,) where the way up to now ends [rad] or [m].
        :param at: time of the target, on a monotonic clock [s].
        :param patience: time for which the present configuration is kept though the target cannot
            be reached in it [s].
        """
        beside = self.next.solve(T_base_target, last)
        if beside.success and np.abs(beside.q - last).max() <= NEAR:
            return self._straight(beside)
        bounded = self._bounded.solve(T_base_target, last)
        if bounded.success:
            return self._straight(bounded)
        other = beside if beside.success else self._nearby.solve(T_base_target, [last])
        if not other.success:
            return self._straight(other)
        led = self._led_to(other, T_base_target, last)
        if led is not None:
            self._off_since = None
            return led
        if self._off_since is None:
            self._off_since = at
        if at - self._off_since < patience:
            return self._kept(T_base_target, last, other)
        self._off_since = None
        return self._way_elsewhere(other, T_base_target, last)

    def reset(self) -> None:
        """Begin with another motion of the target."""
        self._off_since = None

    def _straight(self, result: IkResult) -> Way:
        self._off_since = None
        return Way(result, result.q[None])

    def _kept(self, T_base_target: np.ndarray, last: np.ndarray, other: IkResult) -> Way:
        """Return the way to the nearest pose that needs no leap."""
        q = self._least.solve(T_base_target, last).q
        error = pose_error(self._chain.forward(q), T_base_target)
        least = replace(
            other,
            status=IkStatus.NO_SOLUTION,
            q=q,
            position_error=float(np.linalg.norm(error[:3])),
            orientation_error=float(np.linalg.norm(error[3:])),
        )
        return Way(least, q[None])

    def _led_to(self, end: IkResult, T_base_target: np.ndarray, start: np.ndarray) -> Way | None:
        """Return the way on which the tip keeps its pose, or else its place; None for none."""
        for leader in self._leaders:
            points = straight_way(leader, T_base_target, start, end.q)
            if points is not None:
                return Way(end, points, changes=True)
        return None

    def _way_elsewhere(
        self, nearest: IkResult, T_base_target: np.ndarray, start: np.ndarray
    ) -> Way:
        """Return a way to any other configuration, led or else with the least swing of the tip."""
        found = [nearest]
        for seed in self._starts:
            result = self._beside.solve(T_base_target, seed)
            if result.success and all(np.abs(result.q - f.q).max() > _SAME for f in found):
                found.append(result)
        found.sort(key=lambda f: float(np.abs(f.q - start).max()))
        for end in found:
            led = None if end is nearest else self._led_to(end, T_base_target, start)
            if led is not None:
                return led
        if len(self._leaders) > 1:
            search = WaySearch(self._leaders[-1], T_base_target)
            points = search.way(start, np.array([end.q for end in found]))
            if points is not None:
                end = next(end for end in found if np.array_equal(end.q, points[-1]))
                return Way(end, points, changes=True)
        end = min(found, key=lambda f: self._swing(start, f.q))
        return Way(end, end.q[None], changes=True)

    def _swing(self, start: np.ndarray, end: np.ndarray) -> float:
        """Return how far the tip gets from its end on the straight way of the joints [m]."""
        ways = (start + share * (end - start) for share in np.linspace(0.0, 1.0, _LOOKS))
        tips = np.array([self._chain.forward(q)[:3, 3] for q in ways])
        return float(np.linalg.norm(tips - tips[-1], axis=1).max())


def _postures(chain: KinematicChain) -> np.ndarray:
    """Return postures (k, n) all over the ranges of the joints [rad] or [m]."""
    lower, upper = chain.sampling_bounds()
    return np.random.default_rng(0).uniform(lower, upper, (_STARTS, chain.n))
