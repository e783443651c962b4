"""Targets of several tips, and of tips with tolerances, as kernels take them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ik_service.common.quoting import safe_repr
from ik_service.exceptions import ArgumentError, OptionError
from ik_service.kinematics.pose_error import check_transform, check_transforms
from ik_service.kinematics.tree import KinematicTree, Tip
from ik_service.solvers.loop.tree.problem import SIZE
from ik_service.solvers.options import IkOptions
from ik_service.solvers.registry import solver_names, solver_spec, SolverSpec
from ik_service.solvers.task import BatchTargets, BLOCK_ROWS, Target, Task

_FLOAT = np.dtype(np.float64)
_SEARCHES_PER_TIP = 2
"""
Searches for each of several tips on common joints, relative to those for one tip: a restart that
helps one of them often loses another.
"""


class TreeTargets:
    """Targets of a tree."""

    def __init__(self, tree: KinematicTree) -> None:
        self._tips = tree.tips

    @staticmethod
    def relative_searches(work: Any) -> int:  # noqa: ANN401 - a TreeWorkspace
        """Return how many times as many searches there are as for one tip."""
        tips = int(work.groups[:, SIZE].max())
        return _SEARCHES_PER_TIP * tips if tips > 1 else 1

    def packed(self, targets: Target) -> np.ndarray:
        """
        Return targets as the kernels take them.

        :param targets: as for :meth:`~ik_service.Solver.solve`; for a single tip its target alone
            will do.
        :returns: (11t, 4), see :attr:`~ik_service.solvers.task.Task.block`.
        :raises ArgumentError: when a tip is missing or unknown, or a target is none.
        """
        targets = self._by_tip(targets)
        packed = np.zeros((BLOCK_ROWS * len(self._tips), 4))
        for i, tip in enumerate(self._tips):
            _pack(targets[tip], packed[BLOCK_ROWS * i :], tip)
        return packed

    def packed_many(self, targets: BatchTargets) -> np.ndarray:
        """
        Return the targets of a batch as the kernels take them.

        :param targets: mapping of every tip to (N, 4, 4), or to N matrices and tasks; for a single
            tip these alone will do.
        :returns: (N, 11t, 4).
        :raises ArgumentError: when a tip is missing or unknown, numbers differ, or a target is
            none; names the row.
        """
        targets = self._by_tip(targets)
        columns = {tip: _checked_column(targets[tip], tip) for tip in self._tips}
        counts = {tip: len(column) for tip, column in columns.items()}
        count = counts[self._tips[0]]
        for tip, other in counts.items():
            if other != count:
                raise ArgumentError(
                    'targets', f'of {safe_repr(tip)} are {other}, those of the first tip {count}'
                )
        packed = np.zeros((count, BLOCK_ROWS * len(columns), 4))
        for i, (tip, column) in enumerate(columns.items()):
            blocks = packed[:, BLOCK_ROWS * i : BLOCK_ROWS * (i + 1)]
            if isinstance(column, np.ndarray):
                blocks[:, :4] = column
                continue
            for row, target in enumerate(column):
                _pack(target, blocks[row], tip, row)
        return packed

    def _by_tip(self, targets: object) -> Mapping[Any, Any]:
        """Return the mapping of every tip to its target."""
        tips = self._tips
        if not isinstance(targets, Mapping):
            if len(tips) == 1:
                return {tips[0]: targets}
            raise ArgumentError(
                'target', f'has to be a mapping of tips to targets, not {safe_repr(targets)}'
            )
        for tip in tips:
            if tip not in targets:
                raise ArgumentError('target', f'is missing for the tip {safe_repr(tip)}')
        if len(targets) != len(tips):
            unknown = next(tip for tip in targets if tip not in tips)
            names = ', '.join(safe_repr(tip) for tip in tips)
            raise ArgumentError('target', f'for {safe_repr(unknown)}, no tip among {names}')
        return targets

    def check(self, packed: np.ndarray) -> None:
        """Check packed targets (11t, 4), as kernels do; raises ArgumentError, naming the tip."""
        for i, tip in enumerate(self._tips):
            first = BLOCK_ROWS * i
            check_transform(packed[first : first + 4], _argument(tip))


def _pack(target: Any, block: np.ndarray, tip: Tip, row: int | None = None) -> None:  # noqa: ANN401
    """Write a target to the beginning of a block; a matrix is checked in the kernel or before."""
    if target.__class__ is Task:
        block[:BLOCK_ROWS] = target.block
    elif (
        row is None
        and target.__class__ is np.ndarray
        and target.dtype is _FLOAT
        and target.shape == (4, 4)
    ):
        block[:4] = target
    else:
        index = '' if row is None else f'[{row}]'
        block[:4] = check_transform(target, _argument(tip) + index)


def _checked_column(targets: Any, tip: Tip) -> np.ndarray | Sequence[Any]:  # noqa: ANN401
    """Return the targets of a tip in a batch: an array of matrices, or a row with tasks in it."""
    if isinstance(targets, (list, tuple)) and any(isinstance(each, Task) for each in targets):
        return targets
    return check_transforms(targets, _argument(tip))


def _argument(tip: Tip) -> str:
    """Return the name of a tip's target in errors."""
    return f'target of {safe_repr(tip)}'


def check_tree_solver(spec: SolverSpec, options: IkOptions) -> None:
    """
    Check that a method solves trees, and that no option is given that is for chains.

    :param spec: the method.
    :raises OptionError: naming the methods that do, or the option.
    """
    if not spec.trees:
        able = ', '.join(name for name in solver_names() if solver_spec(name).trees)
        raise OptionError(
            'solver',
            f'{spec.name} solves for one exact pose; for several tips or tolerances: {able}',
        )
    if options.seed_source != 'given':
        raise OptionError('seed_source', 'is not for several tips or tolerances; give a seed')
    if options.objective is not None:
        raise OptionError('objective', 'is not for several tips or tolerances')
