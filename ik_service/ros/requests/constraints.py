"""
Constraints of a request: joint constraints as joint limits, and bounds on the poses of links.

Unsupported constraints are refused by name: a client must never believe that a constraint holds
which was not considered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
import math

from geometry_msgs.msg import Pose
from moveit_msgs.msg import Constraints, JointConstraint, OrientationConstraint, PositionConstraint
import numpy as np
from shape_msgs.msg import SolidPrimitive

from ik_service.arm.arm import Arm
from ik_service.arm.group import ArmGroup
from ik_service.arm.link_constraints import Bound, check_still, OrientationBound, PositionBound
from ik_service.collision.shapes import Cone
from ik_service.common.quoting import quote
from ik_service.exceptions import ArgumentError, ConstraintError
from ik_service.kinematics.chain import KinematicChain
from ik_service.kinematics.tree import KinematicTree
from ik_service.model.joint import Joint, JointType
from ik_service.model.robot_model import RobotModel
from ik_service.ros.common.conversions import matrix_from_pose, pose_from_matrix
from ik_service.ros.common.errors import invalid_goal, UnmetConstraintError
from ik_service.ros.scene.object_messages import solid_primitive

_MOST_OF_JOINTS = 1000  # joint constraints in a request


def constrained_chain(
    chain: KinematicChain | KinematicTree,
    constraints: Sequence[JointConstraint],
    positions: dict[str, float],
    joint_limits: str,
) -> KinematicChain | KinematicTree:
    """
    Return the chain with the joint limits that the constraints leave.

    A constraint on a continuous joint holds for the turn that lies nearest to the seed. One on a
    joint that the chain does not move must already hold. One on a joint that follows another holds
    for that, as MoveIt's clients constrain all joints of a group. Weights are not used, as in
    MoveIt.

    :param positions: position of every movable joint at the seed [rad] or [m].
    :param joint_limits: the solver's strategy; with 'ignore' joint constraints cannot be kept.
    :raises RequestError: INVALID_GOAL_CONSTRAINTS, naming the unsupported or invalid one.
    """
    if joint_limits == 'ignore':
        raise invalid_goal(
            "joint_constraints need joint limits, but solver.joint_limits is 'ignore'"
        )
    lower, upper = chain.lower.copy(), chain.upper.copy()
    intervals = checked_constraints(constraints, chain.robot)
    for number, (constraint, (low, high)) in enumerate(zip(constraints, intervals, strict=True)):
        name, multiplier, offset = chain.robot.resolve_mimic(constraint.joint_name)
        if name in chain.joint_names and multiplier != 0.0:
            i = chain.joint_names.index(name)
            low, high = sorted(((low - offset) / multiplier, (high - offset) / multiplier))
            turns = _turns_to(chain, i, (low + high) / 2, positions[name])
            low, high = low + turns, high + turns
            if not max(lower[i], low) <= min(upper[i], high):
                alone = (lower[i], upper[i]) == (chain.lower[i], chain.upper[i])
                raise UnmetConstraintError(
                    f'joint_constraints[{number}] allows {low:g} … {high:g} for joint '
                    f'{chain.joint_names[i]!r}, but {"its limits" if alone else "others"} only '
                    f'{lower[i]:g} … {upper[i]:g}'
                )
            lower[i], upper[i] = max(lower[i], low), min(upper[i], high)
        else:
            own = constraint.joint_name
            _check_holds(chain.robot.joints[own], low, high, positions[own])
    return chain.with_limits(lower, upper)


def checked_constraints(
    constraints: Sequence[JointConstraint], robot: RobotModel
) -> list[tuple[float, float]]:
    """Return the lowest and highest positions that constraints allow; raises RequestError."""
    check_count('joint_constraints', constraints, _MOST_OF_JOINTS)
    return [
        _interval(constraint, robot, f'joint_constraints[{number}]')
        for number, constraint in enumerate(constraints)
    ]


def _interval(constraint: JointConstraint, robot: RobotModel, field: str) -> tuple[float, float]:
    name = constraint.joint_name
    joint = robot.joints.get(name)
    if joint is None or not joint.movable:
        raise invalid_goal(f'{field}.joint_name: the robot has no movable joint {quote(name)}')
    if not math.isfinite(constraint.position):
        raise invalid_goal(f'{field}.position is {constraint.position}; it has to be finite')
    for tolerance in ('tolerance_above', 'tolerance_below'):
        if not getattr(constraint, tolerance) >= 0.0:
            raise invalid_goal(
                f'{field}.{tolerance} is {getattr(constraint, tolerance)}; '
                'it has to be 0 or more [rad or m]'
            )
    return (
        constraint.position - constraint.tolerance_below,
        constraint.position + constraint.tolerance_above,
    )


def _turns_to(chain: KinematicChain | KinematicTree, i: int, middle: float, seed: float) -> float:
    """Return the full turns [rad] from an interval's middle to near the seed, where unlimited."""
    joint = chain.robot.joints[chain.joint_names[i]]
    limited = math.isfinite(chain.lower[i]) or math.isfinite(chain.upper[i])
    if joint.type is not JointType.CONTINUOUS or limited or not math.isfinite(middle):
        return 0.0
    return math.tau * round((seed - middle) / math.tau)


def _check_holds(joint: Joint, low: float, high: float, position: float) -> None:
    turns = 0.0
    if joint.type is JointType.CONTINUOUS and math.isfinite(high - low):
        turns = math.tau * round((position - (low + high) / 2) / math.tau)
    if not low <= position - turns <= high:
        raise UnmetConstraintError(
            f'joint {joint.name!r} is not moved by this chain, and its position {position:g} '
            f'is not within the {low:g} … {high:g} of its constraint'
        )


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

    :param to_base: transforms poses into the base frame of the group.
    :raises RequestError: INVALID_GOAL_CONSTRAINTS naming the unsupported or invalid one;
        FRAME_TRANSFORM_FAILURE for an unknown frame.
    """
    if constraints.visibility_constraints:
        raise invalid_goal(
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
            raise UnmetConstraintError(str(error)) from error
    return moved


def _numbered(constraints: Constraints, kind: str) -> Iterator[tuple[str, PositionConstraint]]:
    messages = getattr(constraints, kind)
    check_count(kind, messages, _MOST)
    for number, message in enumerate(messages):
        yield f'{kind}[{number}]', message


def check_count(field: str, messages: Sequence[object], most: int) -> None:
    """Refuse a field with more messages than are looked at; raises RequestError."""
    if len(messages) > most:
        raise invalid_goal(
            f'{field} has {len(messages)} elements, more than the {most} that are looked at'
        )


def _check_link(arm: Arm, link: str, field: str) -> None:
    if not arm.has_link(link):
        raise invalid_goal(f'{field}.link_name: the robot has no link {quote(link)}')


def _orientation_bound(
    constraint: OrientationConstraint, field: str, to_base: ToBase
) -> OrientationBound:
    parameterization = _PARAMETERIZATIONS.get(constraint.parameterization)
    if parameterization is None:
        raise invalid_goal(
            f'{field}.parameterization is {constraint.parameterization}; it has to be '
            '0 (XYZ_EULER_ANGLES) or 1 (ROTATION_VECTOR)'
        )
    tolerances = []
    for axis in 'xyz':
        name = f'absolute_{axis}_axis_tolerance'
        value = getattr(constraint, name)
        if not value >= 0.0:
            raise invalid_goal(f'{field}.{name} is {value}; it has to be 0 or more [rad]')
        tolerances.append(value)
    T = matrix_from_pose(Pose(orientation=constraint.orientation), field)
    rotation = to_base(constraint.header.frame_id, T)[:3, :3]
    x, y, z = tolerances
    return OrientationBound(field, constraint.link_name, rotation, (x, y, z), parameterization)


def _position_bound(constraint: PositionConstraint, field: str, to_base: ToBase) -> PositionBound:
    offset = constraint.target_point_offset
    point = np.array([offset.x, offset.y, offset.z])
    if not np.isfinite(point).all():
        raise invalid_goal(f'{field}.target_point_offset is not finite')
    volume, within = constraint.constraint_region, f'{field}.constraint_region'
    if volume.meshes:
        raise invalid_goal(f'{within}.meshes are not supported; box, sphere and cylinder are')
    count = len(volume.primitives)
    if not 1 <= count <= _MOST or len(volume.primitive_poses) != count:
        raise invalid_goal(
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
            raise invalid_goal(str(error)) from error
        assert not isinstance(region, Cone)  # which is none of the types asked for
        T = matrix_from_pose(pose, f'{within}.primitive_poses[{number}]')
        regions.append((region, to_base(constraint.header.frame_id, T)))
    return PositionBound(field, constraint.link_name, point, tuple(regions))


def goal_at(T: np.ndarray, frame: str, link: str, distance: float, angle: float) -> Constraints:
    """
    Return the goal of a link's pose.

    :param T: (4, 4) T_frame_link [m].
    :param distance: tolerance of the position [m].
    :param angle: tolerance of the orientation, about each axis [rad].
    """
    pose = pose_from_matrix(T)
    position = PositionConstraint(link_name=link, weight=1.0)
    orientation = OrientationConstraint(link_name=link, weight=1.0, orientation=pose.orientation)
    position.header.frame_id = orientation.header.frame_id = frame
    ball = SolidPrimitive(type=SolidPrimitive.SPHERE, dimensions=[distance])
    position.constraint_region.primitives = [ball]
    position.constraint_region.primitive_poses = [pose]
    orientation.absolute_x_axis_tolerance = angle
    orientation.absolute_y_axis_tolerance = orientation.absolute_z_axis_tolerance = angle
    return Constraints(position_constraints=[position], orientation_constraints=[orientation])
