"""
Search for a joint path: wider where a narrow search has come to its end, and in another branch.

Reconfigurations are changes of the branch where no path without a jump leads on: steps of any
length between two layers of the beam. A path without a jump reaches the farther, the later the
row at which it starts. So each change is tried as late as possible, which makes them the fewest
(Wang et al., IKLink, 2024, minimise the same two costs by dynamic programming over samples of
every row). Then each is moved to the earlier row, and to the posture before it, from which the
whole path is cheapest.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
import math
import time

import numpy as np

from ik_service.exceptions import IncompleteSolutionsError
from ik_service.kinematics.chain import KinematicChain
from ik_service.paths.search.beam import Beam, join
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
    finally:  # kernels keep the timeout: time beyond it is the compiler's
        problem.deadline.extend(time.monotonic() - began - timeout)


def _searched(problem: PathProblem, near: np.ndarray) -> np.ndarray:
    """Return the solutions found from random postures, the nearest first, (k, n)."""
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


# Candidates where nothing hinders, and at most those of a start with many solutions.
_NARROW = 16
_MOST_STARTS = 128
# Detours tried where a search has come to its end, one after the other: go back so many layers
# and on from there, or, with None, come back from the solutions of the target that it has not
# reached; with so many times the candidates.
_DETOURS = ((4, 30), (4, None), (4, 500), (16, None))
# Dimension of the null spaces from which on few candidates miss passages; how many are tried then,
# where no path was found; how many in a thorough search, where arms have self-motions at all; and
# the share of the time that is left for each of both.
_MANY_WAYS = 2
_WIDER = (64, 256, 1024)
_THOROUGH = (16, 64, 256)
_FOR_REPEATS = 0.6
# How much larger the steps are with which it is found whether the steps hinder.
_LOOSE = 1.5
# Layers beyond the end of a search at which it is narrow again.
_PASSED = 10


@dataclass
class SearchResult:
    """
    Outcome of a search: its beam and longest path.

    :ivar beam: the beam that goes farthest.
    :ivar path: (k, n) the longest path [rad] or [m].
    :ivar apart: whether it reaches the last target, but not to the joint vector wanted there.
    :ivar rows: numbers of the rows at which a reconfiguration ends, in increasing order.
    """

    beam: Beam
    path: np.ndarray
    apart: bool = False
    rows: tuple[int, ...] = ()

    @property
    def last(self) -> np.ndarray:
        """Candidates (m, n) at the end, from which none leads on [rad] or [m]."""
        return self.beam.layers[-1]


class PathSearch:
    """
    Search for a path.

    :param problem: the path to be found.
    :param candidates: number of joint vectors kept for a target, at most.
    """

    def __init__(self, problem: PathProblem, candidates: int) -> None:
        self._problem = problem
        self._most = candidates

    def run(self, trunk: Beam) -> Beam:
        """
        Return the longest beam that goes on from the last layer of another one.

        :param trunk: beam whose last layer has the starts; the first of them is the cheapest.
        """
        count, starts = len(self._problem.targets), len(trunk.layers[-1])
        alone = trunk.copy()
        alone.narrow(1)
        self._advance(alone, count, 1)
        if len(alone) == count:
            return alone
        best = alone
        for most in sorted({min(starts, most) for most in (_NARROW, _MOST_STARTS)}):
            beam = self.widened(trunk, max(_NARROW, most))
            best = beam if len(beam) >= len(best) else best
            if len(best) == count or self._problem.out_of_time:
                break
        redundancy = self._problem.redundancy
        if redundancy and self._ends_in_reach(best):
            if redundancy >= _MANY_WAYS:
                best = self._repeated(trunk, best, _WIDER, thorough=False)
            if self._steps_hinder(trunk, best):
                best = self._repeated(trunk, best, _THOROUGH, thorough=True)
        return best

    def _ends_in_reach(self, beam: Beam) -> bool:
        """Return whether there is time left, and a target after a beam, which has a solution."""
        if len(beam) == len(self._problem.targets) or self._problem.out_of_time:
            return False
        _, solved, _ = self._problem.solved(len(beam), beam.layers[-1][:1])
        return bool(solved[0])

    def _steps_hinder(self, trunk: Beam, best: Beam) -> bool:
        """Return whether a search with larger steps gets farther than a beam."""
        if len(best) == len(self._problem.targets) or self._problem.out_of_time:
            return False
        problem = self._problem.loosened(_LOOSE, len(best) + 1)
        return len(PathSearch(problem, self._most).widened(trunk)) > len(best)

    def _repeated(self, trunk: Beam, best: Beam, widths: tuple[int, ...], thorough: bool) -> Beam:
        """Return the longest beam of those with more and more candidates, and of another one."""
        search = PathSearch(self._problem.hurried(_FOR_REPEATS, thorough), self._most)
        for width in widths:
            if width > self._most or search._problem.out_of_time:
                break
            beam = search.widened(trunk, width)
            best = beam if len(beam) > len(best) else best
            if len(best) == len(self._problem.targets):
                return best
        self._problem.deadline.cut_short |= search._problem.out_of_time
        return best

    def widened(self, trunk: Beam, width: int = _NARROW) -> Beam:
        """
        Return a beam that goes back and on with more candidates where it comes to an end.

        :param trunk: beam whose last layer has the starts.
        :param width: number of candidates where nothing hinders.
        """
        count, problem = len(self._problem.targets), self._problem
        narrow = min(self._most, width)
        beam = trunk.copy(problem)
        self._advance(beam, count, narrow)
        farthest, longest, detour = len(beam), beam, 0
        while len(longest) < count and detour < len(_DETOURS) and not problem.out_of_time:
            factor, back = _DETOURS[detour]
            wide = min(self._most, factor * narrow)
            beam = longest.copy()
            if back is None:
                known = self._come_back(beam, len(trunk), wide)
                if not known:
                    break
            else:
                beam.cut(max(len(trunk), farthest - back))
                self._advance(beam, min(count, farthest + _PASSED), wide)
            detour += 1
            if len(beam) > farthest:
                self._advance(beam, count, narrow)
                farthest, longest, detour = len(beam), beam, 0
        return longest

    def _come_back(self, beam: Beam, kept: int, width: int) -> bool:
        """Lengthen a beam by a layer from the target's solutions back; False without those."""
        row = len(beam)
        back = self._problem.reversed(row)
        solutions = free_starts(back, beam.path()[-1])
        if not len(solutions):
            return False
        other = Beam(back, solutions, np.zeros(len(solutions)))
        for layer in range(row - 1, kept - 2, -1):
            # A step from one beam to the other, which may be full turns apart.
            link, end, _ = self._problem.run(
                join, beam.layers[layer], beam.cost(layer), other.layers[-1], other.cost(-1),
                self._problem.wrap, self._problem.bound,
            )  # fmt: skip
            if link >= 0:
                path, wrap = other.path(end)[::-1], self._problem.wrap
                turns = np.round((beam.layers[layer][link] - path[0]) / np.where(wrap, wrap, 1.0))
                beam.graft(layer, link, path + wrap * turns)
                break
            if self._problem.out_of_time or not other.advance(self._problem.targets[layer], width):
                break
        return True

    def _advance(self, beam: Beam, layers: int, width: int) -> None:
        """Add layers up to a number of them, or until none leads on or the time is over."""
        targets = self._problem.targets
        while len(beam) < layers and not self._problem.out_of_time:
            if not beam.advance(targets[len(beam)], width):
                return


def joined(forth: Beam, back: Beam, bound: float) -> np.ndarray | None:
    """
    Return the cheapest path through two beams that come from both ends.

    :param forth: beam from the start.
    :param back: beam from the end.
    :param bound: largest motion of a joint in the step between them [rad] or [m].
    :returns: (N, n) [rad] or [m]; None where they do not meet.
    """
    count = len(forth.problem.targets)
    if count == 1:
        near = np.abs(forth.layers[0][:, None] - back.layers[0]).max(axis=2)
        one, two = np.unravel_index(np.argmin(near), near.shape)
        return back.layers[0][two : two + 1] if near[one, two] <= bound else None
    found = linked(forth, back, count - 1, range(1, count), bound)
    return None if found is None else found[0]


def linked(
    forth: Beam, back: Beam, last: int, rows: Iterable[int], bound: float
) -> tuple[np.ndarray, int] | None:
    """
    Return the cheapest path from a beam to one from the other end, by one step between them.

    :param forth: beam from the start.
    :param back: beam from a later target.
    :param last: number of that target.
    :param rows: numbers of the rows at which the step may end.
    :param bound: largest motion of a joint in the step [rad] or [m].
    :returns: (last + 1, n) the path [rad] or [m], and the row at which the step ends; None where
        there is none.
    """
    best, least = None, math.inf
    exact = np.zeros_like(forth.problem.wrap)  # the end is wanted as it is given
    for row in rows:
        other = last - row
        if row > len(forth) or other >= len(back):
            continue
        one, two, total = forth.problem.run(
            join, forth.layers[row - 1], forth.cost(row - 1), back.layers[other],
            back.cost(other), exact, bound,
        )  # fmt: skip
        if one >= 0 and total < least:
            best, least = (row, one, two), total
    if best is None:
        return None
    row, one, two = best
    return np.concatenate([forth.path(one, row - 1), back.path(two, last - row)[::-1]]), row


# Candidates of the beam that leads back from a reconfiguration to earlier rows for it.
_WIDTH = 16


class Reconfigurations:
    """
    Search that goes on in another branch.

    :param problem: the path to be found.
    :param candidates: number of joint vectors kept for a target, at most.
    :param allowed: (N,) bool: rows at which a reconfiguration may end.
    """

    def __init__(self, problem: PathProblem, candidates: int, allowed: np.ndarray) -> None:
        self._problem = problem
        self._candidates = candidates
        self._rows = np.flatnonzero(allowed)

    def lengthened(self, outcome: SearchResult, goal: np.ndarray | None) -> SearchResult:
        """
        Return a path that goes on with the fewest reconfigurations.

        :param outcome: the path without any, which does not reach the end.
        :param goal: (n,) where it ends [rad] or [m]; None for any end.
        """
        back = None if goal is None else self._returning(goal)
        count, beam = len(self._problem.targets), outcome.beam
        rows: list[int] = []
        while True:
            first = rows[-1] if rows else 0
            if back is not None:
                found = linked(beam, back, count - 1, self._between(first, len(beam)), math.inf)
                if found is not None:
                    path, row = found
                    return self._moved(SearchResult(beam, path, rows=(*rows, row)))
            longer = None if len(beam) == count else self._longer(beam, first)
            if longer is None:
                break
            beam, row = longer
            rows.append(row)
        apart = goal is not None and len(beam) == count
        path = beam.path()[: count - apart]
        return self._moved(
            SearchResult(beam, path, apart, tuple(row for row in rows if row < len(path)))
        )

    def _returning(self, goal: np.ndarray) -> Beam | None:
        """Return the beam that comes back from the end; None where it is not at the target."""
        problem = self._problem.reversed(len(self._problem.targets) - 1)
        ends = starts_from(problem, goal)
        if not len(ends):
            return None
        return PathSearch(problem, self._candidates).run(Beam(problem, ends, np.zeros(len(ends))))

    def _between(self, first: int, last: int) -> list[int]:
        """Return the rows that a reconfiguration may end at, after a row up to another one."""
        return self._rows[(self._rows > first) & (self._rows <= last)].tolist()

    def _longer(self, beam: Beam, first: int) -> tuple[Beam, int] | None:
        """Return a beam with a reconfiguration that goes farther, and its row; None for none."""
        rows = self._between(first, len(beam))
        if not rows or self._problem.out_of_time:
            return None
        trunk = beam.copy()
        trunk.cut(rows[-1])
        postures = free_starts(self._problem.reversed(rows[-1]), trunk.path()[-1])
        if not len(postures):
            return None
        trunk.reconfigure(postures)
        longer = PathSearch(self._problem, self._candidates).run(trunk)
        return (longer, rows[-1]) if len(longer) > len(beam) else None

    def _moved(self, outcome: SearchResult) -> SearchResult:
        """Return the path with each reconfiguration where the path is cheapest, the last first."""
        beam, path, rows = outcome.beam, outcome.path, list(outcome.rows)
        for k in reversed(range(len(rows))):
            late, first = rows[k], rows[k - 1] if k else 0
            back = Beam(self._problem.reversed(late), path[late : late + 1], np.zeros(1))
            while len(back) < late - first and not self._problem.out_of_time:
                if not back.advance(self._problem.targets[late - len(back)], _WIDTH):
                    break
            found = linked(beam, back, late, self._between(first, late), math.inf)
            if found is not None:
                earlier, rows[k] = found
                path = np.concatenate([earlier, path[late + 1 :]])
        return SearchResult(beam, path, outcome.apart, tuple(rows))
