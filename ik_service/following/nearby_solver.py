"""Solver for a moving arm, which stays in the present configuration where it can."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
import math

import numpy as np

from ik_service.following.limit_avoidance import NextSolver
from ik_service.kinematics.pose_error import pose_error
from ik_service.solvers.options import IkOptions
from ik_service.solvers.registry import DEFAULT_SOLVER
from ik_service.solvers.result import IkResult
from ik_service.solvers.solver import Solver

_CLEARLY_NEARER = 0.5
"""Share of the error below which the nearest pose of another configuration is preferred."""

_AS_NEAR = 1e-3
"""Error up to which the pose in the present configuration is near enough [m, rad]."""


class NearbySolver:
    """
    Solver that stays in the arm's present configuration wherever it can.

    The search that starts at the seed comes first, and its solution is taken whatever others
    there are, unless the arm gets to another one beside it clearly sooner, as one with slow joints
    does that it can spare. Only when it fails restarts are tried, and of their solutions the
    nearest is taken. A target out of reach has no solution at all. Then the pose error is
    descended from the seed, which ends at the nearest pose of the present configuration and moves
    smoothly when the target does. Another configuration has to be clearly nearer.

    Joint limits are kept even if the solver is told to ignore them, and so is the bound on the
    motion of the joints: a target whose solutions all lie beyond it is one out of reach, and the
    goal is the nearest pose inside. All kernels that may be needed
    are compiled by the constructor.

    :param solver: method and options.
    :ivar chain: the chain of the solver.
    :ivar beside: the search that starts at the seed; it keeps the joint limits.
    :ivar next: solver for the poses of a target that moves.
    """

    def __init__(self, solver: Solver) -> None:
        self.chain = chain = solver.chain
        options = solver.options
        if options.joint_limits == 'ignore':
            options = replace(options, joint_limits=IkOptions.joint_limits)
        self.beside = Solver(chain, solver.name, replace(options, max_searches=1, prefer='first'))
        self.next = NextSolver(self.beside)
        self._anywhere = Solver(chain, solver.name, replace(options, prefer='nearest'))
        # After one step the search is over, and the solver's approach to the closest pose begins.
        self._bounded = options.max_joint_motion is not None
        self._descent = Solver(
            chain,
            DEFAULT_SOLVER,
            IkOptions(
                position_tolerance=options.position_tolerance,
                orientation_tolerance=options.orientation_tolerance,
                task_weights=options.task_weights,
                max_joint_motion=options.max_joint_motion,
                max_iterations=1,
                max_searches=1,
                timeout=options.timeout,
            ),
        )
        for prepared in (self.beside, self._descent):
            prepared.warm_up()

    def solve(self, T_base_target: np.ndarray, seeds: Sequence[np.ndarray]) -> IkResult:
        """
        Return a solution near the seeds, or the nearest pose found.

        :param T_base_target: (4, 4) pose of the tip.
        :param seeds: (n,) each: where the arm is, and where it is on its way to [rad] or [m]; the
            one whose tip is nearest to the target is taken.
        :raises ArgumentError: when one of them has another shape or is not finite.
        """
        seed = min(seeds, key=lambda q: self._distance(q, T_base_target))
        beside = self.beside.solve(T_base_target, seed)
        if beside.success:
            return self.next.sooner(beside, T_base_target, seed)
        anywhere = self._anywhere.solve(T_base_target, seed)
        if anywhere.success:
            return anywhere
        here = self._descent.solve(T_base_target, seed)
        # From there on the bound, which is one from the seed, would be one from `anywhere`.
        there = anywhere if self._bounded else self._descent.solve(T_base_target, anywhere.q)
        stay = _error(here) <= max(_error(there) / _CLEARLY_NEARER, _AS_NEAR)
        return replace(here if stay else there, status=anywhere.status)

    def _distance(self, q: np.ndarray, T_base_target: np.ndarray) -> float:
        return float(np.linalg.norm(pose_error(self.chain.forward(q), T_base_target)))


def _error(result: IkResult) -> float:
    """Return the length of the pose error, with 1 m as bad as 1 rad."""
    return math.hypot(result.position_error, result.orientation_error)
