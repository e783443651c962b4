"""Parameters that a parameter file gives to all nodes, not to one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
import sys

import yaml

_FILE = '--params-file'
_ALL = ('*', '**')  # last part of a key for nodes of any name


def given_to_all_nodes(words: Sequence[str] | None = None) -> frozenset[str]:
    """
    Return the names of parameters that files give to nodes of any name, as under ``/**``.

    What a file gives to a node by its name, too, is not among them.

    :param words: the command line; None for that of the process.
    """
    words = sys.argv if words is None else words
    shared: set[str] = set()
    named: set[str] = set()
    for option, file in pairwise(words):
        for node, parameters in _sections(file) if option == _FILE else ():
            names = shared if node.rpartition('/')[2] in _ALL else named
            names.update(_flat(parameters))
    return frozenset(shared - named)


def _sections(file: str) -> Iterator[tuple[str, Mapping[object, object]]]:
    """Yield the parts of a file with the names of the nodes that they are for."""
    try:
        content = yaml.safe_load(Path(file).read_text(encoding='utf-8'))
    except (OSError, ValueError, yaml.YAMLError):  # ROS itself has told it
        return
    yield from _nested('', content)


def _nested(node: str, content: object) -> Iterator[tuple[str, Mapping[object, object]]]:
    """Yield the sections of a mapping; names of nodes may be nested in namespaces."""
    if not isinstance(content, Mapping):
        return
    for key, value in content.items():
        if key == 'ros__parameters' and isinstance(value, Mapping):
            yield node, value
        else:
            yield from _nested(f'{node}/{key}', value)


def _flat(parameters: Mapping[object, object], prefix: str = '') -> Iterator[str]:
    """Yield the names of parameters, as ROS joins them by dots."""
    for key, value in parameters.items():
        name = f'{prefix}{key}'
        if isinstance(value, Mapping):
            yield from _flat(value, f'{name}.')
        else:
            yield name
