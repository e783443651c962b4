"""Capability map of an arm: what it can do at each position of its surroundings."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
import math
import os

import numpy as np

from ik_service.common.quoting import safe_repr
from ik_service.exceptions import ArgumentError
from ik_service.extras.reach.check import Check
from ik_service.extras.reach.comparison import compare, MapComparison
from ik_service.extras.reach.grid import axes_of, spacing_of
from ik_service.extras.reach.map_file import read_map, write_map
from ik_service.extras.scale.chain_spec import ChainSpec


@dataclass(frozen=True, eq=False)
class CapabilityMap:
    """
    What an arm can do at P positions, with R orientations at each. Its arrays are read-only.

    Poses are those of the tip link in the frame of the base link. *Reached* is what the arm gets
    to within its joint limits; *free*, what it gets to without colliding with itself, which is the
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
    :ivar missed_positions: what the survey misses among the free positions.
    :ivar missed_poses: what it misses among the free poses at positions that are reached.
    :ivar searches: how often a target was searched for before it was given up.
    """

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
    missed_positions: Check
    missed_poses: Check
    searches: int

    def __post_init__(self) -> None:
        for array in vars(self).values():
            if isinstance(array, np.ndarray):
                array.setflags(write=False)

    @property
    def collisions(self) -> bool:
        """Whether collisions of the robot with itself were looked at."""
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

        :param other: the other one.
        :raises ArgumentError: it is no map, or the positions of the two are no grids on each
            other.
        """
        if not isinstance(other, CapabilityMap):
            raise ArgumentError('other', f'has to be a CapabilityMap, not {safe_repr(other)}')
        return compare(self, other)

    def save(self, path: str | os.PathLike[str]) -> None:
        """
        Write the map as a Zarr group; one of this kind that is there is replaced.

        :param path: its folder.
        :raises StoreError: something else is there, or the disk refuses.
        :raises MissingExtraError: zarr is not installed.
        """
        write_map(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> CapabilityMap:
        """
        Read a map that :meth:`save` has written.

        :param path: its folder.
        :raises StoreError: there is none, it is of another version, or damaged.
        :raises MissingExtraError: zarr is not installed.
        """
        return cls(**read_map(path))
