"""Selection of the robot to show among the descriptions that are known."""

from __future__ import annotations

from dataclasses import dataclass

from ik_service.arm.arm import ArmSettings
from ik_service.arm.loader import Source, source_of
from ik_service.common.number_parsing import parse_positions
from ik_service.ros.ik.frame_parameters import TOOL_FRAMES, tool_frames_of


@dataclass(frozen=True)
class RobotSources:
    """
    Known descriptions of the robot; texts are empty where nothing is known.

    :ivar own: parameters of the viewer: ``urdf``, ``robot_description``, ``xacro_args``,
        ``base_link``, ``tip_link``; they have precedence.
    :ivar node: the same parameters of the IK node, its ``locked_joints`` and ``tool_frames``.
    :ivar topic: text from the topic ``robot_description``.
    :ivar reported_base: base link in the node's diagnostics.
    :ivar reported_tip: tip link in the node's diagnostics.
    """

    own: tuple[tuple[str, str], ...] = ()
    node: tuple[tuple[str, str], ...] = ()
    topic: str = ''
    reported_base: str = ''
    reported_tip: str = ''


@dataclass(frozen=True)
class RobotSelection:
    """
    Robot to show.

    :ivar source: its URDF, as text or as the path of a file.
    :ivar base_link: base link of the chain; empty for the root.
    :ivar tip_link: tip link of the chain; empty for the only leaf.
    :ivar locked_joints: joints that do not move, as the node's parameter gives them.
    :ivar xacro_args: arguments of a xacro file, as the viewer's own parameter gives them.
    :ivar tool_frames: further links of the robot, as the node's parameter gives them.
    :ivar trusted: whether the viewer's own parameters name the source; others may name files too,
        but none that would be run, see :func:`~ik_service.arm.loader.read_robot`.
    """

    source: Source
    base_link: str
    tip_link: str
    locked_joints: str
    trusted: bool = False
    xacro_args: str = ''
    tool_frames: str = ''

    def settings(self) -> ArmSettings:
        """
        Return the settings of the arm.

        :raises IkServiceError: the list of locked joints or the tool frames cannot be read.
        """
        locked = parse_positions(self.locked_joints, 'locked_joints')
        tools = tool_frames_of({TOOL_FRAMES.name: self.tool_frames})
        return ArmSettings(self.base_link, self.tip_link, locked, tool_frames=tools)


def select_robot(sources: RobotSources) -> RobotSelection | None:
    """
    Return the robot to show; None while no description is known.

    :param sources: the known descriptions.
    """
    own, node = dict(sources.own), dict(sources.node)
    given = ((known.get('urdf', ''), known.get('robot_description', '')) for known in (own, node))
    urdf, text = next((pair for pair in given if any(pair)), ('', sources.topic))
    if not urdf and not text:
        return None
    return RobotSelection(
        source=source_of(urdf, text),
        base_link=own.get('base_link') or node.get('base_link') or sources.reported_base,
        tip_link=own.get('tip_link') or node.get('tip_link') or sources.reported_tip,
        locked_joints=node.get('locked_joints', ''),
        tool_frames=node.get(TOOL_FRAMES.name, ''),
        trusted=bool(own.get('urdf') or own.get('robot_description')),
        xacro_args=own.get('xacro_args', '') if own.get('urdf') else '',
    )
