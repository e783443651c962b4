"""Arm, region and poses of a search for places, and the solves there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ik_service.extras.reach.base_scores import BaseScores, tip_poses
from ik_service.extras.reach.place_arm import PlaceArm
from ik_service.extras.reach.region import Region
from ik_service.solvers.batch import solve_ik_batch
from ik_service.solvers.result import IkBatchResult

SEARCHES = 8
"""Searches for a pose while places are compared; what is returned is searched for longer."""

_CHUNK = 100_000  # targets that are held at a time
_PATIENCE = 60.0  # with a solve: a busy machine must not change the answer [s]


class Estimate(NamedTuple):
    """
    What solves with few searches tell about places.

    :ivar scores: of C places.
    :ivar q: (C, K, n) the postures found [rad] or [m].
    """

    scores: BaseScores
    q: np.ndarray


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
        searches: int | None = None,
        collisions: bool = True,
    ) -> IkBatchResult:
        """
        Solve for every pose at every place; the time of a solve has no influence.

        :param places: (C, 4) x, y, z [m] and yaw [rad].
        :param seeds: (C · K, n) [rad] or [m], or (n,) for all.
        :param searches: for a pose, at most, where the options do not say fewer.
        :param collisions: whether the answers have to be free of collisions.
        :returns: (C · K) answers; those of a place come together.
        """
        targets = tip_poses(self.region.poses(places), self.poses)
        return self._solve(targets, seeds, searches, collisions)

    def estimate(
        self, places: np.ndarray, seeds: np.ndarray | None = None, collisions: bool = True
    ) -> Estimate:
        """
        Solve for every pose at every place with few searches.

        Poses beyond the length of the arm are not searched for.

        :param places: (C, 4) x, y, z [m] and yaw [rad].
        :param seeds: (C · K, n) [rad] or [m].
        :param collisions: whether the answers have to be free of collisions.
        """
        targets = tip_poses(self.region.poses(places), self.poses)
        beyond = self.arm.beyond_reach(targets)
        near = beyond <= 0.0
        q = np.tile(self.arm.chain.middle, (len(targets), 1)) if seeds is None else seeds.copy()
        reached, quality = np.zeros(len(targets), bool), np.full(len(targets), np.inf)
        if near.any():
            own = None if seeds is None else seeds[near]
            batch = self._solve(targets[near], own, SEARCHES, collisions)
            q[near], reached[near] = batch.q, batch.success
            beyond[near] = np.where(batch.success, 0.0, batch.position_error)
            quality[reached] = self.arm.measure.quality(q[reached])
        shape = len(places), len(self.poses)
        least = quality.reshape(shape).min(axis=1)
        scores = BaseScores(
            reached.reshape(shape).mean(axis=1),
            np.where(np.isfinite(least), least, 0.0),
            beyond.reshape(shape).mean(axis=1),
        )
        return Estimate(scores, q.reshape(*shape, -1))

    def _solve(
        self,
        targets: np.ndarray,
        seeds: np.ndarray | None,
        searches: int | None,
        collisions: bool,
    ) -> IkBatchResult:
        given = self.arm.options.max_searches
        most = given if searches is None else min(searches, given or searches)
        return solve_ik_batch(
            self.arm.chain,
            targets,
            seeds,
            self.arm.solver,
            replace(self.arm.options, max_searches=most, timeout=_PATIENCE),
            threads=self.threads,
            collisions=self.arm.collisions if collisions else None,
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
        parts.append(task.estimate(places[first : first + size], collisions=False).scores)
        if progress is not None:
            progress(min(first + size, len(places)), len(places))
    return BaseScores.joined(parts)
