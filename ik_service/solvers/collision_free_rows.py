"""Rows of a batch whose answers are free of collisions, solved in rounds."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter_ns

import numpy as np

from ik_service.solvers.batch_rows import Rows
from ik_service.solvers.collision_test import CollisionTest
from ik_service.solvers.loop.problem import Problem
from ik_service.solvers.result import IkStatus
from ik_service.solvers.solver import Solver

LARGEST_ROUND = 256
"""Rows that are solved and tested together: between rounds, a batch can end."""

_SUCCESS, _IN_COLLISION = IkStatus.SUCCESS.number, IkStatus.IN_COLLISION.number
# Columns of `states` and `motions`.
_SPENT, _GOES_ON = 1, 2
_KEPT, _FOUND = 1, 2


def solve_free_rows(
    rows: Rows,
    solver: Solver,
    problem: Problem,
    test: CollisionTest,
    stopped: Callable[[], bool],
) -> int:
    """
    Solve rows from the first on, each as :func:`~ik_service.solvers.collision_free.solve_free`.

    All are solved and tested; those that collide go on from where they were, and so on.

    :param rows: the rows; those that are not answered stay as they are.
    :param solver: the solver whose solves pause.
    :param problem: of this thread.
    :param test: tells which solutions collide.
    :param stopped: whether the batch is to end.
    :returns: the number of rows answered: at least one, but 0 when the batch is to end.
    """
    rows = rows.take(slice(0, LARGEST_ROUND))
    first = Rows.unsolved(rows.targets, rows.seeds, pauses=True)
    done = slice(0, first.solve(solver, problem))
    answers = first.take(done)
    places = np.flatnonzero(answers.status == _SUCCESS)
    going = answers.take(places)
    answers.status[places] = _IN_COLLISION
    answers.motions[:, _FOUND] = np.inf
    _, settings, _ = solver.views(problem)
    while going.size:
        wanted = _judge(answers, places, going, test)
        wanted &= going.counts[:, 1] < settings.max_searches[0]
        wanted &= going.states[:, _SPENT] < settings.timeout[0]
        places, going = places[wanted], going.take(wanted)
        if not _all_solved(going, solver, problem, stopped):
            return 0
        answers.counts[places] = going.counts
        solved = going.status == _SUCCESS
        places, going = places[solved], going.take(solved)
    for row in np.flatnonzero(answers.status == _IN_COLLISION):
        answers.collision[row] = test.first_contact(answers.q[row])
    rows.put(done, answers)
    return answers.size


def _judge(answers: Rows, places: np.ndarray, going: Rows, test: CollisionTest) -> np.ndarray:
    """
    Test solutions, and make those answers that are better than what has been found before.

    :param answers: all rows.
    :param places: (k,) which of these are tested.
    :param going: the k rows with the solutions.
    :param test: tells which collide.
    :returns: (k,) bool, which are to go on.
    """
    began = perf_counter_ns()
    colliding = test.colliding(going.q)
    going.states[:, _SPENT] += (perf_counter_ns() - began) // going.size
    found = going.motions[:, _FOUND]
    going.motions[~colliding, _KEPT] = found[~colliding]
    free = answers.status[places] == _SUCCESS
    better = ~colliding | (~free & (found < answers.motions[places, _FOUND]))
    answers.q[places[better]] = going.q[better]
    answers.errors[places[better]] = going.errors[better]
    answers.motions[places[better], _FOUND] = found[better]
    answers.status[places[~colliding]] = _SUCCESS
    return colliding | (going.states[:, _GOES_ON] != 0)


def _all_solved(rows: Rows, solver: Solver, problem: Problem, stopped: Callable[[], bool]) -> bool:
    """Solve rows; returns whether all are solved before the batch is to end."""
    first = 0
    while first < rows.size and not stopped():
        first += rows.take(slice(first, None)).solve(solver, problem)
    return first == rows.size
