"""Null spaces of the rows of a path, and the banded system in them."""

import numpy as np
import pytest
from support.chains import arm, postures

import ik_service as iks
from ik_service.paths.search.smoothing import null_spaces, solve_in_null_spaces


@pytest.mark.parametrize('rows', [1, 2, 3, 9])
@pytest.mark.parametrize('r', [1, 3])
def test_banded_system_is_solved_like_a_full_one(rows, r):
    n, random = 5, np.random.default_rng(rows + r)
    bases = np.array([np.linalg.qr(random.normal(size=(n, r)))[0].T for _ in range(rows)]).copy()
    first, second = np.diff(np.eye(rows), axis=0), np.diff(np.eye(rows), 2, axis=0)
    coupling = first.T @ first + 9.0 * second.T @ second
    diagonals = np.zeros((3, rows))
    for k in range(min(3, rows)):
        diagonals[k, k:] = np.diag(coupling, -k)
    stiffness, damping = random.uniform(0, 1, (rows, n)), random.uniform(0.1, 1, rows)
    gradient = random.normal(size=(rows, n))
    full = np.einsum('ij,iak,jbk->iajb', coupling, bases, bases).reshape(rows * r, rows * r)
    for i in range(rows):
        part = slice(i * r, (i + 1) * r)
        full[part, part] += bases[i] * stiffness[i] @ bases[i].T + damping[i] * np.eye(r)
    right = -np.einsum('iak,ik->ia', bases, gradient).ravel()
    expected = np.einsum('iak,ia->ik', bases, np.linalg.solve(full, right).reshape(rows, r))
    band, vector = np.empty((rows * r, 3 * r)), np.empty(rows * r)
    solve_in_null_spaces(bases, diagonals, stiffness, damping, gradient, band, vector)
    np.testing.assert_allclose(gradient, expected, atol=1e-12)


@pytest.mark.parametrize(
    ('weights', 'dimension'), [((1.0,) * 6, 1), ((1.0, 1.0, 1.0, 0.0, 0.0, 0.0), 4)]
)
def test_bases_are_orthonormal_and_do_not_move_the_tip(weights, dimension):
    chain = arm('panda')
    q = postures(chain, 20, seed=1)
    targets = np.array([chain.forward(row) for row in q])
    problem = iks.Solver(chain, options=iks.IkOptions(task_weights=weights)).problem()
    bases = np.empty((20, dimension + 1, chain.n))
    null_spaces(problem, targets, q, bases, np.empty((7, 7)), np.empty((0, 17)))
    for row, basis in zip(q, bases, strict=True):
        J = chain.jacobian(row)[np.array(weights) > 0]
        np.testing.assert_allclose(J @ basis.T, 0.0, atol=1e-5)
        expected = np.diag([1.0] * dimension + [0.0])
        np.testing.assert_allclose(basis @ basis.T, expected, atol=1e-9)
