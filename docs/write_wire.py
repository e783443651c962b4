"""
Tables of the wire in docs/withstands.md, from benchmarks/results/wire_before.csv and wire.csv.

    make bench-wire
    python docs/write_wire.py [--check]

Only what stands between ``<!-- wire -->`` and ``<!-- end wire -->`` is written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import csv
from pathlib import Path
import re
import sys

DOCS = Path(__file__).parent
PAGE, RESULTS = 'withstands.md', DOCS.parent / 'benchmarks' / 'results'
_MARKS = re.compile(r'(<!-- wire -->\n).*?(<!-- end wire -->)', re.DOTALL)

Rows = Mapping[tuple[str, str, str], Mapping[str, str]]
"""Figures by interface, controller and case."""


def main(arguments: Sequence[str] | None = None, docs: Path = DOCS) -> int:
    """
    Write the tables, or check them.

    :param arguments: the command line; ``--check`` or nothing.
    :param docs: folder of the page.
    :returns: the exit code.
    """
    arguments = sys.argv[1:] if arguments is None else arguments
    path = docs / PAGE
    old = path.read_text(encoding='utf-8')
    tables = written(read('wire_before'), read('wire'))
    text, count = _MARKS.subn(lambda m: f'{m[1]}{tables}\n{m[2]}', old)
    if count != 1:
        raise ValueError(f'{PAGE} has to hold "<!-- wire -->" once, and "<!-- end wire -->" after')
    if '--check' in arguments:
        print(f'the wire in {PAGE} is {"up to date" if text == old else "out of date"}')
        return 0 if text == old else 1
    path.write_text(text, encoding='utf-8')
    return 0


def read(name: str) -> Rows:
    """
    Return the figures of a file.

    :param name: of the file.
    """
    with (RESULTS / f'{name}.csv').open(newline='') as file:
        return {(r['interface'], r['controller'], r['case']): r for r in csv.DictReader(file)}


def written(before: Rows, now: Rows) -> str:
    """
    Return the tables.

    :param before: figures before the gate.
    :param now: present figures.
    """
    return '\n\n'.join(
        (
            '`joint_trajectory`, a controller that replaces the active trajectory '
            '(Humble to Kilted; 6.8 and 6.9 give the same):',
            _trajectories(before, now, 'replaces'),
            '`joint_trajectory`, a controller that blends (after 6.9):',
            _trajectories(before, now, 'blends'),
            'The first controller, with jerk limits of 300 rad/s³ for every joint (before: '
            'commit 50bcb221):',
            _trajectories(before, now, 'smoothly', jerk=True),
            'The other interfaces, velocity · acceleration as shares of the limits; join of '
            'positions beyond what the velocity limits allow since the last message:',
            _others(before, now),
            'MoveIt Servo, by a model of its loop, with the same controllers:',
            _servo(now),
        )
    )


def _cases(rows: Rows, interface: str, controller: str) -> list[str]:
    return [case for i, c, case in rows if (i, c) == (interface, controller)]


def _trajectories(before: Rows, now: Rows, controller: str, jerk: bool = False) -> str:
    quantities = 'Join [mrad]', 'Overrun [rad]', 'Way to rest [s]', 'Gate'
    head, rows = ('Case', 'Step', 'Acceleration', *(['Jerk'] * jerk), *quantities), []
    for case in _cases(now, 'joint_trajectory', controller):
        key = 'joint_trajectory', controller, case
        old, new = before.get(key), now[key]
        rows.append(
            (
                case,
                _change(old, new, 'step'),
                _change(old, new, 'acceleration'),
                *([_change(old, new, 'jerk')] if jerk else []),
                _change(old, new, 'join', 1e3),
                _change(old, new, 'overrun'),
                _change(old, new, 'lasts'),
                new['gate'],
            )
        )
    return _table(head, rows)


def _others(before: Rows, now: Rows) -> str:
    interfaces = ('joint_command', 'position_commands', 'velocity_commands')
    rows = []
    for case in _cases(now, 'joint_command', 'forwards'):
        keys = [(interface, 'forwards', case) for interface in interfaces]
        pairs = [_pair(before.get(key), now[key]) for key in keys]
        join = _number(now[keys[0]]['join'], 1e3)
        rows.append((case, *pairs, join, ' · '.join(now[key]['gate'] for key in keys)))
    names = [f'`{interface}`' for interface in interfaces]
    return _table(('Case', *names, 'Join [mrad]', 'Gate'), rows)


def _servo(now: Rows) -> str:
    head = ('Case', 'Step: replaces', 'blends', 'Acceleration: replaces', 'blends')
    rows = []
    for case in _cases(now, 'MoveIt Servo', 'replaces'):
        two = [now['MoveIt Servo', controller, case] for controller in ('replaces', 'blends')]
        cells = [_number(row[name]) for name in ('step', 'acceleration') for row in two]
        rows.append((case, *cells))
    return _table(head, rows)


def _pair(old: Mapping[str, str] | None, new: Mapping[str, str]) -> str:
    return f'{_change(old, new, "velocity")} · {_change(old, new, "acceleration")}'


def _change(
    old: Mapping[str, str] | None, new: Mapping[str, str], name: str, unit: float = 1.0
) -> str:
    after = _number(new[name], unit)
    first = after if old is None else _number(old[name], unit)
    return after if first == after else f'{first} → {after}'


def _number(text: str, unit: float = 1.0) -> str:
    value = unit * float(text)
    return '∞' if value == float('inf') else f'{value:.2f}' if value < 100.0 else f'{value:.0f}'


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ['---'] * len(head), *rows]
    return '\n'.join(f'| {" | ".join(cells)} |' for cells in lines)


if __name__ == '__main__':
    sys.exit(main())
