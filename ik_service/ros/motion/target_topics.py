"""Planning groups that are followed, and the topics of their targets and velocities."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
import re

from geometry_msgs.msg import PoseStamped, TwistStamped
from rclpy.callback_groups import CallbackGroup, MutuallyExclusiveCallbackGroup
from rclpy.exceptions import InvalidTopicNameException
from rclpy.node import Node
from rclpy.validate_full_topic_name import validate_full_topic_name

from ik_service.arm.arm import Arm
from ik_service.arm.group import ArmGroup
from ik_service.common.quoting import listed, quote
from ik_service.kinematics.chain import KinematicChain
from ik_service.ros.common.input_topics import InputTopic
from ik_service.ros.common.runtime import name_fault
from ik_service.ros.motion.follower_interface import TARGET_TOPIC

TWIST_TOPIC = 'target_twist'
"""Topic of the velocities of the targets of the default group, and last part of the others'."""

MOST_FOLLOWED = 32  # groups besides the default one that are followed, at most

_TOKEN = re.compile(r'[A-Za-z_][A-Za-z0-9_]*')


def followed_groups(arm: Arm, warn: Callable[[str], object]) -> dict[str, ArmGroup]:
    """
    Return the planning groups that are followed besides the default one.

    They are those that an SRDF or the parameter ``groups`` describes, and that have one tip.

    :param warn: logs a warning: of groups that get no topic because of their name or their
        number.
    """
    groups = {
        name: group
        for name, group in arm.groups.items()
        if group is not arm.group
        and isinstance(group.chain, KinematicChain)
        and name in arm.robot.groups
        and arm.robot.groups[name].described
    }
    unnamed = [name for name in groups if not _TOKEN.fullmatch(name)]
    if unnamed:
        warn(
            f'not followed, because their names cannot be part of a topic name: '
            f'{listed(unnamed)}; letters, digits and underscores can, with no digit at the '
            'beginning'
        )
    named = [name for name in groups if name not in unnamed]
    if len(named) > MOST_FOLLOWED:
        warn(
            f'not followed, because there are more than {MOST_FOLLOWED} groups: '
            f'{listed(named[MOST_FOLLOWED:])}'
        )
    return {name: groups[name] for name in named[:MOST_FOLLOWED]}


def topic_of(group: str) -> str:
    """Return the topic of the targets of a group that is not the default one."""
    return f'{group}/{TARGET_TOPIC}'


_OnTarget = Callable[[str, PoseStamped, Mapping[str, int]], None]
_OnTwist = Callable[[str, TwistStamped, Mapping[str, int]], None]


class TargetTopics:
    """
    Subscriptions to the targets of the default group and of the others, and to their velocities.

    :param on_target: called with the name of the group, empty for the default one, a target and
        the information about the message.
    :param on_twist: called likewise with the velocity of a target.
    :ivar group: callback group of the targets of the default group.
    """

    def __init__(self, node: Node, on_target: _OnTarget, on_twist: _OnTwist) -> None:
        self._node, self._on_target, self._on_twist = node, on_target, on_twist
        self._others: dict[str, list[InputTopic]] = {}
        self.group = MutuallyExclusiveCallbackGroup()

    def start(self) -> None:
        """Subscribe to the targets of the default group."""
        self._subscribe('', '', self.group)

    def update(self, groups: Iterable[str]) -> None:
        """Subscribe to the targets of other groups, and to those of no others than these."""
        wanted = list(groups)
        for name in [name for name in self._others if name not in wanted]:
            for topic in self._others.pop(name):
                topic.destroy()
        for name in wanted:
            if name in self._others:
                continue
            try:
                for part in (TARGET_TOPIC, TWIST_TOPIC):
                    full = self._node.resolve_topic_name(f'{name}/{part}')
                    validate_full_topic_name(full)
                self._others[name] = self._subscribe(
                    name, f'{name}/', MutuallyExclusiveCallbackGroup()
                )
            except (InvalidTopicNameException, RuntimeError) as error:  # it is too long
                fault = f'group {quote(name)} is not followed: {name_fault(error)}'
                self._node.get_logger().warning(fault)

    def _subscribe(self, group: str, prefix: str, solving: CallbackGroup) -> list[InputTopic]:
        # Groups of their own: a target is solved for in its callback, and must not delay states.
        others = MutuallyExclusiveCallbackGroup()
        on_target = partial(self._on_target, group)
        on_twist = partial(self._on_twist, group)
        # Depth 1: an older target is of no use.
        return [
            InputTopic(self._node, kind, prefix + topic, take, 1, calls)
            for kind, topic, take, calls in (
                (PoseStamped, TARGET_TOPIC, on_target, solving),
                (TwistStamped, TWIST_TOPIC, on_twist, others),
            )
        ]
