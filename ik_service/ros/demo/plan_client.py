"""Client of the planning scene and of motion plans for the demo: a box, and motions around it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from geometry_msgs.msg import Pose
from moveit_msgs.action import MoveGroup
from moveit_msgs.msg import CollisionObject, ObjectColor
from moveit_msgs.srv import ApplyPlanningScene
import numpy as np
from rclpy.node import Node
from rclpy.task import Future
from shape_msgs.msg import SolidPrimitive
from std_msgs.msg import ColorRGBA

from ik_service.ros.common.action_client import ThreadSafeActionClient
from ik_service.ros.common.conversions import pose_from_matrix
from ik_service.ros.requests.errors import ErrorCode
from ik_service.ros.requests.pose_goals import goal_at

_BOX = 'box'
_BOX_COLOR = ColorRGBA(r=0.85, g=0.62, b=0.35, a=1.0)
_POSITION, _ORIENTATION = 1e-4, 1e-3  # tolerances of goals [m] and [rad]
_PLANNING_TIME = 10.0  # granted to a plan [s]

Wait = Callable[[Future, str], Any]
"""Waits for a future, the second argument saying what is awaited, and returns its result."""


@dataclass(frozen=True)
class PlannedMove:
    """
    End of a motion that was planned.

    :ivar success: whether the arm is at the goal, or a plan to it was found.
    :ivar has_plan: whether a plan was found.
    :ivar message: MoveIt's code, or the same in a sentence.
    :ivar planning_time: [s].
    """

    success: bool
    has_plan: bool
    message: str
    planning_time: float


class PlanClient:
    """
    Client of ``apply_planning_scene`` and ``move_action``.

    :param node: the demo's node.
    :param base_link: frame of all poses.
    :param tip_link: link that the poses are of.
    :param wait: waits for answers.
    """

    def __init__(self, node: Node, base_link: str, tip_link: str, wait: Wait) -> None:
        self._base_link, self._tip_link, self._wait = base_link, tip_link, wait
        self._scene = node.create_client(ApplyPlanningScene, 'apply_planning_scene')
        self._move = ThreadSafeActionClient(node, MoveGroup, 'move_action')

    def is_ready(self) -> bool:
        """Whether scenes and motions can be asked for."""
        return self._scene.service_is_ready() and self._move.server_is_ready()

    def put_box(self, T_base_box: np.ndarray, size: tuple[float, float, float]) -> bool:
        """
        Put a box into the planning scene, in place of the one before.

        :param T_base_box: (4, 4) pose of its middle [m].
        :param size: along its axes [m].
        :returns: whether the scene was taken.
        """
        box = CollisionObject(id=_BOX, pose=pose_from_matrix(T_base_box))
        box.header.frame_id = self._base_link
        box.primitives = [SolidPrimitive(type=SolidPrimitive.BOX, dimensions=list(size))]
        box.primitive_poses = [Pose()]
        return self._apply([box], [ObjectColor(id=_BOX, color=_BOX_COLOR)])

    def remove_box(self) -> bool:
        """Remove the box; return whether the scene was taken."""
        return self._apply([CollisionObject(id=_BOX, operation=CollisionObject.REMOVE)], [])

    def move(self, T_base_tip: np.ndarray, pipeline: str = '', only: bool = False) -> PlannedMove:
        """
        Plan a motion to a pose, and make it.

        :param T_base_tip: (4, 4) the pose [m].
        :param pipeline: of the node; empty for its default.
        :param only: whether it is only planned.
        """
        goal = MoveGroup.Goal()
        goal.request.goal_constraints = [
            goal_at(T_base_tip, self._base_link, self._tip_link, _POSITION, _ORIENTATION)
        ]
        goal.request.pipeline_id = pipeline
        goal.request.allowed_planning_time = _PLANNING_TIME
        goal.planning_options.plan_only = only
        handle = self._wait(self._move.send_goal_async(goal), 'move_action does not answer')
        result = self._wait(handle.get_result_async(), 'move_action does not end').result
        code = result.error_code
        return PlannedMove(
            code.val == ErrorCode.SUCCESS,
            bool(result.planned_trajectory.joint_trajectory.points),
            getattr(code, 'message', '') or f'code {code.val}',
            result.planning_time,
        )

    def _apply(self, objects: list[CollisionObject], colors: list[ObjectColor]) -> bool:
        request = ApplyPlanningScene.Request()
        scene = request.scene
        scene.is_diff = scene.robot_state.is_diff = True
        scene.world.collision_objects, scene.object_colors = objects, colors
        future = self._scene.call_async(request)
        return self._wait(future, 'apply_planning_scene does not answer').success
