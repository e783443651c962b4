"""
Places of the fields of NamedTuples in a few arrays, and code that cuts the arrays into fields.

A table, as in :mod:`ik_service.solvers.loop.fields`, is a NamedTuple whose annotations state the
array and the size of each field. The fields of a kind follow each other in one array, in the order
of the table. The functions that cut the arrays into fields are written out with literal offsets,
so that they compile to nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, get_type_hints, NamedTuple


class Place(NamedTuple):
    """
    Array and size of a field.

    :ivar array: name of the array that holds it.
    :ivar size: how many numbers or rows: a number, or the name of one, such as n, m or k
        (variables, joints on the path, rows of memory).
    :ivar shape: the field's shape, as documentation states it.
    :ivar single: whether it is one row of the array, instead of several.
    """

    array: str
    size: int | str
    shape: str
    single: bool = False


SIZES = {
    'n': 'problem.vectors.shape[1]',
    'm': 'problem.joints.shape[0]',
    'k': 'problem.vectors.shape[0] - {vectors}',
}
"""Code of the sizes that have names; in braces the rows of a fixed number in an array."""
Fields = Mapping[str, Place | str]
"""Places of the fields of a NamedTuple; text is code that reads a field."""


def floats(count: int) -> Place:
    """
    Return a place for a fixed number of floats.

    :param count: their number.
    """
    return Place('floats', count, f'({count},)')


def integers(count: int) -> Place:
    """
    Return a place for a fixed number of int64.

    :param count: their number.
    """
    return Place('integers', count, f'({count},)')


def per_joint(rows: int | str = 0) -> Place:
    """
    Return a place for rows of a float for each of the n variables.

    :param rows: number of rows, or its name; 0 for a single row, a vector.
    """
    if rows == 0:
        return Place('vectors', 1, '(n,)', single=True)
    return Place('vectors', rows, f'({rows}, n)')


def six(rows: int | str) -> Place:
    """
    Return a place for rows of six floats.

    :param rows: number of rows, or its name.
    """
    return Place('sixes', rows, f'({rows}, 6)')


def rows_of(array: str, length: int | str, rows: int | str = 0) -> Place:
    """
    Return a place for rows in an array of longer or shorter ones.

    :param array: name of the array.
    :param length: numbers in a row, or the name of that number.
    :param rows: number of rows, or its name; 0 for a single row, a vector.
    """
    if rows == 0:
        return Place(array, 1, f'({length},)', single=True)
    return Place(array, rows, f'({rows}, {length})')


def places(table: type) -> Fields:
    """
    Return the places of the fields of a table.

    :param table: an annotated NamedTuple.
    """
    hints = get_type_hints(table, include_extras=True)
    return {name: hint.__metadata__[0] for name, hint in hints.items()}


def describe(table: type) -> None:
    """
    Add the shapes and meanings of the fields of a table to its docstring.

    :param table: an annotated NamedTuple.
    """
    hints = get_type_hints(table, include_extras=True)
    lines = [
        f':ivar {name}: {hint.__metadata__[0].shape} {hint.__metadata__[1]}'
        for name, hint in hints.items()
    ]
    table.__doc__ = '\n'.join([(table.__doc__ or '').rstrip(), '', *lines])


class Layout:
    """
    Offsets of the fields of several NamedTuples in the arrays of a problem.

    What has a fixed size comes first in each array, so that most offsets are literal numbers.

    :ivar totals: numbers or rows of a fixed size in each array, by its name.
    """

    def __init__(self, parts: Mapping[type, Fields]) -> None:
        """
        Place all fields.

        :param parts: the NamedTuples, and the places of their fields.
        """
        self.totals: dict[str, int] = {}
        self._symbols: dict[str, list[str]] = {}
        self._codes: dict[type, dict[str, str]] = {part: {} for part in parts}
        for size in (int, str):
            for part, fields in parts.items():
                for field, place in fields.items():
                    if isinstance(place, str):
                        self._codes[part][field] = place
                    elif isinstance(place.size, size):
                        self._codes[part][field] = self._piece(place)

    def function(
        self, name: str, numbers_of: type | None = None, sizes: Mapping[str, str] = SIZES
    ) -> Callable:
        """
        Generate a function of a problem that returns the NamedTuples.

        :param name: its name.
        :param numbers_of: a NamedTuple whose fields of one number shall be that number; otherwise
            all fields are arrays.
        :param sizes: code of the sizes that have names.
        """
        lines = [f'def {name}(problem):']
        lines += [f'    {size} = {code.format_map(self.totals)}' for size, code in sizes.items()]
        for part, codes in self._codes.items():
            given = ', '.join(
                f'{field}={_number(code) if part is numbers_of else code}'
                for field, code in codes.items()
            )
            lines.append(f'    {part.__name__.lower()} = {part.__name__}({given})')
        lines.append(f'    return {", ".join(part.__name__.lower() for part in self._codes)}')
        space: dict[str, Any] = {part.__name__: part for part in self._codes}
        exec(compile('\n'.join(lines), f'<{name}>', 'exec'), space)
        return space[name]

    def _piece(self, place: Place) -> str:
        """Return code of the next piece of an array."""
        start = self._end(place.array)
        if isinstance(place.size, int):
            self.totals[place.array] = self.totals.get(place.array, 0) + place.size
        else:
            self._symbols.setdefault(place.array, []).append(place.size)
        index = start if place.single else f'{start}:{self._end(place.array)}'
        return f'problem.{place.array}[{index}]'

    def _end(self, array: str) -> str:
        """Return code of the number of rows of an array that are taken."""
        return ' + '.join([str(self.totals.get(array, 0)), *self._symbols.get(array, [])])


def _number(code: str) -> str:
    """Return code of a number for code of an array of one number; other code as it is."""
    array, _, bounds = code.rstrip(']').partition('[')
    first, _, end = bounds.partition(':')
    one = first.isdigit() and end.isdigit() and int(end) == int(first) + 1
    return f'{array}[{first}]' if one else code
