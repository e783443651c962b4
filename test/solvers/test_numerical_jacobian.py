"""The Jacobian by perturbation: as good as its perturbation is small, for every method."""

import numpy as np
import pytest
from support.chains import arm as arm_of
from support.chains import postures, snake, targets
from support.contract import assert_honest, options_with
from support.elements import mimicking
from support.first_step import first_step

import ik_service as iks
from ik_service.exceptions import OptionError
from ik_service.kinematics.pose_error import pose_error

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


def test_perturbation_left_out_is_a_millionth():
    chain = arm_of('panda')
    q, q_target = 0.5 * postures(chain, 2)
    target = chain.forward(q_target)
    left_out = first_step(chain, q, target, 'pseudoinverse', jacobian='numerical').step
    given = first_step(
        chain, q, target, 'pseudoinverse', jacobian='numerical', perturbation=1e-6
    ).step
    np.testing.assert_array_equal(left_out, given)


@pytest.mark.parametrize('solver', METHODS)
def test_every_method_solves_with_it(solver, strategy):
    chain = arm_of('panda')
    options = options_with(jacobian='numerical', joint_limits=strategy, max_searches=10)
    prepared = iks.Solver(chain, solver, options)
    solved = 0
    for q in 0.6 * postures(chain, 5, seed=2) + 0.4 * chain.mid_range():
        target = chain.forward(q)
        result = prepared.solve(target, q + 0.02)
        assert_honest(chain, target, options, result)
        solved += result.success
    assert solved >= (2 if solver == 'transpose' else 4)


def test_as_many_steps_as_with_the_geometric_one():
    chain = arm_of('ur5e')
    for target in targets(chain, 10):
        exact, numerical = (
            iks.solve_ik(chain, target, options=options_with(jacobian=kind, max_searches=1))
            for kind in ('geometric', 'numerical')
        )
        if exact.success and numerical.success:
            assert abs(exact.iterations - numerical.iterations) <= 1


def test_ccd_has_no_jacobian_to_replace():
    with pytest.raises(OptionError, match=r'^jacobian: is not used by ccd') as error:
        iks.Solver(arm_of('panda'), 'ccd', iks.IkOptions(jacobian='numerical'))
    assert error.value.option == 'jacobian'


def test_perturbation_comes_with_the_numerical_jacobian():
    with pytest.raises(OptionError, match=r"^perturbation: has to come with jacobian='numerical'"):
        iks.IkOptions(perturbation=1e-6)
    for value in (0.0, -1e-6, float('nan'), '1e-6'):
        with pytest.raises(OptionError, match=r'^perturbation: has to be a number above 0'):
            iks.IkOptions(perturbation=value, jacobian='numerical')
