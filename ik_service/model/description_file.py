"""Text of a robot description, as given or from a URDF or xacro file."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Mapping
import os
from pathlib import Path
import re

from ik_service.common.regular_file import read_regular
from ik_service.exceptions import ArgumentError, SrdfError, UrdfError
from ik_service.model.bounded_xml import MAX_BYTES, NEEDS_XACRO
from ik_service.model.description import read_description
from ik_service.model.part_names import named_file

_DECLARED = re.compile(rb'\s*<\?xml\b[^>]*?\bencoding\s*=\s*["\']([A-Za-z0-9._-]{1,40})["\']')
_SINGLE_BYTE = re.compile(r'latin-?1|iso-8859-(1|2|9|15)|windows-125[0-8]|cp125[0-8]')


def is_xacro(path: str | os.PathLike[str]) -> bool:
    """
    Return whether a file is expanded by xacro before it is read, by its name.

    :param path: the file.
    """
    return os.fsdecode(path).endswith('.xacro')


def is_xacro_text(text: str) -> bool:
    """
    Return whether a text has to be expanded by xacro before it is a URDF.

    :param text: XML text.
    """
    if '<xacro:' not in text:
        return False
    try:
        read_description(text)
    except UrdfError as error:
        return NEEDS_XACRO in error.reason
    return False


def load_text(
    source: str | os.PathLike[str],
    xacro_args: Mapping[str, object] | None = None,
    argument: str = 'urdf',
    package_dirs: Iterable[Path] = (),
) -> str:
    """
    Return the XML text of a robot description.

    :param source: the text itself when it is a string that contains ``<``; otherwise the path of a
        regular file of :data:`~ik_service.model.bounded_xml.MAX_BYTES` at most, which is
        expanded if it is called ``*.xacro`` (:mod:`ik_service.model.xacro.xacro_file`).
    :param xacro_args: arguments of a xacro file by name, in place of their defaults.
    :param argument: what the source is called in errors.
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


def load_srdf_text(
    source: str | os.PathLike[str],
    xacro_args: Mapping[str, object] | None = None,
    package_dirs: Iterable[Path] = (),
) -> str:
    """
    Return the XML text of an SRDF.

    :param source: as for :func:`load_text`.
    :param xacro_args: arguments of a xacro file; another source takes none, and ignores them,
        because they may be meant for the URDF alone.
    :param package_dirs: as for :func:`load_text`.
    :raises SrdfError: as :func:`load_text` raises ``UrdfError``.
    :raises ArgumentError: the source is neither a string nor a path.
    :raises MissingExtraError: the file is a xacro file, and xacro is not installed.
    """
    takes_args = takes_xacro_args(source)
    try:
        return load_text(source, xacro_args if takes_args else None, 'srdf', package_dirs)
    except UrdfError as error:
        text = str(error).removeprefix(f'{error.element}: ')
        raise SrdfError(
            text.replace('the robot description', 'the SRDF'), error.element
        ) from error


def takes_xacro_args(source: object) -> bool:
    """
    Return whether a source is the path of a xacro file.

    :param source: path or XML text.
    """
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
    from ik_service.model.xacro.xacro_file import (
        expand_xacro,  # what it needs is not loaded otherwise
    )

    return expand_xacro(path, MAX_BYTES, xacro_args, package_dirs)
