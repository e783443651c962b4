"""Compilation of what several poses, or constraints on links, need."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
import threading

from ik_service.arm.arm import Arm
from ik_service.arm.group import SolverSettings
from ik_service.exceptions import CompilationError
from ik_service.kinematics.tree import KinematicTree
from ik_service.solvers.solver import Solver

MOST_WAITING = 2
"""Requests that may wait for the compiler; the node has a thread more, for all other requests."""


class TreePreparation:
    """
    Compilation of the kernels of trees, which depend on the method only. Thread-safe.

    :ivar compile: compiles a solver, or loads its code; returns when it is ready.
    """

    def __init__(self) -> None:
        self.compile: Callable[[Solver], object] = lambda solver: solver.warm_up()
        self._compiled: set[str] = set()
        self._places = threading.Semaphore(MOST_WAITING)

    def begin(self, arm: Arm, settings: SolverSettings) -> None:
        """
        Begin the compilation, in a thread of its own.

        :param arm: the arm.
        :param settings: name and options of the solver.
        """
        prepared = arm.group.tree_solvers[arm.group.tip_links, settings]

        def prepare() -> None:
            with suppress(CompilationError):  # whoever needs it is told so by :meth:`finish`
                self._prepare(prepared.solver)

        threading.Thread(target=prepare, name='tree preparation', daemon=True).start()

    def finish(self, solver: Solver) -> None:
        """
        Return when a solver is compiled; at once where it is not that of a tree.

        :param solver: the solver.
        :raises CompilationError: it could not be compiled, or :data:`MOST_WAITING` others wait.
        """
        if solver.name in self._compiled or not isinstance(solver.chain, KinematicTree):
            return
        if not self._places.acquire(blocking=False):
            raise CompilationError(
                f'{solver.name} is still being compiled for several poses and for tolerances, and '
                f'{MOST_WAITING} other requests wait for it; try again in a minute'
            )
        try:
            self._prepare(solver)
        finally:
            self._places.release()

    def _prepare(self, solver: Solver) -> None:
        if solver.name not in self._compiled:
            self.compile(solver)
            self._compiled.add(solver.name)
