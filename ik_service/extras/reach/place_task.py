"""Arm, region and poses of a search for places, and the solves there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ik_service.common.arguments import check_kind
from ik_service.common.quoting import safe_repr
from ik_service.exceptions import ArgumentError, ChainError
from ik_service.extras.reach.capability import arm_difference, CapabilityMap
from ik_service.extras.reach.inverse_map import BaseScores, InverseMap, tip_poses
from ik_service.extras.reach.postures import PostureMeasure
from ik_service.extras.reach.region import Region
from ik_service.extras.scale.chain_spec import ChainSpec
from ik_service.kinematics.chain import KinematicChain
from ik_service.solvers.batch import IkBatchResult, solve_ik_batch
from ik_service.solvers.collision_test import collision_test, Collisions, CollisionTest
from ik_service.solvers.options import IkOptions
from ik_service.solvers.registry import DEFAULT_SOLVER

SEARCHES = 8
"""Searches for a pose while places are compared; those of the result are searched for longer."""

_CHUNK = 100_000  # targets that are held at a time
_PATIENCE = 60.0  # with a solve: a busy machine must not change the answer [s]


@dataclass(frozen=True)
class PlaceArm:
    """Arm of a search for places and how it is solved; no collisions or map is None."""

    chain: KinematicChain
    options: IkOptions
    solver: str = DEFAULT_SOLVER
    collisions: Collisions | CollisionTest | None = None
    inverse_map: InverseMap | None = None

    @cached_property
    def measure(self) -> PostureMeasure:
        """Measure of its postures."""
        return PostureMeasure(self.chain, self.options.task_weights)

    @property
    def reach(self) -> np.ndarray:
        """Point of the base frame, and distance from it that the tip cannot exceed, (4,) [m]."""
        if not np.isfinite(self.chain.arrays.reach).all():
            raise ChainError(
                'the arm reaches endlessly far, as one of its joints slides without limits: say '
                'in which region the base may stand'
            )
        return self.chain.arrays.reach

    @property
    def only_positions(self) -> bool:
        """Whether of a map that was made for other tasks only the positions count."""
        if self.inverse_map is None or all(self.options.task_weights[3:]):
            return False
        return self.inverse_map.spec.options.task_weights != self.options.task_weights

    def beyond_reach(self, targets: np.ndarray) -> np.ndarray:
        """Return how far poses (N, 4, 4) T_base_tip are out of reach (N,) [m]; 0 or less: not."""
        reach, options = self.chain.arrays.reach, self.options
        if not all(options.task_weights[:3]) or options.joint_limits == 'ignore':
            return np.zeros(len(targets))
        distance = np.linalg.norm(targets[:, :3, 3] - reach[:3], axis=1)
        return distance - reach[3] - options.position_tolerance


def read_arm(
    source: object,
    options: IkOptions | None = None,
    collisions: Collisions | CollisionTest | None = None,
    inverse_map: InverseMap | None = None,
) -> PlaceArm:
    """Arm of a chain, specification or map, with the source's settings where none are given."""
    if isinstance(source, CapabilityMap):
        source = InverseMap.of(source)
    if isinstance(source, InverseMap):
        inverse_map, source = inverse_map or source, source.spec
    if isinstance(source, KinematicChain):
        arm = PlaceArm(
            source, options or IkOptions(), collisions=collisions, inverse_map=inverse_map
        )
    elif isinstance(source, ChainSpec):
        solver = source.build()
        given = solver.collisions if collisions is None else collisions
        arm = PlaceArm(solver.chain, options or source.options, source.solver, given, inverse_map)
    else:
        raise ArgumentError(
            'source', f'has to be a KinematicChain, a ChainSpec or a map, not {safe_repr(source)}'
        )
    if arm.collisions is not None:
        collision_test(arm.collisions, arm.chain)  # names its fault
    if inverse_map is not None:
        check_kind(inverse_map, InverseMap, 'inverse_map')
        differs = arm_difference(inverse_map.spec.build().chain, arm.chain)
        if differs:
            raise ArgumentError('inverse_map', f'is that of {differs}')
    return arm


class Estimate(NamedTuple):
    """Scores of places by few searches, and the postures (C, K, n) found [rad] or [m]."""

    scores: BaseScores
    q: np.ndarray


@dataclass(frozen=True)
class PlaceTask:
    """Arm, region, poses T_world_tip (K, 4, 4) and threads of a search, one a core for None."""

    arm: PlaceArm
    region: Region
    poses: np.ndarray
    threads: int | None = None

    def with_poses(self, chosen: np.ndarray) -> PlaceTask:
        """Return the search for some of the poses."""
        return replace(self, poses=self.poses[chosen])

    def solve(
        self,
        places: np.ndarray,
        seeds: np.ndarray | None = None,
        searches: int | None = None,
        collisions: bool = True,
    ) -> IkBatchResult:
        """Solve all poses at places (C, 4) from seeds (C · K, n) or (n,), place by place."""
        targets = tip_poses(self.region.poses(places), self.poses)
        return self._solve(targets, seeds, searches, collisions)

    def estimate(
        self, places: np.ndarray, seeds: np.ndarray | None = None, collisions: bool = True
    ) -> Estimate:
        """Solve all poses at places with few searches, without those beyond the arm's length."""
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
        self, targets: np.ndarray, seeds: np.ndarray | None, searches: int | None, collisions: bool
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
    task: PlaceTask, places: np.ndarray, progress: Callable[[int, int], object] | None = None
) -> BaseScores:
    """Return the scores of places (C, 4) by inverse kinematics of every pose from each."""
    size = max(1, _CHUNK // len(task.poses))
    parts = []
    for first in range(0, len(places), size):
        parts.append(task.estimate(places[first : first + size], collisions=False).scores)
        if progress is not None:
            progress(min(first + size, len(places)), len(places))
    return BaseScores.joined(parts)
