"""
Links and joints of URDF text, read within bounds (:mod:`ik_service.model.bounded_xml`).

Only the elements that describe kinematics are kept.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ik_service.exceptions import UrdfError
from ik_service.model.bounded_xml import BoundedXmlReader
from ik_service.model.part_names import named

MAX_LINKS = 2048
"""Most links, and most joints."""

_JOINT_PARTS = frozenset({'origin', 'parent', 'child', 'axis', 'limit', 'mimic'})


@dataclass
class RawElement:
    """
    A link or a joint, or a part of one, as it stands in the XML text.

    :ivar tag: the tag.
    :ivar attributes: the attributes' unparsed text.
    :ivar line: line of the start tag, from 1.
    :ivar parts: a joint's child elements by tag; each tag stands there at most once.
    """

    tag: str
    attributes: dict[str, str]
    line: int
    parts: dict[str, RawElement] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """Name of the element for messages, by its line where it has no name."""
        name = self.attributes.get('name', '')
        return named(self.tag, name) if name else f'<{self.tag}> at line {self.line}'


@dataclass
class RawRobot:
    """
    The links and joints of a robot description, in document order.

    :ivar root: the ``<robot>`` element.
    """

    root: RawElement
    links: list[RawElement] = field(default_factory=list)
    joints: list[RawElement] = field(default_factory=list)


def read_elements(text: str) -> RawRobot:
    """
    Read the links and joints of an XML text within fixed bounds of time and memory.

    :param text: XML text with a ``<robot>`` root; a declared encoding is ignored.
    :raises UrdfError: it is not well-formed, exceeds a bound, declares a document type, is not a
        robot, or is a xacro macro file.
    """
    reader = _Reader()
    reader.feed(text)
    return reader.robot


class _Reader(BoundedXmlReader):
    """
    Collector of links and joints.

    :ivar robot: what was read.
    """

    def __init__(self) -> None:
        super().__init__(UrdfError, 'a URDF', 'the robot description')
        self.robot = RawRobot(RawElement('', {}, 0))
        self._joint: RawElement | None = None

    def keep(self, depth: int, tag: str, attributes: dict[str, str]) -> None:
        """Keep a link, a joint, or a part of one."""
        element = RawElement(tag, attributes, self.line)
        if depth == 1:
            self.robot.root = element
        elif depth == 2 and tag == 'link':
            self._append(self.robot.links, element)
        elif depth == 2 and tag == 'joint':
            self._append(self.robot.joints, element)
            self._joint = element
        elif depth == 3 and self._joint is not None and tag in _JOINT_PARTS:
            if tag in self._joint.parts:
                raise UrdfError(f'more than one <{tag}>', self._joint.label)
            self._joint.parts[tag] = element

    def closed(self, depth: int) -> None:
        """Forget the joint that has ended."""
        if depth == 1:
            self._joint = None

    def _append(self, members: list[RawElement], element: RawElement) -> None:
        members.append(element)
        if len(members) > MAX_LINKS:
            raise self.error(f'more than {MAX_LINKS} {element.tag}s')
