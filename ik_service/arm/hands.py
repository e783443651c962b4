"""Hands of a robot: groups of joints that open and close something, and place no link."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
import math

from ik_service.model.groups.planning_group import PlanningGroup
from ik_service.model.joint import Joint
from ik_service.robot import Robot

_MOST_JOINTS = 12  # joints of a hand, at most, since each is moved by a follower of its own


@dataclass(frozen=True)
class Hand:
    """
    Hand of a robot.

    :ivar name: name of its planning group.
    :ivar joint_names: its joints that move on their own.
    """

    name: str
    joint_names: tuple[str, ...]


def hands_of(robot: Robot, arm_joints: Collection[str]) -> tuple[Hand, ...]:
    """
    Return the hands of a robot.

    A group is a hand when its joints move and no tip is placed with them, or when the SRDF names
    it as that of an end effector, and when each of its joints has limits and no arm moves it.

    :param arm_joints: joints that are moved by the arm, or by nobody.
    """
    ends = {end.group for end in robot.semantics.end_effectors}
    found: dict[tuple[str, ...], Hand] = {}
    for group in robot.groups.values():
        names = group.joint_names
        if names not in found and _is_hand(robot, group, ends) and not {*names} & {*arm_joints}:
            found[names] = Hand(group.name, names)
    return tuple(found.values())


def gripper_joints(hands: Iterable[Hand]) -> dict[str, str]:
    """Return the joint of each hand that one joint opens and closes, by the name of the hand."""
    return {hand.name: hand.joint_names[0] for hand in hands if len(hand.joint_names) == 1}


def _is_hand(robot: Robot, group: PlanningGroup, ends: Collection[str]) -> bool:
    if group.tip_links and group.name not in ends:
        return False
    joints = [robot.joints[name] for name in group.joint_names]
    return 0 < len(joints) <= _MOST_JOINTS and all(map(_opens, joints))


def _opens(joint: Joint) -> bool:
    limits = joint.limits
    span = limits.upper - limits.lower
    return not joint.fault and 0.0 < span < math.inf and limits.velocity > 0.0
