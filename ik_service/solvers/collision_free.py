"""
Solves whose answers are free of collisions.

A solution that collides counts as a search that has failed: the solve goes on from the next start,
with what is left of its searches and its time. That keeps the meaning of all options: searches
start close to the seed where they would otherwise, and one for the nearest solution goes on until
it has the nearest one that is free.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
import math
from time import perf_counter_ns
from typing import Any, TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ik_service.kinematics.tree import KinematicTree
from ik_service.solvers.collision_test import Bodies, collision_test, Collisions, CollisionTest
from ik_service.solvers.option_checks import nanoseconds
from ik_service.solvers.result import IkResult, IkStatus, IkTrace
from ik_service.solvers.task import Target, Task

if TYPE_CHECKING:
    from ik_service.solvers.solver import Solver


def solve_free(
    solver: Solver,
    target: Target,
    seed: ArrayLike | None,
    timeout: float | None,
    collisions: Collisions | CollisionTest,
) -> IkResult:
    """
    Solve for one target, free of collisions.

    :param solver: the solver.
    :param target: as for :meth:`~ik_service.Solver.solve`.
    :param seed: likewise.
    :param timeout: likewise [s].
    :param collisions: tells which solutions collide.
    :returns: the answer; when only colliding solutions were found, the one nearest to the seed.
    """
    if isinstance(target, Task) and not isinstance(solver.chain, KinematicTree):
        solver = solver.with_tolerances
    test = collision_test(collisions, solver.chain)
    solver = solver.candidates
    results = [solver.solve(target, seed, timeout)]
    if not results[0].success:
        return results[0]
    settings, work = solver.progress()
    limit = int(settings.timeout[0]) if timeout is None else nanoseconds(timeout)
    free, best, bodies, spent = False, results[0], None, 0
    work.kept[0] = nearest = math.inf
    try:
        while results[-1].success:
            began = perf_counter_ns()
            contact = test.first_contact(results[-1].q)
            spent += perf_counter_ns() - began + round(results[-1].solve_time * 1e9)
            if contact is None:
                free, best, bodies, work.kept[0] = True, results[-1], None, work.motion[0]
                if not work.goes_on[0]:
                    break
            elif not free and work.motion[0] < nearest:
                best, bodies, nearest = results[-1], contact, work.motion[0]
            work.searched[0], work.spent[0] = results[-1].searches, spent
            if work.searched[0] >= settings.max_searches[0] or spent >= limit:
                break
            results.append(solver.solve(target, seed, timeout))
    finally:
        work.searched[0] = work.spent[0] = 0
    return _answer(best, bodies, results, spent)


def _answer(
    best: IkResult, bodies: Bodies | None, results: Sequence[IkResult], spent: int
) -> IkResult:
    """
    Return the answer of a solve, with the effort of all its parts.

    :param best: the best solution.
    :param bodies: two bodies that collide there.
    :param results: those of the parts.
    :param spent: time that they and the test have taken [ns].
    """
    changes: dict[str, Any] = {'solve_time': spent * 1e-9}
    if bodies is not None:
        changes.update(status=IkStatus.IN_COLLISION, collision=bodies)
    if len(results) > 1:
        changes.update(
            iterations=sum(result.iterations for result in results),
            searches=results[-1].searches,
            trace=_joined(results),
        )
    for name, value in changes.items():  # dataclasses.replace takes half the time of an easy solve
        object.__setattr__(best, name, value)
    return best


def _joined(results: Sequence[IkResult]) -> IkTrace | None:
    """Return the traces of the parts of a solve as one."""
    traces = [result.trace for result in results if result.trace is not None]
    if not traces:
        return None
    columns = (field.name for field in fields(IkTrace))
    return IkTrace(*(np.concatenate([getattr(t, name) for t in traces]) for name in columns))
