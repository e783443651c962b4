"""
Prefix of the names in a robot description, so that several arms share one tree of frames.

Names that have to differ between arms of one world get the prefix: links, joints, transmissions,
actuators, sensors and hardware interfaces. Names of materials, planning groups and named states
stay as they are. So does the content of plugins, whose meaning only the plugins know.
"""

from __future__ import annotations

from collections.abc import Mapping
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from ik_service.model.description import read_description
from ik_service.model.groups.srdf import parse_srdf, read_srdf

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
