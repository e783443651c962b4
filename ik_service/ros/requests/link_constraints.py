"""
Position and orientation constraints of a request as bounds on the poses of links.

What is not supported is refused by name: a client must never believe that a constraint holds
which was not considered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from geometry_msgs.msg import Pose
from moveit_msgs.msg import Constraints, OrientationConstraint, PositionConstraint
import numpy as np
from shape_msgs.msg import SolidPrimitive

from ik_service.arm.arm import Arm
from ik_service.arm.group import ArmGroup
from ik_service.arm.link_constraints import (
    Bound,
    check_still,
    OrientationBound,
    PositionBound,
)
from ik_service.collision.shapes import Cone
from ik_service.common.quoting import quote
from ik_service.exceptions import ArgumentError, ConstraintError
from ik_service.ros.common.conversions import matrix_from_pose
from ik_service.ros.requests.errors import ErrorCode, RequestError
from ik_service.ros.requests.solid_primitives import solid_primitive

ToBase = Callable[[str, np.ndarray], np.ndarray]
"""Of a frame and a pose (4, 4) in it: the pose in the base frame."""

_MOST = 64  # constraints of a kind, and regions of one
_PARAMETERIZATIONS = {
    OrientationConstraint.XYZ_EULER_ANGLES: 'euler_xyz',
    OrientationConstraint.ROTATION_VECTOR: 'rotation_vector',
}
_REGIONS = (SolidPrimitive.BOX, SolidPrimitive.SPHERE, SolidPrimitive.CYLINDER)


def bounds_of(constraints: Constraints, arm: Arm, to_base: ToBase) -> list[Bound]:
    """
    Return the constraints on links of a request.

    Weights are not used, as in MoveIt.

    :param constraints: the constraints.
    :param arm: the arm.
    :param to_base: transforms poses into the base frame of the group.
    :raises RequestError: INVALID_GOAL_CONSTRAINTS naming what is not supported or wrong;
        FRAME_TRANSFORM_FAILURE for an unknown frame.
    """
    if constraints.visibility_constraints:
        raise _refused(
            'visibility_constraints are not supported; joint_constraints, position_constraints '
            'and orientation_constraints are'
        )
    bounds: list[Bound] = []
    for field, constraint in _numbered(constraints, 'position_constraints'):
        _check_link(arm, constraint.link_name, field)
        bounds.append(_position_bound(constraint, field, to_base))
    for field, constraint in _numbered(constraints, 'orientation_constraints'):
        _check_link(arm, constraint.link_name, field)
        bounds.append(_orientation_bound(constraint, field, to_base))
    return bounds


def moved_bounds(
    bounds: Iterable[Bound], arm: Arm, group: ArmGroup, posture: np.ndarray
) -> list[Bound]:
    """
    Return the constraints on links that the group moves; the others have to hold already.

    :param bounds: the constraints.
    :param arm: the arm.
    :param group: the group.
    :param posture: (m,) full posture [rad] or [m].
    :raises RequestError: INVALID_GOAL_CONSTRAINTS naming one of the others that does not hold.
    """
    above = set(arm.link_frames.moving(group.base_link).tolist())
    moved = []
    for bound in bounds:
        if bound.link in group.links and above != set(arm.link_frames.moving(bound.link).tolist()):
            moved.append(bound)
            continue
        try:
            check_still(bound, arm.pose_of(bound.link, group.base_link, posture))
        except ConstraintError as error:
            raise _refused(str(error)) from error
    return moved


def _numbered(constraints: Constraints, kind: str) -> Iterator[tuple[str, PositionConstraint]]:
    messages = getattr(constraints, kind)
    if len(messages) > _MOST:
        raise _refused(
            f'{kind} has {len(messages)} elements, more than the {_MOST} that are looked at'
        )
    for number, message in enumerate(messages):
        yield f'{kind}[{number}]', message


def _check_link(arm: Arm, link: str, field: str) -> None:
    if not arm.has_link(link):
        raise _refused(f'{field}.link_name: the robot has no link {quote(link)}')


def _orientation_bound(
    constraint: OrientationConstraint, field: str, to_base: ToBase
) -> OrientationBound:
    parameterization = _PARAMETERIZATIONS.get(constraint.parameterization)
    if parameterization is None:
        raise _refused(
            f'{field}.parameterization is {constraint.parameterization}; it has to be '
            '0 (XYZ_EULER_ANGLES) or 1 (ROTATION_VECTOR)'
        )
    tolerances = []
    for axis in 'xyz':
        name = f'absolute_{axis}_axis_tolerance'
        value = getattr(constraint, name)
        if not value >= 0.0:
            raise _refused(f'{field}.{name} is {value}; it has to be 0 or more [rad]')
        tolerances.append(value)
    T = matrix_from_pose(Pose(orientation=constraint.orientation), field)
    rotation = to_base(constraint.header.frame_id, T)[:3, :3]
    x, y, z = tolerances
    return OrientationBound(field, constraint.link_name, rotation, (x, y, z), parameterization)


def _position_bound(constraint: PositionConstraint, field: str, to_base: ToBase) -> PositionBound:
    offset = constraint.target_point_offset
    point = np.array([offset.x, offset.y, offset.z])
    if not np.isfinite(point).all():
        raise _refused(f'{field}.target_point_offset is not finite')
    volume, within = constraint.constraint_region, f'{field}.constraint_region'
    if volume.meshes:
        raise _refused(f'{within}.meshes are not supported; box, sphere and cylinder are')
    count = len(volume.primitives)
    if not 1 <= count <= _MOST or len(volume.primitive_poses) != count:
        raise _refused(
            f'{within} has {count} primitives and {len(volume.primitive_poses)} primitive_poses; '
            f'there has to be a pose for each, and at least one and at most {_MOST} of them'
        )
    regions = []
    for number, (shape, pose) in enumerate(
        zip(volume.primitives, volume.primitive_poses, strict=True)
    ):
        try:
            region = solid_primitive(shape, f'{within}.primitives[{number}]', _REGIONS)
        except ArgumentError as error:
            raise _refused(str(error)) from error
        assert not isinstance(region, Cone)  # which is none of the types asked for
        T = matrix_from_pose(pose, f'{within}.primitive_poses[{number}]')
        regions.append((region, to_base(constraint.header.frame_id, T)))
    return PositionBound(field, constraint.link_name, point, tuple(regions))


def _refused(message: str) -> RequestError:
    return RequestError(ErrorCode.INVALID_GOAL_CONSTRAINTS, message)
