"""Linear systems inside the kernels, against NumPy."""

import numpy as np
import pytest

from ik_service.jit.compile import kernel
from ik_service.solvers.kernels.linear import solve_by_lu


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
    n = 6
    hilbert = 1.0 / (np.arange(n)[:, None] + np.arange(n) + 1.0)
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
