"""
Page docs/methods.md, written from methods_template.md with the numbers of docs/figures/*.csv.

A number stands in the template as

    {{convergence arm=panda method=ccd: success_percent .1f}}

which is the column ``success_percent`` of the row of ``convergence.csv`` whose other columns have
these values, in this format. A factor may stand before the column (``1e6*mean_time .0f``), and
``max``, ``min`` or ``sum`` before that (``max 1e3*position_error .1f``) where several rows match.
A table is

    {{table convergence arm=panda: method; success_percent .1f "reached [%]"}}

with a column for each column named, headed by the text in quotes, or by its own name. With
``optional`` after ``table``, a file that does not exist leaves a sentence instead.

With ``--check`` nothing is written: the exit code says whether the page is what it would be.
"""

from __future__ import annotations

from collections.abc import Sequence
import math
from pathlib import Path
import re
import sys
import textwrap

from ik_service.exceptions import IkServiceError
from ik_service.extras.studies.tables import read_csv, Value

DOCS = Path(__file__).parent
TEMPLATE, PAGE, FIGURES = 'methods_template.md', 'methods.md', 'figures'
NOT_MEASURED = '*(not measured yet)*'

_NOTICE = (
    '<!-- Written by docs/write_methods.py from methods_template.md and figures/*.csv: '
    'change those. -->\n\n'
)
_FIELD = re.compile(r'\{\{(.+?)\}\}', re.DOTALL)
_COLUMN = re.compile(r'(?:(?P<factor>[\d.e+-]+)\*)?(?P<name>\w+)(?: (?P<format>,?\.\d+[a-z]))?')
_HEADED = re.compile(r'(?P<column>[^"]+?)(?: "(?P<heading>[^"]*)")?')
_OVER = {'max': max, 'min': min, 'sum': sum}
# Set as code.
_NAMES = ('arm', 'method', 'variant', 'solver', 'strategy', 'status', 'objective', 'answer')
_UNBROKEN = re.compile(r'`[^`\n]*`|\$[^$\n]*\$')
_BLANK = '\0'
_WIDTH = 99

Row = dict[str, Value]


class TemplateError(IkServiceError):
    """Field of the template without a matching file, row or column."""


def main(arguments: Sequence[str] | None = None, docs: Path = DOCS) -> int:
    """
    Write the page, or check it.

    :param arguments: the command line; ``--check`` or nothing.
    :param docs: folder of the template and the page; the files lie in ``figures`` below it.
    :returns: the exit code.
    """
    arguments = sys.argv[1:] if arguments is None else arguments
    text = page(docs)
    path = docs / PAGE
    if '--check' in arguments:
        same = path.is_file() and path.read_text(encoding='utf-8') == text
        print(f'{path.name} is {"up to date" if same else "out of date"}')
        return 0 if same else 1
    path.write_text(text, encoding='utf-8')
    print(f'{path.name}: {len(text.splitlines())} lines')
    return 0


def page(docs: Path) -> str:
    """
    Return the page's text.

    :param docs: folder of the template; the files lie in ``figures`` below it.
    :returns: Markdown.
    :raises TemplateError: a file, a row or a column does not exist, or is not the only one.
    """
    template = (docs / TEMPLATE).read_text(encoding='utf-8')

    def fill(field: re.Match[str]) -> str:
        text = ' '.join(field[1].split())
        if text.startswith('table '):
            return _table(docs / FIGURES, text.removeprefix('table '))
        return _number(docs / FIGURES, text)

    blocks = (
        _wrapped(_FIELD.sub(fill, block)) if _FIELD.search(block) else block
        for block in template.split('\n\n')
    )
    return _NOTICE + '\n\n'.join(blocks)


def _wrapped(block: str) -> str:
    """Wrap a paragraph or list again, whose lines have changed in length."""
    if block.startswith('|'):
        return block
    # What is code or mathematics stays on one line.
    block = _UNBROKEN.sub(lambda part: part[0].replace(' ', _BLANK), block.rstrip('\n'))
    items = re.split(r'\n(?=\* )', block)
    wrapped = [
        textwrap.fill(
            ' '.join(item.split()),
            _WIDTH,
            subsequent_indent='  ' if item.startswith('* ') else '',
            break_long_words=False,
            break_on_hyphens=False,
        )
        for item in items
    ]
    return '\n'.join(wrapped).replace(_BLANK, ' ')


def _number(folder: Path, text: str) -> str:
    source, _, column = (part.strip() for part in text.partition(':'))
    rows = _rows(folder, source)
    first, _, rest = column.partition(' ')
    if first in _OVER:
        values = [_value(row, rest, source)[0] for row in rows]
        return _written(_OVER[first](values), _value(rows[0], rest, source)[1])
    if len(rows) != 1:
        raise TemplateError(f'{len(rows)} rows match {source!r}')
    return _written(*_value(rows[0], column, source))


def _table(folder: Path, text: str) -> str:
    source, _, columns = (part.strip() for part in text.partition(':'))
    if source.startswith('optional '):
        source = source.removeprefix('optional ')
        if not (folder / f'{source.split()[0]}.csv').is_file():
            return NOT_MEASURED
    rows = _rows(folder, source)
    if columns == '*':
        columns = '; '.join(rows[0])
    parts = [_HEADED.fullmatch(column.strip()) for column in columns.split(';')]
    headings = [part['heading'] or _COLUMN.fullmatch(part['column'])['name'] for part in parts]
    lines = [headings, ['---'] * len(headings)]
    lines += [[_cell(row, part['column'], source) for part in parts] for row in rows]
    return '\n'.join(f'| {" | ".join(line)} |' for line in lines)


def _rows(folder: Path, source: str) -> list[Row]:
    """Rows that a source such as ``convergence arm=panda method=ccd`` stands for."""
    name, *conditions = _words(source)
    path = folder / f'{name}.csv'
    if not path.is_file():
        raise TemplateError(f'{source!r}: there is no {path.name}')
    rows = read_csv(path)
    for condition in conditions:
        column, _, value = condition.partition('=')
        if column not in rows[0]:
            raise TemplateError(f'{path.name} has no column {column!r}, but {", ".join(rows[0])}')
        rows = [row for row in rows if _same(row[column], value)]
    if not rows:
        raise TemplateError(f'no row matches {source!r}')
    return rows


def _words(source: str) -> list[str]:
    """Split at blanks, except in values that stand in single quotes: ``case='arm and chest'``."""
    return [word.replace("'", '') for word in re.findall(r"(?:'[^']*'|[^\s'])+", source)]


def _same(value: Value, text: str) -> bool:
    if isinstance(value, str):
        return value == text
    try:
        return math.isclose(value, float(text), rel_tol=1e-9)
    except ValueError:
        return False


def _value(row: Row, text: str, source: str) -> tuple[Value, str]:
    """The value that a column such as ``1e6*mean_time .0f`` stands for, and its format."""
    column = _COLUMN.fullmatch(text.strip())
    if column is None or column['name'] not in row:
        raise TemplateError(f'{source!r}: no column {text!r} among {", ".join(row)}')
    value = row[column['name']]
    if column['factor']:
        value = float(column['factor']) * value
    return value, column['format'] or ''


def _cell(row: Row, text: str, source: str) -> str:
    value, form = _value(row, text, source)
    if isinstance(value, str) and _COLUMN.fullmatch(text.strip())['name'] in _NAMES:
        first, *rest = value.split(',')
        return ','.join([f'`{first}`', *rest])
    return _written(value, form)


def _written(value: Value, form: str) -> str:
    if isinstance(value, str):
        return value
    if math.isnan(value):
        return '–'
    return format(value, form or ('d' if isinstance(value, int) else '.4g')).replace('inf', '∞')


if __name__ == '__main__':
    try:
        sys.exit(main())
    except TemplateError as error:
        sys.exit(f'{TEMPLATE}: {error}')
