"""
Figures of the source tree: modules, lines, files per folder, and what they are for.

    python benchmarks/source_statistics.py [ROOT] [--renamed MAP]

A tree of an older layout is read with MAP, a JSON object from its module names to the present
ones, both below ``ik_service`` and without its name.
"""

from __future__ import annotations

import argparse
import ast
from collections import Counter
from collections.abc import Iterator, Mapping
import json
from pathlib import Path

CORE = frozenset(
    {'model', 'kinematics', 'solvers', 'arm', 'following', 'ros.ik', 'ros.common', 'ros.following'}
)
"""The rooms between a URDF and joint commands; the package's own two modules count as well."""

ROOTS = frozenset({'__init__', 'exceptions'})
_ROS = ('rclpy', 'builtin_interfaces', 'tf2_ros', 'interactive_markers')
_MESSAGES = ('_msgs', '_srvs', '_interfaces')


def room_of(module: str) -> str:
    """
    Return the room that a module belongs to.

    :param module: its name below the package, such as ``ros.ik.ik_node``.
    :returns: its folder, the two upper levels of it below ``ros``; the module itself at the root.
    """
    parts = module.split('.')
    depth = 2 if parts[0] == 'ros' else 1
    return '.'.join(parts[: min(depth, max(len(parts) - 1, 1))])


def imports_ros(source: str) -> bool:
    """
    Return whether a module imports a package of ROS.

    :param source: its text.
    """
    return any(
        name.split('.')[0] in _ROS or name.split('.')[0].endswith(_MESSAGES)
        for name in _imported(ast.parse(source))
    )


def _imported(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ''


def report(root: Path, renamed: Mapping[str, str]) -> str:
    """
    Return the figures of a source tree as text.

    :param root: the repository.
    :param renamed: present names of modules by those in the tree.
    """
    package = root / 'ik_service'
    lines, modules, folders = Counter[str](), Counter[str](), Counter[str]()
    without_ros = []
    for path in sorted(package.rglob('*.py')):
        name = '.'.join(path.relative_to(package).with_suffix('').parts)
        source = path.read_text(encoding='utf-8')
        room = room_of(renamed.get(name, name))
        lines[room] += len(source.splitlines())
        modules[room] += 1
        folders['.'.join(path.relative_to(root).parts[:-1])] += path.stem != '__init__'
        if name.startswith('ros.') and path.stem != '__init__' and not imports_ros(source):
            without_ros.append(name)
    total = sum(lines.values())
    core = sum(count for room, count in lines.items() if room in CORE | ROOTS)
    text = [
        f'{sum(modules.values())} modules, {total:,} lines',
        f'{core:,} lines ({core / total:.0%}) between a URDF and joint commands',
        f'{len(without_ros)} files in ros/ import no ROS: {", ".join(without_ros) or "-"}',
        '',
        'room, modules, lines:',
        *(f'{room:16} {modules[room]:4} {lines[room]:7,}' for room in sorted(lines)),
        '',
        'files in a folder, the fullest first:',
        *(f'{count:4}  {folder}' for folder, count in folders.most_common()),
    ]
    return '\n'.join(text)


def main() -> None:
    """Print the figures of a source tree."""
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    here = Path(__file__).resolve().parents[1]
    parser.add_argument('root', nargs='?', type=Path, default=here, help='the repository')
    parser.add_argument('--renamed', type=Path, metavar='MAP', help='JSON: old to present names')
    options = parser.parse_args()
    renamed = json.loads(options.renamed.read_text()) if options.renamed else {}
    print(report(options.root, renamed))


if __name__ == '__main__':
    main()
