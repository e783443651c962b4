"""
The parsed text of a URDF: the only tree from which anything about a robot is read.

Kinematics (:mod:`~ik_service.model.urdf`), shapes (:mod:`~ik_service.model.geometry`), inertias
and prefixes all come from it, so they cannot differ about what the text says.
"""

from __future__ import annotations

from collections.abc import Iterator
import copy
from dataclasses import dataclass
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from ik_service.exceptions import UrdfError
from ik_service.model.bounded_xml import read_xml, XmlDocument

_OWN = frozenset({'link', 'joint', 'material'})


@dataclass(frozen=True, eq=False)
class RobotDescription(XmlDocument):
    """
    Tree of the elements of a URDF. Shared by all readers: not to be changed.

    Elements of links, joints and materials stand under their plain names, whatever namespace or
    prefix they have; the content of others, such as ``<gazebo>``, is as it was written.
    """

    def elements_of_links(self, tag: str) -> Iterator[tuple[str, Element]]:
        """
        Yield each element of a kind with the name of its link, in document order.

        :param tag: ``visual`` or ``collision``.
        """
        for link in self.root.iterfind('link'):
            name = link.get('name') or self.label(link)
            for element in link.iterfind(tag):
                yield name, element

    def copied_root(self) -> Element:
        """Return a copy of the tree, to be changed."""
        return copy.deepcopy(self.root)

    @property
    def shapes(self) -> int:
        """Number of ``<collision>`` elements that the text holds, by a count of its own."""
        return self.parts.get('link/collision', 0)

    @property
    def text(self) -> str:
        """The URDF text with plain names, for readers that do not know namespaces."""
        return ElementTree.tostring(self.root, encoding='unicode')


def read_description(text: str) -> RobotDescription:
    """
    Read the text of a URDF.

    :param text: URDF text.
    :raises UrdfError: the text is malformed, hostile, or xacro.
    """
    read = read_xml(text, UrdfError, 'a URDF', 'the robot description', _OWN)
    return RobotDescription(read.root, read.lines, read.parts, read.remarks)
