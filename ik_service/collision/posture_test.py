"""Collision checks of some joints, while the others stay where they are, and their duration."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import repeat
import math
from threading import Lock
from time import perf_counter

import numpy as np
from numpy.typing import ArrayLike

from ik_service.collision.part import ContactPoint
from ik_service.collision.scene import Pair, Scene
from ik_service.collision.scene_arrays import line_joints, LineJoints, RobotArrays
from ik_service.collision.workspace import Workspace
from ik_service.common.arguments import real_array
from ik_service.common.quoting import safe_repr
from ik_service.exceptions import ArgumentError


class CheckStatistics:
    """Number and duration of checks. Thread-safe."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._count = 0
        self._sum = 0.0
        self._longest = 0.0

    def add(self, seconds: float, count: int = 1) -> None:
        """Count checks that together took some time [s]."""
        each = seconds / count
        with self._lock:
            self._count += count
            self._sum += seconds
            if each > self._longest:
                self._longest = each

    @property
    def count(self) -> int:
        """Number of checks."""
        return self._count

    @property
    def mean(self) -> float:
        """Their mean duration [s]; 0 before the first one."""
        with self._lock:
            return self._sum / self._count if self._count else 0.0

    @property
    def longest(self) -> float:
        """The longest one [s]; of postures that are checked together their mean counts."""
        return self._longest


_LEAST_ROWS = 64  # postures that a thread is worth starting for
_ENDLESS = 1.0  # length that a slide without limits counts for [m]


class PostureTest:
    """
    Collision checks of postures of some joints. Thread-safe.

    Each check looks at the world as it is when it begins.

    :param joint_names: names of the joints.
    :param columns: (n,) where they stand among all independent joints.
    :param base: returns (m,) the positions of all independent joints [rad] or [m].
    :param scene: returns robot and world.
    :param statistics: counts the checks.
    :ivar joint_names: names of the joints, in the order of the joint vectors.
    """

    def __init__(
        self,
        joint_names: tuple[str, ...],
        columns: np.ndarray | slice,
        base: Callable[[], np.ndarray],
        scene: Callable[[], Scene],
        statistics: CheckStatistics,
    ) -> None:
        self.joint_names = joint_names
        self._columns = columns
        self._shape = (len(joint_names),)
        self._base = base
        self._scene = scene
        self._statistics = statistics

    def first_contact(self, q: ArrayLike) -> Pair | None:
        """
        Return the names of two bodies that collide; None where nothing does.

        :param q: (n,) joint positions [rad] or [m].
        :raises ArgumentError: it has another shape, or is not finite.
        """
        began = perf_counter()
        scene = self._scene()
        found = scene.first_contact(self._with_posture(scene.model.workspace, q))
        self._statistics.add(perf_counter() - began)
        return found

    def contacts(self, q: ArrayLike) -> tuple[Pair, ...]:
        """
        Return the names of all pairs of bodies that collide.

        :param q: (n,) joint positions [rad] or [m].
        :returns: each pair once; of links first the one that comes first in the robot, then
            attached objects, then objects of the world.
        :raises ArgumentError: as :meth:`first_contact`.
        """
        scene = self._scene()
        return scene.contacts(self._with_posture(scene.model.workspace, q))

    def contact_points(self, q: ArrayLike) -> tuple[ContactPoint, ...]:
        """
        Return where bodies touch: a point for each pair of shapes that collide.

        Large meshes count as several shapes.

        :param q: (n,) joint positions [rad] or [m].
        :raises ArgumentError: as :meth:`first_contact`.
        """
        scene = self._scene()
        return scene.contact_points(self._with_posture(scene.model.workspace, q))

    def colliding(self, Q: ArrayLike, threads: int = 1, step: float = math.inf) -> np.ndarray:
        """
        Return of many postures whether something collides.

        :param Q: (N, n) joint positions [rad] or [m].
        :param threads: how many threads share the work; pairs that Coal has to check are done one
            after the other.
        :param step: how far any point of the robot is in a posture from where it was in the one
            before, at most [m], where the postures follow each other so closely; inf otherwise.
        :returns: (N,) of bool.
        :raises ArgumentError: as :meth:`first_contact`.
        """
        if not isinstance(threads, int) or threads < 1:
            raise ArgumentError('threads', f'has to be at least 1, not {safe_repr(threads)}')
        scene = self._scene()
        began = perf_counter()
        postures = self._postures(Q)
        count = min(threads, 1 + len(postures) // _LEAST_ROWS)
        if count == 1:
            found = scene.colliding(postures, step)
        else:
            blocks = np.array_split(postures, count)
            with ThreadPoolExecutor(count) as pool:
                found = np.concatenate([*pool.map(scene.colliding, blocks, repeat(step))])
        if len(postures):
            self._statistics.add(perf_counter() - began, len(postures))
        return found

    def snapshot(self) -> PostureTest:
        """Return the checks with robot, world and other joints as they are now, for good."""
        scene, base = self._scene(), self._base()
        return PostureTest(
            self.joint_names, self._columns, lambda: base, lambda: scene, self._statistics
        )

    def of_motion(self) -> PostureTest:
        """
        Return the checks without contacts that no motion changes.

        Those are the contacts of links that never move with objects of the world, such as of a
        base with the table that it stands on.
        """
        scene = self._scene
        return PostureTest(
            self.joint_names,
            self._columns,
            self._base,
            lambda: scene().of_motion,
            self._statistics,
        )

    def lines(self) -> LineTest:
        """Return the checks of straight motions with robot and world as they are now, for good."""
        base = self._base()
        line = line_joints(np.arange(len(base))[self._columns], base, self.levers())
        return LineTest(self._scene(), line, self._statistics)

    def displacements(self, Q: ArrayLike) -> np.ndarray:
        """
        Return how far any point of robot and attached objects moves from row to row, at most.

        :param Q: (N, n) joint positions [rad] or [m].
        :returns: (N−1,) distances from where the points were one row before [m].
        :raises ArgumentError: it has another shape.
        """
        scene = self._scene()
        return scene.model.workspace.displacements(scene.robot, self._postures(Q))

    def levers(self) -> np.ndarray:
        """Return how far a unit of each joint moves any point at most (n,) [m/rad or 1]."""
        scene = self._scene()
        limits = [scene.model.robot.joints[name].limits for name in scene.model.joint_names]
        ends = np.array([max(abs(limit.lower), abs(limit.upper)) for limit in limits])
        return _levers(scene.robot, np.where(np.isfinite(ends), ends, _ENDLESS))[self._columns]

    def _postures(self, Q: ArrayLike) -> np.ndarray:
        """Return the positions (N, m) of all independent joints."""
        rows = real_array(Q, 'Q')
        if rows.ndim != 2 or rows.shape[1] != len(self.joint_names):
            raise ArgumentError(
                'Q', f'has shape {rows.shape}, has to be (N, {len(self.joint_names)})'
            )
        postures = np.tile(self._base(), (len(rows), 1))
        postures[:, self._columns] = rows
        return postures

    def _with_posture(self, workspace: Workspace, q: ArrayLike) -> Workspace:
        """Write a posture into the memory of this thread."""
        if not (type(q) is np.ndarray and q.dtype == np.float64 and q.shape == self._shape):
            q = self._checked(q)  # which takes longer than many checks
        posture = workspace.posture
        posture[:] = self._base()
        posture[self._columns] = q
        return workspace

    def _checked(self, q: ArrayLike) -> np.ndarray:
        values = real_array(q, 'q')
        if values.shape != self._shape:
            raise ArgumentError(
                'q',
                f'has shape {values.shape}, has to be {self._shape}: one value each for '
                + ', '.join(self.joint_names),
            )
        return values


class LineTest:
    """
    Collision checks of straight motions, all with the same world. Thread-safe.

    :param scene: robot and world.
    :param line: the joints that move, and where the others are.
    :param statistics: counts the checks.
    :ivar levers: (n,) how far any point of robot and attached objects moves at most for a unit of
        each joint [m/rad], or 1 for a joint that slides.
    """

    def __init__(self, scene: Scene, line: LineJoints, statistics: CheckStatistics) -> None:
        self._scene, self._line, self._statistics = scene, line, statistics
        self.levers = line.levers

    def free(self, corners: np.ndarray, step: float) -> tuple[bool, int]:
        """
        Return whether nothing collides on a motion, and how many postures were checked.

        :param corners: (2, n) the first posture, which is not checked, and the last, or (3, n)
            those of a parabola with the corner between them [rad] or [m]; finite, contiguous.
        :param step: motion of the robot between the postures that are checked, at most [m].
        """
        began = perf_counter()
        free, count = self._scene.line_is_free(self._line, corners, step)
        self._statistics.add(perf_counter() - began, count)
        return free, count


def _levers(robot: RobotArrays, ends: np.ndarray) -> np.ndarray:
    """
    Return how far any point moves at most for a unit of each joint (m,) [m/rad or 1].

    :param ends: (m,) how far each joint goes from 0, at most [rad] or [m].
    """
    bodies = len(robot.body_spheres)
    moves, variables = np.abs(robot.moves), robot.variables
    reach = np.zeros(bodies)  # from the origin of each body to the farthest point it carries
    for body, (*centre, radius) in enumerate(robot.body_spheres.tolist()):
        reach[body] = math.hypot(*centre) + max(radius, 0.0)
    arms = np.linalg.norm(robot.before[:, 9:], axis=1) + moves[:, 1] * ends[variables]
    for j in reversed(range(bodies - 1)):
        reach[robot.parents[j]] = max(reach[robot.parents[j]], arms[j] + reach[j + 1])
    levers = np.zeros((bodies, len(ends)))  # of the joints up to each body, mimic joints added up
    for j, (turn, slide) in enumerate(moves.tolist()):
        levers[j + 1] = levers[robot.parents[j]]
        levers[j + 1, variables[j]] += (turn * reach[j + 1] if turn else 0.0) + slide
    return levers.max(axis=0)
