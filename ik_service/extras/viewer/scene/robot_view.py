"""Robot to show: its choice among the known descriptions, its kinematics and visible parts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
import math
import os
from pathlib import Path

import numpy as np

from ik_service.arm.arm import Arm, ArmSettings
from ik_service.arm.loader import build_arm, Source, source_of, srdf_source
from ik_service.common.arguments import parse_positions
from ik_service.common.quoting import listed
from ik_service.exceptions import SrdfError
from ik_service.extras.viewer.link.task_queue import LimitedLog
from ik_service.extras.viewer.scene.parts import (
    collision_parts,
    DrawnPart,
    MeshLoader,
    read_visuals,
    robot_parts,
)
from ik_service.kinematics.joint_space import joint_speeds
from ik_service.model.description import is_xacro, is_xacro_text
from ik_service.model.package_folders import parse_package_dirs
from ik_service.model.xacro_file import parse_xacro_args
from ik_service.ros.node.parameter_table import TOOL_FRAMES, tool_frames_of


@dataclass(frozen=True)
class RobotSources:
    """
    Known descriptions of the robot; texts are empty where nothing is known.

    :ivar own: parameters of the viewer: ``urdf``, ``robot_description``, ``xacro_args``,
        ``package_dirs``, ``srdf``, ``robot_description_semantic``, ``base_link``, ``tip_link``;
        they have precedence.
    :ivar node: the same parameters of the IK node, its ``locked_joints`` and ``tool_frames``.
    :ivar served: the text that the IK node answers ``get_urdf`` with, where the viewer must not or
        cannot read the files they name; empty until it comes, None where it is not needed.
    """

    own: tuple[tuple[str, str], ...] = ()
    node: tuple[tuple[str, str], ...] = ()
    served: str | None = None
    topic: str = ''
    semantic_topic: str = ''
    reported_base: str = ''
    reported_tip: str = ''


@dataclass(frozen=True)
class RobotSelection:
    """
    Robot to show.

    :ivar source: its URDF, as text or as the path of a file.
    :ivar base_link: base link of the chain; empty for the root.
    :ivar tip_link: tip link of the chain; empty for that of the first group, or the tool or last
        link.
    :ivar locked_joints: joints that do not move, as the node's parameter gives them.
    :ivar xacro_args: arguments of a xacro file, as the viewer's own parameter gives them.
    :ivar tool_frames: further links of the robot, as the node's parameter gives them.
    :ivar trusted: whether the viewer's own parameters name the source; others may name files too,
        but none that would be run, see :func:`~ik_service.arm.loader.read_robot`.
    :ivar file: the file that a text was made from, beside which meshes are searched; else None.
    :ivar srdf: its SRDF, as text or as the path of a file; empty without one.
    """

    source: Source
    base_link: str
    tip_link: str
    locked_joints: str
    trusted: bool = False
    xacro_args: str = ''
    tool_frames: str = ''
    srdf: Source = ''
    srdf_trusted: bool = False
    package_dirs: str = ''
    file: Path | None = None

    def settings(self) -> ArmSettings:
        """Return the settings of the arm; IkServiceError for unreadable joints or frames."""
        locked = parse_positions(self.locked_joints, 'locked_joints')
        tools = tool_frames_of({TOOL_FRAMES.name: self.tool_frames})
        return ArmSettings(self.base_link, self.tip_link, locked, tool_frames=tools)


def select_robot(sources: RobotSources) -> RobotSelection | None:
    """Return the robot to show; None while no description is known."""
    own, node = dict(sources.own), dict(sources.node)
    urdf, text = _given(own, node, 'urdf', 'robot_description') or ('', sources.topic)
    # Text from the topic is never a path.
    srdf = _given(own, node, 'srdf', 'robot_description_semantic')
    trusted = bool(own.get('urdf') or own.get('robot_description'))
    served = None if trusted else sources.served
    if served is not None:
        urdf, text = '', served
    if not urdf and not text:
        return None
    return RobotSelection(
        source=source_of(urdf, text),
        base_link=own.get('base_link') or node.get('base_link') or sources.reported_base,
        tip_link=own.get('tip_link') or node.get('tip_link') or sources.reported_tip,
        locked_joints=node.get('locked_joints', ''),
        tool_frames=node.get(TOOL_FRAMES.name, '') if served is None else '',  # in that text
        trusted=trusted,
        xacro_args=own.get('xacro_args', '') if own.get('urdf') else '',
        srdf=sources.semantic_topic if srdf is None else srdf_source(*srdf),
        srdf_trusted=bool(own.get('srdf') or own.get('robot_description_semantic')),
        package_dirs=own.get('package_dirs') or node.get('package_dirs', ''),
        file=None if served is None or not node.get('urdf') else _path(node['urdf']),
    )


def needs_service(node: Mapping[str, str]) -> bool:
    """Whether only the node can tell its URDF: it is xacro, or no file of this machine."""
    if node.get('urdf'):
        file = _path(node['urdf'])
        return is_xacro(file) or not file.is_file()
    return is_xacro_text(node.get('robot_description', ''))


def _path(name: str) -> Path:
    return Path(os.path.expanduser(name))


def _given(
    own: Mapping[str, str], node: Mapping[str, str], path: str, text: str
) -> tuple[str, str] | None:
    """Return the path and the text that parameters give; None when they give neither."""
    pairs = ((known.get(path, ''), known.get(text, '')) for known in (own, node))
    return next((pair for pair in pairs if any(pair)), None)


_ENDLESS = 3.0  # size of an arm on an endless rail [m]
_SMALLEST, _LARGEST = 1e-3, 1e4  # of sizes: a tip may stay where it is [m]


@dataclass(frozen=True)
class RobotView:
    """Robot to show: reach [m], speeds (n,) of the chain's joints, and faults as remarks."""

    arm: Arm
    parts: tuple[DrawnPart, ...]
    size: float
    speeds: np.ndarray
    collision_parts: tuple[DrawnPart, ...] = ()
    remarks: tuple[str, ...] = ()


def build_robot_view(selection: RobotSelection, report: Callable[[str], object]) -> RobotView:
    """Read a robot and compile its kinematics, in seconds; report parts that cannot be shown."""
    limited = LimitedLog(report)  # a description may hold thousands of faults
    arm = _build_arm(selection, limited)
    visuals, warnings = read_visuals(arm.robot.description)
    for warning in (*arm.robot.remarks, *warnings):
        limited(warning)
    reach = float(arm.chain.arrays.reach[3])
    size = min(max(reach, _SMALLEST), _LARGEST) if math.isfinite(reach) else _ENDLESS
    loader = MeshLoader(arm.robot.source, limited, arm.robot.package_dirs, size)
    parts = robot_parts(arm.robot, visuals, loader)
    solid = collision_parts(arm.robot, loader)
    boxes = [
        f'Drawn as a box: {listed(names)}. The mesh {why}' for why, names in loader.faults.items()
    ]
    remarks = (*boxes, *warnings, *arm.robot.remarks)
    q = arm.chain.mid_range()
    arm.chain.forward(q)  # compiles it
    arm.chain.jacobian(q)
    return RobotView(arm, parts, size, joint_speeds(arm.chain), solid, remarks)


def _build_arm(selection: RobotSelection, report: Callable[[str], object]) -> Arm:
    """Build the arm; without its planning groups where others describe them wrongly."""
    build = partial(
        build_arm,
        selection.source,
        selection.settings(),
        selection.trusted,
        parse_xacro_args(selection.xacro_args),
        package_dirs=parse_package_dirs(selection.package_dirs),
        file=selection.file,
    )
    try:
        return build(srdf=selection.srdf, srdf_trusted=selection.srdf_trusted)
    except SrdfError as error:
        if selection.srdf_trusted:
            raise
        report(f'the group states of the SRDF are not known: {error}')
    return build()
