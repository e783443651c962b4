"""
File that describes a cell: its arms, their namespaces and prefixes, and where they stand.

``config/cell.yaml`` is an example.
"""

from __future__ import annotations

import os
from pathlib import Path
import re

import yaml

from ik_service.common.quoting import safe_repr
from ik_service.common.regular_file import read_regular
from ik_service.extras.cells.arm_section import read_arm
from ik_service.extras.cells.cell import Cell
from ik_service.extras.cells.cell_section import CellError, CellSection
from ik_service.extras.cells.separation import check_topics

MOST_ARMS = 64
ONE_PER_ARM = 'one_per_arm'

_LONGEST = 2**20  # of the file [byte]
_KEYS = ('world', 'simulate', 'processes', 'frame_rate', 'arms')
_NAME = re.compile(r'[A-Za-z][A-Za-z0-9_]*')


def read_cell(
    file: str | os.PathLike[str], simulate: bool | None = None, processes: object = None
) -> Cell:
    """
    Read a cell file; whether its robots go together is seen where they are read.

    :param file: the file.
    :param simulate: whether all its arms are simulated ones; None for what the file says.
    :param processes: over how many processes its arms are spread, or :data:`ONE_PER_ARM`; None
        for what the file says.
    :raises CellError: it cannot be read, a key is unknown, missing or given twice, or a value
        cannot be; or two arms have the same namespace, or one inside that of the other, or take
        their commands on the same topic.
    """
    path = Path(os.path.expanduser(file)).absolute()
    cell = CellSection(path, '', _loaded(path))
    cell.refuse_others(_KEYS)
    entries = [*cell.section('arms').items()]
    if not 1 <= len(entries) <= MOST_ARMS:
        raise cell.error('arms', f'has to hold 1 to {MOST_ARMS} arms, not {len(entries)}')
    simulated = cell.flag('simulate', False)
    for name, _ in entries:
        if not _NAME.fullmatch(name):
            reason = 'is no name: letters, digits and underscores, a letter first'
            raise CellError(path, name, '', reason)
    arms = [
        read_arm(CellSection(path, name, values), name, simulated, simulate)
        for name, values in entries
    ]
    world = cell.text('world', 'world').lstrip('/')
    if not world:
        raise cell.error('world', 'is empty; it is the name of a frame')
    rate = cell.number('frame_rate', 20.0, 1.0, 500.0)
    count = _processes(
        cell, cell.value('processes') if processes is None else processes, len(arms)
    )
    read = Cell(path, world, count, rate, tuple(arms))
    check_topics(read)
    return read


class _UniqueKeys(yaml.SafeLoader):
    """Loader that refuses a key that stands twice, of which YAML would keep the last."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._checked: set[yaml.MappingNode] = set()

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        """Check the keys as they stand in the file, before those of ``<<`` come to them."""
        if node not in self._checked:  # a section that others merge comes here again
            self._checked.add(node)
            self._check(node)
        super().flatten_mapping(node)

    def _check(self, node: yaml.MappingNode) -> None:
        seen: list[object] = []
        for key_node, _ in node.value:
            merges = key_node.tag == 'tag:yaml.org,2002:merge'
            key = '<<' if merges else self.construct_object(key_node, deep=True)
            if key in seen:
                several = '; of several sections: <<: [*one, *other]' if merges else ''
                problem = f'the key {safe_repr(key)} stands twice{several}'
                mark = key_node.start_mark
                raise yaml.constructor.ConstructorError(None, None, problem, mark)
            seen.append(key)


def _loaded(path: Path) -> object:
    try:
        return yaml.load(read_regular(path, _LONGEST).decode('utf-8'), Loader=_UniqueKeys)
    except OSError as error:
        reason = f'cannot be read: {error.strerror or error}'
        raise CellError(path, '', '', reason) from error
    except (UnicodeDecodeError, yaml.YAMLError, ValueError, RecursionError) as error:
        reason = ' '.join(str(error).split())
        raise CellError(path, '', '', f'is not YAML: {reason}') from error


def _processes(cell: CellSection, value: object, arms: int) -> int:
    if value == ONE_PER_ARM:
        return arms
    if value is None:
        return 1
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        reason = f'has to be a whole number from 1 on or {ONE_PER_ARM}, not {safe_repr(value)}'
        raise cell.error('processes', reason)
    return min(value, arms)
