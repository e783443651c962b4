"""
Steps of redundant arms after a target that moves, which spare joints: slow ones, and at limits.

Of all steps that move the tip alike, the one with the least weighted sum of squares is taken, in
which joints weigh the more the nearer they come to a limit: others then move instead. T. F. Chan
and R. V. Dubey, "A weighted least-norm solution based scheme for avoiding joint limits for
redundant joint manipulators", IEEE Transactions on Robotics and Automation 11 (1995) 286–292,
with weights of our own. What a joint cannot do at its limit the tip would have to leave its way
for, long after the joint could have been spared. Likewise a joint that is much slower than the
others, such as a lift, weighs the more the slower it is: else the tip would wait for it.
"""

from __future__ import annotations

import math

import numpy as np

from ik_service.following.led_ways import NEAR
from ik_service.following.limit_kernels import least_weighted_step
from ik_service.following.motion_limits import largest
from ik_service.kinematics.entry import entry_point
from ik_service.solvers.result import IkResult
from ik_service.solvers.solver import Solver

_ASIDE = 0.5
"""Distance of the solution from where the step leads, as a share of the step, at most."""

_SLOW = 0.25
"""Velocity limit, as a share of the highest, below which a joint is spared."""

_HEAVIEST = 1e-3
"""One over the weight that slower ones have."""

_STRIDE = 0.02
"""Motion of a joint from one posture to the next on a way that spares slow ones [rad] or [m]."""

_SOONER = 0.8
"""Share of the time that such a way has to need at most."""

_ROUNDING = 1e-4
"""Distance that counts as none there [rad] or [m]."""


class NextSolver:
    """
    Solver for the next pose of a target that moves, from the solution for the one before.

    :ivar beside: the search beside a posture, of :class:`.nearby_solver.NearbySolver`.
    """

    def __init__(self, beside: Solver) -> None:
        self.beside = beside
        chain, options = beside.chain, beside.options
        weights = np.sqrt(options.task_weights)
        self._redundant = np.count_nonzero(weights) < chain.n
        self._farthest = options.max_joint_motion or np.inf
        joints = len(chain.arrays.variables)
        ease = _ease(chain.velocity)
        self._has_slow = self._redundant and bool((ease < 1.0).any())
        shapes = (joints, 6), (12,), (chain.n, 6), (chain.n,), (6, 8)
        scratch = (np.empty(shape) for shape in shapes)
        self._around = weights, chain.lower, chain.upper, ease, *scratch
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

    def sooner(self, direct: IkResult, T_base_target: np.ndarray, start: np.ndarray) -> IkResult:
        """
        Return a solution that is reached clearly sooner, for a pose that may be far away.

        The tip goes to it on the way that a direct one takes, and slow joints are spared.

        :param direct: that solution; returned where there is no better one.
        :param T_base_target: (4, 4) pose of the tip.
        :param start: (n,) where the arm is [rad] or [m].
        """
        steps = math.ceil(largest(np.abs(direct.q - start)) / _STRIDE) if self._has_slow else 0
        if steps < 2:
            return direct
        chain, last = self.beside.chain, start
        for share in np.arange(1, steps) / steps:
            result = self.solve(chain.forward(start + share * (direct.q - start)), last)
            if not result.success:
                return direct
            last = result.q
        found = self.solve(T_base_target, last)
        quick = self._duration(found.q - start) < _SOONER * self._duration(direct.q - start)
        near = largest(np.abs(found.q - start)) <= self._farthest
        return found if found.success and quick and near else direct

    def _duration(self, motion: np.ndarray) -> float:
        """Return how long a motion (n,) takes at least [s]."""
        velocity = self.beside.chain.velocity
        return largest(np.abs(motion[velocity > 0.0]) / velocity[velocity > 0.0])

    def _sparing(self, T_base_target: np.ndarray, last: np.ndarray) -> IkResult | None:
        """Return a solution after a step that spares limits; None where that is no different."""
        # Copies: the machine code is for arrays of one kind.
        goal, guess = T_base_target.copy(), last.copy()
        size = self._step(self.beside.chain.arrays, goal, *self._around, guess)
        if not 0.0 < size <= NEAR:
            return None
        result = self.beside.solve(T_base_target, guess)
        near = largest(np.abs(result.q - guess)) <= _ASIDE * size + _ROUNDING
        near = near and largest(np.abs(result.q - last)) <= self._farthest
        return result if result.success and near else None


def _ease(velocity: np.ndarray) -> np.ndarray:
    """
    Return one over the weights of joints (n,) that are far from their limits.

    :param velocity: (n,) velocity limits [rad/s] or [m/s]; inf for none.
    """
    moving = np.isfinite(velocity) & (velocity > 0.0)
    if not moving.any():
        return np.ones(len(velocity))
    share = velocity / (_SLOW * velocity[moving].max())
    return np.where(moving, np.clip(share * share, _HEAVIEST, 1.0), 1.0)
