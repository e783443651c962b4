"""Positions at which a simulated arm shall start: those outside of the limits are mistakes."""

from __future__ import annotations

from collections.abc import Mapping

from ik_service.exceptions import ArgumentError
from ik_service.model.joint import JointType
from ik_service.model.robot_model import RobotModel


def fault_of_start(robot: RobotModel, name: str, position: float) -> str:
    """
    Return why a joint cannot start at a position; empty where it can.

    :param robot: the robot.
    :param name: name of the joint.
    :param position: where it shall start [rad] or [m].
    """
    joint = robot.joints[name]
    lower, upper = joint.limits.lower, joint.limits.upper
    if lower <= position <= upper:
        return ''
    unit = 'm' if joint.type is JointType.PRISMATIC else 'rad'
    return f'has to be from {lower:.9g} to {upper:.9g} [{unit}], not {position:.9g}'


def check_start(robot: RobotModel, positions: Mapping[str, float], field: str) -> None:
    """
    Refuse positions outside of the limits.

    :param robot: the robot.
    :param positions: where joints shall start [rad] or [m], by name; names that the robot does
        not have do not matter.
    :param field: where the positions are given, for the message.
    :raises ArgumentError: naming the joint, its position and its limits.
    """
    for name, position in positions.items():
        reason = fault_of_start(robot, name, position) if name in robot.joints else ''
        if reason:
            raise ArgumentError(f'{field}.{name}', reason)
