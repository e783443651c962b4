"""Compilation, or loading, of the kernels of paths before the first one is searched for."""

from __future__ import annotations

from typing import Any

import numpy as np

from ik_service.jit.entry import entry_point, KernelUser
from ik_service.kinematics.chain import KinematicChain
from ik_service.kinematics.link_poses import tip_poses
from ik_service.kinematics.pose_error import pose_error
from ik_service.kinematics.tree import KinematicTree
from ik_service.paths.search.path_solver import PathOptions, solve_path
from ik_service.paths.search.problem import PathProblem, row_errors
from ik_service.paths.search.search import free_starts
from ik_service.paths.timing.timing import time_path
from ik_service.paths.timing.timing_kernels import segment_excess
from ik_service.solvers.all_solutions.elimination import elimination_arguments, elimination_starts
from ik_service.solvers.all_solutions.finder import needs_elimination
from ik_service.solvers.batch import batch_targets
from ik_service.solvers.options import IkOptions
from ik_service.solvers.registry import DEFAULT_SOLVER
from ik_service.solvers.solver import prepared
from ik_service.solvers.task import BatchTargets

# Any arm of two joints or more has self-motions for it, which are smoothed.
_LITTLE = PathOptions(ik=IkOptions(task_weights=(1.0, 0.0, 0.0, 0.0, 0.0, 0.0)))
# Time for a list of solutions, of which one is enough [s].
_SHORT = 1e-3


class PathKernels(KernelUser):
    """
    Kernels of the search for paths.

    They depend on whether they are for chains or for trees, and on the arm only in that some need
    the elimination that finds all solutions.

    :param eliminates: whether to prepare the elimination also where the chain does not need it.
    :ivar chain: the chain or the tree.
    :ivar eliminates: whether the elimination is one of the kernels.
    :ivar name: of the solver, for messages.
    """

    name = 'the search for paths'

    def __init__(self, chain: KinematicChain | KinematicTree, eliminates: bool = False) -> None:
        self.chain = chain
        self.eliminates = eliminates or (
            isinstance(chain, KinematicChain) and needs_elimination(chain)
        )
        self._posture = chain.middle
        poses: Any = chain.forward(self._posture)
        tree = isinstance(chain, KinematicTree)
        self._targets = {tip: T[None] for tip, T in poses.items()} if tree else poses[None]

    def kernels(self) -> list[tuple]:
        """Return the kernel that runs last, and that of the elimination where it is one."""
        problem, errors = self._problem(), np.empty((1, 2))
        q = np.empty((1, self.chain.n))
        last = row_errors, problem.kernel_arrays(), problem.targets, q, errors
        eliminates = [(elimination_starts, *elimination_arguments())] if self.eliminates else []
        return [last, *eliminates]

    def warm_up(self) -> None:
        """Compile them, or load them from the cache."""
        if self.eliminates:
            entry_point(elimination_starts, *elimination_arguments())
        problem = self._problem(_SHORT)
        problem.solver.warm_up()
        pose_error(np.eye(4), np.eye(4))  # by which the end of a path is explained
        free_starts(problem, self._posture)
        # The last kernel that runs there is the one by which they are recognised.
        solve_path(self.chain, self._times(3), self._posture, _LITTLE, end=self._posture)

    def _problem(self, timeout: float = 1.0) -> PathProblem:
        solver, targets = batch_targets(
            prepared(self.chain, DEFAULT_SOLVER, _LITTLE.ik), self._times(1)
        )
        return PathProblem(solver, targets, _LITTLE.max_step, timeout=timeout)

    def _times(self, rows: int) -> BatchTargets:
        """Return a path that stays at one target."""
        if isinstance(self._targets, dict):
            return {tip: np.repeat(T, rows, axis=0) for tip, T in self._targets.items()}
        return np.repeat(self._targets, rows, axis=0)


class CartesianPathKernels(PathKernels):
    """
    Kernels of straight paths: of the search and of the timing.

    :param eliminates: whether to prepare the elimination also where the chain does not need it.
    """

    chain: KinematicChain
    name = 'the search for paths and their timing'

    def kernels(self) -> list[tuple]:
        """Return those of the search, and the kernel of the timing that runs last."""
        points, limits = np.empty((2, 1)), np.empty(1)
        arguments = np.empty(2), points, points, points, limits, limits, np.empty((1, 2))
        return [*super().kernels(), (segment_excess, *arguments)]

    def warm_up(self) -> None:
        """Compile them, or load them from the cache."""
        super().warm_up()
        chain = self.chain
        room = np.minimum(chain.upper - self._posture, 0.1)
        rows = self._posture + np.linspace(0.0, 1.0, 5)[:, None] * room
        targets = tip_poses(chain, rows)
        still = np.where(chain.velocity > 0.0, rows, rows[0])  # of joints that cannot move
        time_path(chain, still, jerk=1.0)
        time_path(chain, still, targets=targets, cartesian_speed=1.0)
        time_path(chain, still)
