"""Collision checks of some joints, while the others stay where they are."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from time import perf_counter

import numpy as np
from numpy.typing import ArrayLike

from ik_service.collision.check_statistics import CheckStatistics
from ik_service.collision.part import ContactPoint
from ik_service.collision.scene import Pair, Scene
from ik_service.collision.workspace import Workspace
from ik_service.common.quoting import safe_repr
from ik_service.common.real_arrays import real_array
from ik_service.exceptions import ArgumentError

_LEAST_ROWS = 64  # postures that a thread is worth starting for


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

    def colliding(self, Q: ArrayLike, threads: int = 1) -> np.ndarray:
        """
        Return of many postures whether something collides.

        :param Q: (N, n) joint positions [rad] or [m].
        :param threads: how many threads share the work; what Coal has to look at is done one
            after the other.
        :returns: (N,) of bool.
        :raises ArgumentError: as :meth:`first_contact`.
        """
        if not isinstance(threads, int) or threads < 1:
            raise ArgumentError('threads', f'has to be at least 1, not {safe_repr(threads)}')
        rows = real_array(Q, 'Q')
        if rows.ndim != 2 or rows.shape[1] != len(self.joint_names):
            raise ArgumentError(
                'Q', f'has shape {rows.shape}, has to be (N, {len(self.joint_names)})'
            )
        scene = self._scene()
        began = perf_counter()
        postures = np.tile(self._base(), (len(rows), 1))
        postures[:, self._columns] = rows
        blocks = np.array_split(postures, min(threads, 1 + len(rows) // _LEAST_ROWS))
        if len(blocks) == 1:
            found = scene.colliding(postures)
        else:
            with ThreadPoolExecutor(len(blocks)) as pool:
                found = np.concatenate([*pool.map(scene.colliding, blocks)])
        if len(rows):
            self._statistics.add(perf_counter() - began, len(rows))
        return found

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
