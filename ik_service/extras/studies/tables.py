"""Tables of numbers as CSV files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
import csv
from pathlib import Path

import numpy as np

Value = str | int | float
# Significant digits of a number that is no integer: rounding noise stays out of the files.
_DIGITS = 10


def write_csv(path: Path, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> Path:
    """
    Write a table.

    :param rows: one value a column: texts, whole numbers, numbers, truth values (as 0 and 1).
    :returns: the path.
    :raises ValueError: when a row has another number of values than there are columns.
    """
    with path.open('w', newline='', encoding='utf-8') as file:
        writer = csv.writer(file, lineterminator='\n')
        writer.writerow(columns)
        for row in rows:
            if len(row) != len(columns):
                raise ValueError(f'{path.name}: {len(row)} values for {len(columns)} columns')
            writer.writerow([_text(value) for value in row])
    return path


def read_csv(path: Path) -> list[dict[str, Value]]:
    """
    Read a table that :func:`write_csv` wrote.

    :returns: one dictionary a row, by column; numbers as int or float.
    """
    with path.open(newline='', encoding='utf-8') as file:
        return [{name: _value(text) for name, text in row.items()} for row in csv.DictReader(file)]


def _text(value: object) -> str:
    if isinstance(value, (bool, np.bool_)):
        return str(int(value))
    if isinstance(value, (float, np.floating)):
        return f'{value:.{_DIGITS}g}'
    return str(value)


def _value(text: str) -> Value:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text
