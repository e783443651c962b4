"""Descriptions of an arm with a prefix to its names: URDF, SRDF and limits of joints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
import math
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import yaml

from ik_service.model.description import read_description
from ik_service.model.groups.srdf import parse_srdf, read_srdf
from ik_service.model.motion_bounds import MotionBounds

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
    """
    Return a URDF with a prefix to the names of its parts.

    :param text: URDF text; xacro is expanded before.
    :param prefix: the prefix, such as ``left_``; empty for none.
    :raises UrdfError: the text is malformed, hostile, or xacro.
    """
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
    """
    Return an SRDF for a robot whose names have got a prefix; its groups keep their names.

    :param text: SRDF text.
    :param prefix: as for :func:`prefixed_urdf`.
    :raises SrdfError: the text is malformed or hostile.
    """
    parse_srdf(text)  # refused here already where it is malformed
    if not prefix:
        return text
    root = read_srdf(text).root
    _put(root, _SRDF_NAMES, prefix)
    return ElementTree.tostring(root, encoding='unicode')


def _put(root: Element, names: Mapping[str, tuple[str, ...]], prefix: str) -> None:
    """Put the prefix before attributes of the elements at some paths."""
    for path, attributes in names.items():
        for element in root.iterfind(path):
            for attribute in attributes:
                value = element.get(attribute, '').strip()
                if value:
                    element.set(attribute, prefix + value)


def prefixed_joint_limits(bounds: MotionBounds, prefix: str) -> str:
    """
    Return limits of joints as YAML text, with a prefix to the names of the joints.

    :param bounds: the limits.
    :param prefix: as for :func:`prefixed_urdf`.
    """
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
