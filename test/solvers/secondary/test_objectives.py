"""Objectives inside the kernels: their values, and their gradients by finite differences."""

import math

import numpy as np
import pytest
from support.chains import arm as arm_of
from support.chains import postures, snake
from support.self_motions import central_gradient, manipulability, OBJECTIVES

import ik_service as iks
from ik_service.jit.compile import kernel
from ik_service.solvers.loop.problem import allocate, open_problem, views
from ik_service.solvers.secondary.objective_choice import choose_objective
from ik_service.solvers.secondary.objectives import (
    MEMORY_ROWS,
    objective_gradient,
    objective_value,
)

PROBLEMS = {
    'panda': (lambda: arm_of('panda'), (1.0,) * 6),
    'weighted': (lambda: arm_of('panda'), (2.0, 1.0, 0.5, 0.1, 3.0, 1.0)),
    'planar_6r': (lambda: arm_of('planar_6r'), (1.0, 1.0, 0.0, 0.0, 0.0, 0.0)),
    'planar_6r, pose': (lambda: arm_of('planar_6r'), (1.0,) * 6),
    'sliding': (lambda: snake(8, prismatic=0.5), (1.0,) * 6),
    'half limited': (lambda: half_limited(), (1.0,) * 6),
}


@kernel
def _value(problem, objective, q):
    chain, settings, work = open_problem(problem)
    return objective_value(objective, chain, settings, work, q)


@kernel
def _gradient(problem, objective, q, gradient):
    chain, settings, work = open_problem(problem)
    objective_gradient(objective, chain, settings, work, q, gradient)


def half_limited():
    """Joints without limits, with one, with two and with no range."""
    chain = snake(7, prismatic=0.0)
    endless = ['continuous' if k in (0, 1, 2) else 'revolute' for k in range(7)]
    text = chain.robot.urdf_text
    for k, kind in enumerate(endless, start=1):
        text = text.replace(f'name="joint{k}" type="revolute"', f'name="joint{k}" type="{kind}"')
    free = iks.Robot.from_urdf(text).chain('link0', 'link7')
    lower, upper = free.lower.copy(), free.upper.copy()
    upper[1], lower[2] = 1.0, -1.0
    lower[5] = upper[5] = 0.3
    return free.with_limits(lower, upper)


class Kernels:
    """An objective of a chain, as the kernels evaluate it."""

    def __init__(self, chain, weights, values):
        options = iks.IkOptions(task_weights=weights, **values)
        self.problem = allocate(chain, MEMORY_ROWS)
        _, settings, self.work = views(self.problem)
        settings.weights[:] = np.sqrt(weights)
        self.work.fixed_at[:] = math.nan
        self.objective = choose_objective(chain, options)

    def value(self, q):
        return _value(self.problem, self.objective, np.ascontiguousarray(q))

    def gradient(self, q):
        gradient = np.empty(len(q))
        _gradient(self.problem, self.objective, np.ascontiguousarray(q), gradient)
        return gradient


def inner_postures(chain, count):
    """Random joint vectors a little off the limits."""
    return np.array([0.97 * q + 0.03 * chain.mid_range() for q in postures(chain, count)])


@pytest.mark.parametrize('name', PROBLEMS)
@pytest.mark.parametrize('objective', OBJECTIVES)
def test_value_and_gradient(name, objective):
    make, weights = PROBLEMS[name]
    chain = make()
    values, g = OBJECTIVES[objective](chain, weights)
    compiled = Kernels(chain, weights, values)
    for q in inner_postures(chain, 10):
        q[chain.lower == chain.upper] = chain.lower[chain.lower == chain.upper]
        assert compiled.value(q) == pytest.approx(g(q), rel=1e-10, abs=1e-14)
        expected = central_gradient(g, q, 1e-5)
        bound = 1e-6 * (1.0 + np.abs(expected).max())
        np.testing.assert_allclose(compiled.gradient(q), expected, rtol=1e-5, atol=bound)


def test_joints_without_a_range_of_their_own_take_no_part():
    chain = half_limited()
    for name in ('joint_centers', 'joint_limits'):
        compiled = Kernels(chain, (1.0,) * 6, {'objective': name})
        for q in inner_postures(chain, 3):
            unconcerned = ~(np.isfinite(chain.upper - chain.lower) & (chain.upper > chain.lower))
            assert unconcerned.sum() == 4
            gradient = compiled.gradient(q)
            assert not gradient[unconcerned].any()
            assert gradient[~unconcerned].all()


def test_joint_limits_objective_is_large_and_finite_at_the_limits():
    chain = arm_of('panda')
    compiled = Kernels(chain, (1.0,) * 6, {'objective': 'joint_limits'})
    middle = chain.mid_range()
    assert compiled.value(middle) == pytest.approx(7.0)
    for bound in (chain.upper, chain.lower, chain.upper + 1.0):
        assert 1e5 < compiled.value(bound) < 1e14
        assert np.isfinite(compiled.gradient(bound)).all()


def test_manipulability_of_seven_joints_is_the_root_of_the_determinant():
    chain = arm_of('panda')
    compiled = Kernels(chain, (1.0,) * 6, {'objective': 'manipulability'})
    for q in postures(chain, 20):
        J = chain.jacobian(q)
        assert compiled.value(q) == pytest.approx(-math.sqrt(np.linalg.det(J @ J.T)), rel=1e-9)


@pytest.mark.parametrize(
    ('weights', 'rank'), [((1, 1, 0, 0, 0, 0), 2), ((1, 1, 1, 0, 0, 0), 2), ((1,) * 6, 3)]
)
def test_manipulability_in_the_plane_is_the_product_over_the_rank(weights, rank):
    chain = arm_of('planar_6r')
    compiled = Kernels(chain, weights, {'objective': 'manipulability'})
    assert compiled.objective.rank == rank
    for q in postures(chain, 10):
        rows = chain.jacobian(q)[[0, 1, 5][:rank]]
        expected = math.sqrt(np.linalg.det(rows @ rows.T))
        assert compiled.value(q) == pytest.approx(-expected, rel=1e-9)
        assert manipulability(chain, weights, q) == pytest.approx(expected, rel=1e-9)


def test_held_joints_have_no_slope():
    chain = arm_of('panda')
    for name, make in OBJECTIVES.items():
        compiled = Kernels(chain, (1.0,) * 6, make(chain, (1.0,) * 6)[0])
        q = inner_postures(chain, 1)[0]
        free = compiled.gradient(q)
        compiled.work.fixed_at[2] = chain.upper[2]
        held = compiled.gradient(q)
        assert held[2] == 0.0, name
        np.testing.assert_array_equal(np.delete(held, 2), np.delete(free, 2))
