"""Goals of motion requests: the pose of a link, as clients of MoveIt send it."""

from __future__ import annotations

from moveit_msgs.msg import Constraints, OrientationConstraint, PositionConstraint
import numpy as np
from shape_msgs.msg import SolidPrimitive

from ik_service.ros.common.conversions import pose_from_matrix


def goal_at(T: np.ndarray, frame: str, link: str, distance: float, angle: float) -> Constraints:
    """
    Return the goal of a link's pose.

    :param T: (4, 4) T_frame_link [m].
    :param frame: frame of the pose.
    :param link: name of the link.
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
