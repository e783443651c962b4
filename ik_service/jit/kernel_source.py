"""
Digest of the source that kernels are made from.

Kernels call each other across files and use constants of other files, so the digest of a kernel
covers its file and all files of the package that this one imports, directly or by others. What a
kernel calls can also depend on the types of its arguments, so the files of these are covered as
well, and those of their variants and steps. Of a file only the bytecode counts, with its names and
constants: comments, docstrings, blank lines and what is imported for type checkers change nothing.

Files are read when the modules with kernels are imported, so that a process which goes on after an
edit does not pass its code off as that of the new text. Digests of files that were read before are
kept on disk: compiling takes longer than all else here.

Steps that users register lie outside the package, and can call functions and use constants of
further files: files of kernels with such a step in them carry a digest of all its code, see
:func:`code_of`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
import functools
import hashlib
import json
from pathlib import Path
import sys
from types import CodeType, FunctionType, ModuleType
from typing import cast, NamedTuple

from numba.core.serialize import dumps
import numpy as np

from ik_service.jit.cached_files import cache_folder, read_checked, write_checked

_ROOT = Path(__file__).resolve().parents[1]
_PACKAGE = _ROOT.name
_LIBRARIES = frozenset({'builtins', 'math', 'numba', 'numpy'})
"""Modules whose code is not looked at: their releases have versions."""
_MOST_KEPT = 2000  # digests of files that are kept on disk


class _Source(NamedTuple):
    """Source file, as far as kernels depend on it."""

    digest: str  # of the bytecode, with its names and constants
    imports: tuple[str, ...]  # dotted names of the package: modules, and their members


_sources: dict[str, _Source | None] = {}
"""Files that this process has read, by path; None where there is no source."""
_declared: dict[type, set[str]] = {}  # files of the variants and steps for a type, and of the type
_contained: dict[type, Callable] = {}  # step for a type


def read_sources(path: str) -> None:
    """Read a source file, and all files of the package that it imports."""
    if path not in _sources:
        _sources[path] = _source(path)
        for file in _imported(path):
            read_sources(file)


def source_digest(path: str, kinds: Iterable[type] = ()) -> str | None:
    """
    Return the digest of all source that a kernel is made from; None where there is none.

    :param path: the file with the kernel, which :func:`read_sources` has read.
    :param kinds: the NamedTuple types of its arguments.
    """
    _keep_digests()
    digest = hashlib.sha256()
    for file in sorted(source_files(path, kinds), key=_name_of):
        source = _sources.get(file)
        if source is None:
            return None
        digest.update(f'{_name_of(file)} {source.digest}\n'.encode())
    return digest.hexdigest()


def source_files(path: str, kinds: Iterable[type] = ()) -> set[str]:
    """
    Return the paths of all files that a kernel is made from.

    :param path: the file with the kernel, which :func:`read_sources` has read.
    :param kinds: the NamedTuple types of its arguments.
    """
    files: set[str] = set()
    found = {path, *(file for kind in kinds for file in _declared.get(kind, ()))}
    while found:
        files |= found
        found = {other for file in found for other in _imported(file)} - files
    return files


def declare_function(kind: type, function: Callable) -> None:
    """Declare that kernels for arguments of a NamedTuple type can contain a function."""
    files = file_of(kind), file_of(function)
    for file in files:
        read_sources(file)
    _declared.setdefault(kind, set()).update(files)


def depend_on(kind: type, function: Callable) -> None:
    """
    Declare that kernels for arguments of a type contain a function, as their step.

    :param kind: a NamedTuple type.
    :param function: the Python function.
    """
    declare_function(kind, function)
    _contained[kind] = function


def file_of(what: object) -> str:
    """Return the path of the source of a function or of a type; empty where there is none."""
    if isinstance(what, FunctionType):
        return what.__code__.co_filename
    module = sys.modules.get(getattr(what, '__module__', None) or '')
    return getattr(module, '__file__', None) or ''


def _source(path: str) -> _Source | None:
    try:
        content = Path(path).read_bytes()
        raw = hashlib.sha256(content).hexdigest()
        if raw not in _kept():
            _kept()[raw] = _compiled(content)
            _fresh.append(raw)
        return _kept()[raw]
    except (OSError, SyntaxError, ValueError):  # ValueError: a null byte
        return None


def _compiled(content: bytes) -> _Source:
    """Return what counts of the content of a file."""
    tree = ast.parse(content)
    tree.body = [node for node in tree.body if not _is_for_type_checkers(node)]
    imports: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            imports += _names(node)
        elif isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
            _empty_docstring(node)
    code = compile(tree, '', 'exec', dont_inherit=True, optimize=0)
    return _Source(digest_of_code(code), tuple(dict.fromkeys(imports)))


def digest_of_code(code: CodeType) -> str:
    """Return the digest of some bytecode, with its names and constants, and of all inside it."""
    return hashlib.sha256(repr([*map(_counting, _nested(code))]).encode()).hexdigest()


def _empty_docstring(node: ast.Module | ast.ClassDef | ast.FunctionDef) -> None:
    match node.body:
        case [ast.Expr(value=ast.Constant(value=str()) as text), *_]:
            text.value = ''


def code_without_docstring(function: FunctionType) -> CodeType:
    """Return the bytecode of a function, as if it had no docstring."""
    code = function.__code__
    return code.replace(
        co_consts=tuple('' if value == function.__doc__ else value for value in code.co_consts)
    )


def _is_for_type_checkers(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and ast.dump(node.test) == _TYPE_CHECKING and not node.orelse


_TYPE_CHECKING = ast.dump(ast.Name('TYPE_CHECKING', ast.Load()))


def _names(node: ast.Import | ast.ImportFrom) -> list[str]:
    """Return all of the package that an import may load: modules, and members that may be some."""
    names = [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        names = [node.module or '', *(f'{node.module}.{name}' for name in names)]
    return [name for name in names if name.partition('.')[0] == _PACKAGE]


def _counting(code: CodeType) -> tuple[object, ...]:
    """Return what counts of a piece of bytecode."""
    constants = [
        sorted(map(repr, value)) if isinstance(value, frozenset) else value
        for value in code.co_consts
        if not isinstance(value, CodeType)
    ]
    arguments = code.co_argcount, code.co_varnames, code.co_cellvars, code.co_freevars
    return code.co_name, code.co_code, code.co_names, arguments, constants


@functools.cache
def _imported(path: str) -> list[str]:
    """Return the files of the package that a file which was read imports, and of its folders."""
    source = _sources.get(path)
    if source is None:
        return []
    parents = [folder for folder in Path(path).parents if _ROOT in folder.parents]
    files = [str(folder / '__init__.py') for folder in parents]
    return files + [file for name in source.imports for file in _files(name)]


@functools.cache
def _files(name: str) -> list[str]:
    """Return the file of a module; none for a member of one."""
    base = _ROOT.parent.joinpath(*name.split('.'))
    return [str(p) for p in (base.with_suffix('.py'), base / '__init__.py') if p.is_file()]


@functools.cache
def _name_of(path: str) -> str:
    """Return the name of a file that is the same wherever the package is installed."""
    file = Path(path)
    return file.relative_to(_ROOT).as_posix() if file.is_relative_to(_ROOT) else file.name


_fresh: list[str] = []  # digests of the content of files that are not on disk yet


@functools.cache
def _kept() -> dict[str, _Source]:
    """Return what is known of files, by the digest of their content."""
    path = _kept_path()
    with suppress(OSError, ValueError, TypeError):
        payload = None if path is None else read_checked(path)
        if payload is not None:
            return {
                raw: _Source(digest, tuple(imports))
                for raw, (digest, imports) in json.loads(payload).items()
            }
    return {}


def _keep_digests() -> None:
    """Write what is known of files to disk, where something is new and that is possible."""
    path = _kept_path()
    if _fresh and path is not None:
        _fresh.clear()
        latest = dict([*_kept().items()][-_MOST_KEPT:])
        with suppress(OSError):
            write_checked(path, json.dumps(latest).encode())


def _kept_path() -> Path | None:
    folder = cache_folder()
    return None if folder is None else folder / f'sources.{sys.implementation.cache_tag}.json'


def code_of(kind: type) -> str | None:
    """Return the digest of all code that kernels contain for a declared type; None without."""
    digest = hashlib.sha256(
        f'{kind.__module__}.{kind.__qualname__} {kind.__annotations__}'.encode()
    )
    try:
        for part in _parts(cast(FunctionType, _contained[kind]), set()):
            digest.update(hashlib.sha256(part).digest())
    except Exception:  # whatever an object raises that cannot be pickled
        return None
    return digest.hexdigest()


def is_foreign(kind: type) -> bool:
    """Return whether kernels contain a function for a type from outside the package."""
    return kind in _contained and kind.__module__.partition('.')[0] != _PACKAGE


def _digest_of(path: str) -> bytes:
    read_sources(path)
    return (source_digest(path) or '').encode()


def _parts(function: FunctionType, seen: set[int]) -> Iterator[bytes]:
    """Yield everything that the machine code of a function depends on."""
    if id(function) in seen:
        return
    seen.add(id(function))
    code = function.__code__
    yield _digest_of(code.co_filename)
    used: set[str] = set()
    yield digest_of_code(code_without_docstring(function)).encode()
    for part in _nested(code):
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
            yield _digest_of(value.__file__ or '')
            for name in sorted(used):
                if hasattr(value, name):
                    yield from _value(getattr(value, name), used, seen)
        return
    function = getattr(value, 'py_func', value)
    home = str(getattr(function, '__module__', ''))
    if not callable(function):
        yield dumps(value)
    elif home.partition('.')[0] in _LIBRARIES or isinstance(function, np.ufunc):
        yield f'{home}.{getattr(function, "__name__", "")}'.encode()
    elif isinstance(function, FunctionType) and home.partition('.')[0] != _PACKAGE:
        yield from _parts(function, seen)
    else:  # a class, such as an enumeration, or a function of the package
        yield _digest_of(file_of(function))


def _nested(code: CodeType) -> Iterator[CodeType]:
    """Yield a function's code and that of the functions inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _nested(constant)
