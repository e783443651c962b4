"""
Program that expands one xacro file: a request in JSON on stdin, the answer in JSON on stdout.

It runs in a process of its own, see :mod:`~ik_service.model.xacro_file`. Of this package it
imports only the search for packages.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
import json
import os
from pathlib import Path
import re
import resource
import sys
from typing import Any
from urllib.parse import unquote
from xml.parsers.expat import ExpatError

_PACKAGE_URL = 'package://'
_MOST_WARNINGS, _LONGEST_WARNING = 20, 300  # warnings, and characters of each
_CLASS = re.compile(r"<class '[^']*'>: ")


def main() -> None:
    """Answer the request on stdin."""
    request = json.load(sys.stdin)
    output, sys.stdout = sys.stdout, sys.stderr  # whatever xacro prints is no part of the answer
    _limit(resource.RLIMIT_AS, request['max_memory'])
    _limit(resource.RLIMIT_CPU, int(request['max_seconds']) + 1)
    json.dump(_answer(request), output)


def _answer(request: dict[str, Any]) -> dict[str, object]:
    try:
        import xacro
    except ImportError:
        return {'missing': True}
    _use_packages(xacro, request)
    warnings = _noted_warnings(xacro)
    arguments = _Arguments(request['arguments'])
    try:
        document = xacro.process_file(request['path'], mappings=arguments)
        text = document.toprettyxml(indent='  ')
    except ExpatError as error:
        return {
            'error': f'not well-formed XML: {error}',
            'file': _file(xacro),
            'line': error.lineno,
        }
    except Exception as error:  # xacro passes on whatever an expression raises
        return {'error': _reason(error, request) + _macros(xacro), 'file': _file(xacro)}
    if len(text.encode()) > request['max_bytes']:
        return {'error': f'the expanded text is longer than {request["max_bytes"] // 2**20} MiB'}
    return {'text': text, 'asked': sorted(arguments.asked), 'warnings': [*warnings]}


class _Arguments(dict[str, str]):
    """Arguments of a file, and those for which xacro has asked, the file's own among them."""

    def __init__(self, given: dict[str, str]) -> None:
        super().__init__(given)
        self.asked: set[str] = set()

    def __contains__(self, name: object) -> bool:
        self.asked.add(str(name))
        return super().__contains__(name)

    def __getitem__(self, name: str) -> str:
        self.asked.add(name)
        return super().__getitem__(name)


def _noted_warnings(xacro: Any) -> dict[str, None]:  # noqa: ANN401 - without types
    """Return what xacro will have warned of, each once; up to 20."""
    found: dict[str, None] = {}

    def warning(*words: object, **_: object) -> None:
        if len(found) < _MOST_WARNINGS:
            text = ' '.join(map(str, words))[:_LONGEST_WARNING]
            found[f'xacro, {os.path.basename(_file(xacro))}: {text}'] = None

    xacro.warning = warning
    return found


def _use_packages(xacro: Any, request: dict[str, Any]) -> None:  # noqa: ANN401 - without types
    """Let ``$(find package)`` and ``package://`` mean the packages that meshes are named by."""
    from xacro import substitution_args

    find = _finder(xacro, request)
    absolute = xacro.abs_filename_spec

    def resolved(name: str) -> str:
        if not name.startswith(_PACKAGE_URL):
            return str(absolute(name))
        package, _, path = unquote(name.removeprefix(_PACKAGE_URL)).partition('/')
        return os.path.join(find(package), path)

    substitution_args._eval_find = find
    substitution_args._eval_dict['find'] = find
    xacro.abs_filename_spec = resolved


def _finder(xacro: Any, request: dict[str, Any]) -> Callable[[str], str]:  # noqa: ANN401
    """Return a function that finds the folder of a package by its name."""
    root = str(Path(__file__).parents[2])
    sys.path.insert(0, root)
    from ik_service.model.package_folders import PackageFolders

    sys.path.remove(root)
    named = [Path(folder) for folder in request['package_dirs']]
    searched: dict[str, PackageFolders] = {}

    def find(package: str) -> str:
        # Around the file that names it, then around the one that includes that.
        files = (xacro.filestack[-1], request['path']) if request['beside'] else ('',)
        for file in files:
            if file not in searched:
                around = Path(file).absolute().parents if file else ()
                searched[file] = PackageFolders(around, named)
            found = searched[file].named(package)
            if found:
                return str(found[0])
        raise LookupError(
            f'package {package!r} is not found: it is not installed, and no package.xml in or '
            'beside the folders above the file names it; package_dirs names more places'
        )

    return find


def _reason(error: Exception, request: dict[str, Any]) -> str:
    """Return the fault in one line."""
    cause = getattr(error, 'exc', None) or error  # xacro's exceptions carry the first one
    if isinstance(cause, MemoryError):
        return f'it takes more than {request["max_memory"] // 2**20} MiB of memory'
    if isinstance(cause, RecursionError):
        return 'macros or properties are nested too deeply'
    if type(cause).__name__ == 'ArgException':  # that xacro raises for an argument of no value
        return f"{_once(error)}: it has no default; xacro_args: '{cause}:=…' gives it a value"
    return ' '.join(_once(error).split()) or repr(error)


def _once(error: BaseException) -> str:
    """Return xacro's message of an error, whose causes it wraps, each text once."""
    cause = getattr(error, 'exc', None)
    if cause is None:
        return str(error)
    inner = _once(cause)
    message = str(error.args[0] or '') if error.args else ''
    if inner and (_CLASS.match(message) or inner in message):  # as where it searches for packages
        message = ''
    elif isinstance(cause, OSError) and cause.strerror and cause.strerror in message:
        inner = ''
    return ' '.join(filter(None, (message, inner, getattr(error, 'suffix', None))))


def _file(xacro: Any) -> str:  # noqa: ANN401 - the module, which has no types
    """Return the file that xacro was reading: the one named, or one that it includes."""
    return str((xacro.filestack or [''])[-1] or '')


def _macros(xacro: Any) -> str:  # noqa: ANN401
    """Return the macros that xacro was in, the innermost first."""
    names = [macro.body.getAttribute('name') for macro in reversed(xacro.macrostack or [])]
    shown = ', in macro '.join(map(repr, names[:5])) + (', …' if len(names) > 5 else '')
    return f' (in macro {shown})' if names else ''


def _limit(kind: int, value: int) -> None:
    """Lower a limit of this process; a limit that is lower already stays."""
    with suppress(ValueError, OSError):
        _, hard = resource.getrlimit(kind)
        # One more, as the first limit of computing time has a signal of its own.
        hard = value + 1 if hard == resource.RLIM_INFINITY else min(value + 1, hard)
        resource.setrlimit(kind, (min(value, hard), hard))


if __name__ == '__main__':
    # This folder comes first in the search path of a program: none of its files may hide a module.
    sys.path[:] = [path for path in sys.path if path != os.path.dirname(os.path.abspath(__file__))]
    main()
