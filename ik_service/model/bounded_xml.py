"""
Bounded reading of XML text, safe against hostile input.

A robot description may come from anywhere: a file, a parameter, a latched topic. Before any XML
library builds a tree of it, one streaming pass bounds its size, depth and number of elements, and
refuses every document type declaration (and with it all entities, so nothing is expanded and no
other file is read). What is kept of it is left to the kind of description.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from xml.parsers import expat

from ik_service.exceptions import RobotDescriptionError
from ik_service.model.part_names import named

MAX_BYTES = 16 * 2**20
"""Longest robot description that is read [byte]."""
MAX_DEPTH = 200
"""Deepest nesting of XML elements; a URDF needs about six levels."""
MAX_ITEMS = 200_000
"""Most XML elements and attributes together."""
MAX_TAG_BYTES = 2**18
"""Longest single tag or comment [byte]."""

_CHUNK_BYTES = 2**16


class BoundedXmlReader(ABC):
    """
    Expat handlers that check elements in one streaming pass, and hand them on.

    :param error: kind of the errors that are raised.
    :param format_name: the format in messages, with its article, such as ``a URDF``.
    :param what: the text in messages, such as ``the robot description``.
    """

    def __init__(self, error: type[RobotDescriptionError], format_name: str, what: str) -> None:
        self._error_kind = error
        self._format = format_name
        self._what = what
        self._skipped_lines = 0
        # The text is encoded here: whatever encoding it declares, these bytes are UTF-8.
        self._parser = expat.ParserCreate('utf-8')
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.StartDoctypeDeclHandler = self._refuse_doctype
        self._depth = 0
        self._items = 0

    def feed(self, text: str) -> None:
        """
        Read a text within fixed bounds of time and memory.

        :param text: XML text; a declared encoding is ignored.
        :raises RobotDescriptionError: it is not well-formed, exceeds a bound, declares a document
            type, or holds xacro macros.
        """
        data = self._encoded(text)
        # An XML declaration must come first, but text in a program often starts with a new line.
        stripped = data.lstrip()
        self._skipped_lines = data[: len(data) - len(stripped)].count(b'\n')
        try:
            for start in range(0, len(stripped), _CHUNK_BYTES):
                chunk = stripped[start : start + _CHUNK_BYTES]
                self._parser.Parse(chunk, False)
                # What the parser holds back is one unfinished tag. It is bounded here because the
                # handlers see a tag only after a million attributes would have been collected.
                if start + len(chunk) - self._parser.CurrentByteIndex > MAX_TAG_BYTES:
                    raise self.error(f'a tag or comment longer than {MAX_TAG_BYTES} bytes')
            self._parser.Parse(b'', True)
        except expat.ExpatError as error:
            where = f'line {self.line}, column {error.offset + 1}'
            reason = expat.ErrorString(error.code)
            raise self._error_kind(f'not well-formed XML: {reason}', where) from error

    @property
    def line(self) -> int:
        """Line that is read, from 1."""
        return self._skipped_lines + self._parser.CurrentLineNumber

    def error(self, message: str) -> RobotDescriptionError:
        """
        Return an error that names the line.

        :param message: what is wrong there.
        """
        return self._error_kind(message, f'line {self.line}')

    @abstractmethod
    def keep(self, depth: int, tag: str, attributes: dict[str, str]) -> None:
        """
        Take an element.

        :param depth: 1 for the root.
        :param tag: the tag.
        :param attributes: the attributes' unparsed text.
        """

    def closed(self, depth: int) -> None:  # noqa: B027 - not all have a use for it
        """
        Take the end of an element.

        :param depth: depth of its parent.
        """

    def _encoded(self, text: str) -> bytes:
        too_long = f'{self._what} is longer than {MAX_BYTES // 2**20} MiB'
        if len(text) > MAX_BYTES:
            raise self._error_kind(too_long)
        if not text.strip():
            raise self._error_kind(f'{self._what} is empty')
        if '\0' in text:
            # Expat would take the text for UTF-16 when a NUL stands at its start.
            line = text.count('\n', 0, text.index('\0')) + 1
            raise self._error_kind('a NUL character is not allowed', f'line {line}')
        try:
            data = text.encode('utf-8')
        except UnicodeEncodeError as error:
            raise self._error_kind(f'not Unicode text (character {error.start})') from error
        if len(data) > MAX_BYTES:
            raise self._error_kind(too_long)
        return data

    def _refuse_doctype(self, *_: object) -> None:
        raise self.error(f'{self._format} must not declare a document type (DOCTYPE) or entities')

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        self._items += 1 + len(attributes)
        if self._depth > MAX_DEPTH:
            raise self.error(f'elements are nested more than {MAX_DEPTH} levels deep')
        if self._items > MAX_ITEMS:
            raise self.error(f'more than {MAX_ITEMS} elements and attributes')
        if tag.startswith('xacro:'):
            raise self.error(
                f'{named("element", tag)} is a xacro macro: expand the file with xacro first, '
                'or give the path of a file called *.xacro'
            )
        if self._depth == 1 and tag != 'robot':
            raise self.error(f'the root {named("element", tag)} is not a robot')
        self.keep(self._depth, tag, attributes)

    def _end(self, _: str) -> None:
        self._depth -= 1
        self.closed(self._depth)
