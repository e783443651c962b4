"""Inverse kinematics of several tips, and of targets with tolerances."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NoReturn

import numpy as np
from numpy.typing import ArrayLike

from ik_service.common.quoting import safe_repr
from ik_service.exceptions import ArgumentError, OptionError
from ik_service.kinematics.pose_error import check_transform
from ik_service.kinematics.tree import KinematicTree, Tip
from ik_service.model.part_names import listed
from ik_service.solvers.loop.tree.problem import allocate_tree, tree_views
from ik_service.solvers.solver import Solver
from ik_service.solvers.task import BLOCK_ROWS, Task

_FLOAT = np.dtype(np.float64)


class TreeSolver(Solver):
    """Solver for a tree; :class:`~ik_service.Solver` makes one when it is given a tree."""

    chain: KinematicTree
    _allocate, _views = staticmethod(allocate_tree), staticmethod(tree_views)

    def solve(self, target, seed=None, timeout=None):
        return super().solve(self.packed(target), seed, timeout)

    def packed(self, targets) -> np.ndarray:
        tips = self.chain.tips
        packed = np.zeros((BLOCK_ROWS * len(tips), 4))
        for i, tip in enumerate(tips):
            target = targets[tip]
            first = BLOCK_ROWS * i
            if target.__class__ is Task:
                packed[first : first + BLOCK_ROWS] = target.block
            else:
                packed[first : first + 4] = target
        return packed
