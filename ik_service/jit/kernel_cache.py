"""
Disk cache of compiled kernels.

Loading damaged machine code can end the process, and unpickling damaged data can do anything. So
the files are checked before they are unpickled or loaded; a damaged one is thrown away and
compiled again. Nothing here fails a compilation: where a file cannot be written, because the disk
is full for example, the kernel is compiled anew in each process.

Numba's own disk cache checks nothing, and looks only at the file of the function that is called,
not at the files of the functions it calls in turn. Here the name of a file is a digest of all that
the machine code is made from, see :mod:`~ik_service.jit.kernel_source`: changed source can never
meet stale code, and code of other versions of the source can stay beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
import hashlib
from pathlib import Path
import pickle
import sys
from types import FunctionType
from typing import Any

import llvmlite
import numba
from numba.core import types
from numba.core.caching import _Cache
from numba.core.codegen import CPUCodegen
from numba.core.compiler import CompileResult
from numba.core.cpu import CPUContext
from numba.core.serialize import dumps
from numba.core.typing.templates import signature

from ik_service.jit.cached_files import read_checked, write_checked
from ik_service.jit.kernel_source import (
    code_of,
    code_without_docstring,
    digest_of_code,
    file_of,
    is_foreign,
    read_sources,
    source_digest,
)


class KernelCache(_Cache):
    """
    Files of one compiled kernel, one for each combination of argument types.

    Numba prepares its compiler before it looks into its own cache: all that it knows of NumPy is
    imported, and SciPy's linear algebra with it, which takes as long as everything else until the
    first answer. Cached kernels do not need that; for others, Numba prepares itself again.

    :param allocates: whether the kernel may allocate memory, for which Numba has to be prepared
        after all: its allocator is part of that, and code that was loaded without it would crash.
    """

    def __init__(self, function: FunctionType, folder: Path, allocates: bool = True) -> None:
        self._folder = folder
        self._allocates = allocates
        self._file = file_of(function)
        read_sources(self._file)
        self._name = f'{function.__module__}.{function.__qualname__}'
        cells = tuple(cell.cell_contents for cell in function.__closure__ or ())
        self._stamp = (
            numba.__version__,
            llvmlite.__version__,
            sys.implementation.cache_tag,
            sys.flags.optimize,  # whether there are assertions
            self._name,
            digest_of_code(code_without_docstring(function)),
            hashlib.sha256(dumps(cells) if cells else b'').hexdigest(),
        )
        self._enabled = True

    @property
    def cache_path(self) -> str:
        """The folder, under the name that Numba uses."""
        return str(self._folder)

    def load_overload(self, sig: tuple, target_context: CPUContext) -> CompileResult | None:
        """Load the code for these types of arguments; None where none can be trusted."""
        if not self._enabled:
            return None
        if self._allocates:
            target_context.refresh()
        key = self._key(sig, target_context.codegen())
        if key is None:
            return None
        path = self._path(key)
        try:
            payload = read_checked(path)
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
            write_checked(self._path(key), payload)

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
        kinds = {kind: kind._fields for kind in _named_tuples(sig)}
        foreign = [code_of(kind) for kind in kinds if is_foreign(kind)]
        source = source_digest(self._file, kinds)
        if source is None or None in foreign:
            return None
        # By their names, foreign types are the same in every process.
        arguments = (str(sig), *foreign) if foreign else sig
        return self._stamp, source, [*kinds.values()], arguments, codegen.magic_tuple()

    def _path(self, key: tuple) -> Path:
        digest = hashlib.sha256(repr(key).encode()).hexdigest()
        return self._folder / f'{_file_name(self._name)}.{digest[:24]}.nbc'


def _file_name(name: str) -> str:
    """Return the name of a function for a file, without the mark of local functions."""
    return name.replace('<', '').replace('>', '')[-150:]


_NAMED = types.NamedTuple, types.NamedUniTuple


def _named_tuples(arguments: Iterable[types.Type]) -> Iterator[Any]:
    """Yield the NamedTuple types among some of Numba's types, and those inside them."""
    for argument in arguments:
        if isinstance(argument, _NAMED):
            yield argument.instance_class
        if isinstance(argument, (types.Tuple, types.UniTuple, *_NAMED)):
            yield from _named_tuples(argument.types)
