"""A small robot with two arms, made of joints without a URDF."""

import numpy as np

from ik_service import Robot
from ik_service.model.joint import Joint, JointType

X_AXIS = np.array([1.0, 0.0, 0.0])


def make_joint(name, parent, child, kind=JointType.REVOLUTE, mimic=None):
    return Joint(name, kind, parent, child, np.eye(4), X_AXIS, mimic=mimic)


def humanoid_robot():
    """A torso on a base, a head, and two arms of two joints each; the left hand is fixed."""
    return Robot(
        'humanoid',
        ['base', 'torso', 'head', 'l_arm', 'l_hand', 'r_arm', 'r_hand'],
        [
            make_joint('waist', 'base', 'torso'),
            make_joint('neck', 'torso', 'head'),
            make_joint('l_shoulder', 'torso', 'l_arm'),
            make_joint('l_wrist', 'l_arm', 'l_hand', JointType.FIXED),
            make_joint('r_shoulder', 'torso', 'r_arm'),
            make_joint('r_wrist', 'r_arm', 'r_hand', JointType.PRISMATIC),
        ],
    )
