"""Commands of servoing from messages."""

from __future__ import annotations

from control_msgs.msg import JointJog
from geometry_msgs.msg import PoseStamped, TwistStamped
import numpy as np

from ik_service.common.quoting import quote
from ik_service.exceptions import ArgumentError
from ik_service.following.servo.commands import (
    HIGHEST,
    joint_command,
    pose_command,
    ServoCommand,
    twist_command,
)
from ik_service.following.servo.settings import ServoSettings
from ik_service.kinematics.chain import KinematicChain
from ik_service.ros.common.conversions import matrix_from_pose
from ik_service.ros.following.follower_interface import FollowerInterface

Noted = tuple[ServoCommand, str]
"""A command, and a remark about it; empty for none."""

_DISPLACEMENTS = 'displacements are ignored, as MoveIt Servo does; velocities count'


def chain_of(following: FollowerInterface) -> KinematicChain:
    """
    Return the chain of a group that is followed.

    :param following: the follower of the group.
    """
    chain = following.group.chain
    assert isinstance(chain, KinematicChain)  # groups with several tips are not followed
    return chain


def twist_from(
    message: TwistStamped, following: FollowerInterface, settings: ServoSettings
) -> Noted:
    """
    Return the velocity of the tip that a message asks for.

    :param message: a velocity of the tip, in the axes of the frame of its header.
    :param following: the follower of the group.
    :param settings: scales and units.
    :raises IkServiceError: naming the number or the frame that cannot be.
    """
    linear, angular = message.twist.linear, message.twist.angular
    twist = np.array([linear.x, linear.y, linear.z, angular.x, angular.y, angular.z])
    chain = chain_of(following)
    frame = message.header.frame_id.lstrip('/') or chain.base_link
    beside = following.measured.arm.link_frames.beside(chain.tip_link).get(frame)
    if beside is not None:
        return twist_command(twist, settings, beside[:3, :3], turns=True)
    T = following.frames().base_from_frame(chain.base_link, frame)
    return twist_command(twist, settings, None if T is None else T[:3, :3])


def joints_from(message: JointJog, following: FollowerInterface, settings: ServoSettings) -> Noted:
    """
    Return the joint velocities that a message asks for.

    :param message: velocities of joints by name.
    :param following: the follower of the group.
    :param settings: scale and units.
    :raises ArgumentError: naming the joint or the number that cannot be.
    """
    names, velocities = list(message.joint_names), list(message.velocities)
    if names and not velocities and len(message.displacements):
        raise ArgumentError('velocities', f'are missing: {_DISPLACEMENTS}')
    if len(names) != len(velocities):
        raise ArgumentError(
            'velocities', f'are {len(velocities)} numbers for {len(names)} joint_names'
        )
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ArgumentError('joint_names', f'name {quote(twice)} twice')
    given = dict(zip(names, velocities, strict=True))
    command, note = joint_command(given, settings, chain_of(following))
    return command, note or (_DISPLACEMENTS if len(message.displacements) else '')


def pose_from(
    message: PoseStamped, following: FollowerInterface, settings: ServoSettings
) -> Noted:
    """
    Return the pose that a message asks for.

    :param message: a pose of the tip.
    :param following: the follower of the group.
    :param settings: the speeds.
    :raises IkServiceError: naming the field or the frame that cannot be.
    """
    base_link = chain_of(following).base_link
    T = matrix_from_pose(message.pose, 'pose')
    frame = message.header.frame_id or base_link
    T_base_target = following.frames().in_base(base_link, frame, T)
    for axis, value in zip('xyz', T_base_target[:3, 3].tolist(), strict=True):
        if abs(value) > HIGHEST:
            raise ArgumentError(
                f'pose.position.{axis}', f'is {value:g} m from {base_link}, which can be no target'
            )
    return pose_command(T_base_target, settings), ''
