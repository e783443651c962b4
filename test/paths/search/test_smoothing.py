"""Smoothing of paths, dense ones too, and the linear system in their null spaces."""

import numpy as np
import pytest
from support.chains import arm, pose_difference, postures, within_limits
from support.paths import HOME, Keepout, PATIENT

import ik_service as iks
from ik_service.paths.search.smoothing import null_spaces, solve_in_null_spaces


def laps(chain, rows, count):
    """Poses on a circle of 10 cm radius, several times around."""
    turn = np.linspace(0.0, 2.0 * np.pi * count, rows)
    targets = np.tile(chain.forward(HOME), (rows, 1, 1))
    targets[:, 0, 3] += 0.1 * (np.cos(turn) - 1.0)
    targets[:, 1, 3] += 0.1 * np.sin(turn)
    return targets


def test_no_row_of_a_dense_path_moves_more_than_a_few_times_as_far_as_others(panda):
    """The elbow drifts to its limit lap by lap, and has to come back."""
    targets = laps(panda, 20_000, 40)
    path = iks.solve_path(panda, targets, HOME, PATIENT)
    assert path.success, path.reason
    steps = np.abs(np.diff(path.q, axis=0)).max(axis=1)
    assert (steps > 5.0 * np.median(steps)).sum() < 20
    assert steps.max() <= 0.1
    assert max(path.position_error.max(), path.orientation_error.max()) < 1e-9
    for q, T in zip(path.q[::37], targets[::37], strict=True):
        assert within_limits(panda, q)
        assert max(pose_difference(panda.forward(q), T)) <= 1e-6
    once = iks.solve_path(panda, laps(panda, 501, 1), HOME, PATIENT, end=HOME)
    lengths = [np.abs(np.diff(each.q, axis=0)).sum() for each in (path, once)]
    assert lengths[0] < 1.2 * 40 * lengths[1]


def test_rows_between_the_few_that_are_smoothed_first_do_not_collide(panda):
    targets = laps(panda, 6_000, 12)
    free = iks.solve_path(panda, targets, HOME, PATIENT)
    angle = HOME[2] + 0.7 * (free.q[:, 2].max() - HOME[2])
    wall = Keepout(lambda Q: Q[:, 2] > angle)
    path = iks.solve_path(panda, targets, HOME, PATIENT, collisions=wall)
    assert path.success, path.reason
    assert wall.colliding(free.q).any()
    assert not wall.colliding(path.q).any()
    assert path.largest_step <= 0.1


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
