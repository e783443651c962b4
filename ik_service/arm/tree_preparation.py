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


class TreePreparation:
    """
    Compilation of the kernels of trees, which depend on the method only. Thread-safe.

    :ivar compile: compiles a solver, or loads its code; returns when it is ready.
    """

    def __init__(self) -> None:
        self.compile: Callable[[Solver], object] = lambda solver: solver.warm_up()
        self._compiled: set[str] = set()

    def begin(self, arm: Arm, settings: SolverSettings) -> None:
        """
        Begin the compilation, in a thread of its own.

        :param arm: the arm.
        :param settings: name and options of the solver.
        """
        prepared = arm.group.tree_solvers[arm.group.tip_links, settings]

        def prepare() -> None:
            with suppress(CompilationError):  # whoever needs it is told so by :meth:`finish`
                self.finish(prepared.solver)

        threading.Thread(target=prepare, name='tree preparation', daemon=True).start()

    def finish(self, solver: Solver) -> None:
        """
        Return when a solver is compiled; at once where it is not that of a tree.

        :param solver: the solver.
        :raises CompilationError: it could not be compiled.
        """
        if solver.name in self._compiled or not isinstance(solver.chain, KinematicTree):
            return
        self.compile(solver)
        self._compiled.add(solver.name)
