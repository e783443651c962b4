"""Damped steps and definite systems of any size, against NumPy."""

import numpy as np
import pytest
from support.chains import arm_path

import ik_service as iks
from ik_service.jit.compile import kernel
from ik_service.solvers.loop.linear_algebra import damped_step
from ik_service.solvers.loop.problem import open_problem
from ik_service.solvers.loop.tree.jacobian import solve_definite
from ik_service.solvers.loop.tree.problem import allocate_tree, tree_views


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
    """Fewer components than variables, and more."""
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
