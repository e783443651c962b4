"""From a robot description to an arm."""

from __future__ import annotations

import os

from ik_service.model.robot import Robot
from ik_service.ros.arm import Arm, ArmSettings


def build_arm(urdf: str, settings: ArmSettings) -> Arm:
    """
    Build an arm from a robot description.

    :param urdf: URDF text, or the path of a file; a leading ``~`` is the home folder.
    :raises UrdfError: the file cannot be read, or the description is malformed.
    :raises IkServiceError: the settings do not go with the robot.
    """
    return Arm(Robot.from_urdf(os.path.expanduser(urdf)), settings)
