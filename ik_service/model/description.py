"""
The text of a robot description, and the tree of elements from which all is read.

A description may come from anywhere: a file, a parameter, a latched topic. One streaming pass
bounds its size, depth and number of elements, refuses every document type declaration (and with it
all entities, so nothing is expanded and no other file is read), and builds the tree that everybody
else reads: kinematics (:mod:`~ik_service.model.urdf`), shapes (:mod:`~ik_service.model.geometry`),
inertias, planning groups and prefixes cannot differ about the content of the text. In the tree the
elements of the format stand under their plain names, whatever default namespace or prefix they
have and whether or not it is declared. Definitions of xacro that were left over are taken out.
"""

from __future__ import annotations

import codecs
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
import copy
from dataclasses import dataclass
import os
from pathlib import Path
import re
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from ik_service.common.files import read_regular
from ik_service.common.quoting import named, named_file
from ik_service.exceptions import ArgumentError, RobotDescriptionError, UrdfError

MAX_BYTES = 16 * 2**20  # longest robot description that is read [byte]
MAX_DEPTH = 200  # deepest nesting of XML elements; a URDF needs about six levels
MAX_ITEMS = 200_000  # most XML elements and attributes together
MAX_TAG_BYTES = 2**18  # longest single tag or comment [byte]

NEEDS_XACRO = 'expand the file with xacro first, or give the path of a file called *.xacro'
"""Part of the message about a text that is a program of xacro."""

_BEFORE_DECLARATION = re.compile(rb'(?:\s+|<!--.*?-->)*+(?=<\?xml\s)', re.DOTALL)
_CHUNK_BYTES = 2**16  # that are given to the parser at once [byte]
_LINED_DEPTH = 3  # lines of elements down to here are kept: the parts of links, joints, groups
_XACRO = 'xacro'
_DEFINITIONS = ('arg', 'macro', 'property')  # without a call they mean nothing


@dataclass(frozen=True, eq=False)
class XmlDocument:
    """
    Tree of the elements of an XML text.

    :ivar root: its root; not to be changed, as others read it too.
    :ivar lines: lines of the start tags, from 1, of the elements on the first three levels.
    :ivar parts: number of the elements on the third level, by the names of their parents and
        their own, such as ``link/collision``: counted apart from the tree.
    :ivar remarks: the parts taken out, a sentence each.
    """

    root: Element
    lines: Mapping[Element, int]
    parts: Mapping[str, int]
    remarks: tuple[str, ...]

    def label(self, element: Element) -> str:
        """Return an element, on the first three levels, as messages name it: by name or line."""
        name = element.get('name', '').strip()
        return (
            named(element.tag, name) if name else f'<{element.tag}> at line {self.lines[element]}'
        )


def read_xml(
    text: str,
    error: type[RobotDescriptionError],
    format_name: str,
    what: str,
    own: Collection[str] | None = None,
) -> XmlDocument:
    """
    Read the text of a robot description within fixed bounds of time and memory.

    :param text: XML text with a ``<robot>`` root; a declared encoding is ignored.
    :param format_name: the format in messages, with its article, such as ``a URDF``.
    :param what: the text in messages, such as ``the robot description``.
    :param own: elements under the root whose content is of the format itself; that of the others
        belongs to other programs, and keeps its prefixes. None for all.
    :raises RobotDescriptionError: it is not well-formed, exceeds a bound, declares a document
        type, is not a robot, or is a xacro program.
    """
    reader = _Reader(error, format_name, what, own)
    reader.feed(text)
    return XmlDocument(reader.builder.close(), reader.lines, reader.parts, reader.remarks())


class _Reader:
    """Expat handlers that check elements in one streaming pass, and build the tree of them."""

    def __init__(
        self,
        error: type[RobotDescriptionError],
        format_name: str,
        what: str,
        own: Collection[str] | None,
    ) -> None:
        self._error_kind, self._format, self._what = error, format_name, what
        self._own_tags = own
        self.builder = TreeBuilder()
        self.lines: dict[Element, int] = {}
        self.parts: Counter[str] = Counter()
        self._parent = ''  # name of the element on the second level
        self._skipped_lines = 0
        # The text is encoded here: whatever encoding it declares, these bytes are UTF-8.
        self._parser = expat.ParserCreate('utf-8')
        self._parser.buffer_text = True
        if hasattr(self._parser, 'SetReparseDeferralEnabled'):  # expat 2.6: holds back more
            self._parser.SetReparseDeferralEnabled(False)
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self.builder.data
        self._parser.StartDoctypeDeclHandler = self._refuse_doctype
        self._depth = 0
        self._items = 0
        self._own = True  # whether the element read belongs to the format
        self._root_prefix = ''
        self._xacro = {_XACRO}  # prefixes that mean xacro
        self._taken_out: dict[str, int] = {}  # definitions of xacro: their number
        self._out_at = 0  # depth of the definition that is skipped
        self._expression = ''  # the first place that uses one
        self._declares = self._expresses = True  # whether the text holds xmlns, and ${

    def feed(self, text: str) -> None:
        data = self._encoded(text)
        self._declares, self._expresses = 'xmlns' in text, '${' in text
        # An XML declaration must come first, but text in a program often starts with a new line,
        # and that in a file with a comment on its licence, which TinyXML takes.
        before = _BEFORE_DECLARATION.match(data)
        stripped = data[before.end() :] if before else data.lstrip()
        self._skipped_lines = data[: len(data) - len(stripped)].count(b'\n')
        stripped = _plain_comments(stripped)
        try:
            for start in range(0, len(stripped), _CHUNK_BYTES):
                chunk = stripped[start : start + _CHUNK_BYTES]
                self._parser.Parse(chunk, False)
                # The parser holds back one unfinished tag. It is bounded here because the
                # handlers see a tag only after a million attributes would have been collected.
                if start + len(chunk) - self._parser.CurrentByteIndex > MAX_TAG_BYTES:
                    raise self._error(f'a tag or comment longer than {MAX_TAG_BYTES} bytes')
            self._parser.Parse(b'', True)
        except expat.ExpatError as error:
            where = f'line {self._line}, column {error.offset + 1}'
            reason = expat.ErrorString(error.code)
            raise self._error_kind(f'not well-formed XML: {reason}', where) from error
        if self._taken_out and self._expression:
            raise self._error_kind(f'it uses xacro, {NEEDS_XACRO}', self._expression)

    def remarks(self) -> tuple[str, ...]:
        return tuple(
            f'{count} left-over {named("element", tag)} of xacro without any use: ignored'
            for tag, count in self._taken_out.items()
        )

    @property
    def _line(self) -> int:
        return self._skipped_lines + self._parser.CurrentLineNumber

    def _error(self, message: str) -> RobotDescriptionError:
        """Return an error that names the line."""
        return self._error_kind(message, f'line {self._line}')

    def _encoded(self, text: str) -> bytes:
        too_long = f'{self._what} is longer than {MAX_BYTES // 2**20} MiB'
        if len(text) > MAX_BYTES:
            raise self._error_kind(too_long)
        text = text.removeprefix('\ufeff')  # a byte order mark
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
        raise self._error(f'{self._format} must not declare a document type (DOCTYPE) or entities')

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        self._items += 1 + len(attributes)
        if self._depth > MAX_DEPTH:
            raise self._error(f'elements are nested more than {MAX_DEPTH} levels deep')
        if self._items > MAX_ITEMS:
            raise self._error(f'more than {MAX_ITEMS} elements and attributes')
        if self._out_at:
            return
        prefix, _, name = tag.rpartition(':') if ':' in tag else ('', '', tag)
        if self._depth == 1:
            self._begin(tag, prefix, name)
        if self._declares:
            self._note_xacro(attributes)
        if prefix in self._xacro:
            self._take_out(tag, name)
            return
        if self._depth == 3:
            self.parts[f'{self._parent}/{name}'] += 1
        elif self._depth == 2:
            self._parent = name
            self._own = self._own_tags is None or name in self._own_tags
        if self._own or self._depth <= 2 or prefix == self._root_prefix:
            tag = name
            if self._declares:
                attributes.pop('xmlns', None)
        if self._expresses and self._own and not self._expression:
            self._look_for_expressions(attributes)
        element = self.builder.start(tag, attributes)
        if self._depth <= _LINED_DEPTH:
            self.lines[element] = self._skipped_lines + self._parser.CurrentLineNumber

    def _begin(self, tag: str, prefix: str, name: str) -> None:
        if name != 'robot':
            raise self._error(f'the root {named("element", tag)} is not a robot')
        self._root_prefix = prefix

    def _note_xacro(self, attributes: Mapping[str, str]) -> None:
        for attribute, value in attributes.items():
            if attribute.startswith('xmlns:') and _XACRO in value:
                self._xacro.add(attribute[6:])

    def _take_out(self, tag: str, name: str) -> None:
        if self._depth == 1 or name not in _DEFINITIONS:
            raise self._error(f'{named("element", tag)} is a xacro macro: {NEEDS_XACRO}')
        self._taken_out[tag] = self._taken_out.get(tag, 0) + 1
        self._out_at = self._depth
        self._parser.CharacterDataHandler = None

    def _look_for_expressions(self, attributes: Mapping[str, str]) -> None:
        for attribute, value in attributes.items():
            if '${' in value:
                self._expression = f'line {self._line}'
                self._expression += f', {attribute}={value[:40]!r}'

    def _end(self, tag: str) -> None:
        depth, self._depth = self._depth, self._depth - 1
        if self._out_at:
            if depth == self._out_at:
                self._out_at = 0
                self._parser.CharacterDataHandler = self.builder.data
            return
        self.builder.end(tag)


def _plain_comments(data: bytes) -> bytes:
    """Return a text without double hyphens in comments, which TinyXML takes and XML forbids."""
    parts, done = [], 0
    while 0 <= (start := data.find(b'<!--', done)) < (end := data.find(b'-->', start + 4)):
        inner = data[start + 4 : end].replace(b'--', b'==')
        inner = inner[:-1] + b'=' if inner.endswith(b'-') else inner
        parts += [data[done : start + 4], inner]
        done = end
    return b''.join([*parts, data[done:]])


_OWN = frozenset({'link', 'joint', 'material'})


@dataclass(frozen=True, eq=False)
class RobotDescription(XmlDocument):
    """
    Tree of the elements of a URDF. Shared by all readers: not to be changed.

    Elements of links, joints and materials stand under their plain names, whatever namespace or
    prefix they have; the content of others, such as ``<gazebo>``, is as it was written.
    """

    def elements_of_links(self, tag: str) -> Iterator[tuple[str, Element]]:
        """Yield each ``visual`` or ``collision`` with the name of its link, in document order."""
        for link in self.root.iterfind('link'):
            name = link.get('name') or self.label(link)
            for element in link.iterfind(tag):
                yield name, element

    def links_with_inner(self, tag: str) -> Iterator[str]:
        """Yield the link of each shape of a tag that stands inside of a part of the link."""
        for link in self.root.iterfind('link'):
            for part in link:
                for _ in part.iterfind(f'.//{tag}/geometry'):
                    yield link.get('name') or self.label(link)

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
    """Read the text of a URDF; raises UrdfError if it is malformed, hostile, or xacro."""
    read = read_xml(text, UrdfError, 'a URDF', 'the robot description', _OWN)
    return RobotDescription(read.root, read.lines, read.parts, read.remarks)


_DECLARED = re.compile(rb'\s*<\?xml\b[^>]*?\bencoding\s*=\s*["\']([A-Za-z0-9._-]{1,40})["\']')
_SINGLE_BYTE = re.compile(r'latin-?1|iso-8859-(1|2|9|15)|windows-125[0-8]|cp125[0-8]')


def is_xacro(path: str | os.PathLike[str]) -> bool:
    """Return whether a file is expanded by xacro before it is read, by its name."""
    return os.fsdecode(path).endswith('.xacro')


def is_xacro_text(text: str) -> bool:
    """Return whether a text of XML has to be expanded by xacro before it is a URDF."""
    if '<xacro:' not in text:
        return False
    try:
        read_description(text)
    except UrdfError as error:
        return NEEDS_XACRO in error.reason
    return False


def checked_folders(package_dirs: Iterable[str | os.PathLike[str]]) -> tuple[Path, ...]:
    """
    Return the folders that a program names, as absolute paths.

    :param package_dirs: the folders; a leading ``~`` is the home folder.
    :raises ArgumentError: this is no sequence of paths.
    """
    if isinstance(package_dirs, (str, bytes, os.PathLike)):
        raise ArgumentError('package_dirs', 'has to be a sequence of paths, not one path')
    folders = tuple(package_dirs) if isinstance(package_dirs, Iterable) else (None,)
    if not all(isinstance(folder, (str, os.PathLike)) for folder in folders):
        raise ArgumentError('package_dirs', 'has to be a sequence of paths')
    return tuple(Path(os.path.expanduser(os.fsdecode(folder))).absolute() for folder in folders)


def load_text(
    source: str | os.PathLike[str],
    xacro_args: Mapping[str, object] | None = None,
    argument: str = 'urdf',
    package_dirs: Iterable[Path] = (),
) -> str:
    """
    Return the XML text of a robot description.

    :param source: the text itself when it is a string that contains ``<``; otherwise the path of a
        regular file of :data:`~ik_service.model.description.MAX_BYTES` at most, which is
        expanded if it is called ``*.xacro`` (:mod:`ik_service.model.xacro_file`).
    :param xacro_args: arguments of a xacro file by name, in place of their defaults.
    :param argument: the name of the source in errors.
    :param package_dirs: more folders in which the packages lie that a xacro file names.
    :raises UrdfError: the file cannot be read, is no regular one, is too long, or is not UTF-8, or
        xacro refuses it.
    :raises ArgumentError: the source is neither a string nor a path, or is no xacro file though
        arguments are given.
    :raises MissingExtraError: the file is a xacro file, and xacro is not installed.
    """
    if not isinstance(source, (str, os.PathLike)):
        raise ArgumentError(argument, f'a path or XML text is needed, not {type(source).__name__}')
    is_text = isinstance(source, str) and '<' in source
    if xacro_args and (is_text or not is_xacro(source)):
        raise ArgumentError('xacro_args', 'only a file called *.xacro takes arguments')
    return str(source) if is_text else _file_text(source, xacro_args, package_dirs)


def _encoding_of(data: bytes) -> str:
    """Return the encoding of an XML file: that of its byte order mark, or else as declared."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return 'utf-16'
    declared = _DECLARED.match(data)
    name = declared[1].decode('ascii').lower() if declared else ''
    return name if _SINGLE_BYTE.fullmatch(name) else 'utf-8-sig'


def takes_xacro_args(source: object) -> bool:
    """Return whether a source, a path or XML text, is the path of a xacro file."""
    is_path = isinstance(source, os.PathLike) or (isinstance(source, str) and '<' not in source)
    return is_path and is_xacro(source)  # type: ignore[arg-type]


def _file_text(
    file: str | os.PathLike[str],
    xacro_args: Mapping[str, object] | None,
    package_dirs: Iterable[Path],
) -> str:
    path = os.fsdecode(file)
    label = named_file(path)
    if not path.strip():
        raise UrdfError('the robot description is empty')
    try:
        data = read_regular(file, MAX_BYTES)
        encoding = _encoding_of(data)
        text = data.decode(encoding)
    except OSError as error:
        raise UrdfError(f'cannot be read: {error.strerror or error}', label) from error
    except UnicodeDecodeError as error:
        name = encoding.removesuffix('-sig').upper()
        raise UrdfError(f'not {name} text (byte {error.start})', label) from error
    if not is_xacro(path):
        return text
    from ik_service.model.xacro_file import (
        expand_xacro,  # its dependencies are not loaded otherwise
    )

    return expand_xacro(path, MAX_BYTES, xacro_args, package_dirs)
