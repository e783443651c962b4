"""
Tables of docs/withstands.md, written from docs/withstands.json, the figures of a long run.

    make soak
    python docs/write_withstands.py

Only what stands between the marks ``<!-- rows -->`` and ``<!-- end -->``, and so on, is written.
With ``--check`` nothing is: the exit code says whether the page is what it would be.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
import json
from pathlib import Path
import re
import sys

DOCS = Path(__file__).parent
PAGE, FIGURES = 'withstands.md', 'withstands.json'

Found = Mapping[str, object]


def main(arguments: Sequence[str] | None = None, docs: Path = DOCS) -> int:
    """
    Write the page, or check it.

    :param arguments: the command line; ``--check`` or nothing.
    :param docs: folder of the page and the figures.
    :returns: the exit code.
    """
    arguments = sys.argv[1:] if arguments is None else arguments
    path = docs / PAGE
    old = path.read_text(encoding='utf-8')
    text = page(old, json.loads((docs / FIGURES).read_text(encoding='utf-8')))
    if '--check' in arguments:
        print(f'{PAGE} is {"up to date" if text == old else "out of date"}')
        return 0 if text == old else 1
    path.write_text(text, encoding='utf-8')
    return 0


def page(text: str, found: Found) -> str:
    """
    Return the text of the page with new tables.

    :param text: of the page.
    :param found: the figures.
    :raises ValueError: a pair of marks is missing.
    """
    for mark, written in _BLOCKS.items():
        pattern = re.compile(rf'(<!-- {mark} -->\n).*?(<!-- end -->)', re.DOTALL)
        if len(pattern.findall(text)) != 1:
            raise ValueError(f'{PAGE} has to hold "<!-- {mark} -->" once, and an end behind it')
        block = written(found)
        text = pattern.sub(lambda m, block=block: f'{m[1]}{block}\n{m[2]}', text)
    return text


def _about(found: Found) -> str:
    kind = 'a long run' if found['long'] else 'a short run'
    return (
        f'Figures of {kind} on {found["date"]}, commit {found["commit"]}: {found["machine"]}, '
        f'random seed {found["seed"]}.'
    )


def _rows(found: Found) -> str:
    head = ('Test', 'Count', 'Lost', 'Wrong', 'Worst position step [rad]',
            'Worst speed step [rad/s]', 'p99 [ms]', 'Memory [MB]', 'Time [s]')  # fmt: skip
    return _table(head, [_row(row) for row in found['rows']])


def _row(row: Found) -> list[str]:
    return [
        str(row['test']),
        f'{row["count"]:,}',
        _or_dash(row['lost'], ',d'),
        f'{row["wrong"]:,}',
        *_steps(row['stream']),
        _or_dash(row['p99'], '.1f', 1e3),
        _or_dash(row['memory'], '+.1f'),
        _or_dash(row['seconds'] or None, ',.0f'),
    ]


def _faults(found: Found) -> str:
    before = {fault['name']: fault for fault in found.get('faults before', ())}
    head = ('Fault in motion', 'Position step before [rad]', 'now', 'Speed step before [rad/s]',
            'now', 'Moved afterwards, before', 'now')  # fmt: skip
    lines = []
    for fault in found['faults']:
        old = before.get(fault['name'])
        was, now = _fault(old) if old else ['–'] * 3, _fault(fault)
        lines.append([fault['name'], *(value for pair in zip(was, now, strict=True)
                                       for value in pair)])  # fmt: skip
    return _table(head, lines)


def _fault(fault: Found) -> list[str]:
    if fault['failed']:
        return ['no such service'] * 3
    moved = fault['moved']
    told = 'went on' if moved is None else 'no' if moved <= 0.02 else f'{moved:.2f} rad'
    return [*_steps(fault['figures']), told]


def _steps(stream: Found | None) -> list[str]:
    """The worst steps of a stream: the value, and what share of what is allowed that is."""
    if stream is None:
        return ['–', '–']
    return [
        f'{stream[f"{name}_step"]:.3f} ({_share(stream[f"{name}_ratio"])})'
        for name in ('position', 'speed')
    ]


def _share(ratio: float) -> str:
    return f'{ratio:.2f}' if ratio < 10.0 else f'{ratio:.0f}'


def _or_dash(value: float | None, form: str, factor: float = 1) -> str:
    return '–' if value is None else format(value * factor, form)


def _table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    rows = [head, ['---'] * len(head), *lines]
    return '\n'.join(f'| {" | ".join(row)} |' for row in rows)


_BLOCKS: Mapping[str, Callable[[Found], str]] = {
    'about': _about,
    'rows': _rows,
    'faults': _faults,
}

if __name__ == '__main__':
    sys.exit(main())
