"""The singular value decomposition inside the kernels, against NumPy."""

import numpy as np
import pytest

from ik_service.jit.compile import kernel
from ik_service.solvers.kernels.singular_values import orthogonal_columns, squared_singular_values


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
