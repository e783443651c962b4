"""
Descriptions written anew: as the robot is in use, a part of it, or with a prefix to its names.

A prefix lets several arms share one tree of frames. Names that have to differ between arms of one
world get it: links, joints, transmissions, actuators, sensors and hardware interfaces. Names of
materials, planning groups and named states stay as they are. So does the content of plugins, whose
meaning only the plugins know.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from ik_service.common.transforms import rpy_from_rotation
from ik_service.model.joint import Joint
from ik_service.model.robot_model import RobotModel


def whole_urdf(robot: RobotModel) -> str:
    """Return the URDF text of a robot, with its tool frames as links on fixed joints."""
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
