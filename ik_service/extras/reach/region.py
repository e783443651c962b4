"""Region in which a base may stand, and the grid of places in it."""

from __future__ import annotations

from dataclasses import dataclass
import math

import numpy as np
from numpy.typing import ArrayLike

from ik_service.common.arguments import real_array
from ik_service.common.transforms import rotation_from_rpy
from ik_service.exceptions import ArgumentError

FULL_TURN = (-math.pi, math.pi)  # headings of a base that may face any direction [rad]
MOST_PLACES = 5_000_000  # places of a grid, at most

_AXES = ('x', 'y', 'z', 'yaw')
_FULL = 2.0 * math.pi - 1e-9  # a range of headings from here on closes the circle
_LARGEST = 1e6  # of a coordinate [m]
_LEVEL = 1e-9  # by how much the cosine of the tilt of a level base may differ from 1


@dataclass(frozen=True)
class Region:
    """
    Region of the base: a box in the world, and the mounting of the base there.

    A base at (x, y, z) with the heading yaw has R_world_base = R_world_mount · Rz(yaw): it turns
    about the axis that it is mounted along, which points up on a floor and down at a ceiling.

    :ivar x: (2,) least and largest coordinate of the origin of the base frame in the world [m];
        ``y`` and ``z`` likewise. Two equal numbers make it a plane, a line or a point.
    :ivar yaw: (2,) least and largest heading [rad]; a full turn closes the circle.
    :ivar mounting: (3,) roll, pitch and yaw of R_world_mount [rad]: 0, 0, 0 on a floor; π, 0, 0 at
        a ceiling; 0, π/2, 0 at a wall, away from which x points.
    :ivar corners: (V, 2) corners of a polygon in x and y [m], in order, which the base may not
        leave; empty for the whole box.
    :raises ArgumentError: a range is not finite or ends before it begins, or a polygon has fewer
        than three corners or no area; names it.
    """

    x: tuple[float, float]
    y: tuple[float, float]
    z: tuple[float, float] = (0.0, 0.0)
    yaw: tuple[float, float] = FULL_TURN
    mounting: tuple[float, float, float] = (0.0, 0.0, 0.0)
    corners: tuple[tuple[float, float], ...] = ()

    def __post_init__(self) -> None:
        for name in _AXES:
            object.__setattr__(self, name, _range(name, getattr(self, name)))
        mounting = real_array(self.mounting, 'mounting')
        if mounting.shape != (3,) or not np.isfinite(mounting).all():
            raise ArgumentError('mounting', 'has to be three finite angles: roll, pitch and yaw')
        object.__setattr__(self, 'mounting', tuple(mounting.tolist()))
        corners = real_array(self.corners, 'corners') if len(self.corners) else np.empty((0, 2))
        if corners.ndim != 2 or corners.shape[1] != 2 or not np.isfinite(corners).all():
            raise ArgumentError('corners', 'have to be finite pairs of x and y')
        if 0 < len(corners) < 3:
            raise ArgumentError('corners', f'have to be three or more, not {len(corners)}')
        if len(corners) and np.linalg.matrix_rank(corners - corners[0]) < 2:
            raise ArgumentError('corners', 'lie on one line: a polygon needs an area')
        object.__setattr__(self, 'corners', tuple(map(tuple, corners.tolist())))

    @classmethod
    def polygon(cls, corners: ArrayLike, **others: object) -> Region:
        """
        Return the region inside a polygon.

        :param corners: (V, 2) x and y [m], in order.
        :raises ArgumentError: as the constructor.
        """
        array = real_array(corners, 'corners')
        if array.ndim != 2 or array.shape[1:] != (2,) or len(array) < 3:
            raise ArgumentError('corners', f'have shape {array.shape}, have to be (V, 2), V ≥ 3')
        low, high = array.min(axis=0), array.max(axis=0)
        return cls((low[0], high[0]), (low[1], high[1]), corners=array, **others)  # type: ignore[arg-type]

    @property
    def lower(self) -> np.ndarray:
        """Least x, y, z [m] and yaw [rad], (4,)."""
        return np.array([getattr(self, name)[0] for name in _AXES])

    @property
    def upper(self) -> np.ndarray:
        """Largest x, y, z [m] and yaw [rad], (4,)."""
        return np.array([getattr(self, name)[1] for name in _AXES])

    @property
    def turns_fully(self) -> bool:
        """Whether the base may face any direction."""
        return self.yaw[1] - self.yaw[0] >= _FULL

    def contains(self, places: np.ndarray) -> np.ndarray:
        """Return which places (N, 4) lie in the polygon, (N,) bool; the box is not checked."""
        if not self.corners:
            return np.ones(len(places), bool)
        x, y = places[:, 0], places[:, 1]
        inside = np.zeros(len(places), bool)
        corners = np.array(self.corners)
        for (x0, y0), (x1, y1) in zip(corners, np.roll(corners, -1, axis=0), strict=True):
            crosses = (y0 > y) != (y1 > y)  # a ray along x counts the sides that it crosses
            if y0 != y1:
                inside ^= crosses & (x < x0 + (y - y0) * (x1 - x0) / (y1 - y0))
        return inside

    def bounded(self, places: np.ndarray) -> np.ndarray:
        """Return places (N, 4) brought into the box; headings of a full turn come into −π…π."""
        inside = np.clip(places, self.lower, self.upper)
        if self.turns_fully:
            inside[:, 3] = np.remainder(places[:, 3] + math.pi, 2.0 * math.pi) - math.pi
        return inside

    def poses(self, places: np.ndarray) -> np.ndarray:
        """Return T_world_base (N, 4, 4) of places (N, 4): x, y, z [m] and yaw [rad]."""
        cos, sin = np.cos(places[:, 3]), np.sin(places[:, 3])
        turns = np.zeros((len(places), 3, 3))
        turns[:, 0, 0] = turns[:, 1, 1] = cos
        turns[:, 0, 1], turns[:, 1, 0], turns[:, 2, 2] = -sin, sin, 1.0
        poses = np.tile(np.eye(4), (len(places), 1, 1))
        poses[:, :3, :3] = rotation_from_rpy(*self.mounting) @ turns
        poses[:, :3, 3] = places[:, :3]
        return poses

    def spacing_for(self, count: int, headings: int) -> float:
        """Return the least spacing [m] of a grid with so many places, and headings at each."""
        sides = (self.upper - self.lower)[:3]
        sides = sides[sides > 0.0]
        if not len(sides):
            return 0.0
        positions = max(count // headings, 1)
        spacing = float(sides.max()) / positions
        while np.prod(np.floor(sides / spacing) + 1.0) > positions:
            spacing *= 1.02
        return spacing

    def headings(self, count: int) -> np.ndarray:
        """Return evenly spread headings (k,) [rad]; of a part of a turn its share of them."""
        first, last = self.yaw
        if self.turns_fully:
            return first + 2.0 * math.pi * np.arange(count) / count
        return np.linspace(first, last, math.ceil(count * (last - first) / (2 * math.pi)) + 1)

    def grid(self, spacing: float, headings: int) -> np.ndarray:
        """
        Return the places of a grid.

        :param spacing: of neighbours along x, y and z [m], at most; 0 for one position.
        :param headings: of a full turn.
        :returns: (C, 4) x, y, z [m] and yaw [rad]; yaw varies fastest.
        :raises ArgumentError: they are more than :data:`MOST_PLACES`, or the polygon is so thin
            that none lies in it.
        """
        sides = (self.upper - self.lower)[:3]
        turns = self.headings(headings)
        counts = np.ones(3) if spacing <= 0.0 else np.floor(sides / spacing + 1e-9) + 1.0
        if counts.prod() * len(turns) > MOST_PLACES:
            raise ArgumentError(
                'spacing', f'of {spacing:g} m makes more than {MOST_PLACES:,} places: take more'
            )
        axes = [
            np.linspace(low, high, int(count)) if count > 1 else np.array([(low + high) / 2])
            for low, high, count in zip(self.lower[:3], self.upper[:3], counts, strict=True)
        ]
        mesh = np.meshgrid(*axes, turns, indexing='ij')
        places = np.stack(mesh, axis=-1).reshape(-1, 4)
        places = places[self.contains(places)]
        if not len(places):
            raise ArgumentError(
                'corners', 'hold no place of the grid: take a smaller spacing, or more candidates'
            )
        return places


def around(
    positions: np.ndarray,
    reach: np.ndarray,
    height: tuple[float, float] = (0.0, 0.0),
    yaw: tuple[float, float] = FULL_TURN,
    mounting: tuple[float, float, float] = (0.0, 0.0, 0.0),
) -> Region:
    """
    Return the region outside of which no base reaches any of some positions.

    :param positions: (K, 3) in the world [m].
    :param reach: (4,) a point of the base frame, and the distance from it that the tip cannot
        exceed [m].
    :param height: least and largest z of the base [m].
    :raises ArgumentError: as the constructor.
    """
    up = float(rotation_from_rpy(*mounting)[2, 2])
    if abs(up) > 1.0 - _LEVEL:  # then the point stays at one height whatever the heading
        z = positions[:, 2] - up * reach[2]
        above = np.maximum(np.maximum(height[0] - z, z - height[1]), 0.0)
        aside = np.sqrt(np.maximum(reach[3] ** 2 - above**2, 0.0)) + np.hypot(*reach[:2])
    else:
        aside = np.full(len(positions), reach[3] + np.linalg.norm(reach[:3]))
    low = (positions[:, :2] - aside[:, None]).min(axis=0)
    high = (positions[:, :2] + aside[:, None]).max(axis=0)
    return Region((low[0], high[0]), (low[1], high[1]), height, yaw, mounting)


def _range(name: str, values: ArrayLike) -> tuple[float, float]:
    pair = real_array(values, name)
    if pair.shape != (2,) or not (np.abs(pair) <= _LARGEST).all():
        raise ArgumentError(name, f'has to be two numbers up to {_LARGEST:g}, least and largest')
    first, last = pair.tolist()
    if last < first:
        raise ArgumentError(name, f'ends at {last:g} before it begins, at {first:g}')
    return first, last
