"""Nodes that parameter files are for: all, one by its name, or by mistake none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
import re
import sys

import yaml

Section = tuple[str, Mapping[str, object]]  # nodes that it is for, and parameters by name

_FILE = '--params-file'
_ALL = ('*', '**')  # last part of a key for nodes of any name


def given_to_all_nodes(words: Sequence[str] | None = None) -> frozenset[str]:
    """
    Return the names of parameters that files give to nodes of any name, as under ``/**``.

    Parameters that a file gives to a node by its name, too, are not among them.

    :param words: the command line; None for that of the process.
    """
    shared: set[str] = set()
    named: set[str] = set()
    for _, sections_of_file in _files(words):
        for node, parameters in sections_of_file:
            names = shared if node.rpartition('/')[2] in _ALL else named
            names.update(_flat(parameters))
    return frozenset(shared - named)


def files_for_others(
    node: str, words: Sequence[str] | None = None
) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """
    Return the parameter files without a section for a node, with the nodes that they are for.

    :param node: its fully qualified name, such as ``/cell_1/ik_service``.
    :param words: the command line; None for that of the process.
    """
    found = []
    for file, sections_of_file in _files(words):
        names = tuple(dict.fromkeys(name for name, _ in sections_of_file))
        if names and not any(is_for(name, node) for name in names):
            found.append((file, names))
    return tuple(found)


def sections(tree: object, node: str = '') -> Iterator[Section]:
    """
    Yield the parts of a parameter file with the nodes that they are for, in its order.

    :param tree: the content; names of nodes may be nested in namespaces.
    :param node: the namespace that it is in.
    """
    if not isinstance(tree, Mapping):
        return
    for key, value in tree.items():
        if key == 'ros__parameters' and isinstance(value, Mapping):
            yield node, value
        else:
            yield from sections(value, f'{node}/{str(key).lstrip("/")}')


def is_for(section: str, node: str) -> bool:
    """
    Return whether a section of a parameter file is for a node, as rclpy decides.

    :param section: the section's name, with wildcards, such as ``/**`` or ``/cell_1/*``.
    :param node: fully qualified name of the node.
    """
    pattern = re.escape(section).replace(r'/\*\*', r'(/\w+)*').replace(r'/\*', r'(/\w+)')
    return re.fullmatch(pattern, node) is not None


def _files(words: Sequence[str] | None) -> Iterator[tuple[str, list[Section]]]:
    """Yield the parameter files of a command line, with their parts."""
    for option, file in pairwise(sys.argv if words is None else words):
        if option == _FILE:
            with suppress(OSError, ValueError, yaml.YAMLError):  # ROS itself has reported it
                content = yaml.safe_load(Path(file).read_text(encoding='utf-8'))
                yield file, [*sections(content)]


def _flat(parameters: Mapping[str, object], prefix: str = '') -> Iterator[str]:
    """Yield the names of parameters, as ROS joins them by dots."""
    for key, value in parameters.items():
        name = f'{prefix}{key}'
        if isinstance(value, Mapping):
            yield from _flat(value, f'{name}.')
        else:
            yield name
