"""Steps of Levenberg and Marquardt and of the pseudoinverse, against NumPy."""

import numpy as np
import pytest
from support.chains import arm, planar, postures, snake
from support.solver_checks import first_step

WEIGHTS = [(1.0,) * 6, (1.0, 1.0, 1.0, 0.0, 0.0, 0.0), (2.0, 1.0, 0.5, 0.1, 3.0, 0.0)]


def expected_step(J, e, damping):
    """(JᵀWJ + λI)⁻¹ JᵀW e by way of the least squares problem, which loses no digits."""
    root = np.sqrt(damping * 0.5 * e @ e)
    rows = np.vstack([J, root * np.eye(J.shape[1])])
    right = np.concatenate([e, np.zeros(J.shape[1])])
    return np.linalg.lstsq(rows, right, rcond=None)[0]


@pytest.mark.parametrize('weights', WEIGHTS)
@pytest.mark.parametrize('damping', [1e-3, 0.1, 10.0])
@pytest.mark.parametrize('n', [2, 3, 6, 7, 30])
def test_step_is_the_formula(n, damping, weights):
    chain = snake(n)
    for q, q_target in postures(chain, 10).reshape(5, 2, n):
        target = chain.forward(q_target)
        first = first_step(chain, q, target, 'levenberg_marquardt', weights, damping=damping)
        expected = expected_step(first.J, first.e, damping)
        np.testing.assert_allclose(first.step, expected, rtol=1e-7, atol=1e-9)


def test_step_is_bounded_where_the_arm_is_singular():
    """Stretched, an arm cannot move along itself; the damped step does not try to."""
    chain = planar(1.0, 0.8, 0.5)
    target = chain.forward([0.0, 0.5, -0.5])
    first = first_step(chain, np.zeros(3), target, 'levenberg_marquardt', damping=0.1)
    np.testing.assert_allclose(first.step, expected_step(first.J, first.e, 0.1), rtol=1e-7)
    assert np.linalg.norm(first.step) < 2.0


def damped_pseudoinverse(J, damping):
    U, sigma, Vt = np.linalg.svd(J, full_matrices=False)
    return Vt.T @ np.diag(sigma / (sigma**2 + damping**2)) @ U.T


@pytest.mark.parametrize('weights', WEIGHTS)
@pytest.mark.parametrize('n', [2, 3, 6, 7, 30])
def test_step_is_the_pseudoinverse_times_the_error(n, weights):
    chain = snake(n)
    for q, q_target in postures(chain, 10).reshape(5, 2, n):
        first = first_step(chain, q, chain.forward(q_target), 'pseudoinverse', weights)
        expected = np.linalg.pinv(first.J, rcond=1e-13) @ first.e
        # The error of any algorithm grows with the condition of the problem.
        sigma = np.linalg.svd(first.J, compute_uv=False)
        condition = sigma[0] / sigma[sigma > 1e-13 * sigma[0]][-1]
        scale = np.linalg.norm(expected)
        np.testing.assert_allclose(first.step, expected, rtol=0, atol=1e-13 * condition * scale)


@pytest.mark.parametrize('damping', [1e-2, 0.3])
@pytest.mark.parametrize('gain', [1.0, 0.25])
def test_damping_and_gain(damping, gain):
    chain = snake(7)
    for q, q_target in postures(chain, 10).reshape(5, 2, 7):
        first = first_step(
            chain, q, chain.forward(q_target), 'pseudoinverse', damping=damping, step_gain=gain
        )
        expected = gain * damped_pseudoinverse(first.J, damping) @ first.e
        np.testing.assert_allclose(first.step, expected, rtol=1e-10, atol=1e-12)


def test_step_of_least_length_where_joints_are_redundant():
    chain = snake(30)
    q, q_target = postures(chain, 2)
    first = first_step(chain, q, chain.forward(q_target), 'pseudoinverse')
    np.testing.assert_allclose(first.J @ first.step, first.e, rtol=0, atol=1e-10)
    null = np.eye(30) - np.linalg.pinv(first.J) @ first.J
    np.testing.assert_allclose(null @ first.step, 0.0, atol=1e-10)


def test_stretched_arm_moves_across_itself_only():
    """Šoch and Lórencz: the stretched arm is singular along x; what cannot be done is left out."""
    chain = planar(0.09, 0.06, 0.09, 0.15, 0.15, 0.09)
    target = chain.forward(np.zeros(6))
    target[0, 3] -= 0.01
    target[1, 3] += 0.02
    first = first_step(chain, np.zeros(6), target, 'pseudoinverse')
    assert np.linalg.matrix_rank(first.J) == 2
    expected = np.linalg.pinv(first.J, rcond=1e-15) @ first.e
    np.testing.assert_allclose(first.step, expected, rtol=0, atol=1e-12)
    assert np.linalg.norm(first.step) < 1.0


def test_arm_with_parallel_axes():
    """All the UR's first axes after one another parallel, and the wrist flat: rank is lost."""
    chain = arm('ur5e')
    q = np.array([0.0, -1.0, 0.5, 0.5, 0.0, 0.0])
    sigma = np.linalg.svd(chain.jacobian(q), compute_uv=False)
    assert sigma[-1] < 1e-12
    first = first_step(chain, q, chain.forward(q + 1e-3), 'pseudoinverse', damping=1e-3)
    expected = damped_pseudoinverse(first.J, 1e-3) @ first.e
    np.testing.assert_allclose(first.step, expected, rtol=0, atol=1e-10)
