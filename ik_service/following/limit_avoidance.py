"""
Steps of redundant arms after a target that moves, on which joints keep away from their limits.

Of all steps that move the tip alike, the one with the least weighted sum of squares is taken, in
which joints weigh the more the nearer they come to a limit: others then move instead. T. F. Chan
and R. V. Dubey, "A weighted least-norm solution based scheme for avoiding joint limits for
redundant joint manipulators", IEEE Transactions on Robotics and Automation 11 (1995) 286–292,
with weights of our own. What a joint cannot do at its limit the tip would have to leave its way
for, long after the joint could have been spared.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ik_service.following.led_ways import NEAR
from ik_service.following.limit_kernels import HALF, least_weighted_step, LOWER, MIDDLE, UPPER
from ik_service.following.motion_limits import largest
from ik_service.kinematics.chain import KinematicChain
from ik_service.kinematics.entry import entry_point
from ik_service.solvers.options import IkOptions
from ik_service.solvers.result import IkResult
from ik_service.solvers.solver import Solver

_ASIDE = 0.5
"""Distance of the solution from where the step leads, as a share of the step, at most."""

_ROUNDING = 1e-4
"""Distance that counts as none there [rad] or [m]."""


class NextSolver:
    """
    Solver for the next pose of a target that moves, from the solution for the one before.

    :param solver: method and options; limits that those ignore are kept.
    :ivar chain: the chain of the solver.
    """

    def __init__(self, solver: Solver) -> None:
        self.chain = chain = solver.chain
        options = replace(solver.options, max_searches=1, prefer='first')
        if options.joint_limits == 'ignore':
            options = replace(options, joint_limits=IkOptions.joint_limits)
        self.beside = Solver(chain, solver.name, options)
        weights = np.sqrt(options.task_weights)
        self._redundant = np.count_nonzero(weights) < chain.n
        self._farthest = options.max_joint_motion or np.inf
        joints = len(chain.arrays.variables)
        shapes = (joints, 6), (12,), (chain.n, 6), (chain.n,), (6, 8)
        self._around = weights, _ranges(chain), *(np.empty(shape) for shape in shapes)
        self.beside.warm_up()
        if self._redundant:
            examples = np.eye(4), *self._around, chain.middle.copy()
            self._step = entry_point(least_weighted_step, chain.arrays, *examples)

    def solve(self, T_base_target: np.ndarray, last: np.ndarray) -> IkResult:
        """
        Return the result of the search beside the last solution.

        :param T_base_target: (4, 4) pose of the tip.
        :param last: (n,) the last solution [rad] or [m].
        """
        if self._redundant:
            sparing = self._sparing(T_base_target, last)
            if sparing is not None:
                return sparing
        return self.beside.solve(T_base_target, last)

    def position(self, T_base_target: np.ndarray, last: np.ndarray) -> np.ndarray | None:
        """
        Return the solution (n,) beside the last one; None when there is none.

        :param T_base_target: (4, 4) pose of the tip.
        :param last: (n,) the last solution [rad] or [m].
        """
        result = self.solve(T_base_target, last)
        return result.q if result.success else None

    def _sparing(self, T_base_target: np.ndarray, last: np.ndarray) -> IkResult | None:
        """Return a solution after a step that spares limits; None where that is no different."""
        # Copies: the machine code is for arrays of one kind.
        goal, guess = T_base_target.copy(), last.copy()
        size = self._step(self.chain.arrays, goal, *self._around, guess)
        if not 0.0 < size <= NEAR:
            return None
        result = self.beside.solve(T_base_target, guess)
        near = largest(np.abs(result.q - guess)) <= _ASIDE * size + _ROUNDING
        near = near and largest(np.abs(result.q - last)) <= self._farthest
        return result if result.success and near else None


def _ranges(chain: KinematicChain) -> np.ndarray:
    """Return the ranges of joints, as the kernel takes them."""
    ranges = np.empty((4, chain.n))
    limited = np.isfinite(chain.lower) & np.isfinite(chain.upper)
    ranges[LOWER], ranges[UPPER] = chain.lower, chain.upper
    ranges[MIDDLE], ranges[HALF] = 0.0, np.inf
    lower, upper = chain.lower[limited], chain.upper[limited]
    ranges[MIDDLE, limited] = 0.5 * (lower + upper)
    ranges[HALF, limited] = np.maximum(0.5 * (upper - lower), _ROUNDING)
    return ranges
