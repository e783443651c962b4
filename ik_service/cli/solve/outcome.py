"""Solving of a request: by one or several solvers, timed, or all of its solutions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from statistics import median
import sys
import threading
import time
from typing import cast

import numpy as np

from ik_service.cli.solve.request import Request
from ik_service.exceptions import IncompleteSolutionsError, OptionError
from ik_service.jit.cached_files import uncached_reason
from ik_service.solvers.all_solutions.finder import (
    AllSolutions,
    DEFAULT_RESOLUTION,
    list_solutions,
)
from ik_service.solvers.registry import solver_spec
from ik_service.solvers.result import IkResult, IkStatus, IkTrace
from ik_service.solvers.solver import Solver

_LONG = 5.0  # longer than loading compiled code takes [s]
_MEASURING = 0.3  # time for repeated calls of a solver [s]
_MOST_REPEATS = 101  # calls of a solver in that time, at most; odd, so that one is the median


@dataclass(frozen=True)
class SolverOutcome:
    """
    Result of a solver, with the times of its calls as Python sees them.

    :ivar remark: its note on how it worked; may be empty.
    :ivar result: the result; its time is the median of warm calls in the compiled solver.
    :ivar call_time: median time of these calls [s].
    :ivar first_call_time: of the first call, which loads or compiles the solver [s].
    :ivar timed_calls: number of the warm calls.
    :ivar T_base_reached: (4, 4) pose of the tip at the result.
    """

    solver: str
    remark: str
    result: IkResult
    call_time: float
    first_call_time: float
    timed_calls: int
    T_base_reached: np.ndarray

    @property
    def trace(self) -> IkTrace:
        """The iterations."""
        return cast(IkTrace, self.result.trace)  # recorded for every outcome

    @property
    def approach(self) -> int:
        """First number in the trace of an approach to a target that no search reached."""
        # A target out of reach is only approached: there are no searches before.
        return 0 if self.result.status is IkStatus.UNREACHABLE else self.result.searches

    @property
    def motion(self) -> np.ndarray:
        """(n,) Motion of each joint from the start of the search [rad] or [m]."""
        return self.result.q - self.trace.q[0]


@dataclass(frozen=True)
class Refusal:
    """Solver that was left out, because it does not use an option."""

    solver: str
    reason: str


def solve_request(request: Request, repeats: bool = False) -> list[SolverOutcome | Refusal]:
    """
    Solve a request with each of its solvers.

    :param repeats: whether to measure the time over repeated calls instead of one.
    :returns: an outcome each, or a refusal where one of several solvers does not use an option.
    :raises OptionError: no solver uses all options.
    """
    outcomes: list[SolverOutcome | Refusal] = []
    for name in request.solvers:
        try:
            outcomes.append(_solve(request, name, repeats))
        except OptionError as error:
            outcomes.append(Refusal(name, str(error)))
            refusal = error
    if all(isinstance(outcome, Refusal) for outcome in outcomes):
        raise refusal
    return outcomes


def _solve(request: Request, name: str, repeats: bool) -> SolverOutcome:
    chain, T = request.chain, request.T_base_target
    seed = None if request.guessed else request.seed
    collisions = request.collisions
    options = replace(request.options, record_trace=True)
    recording = Solver(chain, name, options, collisions=collisions)
    began = time.perf_counter()
    with compiling_notice(f'{name}, {solver_spec(name).summary}'):
        result = recording.solve(T, seed)
    first = time.perf_counter() - began
    # Recording takes time, so a solver without it is timed.
    solver = Solver(chain, name, replace(options, record_trace=False), collisions=collisions)
    q_start = cast(IkTrace, result.trace).q[0]
    solver.solve(chain.forward(q_start), q_start)
    times = [_times(solver, T, seed)]
    end = time.perf_counter() + (_MEASURING if repeats else 0.0)
    while time.perf_counter() < end and len(times) < _MOST_REPEATS:
        times.append(_times(solver, T, seed))
    in_solver, calls = zip(*times, strict=True)
    return SolverOutcome(
        solver=name,
        remark=getattr(solver, 'remark', ''),
        result=replace(result, solve_time=median(in_solver)),
        call_time=median(calls),
        first_call_time=first,
        timed_calls=len(times),
        T_base_reached=chain.forward(result.q),
    )


def _times(solver: Solver, T: np.ndarray, seed: np.ndarray | None) -> tuple[float, float]:
    """Time of one solve in the compiled solver, and of the call as Python sees it [s]."""
    began = time.perf_counter()
    in_solver = solver.solve(T, seed).solve_time
    return in_solver, time.perf_counter() - began


@contextmanager
def compiling_notice(what: str) -> Iterator[None]:
    """Print that something is being compiled where the ``with`` block takes long."""

    def explain() -> None:
        reason = uncached_reason()
        later = f'so do later runs, {reason}' if reason else 'later runs start at once'
        print(f'compiling {what}: {later}', file=sys.stderr, flush=True)

    timer = threading.Timer(_LONG, explain)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


@dataclass(frozen=True)
class Solutions:
    """
    Solutions of a request.

    :ivar q: (k, n) [rad] or [m], nearest to the seed first.
    :ivar motion: (k, n) joint motions from the seed [rad] or [m].
    :ivar incomplete: why these are not all; empty when they are.
    :ivar call_time: time of a warm call as Python sees it [s].
    """

    q: np.ndarray
    motion: np.ndarray
    proved: bool
    incomplete: str
    call_time: float


def find_all(request: Request, resolution: float | None) -> Solutions:
    """
    Find all solutions of a request.

    :param resolution: of self-motions [rad] or [m]; None for the default.
    :raises IkServiceError: the resolution cannot be, or an option does not count here.
    """
    _list(request, resolution)  # the first call loads or compiles the kernels
    began = time.perf_counter()
    (q, proved), incomplete = _list(request, resolution)
    spent = time.perf_counter() - began
    return Solutions(q, q - request.seed, proved, incomplete, spent)


def _list(request: Request, resolution: float | None) -> tuple[AllSolutions, str]:
    """Return the solutions, and why these are not all."""
    wanted = DEFAULT_RESOLUTION if resolution is None else resolution
    arguments = request.chain, request.T_base_target, request.seed, request.options, wanted
    try:
        return list_solutions(*arguments), ''
    except IncompleteSolutionsError as error:
        incomplete = (
            f'not all solutions: {error.reason}; there are fewer with a larger --resolution or '
            'with --set max_joint_motion, and more time with --set timeout'
        )
        return AllSolutions(np.asarray(error.partial), proved=False), incomplete
