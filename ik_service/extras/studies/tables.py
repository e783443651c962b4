"""Tables of numbers as CSV files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
import csv
from pathlib import Path

import numpy as np

from ik_service.cli.formatting import table
from ik_service.common.files import whole_file

Value = str | int | float
# Significant digits of a number that is no integer: rounding noise stays out of the files.
_DIGITS = 10
_SHOWN = 4  # of a number that is printed


def write_csv(path: Path, rows: Iterable[Mapping[str, object]], digits: int = _DIGITS) -> Path:
    """Write rows, truth values as 0 and 1; ValueError for other columns than the first's."""
    first, *others = rows
    with whole_file(path) as part, part.open('w', newline='', encoding='utf-8') as file:
        writer = csv.DictWriter(file, first, lineterminator='\n')
        writer.writeheader()
        for row in (first, *others):
            writer.writerow({name: _text(value, digits) for name, value in row.items()})
    return path


def show(rows: Iterable[Mapping[str, object]]) -> None:
    """Print rows as a table, with four significant digits."""
    first, *others = rows
    cells = [[_text(value, _SHOWN) for value in row.values()] for row in (first, *others)]
    print('\n'.join(table([[*first], *cells])), flush=True)


def write_summary(path: Path, rows: Iterable[Mapping[str, object]]) -> Path:
    """Write rows, and print them."""
    several = list(rows)
    show(several)
    return write_csv(path, several)


def series(
    labels: Mapping[str, object], number: str, start: int = 0, **columns: np.ndarray
) -> Iterator[dict[str, object]]:
    """Yield the rows of a curve (K,), numbered from ``start``, with labels alike in all."""
    for k, values in enumerate(zip(*columns.values(), strict=True), start):
        yield {**labels, number: k, **dict(zip(columns, values, strict=True))}


def read_csv(path: Path) -> list[dict[str, Value]]:
    """Read a table that :func:`write_csv` wrote: a dictionary a row; numbers as int or float."""
    with path.open(newline='', encoding='utf-8') as file:
        return [{name: _value(text) for name, text in row.items()} for row in csv.DictReader(file)]


def _text(value: object, digits: int) -> str:
    if isinstance(value, (bool, np.bool_)):
        return str(int(value))
    if isinstance(value, (float, np.floating)):
        return f'{value:.{digits}g}'
    return str(value)


def _value(text: str) -> Value:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text
