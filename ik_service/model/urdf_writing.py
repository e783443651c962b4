"""
Descriptions written anew: as the robot is in use, a part of it, or with a prefix to its names.

A prefix lets several arms share one tree of frames. Names that have to differ between arms of one
world get it: links, joints, transmissions, actuators, sensors and hardware interfaces. Names of
materials, planning groups and named states stay as they are. So does the content of plugins, whose
meaning only the plugins know.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from ik_service.common.transforms import rpy_from_rotation
from ik_service.model.description import read_description
from ik_service.model.groups.srdf import parse_srdf, read_srdf
from ik_service.model.joint import Joint
from ik_service.model.robot_model import RobotModel


def whole_urdf(robot: RobotModel) -> str:
    """
    Return the URDF text of a robot, with its tool frames as links on fixed joints.

    :param robot: a robot that was read from a URDF.
    """
    root = robot.description.copied_root()
    written = {(element.tag, element.get('name', '')) for element in root}
    added = [*_tool_joints(robot.joints.values(), written)]
    if not added:
        return robot.urdf_text
    for joint in added:
        root.append(Element('link', name=joint.child))
        root.append(_fixed_joint(joint))
    return ElementTree.tostring(root, encoding='unicode')


def partial_urdf(robot: RobotModel, name: str, base_link: str, tip_links: Iterable[str]) -> str:
    """
    Return the URDF text of the part of a robot between a base and tips.

    It holds the joints on the path, the links below them as they are described, and the link above
    them by its name only. A joint that mimics one outside of the part moves on its own there.

    :param robot: a robot that was read from a URDF.
    :param name: name of the new robot.
    :param base_link: link where the paths start.
    :param tip_links: links where they end.
    :raises UnknownLinkError: there is no such link.
    """
    paths = (robot.path(base_link, tip) for tip in tip_links)
    joints = list({joint.name: joint for path in paths for joint, _ in path}.values())
    described = robot.description.copied_root()
    elements = {(element.tag, element.get('name', '')): element for element in described}
    root = Element('robot', {**described.attrib, 'name': name})
    root.extend(described.iterfind('material'))
    children = {joint.child for joint in joints}
    links = dict.fromkeys(link for joint in joints for link in (joint.parent, joint.child))
    for link in links:
        element = elements.get(('link', link))
        if link not in children:
            root.append(Element('link', name=link))
        elif element is not None:  # those within a planar or floating joint are not written
            root.append(element)
    names = dict.fromkeys(_written_name(joint, elements) for joint in joints)
    root.extend(elements['joint', joint] for joint in names if ('joint', joint) in elements)
    for joint in _tool_joints(joints, elements):
        root.append(Element('link', name=joint.child))
        root.append(_fixed_joint(joint))
    _free_mimics(root, set(names))
    return ElementTree.tostring(root, encoding='unicode')


def _written_name(joint: Joint, written: Container[tuple[str, str]]) -> str:
    """Return the name of a joint in the text: planar and floating ones were expanded."""
    if joint.movable and ('joint', joint.name) not in written:
        return joint.name.rpartition('/')[0]
    return joint.name


def _tool_joints(joints: Iterable[Joint], written: Container[tuple[str, str]]) -> Iterator[Joint]:
    """Yield the joints of tool frames, which are fixed and not in the text."""
    for joint in joints:
        if not joint.movable and ('joint', joint.name) not in written:
            yield joint


def _fixed_joint(joint: Joint) -> Element:
    element = Element('joint', name=joint.name, type='fixed')
    T = joint.T_parent_joint
    numbers = {'xyz': T[:3, 3].tolist(), 'rpy': rpy_from_rotation(T[:3, :3])}
    SubElement(element, 'parent', link=joint.parent)
    SubElement(element, 'child', link=joint.child)
    SubElement(
        element, 'origin', {key: ' '.join(map(repr, triple)) for key, triple in numbers.items()}
    )
    return element


def _free_mimics(root: Element, names: set[str]) -> None:
    """Remove mimics of joints that are not among some."""
    for joint in root.iterfind('joint'):
        for mimic in joint.findall('mimic'):
            if mimic.get('joint') not in names:
                joint.remove(mimic)


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
