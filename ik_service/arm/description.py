"""From a robot description to an arm."""

from __future__ import annotations

import os
from pathlib import Path

from ik_service.arm.arm import Arm, ArmSettings
from ik_service.exceptions import UrdfError
from ik_service.model.part_names import named
from ik_service.model.xacro_file import is_xacro
from ik_service.robot import Robot

Source = str | Path
"""Where a robot is described: a string is URDF text, never a path; a path names its file."""


def source_of(urdf: str, robot_description: str) -> Source:
    """
    Return what two parameters name.

    :param urdf: path of a file, where a leading ``~`` is the home folder; wins unless empty.
    :param robot_description: URDF text.
    """
    # Not Path.expanduser, which raises for a user that there is not.
    return Path(os.path.expanduser(urdf)) if urdf else robot_description


def read_robot(source: Source, trusted: bool = True) -> Robot:
    """
    Read a robot.

    :param source: URDF text, or the path of a URDF or xacro file.
    :param trusted: whether the user of this program has named the source himself; a xacro file,
        which is a program, is run only then.
    :raises UrdfError: the file cannot be read, or the description is malformed.
    :raises MissingExtraError: the file is a xacro file, and xacro is not installed.
    """
    if isinstance(source, Path):
        if is_xacro(source) and not trusted:
            raise UrdfError(
                'a xacro file that another program names is not expanded; name it in the '
                'parameter urdf of this one',
                named('file', str(source)),
            )
        return Robot.from_urdf(source)
    if source.strip() and '<' not in source:
        raise UrdfError(
            'no XML; the text of a URDF is needed here, and the path of its file in the '
            'parameter urdf',
            named('robot_description', source),
        )
    return Robot.from_urdf_text(source)


def build_arm(source: Source, settings: ArmSettings, trusted: bool = True) -> Arm:
    """
    Build an arm from a robot description.

    :param source: URDF text, or the path of a URDF or xacro file.
    :param settings: what makes an arm of the robot.
    :param trusted: as for :func:`read_robot`.
    :raises UrdfError: the file cannot be read, or the description is malformed.
    :raises IkServiceError: the settings do not go with the robot.
    """
    return Arm(read_robot(source, trusted), settings)
