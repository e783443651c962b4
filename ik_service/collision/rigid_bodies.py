"""Rigid bodies of a robot: its links, joined where no joint moves between them."""

from __future__ import annotations

import numpy as np

from ik_service.collision.scene_arrays import BodyArrays
from ik_service.common.transforms import inverse_transform, rigid_transform, rotation_from_z_to
from ik_service.kinematics.joint_path import joint_motion
from ik_service.kinematics.pose_error import frame_of
from ik_service.model.joint import JointType
from ik_service.model.robot_model import RobotModel


class RigidBodies:
    """
    Rigid bodies of a robot.

    :param robot: the robot.
    :param joint_names: names of all independent joints, in the order of the joint vectors.
    :ivar count: number of bodies.
    :ivar arrays: their constants.
    :ivar body_of: index of the body of each link.
    :ivar T_body_link: (4, 4) pose of each link in the frame of its body [m].
    """

    def __init__(self, robot: RobotModel, joint_names: tuple[str, ...]) -> None:
        variable = {name: index for index, name in enumerate(joint_names)}
        self.body_of = {robot.root_link: 0}
        self.T_body_link = {robot.root_link: np.eye(4)}
        rows: list[tuple[int, np.ndarray, int, tuple[float, float]]] = []
        pending = [robot.root_link]
        while pending:
            parent = pending.pop()
            for joint in robot.child_joints_of(parent):
                body, T = self.body_of[parent], self.T_body_link[parent] @ joint.T_parent_joint
                if joint.movable:
                    source, scale, offset = robot.resolve_mimic(joint.name)
                    T_align = rigid_transform(rotation_from_z_to(joint.axis))
                    turns = joint.type is not JointType.PRISMATIC
                    move = (scale, 0.0) if turns else (0.0, scale)
                    T_before = T @ joint_motion(joint, offset) @ T_align
                    rows.append((body, frame_of(T_before), variable[source], move))
                    body, T = len(rows), inverse_transform(T_align)
                self.body_of[joint.child], self.T_body_link[joint.child] = body, T
                pending.append(joint.child)
        self.count = len(rows) + 1
        self.arrays = BodyArrays(
            np.array([row[0] for row in rows], np.int64),
            np.array([row[1] for row in rows]).reshape(-1, 12),
            np.array([row[2] for row in rows], np.int64),
            np.array([row[3] for row in rows]).reshape(-1, 2),
        )
        for array in self.arrays:
            array.setflags(write=False)
