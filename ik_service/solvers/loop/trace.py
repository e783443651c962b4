"""Trace of a solve: a row for each iteration, written by kernels and read in Python."""

from __future__ import annotations

import numpy as np

from ik_service.jit.compile import inner_kernel
from ik_service.solvers.loop.fields import Settings
from ik_service.solvers.result import IkTrace

# Rows of a trace, at most; a solve that takes more steps goes on unrecorded.
_MOST_ROWS = 100_000


@inner_kernel
def record(trace, work, position_error, orientation_error, search):
    """
    Add a row to the trace: q, step, position error, orientation error, search.

    :param trace: (rows, 2n + 3) out; the next row is written.
    :param work: :class:`~ik_service.solvers.loop.fields.Workspace`.
    :param position_error: [m].
    :param orientation_error: [rad].
    :param search: number of the search, from 0.
    """
    n = work.q.shape[0]
    row = trace[work.recorded[0]]
    for i in range(n):
        row[i] = work.q[i]
        row[n + i] = work.step[i]
    row[2 * n] = position_error
    row[2 * n + 1] = orientation_error
    row[2 * n + 2] = search
    work.recorded[0] += 1


def room_for_trace(settings: Settings, n: int, approach_steps: int) -> np.ndarray:
    """
    Return an array for all rows that a solve can record.

    :param settings: settings of the loop, as arrays.
    :param n: number of variables.
    :param approach_steps: steps of the approach to the closest pose, at most.
    :returns: (rows, 2n + 3), uninitialised.
    """
    rows = (settings.max_iterations[0] + 1) * settings.max_searches[0] + approach_steps + 1
    return np.empty((min(int(rows), _MOST_ROWS), 2 * n + 3))


def read_trace(rows: np.ndarray, n: int) -> IkTrace:
    """
    Return the trace of the rows that were recorded.

    :param rows: (k, 2n + 3) recorded rows.
    :param n: number of variables.
    """
    return IkTrace(
        q=rows[:, :n],
        step=rows[:, n : 2 * n],
        position_error=rows[:, 2 * n],
        orientation_error=rows[:, 2 * n + 1],
        search=rows[:, 2 * n + 2].astype(int),
    )
