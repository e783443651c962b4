"""
Imports of the package point one way, and ROS stays in ``ros/`` and some extras.

Every import statement counts, also those inside functions and those for type checkers.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter

from support.chains import REPOSITORY

PACKAGE = 'ik_service'

LAYERS = (
    ('', 'exceptions', 'common'),  # '' is the package itself, which loads its names lazily
    ('model',),
    ('jit',),
    ('kinematics',),
    ('robot',),
    ('solvers',),
    ('paths',),
    ('motion',),
    ('collision', 'drawing', 'sim'),
    ('arm',),
    ('ros',),
    ('cli',),
)
"""Rooms of the core from bottom to top: one imports itself and what lies below it."""

EXTRAS = {
    'cells': set(),
    'conformance': set(),
    'dynamics': set(),
    'learning': set(),
    'planning': set(),
    'reach': {'scale'},
    'scale': set(),
    'studies': {'reach'},
    'viewer': {'reach', 'scale'},
}
"""Folders of ``extras/``: which other ones each imports, besides all of the core."""

RANKS = {room: rank for rank, rooms in enumerate(LAYERS) for room in rooms}

ROS_ROOMS = ('ros', 'extras.cells', 'extras.conformance', 'extras.planning.ros', 'extras.viewer')
ROS_MODULES = {'builtin_interfaces', 'interactive_markers', 'rcl_interfaces', 'rclpy', 'tf2_ros'}
ROS_SUFFIXES = ('_msgs', '_srvs')

ALLOWED_IN_ROS = {
    'ros.common.bringup': 'it reads ROS parameter files and names nodes, for launch files',
    'ros.demo.take_over': 'it holds names of ROS that the demo and the page share',
    'ros.common.errors': 'it holds the error codes of the services',
    'ros.common.domain': 'it chooses the ROS domain of programs that are started together',
}
"""Modules of ``ros/`` without ROS: why they are there."""

ALLOWED_ROS_ELSEWHERE = {'common.resources', 'extras.reach.cloud_publisher', 'extras.reach.study'}
"""Modules outside of those rooms that import ROS."""


@cache
def modules() -> dict[str, tuple[tuple[str, ...], int]]:
    """Full names of what each module imports, wherever in it, and the count of its statements."""
    found = {}
    for path in sorted((REPOSITORY / PACKAGE).rglob('*.py')):
        parts = path.relative_to(REPOSITORY).with_suffix('').parts
        tree = ast.parse(path.read_text())  # which is not kept: that would take Python seconds
        name = '.'.join(parts[:-1] if parts[-1] == '__init__' else parts)
        found[name] = tuple(imported_names(tree)), len(tree.body)
    return found


def imported_names(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        assert node.level == 0, 'imports are absolute'
        yield from (f'{node.module}.{alias.name}' for alias in node.names)
    for block in ('body', 'orelse', 'finalbody', 'handlers', 'cases'):
        for statement in getattr(node, block, ()):  # no import is inside of an expression
            yield from imported_names(statement)


@cache
def imports_of(name: str) -> frozenset[str]:
    """The modules of the package that a module imports."""
    found = set()
    for imported in modules()[name][0]:
        while imported and imported not in modules():
            imported = imported.rpartition('.')[0]
        found.add(imported)
    return frozenset(found - {'', name})


def room_of(name: str) -> str:
    """The folder of the package in which a module is, or the folder of ``extras``."""
    parts = f'{name}.'.split('.')
    return '.'.join(parts[1:3]) if parts[1] == 'extras' and parts[2] else parts[1]


def uses_ros(name: str) -> bool:
    packages = {imported.partition('.')[0] for imported in modules()[name][0]}
    return any(p in ROS_MODULES or p.endswith(ROS_SUFFIXES) for p in packages)


def uses_ros_through_siblings(name: str) -> bool:
    """Whether a module imports ROS, or a module of its room that does."""
    pending, seen = [name], {name}
    while pending:
        module = pending.pop()
        if uses_ros(module):
            return True
        siblings = {m for m in imports_of(module) if room_of(m) == room_of(name)} - seen
        seen |= siblings
        pending += siblings
    return False


def may_import(mine: str, other: str) -> bool:
    """Whether a room may import another one."""
    folder, extra = mine.removeprefix('extras.'), other.removeprefix('extras.')
    if other != extra:
        return mine != folder and extra in EXTRAS[folder]
    return mine != folder or RANKS[other] < RANKS[mine]


def upward_imports() -> set[tuple[str, str]]:
    found = set()
    for name in modules():
        if name == PACKAGE:
            continue
        for imported in imports_of(name):
            mine, other = room_of(name), room_of(imported)
            base = {mine, other} <= set(LAYERS[0])
            if mine != other and not base and not may_import(mine, other):
                found.add((name.removeprefix('ik_service.'), imported.removeprefix('ik_service.')))
    return found


def test_every_room_has_a_layer():
    extras = {f'extras.{name}' for name in EXTRAS}
    assert {room_of(name) for name in modules()} == {*RANKS, *extras, 'extras'}


def test_imports_point_down():
    assert upward_imports() == set()


def test_ros_is_imported_by_ros_and_some_extras_only():
    found = {
        name.removeprefix('ik_service.')
        for name in modules()
        if not f'{name}.'.startswith(tuple(f'{PACKAGE}.{room}.' for room in ROS_ROOMS))
        and uses_ros(name)
    }
    assert found == ALLOWED_ROS_ELSEWHERE


def test_modules_in_ros_use_ros():
    found = {
        name.removeprefix('ik_service.')
        for name, (_, statements) in modules().items()
        if room_of(name) == 'ros'
        and statements > 1  # not the docstring of a folder
        and not uses_ros_through_siblings(name)
    }
    assert found == ALLOWED_IN_ROS.keys()


def circle(graph: dict[str, set[str]]) -> str:
    """A circle in a graph of imports, in words; empty for none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return ' → '.join(reversed(error.args[1]))
    return ''


def test_no_module_imports_itself_through_others():
    names = modules().keys() - {PACKAGE}
    assert not circle({name: {*imports_of(name)} - {PACKAGE} for name in names})


def test_no_folder_of_ros_imports_itself_through_others():
    graph: dict[str, set[str]] = {}
    for name in modules():
        folder, _, _ = name.rpartition('.')
        if folder.startswith(f'{PACKAGE}.ros.'):
            others = {imported.rpartition('.')[0] for imported in imports_of(name)}
            graph.setdefault(folder, set()).update(others - {folder})
    assert not circle(graph)
