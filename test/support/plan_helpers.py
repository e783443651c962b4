"""Requests of motion plans, and what their answers must be."""

from __future__ import annotations

from moveit_msgs.msg import (
    CollisionObject,
    Constraints,
    JointConstraint,
    MotionPlanRequest,
    OrientationConstraint,
    PositionConstraint,
)
import numpy as np
from shape_msgs.msg import SolidPrimitive

from ik_service.extras.planning.motion_check import positions_at
from ik_service.paths.trajectory.joint_trajectory import JointTrajectory
from ik_service.ros.common.conversions import pose_from_matrix
from support.cell import NAMES, READY
from support.collision_helpers import ball

ASIDE = np.array([0.7, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])
LEFT, RIGHT = READY + ASIDE, READY - ASIDE


def box(name, position, size):
    """An object that is a box."""
    shape = SolidPrimitive(type=SolidPrimitive.BOX, dimensions=[float(x) for x in size])
    return ball(name, tuple(map(float, position)), shape=shape)


def gone(name):
    """The removal of an object."""
    return CollisionObject(id=name, operation=CollisionObject.REMOVE)


POST = box('post', (0.32, 0.0, 0.35), (0.05, 0.05, 0.7))
"""A post between LEFT and RIGHT."""


def joint_goal(q, names=NAMES, tolerance=1e-3):
    """A goal of joints, as pymoveit2 sends it."""
    return Constraints(
        joint_constraints=[
            JointConstraint(
                joint_name=name,
                position=float(value),
                tolerance_above=tolerance,
                tolerance_below=tolerance,
                weight=1.0,
            )
            for name, value in zip(names, q, strict=True)
        ]
    )


def pose_goal(T, link='panda_hand_tcp', frame='panda_link0', radius=1e-3, angle=1e-3):
    """A goal of a pose, as pymoveit2 sends it; an angle of None leaves the orientation free."""
    pose = pose_from_matrix(T)
    position = PositionConstraint(link_name=link, weight=1.0)
    position.header.frame_id = frame
    position.constraint_region.primitives = [
        SolidPrimitive(type=SolidPrimitive.SPHERE, dimensions=[radius])
    ]
    position.constraint_region.primitive_poses = [pose]
    goal = Constraints(position_constraints=[position])
    if angle is not None:
        goal.orientation_constraints = [upright(T, link, frame, (angle, angle, angle))]
    return goal


def upright(T, link='panda_hand_tcp', frame='panda_link0', angles=(0.3, 0.3, 4.0)):
    """A constraint on the orientation of a link."""
    constraint = OrientationConstraint(link_name=link, weight=1.0)
    constraint.header.frame_id = frame
    constraint.orientation = pose_from_matrix(T).orientation
    constraint.absolute_x_axis_tolerance = angles[0]
    constraint.absolute_y_axis_tolerance = angles[1]
    constraint.absolute_z_axis_tolerance = angles[2]
    return constraint


def plan_request(*goals, start=None, **fields):
    """A request with alternative goals, from a posture of the Panda or the measured one."""
    fields = {'allowed_planning_time': 10.0, 'num_planning_attempts': 5, **fields}
    request = MotionPlanRequest(**fields)
    request.goal_constraints = list(goals)
    request.start_state.is_diff = True
    if start is not None:
        request.start_state.joint_state.name = list(NAMES)
        request.start_state.joint_state.position = [float(value) for value in start]
    return request


def planned_rows(trajectory, count=2000):
    """Return many positions of the motion of a RobotTrajectory message."""
    message = trajectory.joint_trajectory
    assert tuple(message.joint_names) == NAMES
    motion = JointTrajectory(
        NAMES,
        [p.time_from_start.sec + 1e-9 * p.time_from_start.nanosec for p in message.points],
        [list(p.positions) for p in message.points],
        [list(p.velocities) for p in message.points],
        [list(p.accelerations) for p in message.points],
    )
    return positions_at(motion, np.linspace(0.0, motion.duration, count))
