"""Targets of a batch, as the kernels take them."""

from __future__ import annotations

import numpy as np

from ik_service.kinematics.pose_error import check_transforms
from ik_service.kinematics.tree import KinematicTree
from ik_service.solvers.solver import Solver
from ik_service.solvers.task import BatchTargets, Task


def batch_targets(solver: Solver, targets: BatchTargets) -> tuple[Solver, np.ndarray]:
    """
    Return the solver for some targets, and the targets as its kernels take them.

    :param solver: the solver of the chain or the tree.
    :param targets: (N, 4, 4), a list with tasks in it, or a mapping of the tips of a tree to
        these.
    :returns: the solver, for a chain with tasks that of its tree of one tip; and an array whose
        rows are targets.
    :raises ArgumentError: when a target is none; names the row, and the tip of a tree.
    """
    if isinstance(targets, (list, tuple)) and any(isinstance(each, Task) for each in targets):
        solver = solver.with_tolerances
    if isinstance(solver.chain, KinematicTree):
        return solver, solver.packed_many(targets)  # type: ignore[attr-defined]  # a TreeSolver
    return solver, check_transforms(targets, 'targets')  # type: ignore[arg-type]  # checked
