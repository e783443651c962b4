"""Solids by their sizes: shapes of links and objects, and regions in which a point may be."""

from __future__ import annotations

from dataclasses import dataclass
import math

import numpy as np

from ik_service.common.arguments import real_array
from ik_service.common.quoting import safe_repr
from ik_service.exceptions import ArgumentError


class RoundSolid:
    """Solid whose fields are all lengths [m]; raises ArgumentError for one that is none."""

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            object.__setattr__(self, name, length(value, name))


@dataclass(frozen=True)
class Box:
    """
    Box about the origin of its frame, as in ``shape_msgs/SolidPrimitive``.

    :ivar size: (3,) full lengths along x, y and z [m]; inf leaves an axis free.
    """

    size: tuple[float, float, float]
    number = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, 'size', lengths(self.size, 'size', 3))

    @property
    def extents(self) -> tuple[float, float, float]:
        """Half the lengths [m]."""
        x, y, z = self.size
        return x / 2, y / 2, z / 2

    def excess(self, point: np.ndarray) -> np.ndarray:
        """Return the shortest vector from the region to a point (3,) [m]; 0 inside."""
        half = np.array(self.extents)
        return point - np.clip(point, -half, half)


@dataclass(frozen=True)
class Sphere(RoundSolid):
    """
    Sphere about the origin of its frame.

    :ivar radius: [m]; inf for no bound at all.
    """

    radius: float
    number = 2

    @property
    def extents(self) -> tuple[float, float, float]:
        """The radius, three times [m]."""
        return self.radius, self.radius, self.radius

    def excess(self, point: np.ndarray) -> np.ndarray:
        """Return the shortest vector from the region to a point (3,) [m]; 0 inside."""
        return _beyond(point, self.radius)


@dataclass(frozen=True)
class Cylinder(RoundSolid):
    """
    Cylinder about the origin of its frame, its axis along z.

    :ivar radius: [m]; inf leaves x and y free.
    :ivar height: full height [m]; inf leaves z free.
    """

    radius: float
    height: float
    number = 3

    @property
    def extents(self) -> tuple[float, float, float]:
        """The radius, twice, and half the height [m]."""
        return self.radius, self.radius, self.height / 2

    def excess(self, point: np.ndarray) -> np.ndarray:
        """Return the shortest vector from the region to a point (3,) [m]; 0 inside."""
        half = self.height / 2
        along = point[2] - min(max(point[2], -half), half)
        return np.append(_beyond(point[:2], self.radius), along)


@dataclass(frozen=True)
class Capsule(RoundSolid):
    """
    Cylinder about the z axis with half a ball at either end; its origin is at half height.

    :ivar radius: that of the cylinder and the balls [m].
    :ivar length: that of the cylinder, without the balls [m].
    """

    radius: float
    length: float


Region = Box | Sphere | Cylinder


def _beyond(point: np.ndarray, radius: float) -> np.ndarray:
    """Return the part of a vector that is beyond a radius."""
    distance = math.hypot(*point)
    return np.zeros_like(point) if distance <= radius else point * (1.0 - radius / distance)


def length(value: float, field: str) -> float:
    """Return a length or an angle of at least 0, perhaps infinite; else raises ArgumentError."""
    array = real_array(value, field)
    if array.shape != () or not array >= 0.0:
        raise ArgumentError(field, f'has to be a number of at least 0, not {safe_repr(value)}')
    return float(array)


def lengths(values: object, field: str, count: int) -> tuple[float, ...]:
    """
    Return lengths or angles of at least 0; infinity is one.

    :param values: the numbers.
    :param field: their name in the error.
    :param count: how many they have to be.
    :raises ArgumentError: they are not as many, no numbers, NaN or negative.
    """
    array = real_array(values, field)  # type: ignore[arg-type]  # checked there
    if array.shape != (count,) or not (array >= 0.0).all():
        raise ArgumentError(
            field, f'has to be {count} numbers of at least 0, not {safe_repr(values)}'
        )
    return tuple(array.tolist())
