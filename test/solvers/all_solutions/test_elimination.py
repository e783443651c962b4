"""Elimination for arms of six revolute joints without a closed form."""

import math

import numpy as np
import pytest
from support.chains import arm, planar, postures, snake, targets
from support.robots import six_joint_arm, WITHOUT

import ik_service as iks
from ik_service.jit.compile import kernel
from ik_service.solvers.all_solutions.angles import find_roots
from ik_service.solvers.all_solutions.elimination import elimination_of, elimination_starts
from ik_service.solvers.all_solutions.finder import list_solutions, needs_elimination


def apart(solutions, q):
    """Largest joint difference of each solution from a posture, but for full turns."""
    return np.abs(np.remainder(solutions - q + math.pi, 2 * math.pi) - math.pi).max(axis=1)


@pytest.mark.parametrize('name', ['any', 'elbow, calibrated', 'parallel, calibrated'])
def test_starts_are_the_solutions(name):
    chain = six_joint_arm(name)
    prepared, starts = elimination_of(chain), np.empty((16, 6))
    errors = []
    for q in postures(chain, 100, seed=1):
        count, certain, clean = elimination_starts(prepared, chain.forward(q), starts)
        assert clean
        assert 1 <= certain <= count <= 16
        errors.append(apart(starts[:count], q).min())
    assert np.median(errors) < 1e-9
    assert np.max(errors) < 1e-3


@pytest.mark.parametrize('name', WITHOUT)
def test_the_list_is_proved_complete_and_has_the_posture_that_made_the_target(name):
    chain = six_joint_arm(name)
    proved = 0
    for q in postures(chain, 200, seed=3):
        solutions = list_solutions(chain, chain.forward(q))
        assert apart(solutions.q, q).min() < 1e-4
        proved += solutions.proved
    assert proved >= 190


@pytest.mark.parametrize('name', WITHOUT)
def test_a_target_with_no_solution_is_proved_to_have_none(name):
    chain = six_joint_arm(name)
    # Within the reach for all that its radius says, and turned away at the end of it.
    proved = 0
    for target in targets(chain, 40, seed=4):
        target[:3, 3] *= 1.6
        solutions = list_solutions(chain, target)
        if not iks.solve_ik(chain, target).success:
            assert len(solutions.q) == 0
            proved += solutions.proved
    assert proved > 0


def test_what_random_searches_found_is_not_proved_complete():
    chain = arm('panda')
    assert not list_solutions(chain, targets(chain, 1)[0]).proved


@pytest.mark.parametrize('chain', [snake(5), planar(1, 1, 1, 1, 1, 1), arm('panda')])
def test_chains_for_which_there_is_none(chain):
    assert elimination_of(chain) is None
    assert not needs_elimination(chain)


def test_arms_that_need_it():
    assert all(needs_elimination(six_joint_arm(name)) for name in WITHOUT)
    assert not needs_elimination(arm('ur5e'))


@kernel
def _roots(coefficients, roots):
    find_roots(coefficients, roots)


def test_roots_of_a_polynomial_of_degree_sixteen():
    random = np.random.default_rng(5)
    roots = np.empty((8, 16))
    for _ in range(100):
        coefficients = random.normal(size=(2, 17))
        _roots(coefficients, roots)
        expected = np.roots((coefficients[0] + 1j * coefficients[1])[::-1])
        distances = np.abs(expected[:, None] - roots[0] - 1j * roots[1])
        assert distances.min(axis=0).max() < 1e-9
        assert distances.min(axis=1).max() < 1e-9
