"""Handler of the service ``get_urdf``: the robot description in use, or that of a group."""

from __future__ import annotations

from moveit_msgs.srv import GetGroupUrdf

from ik_service.model.groups.planning_group import PlanningGroup
from ik_service.model.urdf_writing import partial_urdf, whole_urdf
from ik_service.robot import Robot
from ik_service.ros.requests.goals import group_of
from ik_service.ros.requests.service_handler import require_arm, ServiceHandler


class UrdfHandler(ServiceHandler):
    """
    Handler of ``get_urdf``: links and joints of a planning group; all of the robot without one.

    Safe to call from several threads at once; nothing raises out of :meth:`handle`.
    """

    def handle(
        self, request: GetGroupUrdf.Request, response: GetGroupUrdf.Response
    ) -> GetGroupUrdf.Response:
        """Fill in the response to a request and return it."""

        def answer() -> str:
            response.urdf_string = self._urdf(request.group_name)
            return ''

        self._answer_with_code(response.error_code, answer)
        return response

    def _urdf(self, name: str) -> str:
        arm = require_arm(self.measured).arm
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
