"""The step of Levenberg and Marquardt against its formula in NumPy."""

import numpy as np
import pytest
from support.chains import planar, postures, snake
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
