"""
Constraints on the whole of a path: tests, projection onto them, and search for paths there.

D. Berenson, S. Srinivasa, D. Ferguson, J. Kuffner: Manipulation planning on constraint manifolds.
ICRA 2009 (CBiRRT).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
import math

import numpy as np

from ik_service.common.quoting import safe_repr
from ik_service.exceptions import ArgumentError
from ik_service.extras.planning.motion_check import MotionCheck, RowTest
from ik_service.extras.planning.shortening import lengths, Timing
from ik_service.kinematics.chain import KinematicChain
from ik_service.kinematics.link_poses import tip_poses
from ik_service.model.geometry.solids import Box, Cylinder, Sphere
from ik_service.paths.trajectory.joint_trajectory import JointTrajectory
from ik_service.solvers.task import Task

SLACK = 1e-5
"""By how much a tolerance may be exceeded, as the solvers' own tolerances allow [m, rad]."""
_GIMBAL_LOCK = 1e-9  # a cosine of the middle angle below this leaves only a sum of the others


@dataclass(frozen=True)
class PathConstraints:
    """
    Constraints that hold on the whole of a path.

    Ranges of joints are those of the chain: :meth:`~ik_service.KinematicChain.with_limits`.

    :ivar tasks: regions and orientations of the chain's tip, all of which have to hold; of the
        target of each, only the orientation and, for the region, the pose count.
    :ivar tests: further tests of joint vectors.
    :raises ArgumentError: tasks are no tasks, or tests no tests.
    """

    tasks: tuple[Task, ...] = ()
    tests: tuple[RowTest, ...] = ()

    def __post_init__(self) -> None:
        for name, kind in (('tasks', Task), ('tests', RowTest)):
            given = getattr(self, name)
            if not (isinstance(given, tuple) and all(isinstance(each, kind) for each in given)):
                raise ArgumentError(
                    f'path_constraints.{name}',
                    f'has to be a tuple of {kind.__name__}, not {safe_repr(given)}',
                )

    @classmethod
    def of(cls, given: object) -> PathConstraints:
        """Return the constraints given as a task, several, constraints, or None for none."""
        if given is None:
            return cls()
        if isinstance(given, PathConstraints):
            return given
        tasks = (given,) if isinstance(given, Task) else given
        if not isinstance(tasks, Iterable):
            raise ArgumentError('path_constraints', 'have to be a Task, or several')
        return cls(tuple(tasks))

    def row_tests(self, chain: KinematicChain) -> list[RowTest]:
        """Return the tests of joint vectors of a chain."""
        tasks = enumerate(self.tasks)
        named = (TaskRows(chain, [task], name=f'path_constraints[{i}]') for i, task in tasks)
        return [*named, *self.tests]


class TaskRows:
    """
    Test of many joint vectors for tasks of a link, one of which has to hold.

    :param columns: (m,) where its joints stand in the joint vectors; None where they are the same.
    """

    def __init__(
        self,
        chain: KinematicChain,
        tasks: Sequence[Task],
        columns: np.ndarray | None = None,
        name: str = '',
    ) -> None:
        self._chain, self.tasks, self._columns, self.name = chain, tasks, columns, name

    def poses(self, Q: np.ndarray) -> np.ndarray:
        """Return the poses (N, 4, 4) T_base_link [m] of the link at Q (N, n)."""
        return tip_poses(self._chain, Q if self._columns is None else Q[:, self._columns])

    def violated(self, Q: np.ndarray) -> np.ndarray:
        """Return at which joint vectors Q (N, n) no task holds, (N,) bool."""
        poses = self.poses(Q)
        broken = np.ones(len(Q), bool)
        for task in self.tasks:
            for values, limits in _bounded_values(task, poses):
                beyond = np.square(np.maximum(np.abs(values) - limits, 0.0))
                apart = np.maximum(beyond[:, :3].sum(axis=1), beyond[:, 3:].sum(axis=1))
                broken &= apart > SLACK**2
        return broken


def excess_rows(
    constraint: TaskRows, Q: np.ndarray, group: int, margin: float
) -> tuple[np.ndarray, np.ndarray]:
    """
    Return values that a constraint bounds, and how far the first of each group is beyond.

    The values are coordinates of the point in the frame of its region, or its distance from the
    middle, and the angles of the orientation. Of several tasks, and of the two triples of Euler
    angles, those count that are nearest for the first of the group.

    :param constraint: the constraint, whose values are at most 6.
    :param Q: (N · group, n) joint vectors in groups of neighbours [rad] or [m].
    :param group: size of a group.
    :param margin: how far inside the bounds to be, at most half of each [m, rad].
    :returns: (N, 6) the signed excess, 0 within; (N, group, 6) the values, angles without jumps
        within a group.
    """
    poses = constraint.poses(Q)
    count = len(Q) // group
    best = np.full(count, np.inf)
    excess, values = np.zeros((count, 6)), np.zeros((count, group, 6))
    for task in constraint.tasks:
        for found, limits in _bounded_values(task, poses):
            rows = found.reshape(count, group, 6)
            within = limits - np.minimum(margin, 0.5 * limits)
            beyond = np.sign(rows[:, 0]) * np.maximum(np.abs(rows[:, 0]) - within, 0.0)
            size = np.linalg.norm(beyond, axis=1)
            nearer = size < best
            best[nearer], excess[nearer] = size[nearer], beyond[nearer]
            values[nearer] = rows[nearer]
    jumps = np.round((values[:, :, 3:] - values[:, :1, 3:]) / (2.0 * np.pi))
    values[:, :, 3:] -= 2.0 * np.pi * jumps
    return excess, values


def _bounded_values(task: Task, poses: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return alternatives of values (N, 6) of a task, and the bounds (6,) of their sizes."""
    T = task.target if task.region_pose is None else task.region_pose
    points = poses[:, :3, :3] @ np.array(task.point) + poses[:, :3, 3]
    local = (points - T[:3, 3]) @ T[:3, :3]
    region, position, sizes = task.region, local, np.zeros(3)
    if isinstance(region, Box):
        sizes = np.array(region.extents)
    elif isinstance(region, Sphere) and region.radius > 0.0:
        position, sizes = np.zeros_like(local), np.array([region.radius, np.inf, np.inf])
        position[:, 0] = np.linalg.norm(local, axis=1)
    elif isinstance(region, Cylinder):
        sizes = np.array([0.0, 0.0, region.extents[2]])
        if region.radius > 0.0:
            position = np.zeros_like(local)
            position[:, 0], position[:, 2] = np.linalg.norm(local[:, :2], axis=1), local[:, 2]
            sizes = np.array([region.radius, np.inf, region.extents[2]])
    angles = np.array([math.inf if t >= math.pi else t for t in task.orientation_tolerances])
    limits = np.concatenate([sizes, angles])
    if np.isinf(angles).all():
        triples = [np.zeros_like(local)]
    else:
        R = task.target[:3, :3].T @ poses[:, :3, :3]
        vectors = task.parameterization == 'rotation_vector'
        triples = [_rotation_vectors(R)] if vectors else _euler(R)
    return [(np.concatenate([position, triple], axis=1), limits) for triple in triples]


def _rotation_vectors(R: np.ndarray) -> np.ndarray:
    """Return the rotation vectors (N, 3) of rotations, at most π long [rad]."""
    skew = 0.5 * np.stack(
        [R[:, 2, 1] - R[:, 1, 2], R[:, 0, 2] - R[:, 2, 0], R[:, 1, 0] - R[:, 0, 1]], axis=1
    )
    sine = np.linalg.norm(skew, axis=1)
    angle = np.arctan2(sine, 0.5 * (np.trace(R, axis1=1, axis2=2) - 1.0))
    factor = np.where(sine > 1e-9, angle / np.maximum(sine, 1e-9), 1.0)
    vectors: np.ndarray = skew * factor[:, None]
    for row in np.flatnonzero((angle > 3.0) & (sine < 1e-3)):  # near π the axis is that of R + I
        column = int(np.argmax(np.diag(R[row])))
        axis = R[row][:, column] + np.eye(3)[column]
        vectors[row] = axis / np.linalg.norm(axis) * angle[row]
    return vectors


def _euler(R: np.ndarray) -> list[np.ndarray]:
    """Return two triples (N, 3) of a, b, c [rad] with R = Rx(a) Ry(b) Rz(c)."""
    b = np.arctan2(R[:, 0, 2], np.hypot(R[:, 0, 0], R[:, 0, 1]))
    a, c = np.arctan2(-R[:, 1, 2], R[:, 2, 2]), np.arctan2(-R[:, 0, 1], R[:, 0, 0])
    locked = np.hypot(R[:, 0, 0], R[:, 0, 1]) < _GIMBAL_LOCK  # only a ± c counts
    a = np.where(locked, np.arctan2(R[:, 2, 1], R[:, 1, 1]), a)
    c = np.where(locked, 0.0, c)
    turned = np.stack(
        [
            np.arctan2(R[:, 1, 2], -R[:, 2, 2]),
            np.copysign(math.pi, b) - b,
            np.arctan2(R[:, 0, 1], -R[:, 0, 0]),
        ],
        axis=1,
    )
    first = np.stack([a, b, c], axis=1)
    other = np.stack([np.zeros_like(a), b, np.copysign(a, a * b)], axis=1)
    return [first, np.where(locked[:, None], other, turned)]


MARGIN = 2e-3
"""Distance inside a tolerance at which a projection ends, at most half of it [m, rad]."""
_ITERATIONS = 12  # of Newton's method, at most
_CONVERGED = 1e-7  # excess that is none [m, rad]
_DIFFERENCE = 1e-6  # of a joint, for the Jacobian [rad] or [m]
_DAMPING = 1e-9  # that lets J Jᵀ be inverted where rows depend on each other
_LONGEST_STEP = 0.5  # of a joint in an iteration [rad] or [m]


class Projection:
    """
    Projection of joint vectors onto constraints by Newton's steps of least length.

    D. Berenson, S. Srinivasa, J. Kuffner: Task Space Regions: A framework for pose-constrained
    manipulation planning. IJRR 30 (12), 2011, algorithm 2.

    :param chain: the chain that moves, whose limits are kept.
    :param constraints: the constraints, all of which have to hold.
    """

    def __init__(self, chain: KinematicChain, constraints: Sequence[TaskRows]) -> None:
        self._chain, self._constraints = chain, constraints

    def onto(self, Q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return joint vectors (N, n) near Q that meet the constraints, and which of them do."""
        rows = np.clip(Q, self._chain.lower, self._chain.upper)
        held = np.zeros(len(rows), bool)
        left = np.arange(len(rows))
        for iteration in range(_ITERATIONS + 1):
            excess, J = self._linearised(rows[left])
            far = np.abs(excess).max(axis=1, initial=0.0) > _CONVERGED
            held[left[~far]] = True
            left, excess, J = left[far], excess[far], J[far]
            if not len(left) or iteration == _ITERATIONS:
                break
            normal = J @ J.transpose(0, 2, 1) + _DAMPING * np.eye(J.shape[1])
            step = np.einsum('kmn,km->kn', J, np.linalg.solve(normal, excess[:, :, None])[:, :, 0])
            largest = np.abs(step).max(axis=1, keepdims=True)
            step *= np.minimum(1.0, _LONGEST_STEP / np.maximum(largest, 1e-12))
            rows[left] = np.clip(rows[left] - step, self._chain.lower, self._chain.upper)
        return rows, held

    def _linearised(self, Q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return by how much each value (N, m) is beyond its bounds, and Jacobians (N, m, n)."""
        n = Q.shape[1]
        beside = Q[:, None, :] + _DIFFERENCE * np.eye(n)
        stacked = np.concatenate([Q[:, None, :], beside], axis=1).reshape(-1, n)
        excesses, jacobians = [], []
        for constraint in self._constraints:
            excess, values = excess_rows(constraint, stacked, n + 1, MARGIN)
            change = (values[:, 1:] - values[:, :1]) / _DIFFERENCE
            active = excess != 0.0
            excesses.append(excess)
            jacobians.append(np.where(active[:, :, None], change.transpose(0, 2, 1), 0.0))
        return np.concatenate(excesses, axis=1), np.concatenate(jacobians, axis=1)


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
            before = lengths(rows[i : j + 1], units).sum()
            if reached and lengths(line, units).sum() <= _GAIN * before:
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
