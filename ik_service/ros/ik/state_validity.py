"""Handler of the service ``check_state_validity``: collisions, limits, constraints of a state."""

from __future__ import annotations

from builtin_interfaces.msg import Time
from geometry_msgs.msg import Point, Vector3
from moveit_msgs.msg import ContactInformation
from moveit_msgs.srv import GetStateValidity
import numpy as np

from ik_service.arm.arm import Arm, MeasuredState
from ik_service.arm.group import ArmGroup
from ik_service.collision.checker import CollisionChecker
from ik_service.collision.part import ATTACHED, ContactPoint, LINK, OBJECT
from ik_service.ros.collision.avoidance import avoidance
from ik_service.ros.ik.constraint_results import constraint_results
from ik_service.ros.ik.goals import group_of
from ik_service.ros.ik.service_handler import (
    assumed_joints,
    require_arm,
    resolver_of,
    start_posture,
    WorldHandler,
)

MOST_CONTACTS = 1000
"""Contacts of an answer, at most."""

_TYPES = {
    LINK: ContactInformation.ROBOT_LINK,
    OBJECT: ContactInformation.WORLD_OBJECT,
    ATTACHED: ContactInformation.ROBOT_ATTACHED,
}


class ValidityHandler(WorldHandler):
    """
    Handler of ``check_state_validity``.

    As the answer has no field for a reason, a faulty request is answered with "not valid", and
    the reason is logged. Safe to call from several threads at once; nothing raises out of
    :meth:`handle`.

    :param clock: fills in the stamps of answers.
    :param frames: frames besides the links of the robot.
    :param on_error: called with an unexpected exception.
    :param on_refused: called with what the answer has no field for.
    :param collisions: the known world, and the checker of collisions.
    """

    def handle(
        self, request: GetStateValidity.Request, response: GetStateValidity.Response
    ) -> GetStateValidity.Response:
        """
        Fill in the response to a request and return it.

        :param request: the request.
        :param response: the response.
        """
        response.valid = False
        try:
            self._check(request, response, require_arm(self.measured))
            outcome = 'valid' if response.valid else 'not valid'
        except Exception as error:
            outcome = self._code_and_message(error)[0].name
        self.statistics.add(outcome)
        return response

    def _check(
        self,
        request: GetStateValidity.Request,
        response: GetStateValidity.Response,
        measured: MeasuredState,
    ) -> None:
        arm = measured.arm
        group = group_of(arm, request.group_name) if request.group_name else None
        posture, given = start_posture(measured, request.robot_state)
        frames = resolver_of(measured, request.robot_state, posture, self._frames)
        avoided = avoidance(self._collisions, arm, request.robot_state, posture, self._frames)
        checked = np.arange(len(posture)) if group is None else group.indices
        outside = _outside(arm, posture, checked)
        notes = [*avoided.notes, *outside]
        assumed = assumed_joints(measured, checked, given)
        results = constraint_results(request.constraints, arm, posture, frames)
        points: list[ContactPoint] = []
        if avoided.checker is not None:
            points = _contacts(avoided.checker, arm, group, posture)
        stamp = self._clock.now().to_msg()
        response.contacts = [_information(p, arm.root_link, stamp) for p in points[:MOST_CONTACTS]]
        response.constraint_result = results
        held = all(result.result for result in results)
        response.valid = held and not points and not outside
        if assumed:
            notes.append(
                f'neither measured nor given, so taken at mid-range: {", ".join(assumed)}'
            )
        for note in notes:
            self._on_refused(note)


def _outside(arm: Arm, posture: np.ndarray, checked: np.ndarray) -> list[str]:
    """Return which joints are outside their limits, in a sentence; nothing where none is."""
    nothing = np.empty(0, dtype=np.intp)
    outside = arm.postures.bring_inside(posture.copy(), nothing, checked)
    return [f'outside their limits: {", ".join(outside)}'] if outside else []


def _contacts(
    checker: CollisionChecker, arm: Arm, group: ArmGroup | None, posture: np.ndarray
) -> list[ContactPoint]:
    """Return where bodies touch; with a group those of which it moves at least one."""
    points = checker.contact_points(arm.postures.by_name(posture))
    if group is None:
        return list(points)
    joints = set(group.indices.tolist())
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
