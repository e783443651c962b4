"""Ways of the joints from one configuration to another, on which the tip keeps what it can."""

from __future__ import annotations

import numpy as np

from ik_service.solvers.solver import Solver

NEAR = 0.1
"""Motion of a joint from one target to the next that is no leap, at most [rad] or [m]."""

_STRIDE, _LONGEST_STRIDE = 0.1, 0.25
"""Motion of a joint from one posture to the next on a led way, as wanted and at most [rad]."""

_PROGRESS = 0.01
"""Motion of a joint by which each posture is nearer to the end of a led way, at least [rad]."""

_MOST_LED = 60
"""Postures of a straight way, at most."""

_SEARCHED_STRIDE = 0.2
"""Motion of a joint from one posture to the next, as wanted while ways are searched for [rad]."""

_NEARER = 0.3
"""Share of the stride by which such a posture has to be nearer to where it is led."""

_MOST_SEARCHED = 1500
"""Postures that are tried in a search, at most."""

_SHORTCUTS = 60
"""Shortcuts that are tried on a way that was found."""


def straight_way(
    leader: Solver, T_base_target: np.ndarray, start: np.ndarray, end: np.ndarray
) -> np.ndarray | None:
    """
    Return postures (k, n) straight from one to another; None where they do not get there.

    :param leader: solves for what the tip keeps.
    :param T_base_target: (4, 4) pose of the tip.
    :param start: (n,) where it begins [rad] or [m].
    :param end: (n,) the last posture.
    """
    points: list[np.ndarray] = []
    q = start
    distance = float(np.abs(end - q).max())
    for _ in range(_MOST_LED):
        if distance <= NEAR:
            return np.array([*points, end])
        guess = q + (end - q) * min(_STRIDE / distance, 1.0)
        result = leader.solve(T_base_target, guess)
        before, distance = distance, float(np.abs(end - result.q).max())
        stride = float(np.abs(result.q - q).max())
        if not result.success or stride > _LONGEST_STRIDE or distance > before - _PROGRESS:
            return None
        q = result.q
        points.append(q)
    return None


class _Tree:
    """
    Postures that can be led to from roots.

    :ivar size: number of postures.
    :param roots: (k, n) the first ones [rad] or [m].
    """

    def __init__(self, roots: np.ndarray) -> None:
        self.size = len(roots)
        self._postures = np.empty((self.size + _MOST_SEARCHED, roots.shape[1]))
        self._postures[: self.size] = roots
        self._parents = [-1] * self.size

    def nearest(self, q: np.ndarray) -> int:
        """Return the index of the posture nearest to another one (n,)."""
        return int(np.square(self._postures[: self.size] - q).sum(axis=1).argmin())

    def add(self, q: np.ndarray, parent: int) -> int:
        """Add a posture (n,) that is led to from another one; return its index."""
        self._postures[self.size] = q
        self._parents.append(parent)
        self.size += 1
        return self.size - 1

    def posture(self, index: int) -> np.ndarray:
        """Return a posture (n,) [rad] or [m]."""
        return self._postures[index]

    def way(self, index: int) -> np.ndarray:
        """Return the postures (k, n) from a root to one of them."""
        found = []
        while index >= 0:
            found.append(self._postures[index])
            index = self._parents[index]
        return np.array(found[::-1])


class WaySearch:
    """
    Search for a way round about, with two trees of postures that grow towards each other.

    J. J. Kuffner and S. M. LaValle, "RRT-Connect: an efficient approach to single-query path
    planning", ICRA 2000; every posture is projected on those at which the tip is in its place.

    :param leader: solves for what the tip keeps.
    :param T_base_target: (4, 4) pose of the tip.
    """

    def __init__(self, leader: Solver, T_base_target: np.ndarray) -> None:
        self._leader = leader
        self._T = T_base_target
        self._left = _MOST_SEARCHED
        self._random = np.random.default_rng(0)
        chain = leader.chain
        self._lower, self._upper = chain.sampling_bounds()

    def way(self, start: np.ndarray, ends: np.ndarray) -> np.ndarray | None:
        """
        Return postures (k, n) that lead to one of several ends; None where none is found.

        :param start: (n,) where it begins [rad] or [m].
        :param ends: (k, n).
        """
        first = self._leader.solve(self._T, start)
        if not first.success or np.abs(first.q - start).max() > _LONGEST_STRIDE:
            return None
        ours, theirs = _Tree(first.q[None]), _Tree(ends)
        trees = [ours, theirs]
        while self._left > 0:
            reached, _ = self._grown(trees[0], self._random.uniform(self._lower, self._upper))
            aim = trees[0].posture(reached)
            met, there = self._grown(trees[1], aim)
            if there:
                at = [reached, met] if trees[0] is ours else [met, reached]
                found = np.concatenate([ours.way(at[0]), theirs.way(at[1])[::-1]])
                return self._shortened(found)
            trees.reverse()
        return None

    def _grown(self, tree: _Tree, aim: np.ndarray) -> tuple[int, bool]:
        """Grow a tree towards a posture; return the nearest one, and whether it is near."""
        index = tree.nearest(aim)
        while self._left > 0:
            q = tree.posture(index)
            ahead = aim - q
            distance = float(np.abs(ahead).max())
            if distance <= NEAR:
                return index, True
            self._left -= 1
            result = self._leader.solve(self._T, q + ahead * min(_SEARCHED_STRIDE / distance, 1.0))
            if not result.success or np.abs(result.q - q).max() > _LONGEST_STRIDE:
                return index, False
            left, before = np.linalg.norm(aim - result.q), np.linalg.norm(ahead)
            if left > before - _NEARER * np.linalg.norm(result.q - q) - 1e-3:
                return index, False
            index = tree.add(result.q, index)
        return index, False

    def _shortened(self, way: np.ndarray) -> np.ndarray:
        """Return a way (k, n) with shortcuts."""
        for _ in range(_SHORTCUTS):
            if len(way) < 4:
                break
            i, k = sorted(self._random.choice(len(way), 2, replace=False))
            if k - i < 2:
                continue
            cut = straight_way(self._leader, self._T, way[i], way[k])
            if cut is not None and _length(way[i], cut) < _length(way[i], way[i + 1 : k + 1]):
                way = np.concatenate([way[: i + 1], cut, way[k + 1 :]])
        return way


def _length(start: np.ndarray, points: np.ndarray) -> float:
    """Return the length of a way, as the joints that move most take it [rad] or [m]."""
    return float(np.abs(np.diff(np.vstack([start, points]), axis=0)).max(axis=1).sum())
