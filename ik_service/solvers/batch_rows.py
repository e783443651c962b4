"""Rows of a batch: targets, seeds and answers as the kernels take them."""

from __future__ import annotations

from typing import NamedTuple

from numba.core.errors import NumbaError
import numpy as np

from ik_service.solvers.loop import many
from ik_service.solvers.loop.problem import Problem
from ik_service.solvers.result import IkStatus
from ik_service.solvers.solver import Solver
from ik_service.solvers.spec_checks import step_error

# Time after which a thread comes back from the kernels between two targets: only then can Ctrl-C,
# or what has failed elsewhere, end the batch [ns].
_BUDGET = 100_000_000


class Rows(NamedTuple):
    """
    Rows of a batch; the arrays are filled while they are solved.

    :ivar targets: (N, …) targets as the kernels take them.
    :ivar seeds: (N, n) [rad] or [m].
    :ivar q: (N, n) joint vectors found [rad] or [m].
    :ivar status: (N,) ``IkStatus.number``.
    :ivar errors: (N, 2) [m] and [rad].
    :ivar counts: (N, 2) iterations and searches.
    :ivar states: (N, 3), see :func:`~ik_service.solvers.loop.many.solve_many`; (0, 3) where solves
        do not pause.
    :ivar motions: (N, 3), likewise.
    :ivar collision: (N,) names of two bodies that collide, or None.
    """

    targets: np.ndarray
    seeds: np.ndarray
    q: np.ndarray
    status: np.ndarray
    errors: np.ndarray
    counts: np.ndarray
    states: np.ndarray
    motions: np.ndarray
    collision: np.ndarray

    @classmethod
    def unsolved(cls, targets: np.ndarray, seeds: np.ndarray, pauses: bool = False) -> Rows:
        """
        Return rows that are to be solved.

        :param targets: (N, …) targets as the kernels take them.
        :param seeds: (N, n) [rad] or [m].
        :param pauses: whether their solves pause at every solution.
        """
        count = len(seeds)
        rows = cls(
            targets=targets,
            seeds=seeds,
            q=np.empty_like(seeds),
            status=np.full(count, IkStatus.INTERRUPTED.number),
            errors=np.empty((count, 2)),
            counts=np.zeros((count, 2), np.int64),
            states=np.zeros((count if pauses else 0, 3), np.int64),
            motions=np.zeros((count if pauses else 0, 3)),
            collision=np.full(count, None, object),
        )
        rows.motions[:, 1] = np.inf  # no solution is accepted
        return rows

    @property
    def size(self) -> int:
        """The number of rows."""
        return len(self.status)

    def take(self, chosen: slice | np.ndarray) -> Rows:
        """
        Return some of the rows.

        :param chosen: a slice, for views; or indices or (N,) bool, for copies.
        """
        return Rows(*[array[chosen] for array in self])

    def put(self, chosen: slice | np.ndarray, rows: Rows) -> None:
        """
        Copy the answers of other rows.

        :param chosen: which of these rows take them.
        :param rows: as many rows.
        """
        for name in ('q', 'status', 'errors', 'counts', 'collision'):
            getattr(self, name)[chosen] = getattr(rows, name)

    def solve(self, solver: Solver, problem: Problem, chained: bool = False) -> int:
        """
        Solve from the first row on until a tenth of a second is over.

        :param solver: the solver.
        :param problem: of this thread.
        :param chained: whether each target after the first is seeded with the answer before it.
        :returns: the number of rows solved, at least one.
        :raises SolverSpecError: when the step of a user's method cannot be compiled.
        """
        try:
            return many.solve_many(*self.arguments(solver, problem, chained))
        except NumbaError as error:
            raise step_error(solver.name, error) from error

    def arguments(self, solver: Solver, problem: Problem, chained: bool) -> tuple:
        """
        Return the arguments of the kernel that solves the rows.

        :param solver: the solver.
        :param problem: of this thread.
        :param chained: whether each target after the first is seeded with the answer before it.
        """
        return (
            problem,
            solver.parameters,
            self.targets,
            self.seeds,
            chained,
            _BUDGET,
            self.q,
            self.status,
            self.errors,
            self.counts,
            self.states,
            self.motions,
            np.empty((0, 2 * self.seeds.shape[1] + 3)),
        )
