"""Rows that extend the Jacobian: the gradient in the null space, and its rank."""

import csv
from importlib import import_module
import itertools
import math

import numpy as np
import pytest
from support.chains import arm as arm_of
from support.chains import endless, postures, REPOSITORY, snake
from support.solver_checks import (
    first_step,
    gradient_of,
    null_projection,
    OBJECTIVES,
    options_with,
)

import ik_service as iks
from ik_service.exceptions import OptionError
from ik_service.solvers.methods.extended_jacobian.basic_elements import extended_matrix

PLANE = (1.0, 1.0, 0.0, 0.0, 0.0, 0.0)
POSITION = (1.0, 1.0, 1.0, 0.0, 0.0, 0.0)
PROBLEMS = {
    'panda': (arm_of('panda'), (1.0,) * 6),
    'panda, position': (arm_of('panda'), POSITION),
    'planar_6r': (arm_of('planar_6r'), PLANE),
    'planar_6r, pose': (arm_of('planar_6r'), (1.0,) * 6),
    'snake': (snake(9), (2.0, 1.0, 0.5, 0.1, 3.0, 1.0)),
}
_STEP = 1e-5


def weighted(chain, weights, q):
    return np.sqrt(weights)[:, None] * chain.jacobian(q)


def equation_6(chain, weights, gradient, q):
    """The square system's step of (e, gain), with bases of the null space, and its condition."""
    U, sigma, Vt = np.linalg.svd(weighted(chain, weights, q))
    rank = int(np.sum(sigma > 1e-10))

    def projected(p):
        return null_projection(weighted(chain, weights, p), rank) @ gradient(p)

    ways, slope = _STEP * np.eye(chain.n), projected(q)
    D = np.array([(projected(q + way) - projected(q - way)) / (2 * _STEP) for way in ways]).T
    for turn in range(2):  # of the basis, which is any orthonormal one
        size = (chain.n - rank,) * 2
        basis = np.linalg.qr(np.random.default_rng(turn).normal(size=size))[0] @ Vt[rank:]
        A = np.vstack([Vt[:rank], basis @ D])

        def step(e, gain, A=A, basis=basis):
            b = [(U[:, :rank].T @ e) / sigma[:rank], -gain * basis @ slope]
            return np.linalg.solve(A, np.concatenate(b))

        yield step, np.linalg.cond(A)


# The tip is on the last joint's axis, so that joint changes neither the position nor how well the
# tip can be moved, and the matrix is singular.
UNDETERMINED = ('panda, position', 'manipulability')


@pytest.mark.parametrize(
    ('name', 'objective'),
    [pair for pair in itertools.product(PROBLEMS, OBJECTIVES) if pair != UNDETERMINED],
)
def test_step_is_equation_6_whatever_the_basis(name, objective):
    chain, weights = PROBLEMS[name]
    values, gradient = gradient_of(objective, chain, weights)
    compared = 0
    for q, q_target in postures(chain, 6, seed=1).reshape(3, 2, chain.n):
        q = 0.8 * q
        target, systems = chain.forward(q_target), [*equation_6(chain, weights, gradient, q)]
        for gain in (None, 0.3):
            first = first_step(
                chain, q, target, 'extended_jacobian', weights,
                extension='null_space_gradient', null_space_gain=gain, **values,
            )  # fmt: skip
            for step, condition in systems:
                if condition < 1e4:
                    compared += 1
                    expected = step(first.e, gain or 0.0)
                    bound = 1e-6 * condition * np.linalg.norm(expected)
                    np.testing.assert_allclose(first.step, expected, rtol=0, atol=bound)
    assert compared >= 4


def test_without_redundancy_it_is_the_plain_inverse_and_says_so(ur5e):
    options = iks.IkOptions(extension='null_space_gradient')
    remark = iks.Solver(ur5e, 'extended_jacobian', options).remark
    assert 'plain inverse' in remark
    assert 'n − m = 0' in remark
    for q, q_target in postures(ur5e, 8).reshape(4, 2, 6):
        first = first_step(
            ur5e, q, ur5e.forward(q_target), 'extended_jacobian',
            extension='null_space_gradient', objective='manipulability',
        )  # fmt: skip
        np.testing.assert_allclose(first.step, np.linalg.solve(first.J, first.e), rtol=1e-8)


@pytest.mark.parametrize(
    ('name', 'weights', 'rows'),
    [
        ('panda', (1.0,) * 6, 1),
        ('panda', POSITION, 4),
        ('planar_6r', PLANE, 4),
        ('planar_6r', (1.0,) * 6, 3),
    ],
)
def test_remark_counts_the_rows(name, weights, rows):
    options = iks.IkOptions(extension='null_space_gradient', task_weights=weights)
    remark = iks.Solver(arm_of(name), 'extended_jacobian', options).remark
    assert remark == f'the Jacobian is extended by {rows} rows of the objective'


def test_singular_posture_is_left_to_the_next_search(ur5e):
    """The plain inverse does not exist there, and no step is better than one of 1e16 rad."""
    rng = np.random.default_rng(5)
    for q in (
        np.zeros(6),
        *(np.where(np.arange(6) == 4, k * math.pi, rng.uniform(-2, 2, 6)) for k in range(2)),
    ):
        assert np.linalg.svd(ur5e.jacobian(q), compute_uv=False)[-1] < 1e-12
        first = first_step(
            ur5e, q, ur5e.forward(q + 0.1), 'extended_jacobian', extension='null_space_gradient'
        )
        assert not first.step.any()


@pytest.mark.parametrize('name', PROBLEMS)
def test_slope_goes_to_zero_with_a_gain(name):
    chain, weights = PROBLEMS[name]
    values, gradient = gradient_of('preferred_posture', chain, weights)
    rank = np.linalg.matrix_rank(weighted(chain, weights, postures(chain, 1)[0]))

    def slope(p):
        return np.abs(null_projection(weighted(chain, weights, p), rank) @ gradient(p)).max()

    settled = 0
    for q in postures(chain, 6, seed=2):
        q = 0.5 * q
        target = chain.forward(q)
        options = options_with(
            extension='null_space_gradient', null_space_gain=0.5, task_weights=weights,
            joint_limits='ignore', max_searches=1, **values,
        )  # fmt: skip
        result = iks.solve_ik(chain, target, q, 'extended_jacobian', options)
        if not result.success or result.iterations == 1000:
            continue
        settled += slope(result.q) < 1e-4 * slope(q)
    assert settled >= 4


def test_without_a_gain_it_stops_at_the_target(panda):
    q = 0.5 * postures(panda, 1)[0]
    options = iks.IkOptions(extension='null_space_gradient')
    result = iks.solve_ik(panda, panda.forward(q), q, 'extended_jacobian', options)
    assert (result.success, result.iterations) == (True, 0)


def test_with_a_gain_but_nothing_to_gain_it_stops_at_the_target(ur5e):
    q = ur5e.mid_range() + 0.3
    options = iks.IkOptions(extension='null_space_gradient', null_space_gain=0.1)
    result = iks.solve_ik(ur5e, ur5e.forward(q), q - 0.05, 'extended_jacobian', options)
    assert result.success
    assert result.iterations < 10


def test_objective_that_is_the_same_everywhere_is_refused():
    """All joints turn without end, so none has a middle or a limit to keep away from."""
    chain = endless(0.5, 0.4, 0.3, 0.2)
    values = {'extension': 'null_space_gradient', 'task_weights': PLANE}
    for objective, name in ((None, 'joint_centers'), ('joint_limits', 'joint_limits')):
        options = iks.IkOptions(objective=objective, **values)
        with pytest.raises(OptionError, match=f'^objective: {name} is the same everywhere'):
            iks.Solver(chain, 'extended_jacobian', options)
    options = iks.IkOptions(objective='manipulability', **values)
    q = np.array([0.3, 0.5, -0.4, 0.9])
    assert iks.solve_ik(chain, chain.forward(q), q + 0.1, 'extended_jacobian', options).success


TABLE = REPOSITORY / 'docs' / 'figures' / 'extended_rank.csv'
COLUMNS = [
    'arm', 'rows', 'postures', 'count', 'smallest_singular_value', 'at',
    'smallest_of_the_jacobian',
]  # fmt: skip
KINDS = {
    'random', 'quarter turns', 'one joint at a quarter turn', 'at the limits', 'stretched',
    'searched for',
}  # fmt: skip
# Bounds below every smallest singular value that was found.
BOUNDS = {
    ('planar_6r', 'position'): 1.7e-3,
    ('planar_6r', 'pose'): 0.56,
    ('panda', 'pose'): 0.99,
    ('ur5e', 'pose'): 0.99,
    ('stanford', 'pose'): 1.16,
}


@pytest.fixture
def script(monkeypatch):
    monkeypatch.syspath_prepend(REPOSITORY / 'benchmarks')
    return import_module('extended_rank')


@pytest.fixture
def table():
    with TABLE.open(newline='') as file:
        return list(csv.DictReader(file))


def options_of(script, row):
    weights = {case[:2]: case[2] for case in script.CASES}[row['arm'], row['rows']]
    return iks.IkOptions(task_weights=weights, element_weight=1.0)


def test_table_is_complete(script, table):
    assert list(table[0]) == COLUMNS
    cases = {case[:2] for case in script.CASES}
    assert cases == set(BOUNDS)
    assert {(row['arm'], row['rows'], row['postures']) for row in table} == {
        (*case, kind) for case in cases for kind in KINDS
    }
    assert all(row['count'] == '10000' for row in table if row['postures'] == 'random')


def test_rank_is_full_everywhere(table):
    for row in table:
        bound = BOUNDS[row['arm'], row['rows']]
        assert float(row['smallest_singular_value']) > bound
    singular = [row for row in table if float(row['smallest_of_the_jacobian']) < 1e-9]
    assert {(row['arm'], row['rows']) for row in singular} == set(BOUNDS)


def test_table_values_are_those_at_the_listed_postures(script, table):
    for row in table:
        chain = script.chain_of(row['arm'])
        numbers = np.array(row['at'].split(), dtype=float)
        turning = chain.arrays.joints[:, 6] != 0.0
        q = np.where(turning, np.radians(numbers), numbers / 1000.0)
        options = options_of(script, row)
        value = np.linalg.svd(extended_matrix(chain, q, options), compute_uv=False)[-1]
        assert float(row['smallest_singular_value']) == pytest.approx(value, rel=2e-3)


@pytest.mark.parametrize('case', BOUNDS)
def test_singular_values_at_other_postures_are_above_the_bounds(script, case):
    """Other random postures, and a part of the grid."""
    chain = script.chain_of(case[0])
    options = options_of(script, dict(zip(('arm', 'rows'), case, strict=True)))
    rng = np.random.default_rng(9)
    kinds = dict(script.kinds(chain, 150, rng))
    assert set(kinds) == KINDS - {'searched for'}
    for group in kinds.values():
        for q in rng.permutation(group)[:150]:
            A = extended_matrix(chain, q, options)
            assert np.linalg.svd(A, compute_uv=False)[-1] > BOUNDS[case]
