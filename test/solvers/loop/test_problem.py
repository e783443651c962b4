"""The arrays of a problem: every piece has its place and its shape, and no two share it."""

import numpy as np
import pytest
from support.chains import arm_path, snake

import ik_service as iks
from ik_service.kinematics.tree import KinematicTree
from ik_service.solvers.loop.problem import allocate, views
from ik_service.solvers.loop.tree.problem import allocate_tree, tree_views


def both_hands():
    return iks.Robot.from_urdf(arm_path('upper_body')).tree(None, ['left_grip', 'right_grip'])


@pytest.mark.parametrize(
    'make',
    [*(lambda n=n: snake(n) for n in (1, 7, 60)), both_hands,
     lambda: KinematicTree.of_chain(snake(7))],
)  # fmt: skip
def test_pieces_fill_the_arrays_and_do_not_overlap(make):
    space = make()
    if isinstance(space, KinematicTree):
        problem = allocate_tree(space, memory=3)
        groups = tree_views(problem)
    else:
        problem = allocate(space, memory=3)
        groups = views(problem)
    pieces = [piece for group in groups for piece in group]
    for number, piece in enumerate(pieces):
        piece[:] = number
    for number, piece in enumerate(pieces):
        assert np.all(piece == number)
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
