"""Primitive shapes of ``shape_msgs`` as shapes with their sizes."""

from __future__ import annotations

from collections.abc import Collection
import math

from shape_msgs.msg import SolidPrimitive

from ik_service.collision.shapes import Cone
from ik_service.exceptions import ArgumentError
from ik_service.solvers.regions import Box, Cylinder, Sphere

_KINDS = {
    SolidPrimitive.BOX: ('box', 3),
    SolidPrimitive.SPHERE: ('sphere', 1),
    SolidPrimitive.CYLINDER: ('cylinder', 2),
    SolidPrimitive.CONE: ('cone', 2),
}


def solid_primitive(
    primitive: SolidPrimitive, field: str, kinds: Collection[int] = tuple(_KINDS)
) -> Box | Sphere | Cylinder | Cone:
    """
    Return a primitive shape.

    :param primitive: the message.
    :param field: name of the message, for the error.
    :param kinds: the types that are supported, in ascending order.
    :raises ArgumentError: the type is not supported, or a size is missing, negative, NaN or
        infinite; names the field.
    """
    if primitive.type not in kinds:
        supported = [f'{_KINDS[kind][0]} ({kind})' for kind in kinds]
        raise ArgumentError(
            f'{field}.type',
            f'is {primitive.type}; supported are {", ".join(supported[:-1])} and {supported[-1]}',
        )
    name, count = _KINDS[primitive.type]
    sizes = [float(size) for size in primitive.dimensions]
    if len(sizes) < count or not all(0.0 <= size < math.inf for size in sizes[:count]):
        raise ArgumentError(
            f'{field}.dimensions',
            f'of a {name} have to be {count} finite number{"s" if count > 1 else ""} of at least '
            f'0 [m], not {sizes[:4]}',
        )
    if primitive.type == SolidPrimitive.BOX:
        return Box((sizes[0], sizes[1], sizes[2]))
    if primitive.type == SolidPrimitive.SPHERE:
        return Sphere(sizes[SolidPrimitive.SPHERE_RADIUS])
    if primitive.type == SolidPrimitive.CONE:
        return Cone(sizes[SolidPrimitive.CONE_RADIUS], sizes[SolidPrimitive.CONE_HEIGHT])
    return Cylinder(sizes[SolidPrimitive.CYLINDER_RADIUS], sizes[SolidPrimitive.CYLINDER_HEIGHT])
