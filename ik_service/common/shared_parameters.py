"""Nodes that parameter files are for: all, one by its name, or by mistake none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
import re
import sys

import yaml

from ik_service.common.quoting import safe_repr

Section = tuple[str, Mapping[str, object]]  # nodes that it is for, and parameters by name

_FILE = '--params-file'
_ALL = ('*', '**')  # last part of a key for nodes of any name


def given_to_all_nodes(words: Sequence[str] | None = None) -> frozenset[str]:
    """
    Return the names of parameters that are given to nodes of any name.

    Files do so under ``/**``, and launch files by ``SetParameter``, which launch passes on as
    ``-p`` after the name of the node. Parameters that a file gives to a node by its name, too, are
    not among them.

    :param words: the command line; None for that of the process.
    """
    words = sys.argv if words is None else words
    named_at = next((i for i, w in enumerate(words) if w.startswith('__node:=')), len(words))
    after = [*pairwise(words[named_at:])]
    shared = {rule.partition(':=')[0] for option, rule in after if option == '-p'}
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


def fault_of_files(words: Sequence[str]) -> str:
    """Return which file of a command line, that ROS has accepted, is none; empty for none."""
    faults = ((file, fault_of(content)) for file, content in _contents(words))
    return next((f'{_FILE} {file}: {fault}' for file, fault in faults if fault), '')


def fault_of(tree: object) -> str:
    """
    Return why the content of a parameter file is none; empty where it may be one.

    ROS refuses other faults, but takes a single value for an empty file.
    """
    if tree is None or isinstance(tree, Mapping):
        return ''
    return (
        f'holds no parameters, but {safe_repr(tree)}; a parameter file begins with '
        "'ik_service: {ros__parameters: …'"
    )


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
    return ((file, [*sections(content)]) for file, content in _contents(words))


def _contents(words: Sequence[str] | None) -> Iterator[tuple[str, object]]:
    for option, file in pairwise(sys.argv if words is None else words):
        if option == _FILE:
            with suppress(OSError, ValueError, yaml.YAMLError):  # ROS itself has reported it
                content = yaml.safe_load(Path(file).read_text(encoding='utf-8'))
                yield file, content


def _flat(parameters: Mapping[str, object], prefix: str = '') -> Iterator[str]:
    """Yield the names of parameters, as ROS joins them by dots."""
    for key, value in parameters.items():
        name = f'{prefix}{key}'
        if isinstance(value, Mapping):
            yield from _flat(value, f'{name}.')
        else:
            yield name
