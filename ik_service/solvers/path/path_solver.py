"""Joint paths through many targets: :func:`solve_path`."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
import time

import numpy as np
from numpy.typing import ArrayLike

from ik_service.common.cores import core_count
from ik_service.common.quoting import safe_repr
from ik_service.exceptions import ArgumentError
from ik_service.kinematics.chain import KinematicChain
from ik_service.kinematics.tree import KinematicTree
from ik_service.solvers.argument_checks import check_kinds
from ik_service.solvers.batch_targets import batch_targets
from ik_service.solvers.collision_test import collision_test, Collisions, CollisionTest
from ik_service.solvers.path.coarse_smoothing import smoothed
from ik_service.solvers.path.ending import ending_at
from ik_service.solvers.path.options import PathOptions
from ik_service.solvers.path.problem import PathProblem
from ik_service.solvers.path.result import PathEnd, PathResult, PathStatus
from ik_service.solvers.path.search import joined, Outcome, PathSearch
from ik_service.solvers.path.starts import free_starts, starts_from
from ik_service.solvers.registry import DEFAULT_SOLVER
from ik_service.solvers.solver import prepared
from ik_service.solvers.task import BatchTargets

_DEFAULTS = PathOptions()
# Candidates of the beams that come from both ends, once more with the next where they do not meet.
_MEETING = (32, 128, 512)
# What a row is moved at most for the last digits [rad] or [m], as a share of the bound on a step.
_POLISH = 0.0025


def solve_path(
    chain: KinematicChain | KinematicTree,
    targets: BatchTargets,
    seed: ArrayLike | None = None,
    options: PathOptions | None = None,
    end: ArrayLike | None = None,
    collisions: Collisions | CollisionTest | None = None,
) -> PathResult:
    """
    Find a joint path through all targets on which no joint jumps.

    Of every target many joint vectors are kept, those farthest apart that can be reached without a
    jump; so a redundant arm sees early enough where its elbow has to be, and an arm with several
    solutions which of them leads on. The self-motions that are not needed are then taken out.

    :param chain: the chain or the tree.
    :param targets: (N, 4, 4) T_base_tip, or a list of matrices and tasks; for a tree a mapping of
        every tip to these.
    :param seed: (n,) where the path starts [rad] or [m]; without it the start is free. One outside
        the limits is brought inside.
    :param options: options; the defaults when left out.
    :param end: (n,) where the path ends, or within ``max_step`` of it [rad] or [m]; free when left
        out.
    :param collisions: :class:`~ik_service.CollisionChecker`, or a test that it has made: rows that
        collide are avoided. What lies between two rows is not tested.
    :returns: the path; where no path leads through all targets, the longest that was found, and
        why it ends. The same request gives the same answer, unless the time runs out.
    :raises ArgumentError: when an argument has another shape or is not finite; names the row.
    :raises OptionError: when an option is given that paths do not use.
    """
    began = time.monotonic()
    options = _DEFAULTS if options is None else options
    if not isinstance(options, PathOptions):
        raise ArgumentError('options', f'have to be PathOptions, not {safe_repr(options)}')
    check_kinds(chain, options.ik)
    solver, packed = batch_targets(prepared(chain, DEFAULT_SOLVER, options.ik), targets)
    start = None if seed is None else chain.check_q(seed, 'seed')
    goal = None if end is None else chain.check_q(end, 'end')
    test = None if collisions is None else collision_test(collisions, chain)
    cores = core_count()
    with ThreadPoolExecutor(max(1, cores - 1)) as pool:
        problem = PathProblem(solver, packed, options.max_step, test, options.timeout, pool, cores)
        way, path_end = _PathSolver(problem, options).solve(start, goal)
    return _result(problem, way, path_end, began)


class _PathSolver:
    """Search, smoothing and ending of one path."""

    def __init__(self, problem: PathProblem, options: PathOptions) -> None:
        self._problem, self._options = problem, options
        self._search = PathSearch(problem, options.candidates)

    def solve(self, start: np.ndarray | None, goal: np.ndarray | None) -> tuple:
        """
        Find the path.

        :param start: (n,) the seed [rad] or [m]; None for none.
        :param goal: (n,) the end; None for any.
        :returns: (k, n) the rows up to the end, and the :class:`PathEnd`.
        """
        problem = self._problem
        count, n = len(problem.targets), problem.chain.n
        if count == 0:
            return np.empty((0, n)), PathEnd(PathStatus.SUCCESS, 0)
        given = start is not None and self._options.start == 'given'
        near = problem.chain.middle if start is None else start
        starts = starts_from(problem, near) if given else free_starts(problem, near)
        if not len(starts):
            before = near[None] if given else starts
            return np.empty((0, n)), ending_at(problem, 0, before)
        costs = np.zeros(len(starts)) if start is None else np.square(starts - start).sum(axis=1)
        outcome = self._outcome(starts, costs, goal)
        end, way = self._ending(outcome), outcome.way
        if self._options.smooth and len(way) > 2:
            way = self._smooth(way, (given, goal is not None and end.row == count))
        problem.project(way, problem.targets[: len(way)], _POLISH * problem.max_step)
        return way, end

    def _outcome(self, starts: np.ndarray, costs: np.ndarray, goal: np.ndarray | None) -> Outcome:
        """Search to any end, or to the one given."""
        if goal is None:
            return self._search.run(starts, costs)
        count = len(self._problem.targets)
        back = self._problem.reversed(count - 1)
        ends = starts_from(back, goal)
        returning = PathSearch(back, self._options.candidates)
        for width in _MEETING:
            forth = self._search.widened(starts, costs, width)
            if len(forth) < count or not len(ends):
                break
            way = joined(forth, returning.widened(ends, np.zeros(len(ends)), width))
            if way is not None:
                return Outcome(way, forth.layers[-1])
        way = forth.way()
        apart = len(way) == count
        return Outcome(way[:-1] if apart else way, forth.layers[-1], apart)

    def _ending(self, outcome: Outcome) -> PathEnd:
        """Return where the path ends, and why."""
        problem, row = self._problem, len(outcome.way)
        if row == len(problem.targets):
            return PathEnd(PathStatus.SUCCESS, row)
        if problem.out_of_time:
            return PathEnd(PathStatus.TIMED_OUT, row)
        if outcome.apart:
            return PathEnd(PathStatus.END_APART, row)
        return ending_at(problem, row, outcome.last)

    def _smooth(self, way: np.ndarray, ends: tuple[bool, bool]) -> np.ndarray:
        """Return a path with less self-motion."""
        held = np.zeros(len(way), bool)
        held[0], held[-1] = ends
        return smoothed(self._problem, way, held)


def _result(problem: PathProblem, way: np.ndarray, end: PathEnd, began: float) -> PathResult:
    """Return the result, with the errors of every row."""
    count, reached = len(problem.targets), len(way)
    q = np.full((count, problem.chain.n), np.nan)
    errors = np.full((count, 2), np.nan)
    q[:reached] = way
    errors[:reached] = problem.errors(way)
    for array in (q, errors):
        array.setflags(write=False)
    return PathResult(q, end, errors[:, 0], errors[:, 1], time.monotonic() - began)
