"""Shapes, poses and subframes of objects of the world, from their messages."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
import math

from geometry_msgs.msg import Point, Pose
from moveit_msgs.msg import CollisionObject
import numpy as np
from shape_msgs.msg import Mesh as MeshMessage
from shape_msgs.msg import MeshTriangle, SolidPrimitive
from shape_msgs.msg import Plane as PlaneMessage

from ik_service.collision.shapes import Cone, Mesh, MOST_SHAPES, PlacedShape, Plane, Shape
from ik_service.common.quoting import quote
from ik_service.exceptions import ArgumentError
from ik_service.model.geometry.solids import Box, Cylinder, Sphere
from ik_service.ros.common.conversions import matrix_from_pose

MOST_SUBFRAMES = 100  # subframes of an object, at most

_PRIMITIVES = {
    SolidPrimitive.BOX: ('box', 3),
    SolidPrimitive.SPHERE: ('sphere', 1),
    SolidPrimitive.CYLINDER: ('cylinder', 2),
    SolidPrimitive.CONE: ('cone', 2),
}


def solid_primitive(
    primitive: SolidPrimitive, field: str, kinds: Collection[int] = tuple(_PRIMITIVES)
) -> Box | Sphere | Cylinder | Cone:
    """
    Return a primitive shape.

    :raises ArgumentError: the type is not supported, or a size is missing, negative, NaN or
        infinite; names the field.
    """
    if primitive.type not in kinds:
        supported = [f'{_PRIMITIVES[kind][0]} ({kind})' for kind in kinds]
        raise ArgumentError(
            f'{field}.type',
            f'is {primitive.type}; supported are {", ".join(supported[:-1])} and {supported[-1]}',
        )
    name, count = _PRIMITIVES[primitive.type]
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


def object_of(message: CollisionObject) -> tuple[np.ndarray, list[PlacedShape]]:
    """
    Return pose and shapes of a new object.

    As with MoveIt, an object of one shape that has no pose of its own stands where its shape does.

    :returns: (4, 4) T_frame_object [m], and each shape with (4, 4) T_object_shape [m]; none for
        an object without geometry.
    :raises ArgumentError: as :func:`shapes_of`.
    :raises RequestError: a pose is faulty; names the field.
    """
    shapes = shapes_of(message)
    if len(shapes) == 1 and not has_pose(message):
        shape, T = shapes[0]
        return T, [(shape, np.eye(4))]
    return object_pose(message.pose), shapes


def shapes_of(message: CollisionObject) -> list[PlacedShape]:
    """
    Return the shapes of an object; those without a pose stand where it does.

    :returns: each shape with (4, 4) T_object_shape [m]: primitives, meshes, then planes.
    :raises ArgumentError: a shape is faulty, there are more poses than shapes, or too many
        shapes; names the field.
    :raises RequestError: a pose is faulty; names the field.
    """
    found: list[PlacedShape] = []
    for kind, (field, convert) in _KINDS.items():
        shapes, poses = getattr(message, field), getattr(message, f'{kind}_poses')
        if len(poses) > len(shapes):
            raise ArgumentError(
                f'{kind}_poses', f'are {len(poses)}, more than the {len(shapes)} {field}'
            )
        if len(shapes) > MOST_SHAPES:
            raise ArgumentError(
                field, f'are {len(shapes)}; an object has at most {MOST_SHAPES} shapes'
            )
        for number, shape in enumerate(shapes):
            pose = poses[number] if number < len(poses) else Pose()
            T = object_pose(pose, f'{kind}_poses[{number}]')
            found.append((convert(shape, f'{field}[{number}]'), T))
    return found


def moved_shape_poses(message: CollisionObject, count: int) -> list[np.ndarray]:
    """
    Return where the shapes of an object that is moved stand in its frame from then on.

    :returns: (4, 4) T_object_shape [m] of each shape; none where they stay.
    :raises ArgumentError: there are poses, but not as many as shapes.
    :raises RequestError: a pose is faulty; names the field.
    """
    poses = _shape_poses(message)
    if len(poses) not in (0, count):
        raise ArgumentError(
            'primitive_poses, mesh_poses and plane_poses',
            f'are {len(poses)}, but the object has {count} shapes',
        )
    return [object_pose(pose, field) for field, pose in poses]


def subframes_of(message: CollisionObject) -> dict[str, np.ndarray]:
    """
    Return the subframes of an object.

    :returns: (4, 4) T_object_subframe [m] by name.
    :raises ArgumentError: there are not as many poses as names, too many of them, or one twice.
    :raises RequestError: a pose is faulty; names the subframe.
    """
    names, poses = message.subframe_names, message.subframe_poses
    if len(names) != len(poses) or len(names) > MOST_SUBFRAMES:
        raise ArgumentError(
            'subframe_names',
            f'are {len(names)}, and subframe_poses {len(poses)}; they have to be as many, and at '
            f'most {MOST_SUBFRAMES}',
        )
    found: dict[str, np.ndarray] = {}
    for name, pose in zip(names, poses, strict=True):
        if name in found:
            raise ArgumentError('subframe_names', f'has {quote(name)} twice')
        found[name] = object_pose(pose, f'subframe {quote(name)}')
    return found


def object_pose(pose: Pose, field: str = 'pose') -> np.ndarray:
    """
    Return a pose of an object; the zero quaternion is no rotation, as with MoveIt.

    No obstacle is dropped for that; :func:`zero_quaternions` tells it.

    :returns: (4, 4) [m].
    :raises RequestError: a number is not finite; names the field.
    """
    if not _is_zero(pose):
        return matrix_from_pose(pose, field)
    unturned = Pose()
    unturned.position = Point(x=pose.position.x, y=pose.position.y, z=pose.position.z)
    return matrix_from_pose(unturned, field)


def zero_quaternions(message: CollisionObject) -> list[str]:
    """Return a remark on each pose whose quaternion is zero, and taken as no rotation."""
    fields = [('pose', message.pose)] if has_pose(message) else []
    fields += _shape_poses(message)
    names = zip(message.subframe_names, message.subframe_poses, strict=False)
    fields += [(f'subframe {quote(name)}', pose) for name, pose in names]
    return [
        f'{quote(message.id)}: the zero quaternion of {field} is taken as no rotation'
        for field, pose in fields
        if _is_zero(pose)
    ]


def has_pose(message: CollisionObject) -> bool:
    """Return whether the pose of an object is set."""
    at, turn = message.pose.position, message.pose.orientation
    if (at.x, at.y, at.z) != (0, 0, 0):
        return True
    return (turn.x, turn.y, turn.z, turn.w) not in ((0, 0, 0, 1), (0, 0, 0, 0))


def has_shapes(message: CollisionObject) -> bool:
    """Return whether an object has any geometry."""
    return bool(message.primitives or message.meshes or message.planes)


def _is_zero(pose: Pose) -> bool:
    turn = pose.orientation
    return (turn.x, turn.y, turn.z, turn.w) == (0, 0, 0, 0)


def _plane(message: PlaneMessage, field: str) -> Plane:
    a, b, c, d = (float(value) for value in message.coef)
    try:
        return Plane((a, b, c, d))
    except ArgumentError as error:
        raise ArgumentError(f'{field}.coef', error.reason) from error


def _mesh(message: MeshMessage, field: str) -> Mesh:
    try:
        return Mesh(_corners(message.vertices), _triangles(message.triangles))
    except ArgumentError as error:
        raise ArgumentError(f'{field}.{error.argument}', error.reason) from error


def _corners(points: np.ndarray | Sequence[Point]) -> np.ndarray:
    """Return points as an array, (k, 3) [m]; those of a topic are one already."""
    if isinstance(points, np.ndarray):
        return points
    return np.fromiter((x for p in points for x in (p.x, p.y, p.z)), np.float64).reshape(-1, 3)


def _triangles(triangles: np.ndarray | Sequence[MeshTriangle]) -> np.ndarray:
    """Return the corners of triangles as an array, (k, 3); those of a topic are one already."""
    if isinstance(triangles, np.ndarray):
        return triangles
    corners: Iterable[np.ndarray] = (triangle.vertex_indices for triangle in triangles)
    return np.fromiter((i for corner in corners for i in corner), np.int64).reshape(-1, 3)


def _shape_poses(message: CollisionObject) -> list[tuple[str, Pose]]:
    return [
        (f'{kind}_poses[{number}]', pose)
        for kind in _KINDS
        for number, pose in enumerate(getattr(message, f'{kind}_poses'))
    ]


_KINDS: dict[str, tuple[str, Callable[..., Shape]]] = {
    'primitive': ('primitives', solid_primitive),
    'mesh': ('meshes', _mesh),
    'plane': ('planes', _plane),
}
