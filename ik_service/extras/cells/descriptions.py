"""Descriptions of the robots of a cell, with the prefixes of their arms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
import math
import os
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import numpy as np
import yaml

from ik_service.common.quoting import quote, suggested
from ik_service.exceptions import ArgumentError, IkServiceError, JointLimitsError
from ik_service.extras.cells.cell_file import ArmEntry, Cell, CellError, check_robots
from ik_service.model.description import is_xacro, load_text, read_description
from ik_service.model.groups.srdf import load_srdf_text, parse_srdf, read_srdf
from ik_service.model.joint_limits_file import load_joint_limits, parse_joint_limits
from ik_service.model.motion_bounds import MotionBounds
from ik_service.model.package_folders import own_package
from ik_service.model.robot_model import RobotModel
from ik_service.model.xacro_file import XacroArguments
from ik_service.sim.simulated_arm import fault_of_start


@dataclass(frozen=True, eq=False)
class DescribedArm:
    """
    Arm of a cell with its robot.

    :ivar robot: its links and joints, with their prefix.
    :ivar srdf: its SRDF, with the prefix; empty without one.
    :ivar T_world_root: (4, 4) pose of its root link in the world [m]; None where the root link is
        the world.
    :ivar joint_limits: limits of its joints, with the prefix, as the node's parameter takes them:
        a path or a text; empty for none.
    """

    entry: ArmEntry
    robot: RobotModel
    urdf: str
    srdf: str
    T_world_root: np.ndarray | None
    joint_limits: str

    @property
    def node_parameters(self) -> dict[str, object]:
        """Parameters of its IK node."""
        entry = self.entry
        links = {'base_link': entry.base_link, 'tip_link': entry.tip_link}
        return {
            **entry.parameters,
            **entry.connection.parameters,
            **({'joint_limits': self.joint_limits} if self.joint_limits else {}),
            **{key: f'{entry.prefix}{link}' for key, link in links.items() if link},
            **self._source,
            **({'robot_description_semantic': self.srdf} if self.srdf else {}),
        }

    @property
    def simulation_parameters(self) -> dict[str, object]:
        """Parameters of its simulated arm."""
        start = self.entry.initial_positions.items()
        positions = ', '.join(f'{self.entry.prefix}{name}={value!r}' for name, value in start)
        return {**self._source, **({'initial_positions': positions} if positions else {})}

    @property
    def _source(self) -> dict[str, str]:
        # A file where it will do: meshes may be named relative to it.
        entry, folders = self.entry, list(self.entry.package_dirs)
        if entry.prefix or is_xacro(entry.urdf):
            source = {'robot_description': self.urdf}
            folders += own_package(entry.urdf, self.urdf)  # which nobody can find around a text
        else:
            source = {'urdf': str(entry.urdf)}
        named = {'package_dirs': os.pathsep.join(map(str, folders))} if folders else {}
        return {**source, **named}


def describe(cell: Cell) -> tuple[DescribedArm, ...]:
    """Read the robots of a cell; raises CellError for what cannot be, or names that clash."""
    arms = tuple(_described(cell, arm) for arm in cell.arms)
    check_robots(cell, {arm.entry.name: arm.robot for arm in arms})
    return arms


def _fault(cell: Cell, arm: ArmEntry, key: str, error: IkServiceError) -> CellError:
    """Return the error that names a key of an arm, or that of the arguments of its files."""
    if isinstance(error, ArgumentError):
        return cell.error(arm.name, 'xacro_args', error.reason)
    return cell.error(arm.name, key, str(error))


def _described(cell: Cell, arm: ArmEntry) -> DescribedArm:
    given = XacroArguments(arm.xacro_args)
    try:
        text = load_text(arm.urdf, given, package_dirs=arm.package_dirs)
        urdf = prefixed_urdf(text, arm.prefix)
        robot = RobotModel.from_urdf_text(urdf)
    except IkServiceError as error:
        raise _fault(cell, arm, 'urdf', error) from error
    try:
        srdf = ''
        if arm.srdf is not None:
            srdf = load_srdf_text(arm.srdf, given, arm.package_dirs)
            srdf = prefixed_srdf(srdf, arm.prefix)
        given.check_asked()
    except IkServiceError as error:
        raise _fault(cell, arm, 'srdf', error) from error
    _check_names(cell, arm, robot)
    _check_start(cell, arm, robot)
    limits = _joint_limits(cell, arm, robot)
    return DescribedArm(arm, robot, urdf, srdf, _place(cell, arm, robot), limits)


def _joint_limits(cell: Cell, arm: ArmEntry, robot: RobotModel) -> str:
    """Return the limits of the joints, with the prefix, which the maker's file does not have."""
    path = str(arm.connection.parameters.get('joint_limits', ''))
    try:
        bounds = load_joint_limits(path)
        if not arm.prefix or any(name in robot.joints for name in bounds.joints):
            robot.with_limits(bounds)
            return path
        text = prefixed_joint_limits(bounds, arm.prefix)
        robot.with_limits(parse_joint_limits(text))
    except JointLimitsError as error:
        raise cell.error(arm.name, 'joint_limits', str(error)) from error
    return text if bounds.joints else path


def _check_names(cell: Cell, arm: ArmEntry, robot: RobotModel) -> None:
    links = [link.removeprefix(arm.prefix) for link in robot.links]
    tools = (name.split('.') for name in arm.parameters if name.startswith('tool_frames.'))
    known = {*links, *(parts[1].removeprefix(arm.prefix) for parts in tools)}
    for key, name in (('base_link', arm.base_link), ('tip_link', arm.tip_link)):
        if name and name not in known:
            reason = (
                f'the robot has no link {quote(name)} (without prefix); {suggested(name, links)}'
            )
            raise cell.error(arm.name, key, reason)
    joints = [joint.removeprefix(arm.prefix) for joint in robot.movable_joint_names]
    for name in arm.initial_positions:
        if name not in joints:
            reason = f'the robot has no such joint (without prefix); {suggested(name, joints)}'
            raise cell.error(arm.name, f'initial_positions.{name}', reason)


def _check_start(cell: Cell, arm: ArmEntry, robot: RobotModel) -> None:
    positions = {f'{arm.prefix}{name}': at for name, at in arm.initial_positions.items()}
    for name in arm.initial_positions:
        reason = fault_of_start(robot, f'{arm.prefix}{name}', positions)
        if reason:
            raise cell.error(arm.name, f'initial_positions.{name}', reason)


def _place(cell: Cell, arm: ArmEntry, robot: RobotModel) -> np.ndarray | None:
    """Return where an arm stands: as the file says, or as its own description does."""
    if robot.root_link != cell.world:
        if cell.world in robot.links:
            reason = f'its link {cell.world!r} has the name of the world; give the arm a prefix'
            raise cell.error(arm.name, 'prefix', reason)
        return np.eye(4) if arm.T_world_root is None else arm.T_world_root
    if arm.T_world_root is not None:
        reason = (
            f'its root link is {cell.world!r} itself, so its description places it; give the arm '
            'a prefix to place it here'
        )
        raise cell.error(arm.name, 'base', reason)
    return None


_URDF_NAMES: Mapping[str, tuple[str, ...]] = {
    'link': ('name',),
    'joint': ('name',),
    'joint/parent': ('link',),
    'joint/child': ('link',),
    'joint/mimic': ('joint',),
    'transmission': ('name',),
    'transmission/joint': ('name',),
    'transmission/actuator': ('name',),
    'gazebo': ('reference',),
    'sensor': ('name',),
    'sensor/parent': ('link',),
    'ros2_control': ('name',),
    'ros2_control/joint': ('name',),
    'ros2_control/sensor': ('name',),
    'ros2_control/gpio': ('name',),
    'ros2_control/transmission': ('name',),
    'ros2_control/transmission/joint': ('name',),
    'ros2_control/transmission/actuator': ('name',),
}
_URDF_TEXTS = ("ros2_control/joint/param[@name='mimic']",)
"""Names of joints that stand between the tags."""

_SRDF_NAMES: Mapping[str, tuple[str, ...]] = {
    'group/link': ('name',),
    'group/joint': ('name',),
    'group/passive_joint': ('name',),
    'group/chain': ('base_link', 'tip_link'),
    'group_state/joint': ('name',),
    'end_effector': ('parent_link',),
    'virtual_joint': ('name', 'child_link'),
    'passive_joint': ('name',),
    'disable_collisions': ('link1', 'link2'),
    'enable_collisions': ('link1', 'link2'),
    'disable_default_collisions': ('link',),
    'link_sphere_approximation': ('link',),
    'joint_property': ('joint_name',),
}


def prefixed_urdf(text: str, prefix: str) -> str:
    """Return URDF text with a prefix to all its names; raises UrdfError for bad text and xacro."""
    root = read_description(text).root
    if not prefix:
        return text
    _put(root, _URDF_NAMES, prefix)
    for path in _URDF_TEXTS:
        for element in root.iterfind(path):
            if element.text and element.text.strip():
                element.text = prefix + element.text.strip()
    return ElementTree.tostring(root, encoding='unicode')


def prefixed_srdf(text: str, prefix: str) -> str:
    """Return an SRDF with a prefix to the names of the robot's parts; groups keep their names."""
    parse_srdf(text)  # refused here already where it is malformed
    if not prefix:
        return text
    root = read_srdf(text).root
    _put(root, _SRDF_NAMES, prefix)
    return ElementTree.tostring(root, encoding='unicode')


def _put(root: Element, names: Mapping[str, tuple[str, ...]], prefix: str) -> None:
    for path, attributes in names.items():
        for element in root.iterfind(path):
            for attribute in attributes:
                value = element.get(attribute, '').strip()
                if value:
                    element.set(attribute, prefix + value)


def prefixed_joint_limits(bounds: MotionBounds, prefix: str) -> str:
    """Return limits of joints as YAML text, with a prefix to the names of the joints."""
    joints = {
        f'{prefix}{name}': {
            _LIMIT_NAMES[key]: value for key, value in asdict(own).items() if math.isfinite(value)
        }
        for name, own in bounds.joints.items()
    }
    scaling = {
        'default_velocity_scaling_factor': bounds.velocity_scaling,
        'default_acceleration_scaling_factor': bounds.acceleration_scaling,
    }
    return yaml.safe_dump({**scaling, 'joint_limits': joints})


_LIMIT_NAMES = {
    'lower': 'min_position',
    'upper': 'max_position',
    'velocity': 'max_velocity',
    'acceleration': 'max_acceleration',
    'jerk': 'max_jerk',
}
