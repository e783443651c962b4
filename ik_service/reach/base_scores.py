"""Scores of places for a base: which of some poses the arm reaches from there, and how well."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ik_service.reach.place_arm import PlaceArm
from ik_service.reach.region import Region
from ik_service.solvers.batch import solve_ik_batch
from ik_service.solvers.result import IkBatchResult

SEARCHES = 8
"""Searches for a pose while many places are compared; what is returned is searched for longer."""

_CHUNK = 100_000  # targets that are held at a time
_PATIENCE = 60.0  # with a solve: a busy machine must not change the answer [s]


@dataclass(frozen=True)
class BaseScores:
    """
    Scores of places.

    :ivar share: (C,) share of the poses that are reached.
    :ivar quality: (C,) the least quality of a posture at a pose that is reached, 0 to 1; 0 where
        none is reached.
    :ivar miss: (C,) mean distance from the poses [m].
    """

    share: np.ndarray
    quality: np.ndarray
    miss: np.ndarray

    def order(self) -> np.ndarray:
        """Return the numbers of the places, the best first; equal ones stay as they are."""
        return np.lexsort((self.miss, -self.quality, -self.share))


@dataclass(frozen=True)
class Task:
    """
    Arm, region and poses of a search for places.

    :ivar arm: the arm, and how it is solved.
    :ivar region: where the base may stand.
    :ivar poses: (K, 4, 4) T_world_tip.
    :ivar threads: number of threads; None for one a core.
    """

    arm: PlaceArm
    region: Region
    poses: np.ndarray
    threads: int | None = None

    def with_poses(self, chosen: np.ndarray) -> Task:
        """
        Return the search for some of the poses.

        :param chosen: their numbers.
        """
        return replace(self, poses=self.poses[chosen])

    def solve(
        self,
        places: np.ndarray,
        seeds: np.ndarray | None = None,
        searches: int | None = SEARCHES,
        collisions: bool = False,
    ) -> IkBatchResult:
        """
        Solve for every pose at every place; the time of a solve has no influence.

        :param places: (C, 4) x, y, z [m] and yaw [rad].
        :param seeds: (C · K, n) [rad] or [m], or (n,) for all.
        :param searches: for a pose, at most, where the options do not say fewer; None for those
            of the options.
        :param collisions: whether the answers have to be free of collisions.
        :returns: (C · K) answers; those of a place come together.
        """
        given = self.arm.options.max_searches
        most = given if searches is None else min(searches, given or searches)
        return solve_ik_batch(
            self.arm.chain,
            tip_poses(self.region.poses(places), self.poses),
            seeds,
            self.arm.solver,
            replace(self.arm.options, max_searches=most, timeout=_PATIENCE),
            threads=self.threads,
            collisions=self.arm.collisions if collisions else None,
        )

    def scores_of(self, batch: IkBatchResult) -> BaseScores:
        """
        Return the scores of places from the answers there.

        :param batch: as :meth:`solve` returns them.
        """
        shape = -1, len(self.poses)
        quality = np.full(len(batch.q), np.inf)
        quality[batch.success] = self.arm.measure.quality(batch.q[batch.success])
        least = quality.reshape(shape).min(axis=1)
        return BaseScores(
            batch.success.reshape(shape).mean(axis=1),
            np.where(np.isfinite(least), least, 0.0),
            np.where(batch.success, 0.0, batch.position_error).reshape(shape).mean(axis=1),
        )


def solved_scores(
    task: Task, places: np.ndarray, progress: Callable[[int, int], object] | None = None
) -> BaseScores:
    """
    Return the scores of places by inverse kinematics of every pose from each.

    :param task: arm, region and poses.
    :param places: (C, 4) x, y, z [m] and yaw [rad].
    :param progress: called with the number of places done and C.
    """
    size = max(1, _CHUNK // len(task.poses))
    parts = []
    for first in range(0, len(places), size):
        parts.append(task.scores_of(task.solve(places[first : first + size])))
        if progress is not None:
            progress(min(first + size, len(places)), len(places))
    return BaseScores(
        *(np.concatenate([getattr(part, name) for part in parts])
          for name in ('share', 'quality', 'miss'))
    )  # fmt: skip


def tip_poses(bases: np.ndarray, poses: np.ndarray) -> np.ndarray:
    """
    Return poses of the tip as seen from bases.

    :param bases: (C, 4, 4) T_world_base.
    :param poses: (K, 4, 4) T_world_tip.
    :returns: (C · K, 4, 4) T_base_tip; those of a base come together.
    """
    turned = bases[:, :3, :3].swapaxes(1, 2)
    seen = np.zeros((len(bases), len(poses), 4, 4))
    seen[..., :3, :3] = turned[:, None] @ poses[None, :, :3, :3]
    offset = poses[None, :, :3, 3] - bases[:, None, :3, 3]
    seen[..., :3, 3] = (turned[:, None] @ offset[..., None])[..., 0]
    seen[..., 3, 3] = 1.0
    return seen.reshape(-1, 4, 4)
