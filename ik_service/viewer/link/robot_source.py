"""Which robot is to be shown, from all that is known of it."""

from __future__ import annotations

from dataclasses import dataclass

from ik_service.arm.arm import ArmSettings
from ik_service.arm.loader import Source, source_of
from ik_service.common.number_parsing import parse_positions


@dataclass(frozen=True)
class RobotClues:
    """
    What tells of a robot; all texts are empty where nothing is known.

    :ivar own: parameters of the viewer: ``urdf``, ``robot_description``, ``base_link``,
        ``tip_link``; they win.
    :ivar node: the same parameters of the IK node, and its ``locked_joints``.
    :ivar topic: the text that came on the topic ``robot_description``.
    :ivar reported_base: the base link that the node's diagnostics name.
    :ivar reported_tip: the tip link that they name.
    """

    own: tuple[tuple[str, str], ...] = ()
    node: tuple[tuple[str, str], ...] = ()
    topic: str = ''
    reported_base: str = ''
    reported_tip: str = ''


@dataclass(frozen=True)
class RobotChoice:
    """
    A robot to show.

    :ivar source: its URDF, as text or as the path of a file.
    :ivar base_link: where its chain starts; empty for the root.
    :ivar tip_link: where it ends; empty for the only leaf.
    :ivar locked_joints: joints that do not move, as the node's parameter gives them.
    :ivar trusted: whether the viewer's own parameters name the source; others may name files too,
        but none that would be run, see :func:`~ik_service.arm.loader.read_robot`.
    """

    source: Source
    base_link: str
    tip_link: str
    locked_joints: str
    trusted: bool = False

    def settings(self) -> ArmSettings:
        """
        Return what makes an arm of the robot.

        :raises IkServiceError: the list of locked joints cannot be read.
        """
        locked = parse_positions(self.locked_joints, 'locked_joints')
        return ArmSettings(self.base_link, self.tip_link, locked)


def choose_robot(clues: RobotClues) -> RobotChoice | None:
    """Return the robot to show; None while too little is known."""
    own, node = dict(clues.own), dict(clues.node)
    given = ((told.get('urdf', ''), told.get('robot_description', '')) for told in (own, node))
    urdf, text = next((pair for pair in given if any(pair)), ('', clues.topic))
    if not urdf and not text:
        return None
    return RobotChoice(
        source=source_of(urdf, text),
        base_link=own.get('base_link') or node.get('base_link') or clues.reported_base,
        tip_link=own.get('tip_link') or node.get('tip_link') or clues.reported_tip,
        locked_joints=node.get('locked_joints', ''),
        trusted=bool(own.get('urdf') or own.get('robot_description')),
    )
