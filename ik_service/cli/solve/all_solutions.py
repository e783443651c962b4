"""All solutions of a request, and their text (``ik_solve --all``)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
import time

import numpy as np

from ik_service.cli.formatting import labelled, motion_text, number_text, table, time_text
from ik_service.cli.solve.request import Request
from ik_service.exceptions import IncompleteSolutionsError
from ik_service.solvers.all_solutions.finder import (
    AllSolutions,
    DEFAULT_RESOLUTION,
    list_solutions,
)


@dataclass(frozen=True)
class Solutions:
    """
    Solutions of a request.

    :ivar q: (k, n) [rad] or [m], nearest to the seed first.
    :ivar motion: (k, n) joint motions from the seed [rad] or [m].
    :ivar proved: whether it is certain that there are no others.
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

    :param request: what is requested.
    :param resolution: of self-motions [rad] or [m]; None for the default.
    :raises IkServiceError: the resolution cannot be, or an option does not count here.
    """
    _solve(request, resolution)  # the first call loads or compiles the kernels
    began = time.perf_counter()
    (q, proved), incomplete = _solve(request, resolution)
    spent = time.perf_counter() - began
    return Solutions(q, q - request.seed, proved, incomplete, spent)


def _solve(request: Request, resolution: float | None) -> tuple[AllSolutions, str]:
    """Return the solutions, and why these are not all."""
    wanted = DEFAULT_RESOLUTION if resolution is None else resolution
    arguments = request.chain, request.T_base_target, request.seed, request.options, wanted
    try:
        return list_solutions(*arguments), ''
    except IncompleteSolutionsError as error:
        return AllSolutions(np.asarray(error.partial), proved=False), str(error)


def solution_lines(request: Request, solutions: Solutions) -> list[str]:
    """
    Return the solutions as the lines of a table, a row each.

    :param request: what was requested.
    :param solutions: the solutions.
    """
    names = request.chain.joint_names
    count = len(solutions.q)
    none = '0, there is none within the limits' if solutions.proved else '0, none was found'
    lines = labelled('Solutions', f'{count}, the nearest to the seed first' if count else none)
    if solutions.incomplete:
        lines += labelled('Note', solutions.incomplete)
    lines += labelled('Time', time_text(solutions.call_time))
    lines += labelled('Joints', ', '.join(f'{i + 1} {name}' for i, name in enumerate(names)))
    if count == 0:
        return lines
    rows: list[Sequence[str]] = [('', *(str(i + 1) for i in range(len(names))), 'motion', '')]
    found = zip(solutions.q, solutions.motion, strict=True)
    rows += [_row(request, k, *row) for k, row in enumerate(found)]
    return [*lines, '', *table(rows, left=(len(names) + 2,))]


def _row(request: Request, k: int, q: np.ndarray, motion: np.ndarray) -> tuple[str, ...]:
    """Return number, joint values [rad] or [m], and the largest motion from the seed."""
    largest = int(np.argmax(np.abs(motion)))
    return (
        str(k + 1),
        *(number_text(value, 4) for value in q),
        motion_text(motion[largest], request.slides[largest]),
        request.chain.joint_names[largest],
    )
