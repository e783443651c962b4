"""
Checks of constraints.

Each kind is asked for twice, with a seed that solves the pose: once with a constraint that the
seed meets, so every server that checks constraints can say SUCCESS, and once with one that it
does not meet, so that a server that does not look gives itself away.
"""

from __future__ import annotations

from collections.abc import Callable
import math

from geometry_msgs.msg import Pose
from moveit_msgs.msg import JointConstraint, OrientationConstraint, PositionConstraint
from moveit_msgs.msg import MoveItErrorCodes as Code
from moveit_msgs.srv import GetPositionIK
import numpy as np
from shape_msgs.msg import SolidPrimitive

from ik_service.common.transforms import rotation_about_axis
from ik_service.extras.conformance.check import Section
from ik_service.extras.conformance.subject import Posture, Subject
from ik_service.ros.common.conversions import pose_from_matrix

CONSTRAINTS = Section('constraints')
_REFUSED = (Code.INVALID_GOAL_CONSTRAINTS, Code.NO_IK_SOLUTION, Code.TIMED_OUT)
_ANGLE, _RADIUS = 0.1, 0.05  # tolerances of the constraints [rad], [m]
_TURN, _SHIFT = 0.7, 0.3  # by which a constraint is off that does not hold [rad], [m]

Asked = tuple[GetPositionIK.Request, Posture]
Holds = Callable[[Posture], bool]


@CONSTRAINTS.check('answer table: constraints given')
def _joint_constraint(subject: Subject) -> str:
    """A joint constraint that the seed meets is met."""
    return _kept(subject, *_joint(subject, 0.0), 'joint_constraints')


@CONSTRAINTS.check('answer table: constraints given')
def _joint_constraint_binds(subject: Subject) -> str:
    """A joint constraint that the seed does not meet is met by another solution, or an error."""
    return _binding(subject, *_joint(subject, 1.0), 'joint_constraints')


@CONSTRAINTS.check(
    'answer table: constraints given',
    moveit='a constraint on an unknown joint counts as satisfied',
)
def _joint_constraint_unknown(subject: Subject) -> str:
    """A constraint on an unknown joint is answered with INVALID_GOAL_CONSTRAINTS."""
    request, _ = _at_its_seed(subject)
    request.ik_request.constraints.joint_constraints = [
        JointConstraint(joint_name='there_is_no_such_joint', tolerance_above=1.0, weight=1.0)
    ]
    return subject.ik(request, 'a constraint on the joint there_is_no_such_joint').refused(
        Code.INVALID_GOAL_CONSTRAINTS
    )


@CONSTRAINTS.check('answer table: constraints given')
def _orientation_constraint(subject: Subject) -> str:
    """An orientation constraint that the pose meets is met."""
    return _kept(subject, *_orientation(subject, 0.0), 'orientation_constraints')


@CONSTRAINTS.check('answer table: constraints given')
def _orientation_constraint_binds(subject: Subject) -> str:
    """An orientation constraint that the pose does not meet is an error."""
    return _binding(subject, *_orientation(subject, _TURN), 'orientation_constraints')


@CONSTRAINTS.check(
    "MoveIt's server: compute_ik, beyond",
    moveit='off unit norm by more than 1e-3, it becomes the identity',
)
def _orientation_constraint_scale(subject: Subject) -> str:
    """An orientation constraint off unit norm means the same rotation, or is refused."""
    asked, holds = _orientation(subject, 0.0)
    [constraint] = asked[0].ik_request.constraints.orientation_constraints
    for axis in 'xyzw':
        setattr(constraint.orientation, axis, 2.0 * getattr(constraint.orientation, axis))
    text = 'an orientation constraint that the seed meets, its quaternion 2 × a unit one'
    answer = subject.ik(asked[0], text)
    if answer.code == Code.INVALID_GOAL_CONSTRAINTS:
        answer.without_solution()
        return 'refused'
    if not holds(subject.inside_limits(answer)):
        raise answer.fail('the constraint to hold', 'SUCCESS with the tip turned away')
    return 'normalised'


@CONSTRAINTS.check('answer table: constraints given')
def _position_constraint(subject: Subject) -> str:
    """A position constraint that the pose meets is met."""
    return _kept(subject, *_position(subject, 0.0), 'position_constraints')


@CONSTRAINTS.check('answer table: constraints given')
def _position_constraint_binds(subject: Subject) -> str:
    """A position constraint that the pose does not meet is an error."""
    return _binding(subject, *_position(subject, _SHIFT), 'position_constraints')


def _joint(subject: Subject, off: float) -> tuple[Asked, Holds]:
    """Return a request with a joint constraint, off by a share of the range to the far limit."""
    request, seed = _at_its_seed(subject)
    name, low, high = max(subject.arm.bounds(), key=lambda bound: bound[2] - bound[1])
    low, high = max(low, -math.pi), min(high, math.pi)
    far = low if seed[name] - low > high - seed[name] else high
    middle = seed[name] + 0.6 * off * (far - seed[name])
    request.ik_request.constraints.joint_constraints = [
        JointConstraint(
            joint_name=name, position=middle, weight=1.0,
            tolerance_above=_ANGLE, tolerance_below=_ANGLE,
        )
    ]  # fmt: skip

    def holds(found: Posture) -> bool:
        turn = (found[name] - middle + math.pi) % math.tau - math.pi
        return abs(turn) <= _ANGLE + 1e-6

    return (request, seed), holds


def _orientation(subject: Subject, turn: float) -> tuple[Asked, Holds]:
    """Return a request with an orientation constraint that is turned away from the pose."""
    request, seed = _at_its_seed(subject)
    tip = subject.arm.tips[0]
    rotation = subject.links_at(seed)[tip][:3, :3] @ rotation_about_axis((0.6, 0.0, 0.8), turn)
    T = np.eye(4)
    T[:3, :3] = rotation
    constraint = OrientationConstraint(
        link_name=tip, orientation=pose_from_matrix(T).orientation, weight=1.0,
        absolute_x_axis_tolerance=_ANGLE, absolute_y_axis_tolerance=_ANGLE,
        absolute_z_axis_tolerance=_ANGLE,
    )  # fmt: skip
    constraint.header.frame_id = subject.arm.robot.root_link
    request.ik_request.constraints.orientation_constraints = [constraint]

    def holds(found: Posture) -> bool:
        R = rotation.T @ subject.links_at(found)[tip][:3, :3]
        cosine = (float(np.trace(R)) - 1.0) / 2.0
        # The tolerances are about three axes: √3 is the farthest corner.
        return math.acos(min(1.0, max(-1.0, cosine))) <= math.sqrt(3.0) * _ANGLE + 1e-2

    return (request, seed), holds


def _position(subject: Subject, shift: float) -> tuple[Asked, Holds]:
    """Return a request with a sphere for the tip that is shifted away from the pose."""
    request, seed = _at_its_seed(subject)
    tip = subject.arm.tips[0]
    centre = subject.links_at(seed)[tip][:3, 3] + np.array([0.0, 0.0, shift])
    pose = Pose()
    pose.position.x, pose.position.y, pose.position.z = centre.tolist()
    pose.orientation.w = 1.0
    constraint = PositionConstraint(link_name=tip, weight=1.0)
    constraint.header.frame_id = subject.arm.robot.root_link
    region = constraint.constraint_region
    region.primitives = [SolidPrimitive(type=SolidPrimitive.SPHERE, dimensions=[_RADIUS])]
    region.primitive_poses = [pose]
    request.ik_request.constraints.position_constraints = [constraint]

    def holds(found: Posture) -> bool:
        at = subject.links_at(found)[tip][:3, 3]
        return float(np.linalg.norm(at - centre)) <= _RADIUS + subject.settings.position_tolerance

    return (request, seed), holds


def _at_its_seed(subject: Subject) -> Asked:
    _, _, seed = subject.ordinary_request('constraints')
    return subject.request(subject.tips_at(seed), seed), seed


def _kept(subject: Subject, asked: Asked, holds: Holds, kind: str) -> str:
    """Make sure that a constraint is met that the seed meets already."""
    answer = subject.ik(asked[0], f'the pose of the seed, with {kind} that the seed meets')
    answer.supported(kind, (Code.INVALID_GOAL_CONSTRAINTS,))
    if not holds(subject.inside_limits(answer)):
        raise answer.fail(f'{kind} to hold', 'SUCCESS where they do not hold')
    return 'kept'


def _binding(subject: Subject, asked: Asked, holds: Holds, kind: str) -> str:
    """Make sure that a constraint is not ignored that the seed does not meet."""
    answer = subject.ik(asked[0], f'the pose of the seed, with {kind} that the seed does not meet')
    if answer.solved:
        if not holds(subject.inside_limits(answer)):
            raise answer.fail(f'{kind} to hold, or an error', 'SUCCESS where they do not hold')
        return 'kept'
    return answer.refused(*_REFUSED)
