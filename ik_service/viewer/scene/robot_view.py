"""A robot, ready to be shown and measured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
import math
import threading

import numpy as np

from ik_service.arm.arm import Arm
from ik_service.arm.loader import build_arm
from ik_service.following.settings import joint_speeds
from ik_service.viewer.link.robot_source import RobotChoice
from ik_service.viewer.scene.meshes import MeshLibrary
from ik_service.viewer.scene.parts import Part, robot_parts
from ik_service.viewer.scene.visuals import read_look
from ik_service.viewer.server.once import OnceEach

_LARGEST = 3.0  # size of an arm on an endless rail [m]


@dataclass(frozen=True)
class RobotView:
    """
    A robot.

    :ivar arm: its kinematics.
    :ivar parts: what it is drawn as.
    :ivar size: how far its tip can reach, about [m].
    :ivar speeds: (n,) largest speeds of the chain's joints [rad/s] or [m/s].
    """

    arm: Arm
    parts: tuple[Part, ...]
    size: float
    speeds: np.ndarray

    def tip_pose(self, q: np.ndarray) -> np.ndarray:
        """Return T_base_tip (4, 4) at the chain's joints q (n,) [rad] or [m]."""
        return self.arm.chain.forward(q)


def build_robot_view(choice: RobotChoice, report: Callable[[str], object]) -> RobotView:
    """
    Read and compile all that is needed to show a robot; takes seconds.

    :param choice: which robot.
    :param report: called with a sentence about each thing that cannot be shown.
    :raises IkServiceError: the robot makes no arm.
    """
    arm = build_arm(choice.source, choice.settings(), choice.trusted)
    report = OnceEach(report)  # a description may hold thousands of faults
    look = read_look(arm.robot.urdf_text)
    for complaint in look.complaints:
        report(complaint)
    parts = robot_parts(arm.robot, look, MeshLibrary(arm.robot.source, report))
    q = arm.chain.mid_range()
    arm.chain.forward(q), arm.chain.jacobian(q)  # compiles them
    reach = float(arm.chain.arrays.reach[3])
    return RobotView(arm, parts, _size(reach), joint_speeds(arm.chain))


def load_in_background(
    choice: RobotChoice,
    report: Callable[[str], object],
    on_loaded: Callable[[RobotChoice, RobotView], object],
    on_refused: Callable[[RobotChoice, Exception], object],
) -> None:
    """Build a view in a thread of its own, in which the callbacks are called."""

    def work() -> None:
        try:
            view = build_robot_view(choice, report)
        except Exception as error:  # a description may be anything
            on_refused(choice, error)
        else:
            on_loaded(choice, view)

    threading.Thread(target=work, name='robot', daemon=True).start()


def _size(reach: float) -> float:
    return min(max(reach, 0.05), _LARGEST) if math.isfinite(reach) else _LARGEST
