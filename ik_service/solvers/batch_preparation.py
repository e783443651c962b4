"""Preparation of batches: their kernels are compiled, or loaded, before the first one."""

from __future__ import annotations

import numpy as np

from ik_service.jit.entry import is_cached, is_compiled
from ik_service.solvers.batch import solve_ik_batch
from ik_service.solvers.batch_rows import Rows
from ik_service.solvers.loop import many
from ik_service.solvers.solver import Solver


class BatchKernels:
    """
    Kernels of batches, which :class:`~ik_service.arm.compilation.Compiler` can prepare.

    They depend on the method, not on the arm.

    :param solver: a solver of a chain.
    :ivar chain: its chain.
    :ivar name: of the method.
    """

    def __init__(self, solver: Solver) -> None:
        self.chain = solver.chain
        self.name = solver.name
        self._solver = solver

    @property
    def compiled(self) -> bool:
        """Whether this process has them."""
        return is_compiled(many.solve_many, *self._arguments())

    @property
    def cached(self) -> bool:
        """Whether they are on disk, so that they need only be loaded."""
        return is_cached(many.solve_many, *self._arguments())

    def warm_up(self) -> None:
        """Compile them, or load them from the cache."""
        q = self.chain.mid_range()
        solve_ik_batch(self.chain, self.chain.forward(q)[None], q, self.name, threads=1)

    def _arguments(self) -> tuple:
        solver, n = self._solver, self.chain.n
        rows = Rows.unsolved(np.empty((1, 4, 4)), np.empty((1, n)))
        return rows.arguments(solver, solver.problem(), False)
