"""
Digest of code from outside the package that is compiled into its kernels, such as a user's step.

The cache folder is named after the package's own source only. A step that a user brings can call
functions and use constants of other files; machine code of it may be loaded only while all of that
is as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
import functools
import hashlib
from pathlib import Path
import sys
from types import CodeType, ModuleType
from typing import Any

from numba.core import types
from numba.core.serialize import dumps

_PACKAGE = __name__.partition('.')[0]
_LIBRARIES = frozenset({_PACKAGE, 'builtins', 'math', 'numba', 'numpy'})
"""What does not count: the package's own source has a digest, releases have versions."""

_CONTAINED: dict[type, Callable] = {}


def depend_on(kind: type, function: Callable) -> None:
    """
    Declare that kernels for arguments of a type contain a function.

    :param kind: a NamedTuple type.
    :param function: the Python function.
    """
    _CONTAINED[kind] = function


def foreign_types(signature: tuple) -> list[type]:
    """
    NamedTuple types from outside the package whose kernels contain declared functions.

    :param signature: Numba's types of the arguments of a kernel.
    """
    return [
        kind
        for numba_type in signature
        if isinstance(numba_type, types.BaseNamedTuple)
        and (kind := _class_of(numba_type)) in _CONTAINED
        and kind.__module__.partition('.')[0] != _PACKAGE
    ]


def _class_of(numba_type: Any) -> type:  # noqa: ANN401 - Numba's base class lacks the attribute
    return numba_type.instance_class


def code_of(kind: type) -> str | None:
    """
    Digest of all code that kernels contain for a type; None when something in it has none.

    :param kind: a type of which :func:`depend_on` was told.
    """
    digest = hashlib.sha256(
        f'{kind.__module__}.{kind.__qualname__} {kind.__annotations__}'.encode()
    )
    try:
        for part in _parts(_CONTAINED[kind], set()):
            digest.update(hashlib.sha256(part).digest())
    except Exception:  # whatever an object raises that cannot be pickled
        return None
    return digest.hexdigest()


@functools.cache
def file_digest(path: str) -> str:
    """
    Digest of a source file; empty where there is none.

    :param path: the file.
    """
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()
    except OSError:
        return ''


def _parts(function: Callable, seen: set[int]) -> Iterator[bytes]:
    """Everything that the machine code of a function depends on."""
    function = getattr(function, 'py_func', function)
    if id(function) in seen:
        return
    seen.add(id(function))
    code: CodeType = function.__code__
    yield file_digest(code.co_filename).encode()
    used: set[str] = set()
    for part in _nested(code):
        yield part.co_code
        yield repr([c for c in part.co_consts if not isinstance(c, CodeType)]).encode()
        used.update(part.co_names)
    space = function.__globals__
    for name in sorted(used & space.keys()):
        yield name.encode()
        yield from _value(space[name], used, seen)
    for cell in function.__closure__ or ():
        yield from _value(cell.cell_contents, used, seen)


def _value(value: object, used: set[str], seen: set[int]) -> Iterator[bytes]:
    """What depends on a global or on a variable of an enclosing function."""
    if isinstance(value, ModuleType):
        if value.__name__.partition('.')[0] not in _LIBRARIES:
            yield file_digest(value.__file__ or '').encode()
            for name in sorted(used & vars(value).keys()):
                yield from _value(vars(value)[name], used, seen)
        return
    home = str(getattr(value, '__module__', None) or '')
    if home.partition('.')[0] in _LIBRARIES and not hasattr(value, 'py_func'):
        yield f'{home} {value!r:.200}'.encode() if isinstance(value, type) else home.encode()
    elif hasattr(value, 'py_func') or hasattr(value, '__code__'):
        inner: Any = getattr(value, 'py_func', value)
        if inner.__module__.partition('.')[0] not in _LIBRARIES:
            yield from _parts(inner, seen)
    elif isinstance(value, type):
        yield file_digest(getattr(sys.modules.get(home), '__file__', None) or '').encode()
    else:
        yield dumps(value)


def _nested(code: CodeType) -> Iterator[CodeType]:
    """A function's code and that of the functions inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _nested(constant)
