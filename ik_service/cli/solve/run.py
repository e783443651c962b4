"""Solving what is asked, with the time it takes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from statistics import median
import sys
import threading
import time

import numpy as np

from ik_service.cli.solve.question import Question
from ik_service.exceptions import OptionError
from ik_service.solvers.registry import solver_spec
from ik_service.solvers.result import IkResult, IkStatus, IkTrace
from ik_service.solvers.solver import Solver

_LONG = 5.0  # longer than loading compiled code takes [s]
_MEASURING = 0.3  # time for repeated calls of a solver [s]
_MOST_REPEATS = 101


@dataclass(frozen=True)
class Timing:
    """
    How long a solver takes.

    :ivar solver: median time of warm calls in the compiled solver [s].
    :ivar call: median time of these calls as Python sees them [s].
    :ivar first: time of the first call, which loads or compiles the solver [s].
    :ivar repeats: warm calls.
    """

    solver: float
    call: float
    first: float
    repeats: int


@dataclass(frozen=True)
class Answer:
    """
    What a solver answers.

    :ivar solver: its name.
    :ivar remark: what it has to say about itself; may be empty.
    :ivar result: the result; its time is that of a warm call.
    :ivar timing: how long it takes.
    :ivar T_base_reached: (4, 4) pose of the tip at the result.
    """

    solver: str
    remark: str
    result: IkResult
    timing: Timing
    T_base_reached: np.ndarray

    @property
    def trace(self) -> IkTrace:
        """The iterations."""
        return self.result.trace

    @property
    def approach(self) -> int:
        """Number in the trace of the final approach to a target that no search reached."""
        # A target out of reach is only approached: there are no searches before.
        return 0 if self.result.status is IkStatus.UNREACHABLE else self.result.searches

    @property
    def motion(self) -> np.ndarray:
        """(n,) how far each joint is from where the search started [rad] or [m]."""
        return self.result.q - self.trace.q[0]


@dataclass(frozen=True)
class Refusal:
    """
    A solver that does not answer.

    :ivar solver: its name.
    :ivar reason: the option that it does not use.
    """

    solver: str
    reason: str


def ask(question: Question, repeats: bool = False) -> list[Answer | Refusal]:
    """
    Ask every solver of a question.

    :param repeats: whether to measure the time over repeated calls instead of one.
    :returns: an answer each; of several solvers, those that an option is not for, refuse.
    :raises OptionError: the only solver, or every one of several, does not use an option.
    """
    answers: list[Answer | Refusal] = []
    for name in question.solvers:
        try:
            answers.append(_answer(question, name, repeats))
        except OptionError as error:
            answers.append(Refusal(name, str(error)))
            refusal = error
    if all(isinstance(answer, Refusal) for answer in answers):
        raise refusal
    return answers


def _answer(question: Question, name: str, repeats: bool) -> Answer:
    chain, T = question.chain, question.T_base_target
    seed = None if question.guessed else question.seed
    recording = Solver(chain, name, replace(question.options, record_trace=True))
    began = time.perf_counter()
    with _patience(name):
        result = recording.solve(T, seed)
    first = time.perf_counter() - began
    # Recording takes time, so what is timed is a solver without it.
    solver = Solver(chain, name, replace(question.options, record_trace=False))
    q_start = result.trace.q[0]
    solver.solve(chain.forward(q_start), q_start)
    in_solver, calls = [], []
    end = time.perf_counter() + (_MEASURING if repeats else 0.0)
    while not calls or (time.perf_counter() < end and len(calls) < _MOST_REPEATS):
        began = time.perf_counter()
        in_solver.append(solver.solve(T, seed).solve_time)
        calls.append(time.perf_counter() - began)
    timing = Timing(median(in_solver), median(calls), first, len(calls))
    return Answer(
        solver=name,
        remark=getattr(solver, 'remark', ''),
        result=replace(result, solve_time=timing.solver),
        timing=timing,
        T_base_reached=chain.forward(result.q),
    )


@contextmanager
def _patience(name: str) -> Iterator[None]:
    """Say why it takes long, if it does."""

    def explain() -> None:
        print(
            f'compiling {name}, {solver_spec(name).summary}: later runs start at once',
            file=sys.stderr,
            flush=True,
        )

    timer = threading.Timer(_LONG, explain)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
