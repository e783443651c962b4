"""Linear systems inside the kernels, against NumPy."""

import numpy as np
import pytest
from support.chains import arm_path

import ik_service as iks
from ik_service.jit.compile import kernel
from ik_service.solvers.loop.linear_algebra import (
    damped_step,
    orthogonal_columns,
    solve_by_lu,
    squared_singular_values,
)
from ik_service.solvers.loop.problem import open_problem
from ik_service.solvers.loop.tree.jacobian import solve_definite
from ik_service.solvers.loop.tree.problem import allocate_tree, tree_views


@kernel
def _solve(A, b):
    return solve_by_lu(A, b)


def solved(A, b):
    """Whether A was regular, and x."""
    A, x = np.array(A, dtype=float), np.array(b, dtype=float)
    return _solve(A, x), x


@pytest.mark.parametrize('n', [1, 2, 3, 7, 30, 60])
@pytest.mark.parametrize('scale', [1.0, 1e-12, 1e12])
def test_solution_is_that_of_numpy(n, scale):
    rng = np.random.default_rng(n)
    for _ in range(10):
        A, b = scale * rng.normal(size=(n, n)), rng.normal(size=n)
        regular, x = solved(A, b)
        expected = np.linalg.solve(A, b)
        assert regular
        bound = 1e-14 * np.linalg.cond(A) * np.linalg.norm(expected)
        np.testing.assert_allclose(x, expected, rtol=0, atol=bound)


def test_pivots_are_chosen():
    assert solved([[0.0, 1.0], [1.0, 0.0]], [2.0, 3.0])[1].tolist() == [3.0, 2.0]
    _, x = solved([[1e-20, 1.0], [1.0, 1.0]], [1.0, 2.0])
    np.testing.assert_allclose(x, [1.0, 1.0], rtol=1e-15)


def test_badly_conditioned_is_not_singular():
    hilbert = 1.0 / (np.arange(6)[:, None] + np.arange(6) + 1.0)
    regular, x = solved(hilbert, hilbert.sum(axis=1))
    assert regular
    np.testing.assert_allclose(x, 1.0, rtol=1e-8)


@pytest.mark.parametrize(
    'A',
    [
        [[0.0]],
        [[1.0, 2.0], [2.0, 4.0]],
        [[0.0, 0.0], [0.0, 1.0]],
        [[1.0, 0.0, 3.0], [0.0, 0.0, 0.0], [7.0, 8.0, 9.0]],
        np.outer(2.0 ** np.arange(5), 2.0 ** np.arange(5)),
        [[np.nan]],
        [[1.0, np.nan], [0.0, 1.0]],
        [[1.0, 1.0, 0.0], [0.0, 1.0, np.nan], [0.0, 0.0, 1.0]],
    ],
)
def test_zero_and_nan_pivots_are_reported(A):
    assert not solved(A, np.ones(len(A)))[0]


def test_rows_beyond_the_right_side_are_left_alone():
    A = np.arange(20.0).reshape(5, 4) + np.eye(5, 4)
    before = A.copy()
    assert _solve(A, np.ones(4))
    np.testing.assert_array_equal(A[4], before[4])


@kernel
def _decompose(rows, columns, V, squares):
    orthogonal_columns(rows, columns, V)
    return squared_singular_values(columns, squares)


def decompose(J):
    """V and J's columns in it, (6, n), and the squares, with the largest that counts as zero."""
    rows = np.ascontiguousarray(J.T)
    columns, V, squares = np.empty((6, len(rows))), np.empty((6, 6)), np.empty(6)
    cut = _decompose(rows, columns, V, squares)
    return columns, V, squares, cut


def jacobian_of_rank(n, rank, seed, spread=1.0):
    rng = np.random.default_rng([n, rank, seed])
    left = np.linalg.qr(rng.normal(size=(6, 6)))[0][:, :rank]
    right = np.linalg.qr(rng.normal(size=(n, n)))[0][:, :rank]
    return left * np.logspace(0.0, -spread, rank) @ right.T


@pytest.mark.parametrize('n', [1, 2, 5, 6, 7, 30])
@pytest.mark.parametrize('spread', [0.0, 1.0, 6.0])
def test_decomposition(n, spread):
    for rank in range(1, min(6, n) + 1):
        J = jacobian_of_rank(n, rank, 0, spread)
        columns, V, squares, cut = decompose(J)
        np.testing.assert_allclose(V @ V.T, np.eye(6), rtol=0, atol=1e-14)
        np.testing.assert_allclose(V @ columns, J, rtol=0, atol=1e-14)
        products = columns @ columns.T
        lengths = np.sqrt(np.diag(products))
        away = products - np.diag(np.diag(products))
        counts = np.outer(squares > cut, squares > cut)
        assert np.all(np.abs(away)[counts] <= 1e-12 * np.outer(lengths, lengths)[counts])
        expected = np.linalg.svd(J, compute_uv=False)[:rank]
        np.testing.assert_allclose(np.sort(np.sqrt(squares))[::-1][:rank], expected, rtol=1e-9)
        assert np.count_nonzero(squares > cut) == rank


def test_equal_columns_and_zeros():
    for J in (np.ones((6, 4)), np.zeros((6, 3)), np.eye(6)[:, [0, 0, 1]]):
        columns, V, squares, cut = decompose(J)
        np.testing.assert_allclose(V @ columns, J, rtol=0, atol=1e-14)
        assert np.count_nonzero(squares > cut) == np.linalg.matrix_rank(J)


def test_small_singular_values_are_found_to_their_last_digits():
    """What one-sided rotations are known for: each value is exact relative to itself."""
    J = np.diag([1.0, 1e-2, 1e-4, 1e-6, 1e-8, 1e-10])
    squares = decompose(J)[2]
    np.testing.assert_allclose(np.sort(squares)[::-1], np.diag(J) ** 2, rtol=1e-12)


@kernel
def solve(matrix, vector):
    solve_definite(matrix, vector)


@kernel
def step(problem, error, damping):
    _, _, work = open_problem(problem)
    damped_step(work, error, damping)


@pytest.mark.parametrize('size', [1, 2, 6, 13])
def test_definite_systems(size):
    rng = np.random.default_rng(size)
    A = rng.normal(size=(size, size))
    A = A @ A.T + 0.1 * np.eye(size)
    b = rng.normal(size=size)
    x, factors = b.copy(), np.full((size + 2, size + 2), np.nan)
    factors[:size, :size] = np.tril(A) + np.triu(np.full_like(A, np.nan), 1)
    solve(factors, x)
    np.testing.assert_allclose(x, np.linalg.solve(A, b), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize('tips', [1, 2, 4], ids='{} tips'.format)
def test_step_of_either_form(tips):
    names = ['left_grip', 'right_grip', 'left_forearm', ('left_hand', 'right_hand')][:tips]
    tree = iks.Robot.from_urdf(arm_path('upper_body')).tree(None, names)
    problem = allocate_tree(tree)
    _, _, work = tree_views(problem)
    rng = np.random.default_rng(tips)
    rows, error = tree.jacobian(tree.mid_range()).T, rng.normal(size=6 * tips)
    work.rows[:] = rows
    step(problem, error, 0.01)
    J = rows.T
    expected = J.T @ np.linalg.solve(J @ J.T + 0.01 * np.eye(6 * tips), error)
    np.testing.assert_allclose(work.step, expected, atol=1e-9)
