"""Fixed steps: too short is slow, too long diverges."""

import numpy as np
import pytest

from ik_service.extras.studies import step_size
from ik_service.extras.studies.arms import load_arm

PANDA = load_arm('panda')


@pytest.fixture(scope='module')
def bounds():
    return step_size.largest_stable_gains(PANDA)


@pytest.mark.parametrize('method', ['pseudoinverse', 'transpose'])
def test_tiny_steps_are_stable_and_hardly_move(method):
    run = step_size.run_fixed_gain(PANDA, method, 1e-9, 300)
    error = run.search.position_error
    assert run.outcome == step_size.SLOW
    assert np.all(np.diff(error) < 0.0)
    assert 0.0 < error[0] - error[-1] < 1e-6
    assert run.iterations == 300


@pytest.mark.parametrize('method', ['pseudoinverse', 'transpose'])
def test_moderate_steps_converge(method, bounds):
    run = step_size.run_fixed_gain(PANDA, method, 0.5 * bounds[method], 1000)
    assert run.outcome == step_size.CONVERGED
    assert run.search.position_error[-1] <= 1e-5


@pytest.mark.parametrize('method', ['pseudoinverse', 'transpose'])
def test_steps_far_beyond_the_bound_diverge_and_end(method, bounds):
    run = step_size.run_fixed_gain(PANDA, method, 4.0 * bounds[method], 1000)
    assert run.outcome == step_size.DIVERGED
    assert run.answer != 'SUCCESS'


def test_near_the_solution_the_error_shrinks_as_theory_has_it():
    error = step_size.run_fixed_gain(PANDA, 'pseudoinverse', 0.1, 200).search.position_error
    np.testing.assert_allclose(error[-10:] / error[-11:-1], 0.9, atol=2e-3)


def test_the_bound_of_the_transpose_is_where_the_best_direction_overshoots(bounds):
    reached = step_size.run_fixed_gain(PANDA, 'pseudoinverse', 1.0, 100).search.q[-1]
    largest = np.linalg.svd(PANDA.jacobian(reached)[:3], compute_uv=False)[0]
    assert bounds == pytest.approx({'pseudoinverse': 2.0, 'transpose': 2.0 / largest**2}, rel=0.02)
