"""Positions at which a simulated arm shall start: those at which it cannot are mistakes."""

from __future__ import annotations

from collections.abc import Mapping

from ik_service.exceptions import ArgumentError
from ik_service.model.joint import JointType
from ik_service.model.robot_model import RobotModel

# How far the given position of a mimic joint may be from where it follows to [rad] or [m].
_APART = 1e-3


def fault_of_start(robot: RobotModel, name: str, positions: Mapping[str, float]) -> str:
    """
    Return why a joint cannot start at a position; empty where it can.

    A mimic joint can where it follows to; so the joint that it follows has to be given too.

    :param robot: the robot.
    :param name: name of the joint.
    :param positions: where joints shall start [rad] or [m], by name; that of this one among them.
    """
    joint, position = robot.joints[name], positions[name]
    lower, upper = joint.limits.lower, joint.limits.upper
    unit = 'm' if joint.type is JointType.PRISMATIC else 'rad'
    if not lower <= position <= upper:
        return f'has to be from {lower:.9g} to {upper:.9g} [{unit}], not {position:.9g}'
    if not joint.movable:
        return ''
    source, multiplier, offset = robot.resolve_mimic(name)
    if source not in positions:
        return f'cannot be given alone, as {name} follows {source} (<mimic>): give that one'
    right = multiplier * positions[source] + offset if source != name else position
    if abs(position - right) > _APART:
        return (
            f'has to be {right:.9g} [{unit}], not {position:.9g}, as {name} follows {source} '
            '(<mimic>); it may be left out'
        )
    return ''


def check_start(robot: RobotModel, positions: Mapping[str, float], field: str) -> None:
    """
    Refuse positions outside of the limits, and of mimic joints those that they do not follow to.

    :param robot: the robot.
    :param positions: where joints shall start [rad] or [m], by name; names that the robot does
        not have do not matter.
    :param field: where the positions are given, for the message.
    :raises ArgumentError: naming the joint, its position and what is right.
    """
    for name in positions:
        reason = fault_of_start(robot, name, positions) if name in robot.joints else ''
        if reason:
            raise ArgumentError(f'{field}.{name}', reason)
