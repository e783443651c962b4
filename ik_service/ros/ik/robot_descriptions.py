"""Robot description and semantic description of a node, from its parameters or topics."""

from __future__ import annotations

from collections.abc import Callable

from rclpy.node import Node
from std_msgs.msg import String

from ik_service.arm.loader import ArmLoader, build_arm, source_of, srdf_source
from ik_service.ros.common.qos import DESCRIPTION_QOS
from ik_service.ros.ik.parameter_table import (
    ROBOT_DESCRIPTION,
    ROBOT_DESCRIPTION_SEMANTIC,
    SRDF,
    URDF,
)
from ik_service.ros.ik.parameters import NodeParameters


class RobotDescriptions:
    """
    Source of the robot that a node works with; a new description is built in the background.

    What a parameter gives does not change; what none gives is taken from the topics
    ``robot_description`` and ``robot_description_semantic``, as often as it changes. Without a
    semantic description there are the groups that parameters and known names give.

    :param node: the node.
    :param parameters: its parameters.
    :param loader: builds the arms.
    """

    def __init__(self, node: Node, parameters: NodeParameters, loader: ArmLoader) -> None:
        self._node = node
        self._parameters = parameters
        self._loader = loader
        self._urdf = source_of(parameters[URDF], parameters[ROBOT_DESCRIPTION])
        self._srdf = srdf_source(parameters[SRDF], parameters[ROBOT_DESCRIPTION_SEMANTIC])
        self._given = bool(self._urdf)

    def start(self) -> None:
        """
        Build what the parameters describe, and subscribe to what they leave out.

        :raises IkServiceError: the description that the parameters give makes no arm.
        """
        for path, text in ((URDF, ROBOT_DESCRIPTION), (SRDF, ROBOT_DESCRIPTION_SEMANTIC)):
            if self._parameters[path] and self._parameters[text]:
                self._node.get_logger().warning(
                    f'both {path.name} and {text.name} are given; {path.name} is used'
                )
        if self._given:
            arm = build_arm(self._urdf, self._parameters.arm, srdf=self._srdf)
            self._loader.submit(lambda: arm)
        else:
            self._subscribe('robot_description', self._on_description)
        if not self._srdf:
            self._subscribe('robot_description_semantic', self._on_semantics)

    def rebuild(self) -> None:
        """Build the arm anew, as parameters that shape it have changed."""
        if self._urdf:
            urdf, srdf, settings = self._urdf, self._srdf, self._parameters.arm
            self._loader.submit(lambda: build_arm(urdf, settings, srdf=srdf))

    @property
    def waiting_for(self) -> str:
        """What is waited for before there is an arm, in words."""
        if self._urdf:
            return 'compiling for the robot description'
        topic = self._node.resolve_topic_name('robot_description')
        return (
            f'waiting for a robot description on the topic {topic}; '
            'the parameter urdf or robot_description gives one at once'
        )

    def _subscribe(self, topic: str, callback: Callable[[String], None]) -> None:
        self._node.create_subscription(String, topic, callback, DESCRIPTION_QOS)

    def _on_description(self, message: String) -> None:
        if message.data != self._urdf:  # publishers that restart repeat themselves
            self._urdf = message.data
            self.rebuild()

    def _on_semantics(self, message: String) -> None:
        if message.data != self._srdf:
            self._srdf = message.data
            self.rebuild()
