"""Inverse kinematics of several tips, and of targets with tolerances."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from ik_service.common.quoting import safe_repr
from ik_service.exceptions import ArgumentError, OptionError
from ik_service.kinematics.pose_error import check_transform, check_transforms
from ik_service.kinematics.tree import KinematicTree, Tip
from ik_service.solvers.collision_test import Collisions, CollisionTest
from ik_service.solvers.loop.tree.problem import allocate_tree, tree_views
from ik_service.solvers.options import IkOptions
from ik_service.solvers.registry import DEFAULT_SOLVER, solver_names, solver_spec
from ik_service.solvers.result import IkResult
from ik_service.solvers.solver import SeedGuess, solve_free, Solver
from ik_service.solvers.task import BatchTargets, BLOCK_ROWS, Target, Task

_FLOAT = np.dtype(np.float64)


class TreeSolver(Solver):
    """
    Method prepared for a tree; :class:`~ik_service.Solver` makes one when it is given a tree.

    :ivar chain: the tree.
    """

    chain: KinematicTree
    _allocate: Callable = staticmethod(allocate_tree)
    views: Callable = staticmethod(tree_views)

    def __init__(
        self,
        chain: KinematicTree,
        solver: str = DEFAULT_SOLVER,
        options: IkOptions | None = None,
        guess: SeedGuess | None = None,
        collisions: Collisions | CollisionTest | None = None,
    ) -> None:
        """
        Prepare a solver.

        :param chain: the tree to solve for.
        :param solver: one of :func:`~ik_service.solver_names` that solves trees.
        :param options: options; the defaults when left out.
        :param guess: None: there are no guesses for trees.
        :param collisions: what the answers must be free of.
        :raises UnknownSolverError: listing the valid names.
        :raises OptionError: when the method does not solve trees, or an option is not for trees.
        :raises ArgumentError: when there is a guess.
        """
        if guess is not None:
            raise ArgumentError('guess', 'has to be None for several tips or tolerances')
        _check_method(solver)
        if isinstance(options, IkOptions):
            _check_options(options)
        super().__init__(chain, solver, options, collisions=collisions)

    def solve(
        self,
        target: Target,
        seed: ArrayLike | None = None,
        timeout: float | None = None,
        collisions: Collisions | CollisionTest | None = None,
    ) -> IkResult:
        """
        Find joint positions that put all tips at their targets.

        :param target: mapping of every tip to its target: (4, 4), or a :class:`~ik_service.Task`.
        :param seed: (n,) where the search starts [rad] or [m]; mid-range when left out.
        :param timeout: time for this solve [s], instead of the options'.
        :param collisions: what the answer must be free of, instead of the solver's.
        :returns: the best joint vector found; its errors are the largest of a tip, and 0 within
            its tolerances.
        :raises ArgumentError: when a tip is missing or unknown; otherwise as
            :meth:`Solver.solve`.
        """
        if collisions is None:
            collisions = self.collisions
        if collisions is not None:
            return solve_free(self, target, seed, timeout, collisions)
        return super().solve(self.packed(target), seed, timeout)

    def start_for(self, target: Target) -> np.ndarray:
        """
        Return the start of a solve that is given no seed.

        :param target: as for :meth:`solve`.
        :returns: (n,) mid-range [rad] or [m].
        """
        self._check_targets(self.packed(target))
        return self.chain.mid_range()

    def packed(self, targets: Target) -> np.ndarray:
        """
        Return targets as the kernels take them.

        :param targets: as for :meth:`solve`; for a single tip its target alone will do.
        :returns: (11t, 4), see :attr:`~ik_service.solvers.task.Task.block`.
        :raises ArgumentError: when a tip is missing or unknown, or a target is none.
        """
        targets = self._by_tip(targets)
        packed = np.zeros((BLOCK_ROWS * len(self.chain.tips), 4))
        for i, tip in enumerate(self.chain.tips):
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
        columns = {tip: _checked_column(targets[tip], tip) for tip in self.chain.tips}
        counts = {tip: len(column) for tip, column in columns.items()}
        count = counts[self.chain.tips[0]]
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
        tips = self.chain.tips
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

    def _refuse(self, target: Target, seed: ArrayLike) -> NoReturn:
        self._check_targets(np.asarray(target))
        self.chain.check_q(seed, 'seed')
        raise AssertionError('a kernel refused arguments that are in order')

    def _check_targets(self, packed: np.ndarray) -> None:
        """Check the poses of packed targets, which kernels check otherwise."""
        for i, tip in enumerate(self.chain.tips):
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
        place = '' if row is None else f'[{row}]'
        block[:4] = check_transform(target, _argument(tip) + place)


def _checked_column(targets: Any, tip: Tip) -> np.ndarray | Sequence[Any]:  # noqa: ANN401
    """Return the targets of a tip in a batch: an array of matrices, or a row with tasks in it."""
    if isinstance(targets, (list, tuple)) and any(isinstance(each, Task) for each in targets):
        return targets
    return check_transforms(targets, _argument(tip))


def _argument(tip: Tip) -> str:
    """Return the name of a tip's target in errors."""
    return f'target of {safe_repr(tip)}'


def _check_method(solver: str) -> None:
    """Check that a method solves trees."""
    if not solver_spec(solver).trees:
        able = ', '.join(name for name in solver_names() if solver_spec(name).trees)
        raise OptionError(
            'solver', f'{solver} solves for one exact pose; for several tips or tolerances: {able}'
        )


def _check_options(options: IkOptions) -> None:
    """Check that no option is given that is for chains."""
    if options.seed_source != 'given':
        raise OptionError('seed_source', 'is not for several tips or tolerances; give a seed')
    if options.objective is not None:
        raise OptionError('objective', 'is not for several tips or tolerances')
