"""Kinematics, visible parts and size of the robot that is shown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
import math
import threading

import numpy as np

from ik_service.arm.arm import Arm
from ik_service.arm.loader import build_arm
from ik_service.common.quoting import listed
from ik_service.exceptions import SrdfError
from ik_service.extras.viewer.link.robot_source import RobotSelection
from ik_service.extras.viewer.link.task_queue import LimitedLog
from ik_service.extras.viewer.scene.meshes import MeshLoader
from ik_service.extras.viewer.scene.parts import collision_parts, Part, read_visuals, robot_parts
from ik_service.kinematics.joint_space import joint_speeds
from ik_service.model.package_folders import parse_package_dirs
from ik_service.model.xacro_file import parse_xacro_args

_LARGEST = 3.0  # size of an arm on an endless rail [m]


@dataclass(frozen=True)
class RobotView:
    """
    Robot to show.

    :ivar size: approximate reach of its tip [m].
    :ivar speeds: (n,) largest speeds of the chain's joints [rad/s] or [m/s].
    :ivar remarks: what of the description is not used or not drawn as described, and why.
    """

    arm: Arm
    parts: tuple[Part, ...]
    size: float
    speeds: np.ndarray
    collision_parts: tuple[Part, ...] = ()
    remarks: tuple[str, ...] = ()

    def tip_pose(self, q: np.ndarray) -> np.ndarray:
        """
        Return T_base_tip (4, 4) [m].

        :param q: (n,) positions of the chain's joints [rad] or [m].
        """
        return self.arm.chain.forward(q)


def build_robot_view(selection: RobotSelection, report: Callable[[str], object]) -> RobotView:
    """
    Read a robot and compile its kinematics; takes seconds.

    :param report: called with a sentence about each part that cannot be shown.
    :raises IkServiceError: the description or the chain is faulty.
    """
    limited = LimitedLog(report)  # a description may hold thousands of faults
    arm = _build_arm(selection, limited)
    visuals = read_visuals(arm.robot.description)
    for warning in (*arm.robot.remarks, *visuals.warnings):
        limited(warning)
    loader = MeshLoader(arm.robot.source, limited, arm.robot.package_dirs)
    parts = robot_parts(arm.robot, visuals, loader)
    solid = collision_parts(arm.robot, loader)
    boxes = [
        f'Drawn as a box: {listed(names)}. The mesh {why}' for why, names in loader.faults.items()
    ]
    remarks = (*boxes, *visuals.warnings, *arm.robot.remarks)
    q = arm.chain.mid_range()
    arm.chain.forward(q)  # compiles it
    arm.chain.jacobian(q)
    reach = float(arm.chain.arrays.reach[3])
    return RobotView(arm, parts, _size(reach), joint_speeds(arm.chain), solid, remarks)


def load_in_background(
    selection: RobotSelection,
    report: Callable[[str], object],
    on_loaded: Callable[[RobotSelection, RobotView], object],
    on_failed: Callable[[RobotSelection, Exception], object],
) -> None:
    """
    Build a view in a thread of its own, in which the callbacks are called.

    :param report: called with a sentence about each part that cannot be shown.
    """

    def work() -> None:
        try:
            view = build_robot_view(selection, report)
        except Exception as error:  # a description may be anything
            on_failed(selection, error)
        else:
            on_loaded(selection, view)

    threading.Thread(target=work, name='robot', daemon=True).start()


def _build_arm(selection: RobotSelection, report: Callable[[str], object]) -> Arm:
    """Build the arm; without its planning groups where others describe them wrongly."""
    settings, trusted, srdf = selection.settings(), selection.trusted, selection.srdf
    source, xacro_args = selection.source, parse_xacro_args(selection.xacro_args)
    folders = parse_package_dirs(selection.package_dirs)
    try:
        return build_arm(
            source,
            settings,
            trusted,
            xacro_args,
            srdf,
            selection.srdf_trusted,
            package_dirs=folders,
            file=selection.file,
        )
    except SrdfError as error:
        if selection.srdf_trusted:
            raise
        report(f'the group states of the SRDF are not known: {error}')
    return build_arm(
        source, settings, trusted, xacro_args, package_dirs=folders, file=selection.file
    )


def _size(reach: float) -> float:
    return min(max(reach, 0.05), _LARGEST) if math.isfinite(reach) else _LARGEST
