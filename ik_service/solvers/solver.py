"""Solving for one target."""

from __future__ import annotations

from functools import lru_cache
import math
import threading

import numpy as np
from numpy.typing import ArrayLike

from ik_service.exceptions import ArgumentError
from ik_service.kinematics.chain import KinematicChain
from ik_service.kinematics.pose import check_transform
from ik_service.solvers import search
from ik_service.solvers.limits import STRATEGIES
from ik_service.solvers.options import IkOptions
from ik_service.solvers.registry import check_options, DEFAULT_SOLVER, method
from ik_service.solvers.result import IkResult, IkStatus, IkTrace
from ik_service.solvers.step import workspace

_STATUS = tuple(IkStatus)
# Rows of a trace, at most; a solve that takes more steps goes on unrecorded.
_TRACE_ROWS = 100_000


class Solver:
    """
    A method prepared for a chain.

    Several threads may use one solver at the same time; the GIL is released while it solves.

    :ivar chain: the chain.
    :ivar name: the method's name.
    :ivar options: the options.
    """

    def __init__(
        self,
        chain: KinematicChain,
        solver: str = DEFAULT_SOLVER,
        options: IkOptions | None = None,
    ) -> None:
        """
        Prepare a solver.

        :param chain: the chain to solve for.
        :param solver: one of :func:`~ik_service.solver_names`.
        :param options: options; the defaults when left out.
        :raises UnknownSolverError: listing the valid names.
        :raises OptionError: when the method does not use an option that is given.
        """
        self.chain = chain
        self.name = solver
        self.options = options or IkOptions()
        chosen = method(solver)
        check_options(chosen, self.options)
        self.parameters = chosen.parameters(self.options)
        self.settings = _settings(chosen, self.options)
        self._no_trace = np.empty((0, 2 * chain.n + 3))
        self._thread = threading.local()

    def solve(
        self, target: ArrayLike, seed: ArrayLike | None = None, timeout: float | None = None
    ) -> IkResult:
        """
        Find joint positions that put the tip at the target.

        :param target: (4, 4) T_base_tip.
        :param seed: (n,) where the search starts [rad] or [m]; mid-range when left out. A seed
            outside the limits is brought inside.
        :param timeout: time for this solve [s], instead of the options'.
        :returns: the best joint vector found and how good it is; not reaching the target is a
            result, not an error.
        :raises ArgumentError: when target or seed have another shape or are not finite, or the
            target is not a rigid transform.
        """
        chain = self.chain
        target = check_transform(target, 'target')
        seed = chain.mid_range() if seed is None else chain.check_q(seed, 'seed')
        settings = self.settings if timeout is None else self._with_timeout(timeout)
        trace = self._no_trace
        if self.options.record_trace:
            steps = (settings.max_iterations + 1) * (settings.max_searches + 1)
            trace = np.empty((min(steps, _TRACE_ROWS), 2 * chain.n + 3))
        work = self._workspace()
        q = np.empty(chain.n)
        status, position_error, orientation_error, iterations, searches, elapsed = search.solve(
            chain.arrays, self.parameters, settings, target, seed, work, q, trace
        )
        q.setflags(write=False)
        status = _STATUS[status]
        return IkResult(
            status,
            status is IkStatus.SUCCESS,
            q,
            position_error,
            orientation_error,
            iterations,
            searches,
            elapsed * 1e-9,
            _reason(status, position_error, orientation_error, iterations, searches, elapsed),
            _trace(trace[: work.recorded[0]], chain.n) if self.options.record_trace else None,
        )

    def warm_up(self) -> None:
        """Compile the solver for this chain, or load it from the cache."""
        q = self.chain.mid_range()
        self.solve(self.chain.forward(q), q)
        self.chain.jacobian(q)

    def _with_timeout(self, timeout: float) -> search.Settings:
        if not 0.0 < timeout < math.inf:
            raise ArgumentError('timeout', f'has to be a finite number above 0, not {timeout!r}')
        return self.settings._replace(timeout_ns=_nanoseconds(timeout))

    def _workspace(self) -> tuple:
        """Workspace of the calling thread."""
        work = getattr(self._thread, 'work', None)
        if work is None:
            work = workspace(self.chain.n, len(self.chain.arrays.variables))
            self._thread.work = work
        return work

    def __repr__(self) -> str:
        return f'Solver({self.chain!r}, {self.name!r})'


def solve_ik(
    chain: KinematicChain,
    target: ArrayLike,
    seed: ArrayLike | None = None,
    solver: str = DEFAULT_SOLVER,
    options: IkOptions | None = None,
) -> IkResult:
    """
    Find joint positions that put the chain's tip at a target.

    For many calls prepare a :class:`Solver` once.

    :param chain: the chain.
    :param target: (4, 4) T_base_tip.
    :param seed: (n,) where the search starts [rad] or [m]; mid-range when left out.
    :param solver: one of :func:`~ik_service.solver_names`.
    :param options: options; the defaults when left out.
    :returns: the best joint vector found, with its errors and the reason if it is no solution.
    :raises ArgumentError: when target or seed have another shape or are not finite.
    :raises UnknownSolverError: listing the valid names.
    :raises OptionError: when the method does not use an option that is given.
    """
    return _prepared(chain, solver, options or IkOptions()).solve(target, seed)


@lru_cache(maxsize=64)
def _prepared(chain: KinematicChain, solver: str, options: IkOptions) -> Solver:
    return Solver(chain, solver, options)


def _settings(chosen: object, options: IkOptions) -> search.Settings:
    """What the loop needs to know, from the options and the method's defaults."""
    weights = np.sqrt(np.array(options.task_weights))
    weights.setflags(write=False)
    return search.Settings(
        position_tolerance=float(options.position_tolerance),
        orientation_tolerance=float(options.orientation_tolerance),
        weights=weights,
        max_iterations=int(options.max_iterations or chosen.max_iterations),
        max_searches=int(options.max_searches or chosen.max_searches),
        timeout_ns=_nanoseconds(options.timeout),
        limits=STRATEGIES.index(options.joint_limits),
        nearest=options.prefer == 'nearest',
        patience=chosen.patience,
        progress=chosen.progress,
        random_seed=int(options.random_seed),
    )


def _nanoseconds(seconds: float) -> int:
    return max(1, min(int(seconds * 1e9), 2**62))


def _reason(
    status: IkStatus,
    position_error: float,
    orientation_error: float,
    iterations: int,
    searches: int,
    elapsed: int,
) -> str:
    """The outcome in a sentence."""
    pose = f'{position_error * 1e3:.3g} mm and {math.degrees(orientation_error):.3g}°'
    effort = f'{iterations} iterations in {searches} searches, {elapsed * 1e-6:.3g} ms'
    if status is IkStatus.SUCCESS:
        return f'reached within {pose} after {effort}'
    return f'{status.value}; the closest pose found is {pose} away, after {effort}'


def _trace(rows: np.ndarray, n: int) -> IkTrace:
    return IkTrace(
        q=rows[:, :n],
        step=rows[:, n : 2 * n],
        position_error=rows[:, 2 * n],
        orientation_error=rows[:, 2 * n + 1],
        search=rows[:, 2 * n + 2].astype(int),
    )
