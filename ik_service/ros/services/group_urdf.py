"""Handler of the service ``get_urdf``: the robot description in use, or that of a group."""

from __future__ import annotations

from moveit_msgs.srv import GetGroupUrdf

from ik_service.arm.arm import Arm
from ik_service.arm.measured_state import MeasuredState
from ik_service.model.groups.planning_group import PlanningGroup
from ik_service.model.urdf_writing import partial_urdf, whole_urdf
from ik_service.robot import Robot
from ik_service.ros.requests.goals import group_of
from ik_service.ros.requests.service_handler import ServiceHandler


class UrdfHandler(ServiceHandler):
    """Handler of ``get_urdf``: links and joints of a planning group, or of the whole robot."""

    def _answer(
        self,
        request: GetGroupUrdf.Request,
        measured: MeasuredState,
        response: GetGroupUrdf.Response,
    ) -> str:
        response.urdf_string = _urdf(measured.arm, request.group_name)
        return ''


def _urdf(arm: Arm, name: str) -> str:
    if not name:
        return whole_urdf(arm.robot)
    if name in arm.faults:
        return _urdf_of_joints(arm.robot, arm.robot.groups[name])
    group = group_of(arm, name)
    return partial_urdf(arm.robot, name, group.base_link, group.tip_links)


def _urdf_of_joints(robot: Robot, group: PlanningGroup) -> str:
    """Return the part of a robot that a group moves with which nothing can be placed: a hand."""
    moved = [
        robot.joints[joint].child
        for joint in robot.movable_joint_names
        if robot.resolve_mimic(joint)[0] in group.joint_names
    ]
    return partial_urdf(robot, group.name, group.base_link, moved)
