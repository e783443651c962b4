"""Liégeois' term: the objective falls along motions that do not move the tip."""

import numpy as np
import pytest
from support.chains import arm as arm_of
from support.chains import postures, snake, targets, within_limits
from support.contract import assert_honest, options_with
from support.first_step import first_step
from support.self_motions import GRADIENTS, null_projection, OBJECTIVES

import ik_service as iks
from ik_service.kinematics.pose_error import pose_error

PROBLEMS = {
    'panda': (lambda: arm_of('panda'), (1.0,) * 6),
    'panda, position': (lambda: arm_of('panda'), (1.0, 1.0, 1.0, 0.0, 0.0, 0.0)),
    'planar_6r': (lambda: arm_of('planar_6r'), (1.0, 1.0, 0.0, 0.0, 0.0, 0.0)),
    'planar_6r, pose': (lambda: arm_of('planar_6r'), (1.0,) * 6),
    'sliding': (lambda: snake(9, prismatic=0.4), (1.0,) * 6),
}


def weighted(chain, weights, q):
    return np.sqrt(weights)[:, None] * chain.jacobian(q)


def self_slope(chain, weights, gradient, q):
    """(I − J⁺J) ∇g."""
    J = weighted(chain, weights, q)
    return null_projection(J, np.linalg.matrix_rank(J, tol=1e-10)) @ gradient(q)


def start(chain, seed):
    return 0.6 * postures(chain, 1, seed)[0] + 0.4 * chain.mid_range()


@pytest.mark.parametrize('name', PROBLEMS)
@pytest.mark.parametrize('objective', OBJECTIVES)
def test_step_has_the_term_of_liegeois(name, objective):
    make, weights = PROBLEMS[name]
    chain = make()
    values, gradient = GRADIENTS[objective](chain, weights)
    for seed in range(3):
        q, q_target = start(chain, seed), start(chain, seed + 10)
        slope = self_slope(chain, weights, gradient, q)
        if np.abs(slope).max() < 1e-3:
            continue
        gain = 1e-3 / np.abs(slope).max()  # short enough to lower g, so nothing is shortened
        first = first_step(
            chain, q, chain.forward(q_target), 'pseudoinverse', weights,
            null_space_gain=gain, **values,
        )  # fmt: skip
        expected = np.linalg.pinv(first.J, rcond=1e-10) @ first.e - gain * slope
        np.testing.assert_allclose(first.step, expected, rtol=0, atol=1e-7)
        np.testing.assert_allclose(
            first.J @ first.step, first.J @ np.linalg.pinv(first.J) @ first.e, atol=1e-10
        )


@pytest.mark.parametrize('name', PROBLEMS)
@pytest.mark.parametrize('objective', OBJECTIVES)
def test_objective_falls_while_the_tip_stays(name, objective):
    """From a solution, in small steps: the tip stays within 1e-6 m and 1e-6 rad."""
    make, weights = PROBLEMS[name]
    chain = make()
    values, g = OBJECTIVES[objective](chain, weights)
    gradient = GRADIENTS[objective](chain, weights)[1]
    fallen = 0
    for seed in range(4):
        q = start(chain, seed)
        target = chain.forward(q)
        steepest = np.abs(self_slope(chain, weights, gradient, q)).max()
        options = options_with(
            task_weights=weights, null_space_gain=4e-4 / max(steepest, 1e-3), record_trace=True,
            max_iterations=300, max_searches=1, position_tolerance=1e-6,
            orientation_tolerance=1e-6, **values,
        )  # fmt: skip
        result = iks.solve_ik(chain, target, q, 'pseudoinverse', options)
        assert_fell(chain, weights, g, target, result)
        values_of_g = np.array([g(row) for row in result.trace.q])
        fallen += values_of_g[-1] < values_of_g[0] - 1e-6 * abs(values_of_g[0])
    assert fallen >= 3


def assert_fell(chain, weights, g, target, result):
    """The answer is a solution, on the way to it the tip has stayed, and g has only fallen."""
    assert result.success
    used = np.array(weights) > 0.0
    values = np.array([g(q) for q in result.trace.q])
    for q in result.trace.q[:: max(1, len(values) // 20)]:
        error = used * pose_error(chain.forward(q), target)
        assert np.linalg.norm(error[:3]) < 1e-6
        assert np.linalg.norm(error[3:]) < 1e-6
    assert np.all(np.diff(values) <= 1e-9 * np.abs(values[:-1]))
    np.testing.assert_array_equal(result.q, result.trace.q[-1])


@pytest.mark.parametrize('objective', OBJECTIVES)
def test_full_gain_reaches_the_minimum_of_the_objective(objective):
    """With the default gain: a success, and where it ends no self-motion lowers g any more."""
    chain, weights = arm_of('panda'), (1.0,) * 6
    values, g = OBJECTIVES[objective](chain, weights)
    gradient = GRADIENTS[objective](chain, weights)[1]
    rested = lowered = 0
    for seed in range(8):
        q = start(chain, seed)
        target = chain.forward(q)
        options = options_with(max_iterations=2000, **values)
        result = iks.solve_ik(chain, target, q, 'pseudoinverse', options)
        assert_honest(chain, target, options, result)
        assert result.success
        slope = np.abs(self_slope(chain, weights, gradient, result.q)).max()
        free = np.all((result.q > chain.lower) & (result.q < chain.upper))
        rested += slope < 1e-3 or not free or result.iterations >= 2000
        lowered += g(result.q) < g(q)
    assert rested >= 7
    assert lowered >= 7


@pytest.mark.parametrize('strategy', ['clamp', 'active_set', 'transform'])
def test_limits_are_kept_while_the_objective_falls(strategy):
    """A preferred posture beyond the limits draws joints to them, and not over."""
    chain = arm_of('panda')
    beyond = tuple(chain.upper + 1.0)
    at_bounds = nearer = 0
    for seed in range(5):
        q = start(chain, seed)
        options = options_with(
            joint_limits=strategy, objective='preferred_posture', preferred_posture=beyond,
            null_space_gain=0.1, record_trace=True, max_iterations=500, max_searches=1,
            task_weights=(1, 1, 1, 0, 0, 0),
        )  # fmt: skip
        result = iks.solve_ik(chain, chain.forward(q), q, 'pseudoinverse', options)
        assert result.success
        assert all(within_limits(chain, row) for row in result.trace.q)
        before, after = (np.linalg.norm(np.array(beyond) - p) for p in (q, result.q))
        assert after <= before
        nearer += after < before - 0.1
        at_bounds += np.any(chain.upper - result.q < 1e-3)
    # Clamped, a step at a bound moves the tip, and the search ends where the tip was there last.
    assert (nearer >= 4 and at_bounds >= 3) or strategy == 'clamp'


@pytest.mark.parametrize('objective', OBJECTIVES)
def test_arm_without_redundancy_is_left_alone(objective):
    chain = arm_of('ur5e')
    values, _ = OBJECTIVES[objective](chain, (1.0,) * 6)
    for target, seed in zip(targets(chain, 5), postures(chain, 5, seed=1), strict=True):
        plain = iks.solve_ik(chain, target, seed, 'pseudoinverse', options_with())
        other = iks.solve_ik(chain, target, seed, 'pseudoinverse', options_with(**values))
        if plain.success and other.searches == plain.searches:
            np.testing.assert_allclose(other.q, plain.q, rtol=0, atol=1e-8)
            assert other.iterations == plain.iterations


def test_gain_of_zero_changes_nothing():
    chain = arm_of('panda')
    for target in targets(chain, 5):
        plain = iks.solve_ik(chain, target, None, 'pseudoinverse', options_with())
        options = options_with(objective='joint_centers', null_space_gain=0.0)
        other = iks.solve_ik(chain, target, None, 'pseudoinverse', options)
        assert other.q.tobytes() == plain.q.tobytes()


def nowhere(q):
    return np.nan * q[0]


def test_objective_that_is_not_a_number_does_no_harm():
    chain = arm_of('panda')
    for target in targets(chain, 3):
        options = options_with(objective=nowhere)
        result = iks.solve_ik(chain, target, None, 'pseudoinverse', options)
        assert_honest(chain, target, options, result)
        plain = iks.solve_ik(chain, target, None, 'pseudoinverse', options_with())
        np.testing.assert_array_equal(result.q, plain.q)


@pytest.mark.parametrize('objective', OBJECTIVES)
def test_results_for_any_target_report_true_errors(objective, strategy):
    chain = arm_of('panda')
    values, _ = OBJECTIVES[objective](chain, (1.0,) * 6)
    options = options_with(joint_limits=strategy, max_iterations=60, max_searches=2, **values)
    prepared = iks.Solver(chain, 'pseudoinverse', options)
    for target in targets(chain, 3, seed=6):
        assert_honest(chain, target, options, prepared.solve(target))
