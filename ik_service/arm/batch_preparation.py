"""Compilation of the kernels of batches."""

from __future__ import annotations

from collections.abc import Callable
import threading

from ik_service.solvers.batch import BatchKernels
from ik_service.solvers.solver import Solver


class BatchPreparation:
    """
    Compilation of the kernels of batches, which depend on the method only. Thread-safe.

    :ivar compile: compiles them, or loads their code; returns when they are ready.
    """

    def __init__(self) -> None:
        self.compile: Callable[[BatchKernels], object] = lambda kernels: kernels.warm_up()
        self._turn = threading.Lock()
        self._ready: set[str] = set()

    def finish(self, solver: Solver) -> None:
        """
        Return when the kernels of a solver are ready.

        :param solver: the solver of a chain.
        :raises CompilationError: they could not be compiled.
        """
        with self._turn:
            if solver.name not in self._ready:
                self.compile(BatchKernels(solver))
                self._ready.add(solver.name)
