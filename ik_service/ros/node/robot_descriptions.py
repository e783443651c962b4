"""Robot description and semantic description of a node, from its parameters or topics."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rclpy.node import Node
from rclpy.publisher import Publisher
from std_msgs.msg import String

from ik_service.arm.arm import Arm
from ik_service.arm.loader import (
    ArmLoader,
    DescriptionFault,
    read_robot,
    Source,
    source_of,
    srdf_source,
    with_semantics,
)
from ik_service.exceptions import IkServiceError, SrdfError
from ik_service.jit.cached_files import uncached_reason
from ik_service.model.package_folders import parse_package_dirs
from ik_service.model.urdf_writing import whole_urdf
from ik_service.model.xacro_file import parse_xacro_args, XacroArguments
from ik_service.robot import Robot
from ik_service.ros.common.qos import DESCRIPTION_QOS
from ik_service.ros.node.parameter_table import (
    PACKAGE_DIRS,
    PUBLISH_ROBOT_DESCRIPTION,
    PUBLISH_ROBOT_DESCRIPTION_SEMANTIC,
    ROBOT_DESCRIPTION,
    ROBOT_DESCRIPTION_SEMANTIC,
    SRDF,
    URDF,
    XACRO_ARGS,
)
from ik_service.ros.node.parameters import NodeParameters

_URDF_TOPIC, _SRDF_TOPIC = 'robot_description', 'robot_description_semantic'


class RobotDescriptions:
    """
    Source of the robot that a node works with; a new description is built in the background.

    A description from a parameter is fixed, and published for others; a missing one is taken
    from the topics ``robot_description`` and ``robot_description_semantic``, as often as it
    changes. Without a semantic description there are the groups that parameters and known names
    give. When parameters that shape the arm change, it is built again from the descriptions in
    use, which are not read again.

    :param checks: called with an arm before it is used; refuse it by an exception.
    :raises OptionError: the arguments for xacro cannot be read.
    """

    def __init__(
        self,
        node: Node,
        parameters: NodeParameters,
        loader: ArmLoader,
        checks: Sequence[Callable[[Arm], object]] = (),
    ) -> None:
        self._checks = checks
        self._node = node
        self._parameters = parameters
        self._loader = loader
        self._xacro_args = parse_xacro_args(parameters[XACRO_ARGS], XACRO_ARGS.name)
        self._package_dirs = parse_package_dirs(parameters[PACKAGE_DIRS])
        urdf = source_of(parameters[URDF], parameters[ROBOT_DESCRIPTION])
        srdf = srdf_source(parameters[SRDF], parameters[ROBOT_DESCRIPTION_SEMANTIC])
        self._received: tuple[Source, Source] = (urdf, srdf)
        self._sources = self._received
        self._good: tuple[tuple[Source, Source], Robot] | None = None
        self._good_before: tuple[tuple[Source, Source], Robot] | None = None
        self._building = self._sources
        self._newest: Arm | None = None
        self._failed: tuple[Source, Source] | None = None
        self._given = bool(urdf), bool(srdf)
        self._publishers: dict[str, Publisher] = {}

    def start(self) -> None:
        """Build the arm of the parameters, or subscribe to descriptions; raises IkServiceError."""
        for path, text in ((URDF, ROBOT_DESCRIPTION), (SRDF, ROBOT_DESCRIPTION_SEMANTIC)):
            if self._parameters[path] and self._parameters[text]:
                self._node.get_logger().warning(
                    f'both {path.name} and {text.name} are given; {path.name} is used'
                )
        topics = (
            (_URDF_TOPIC, self._on_description, PUBLISH_ROBOT_DESCRIPTION),
            (_SRDF_TOPIC, self._on_semantics, PUBLISH_ROBOT_DESCRIPTION_SEMANTIC),
        )
        for given, (topic, callback, published) in zip(self._given, topics, strict=True):
            if not given:
                self._node.create_subscription(String, topic, callback, DESCRIPTION_QOS)
            elif self._parameters[published]:
                publisher = self._node.create_publisher(String, topic, DESCRIPTION_QOS)
                self._publishers[topic] = publisher
        if self._given[0]:
            arm = self._build()
            self._loader.submit(lambda: arm)

    def rebuild(self) -> None:
        """Build the arm anew, as parameters that shape it have changed."""
        if self._sources[0]:
            self._loader.submit(self._build)

    def failed(self, error: Exception, used: Arm | None) -> DescriptionFault:
        """
        Return why the newest description is not in use; to be called before another is built.

        Nothing may be wrong with the description itself where the error is an unexpected one: it
        is built again when it is published again, though it has not changed.

        :param error: exception raised while its arm was built, or put to use.
        """
        in_use = used is not None and used is self._newest
        if self._newest is not None and not in_use:  # built, but no more
            self._good = self._good_before
            self._go_back(self._building, self._good)
        if not isinstance(error, IkServiceError):
            self._failed = self._building
        return DescriptionFault.of(error, in_use, not self._given[0])

    @property
    def waiting_for(self) -> str:
        """Reason why there is no arm yet, in words."""
        if self._received[0]:
            reason = uncached_reason()
            later = f': so do later starts, {reason}' if reason else ''
            return f'compiling for the robot description{later}'
        topic = self._node.resolve_topic_name(_URDF_TOPIC)
        return (
            f'waiting for a robot description on the topic {topic}; '
            'the parameter urdf or robot_description gives one at once'
        )

    def _on_description(self, message: String) -> None:
        self._take((message.data, self._received[1]))

    def _on_semantics(self, message: String) -> None:
        self._take((self._received[0], message.data))

    def _take(self, received: tuple[Source, Source]) -> None:
        # Publishers that restart repeat themselves.
        if received != self._received or received == self._failed:
            # Of a robot that is replaced, one of the two comes first, and does not go with the
            # other one of the old robot: so a refused one counts again with the next one.
            self._received = self._sources = received
            self.rebuild()

    def _build(self) -> Arm:
        """Build the arm of the newest descriptions; refused ones are not used again."""
        sources, good = self._sources, self._good
        self._building, self._newest = sources, None
        if self._failed == sources:
            self._failed = None
        try:
            robot = good[1] if good and good[0] == sources else self._read(sources)
            arm = Arm(robot, self._parameters.arm)
            for check in self._checks:
                check(arm)
        except Exception:
            self._go_back(sources, good)
            raise
        self._good_before, self._good = good, (sources, robot)
        self._newest = arm
        self._publish(robot)
        return arm

    def _publish(self, robot: Robot) -> None:
        for topic, publisher in self._publishers.items():
            text = whole_urdf(robot) if topic == _URDF_TOPIC else robot.semantics.text
            publisher.publish(String(data=text))

    def _go_back(
        self, sources: tuple[Source, Source], good: tuple[tuple[Source, Source], Robot] | None
    ) -> None:
        """Use the last good descriptions again, unless newer ones have come."""
        if good is not None and self._sources == sources:
            self._sources = good[0]

    def _read(self, sources: tuple[Source, Source]) -> Robot:
        urdf, srdf = sources
        given = XacroArguments(self._xacro_args)
        robot = read_robot(
            urdf, xacro_args=given, expand_text=self._given[0], package_dirs=self._package_dirs
        )
        try:
            described = with_semantics(robot, srdf, xacro_args=given)
            described = described.remarked(given.remarks())
            if not self._given[1] and self._good is not None:
                _check_goes_with(described)
            return described
        except SrdfError as error:
            if self._given[1] or self._good is not None:
                raise
            # A description from another publisher keeps no arm from being used.
            self._node.get_logger().error(f'the semantic description is not used: {error}')
            return robot


def _check_goes_with(robot: Robot) -> None:
    """Refuse a semantic description of which nothing can be used: it is another robot's."""
    groups = robot.semantics.groups.values()
    if groups and all(group.fault for group in groups):
        first = next(iter(groups))
        raise SrdfError(
            f'it does not match robot {robot.name!r}: none of its groups can be used; the first '
            f'is {first.name!r}: {first.fault}'
        )
