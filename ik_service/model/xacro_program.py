"""
Program that expands one xacro file: a request in JSON on stdin, the answer in JSON on stdout.

It runs in a process of its own and imports nothing of this package, see
:mod:`ik_service.model.xacro_file`.
"""

from __future__ import annotations

from contextlib import suppress
import json
import os
import resource
import sys
from typing import Any
from xml.parsers.expat import ExpatError


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
    try:
        document = xacro.process_file(request['path'], mappings=request['arguments'])
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
    return {'text': text}


def _reason(error: Exception, request: dict[str, Any]) -> str:
    """Return in one line what is wrong."""
    cause = getattr(error, 'exc', None) or error  # xacro's exceptions carry the first one
    if isinstance(cause, MemoryError):
        return f'it takes more than {request["max_memory"] // 2**20} MiB of memory'
    if isinstance(cause, RecursionError):
        return 'macros or properties are nested too deeply'
    return ' '.join(_once(error, cause).split()) or repr(error)


def _once(error: Exception, cause: Exception) -> str:
    """Return what xacro says of an error without the text of its cause a second time."""
    said = str(cause.args[-1]) if cause.args and cause is not error else ''
    message = str(error.args[0] or '') if error.args else ''
    if not said or said not in message:
        return str(error)
    suffix = getattr(error, 'suffix', None) or ''
    # Xacro puts the cause's class before it where it finds packages.
    return f'{said if message.startswith("<class ") else message} {suffix}'


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
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (value, value))


if __name__ == '__main__':
    # This folder comes first in the search path of a program: none of its files may hide a module.
    sys.path[:] = [path for path in sys.path if path != os.path.dirname(os.path.abspath(__file__))]
    main()
