"""Handler of the service ``check_state_validity``: collisions, limits, constraints of a state."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
import math

from builtin_interfaces.msg import Time
from geometry_msgs.msg import Point, Vector3
from moveit_msgs.msg import ConstraintEvalResult, Constraints, ContactInformation
from moveit_msgs.srv import GetStateValidity
import numpy as np

from ik_service.arm.arm import Arm
from ik_service.arm.link_constraints import beyond, Bound, OrientationBound, SLACK
from ik_service.arm.measured_state import MeasuredState
from ik_service.collision.checker import CollisionChecker
from ik_service.collision.part import ATTACHED, ContactPoint, LINK, OBJECT
from ik_service.model.joint import JointType
from ik_service.ros.requests.constraints import bounds_of, checked_constraints
from ik_service.ros.requests.frame_resolver import FrameResolver
from ik_service.ros.requests.goals import group_of
from ik_service.ros.requests.service_handler import (
    resolver_of,
    ServiceHandler,
    start_notes,
    start_posture,
)
from ik_service.ros.scene.avoidance import avoidance

_ROUNDING = 1e-9  # of joint positions [rad or m]
_SMALLEST_WEIGHT = 1e-9  # below it a weight is not set


def constraint_results(
    constraints: Constraints, arm: Arm, posture: np.ndarray, frames: FrameResolver
) -> list[ConstraintEvalResult]:
    """
    Return the results of constraints in MoveIt's order: joints, positions, orientations.

    The distance is, times the weight, that of a joint from its position, of a point from the
    middle of the nearest region, and of an orientation from the wanted one [rad or m].

    :param posture: (m,) full posture [rad] or [m].
    :raises RequestError: a constraint is not supported or wrong; names it.
    """
    bounds = bounds_of(constraints, arm, partial(frames.in_base, arm.root_link))
    positions = arm.postures.by_name(posture)
    checked = checked_constraints(constraints.joint_constraints, arm.robot)
    results = []
    for constraint, (low, high) in zip(constraints.joint_constraints, checked, strict=True):
        position = positions[constraint.joint_name]
        difference = position - constraint.position
        if arm.robot.joints[constraint.joint_name].type is JointType.CONTINUOUS:
            difference = math.remainder(difference, math.tau)
        above, below = high - constraint.position, constraint.position - low
        holds = -below - _ROUNDING <= difference <= above + _ROUNDING
        results.append(_result(holds, abs(difference), constraint.weight))
    messages = (*constraints.position_constraints, *constraints.orientation_constraints)
    for bound, message in zip(bounds, messages, strict=True):
        T_root_link = arm.link_frames.root_from_link(bound.link, posture)
        holds = beyond(bound, T_root_link)[0] <= SLACK
        results.append(_result(holds, _distance(bound, T_root_link), message.weight))
    return results


def _distance(bound: Bound, T_root_link: np.ndarray) -> float:
    """Return the distance of a link from the middle of a constraint's range [rad or m]."""
    if isinstance(bound, OrientationBound):
        return beyond(replace(bound, tolerances=(0.0, 0.0, 0.0)), T_root_link)[0]
    point = T_root_link[:3, :3] @ bound.point + T_root_link[:3, 3]
    return min(float(np.linalg.norm(point - T[:3, 3])) for _, T in bound.regions)


def _result(holds: bool, distance: float, weight: float) -> ConstraintEvalResult:
    factor = weight if weight > _SMALLEST_WEIGHT else 1.0
    return ConstraintEvalResult(result=bool(holds), distance=float(factor * distance))


MOST_CONTACTS = 1000  # contacts of an answer, at most

_TYPES = {
    LINK: ContactInformation.ROBOT_LINK,
    OBJECT: ContactInformation.WORLD_OBJECT,
    ATTACHED: ContactInformation.ROBOT_ATTACHED,
}


class ValidityHandler(ServiceHandler):
    """
    Handler of ``check_state_validity``.

    As the answer has no field for a reason, a faulty request is answered with "not valid", and
    the reason is logged.
    """

    def _answer(
        self,
        request: GetStateValidity.Request,
        measured: MeasuredState,
        response: GetStateValidity.Response,
    ) -> str:
        arm = measured.arm
        group = _joints_of(arm, request.group_name) if request.group_name else None
        posture, given = start_posture(measured, request.robot_state)
        frames = resolver_of(measured, request.robot_state, posture, self._frames)
        avoided = avoidance(self._collisions, arm, request.robot_state, posture, self._frames)
        checked = np.arange(len(posture)) if group is None else group
        nothing = np.empty(0, dtype=np.intp)
        outside = arm.postures.bring_inside(posture.copy(), nothing, checked)
        notes = [*avoided.notes]
        if outside:
            notes.append(f'outside their limits: {", ".join(outside)}')
        results = constraint_results(request.constraints, arm, posture, frames)
        points: list[ContactPoint] = []
        if avoided.checker is not None:
            points = _contacts(avoided.checker, arm, group, posture)
        stamp = self._clock.now().to_msg()
        response.contacts = [_information(p, arm.root_link, stamp) for p in points[:MOST_CONTACTS]]
        response.constraint_result = results
        held = all(result.result for result in results)
        response.valid = held and not points and not outside
        own = np.setdiff1d(checked, arm.postures.dependent)
        notes += start_notes(measured, request.robot_state, posture, own, given)
        for note in notes:
            self._on_refused(note)
        return 'valid' if response.valid else 'not valid'


def _joints_of(arm: Arm, name: str) -> np.ndarray:
    """Return the indices of a group's joints, also of one that places no link, such as a hand."""
    described = arm.robot.groups.get(name)
    if name in arm.faults and described is not None and described.joint_names:
        return arm.postures.indices(described.joint_names)
    return group_of(arm, name).indices


def _contacts(
    checker: CollisionChecker, arm: Arm, group: np.ndarray | None, posture: np.ndarray
) -> list[ContactPoint]:
    """Return where bodies touch; with joints of a group those of which it moves at least one."""
    points = checker.contact_points(arm.postures.by_name(posture))
    if group is None:
        return list(points)
    joints = set(group.tolist())
    frames = arm.link_frames
    moved = {link for link in arm.robot.links if joints & set(frames.moving(link).tolist())}
    moved |= {name for name, held in checker.attached.items() if held.link in moved}
    return [point for point in points if moved & {point.body_a, point.body_b}]


def _information(point: ContactPoint, root_link: str, stamp: Time) -> ContactInformation:
    x, y, z = point.position.tolist()
    nx, ny, nz = point.normal.tolist()
    message = ContactInformation(
        position=Point(x=x, y=y, z=z),
        normal=Vector3(x=nx, y=ny, z=nz),
        depth=point.depth,
        contact_body_1=point.body_a,
        body_type_1=_TYPES[point.kind_a],
        contact_body_2=point.body_b,
        body_type_2=_TYPES[point.kind_b],
    )
    message.header.frame_id = root_link
    message.header.stamp = stamp
    return message
