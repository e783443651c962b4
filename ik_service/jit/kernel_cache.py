"""
Disk cache of compiled kernels.

Loading damaged machine code can end the process, and unpickling damaged data can do anything. So
every file carries a digest of all that follows it, and nothing is unpickled or loaded that the
digest does not fit; a damaged file is thrown away and compiled again. Nothing here fails a
compilation: where a file cannot be written, because the disk is full for example, the kernel is
compiled anew in each process.

Numba's own disk cache checks nothing, and looks only at the file of the function that is called,
not at the files of the functions it calls in turn. Kernels here call each other across files, so
the cache folder is named after a digest of all source with kernels in it: a changed file can never
meet stale code. Steps that users register lie in other folders, and can call functions and use
constants of further files: files of kernels with such a step in them carry a digest of all its
code, see :func:`code_of`. The folder lies in the user's cache, so a read-only installation is
cached as well; set ``NUMBA_CACHE_DIR`` to move it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
import functools
import hashlib
import os
from pathlib import Path
import pickle
import sys
import time
from types import CodeType, FunctionType, ModuleType
from typing import Any, cast
import uuid

import llvmlite
import numba
from numba.core import types
from numba.core.caching import _Cache
from numba.core.codegen import CPUCodegen
from numba.core.compiler import CompileResult
from numba.core.cpu import CPUContext
from numba.core.serialize import dumps
from numba.core.typing.templates import signature
import numpy as np

SOURCE_FOLDERS = (
    'collision',
    'extras/learning',
    'extras/reach',
    'jit',
    'kinematics',
    'motion',
    'paths',
    'solvers',
)
"""Folders of the package whose source holds kernels, with all that is below them."""

_MAGIC = b'ik_service kernel 1\n'
_DIGEST_SIZE = 32
_STALE = 3600.0  # age of a half-written file that nobody can still be writing [s]


@functools.cache
def cache_folder() -> Path | None:
    """Return the folder of kernels of exactly this source; None where it cannot be written."""
    try:
        user = os.environ.get('XDG_CACHE_HOME') or Path.home() / '.cache'
        root = getattr(numba.config, 'CACHE_DIR', '') or Path(user) / 'ik_service'
        folder = Path(root) / f'kernels-{_source_digest()}'
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError):  # RuntimeError: there is no home
        return None
    return folder if os.access(folder, os.W_OK | os.X_OK) else None


def _source_digest() -> str:
    """Return the digest of the names and the text of all source with kernels in it."""
    package = Path(__file__).resolve().parents[1]
    digest = hashlib.sha256()
    for folder in SOURCE_FOLDERS:
        for path in sorted((package / folder).rglob('*.py')):
            source = path.read_bytes()
            digest.update(f'{path.relative_to(package).as_posix()}\n{len(source)}\n'.encode())
            digest.update(source)
    return digest.hexdigest()[:16]


class KernelCache(_Cache):
    """
    Files of one compiled kernel, one for each combination of argument types.

    Numba prepares its compiler before it looks into its own cache: all that it knows of NumPy is
    imported, and SciPy's linear algebra with it, which takes as long as everything else until the
    first answer. Cached kernels do not need that; for others, Numba prepares itself again.

    :param allocates: whether the kernel may allocate memory, for which Numba has to be prepared
        after all: its allocator is part of that, and code that was loaded without it would crash.
    """

    def __init__(self, function: Callable, folder: Path, allocates: bool = True) -> None:
        self._folder = folder
        self._allocates = allocates
        code = function.__code__
        self._name = f'{function.__module__}.{function.__qualname__}-{code.co_firstlineno}'
        cells = tuple(cell.cell_contents for cell in function.__closure__ or ())
        self._stamp = (
            numba.__version__,
            llvmlite.__version__,
            sys.implementation.cache_tag,
            self._name,
            file_digest(code.co_filename),
            hashlib.sha256(code.co_code).hexdigest(),
            hashlib.sha256(dumps(cells) if cells else b'').hexdigest(),
        )
        self._enabled = True

    @property
    def cache_path(self) -> str:
        """The folder, under the name that Numba uses."""
        return str(self._folder)

    def load_overload(self, sig: tuple, target_context: CPUContext) -> CompileResult | None:
        """
        Load the code compiled for these types of arguments.

        :returns: Numba's compile result; None when there is none that can be trusted.
        """
        if not self._enabled:
            return None
        if self._allocates:
            target_context.refresh()
        key = self._key(sig, target_context.codegen())
        if key is None:
            return None
        path = self._path(key)
        try:
            payload = _verified(path.read_bytes())
        except OSError:
            return None
        try:
            stored, reduced = pickle.loads(payload) if payload else (None, ())
            if stored == key:
                result = CompileResult._rebuild(target_context, *reduced)
                # The types of this process: a class of a script is pickled with its code.
                return result._replace(signature=signature(result.signature.return_type, *sig))
        except Exception:  # a file of another process of another make, whatever its fault
            pass
        with suppress(OSError):
            path.unlink()
        return None

    def holds(self, sig: tuple, codegen: CPUCodegen) -> bool:
        """Return whether there is a file for these types of arguments."""
        key = self._key(sig, codegen)
        return key is not None and self._path(key).is_file()

    def save_overload(self, sig: tuple, data: Any) -> None:  # noqa: ANN401 - see below
        """
        Save the code compiled for these types of arguments, where possible.

        :param data: a :class:`CompileResult`, whose fields Numba makes at run time.
        """
        lifted = any(not loop.can_cache for loop in data.lifted)
        if not self._enabled or lifted or data.library.has_dynamic_globals:
            return
        key = self._key(sig, data.codegen)
        if key is None:
            return
        payload = dumps((key, data._reduce()))
        with suppress(OSError):
            _write(self._path(key), _MAGIC + _digest(payload) + payload)

    def enable(self) -> None:
        """Use the files."""
        self._enabled = True

    def disable(self) -> None:
        """Leave the files alone."""
        self._enabled = False

    def flush(self) -> None:
        """Throw away all files of this kernel."""
        for path in self._folder.glob(f'{_file_name(self._name)}.*'):
            with suppress(OSError):
                path.unlink()

    def _key(self, sig: tuple, codegen: CPUCodegen) -> tuple | None:
        """Return all that machine code depends on; None when that is not known."""
        foreign = [code_of(kind) for kind in foreign_types(sig)]
        if None in foreign:
            return None
        # By their names, foreign types are the same in every process.
        return (self._stamp, (str(sig), *foreign) if foreign else sig, codegen.magic_tuple())

    def _path(self, key: tuple) -> Path:
        digest = hashlib.sha256(repr(key).encode()).hexdigest()
        return self._folder / f'{_file_name(self._name)}.{digest[:24]}.nbc'


def _digest(payload: bytes) -> bytes:
    return hashlib.blake2b(payload, digest_size=_DIGEST_SIZE).digest()


def _verified(content: bytes) -> bytes | None:
    """Return the content behind the digest of a file; None when the file is damaged."""
    body = len(_MAGIC) + _DIGEST_SIZE
    payload = content[body:]
    return payload if content[:body] == _MAGIC + _digest(payload) else None


def _write(path: Path, content: bytes) -> None:
    """
    Write a file atomically.

    :raises OSError: it cannot be written; then nothing is left behind.
    """
    path.parent.mkdir(parents=True, exist_ok=True)  # it may have been deleted since
    _remove_half_written(path.parent)
    temporary = path.with_name(f'{path.name}.{uuid.uuid4().hex[:8]}.tmp')
    try:
        temporary.write_bytes(content)
        temporary.replace(path)
    finally:
        with suppress(OSError):
            temporary.unlink()


def _remove_half_written(folder: Path) -> None:
    """Remove half-written files of processes that have ended."""
    for path in folder.glob('*.tmp'):
        with suppress(OSError):
            if time.time() - path.stat().st_mtime > _STALE:
                path.unlink()


def _file_name(name: str) -> str:
    """Return the name of a function for a file, without the mark of local functions."""
    return name.replace('<', '').replace('>', '')[-150:]


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

    :param kind: a type that :func:`depend_on` has declared.
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
    """Return the digest of a source file; empty where there is none."""
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
    """Yield the dependencies of code through a global or a variable of an enclosing function."""
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
