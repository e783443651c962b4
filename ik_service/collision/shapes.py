"""Shapes of objects: capsules and those of ``shape_msgs``; all of them as Coal has them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ik_service.common.arguments import real_array
from ik_service.common.quoting import safe_repr
from ik_service.common.resources import extra_module
from ik_service.exceptions import ArgumentError, CollisionObjectError
from ik_service.kinematics.pose_error import check_transform
from ik_service.model.geometry.solids import Box, Capsule, Cylinder, RoundSolid, Sphere

MOST_TRIANGLES = 1_000_000  # triangles of a mesh, at most
MOST_SHAPES = 1_000  # shapes of an object, at most
FARTHEST = 1e6  # largest length and coordinate [m]


@dataclass(frozen=True)
class Cone(RoundSolid):
    """
    Cone about the z axis, its tip up; the origin of its frame is at half height.

    :ivar radius: radius of its base [m].
    :ivar height: [m].
    """

    radius: float
    height: float


@dataclass(frozen=True)
class Plane:
    """
    Plane a·x + b·y + c·z + d = 0, infinitely thin: a body wholly on one side is free.

    :ivar coefficients: (4,) a, b, c and d [m]; brought to a unit normal.
    """

    coefficients: tuple[float, float, float, float]

    def __post_init__(self) -> None:
        values = real_array(self.coefficients, 'coefficients')
        if values.shape != (4,) or not np.isfinite(values).all():
            raise ArgumentError(
                'coefficients', f'has to be 4 numbers, not {safe_repr(self.coefficients)}'
            )
        largest = np.abs(values[:3]).max()
        if largest == 0.0:
            raise ArgumentError('coefficients', f'{safe_repr(self.coefficients)} has no normal')
        with np.errstate(over='ignore'):
            values /= largest
        values /= math.hypot(*values[:3])
        if not abs(values[3]) <= FARTHEST:
            reason = f'{safe_repr(self.coefficients)} lies more than {FARTHEST:g} m away'
            raise ArgumentError('coefficients', reason)
        object.__setattr__(self, 'coefficients', tuple(values.tolist()))


@dataclass(frozen=True, eq=False)
class Mesh:
    """
    Surface of triangles. A body wholly inside of it is free.

    :ivar vertices: (k, 3) corners [m]. Read-only.
    :ivar triangles: (m, 3) indices of corners, without triangles that have no area: Coal finds
        contacts of those far away from them. Read-only.
    :raises ArgumentError: on construction, naming the field at fault.
    """

    vertices: np.ndarray
    triangles: np.ndarray

    def __init__(self, vertices: ArrayLike, triangles: ArrayLike) -> None:
        for name, values in (('vertices', vertices), ('triangles', triangles)):
            _check_count(name, values)
        corners = _rows_of_three(real_array(vertices, 'vertices'), 'vertices')
        if not (np.abs(corners) <= FARTHEST).all():
            raise ArgumentError('vertices', f'has to be numbers of at most {FARTHEST:g} m')
        numbers = _rows_of_three(real_array(triangles, 'triangles'), 'triangles')
        if not ((numbers >= 0) & (numbers < len(corners)) & (numbers % 1 == 0)).all():
            raise ArgumentError(
                'triangles', f'has to be indices of the {len(corners)} vertices, from 0'
            )
        spanning = _with_area(corners, numbers.astype(np.int64))
        if not len(spanning):
            raise ArgumentError('triangles', 'have no area')
        for name, array in (('vertices', corners), ('triangles', spanning)):
            array.setflags(write=False)
            object.__setattr__(self, name, array)


_FLATTEST = 1e-14  # least area of a triangle, as part of the square of its longest side


def _with_area(corners: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    a, b, c = (corners[triangles[:, i]] for i in range(3))
    area = np.linalg.norm(np.cross(b - a, c - a), axis=1)
    longest = np.max([((p - q) ** 2).sum(axis=1) for p, q in ((a, b), (b, c), (c, a))], axis=0)
    return triangles[area > _FLATTEST * longest]


Shape = Box | Sphere | Cylinder | Capsule | Cone | Plane | Mesh
PlacedShape = tuple[Shape, np.ndarray]  # a shape and (4, 4) T_object_shape [m]


def placed_shapes(name: str, shapes: object) -> tuple[PlacedShape, ...]:
    """
    Return the shapes of an object, each with its pose.

    :param shapes: a shape, or a sequence of shapes or pairs of a shape and (4, 4) T_object_shape.
    :raises CollisionObjectError: there is none, or one of them is faulty; names the field.
    """
    entries: Sequence[object]
    if isinstance(shapes, Shape):
        entries = (shapes,)
    elif isinstance(shapes, Iterable) and not isinstance(shapes, (str, bytes, np.ndarray)):
        entries = tuple(shapes)
    else:
        raise CollisionObjectError(
            name, 'shapes', f'has to be shapes with their poses, not {safe_repr(shapes)}'
        )
    if not 1 <= len(entries) <= MOST_SHAPES:
        raise CollisionObjectError(
            name, 'shapes', f'has to be 1 to {MOST_SHAPES} shapes, not {len(entries)}'
        )
    return tuple(_placed(name, f'shapes[{i}]', entry) for i, entry in enumerate(entries))


def checked_pose(name: str, pose: ArrayLike | None, field: str = 'pose') -> np.ndarray:
    """
    Return a pose as a read-only array; the identity for None.

    :param pose: (4, 4) [m].
    :raises CollisionObjectError: it has another shape, is not finite or not rigid.
    """
    try:
        T = check_transform(np.eye(4) if pose is None else pose, field)
    except ArgumentError as error:
        raise CollisionObjectError(name, error.argument, error.reason) from error
    if not (np.abs(T[:3, 3]) <= FARTHEST).all():
        raise CollisionObjectError(name, field, f'is more than {FARTHEST:g} m away')
    T.setflags(write=False)
    return T


def _placed(name: str, field: str, entry: object) -> PlacedShape:
    pose = None
    if isinstance(entry, (tuple, list)) and len(entry) == 2:
        entry, pose = entry
    if not isinstance(entry, Shape):
        raise CollisionObjectError(
            name,
            field,
            'has to be a Box, Sphere, Cylinder, Capsule, Cone, Plane or Mesh, with or without '
            'its pose, '
            f'not {safe_repr(entry)}',
        )
    if isinstance(entry, (Box, Sphere, Cylinder, Capsule, Cone)):
        _check_sizes(name, field, entry)
    return entry, checked_pose(name, pose, f'{field}.pose')


def _check_sizes(name: str, field: str, shape: Shape) -> None:
    """Refuse sizes that a region may have, and a body cannot: infinity, and those of a line."""
    for part in fields(shape):
        sizes = np.atleast_1d(getattr(shape, part.name))
        round_ = part.name == 'radius'
        if (sizes == 0.0).sum() > (0 if round_ else 1) or not (sizes <= FARTHEST).all():
            plate = '' if round_ else ' (a plate: one of them 0)'
            raise CollisionObjectError(
                name,
                f'{field}.{part.name}',
                f'has to be more than 0{plate} and at most {FARTHEST:g} m, not '
                f'{safe_repr(getattr(shape, part.name))}',
            )


def _check_count(name: str, values: object) -> None:
    """Refuse sequences that are too long, before anything of them is copied."""
    try:
        count = len(values)  # type: ignore[arg-type]
    except TypeError as error:
        raise ArgumentError(name, f'has to be rows of three, not {safe_repr(values)}') from error
    most = MOST_TRIANGLES * (3 if name == 'vertices' else 1)
    if not 1 <= count <= most:
        raise ArgumentError(name, f'has to be 1 to {most} rows of three, not {count}')


def _rows_of_three(array: np.ndarray, name: str) -> np.ndarray:
    if array.ndim != 2 or array.shape[1] != 3:
        raise ArgumentError(name, f'has shape {array.shape}, has to be rows of three')
    return array


CoalShape = Any  # a ``coal.CollisionGeometry``; Coal has no types
CoalPlace = Any  # a ``coal.Transform3s``
CoalContact = Any  # a ``coal.Contact``


def load_coal() -> Any:  # noqa: ANN401 - a module without types
    """Return the module of Coal; raises MissingExtraError if it is not installed."""
    return extra_module('coal', 'collision')


def coal_place(T: np.ndarray) -> CoalPlace:
    """Return a pose (4, 4) as Coal has it."""
    return load_coal().Transform3s(T[:3, :3], T[:3, 3])


def coal_shape(shape: Shape) -> CoalShape:
    """Return a shape as Coal has it."""
    coal = load_coal()
    if isinstance(shape, Box):
        return coal.Box(*shape.size)
    if isinstance(shape, Sphere):
        return coal.Sphere(shape.radius)
    if isinstance(shape, Cylinder):
        return coal.Cylinder(shape.radius, shape.height)
    if isinstance(shape, Capsule):
        return coal.Capsule(shape.radius, shape.length)
    if isinstance(shape, Cone):
        return coal.Cone(shape.radius, shape.height)
    if isinstance(shape, Plane):
        return coal.Plane(np.array(shape.coefficients[:3]), -shape.coefficients[3])
    return _coal_mesh(shape)


def _coal_mesh(mesh: Mesh) -> CoalShape:
    model = load_coal().BVHModelOBBRSS()
    model.beginModel(len(mesh.triangles), len(mesh.vertices))
    model.addVertices(mesh.vertices)
    model.addTriangles(mesh.triangles)
    model.endModel()
    model.computeLocalAABB()
    return model
