"""Weights of a task, and the numerical Jacobian beside the geometric one."""

import numpy as np
import pytest
from support.chains import arm as arm_of
from support.chains import arm as chain_of
from support.chains import postures, snake, targets
from support.solver_checks import first_step, mimicking, options_with

import ik_service as iks
from ik_service.kinematics.pose_error import pose_error

POSITION_ONLY = (1.0, 1.0, 1.0, 0.0, 0.0, 0.0)


def test_position_only_leaves_the_orientation_free(solver, arm):
    options = options_with(task_weights=POSITION_ONLY, position_tolerance=1e-3, max_searches=20)
    turned = 0
    for target in targets(arm, 20, seed=26):
        target[:3, :3] = np.eye(3)  # of no account
        result = iks.solve_ik(arm, target, None, solver, options)
        error = pose_error(arm.forward(result.q), target)
        assert result.success
        assert result.position_error == pytest.approx(np.linalg.norm(error[:3]), abs=1e-12)
        assert result.position_error <= 1e-3
        assert result.orientation_error == 0.0
        turned += np.linalg.norm(error[3:]) > 0.1
    assert turned > 10


def test_orientation_only_leaves_the_position_free():
    chain = chain_of('panda')
    options = options_with(task_weights=(0, 0, 0, 1, 1, 1), max_searches=20)
    for target in targets(chain, 20, seed=27):
        target[:3, 3] = 100.0
        result = iks.solve_ik(chain, target, options=options)
        assert result.success
        assert result.position_error == 0.0
        error = pose_error(chain.forward(result.q), target)
        assert np.linalg.norm(error[3:]) <= 1e-5 + 1e-12


@pytest.mark.parametrize('axis', range(6))
def test_single_free_axis(axis):
    chain = chain_of('panda')
    weights = np.ones(6)
    weights[axis] = 0.0
    options = options_with(task_weights=weights, max_searches=50)
    used = 0
    for target in targets(chain, 10, seed=28):
        result = iks.solve_ik(chain, target, options=options)
        assert result.success
        error = pose_error(chain.forward(result.q), target)
        kept = weights * error
        assert np.linalg.norm(kept[:3]) == pytest.approx(result.position_error, abs=1e-12)
        assert np.linalg.norm(kept[3:]) == pytest.approx(result.orientation_error, abs=1e-9)
        used += abs(error[axis]) > 1e-2
    assert used > 0


def test_tolerances_do_not_depend_on_the_weights():
    chain = chain_of('panda')
    for weights in (np.full(6, 1e-4), np.full(6, 1e4), (10, 10, 10, 0.1, 0.1, 0.1)):
        for target in targets(chain, 10, seed=29):
            options = options_with(task_weights=weights, max_searches=300)
            result = iks.solve_ik(chain, target, options=options)
            error = pose_error(chain.forward(result.q), target)
            assert result.position_error == pytest.approx(np.linalg.norm(error[:3]), abs=1e-12)
            assert result.success == bool(
                np.linalg.norm(error[:3]) <= 1e-5 and np.linalg.norm(error[3:]) <= 1e-5
            )


@pytest.mark.parametrize('solver', ['levenberg_marquardt', 'bfgs', 'extended_jacobian'])
def test_large_weights_are_only_large_beside_others(solver):
    chain = chain_of('panda')
    options = options_with(task_weights=np.full(6, 1e12), max_searches=300)
    for target in targets(chain, 10, seed=30):
        result = iks.solve_ik(chain, target, solver=solver, options=options)
        assert result.success, result.reason


METHODS = [name for name in iks.solver_names() if name != 'ccd']
CHAINS = {
    'panda': lambda: arm_of('panda'),
    'sliding': lambda: snake(7, prismatic=0.5),
    'mimicking': mimicking,
}


@pytest.mark.parametrize('solver', METHODS)
@pytest.mark.parametrize('name', CHAINS)
def test_step_is_that_of_the_geometric_one_to_the_perturbation(solver, name):
    chain = CHAINS[name]()
    for q, way in zip(0.6 * postures(chain, 4), postures(chain, 4, seed=1), strict=True):
        target = chain.forward(q + 0.1 * way)
        exact = first_step(chain, q, target, solver)
        condition = np.linalg.cond(exact.J)
        distances = []
        for perturbation in (1e-6, 1e-4):
            values = {'jacobian': 'numerical', 'perturbation': perturbation}
            other = first_step(chain, q, target, solver, **values)
            distances.append(np.abs(other.step - exact.step).max())
            size = np.linalg.norm(exact.step) * condition
            assert distances[-1] <= 10.0 * perturbation * size
        assert distances[0] < 0.1 * distances[1]


def by_differences(chain, q, perturbation):
    columns = []
    for way in perturbation * np.eye(chain.n):
        columns.append(pose_error(chain.forward(q), chain.forward(q + way)) / perturbation)
    return np.array(columns).T


@pytest.mark.parametrize('perturbation', [0.3, 1e-2, 1e-5])
def test_perturbation_option_is_used(perturbation):
    """Also one so large that it shows: forward differences, of one joint at a time."""
    chain = arm_of('panda')
    for q, q_target in 0.5 * postures(chain, 6).reshape(3, 2, 7):
        first = first_step(
            chain, q, chain.forward(q_target), 'pseudoinverse', (2, 1, 1, 0.5, 1, 1),
            jacobian='numerical', perturbation=perturbation,
        )  # fmt: skip
        J = np.sqrt([2, 1, 1, 0.5, 1, 1])[:, None] * by_differences(chain, q, perturbation)
        np.testing.assert_allclose(first.step, np.linalg.pinv(J) @ first.e, rtol=1e-6, atol=1e-8)
