"""
Bounded reading of URDF text, safe against hostile input.

A URDF may come from anywhere: a file, a parameter, a latched topic. Before any XML library builds
a tree of it, one streaming pass bounds its size, depth and number of elements, refuses every
document type declaration (and with it all entities, so nothing is expanded and no other file is
read), and keeps only the elements that describe kinematics.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from xml.parsers import expat

from ik_service.exceptions import UrdfError
from ik_service.model.part_names import named

MAX_BYTES = 16 * 2**20
"""Longest robot description that is read [byte]."""
MAX_DEPTH = 200
"""Deepest nesting of XML elements; a URDF needs about six levels."""
MAX_ITEMS = 200_000
"""Most XML elements and attributes together."""
MAX_TAG_BYTES = 2**18
"""Longest single tag or comment [byte]."""
MAX_LINKS = 2048
"""Most links, and most joints."""

EMPTY = 'the robot description is empty'
_TOO_LONG = f'the robot description is longer than {MAX_BYTES // 2**20} MiB'
_CHUNK_BYTES = 2**16
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
    if len(text) > MAX_BYTES:
        raise UrdfError(_TOO_LONG)
    if not text.strip():
        raise UrdfError(EMPTY)
    if '\0' in text:
        # Expat would take the text for UTF-16 when a NUL stands at its start.
        line = text.count('\n', 0, text.index('\0')) + 1
        raise UrdfError('a NUL character is not allowed', f'line {line}')
    try:
        data = text.encode('utf-8')
    except UnicodeEncodeError as error:
        raise UrdfError(f'not Unicode text (character {error.start})') from error
    if len(data) > MAX_BYTES:
        raise UrdfError(_TOO_LONG)
    # An XML declaration must come first, but text in a program often starts with a new line.
    stripped = data.lstrip()
    return _Reader(data[: len(data) - len(stripped)].count(b'\n')).read(stripped)


class _Reader:
    """Expat handlers that check and collect elements in one streaming pass."""

    def __init__(self, skipped_lines: int) -> None:
        self._skipped_lines = skipped_lines
        # The text was encoded here: whatever encoding it declares, these bytes are UTF-8.
        self._parser = expat.ParserCreate('utf-8')
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.StartDoctypeDeclHandler = self._refuse_doctype
        self._depth = 0
        self._items = 0
        self._robot = RawRobot(RawElement('', {}, 0))
        self._joint: RawElement | None = None

    def read(self, data: bytes) -> RawRobot:
        try:
            for start in range(0, len(data), _CHUNK_BYTES):
                chunk = data[start : start + _CHUNK_BYTES]
                self._parser.Parse(chunk, False)
                # What the parser holds back is one unfinished tag. It is bounded here because the
                # handlers see a tag only after a million attributes would have been collected.
                if start + len(chunk) - self._parser.CurrentByteIndex > MAX_TAG_BYTES:
                    raise self._error(f'a tag or comment longer than {MAX_TAG_BYTES} bytes')
            self._parser.Parse(b'', True)
        except expat.ExpatError as error:
            where = f'line {self._line}, column {error.offset + 1}'
            reason = expat.ErrorString(error.code)
            raise UrdfError(f'not well-formed XML: {reason}', where) from error
        return self._robot

    @property
    def _line(self) -> int:
        return self._skipped_lines + self._parser.CurrentLineNumber

    def _error(self, message: str) -> UrdfError:
        return UrdfError(message, f'line {self._line}')

    def _refuse_doctype(self, *_: object) -> None:
        raise self._error('a URDF must not declare a document type (DOCTYPE) or entities')

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        self._items += 1 + len(attributes)
        if self._depth > MAX_DEPTH:
            raise self._error(f'elements are nested more than {MAX_DEPTH} levels deep')
        if self._items > MAX_ITEMS:
            raise self._error(f'more than {MAX_ITEMS} elements and attributes')
        if tag.startswith('xacro:'):
            raise self._error(
                f'{named("element", tag)} is a xacro macro: expand the file with xacro first, '
                'or give the path of a file called *.xacro'
            )
        if self._depth <= 3:
            self._keep(RawElement(tag, attributes, self._line))

    def _end(self, _: str) -> None:
        self._depth -= 1
        if self._depth == 1:
            self._joint = None

    def _keep(self, element: RawElement) -> None:
        if self._depth == 1:
            if element.tag != 'robot':
                raise self._error(f'the root {named("element", element.tag)} is not a robot')
            self._robot.root = element
        elif self._depth == 2 and element.tag == 'link':
            self._append(self._robot.links, element)
        elif self._depth == 2 and element.tag == 'joint':
            self._append(self._robot.joints, element)
            self._joint = element
        elif self._depth == 3 and self._joint is not None and element.tag in _JOINT_PARTS:
            if element.tag in self._joint.parts:
                raise UrdfError(f'more than one <{element.tag}>', self._joint.label)
            self._joint.parts[element.tag] = element

    def _append(self, members: list[RawElement], element: RawElement) -> None:
        members.append(element)
        if len(members) > MAX_LINKS:
            raise self._error(f'more than {MAX_LINKS} {element.tag}s')
