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
from types import CodeType, FunctionType, ModuleType
from typing import cast

from numba.core import types
from numba.core.serialize import dumps
import numpy as np

_PACKAGE = __name__.partition('.')[0]
_LIBRARIES = frozenset({_PACKAGE, 'builtins', 'math', 'numba', 'numpy'})
"""Modules left out: the package's own source has a digest, releases have versions."""

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
    Return the NamedTuple types from outside the package with declared functions in kernels.

    :param signature: Numba's types of the arguments of a kernel.
    """
    kinds = (
        numba_type.instance_class
        for numba_type in signature
        if isinstance(numba_type, (types.NamedTuple, types.NamedUniTuple))
    )
    return [
        kind
        for kind in kinds
        if kind in _CONTAINED and kind.__module__.partition('.')[0] != _PACKAGE
    ]


def code_of(kind: type) -> str | None:
    """
    Return the digest of all code that kernels contain for a type; None where there is none.

    :param kind: a type of which :func:`depend_on` was told.
    """
    digest = hashlib.sha256(
        f'{kind.__module__}.{kind.__qualname__} {kind.__annotations__}'.encode()
    )
    try:
        for part in _parts(cast(FunctionType, _CONTAINED[kind]), set()):
            digest.update(hashlib.sha256(part).digest())
    except Exception:  # whatever an object raises that cannot be pickled
        return None
    return digest.hexdigest()


@functools.cache
def file_digest(path: str) -> str:
    """
    Return the digest of a source file; empty where there is none.

    :param path: the file.
    """
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()
    except OSError:
        return ''


def _parts(function: FunctionType, seen: set[int]) -> Iterator[bytes]:
    """Yield everything that the machine code of a function depends on."""
    if id(function) in seen:
        return
    seen.add(id(function))
    code = function.__code__
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
    """Yield what code depends on by a global or a variable of an enclosing function."""
    if isinstance(value, ModuleType):
        if value.__name__.partition('.')[0] not in _LIBRARIES:
            yield file_digest(value.__file__ or '').encode()
            for name in sorted(used & vars(value).keys()):
                yield from _value(vars(value)[name], used, seen)
        return
    function = getattr(value, 'py_func', value)
    home = str(getattr(function, '__module__', ''))
    if not callable(function):
        yield dumps(value)
    elif home.partition('.')[0] in _LIBRARIES or isinstance(function, np.ufunc):
        yield f'{home}.{getattr(function, "__name__", "")}'.encode()
    elif isinstance(function, FunctionType):
        yield from _parts(function, seen)
    else:  # a class, such as an enumeration
        yield file_digest(getattr(sys.modules.get(home), '__file__', None) or '').encode()


def _nested(code: CodeType) -> Iterator[CodeType]:
    """Yield a function's code and that of the functions inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _nested(constant)
