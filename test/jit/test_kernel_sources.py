"""The source of the kernels: all that is compiled in is covered by the digest of the cache."""

import ast
from functools import cache
from pathlib import Path

from support.chains import REPOSITORY

from ik_service.jit.kernel_cache import SOURCE_FOLDERS

COMPILING = {'njit', 'jit', 'vectorize', 'guvectorize', 'cfunc', 'intrinsic', 'overload'}
"""Numba's decorators; those of the package stand in ``jit.compile``."""


def decorators():
    """Names under which the package compiles functions."""
    tree = ast.parse((REPOSITORY / 'ik_service' / 'jit' / 'compile.py').read_text())
    functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    step = ast.parse((REPOSITORY / 'ik_service' / 'solvers' / 'loop' / 'step.py').read_text())
    functions |= {node.name for node in step.body if isinstance(node, ast.FunctionDef)}
    return COMPILING | {name for name in functions if not name.startswith('_')}


def used_names(tree):
    """Names and attributes that stand anywhere in a piece of source."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr


def kernels_of(tree, compiling):
    """Functions of a module that have a compiling decorator."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and any(
            name in compiling
            for decorator in node.decorator_list
            for name in used_names(decorator)
        ):
            yield node


@cache
def sources():
    package = REPOSITORY / 'ik_service'
    return [
        (path.relative_to(package), ast.parse(path.read_text(encoding='utf-8')))
        for path in sorted(package.rglob('*.py'))
    ]


def is_covered(path):
    return any(path.is_relative_to(folder) for folder in SOURCE_FOLDERS)


def test_all_kernels_are_below_folders_that_the_digest_covers():
    compiling = decorators()
    assert {'kernel', 'inner_kernel', 'kernel_for', 'cached', 'step_of'} <= compiling
    found = [path for path, tree in sources() if [*kernels_of(tree, compiling)]]
    assert len(found) > 20
    assert [path for path in found if not is_covered(path)] == []


def test_only_modules_that_the_digest_covers_import_a_compiler():
    """Functions may be compiled without a decorator as well, as by ``kernel(function)``."""
    names = decorators()
    outside = [
        (path, alias.name)
        for path, tree in sources()
        if not is_covered(path) and path.name != '__init__.py'  # which passes names on
        for node in ast.walk(tree)
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for alias in node.names
        if f'{getattr(node, "module", None) or alias.name}.'.startswith('numba.')
        or (isinstance(node, ast.ImportFrom) and alias.name in names)
    ]
    assert outside == []


def test_kernels_use_nothing_of_the_package_that_the_digest_does_not_cover():
    """A constant or a function of another folder would be compiled in, and be changed unseen."""
    compiling = decorators()
    uncovered = []
    for path, tree in sources():
        foreign = {
            alias.asname or alias.name
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom)
            and (node.module or '').startswith('ik_service.')
            and not is_covered(Path(*node.module.split('.')[1:]))
            for alias in node.names
        }
        uncovered += [
            (path, kernel.name, name)
            for kernel in kernels_of(tree, compiling)
            for name in foreign.intersection(used_names(kernel))
        ]
    assert uncovered == []


def test_no_function_uses_the_unchecked_cache_of_numba():
    sources = (REPOSITORY / 'ik_service').rglob('*.py')
    assert [path for path in sources if '(cache=True' in path.read_text(encoding='utf-8')] == []
