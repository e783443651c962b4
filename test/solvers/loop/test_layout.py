"""From a table of fields to code that finds them: each has its place, of the size it asks for."""

from typing import Annotated, NamedTuple

import numpy as np

from ik_service.solvers.loop.layout import (
    describe,
    floats,
    integers,
    Layout,
    per_joint,
    places,
    six,
)


class Table(NamedTuple):
    """A table."""

    first: Annotated[np.ndarray, floats(2), 'two numbers']
    rows: Annotated[np.ndarray, six('n'), 'six for each joint']
    kept: Annotated[np.ndarray, per_joint('k'), 'memory']
    second: Annotated[np.ndarray, floats(1), 'one number']
    vector: Annotated[np.ndarray, per_joint(), 'one for each joint']
    count: Annotated[np.ndarray, integers(1), 'a whole number']


class Arrays(NamedTuple):
    floats: np.ndarray
    integers: np.ndarray
    vectors: np.ndarray
    sixes: np.ndarray
    joints: np.ndarray


def test_fields_follow_each_other():
    layout = Layout({Table: places(Table)})
    assert layout.totals == {'floats': 3, 'vectors': 1, 'integers': 1}
    arrays = Arrays(
        np.arange(3.0),
        np.array([7]),
        np.arange(12.0).reshape(4, 3),
        np.arange(18.0).reshape(3, 6),
        np.zeros((3, 8)),
    )
    (parts,) = (layout.function('views')(arrays),)
    assert parts.first.tolist() == [0.0, 1.0]
    assert parts.second.tolist() == [2.0]
    assert parts.rows.shape == (3, 6)
    assert parts.kept.shape == (3, 3)
    assert parts.vector.tolist() == [0.0, 1.0, 2.0]
    assert np.shares_memory(parts.kept, arrays.vectors)
    numbers = layout.function('numbers', numbers_of=Table)(arrays)
    assert (numbers.second, numbers.count) == (2.0, 7)
    assert numbers.first.tolist() == [0.0, 1.0]


def test_meanings_become_documentation():
    describe(Table)
    assert ':ivar rows: (n, 6) six for each joint' in Table.__doc__
