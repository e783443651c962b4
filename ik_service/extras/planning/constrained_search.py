"""
Joint paths on constraints: search by projected RRT-Connect, shortening and timing.

D. Berenson, S. Srinivasa, D. Ferguson, J. Kuffner: Manipulation planning on constraint manifolds.
ICRA 2009 (CBiRRT).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from ik_service.extras.planning.constraints import Projection
from ik_service.extras.planning.motion_check import MotionCheck
from ik_service.extras.planning.shortening import Timing
from ik_service.kinematics.chain import KinematicChain
from ik_service.paths.trajectory.joint_trajectory import JointTrajectory

SPACING = 0.05  # largest difference of a joint from row to row of a path [rad] or [m]
REACH = 1.5  # longest branch that is grown at once, before it is projected: likewise
_STRETCH = 2.5  # of a projected branch from row to row; more is a leap to another part
_SAMPLES = 32  # projected at once
_NODES_EVERY = 6  # rows of a branch
_TRIES = 60  # shortcuts, at most
_PATIENCE = 15  # failures in a row that end it
_GAIN = 0.98  # length of a shortcut as a share of the part it replaces, at most

Stopped = Callable[[int], bool]


@dataclass
class _Tree:
    """Tree of rows; each node has the rows that lead to it from its parent."""

    nodes: list[np.ndarray]
    parents: list[int]
    branches: list[np.ndarray] = field(default_factory=list)
    array: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))

    def add(self, parent: int, rows: np.ndarray) -> int:
        """Add the rows of a branch, the first of which is the parent; return the last node."""
        ends = [*range(_NODES_EVERY, len(rows) - 1, _NODES_EVERY), len(rows) - 1]
        begin = 0
        for end in ends:
            self.nodes.append(rows[end])
            self.parents.append(parent)
            self.branches.append(rows[begin : end + 1])
            parent, begin = len(self.nodes) - 1, end
        return parent

    def nearest(self, q: np.ndarray) -> int:
        """Return the number of the node that is nearest to a posture."""
        if len(self.array) < len(self.nodes):
            self.array = np.array(self.nodes)
        return int(np.argmin(((self.array - q) ** 2).sum(axis=1)))

    def path(self, node: int) -> np.ndarray:
        """Return the rows from the root to a node."""
        parts = [self.nodes[node][None]]
        while self.parents[node] >= 0:
            parts.append(self.branches[node][:-1])
            node = self.parents[node]
        return np.concatenate(parts[::-1])


class ConstrainedSearch:
    """Search for paths that meet constraints without collisions, rows ``step`` apart [m]."""

    def __init__(self, projection: Projection, check: MotionCheck, step: float) -> None:
        self._projection, self._check, self._step = projection, check, step

    def line(self, a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, bool]:
        """Return the rows (k, n) of the straight motion from a to b while free; if they arrive."""
        count = self.count(a, b)
        shares = np.linspace(0.0, 1.0, count + 1)[1:, None]
        rows, held = self._projection.onto(a + shares * (b - a))
        rows = np.concatenate([a[None], rows])
        leap = _STRETCH * np.abs(b - a).max() / count
        good = held & (np.abs(np.diff(rows, axis=0)).max(axis=1) <= max(leap, 1e-9))
        free = 1 + (len(good) if good.all() else int(np.argmin(good)))
        if free > 1:
            free = 1 + self._check.free_count(rows[1:free])
        reached = free == len(rows) and bool(np.abs(rows[-1] - b).max() < 0.2 * SPACING)
        if reached and np.abs(rows[-1] - b).max() > 0.0:
            rows = np.concatenate([rows, b[None]])  # at the tolerance, not inside it
            free += 1
        return rows[:free], reached

    def count(self, a: np.ndarray, b: np.ndarray) -> int:
        """Return into how many parts a straight motion between two postures (n,) is divided."""
        largest = float(np.abs(b - a).max())
        motion = self._check.spacing(np.array([a, b]))
        return max(int(np.ceil(largest / SPACING)), int(np.ceil(motion / self._step)), 1)

    def search(
        self,
        bounds: tuple[np.ndarray, np.ndarray],
        start: np.ndarray,
        goals: np.ndarray,
        seed: int,
        stopped: Stopped,
    ) -> np.ndarray | None:
        """Rows (k, n) of a path from ``start`` to a goal within bounds (n,) [rad, m], or None."""
        for goal in goals:
            rows, reached = self.line(start, goal)
            if reached:
                return rows
        random = np.random.default_rng(seed)
        trees = [
            _Tree([start], [-1], [start[None]]),
            _Tree([*goals], [-1] * len(goals), [goal[None] for goal in goals]),
        ]
        samples: list[np.ndarray] = []
        iteration, turn = 0, 0
        while True:
            iteration += 1
            if stopped(iteration):
                return None
            if not samples:
                drawn, held = self._projection.onto(
                    random.uniform(*bounds, size=(_SAMPLES, len(start)))
                )
                samples = [*drawn[held]]
                continue
            tree, other = trees[turn], trees[1 - turn]
            node, _ = self._grown(tree, samples.pop(), REACH)
            if node is not None:
                met, reached = self._grown(other, tree.nodes[node], np.inf)
                if reached and met is not None:
                    parts = tree.path(node), other.path(met)
                    first, last = parts if turn == 0 else parts[::-1]
                    return np.concatenate([first, last[::-1][1:]])
            turn = 1 - turn

    def shortened(
        self, rows: np.ndarray, units: np.ndarray, seed: int, stopped: Callable[[], bool]
    ) -> np.ndarray:
        """Shorter path (k, n) [rad, m] with the same ends; ``units`` (n,) of motion count as 1."""
        random = np.random.default_rng(seed)
        failures = 0
        for _ in range(_TRIES):
            if len(rows) < 4 or failures >= _PATIENCE or stopped():
                break
            i, j = np.sort(random.integers(0, len(rows), 2)).tolist()
            failures += 1
            if j < i + 2:
                continue
            line, reached = self.line(rows[i], rows[j])
            if reached and _length(line, units) <= _GAIN * _length(rows[i : j + 1], units):
                rows = np.concatenate([rows[:i], line, rows[j + 1 :]])
                failures = 0
        return rows

    def _grown(self, tree: _Tree, target: np.ndarray, reach: float) -> tuple[int | None, bool]:
        """Grow a tree towards a posture; return the new node, and whether it is there."""
        near = tree.nearest(target)
        q = tree.nodes[near]
        ahead = target - q
        size = float(np.abs(ahead).max())
        if size == 0.0:
            return near, True
        end = target if size <= reach else q + ahead * (reach / size)
        rows, reached = self.line(q, end)
        if len(rows) < 2:
            return None, False
        return tree.add(near, rows), reached and end is target


def _length(rows: np.ndarray, units: np.ndarray) -> float:
    return float(np.linalg.norm(np.diff(rows, axis=0) / units, axis=1).sum())


LEVELS = ((1, 6), (1, 3), (2, 5), (2, 2), (4, 3), (8, 3), (8, 1))
"""Rows for each :data:`SPACING`, and over how many on either side a path is averaged."""


def constrained_trajectory(
    chain: KinematicChain,
    rows: np.ndarray,
    timing: Timing,
    check: MotionCheck,
    projection: Projection,
    stopped: Callable[[], bool],
) -> JointTrajectory | None:
    """Timed motion along rows (k, n), averaged and projected, checked; None where none passes."""
    for parts, radius in LEVELS:
        smooth = _averaged(_resampled(rows, SPACING / parts), radius)
        smooth[1:-1], held = projection.onto(smooth[1:-1])
        if held.all() and check.rows_are_free(smooth):
            trajectory = timing.timed(chain, smooth)
            if check.first_fault(trajectory) is None:
                return trajectory
        if stopped():
            break
    return None


def _resampled(rows: np.ndarray, spacing: float) -> np.ndarray:
    """Return rows of a path that are equally far apart, about as much as a spacing."""
    sizes = np.abs(np.diff(rows, axis=0)).max(axis=1)
    at = np.concatenate([[0.0], np.cumsum(sizes)])
    count = max(int(np.ceil(at[-1] / spacing)), 4)
    indices = np.linspace(0.0, at[-1], count + 1)
    columns = [np.interp(indices, at, column) for column in rows.T]
    return np.stack(columns, axis=1)


def _averaged(rows: np.ndarray, radius: int) -> np.ndarray:
    """Return the means over neighbours on either side, twice; both ends stay."""
    last = len(rows) - 1
    indices = np.arange(last + 1)
    reach = np.minimum(np.minimum(indices, last - indices), radius)
    for _ in range(2):
        sums = np.concatenate([np.zeros((1, rows.shape[1])), np.cumsum(rows, axis=0)])
        width = (2 * reach + 1)[:, None]
        rows = (sums[indices + reach + 1] - sums[indices - reach]) / width
    return np.asarray(rows)
