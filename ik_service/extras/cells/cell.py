"""Cell of several arms, as its file describes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rclpy.expand_topic_name import expand_topic_name

from ik_service.extras.cells.cell_section import CellError
from ik_service.ros.common.bringup import Connection, NODE_NAME

SIMULATED = ('joint_command', 'joint_trajectory')
"""Command interfaces that a simulated arm takes."""


@dataclass(frozen=True, eq=False)
class ArmEntry:
    """
    Arm of a cell, as its file describes it.

    :ivar name: its name.
    :ivar namespace: absolute namespace of its nodes, such as ``/left``.
    :ivar prefix: what its links and joints are called with, such as ``left_``.
    :ivar urdf: its URDF or xacro file.
    :ivar xacro_args: arguments of a xacro file by name.
    :ivar package_dirs: more folders in which the packages lie that meshes and xacro files name.
    :ivar srdf: its SRDF file; None without one.
    :ivar base_link: where its chain starts, without prefix; empty for the node's default.
    :ivar tip_link: where its chain ends, without prefix; empty for the node's default.
    :ivar T_world_root: (4, 4) pose of its root link [m]; None where the file gives none.
    :ivar simulate: whether it is a simulated one.
    :ivar initial_positions: where the simulated arm starts [rad] or [m], by joint without prefix.
    :ivar connection: how its node is connected with the arm.
    :ivar parameters: further parameters of its node.
    """

    name: str
    namespace: str
    prefix: str
    urdf: Path
    xacro_args: Mapping[str, str]
    package_dirs: tuple[Path, ...]
    srdf: Path | None
    base_link: str
    tip_link: str
    T_world_root: np.ndarray | None
    simulate: bool
    initial_positions: Mapping[str, float]
    connection: Connection
    parameters: Mapping[str, object]

    def resolved(self, name: str) -> str:
        """
        Return the absolute name of a topic or an action of the arm's node.

        :param name: the name in the node, before it is remapped.
        :raises ValueError: it is remapped to what is no name.
        """
        renamed = dict(self.connection.remappings).get(name, name)
        return expand_topic_name(renamed, NODE_NAME, self.namespace)

    @property
    def command_interface(self) -> str:
        """The command interface: the topic of its commands before it is remapped."""
        return str(self.connection.parameters.get('command_interface', SIMULATED[0]))


@dataclass(frozen=True)
class Cell:
    """
    Cell of several arms.

    :ivar file: its file.
    :ivar world: the frame that its arms stand in.
    :ivar processes: over how many processes its arms are spread.
    :ivar frame_rate: how often the frames of its links are published [Hz].
    :ivar arms: its arms.
    """

    file: Path
    world: str
    processes: int
    frame_rate: float
    arms: tuple[ArmEntry, ...]

    def error(self, arm: str, key: str, reason: str) -> CellError:
        """
        Return an error about the file.

        :param arm: name of the arm; empty for the whole cell.
        :param key: the key at fault.
        :param reason: what is wrong.
        """
        return CellError(self.file, arm, key, reason)
