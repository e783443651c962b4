"""What the tests of the URDF reader share: small robots as text, and where their links are."""

import numpy as np

from ik_service.model.joint import JointType
from ik_service.robot import Robot
from support.chains import rotation

LIMIT = '<limit lower="-1" upper="2" velocity="3" effort="4"/>'


def joint_xml(parts=LIMIT, kind='revolute', name='shoulder', parent='base', child='arm'):
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'{parts}</joint>'
    )


def robot_xml(*joints, links=('base', 'arm')):
    body = ''.join(f'<link name="{link}"/>' for link in links) + ''.join(joints)
    return f'<?xml version="1.0"?>\n<robot name="robot">{body}</robot>'


def read_joint(parts=LIMIT, kind='revolute'):
    return Robot.from_urdf(robot_xml(joint_xml(parts, kind))).joints['shoulder']


def pose_of(robot, tip, values):
    """(4, 4) pose of a link in the root frame, by the definition of a joint."""
    T = np.eye(4)
    for joint, _ in robot.path(robot.root_link, tip):
        motion = np.eye(4)
        value = values.get(joint.name, 0.0)
        if joint.type is JointType.PRISMATIC:
            motion[:3, 3] = value * joint.axis
        elif joint.movable:
            motion[:3, :3] = rotation(joint.axis, value)
        T = T @ joint.T_parent_joint @ motion
    return T
