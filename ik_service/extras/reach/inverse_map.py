"""Inverse reachability map: where the base of an arm may stand for a pose of its tip."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ik_service.common.arguments import check_kind, whole_number
from ik_service.common.threads import core_count
from ik_service.exceptions import ArgumentError
from ik_service.extras.reach.capability import CapabilityMap
from ik_service.extras.reach.reach_kernels import look_up
from ik_service.extras.reach.region import around, Region
from ik_service.extras.reach.stored_map import Reader, StoredMap
from ik_service.extras.scale.chain_spec import ChainSpec
from ik_service.kinematics.pose_error import check_transform

_CHUNK = 1_000_000  # poses that a thread looks up at a time


class BaseScores(NamedTuple):
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

    def take(self, chosen: np.ndarray | slice) -> BaseScores:
        """Return the scores of some of the places, by their numbers."""
        return BaseScores(*(values[chosen] for values in self))

    @classmethod
    def joined(cls, parts: Sequence[BaseScores]) -> BaseScores:
        """Return scores one after the other."""
        return cls(*map(np.concatenate, zip(*parts, strict=True)))


def tip_poses(bases: np.ndarray, poses: np.ndarray) -> np.ndarray:
    """Return T_base_tip (C · K, 4, 4) of bases (C, 4, 4) and poses (K, 4, 4), base by base."""
    turned = bases[:, :3, :3].swapaxes(1, 2)
    seen = np.zeros((len(bases), len(poses), 4, 4))
    seen[..., :3, :3] = turned[:, None] @ poses[None, :, :3, :3]
    offset = poses[None, :, :3, 3] - bases[:, None, :3, 3]
    seen[..., :3, 3] = (turned[:, None] @ offset[..., None])[..., 0]
    seen[..., 3, 3] = 1.0
    return seen.reshape(-1, 4, 4)


@dataclass(frozen=True, eq=False)
class InverseMap(StoredMap):
    """
    Places of the base of an arm for a pose of its tip. Its arrays are read-only.

    Each pose T_base_tip that a capability map calls reached is, turned round, a place of the base
    relative to the tip, T_tip_base (N. Vahrenkamp, T. Asfour, R. Dillmann, "Robot placement based
    on reachability inversion", ICRA 2013). They are kept by the cell of the tip as seen from the
    base: whether a base may stand at a place is then one look-up, however many poses there are.

    :ivar spec: chain, solver and options.
    :ivar origin: (3,) the first position of the grid, in the frame of the base link [m].
    :ivar spacing: of the grid [m].
    :ivar rotations: (R, 3, 3) rotation matrices R_base_tip.
    :ivar quality: (X, Y, Z, R) share of the orientations that the arm reaches at a position
        (reachability index of F. Zacharias, C. Borst, G. Hirzinger, "Capturing robot workspace
        structure", IROS 2007); 0 of poses that it does not reach. float32.
    """

    KIND = 'inverse map'
    FORMAT = 2
    UNITS: ClassVar = {'origin': 'm', 'rotations': '1', 'quality': '1'}

    spec: ChainSpec
    origin: np.ndarray
    spacing: float
    rotations: np.ndarray
    quality: np.ndarray

    @classmethod
    def of(cls, found: CapabilityMap) -> InverseMap:
        """
        Return the inverse of a capability map; poses only reached with a collision are left out.

        :raises ArgumentError: it is no such map, or its positions are no grid of cubes.
        """
        check_kind(found, CapabilityMap, 'found')
        axes = found.axes
        if axes is None or not np.isfinite(found.spacing):
            raise ArgumentError('found', 'has other positions than those of a grid of cubes')
        share = np.where(found.free, found.free.mean(axis=1, keepdims=True), 0.0)
        return cls(
            found.spec,
            np.array([axis[0] for axis in axes]),
            found.spacing,
            found.rotations,
            share.astype(np.float32).reshape(*map(len, axes), -1),
        )

    @property
    def bases(self) -> tuple[np.ndarray, np.ndarray]:
        """
        Places of the base relative to the tip.

        :returns: (M, 4, 4) T_tip_base of each pose that is reached, and its quality (M,).
        """
        x, y, z, turn = np.nonzero(self.quality)
        R = self.rotations[turn].swapaxes(1, 2)
        positions = self.origin + self.spacing * np.stack([x, y, z], axis=1)
        bases = np.tile(np.eye(4), (len(x), 1, 1))
        bases[:, :3, :3] = R
        bases[:, :3, 3] = -(R @ positions[:, :, None])[:, :, 0]
        return bases, self.quality[x, y, z, turn].astype(float)

    @property
    def reach(self) -> np.ndarray:
        """A point of the base frame, and a distance from it that no position exceeds, (4,) [m]."""
        cells = np.argwhere(self.quality.any(axis=-1))
        if not len(cells):
            return np.zeros(4)
        positions = self.origin + self.spacing * cells
        middle = (positions.min(axis=0) + positions.max(axis=0)) / 2
        farthest = np.linalg.norm(positions - middle, axis=1).max()
        return np.append(middle, farthest + self.spacing)

    def query(
        self,
        T_world_tip: ArrayLike,
        region: Region | None = None,
        *,
        base_height: float = 0.0,
        spacing: float | None = None,
        headings: int = 24,
    ) -> np.ndarray:
        """
        Return where the base may stand for one pose, as far as the map tells.

        :param T_world_tip: (4, 4) the pose.
        :param region: where the base may stand at all; upright at ``base_height`` when left out.
        :param base_height: z of the base where no region is given [m].
        :param spacing: of the places [m]; that of the map when left out.
        :param headings: of a full turn.
        :returns: (M, 5) x, y, z [m], yaw [rad] and quality above 0, the best first.
        :raises ArgumentError: an argument cannot be.
        """
        pose = check_transform(T_world_tip, 'T_world_tip')[None]
        headings = whole_number(headings, 'headings')
        if region is None:
            region = around(pose[:, :3, 3], self.reach, (base_height, base_height))
        places = region.grid(self.spacing if spacing is None else spacing, headings)
        scores = self.scores(region, places, pose)
        chosen = scores.order()[: int((scores.share > 0.0).sum())]
        return np.hstack([places[chosen], scores.quality[chosen, None]])

    def scores(
        self,
        region: Region,
        places: np.ndarray,
        poses: np.ndarray,
        turned: bool = True,
        threads: int | None = None,
        progress: Callable[[int, int], object] | None = None,
    ) -> BaseScores:
        """
        Return the scores of places for poses, as far as the map tells.

        A pose counts as reached where that of its cell with the nearest orientation is.

        :param places: (C, 4) x, y, z [m] and yaw [rad].
        :param poses: (K, 4, 4) T_world_tip.
        :param turned: whether the orientation counts; otherwise any does.
        :param threads: number of threads; as many as there are cores when left out.
        :param progress: called with the number of places done and C.
        :returns: their quality is the least one of a cell that is reached.
        """
        tips, rotations = _frames(poses), np.ascontiguousarray(self.rotations.reshape(-1, 9))
        share, quality = np.zeros(len(places)), np.zeros(len(places))

        size = max(1, _CHUNK // max(len(poses), 1))

        def fill(first: int) -> int:
            own = slice(first, first + size)
            bases = _frames(region.poses(places[own]))
            look_up(
                bases, tips, self.origin, self.spacing, rotations, self.quality, turned,
                share[own], quality[own],
            )  # fmt: skip
            return first + len(bases)

        pool = ThreadPoolExecutor(int(threads or core_count()))
        try:
            for done in pool.map(fill, range(0, len(places), size)):
                if progress is not None:
                    progress(done, len(places))
        finally:  # before its time on Ctrl-C
            pool.shutdown(cancel_futures=True)
        return BaseScores(share, quality, np.zeros(len(places)))

    def _attributes(self) -> dict[str, object]:
        return {'chain': self.spec.to_json(), 'spacing': self.spacing}

    @classmethod
    def _read(cls, numbers: Reader, attributes: dict[str, Any]) -> dict[str, Any]:
        arrays = {name: numbers(name) for name in cls.UNITS}
        quality, spacing = arrays['quality'], float(attributes['spacing'])
        if quality.ndim != 4 or quality.dtype != np.float32:
            raise ArgumentError('quality', f'has shape {quality.shape} and type {quality.dtype}')
        for name, shape in (('origin', (3,)), ('rotations', (quality.shape[3], 3, 3))):
            if arrays[name].shape != shape or arrays[name].dtype != np.float64:
                raise ArgumentError(name, f'has shape {arrays[name].shape}, has to be {shape}')
        if not 0.0 < spacing < np.inf:
            raise ArgumentError('spacing', f'is {spacing}')
        return {'spec': ChainSpec.from_json(attributes['chain']), 'spacing': spacing, **arrays}


def _frames(poses: np.ndarray) -> np.ndarray:
    """Return poses as 12 numbers: the x, y and z axes, then the origin."""
    axes = poses[:, :3, :3].swapaxes(1, 2).reshape(-1, 9)
    return np.hstack([axes, poses[:, :3, 3]])
