"""
Expansion of xacro files, in a process of its own with bounds on time, memory and output.

A xacro file is a program: it evaluates Python expressions, includes other files, and reads YAML
files and environment variables. So only a path that the user names himself may be expanded, or a
text that he gives, never one that came from elsewhere, such as from a topic; and its output is
read as guardedly as any other URDF.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
import json
import os
from pathlib import Path
import shlex
import signal
import subprocess
import sys
import tempfile

from ik_service.common.quoting import meant, named_file, quote
from ik_service.exceptions import ArgumentError, MissingExtraError, OptionError, UrdfError
from ik_service.model import xacro_program


class XacroArguments(dict[str, object]):
    """
    Arguments of xacro files.

    :ivar asked: names for which one of the files has asked.
    :ivar warnings: what xacro has warned of, a sentence each.
    """

    def __init__(self, given: Mapping[str, object]) -> None:
        super().__init__(given)
        self.asked: set[str] = set()
        self.warnings: list[str] = []

    @classmethod
    def of(cls, given: Mapping[str, object] | None) -> XacroArguments:
        """Return arguments themselves, or a mapping as arguments."""
        return given if isinstance(given, cls) else cls(given or {})

    def check_asked(self) -> None:
        """Refuse arguments that no file has asked for, by an ArgumentError for the first."""
        for reason in self._unasked():
            raise ArgumentError('xacro_args', reason)

    def remarks(self) -> list[str]:
        """Return a sentence for each warning, and each argument that no file has asked for."""
        return [*self.warnings, *self._unasked()]

    def _unasked(self) -> list[str]:
        return [
            f'xacro argument {quote(name)} is not used{meant(name, self.asked)}'
            for name in self
            if name not in self.asked
        ]


MAX_SECONDS = 20.0  # longest computing time of an expansion [s]
MAX_MEMORY = 2 * 2**30  # most address space that an expansion may take [byte]

_BUSY = 3.0  # times as long it may take on a computer that starts other programs, too
_LONGEST_MESSAGE = 1000  # characters of an error of xacro


def expand_xacro(
    path: str | os.PathLike[str],
    max_bytes: int,
    arguments: Mapping[str, object] | None = None,
    package_dirs: Iterable[Path] = (),
    beside: bool = True,
) -> str:
    """
    Expand a xacro file.

    ``$(find package)`` and ``package://`` mean the packages searched for meshes
    (:mod:`~ik_service.model.package_folders`), so that no workspace has to be sourced.

    :param path: the file; it has to be trusted like a program.
    :param max_bytes: longest URDF text that is accepted [byte].
    :param arguments: values of the file's ``<xacro:arg>`` by name, in place of their defaults;
        :class:`~ik_service.model.xacro_file.XacroArguments` note what the file asks for.
    :param package_dirs: more folders in which packages lie, or which are packages.
    :param beside: whether packages are searched for around the file, too.
    :returns: URDF text, unchecked.
    :raises UrdfError: xacro refuses it, or it exceeds a bound; the error names the file, and the
        line where xacro reports one.
    :raises ArgumentError: an argument is neither text nor a number.
    :raises MissingExtraError: xacro is not installed.
    """
    request = {
        'path': os.fsdecode(path),
        'arguments': _texts(arguments or {}),
        'max_bytes': max_bytes,
        'max_seconds': MAX_SECONDS,
        'max_memory': MAX_MEMORY,
        'package_dirs': [os.fsdecode(folder) for folder in package_dirs],
        'beside': beside,
    }
    answer = _run(request)
    if answer.get('missing'):
        raise MissingExtraError('xacro', 'xacro')
    if 'error' in answer:
        where = named_file(str(answer.get('file') or request['path']))
        if 'line' in answer:
            where += f', line {answer["line"]}'
        raise UrdfError(f'xacro: {str(answer["error"])[:_LONGEST_MESSAGE]}', where)
    noted = XacroArguments.of(arguments)
    noted.asked.update(answer['asked'])  # type: ignore[arg-type]
    noted.warnings += answer['warnings']  # type: ignore[arg-type]
    return str(answer['text'])


def expand_xacro_text(
    text: str,
    max_bytes: int,
    arguments: Mapping[str, object] | None = None,
    package_dirs: Iterable[Path] = (),
) -> str:
    """
    Expand a text as if it were a xacro file in a folder of its own.

    Files included by a relative path are not found; ``$(find package)`` works for installed
    packages and those in the folders that are named.

    :param text: the text; it has to be trusted like a program.
    :param max_bytes: as for :func:`expand_xacro`.
    :param arguments: as for :func:`expand_xacro`.
    :param package_dirs: as for :func:`expand_xacro`.
    :returns: URDF text, unchecked.
    :raises UrdfError: as :func:`expand_xacro`, and the text is too long.
    :raises ArgumentError: as :func:`expand_xacro`.
    :raises MissingExtraError: as :func:`expand_xacro`.
    """
    data = text.encode('utf-8', 'replace')
    if len(data) > max_bytes:
        raise UrdfError(f'the robot description is longer than {max_bytes // 2**20} MiB')
    with tempfile.TemporaryDirectory(prefix='ik_service_') as folder:
        file = Path(folder) / 'robot_description.xacro'
        file.write_bytes(data)
        return expand_xacro(file, max_bytes, arguments, package_dirs, beside=False)


def _run(request: Mapping[str, object]) -> dict[str, object]:
    """Run the program that expands a file, and return its answer."""
    label = named_file(str(request['path']))
    too_long = UrdfError(f'xacro takes longer than {MAX_SECONDS:g} s', label)
    # By its path: files in the current folder cannot shadow it, as with ``-m``.
    command = [sys.executable, str(Path(xacro_program.__file__))]
    try:
        run = subprocess.run(
            command,
            input=json.dumps(request).encode(),
            capture_output=True,
            timeout=_BUSY * MAX_SECONDS,
            env={**os.environ, 'PYTHONUTF8': '1'},  # xacro reads files as the locale has them
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise too_long from error
    except OSError as error:
        raise UrdfError(f'xacro cannot be started: {error.strerror}', label) from error
    if run.returncode == -signal.SIGXCPU:
        raise too_long
    try:
        return json.loads(run.stdout)
    except ValueError as error:  # a signal has ended it
        reason = run.stderr.decode(errors='replace').strip()[-_LONGEST_MESSAGE:]
        message = f'xacro ended with exit code {run.returncode}: {reason or "no output"}'
        raise UrdfError(message, label) from error


def _texts(arguments: Mapping[str, object]) -> dict[str, str]:
    """Return the arguments as xacro takes them, all of them texts."""
    for name, value in arguments.items():
        if not isinstance(name, str) or not isinstance(value, (str, bool, int, float)):
            raise ArgumentError(
                'xacro_args', f'{name!r} is a {type(value).__name__}, not text or a number'
            )
    return {name: str(value) for name, value in arguments.items()}


LONGEST_TEXT = 10_000  # characters of the text, at most

XACRO_HELP = "arguments of a xacro file, in one text: 'ur_type:=ur5e name:=arm'"
"""Help text of the option ``--xacro-args`` of programs."""

_SIGN = ':='


def parse_xacro_args(text: str, option: str = 'xacro_args') -> dict[str, str]:
    """
    Parse the arguments of a xacro file, such as ``'ur_type:=ur5e name:=left_arm'``.

    :param text: arguments with blanks between them; a value with blanks stands in quotation marks,
        as in a shell. May be empty.
    :param option: name of the option or parameter, for the message.
    :returns: values by name.
    :raises OptionError: a part of it is no name, ``:=`` and a value, a name stands twice, or
        quotation marks do not match.
    """
    if len(text) > LONGEST_TEXT:
        raise OptionError(option, f'has {len(text)} characters; at most {LONGEST_TEXT} are taken')
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise OptionError(option, f'{quote(text)} cannot be read: {error}') from error
    arguments: dict[str, str] = {}
    for word in words:
        name, sign, value = word.partition(_SIGN)
        if not name or not sign:
            raise OptionError(
                option, f"has to look like 'ur_type:=ur5e name:=arm', but has {quote(word)}"
            )
        if name in arguments:
            raise OptionError(option, f'names {quote(name)} twice')
        arguments[name] = value
    return arguments
