"""Capability map of an arm: reach and dexterity at each position; its files, and comparisons."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cached_property
import math
from typing import Any, ClassVar

import numpy as np

from ik_service.common.arguments import check_kind
from ik_service.common.quoting import safe_repr, truncate
from ik_service.exceptions import ArgumentError
from ik_service.extras.reach.grid import axes_of, spacing_of
from ik_service.extras.reach.stored_map import Reader, StoredMap
from ik_service.extras.scale.chain_spec import ChainSpec
from ik_service.kinematics.chain import KinematicChain

_SAME = 1e-6  # by how much poses [m] and limits [rad] or [m] may differ
_POSTURES = (0.25, 0.5, 0.8)  # at which poses are compared, as shares of the joints' ranges


def arm_difference(of_map: KinematicChain, chain: KinematicChain) -> str:
    """Return what the arm of a map is instead of the given one; empty where it is the same."""
    for what, there, here in (
        ('base link', of_map.base_link, chain.base_link),
        ('tip link', of_map.tip_link, chain.tip_link),
        ('joints', ', '.join(of_map.joint_names), ', '.join(chain.joint_names)),
    ):
        if there != here:
            return f'another arm: {what} {truncate(there)} there, and {truncate(here)} here'
    lower, upper = chain.sampling_bounds()
    for share in _POSTURES:
        q = lower + share * (upper - lower)
        if not np.allclose(of_map.forward(q), chain.forward(q), atol=_SAME):
            return 'another arm: the same joint positions put its tip elsewhere'
    limits, own = (np.array([arm.lower, arm.upper]) for arm in (of_map, chain))
    apart = ~np.isclose(limits, own, atol=_SAME).all(axis=0)
    if apart.any():
        names = ', '.join(np.array(chain.joint_names)[apart])
        return f'an arm with other joint limits: of {truncate(names)}'
    return ''


_SHIFT = 1e-3  # by how much of the spacing positions of two grids may differ

_BOOLEAN = ('reached', 'free', 'position_reached', 'position_free')


@dataclass(frozen=True)
class MapCheck:
    """Sample of given-up targets searched for once more: tried, found, and of how many."""

    tried: int
    found: int
    given_up: int

    @property
    def missed(self) -> float:
        """
        Estimated number of reachable targets that the survey misses.

        Where the sample has none, this is the number that is not exceeded with 95 % confidence:
        three in place of none were found (the "rule of three").
        """
        if self.tried in (0, self.given_up):
            return float(self.found)
        return (self.found or 3) / self.tried * self.given_up


@dataclass(frozen=True)
class MapMeans:
    """Means of a map over some positions, of the free share and the qualities; NaN where none."""

    share: float
    manipulability: float
    limit_distance: float


@dataclass(frozen=True, eq=False)
class MapComparison:
    """
    Comparison of two maps; tuples hold the first map's value, then the second's.

    Positions count that are reached, without a collision where the maps were made with them.

    :ivar positions: (U, 3) the positions of both grids [m].
    :ivar free: 2 times (U,) bool, which of them count.
    :ivar share: 2 times (U,) share of the orientations that are free there, 0 to 1.
    :ivar spacing: of the grid [m].
    :ivar volumes: [m³]; 0 of flat grids.
    :ivar shared: volume that both reach [m³].
    :ivar means: over all positions of each.
    :ivar shared_means: over the positions that both reach.
    """

    positions: np.ndarray
    free: tuple[np.ndarray, np.ndarray]
    share: tuple[np.ndarray, np.ndarray]
    spacing: float
    volumes: tuple[float, float]
    shared: float
    means: tuple[MapMeans, MapMeans]
    shared_means: tuple[MapMeans, MapMeans]

    @property
    def overlap(self) -> float:
        """Share of the poses reached by either that both reach, 0 to 1; NaN where neither does."""
        either = int((self.free[0] | self.free[1]).sum())
        return int((self.free[0] & self.free[1]).sum()) / either if either else math.nan


def compare(first: CapabilityMap, second: CapabilityMap) -> MapComparison:
    """Compare two maps; ArgumentError unless they have one spacing and lie on each other."""
    spacing = _common_spacing(first, second)
    origin = first.positions[0]
    cells = [_cells(found.positions, origin, spacing) for found in (first, second)]
    union, places = np.unique(np.concatenate(cells), axis=0, return_inverse=True)
    places = places.reshape(-1)
    rows = places[: len(cells[0])], places[len(cells[0]) :]
    free, share = [], []
    for found, at in zip((first, second), rows, strict=True):
        free.append(_placed(found.position_free, at, len(union)))
        share.append(_placed(found.free.mean(axis=1), at, len(union)))
    both = free[0] & free[1]
    return MapComparison(
        positions=origin + union * spacing,
        free=(free[0], free[1]),
        share=(share[0], share[1]),
        spacing=spacing,
        volumes=(first.volume, second.volume),
        shared=float(both.sum()) * min(first.cell, second.cell),
        means=(_means(first, first.position_free), _means(second, second.position_free)),
        shared_means=(_means(first, both[rows[0]]), _means(second, both[rows[1]])),
    )


def _common_spacing(first: CapabilityMap, second: CapabilityMap) -> float:
    spacings = first.spacing, second.spacing
    if not all(map(math.isfinite, spacings)):
        raise ArgumentError('maps', 'have to be of grids, to be compared')
    if abs(spacings[0] - spacings[1]) > _SHIFT * spacings[0]:
        raise ArgumentError(
            'maps', f'have to be of one spacing, and not of {spacings[0]} m and {spacings[1]} m'
        )
    return spacings[0]


def _cells(positions: np.ndarray, origin: np.ndarray, spacing: float) -> np.ndarray:
    """Return the numbers of positions along x, y and z of the grid, (P, 3)."""
    steps = (positions - origin) / spacing
    cells = np.rint(steps)
    if np.abs(steps - cells).max() > _SHIFT:
        raise ArgumentError('maps', 'have grids that lie beside each other, and not on each other')
    return cells


def _placed(values: np.ndarray, places: np.ndarray, count: int) -> np.ndarray:
    everywhere = np.zeros(count, values.dtype)
    everywhere[places] = values
    return everywhere


def _means(found: CapabilityMap, chosen: np.ndarray) -> MapMeans:
    if not chosen.any():
        return MapMeans(math.nan, math.nan, math.nan)
    return MapMeans(
        float(found.free[chosen].mean()),
        float(found.manipulability[chosen].mean()),
        float(found.limit_distance[chosen].mean()),
    )


@dataclass(frozen=True, eq=False)
class CapabilityMap(StoredMap):
    """
    Reach of an arm at P positions, with R orientations at each. Its arrays are read-only.

    Poses are of the tip link in the frame of the base link. *Reached* are those the arm attains
    within its joint limits; *free*, those it attains without colliding with itself, which is the
    same where the map was made without collisions. A pose is counted as free when any posture for
    it is found that is free, not only the first.

    :ivar spec: chain, solver and options.
    :ivar base_link: link in whose frame the positions are.
    :ivar tip_link: link that is brought there.
    :ivar positions: (P, 3) [m], z varies fastest in a grid.
    :ivar rotations: (R, 3, 3) rotation matrices R_base_tip.
    :ivar reached: (P, R) bool, the poses that are reached.
    :ivar free: (P, R) bool, those that are reached without a collision.
    :ivar position_reached: (P,) bool, whether the tip gets there with any orientation at all.
    :ivar position_free: (P,) bool, whether it does without a collision.
    :ivar manipulability: (P,) the largest of the postures found for the free orientations: of the
        whole Jacobian, translation [m] and rotation [rad], as
        :class:`~ik_service.extras.reach.postures.PostureMeasure` has it. Where no orientation is
        free, that of the posture found for the position alone; NaN where that is not free.
    :ivar limit_distance: (P,) likewise, the largest distance of the joint closest to a limit from
        it, as a share of its range, 0 to 0.5.
    :ivar missed_positions: check of the survey's misses among the free positions.
    :ivar missed_poses: check of its misses among the free poses at positions that are reached.
    :ivar searches: how often a target was searched for before it was given up.
    """

    KIND = 'capability map'
    FORMAT = 2
    UNITS: ClassVar = {
        'positions': 'm',
        'rotations': '1',
        'reached': '1',
        'free': '1',
        'position_reached': '1',
        'position_free': '1',
        'manipulability': 'm, rad',
        'limit_distance': '1',
    }

    spec: ChainSpec
    base_link: str
    tip_link: str
    positions: np.ndarray
    rotations: np.ndarray
    reached: np.ndarray
    free: np.ndarray
    position_reached: np.ndarray
    position_free: np.ndarray
    manipulability: np.ndarray
    limit_distance: np.ndarray
    missed_positions: MapCheck
    missed_poses: MapCheck
    searches: int

    @property
    def collisions(self) -> bool:
        """Whether collisions of the robot with itself were checked."""
        return self.spec.collisions

    @cached_property
    def share(self) -> np.ndarray:
        """(P,) share of the orientations that are reached, 0 to 1."""
        return self.reached.mean(axis=1)

    @cached_property
    def free_share(self) -> np.ndarray:
        """(P,) share of the orientations that are free; NaN without collisions."""
        if not self.collisions:
            return np.full(len(self.positions), np.nan)
        return self.free.mean(axis=1)

    @cached_property
    def axes(self) -> tuple[np.ndarray, ...] | None:
        """Coordinates along x, y and z [m] of a grid of cubes; None of other positions."""
        return axes_of(self.positions)

    @property
    def spacing(self) -> float:
        """Distance of neighbours in a grid of cubes [m]; NaN of other positions."""
        return math.nan if self.axes is None else spacing_of(self.axes)

    @property
    def cell(self) -> float:
        """Volume around a position of a grid [m³]; 0 of a flat grid, NaN of other positions."""
        if self.axes is not None and any(len(axis) == 1 for axis in self.axes):
            return 0.0
        return self.spacing**3

    @property
    def volume(self) -> float:
        """Volume of the cells around the free positions [m³]; 0 of a flat arm."""
        return float(self.position_free.sum()) * self.cell

    @property
    def touches_edge(self) -> bool:
        """Whether the arm gets to the edge of the grid, and so perhaps beyond."""
        if self.axes is None:
            return False
        grid = self.position_reached.reshape([len(axis) for axis in self.axes])
        faces = (np.moveaxis(grid, i, 0) for i in range(3))
        return any(bool(face[[0, -1]].any()) for face in faces if len(face) > 1)

    @property
    def on_shell(self) -> np.ndarray:
        """(P,) which free positions have a neighbour along x, y or z that is not free."""
        if self.axes is None:
            return self.position_free.copy()
        grid = self.position_free.reshape([len(axis) for axis in self.axes])
        padded, enclosed = np.pad(grid, 1), grid.copy()
        for axis in range(3):
            if grid.shape[axis] > 1:
                for step in (-1, 1):
                    enclosed &= np.roll(padded, step, axis)[1:-1, 1:-1, 1:-1]
        return (grid & ~enclosed).ravel()

    def compare(self, other: CapabilityMap) -> MapComparison:
        """
        Compare this map with that of another arm on the same grid.

        :raises ArgumentError: it is no map, or the positions of the two are no grids on each
            other.
        """
        check_kind(other, CapabilityMap, 'other')
        return compare(self, other)

    def _attributes(self) -> dict[str, object]:
        return {
            'chain': self.spec.to_json(),
            'base_link': self.base_link,
            'tip_link': self.tip_link,
            'spacing': None if np.isnan(self.spacing) else self.spacing,
            'searches': self.searches,
            'missed_positions': asdict(self.missed_positions),
            'missed_poses': asdict(self.missed_poses),
        }

    @classmethod
    def _read(cls, numbers: Reader, attributes: dict[str, Any]) -> dict[str, Any]:
        for name in ('base_link', 'tip_link'):
            if not isinstance(attributes[name], str):
                raise ArgumentError(name, f'has to be a name, not {safe_repr(attributes[name])}')
        arrays = {name: numbers(name) for name in cls.UNITS}
        positions, rotations = len(arrays['positions']), len(arrays['rotations'])
        shapes = {
            'positions': (positions, 3),
            'rotations': (rotations, 3, 3),
            'reached': (positions, rotations),
            'free': (positions, rotations),
        }
        for name, array in arrays.items():
            shape = shapes.get(name, (positions,))
            if array.shape != shape:
                raise ArgumentError(name, f'has shape {array.shape}, has to be {shape}')
            kind = np.dtype(bool if name in _BOOLEAN else float)
            if array.dtype != kind:
                raise ArgumentError(name, f'has type {array.dtype}, has to be {kind}')
        return {
            'spec': ChainSpec.from_json(attributes['chain']),
            'base_link': attributes['base_link'],
            'tip_link': attributes['tip_link'],
            'missed_positions': MapCheck(**attributes['missed_positions']),
            'missed_poses': MapCheck(**attributes['missed_poses']),
            'searches': int(attributes['searches']),
            **arrays,
        }
