"""Verification of places for a base: every pose is solved for, from several starts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ik_service.extras.reach.place_task import Task
from ik_service.extras.reach.postures import random_postures
from ik_service.solvers.result import IkBatchResult

_STARTS = 4  # of searches for a posture of better quality, besides the first
_MANY = 10_000  # poses at all places, from which on there is one such start only
_ROWS = 100_000  # answers that are held at a time


@dataclass(frozen=True)
class Placement:
    """
    Place for a base, with a posture for every pose.

    :ivar place: (4,) x, y, z [m] and yaw [rad] of the base.
    :ivar T_world_base: (4, 4).
    :ivar reached: (K,) whether each pose is reached, as :func:`~ik_service.solve_ik` says.
    :ivar q: (K, n) joint vectors [rad] or [m]; where a pose is not reached, of the closest one
        that was found.
    :ivar position_error: (K,) [m].
    :ivar orientation_error: (K,) [rad].
    :ivar status: (K,) :class:`~ik_service.IkStatus`.
    :ivar collision: (K,) names of two links that collide where a pose is only reached with a
        collision, else None.
    :ivar quality: least quality of a posture at a pose that is reached, 0 to 1; 0 without one.
    """

    place: np.ndarray
    T_world_base: np.ndarray
    reached: np.ndarray
    q: np.ndarray
    position_error: np.ndarray
    orientation_error: np.ndarray
    status: np.ndarray
    collision: np.ndarray
    quality: float

    @property
    def share(self) -> float:
        """Share of the poses that are reached; 1 for all."""
        return float(self.reached.mean())

    @property
    def score(self) -> float:
        """
        Score from 0 to 1 by which places are ranked: (poses reached + quality) / (K + 1).

        One more pose counts more than any quality.
        """
        return (int(self.reached.sum()) + self.quality) / (len(self.reached) + 1)


def verify(task: Task, places: np.ndarray, q: np.ndarray | None = None) -> list[Placement]:
    """
    Solve for every pose at some places with all searches, and for better postures.

    :param task: arm, region and poses.
    :param places: (S, 4) x, y, z [m] and yaw [rad].
    :param q: (S, K, n) further postures at which searches start [rad] or [m].
    :returns: a placement each, in their order.
    """
    size = max(1, _ROWS // len(task.poses))
    found: list[Placement] = []
    for first in range(0, len(places), size):
        own = slice(first, first + size)
        starts: list[np.ndarray] = list(random_postures(task.arm.chain, _STARTS))
        if len(places) * len(task.poses) > _MANY:
            starts = starts[:1]
        if q is not None:
            starts.append(q[own].reshape(-1, q.shape[-1]))
        found += _verified(task, places[own], starts)
    return found


def _verified(task: Task, places: np.ndarray, starts: list[np.ndarray]) -> list[Placement]:
    batch = task.solve(places)
    q, status = batch.q.copy(), batch.status.copy()
    errors = np.stack([batch.position_error, batch.orientation_error], axis=1)
    collision = np.full(len(q), None) if batch.collision is None else batch.collision.copy()
    quality = _qualities(task, batch)
    for start in starts:
        other = task.solve(places, start, searches=1)
        values = _qualities(task, other)
        better = values > quality
        q[better], status[better], quality[better] = (
            other.q[better], other.status[better], values[better],
        )  # fmt: skip
        errors[better, 0], errors[better, 1] = (
            other.position_error[better], other.orientation_error[better],
        )  # fmt: skip
    reached = quality >= 0.0
    collision[reached] = None
    rows = np.arange(len(q)).reshape(len(places), -1)
    bases = task.region.poses(places)
    return [
        Placement(
            place=place, T_world_base=base, reached=reached[own], q=q[own],
            position_error=errors[own, 0], orientation_error=errors[own, 1], status=status[own],
            collision=collision[own],
            quality=float(quality[own][reached[own]].min(initial=1.0)) * bool(reached[own].any()),
        )
        for place, base, own in zip(places, bases, rows, strict=True)
    ]  # fmt: skip


def _qualities(task: Task, batch: IkBatchResult) -> np.ndarray:
    """Return the quality of each answer (N,); −1 where its pose is not reached."""
    quality = np.full(len(batch.q), -1.0)
    quality[batch.success] = task.arm.measure.quality(batch.q[batch.success])
    return quality
