"""
Reconfigurations: changes of the branch where no path without a jump leads on.

They are steps of any length between two layers of the beam. What a path without a jump reaches
grows with the row that it comes from. So each reconfiguration is tried as late as possible, which
makes them the fewest (Wang et al., IKLink, 2024, minimise the same two costs by dynamic
programming over samples of every row). Then each is moved to the earlier row, and to the posture
before it, from which the whole path is cheapest.
"""

from __future__ import annotations

import math

import numpy as np

from ik_service.paths.search.beam import Beam
from ik_service.paths.search.problem import PathProblem
from ik_service.paths.search.search import linked, Outcome, PathSearch
from ik_service.paths.search.starts import free_starts, starts_from

# Candidates of the beam that leads back from a reconfiguration to earlier rows for it.
_WIDTH = 16


class Reconfigurations:
    """
    Search that goes on in another branch.

    :param problem: the path to be found.
    :param candidates: number of joint vectors kept for a target, at most.
    :param allowed: (N,) bool: rows that a reconfiguration may lead to.
    """

    def __init__(self, problem: PathProblem, candidates: int, allowed: np.ndarray) -> None:
        self._problem = problem
        self._candidates = candidates
        self._rows = np.flatnonzero(allowed)

    def lengthened(self, outcome: Outcome, goal: np.ndarray | None) -> Outcome:
        """
        Return a path that goes on with the fewest reconfigurations.

        :param outcome: the path without any, which does not lead to the end.
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
                    way, row = found
                    return self._moved(Outcome(beam, way, rows=(*rows, row)))
            longer = None if len(beam) == count else self._longer(beam, first)
            if longer is None:
                break
            beam, row = longer
            rows.append(row)
        apart = goal is not None and len(beam) == count
        way = beam.way()[: count - apart]
        return self._moved(Outcome(beam, way, apart, tuple(row for row in rows if row < len(way))))

    def _returning(self, goal: np.ndarray) -> Beam | None:
        """Return the beam that comes back from the end; None where it is not at the target."""
        problem = self._problem.reversed(len(self._problem.targets) - 1)
        ends = starts_from(problem, goal)
        if not len(ends):
            return None
        return PathSearch(problem, self._candidates).run(Beam(problem, ends, np.zeros(len(ends))))

    def _between(self, first: int, last: int) -> list[int]:
        """Return the rows that a reconfiguration may lead to, after a row up to another one."""
        return self._rows[(self._rows > first) & (self._rows <= last)].tolist()

    def _longer(self, beam: Beam, first: int) -> tuple[Beam, int] | None:
        """Return a beam with a reconfiguration that goes farther, and its row; None for none."""
        rows = self._between(first, len(beam))
        if not rows or self._problem.out_of_time:
            return None
        trunk = beam.copy()
        trunk.cut(rows[-1])
        postures = free_starts(self._problem.reversed(rows[-1]), trunk.way()[-1])
        if not len(postures):
            return None
        trunk.reconfigure(postures)
        longer = PathSearch(self._problem, self._candidates).run(trunk)
        return (longer, rows[-1]) if len(longer) > len(beam) else None

    def _moved(self, outcome: Outcome) -> Outcome:
        """Return the path with each reconfiguration where the path is cheapest, the last first."""
        beam, way, rows = outcome.beam, outcome.way, list(outcome.rows)
        for k in reversed(range(len(rows))):
            late, first = rows[k], rows[k - 1] if k else 0
            back = Beam(self._problem.reversed(late), way[late : late + 1], np.zeros(1))
            while len(back) < late - first and not self._problem.out_of_time:
                if not back.advance(self._problem.targets[late - len(back)], _WIDTH):
                    break
            found = linked(beam, back, late, self._between(first, late), math.inf)
            if found is not None:
                earlier, rows[k] = found
                way = np.concatenate([earlier, way[late + 1 :]])
        return Outcome(beam, way, outcome.apart, tuple(rows))
