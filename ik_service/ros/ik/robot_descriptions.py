"""Robot description of a node, from its parameters or the topic."""

from __future__ import annotations

from rclpy.node import Node
from std_msgs.msg import String

from ik_service.arm.arm import Arm
from ik_service.arm.loader import ArmLoader, read_robot, Source, source_of
from ik_service.model.xacro_arguments import parse_xacro_args
from ik_service.robot import Robot
from ik_service.ros.common.qos import DESCRIPTION_QOS
from ik_service.ros.ik.frame_parameters import XACRO_ARGS
from ik_service.ros.ik.parameter_table import ROBOT_DESCRIPTION, URDF
from ik_service.ros.ik.parameters import NodeParameters


class RobotDescriptions:
    """
    Source of the robot that a node works with; a new description is built in the background.

    What a parameter gives does not change; what none gives is taken from the topic
    ``robot_description``, as often as it changes. When parameters that shape the arm change, it
    is built again from the description in use, which is not read again.

    :param node: the node.
    :param parameters: its parameters.
    :param loader: builds the arms.
    :raises OptionError: the arguments for xacro cannot be read.
    """

    def __init__(self, node: Node, parameters: NodeParameters, loader: ArmLoader) -> None:
        self._node = node
        self._parameters = parameters
        self._loader = loader
        self._xacro_args = parse_xacro_args(parameters[XACRO_ARGS], XACRO_ARGS.name)
        self._received: Source = source_of(parameters[URDF], parameters[ROBOT_DESCRIPTION])
        self._source = self._received
        self._good: tuple[Source, Robot] | None = None
        self._given = bool(self._source)

    def start(self) -> None:
        """
        Build what the parameters describe, or subscribe to the topic.

        :raises IkServiceError: the description that the parameters give makes no arm.
        """
        if self._parameters[URDF] and self._parameters[ROBOT_DESCRIPTION]:
            self._node.get_logger().warning(
                'both urdf and robot_description are given; urdf is used'
            )
        if self._given:
            arm = self._build()
            self._loader.submit(lambda: arm)
        else:
            self._node.create_subscription(
                String, 'robot_description', self._on_description, DESCRIPTION_QOS
            )

    def rebuild(self) -> None:
        """Build the arm anew, as parameters that shape it have changed."""
        if self._source:
            self._loader.submit(self._build)

    @property
    def waiting_for(self) -> str:
        """What is waited for before there is an arm, in words."""
        if self._received:
            return 'compiling for the robot description'
        topic = self._node.resolve_topic_name('robot_description')
        return (
            f'waiting for a robot description on the topic {topic}; '
            'the parameter urdf or robot_description gives one at once'
        )

    def _on_description(self, message: String) -> None:
        if message.data != self._received:  # publishers that restart repeat themselves
            self._received = self._source = message.data
            self._loader.submit(self._build)

    def _build(self) -> Arm:
        """Build the arm of the newest description; a refused one is not used again."""
        source, good = self._source, self._good
        try:
            read = good is not None and good[0] == source
            robot = good[1] if good and read else read_robot(source, xacro_args=self._xacro_args)
            arm = Arm(robot, self._parameters.arm)
        except Exception:
            if good is not None and self._source == source:
                self._source = good[0]
            raise
        self._good = (source, robot)
        return arm
