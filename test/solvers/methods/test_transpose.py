"""The transpose step against its formulas."""

import numpy as np
import pytest
from support.chains import postures, snake
from support.first_step import first_step

WEIGHTS = [(1.0,) * 6, (1.0, 1.0, 1.0, 0.0, 0.0, 0.0), (2.0, 1.0, 0.5, 0.1, 3.0, 0.0)]


@pytest.mark.parametrize('weights', WEIGHTS)
@pytest.mark.parametrize('n', [2, 6, 7, 30])
def test_step_minimises_the_linearised_error(n, weights):
    chain = snake(n)
    for q, q_target in postures(chain, 10).reshape(5, 2, n):
        first = first_step(chain, q, chain.forward(q_target), 'transpose', weights)
        descent = first.J.T @ first.e
        moved = first.J @ descent
        gain = (first.e @ moved) / (moved @ moved)
        np.testing.assert_allclose(first.step, gain * descent, rtol=1e-11, atol=1e-13)
        # No other length leaves less of the linearised error.
        least = np.linalg.norm(first.e - first.J @ first.step)
        for other in (0.9, 0.99, 1.01, 1.1):
            assert np.linalg.norm(first.e - other * first.J @ first.step) > least


@pytest.mark.parametrize('gain', [0.01, 0.5])
def test_fixed_gain(gain):
    chain = snake(7)
    for q, q_target in postures(chain, 10).reshape(5, 2, 7):
        first = first_step(chain, q, chain.forward(q_target), 'transpose', step_gain=gain)
        np.testing.assert_allclose(first.step, gain * first.J.T @ first.e, rtol=1e-12)
