"""Joint vectors at which a path may start or end."""

from __future__ import annotations

from dataclasses import replace
import time

import numpy as np

from ik_service.exceptions import IncompleteSolutionsError
from ik_service.kinematics.chain import KinematicChain
from ik_service.paths.search.beam import Beam
from ik_service.paths.search.problem import PathProblem
from ik_service.solvers.all_solutions.finder import solve_ik_all

# Motion of a joint within which the seed counts as the solution itself [rad] or [m].
_THERE = 1e-4
# Distance of solutions on a self-motion [rad] or [m], and the number of solutions, at most.
_RESOLUTION = 0.5
_MOST = 1000
# Time for the list of solutions [s].
_PATIENCE = 2.0
# Searches from random postures, where there is no list of all solutions.
_SEARCHES = 100
_SAME = 1e-3


def starts_from(problem: PathProblem, q: np.ndarray) -> np.ndarray:
    """
    Return the joint vectors at the first target that lie within a step of a given one.

    :param problem: the path to be found.
    :param q: (n,) [rad] or [m]; the only one where it is at the target.
    :returns: (k, n) [rad] or [m].
    """
    start = q.copy()
    if problem.limited:
        np.clip(start, problem.chain.lower, problem.chain.upper, out=start)
    row, target = start[None].copy(), problem.targets[:1]
    there = problem.project(row, target, _THERE)
    problem.refuse_colliding(row, there)
    if there[0]:
        return row
    beam = Beam(problem, start[None], np.zeros(1))
    return beam.layers[-1] if beam.advance(target[0], _MOST) else row[:0]


def free_starts(problem: PathProblem, near: np.ndarray) -> np.ndarray:
    """
    Return joint vectors at the first target from all over its solutions.

    :param problem: the path to be found.
    :param near: (n,) those near to it come first [rad] or [m].
    :returns: (k, n) [rad] or [m].
    """
    listed = isinstance(problem.chain, KinematicChain)
    q = _listed(problem, near) if listed else _searched(problem, near)
    fine = np.ones(len(q), bool)
    problem.refuse_colliding(q, fine)
    return np.ascontiguousarray(q[fine])


def _listed(problem: PathProblem, near: np.ndarray) -> np.ndarray:
    """Return all solutions, the nearest first, and some more where they are too many, (k, n)."""
    began, timeout = time.monotonic(), min(_PATIENCE, max(1e-3, problem.deadline.left))
    options = replace(problem.solver.options, timeout=timeout)
    try:
        return solve_ik_all(
            problem.chain, problem.targets[0], near, options, _RESOLUTION, turns=True,
            max_solutions=_MOST,
        )  # fmt: skip
    except IncompleteSolutionsError as error:
        # There may be self-motions that it did not get to.
        return np.vstack([np.asarray(error.partial), _searched(problem, near)])
    finally:  # what is beyond the timeout, which kernels keep, is the compiler's
        problem.deadline.extend(time.monotonic() - began - timeout)


def _searched(problem: PathProblem, near: np.ndarray) -> np.ndarray:
    """Return what searches from random postures find, the nearest first, (k, n)."""
    chain, random = problem.chain, np.random.default_rng(problem.solver.options.random_seed)
    lower, upper = chain.search_limits()
    lower = np.where(np.isfinite(lower), lower, np.maximum(near - np.pi, chain.lower))
    upper = np.where(np.isfinite(upper), upper, np.minimum(near + np.pi, chain.upper))
    seeds = np.vstack([near, random.uniform(lower, upper, (_SEARCHES, chain.n))])
    q, solved, _ = problem.solved(0, seeds)
    found = q[solved]
    found = found[np.argsort(np.abs(found - near).max(axis=1, initial=0.0), kind='stable')]
    distinct: list[np.ndarray] = []
    for q in found:
        if all(np.abs(q - other).max() > _SAME for other in distinct):
            distinct.append(q)
    return np.array(distinct).reshape(-1, chain.n)
