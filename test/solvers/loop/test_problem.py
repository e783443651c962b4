"""The arrays of a problem: every piece has its place and its shape, and no two share it."""

import numpy as np
import pytest
from support.chains import snake

from ik_service.solvers.loop.problem import allocate, views


@pytest.mark.parametrize('n', [1, 7, 60])
def test_pieces_do_not_overlap(n):
    pieces = [piece for group in views(allocate(snake(n), memory=3)) for piece in group]
    for number, piece in enumerate(pieces):
        piece[:] = number
    for number, piece in enumerate(pieces):
        assert np.all(piece == number)


def test_pieces_fill_the_arrays():
    problem = allocate(snake(7), memory=3)
    pieces = [piece for group in views(problem) for piece in group]
    assert sum(piece.size for piece in pieces) == sum(array.size for array in problem)


def test_shapes():
    _, settings, work = views(allocate(snake(7), memory=5))
    assert work.rows.shape == (7, 6)
    assert work.columns.shape == (6, 7)
    assert work.axes.shape == (7, 6)
    assert work.matrix.shape == (6, 6)
    assert work.memory.shape == (5, 7)
    assert np.all(work.scale == 1.0)
    for name in ('start', 'q', 'step', 'best_q', 'fixed_at', 'scale', 'penalty_shift'):
        assert getattr(work, name).shape == (7,)
    assert settings.tolerances.shape == (2,)
    assert settings.weights.shape == (6,)


def test_chain_is_filled_in():
    chain = snake(7)
    arrays, _, _ = views(allocate(chain))
    for own, given in zip(arrays, chain.arrays, strict=True):
        np.testing.assert_array_equal(own, given)
        assert not np.shares_memory(own, given)
