"""The band of the basic elements where its elimination is not the plain one."""

import math

import numpy as np
import pytest
from support.chains import arm as arm_of
from support.chains import planar, postures, snake
from support.solver_checks import first_step, mimicking

import ik_service as iks
from ik_service.solvers.methods.extended_jacobian.basic_elements import extended_matrix

PLANE = (1.0, 1.0, 0.0, 0.0, 0.0, 0.0)
POSE = (1.0,) * 6
# Segments, which of their angles are straight (0) or folded (π). Folded about segments of one
# length, the first joint of an element does not move its end: the pivot is 0 in the middle.
FOLDS = {
    'stretched': ((1.0, 2.0, 1.5, 0.5), (0, 0, 0)),
    'first folded': ((1.0, 1.0, 2.0, 1.5), (1, 0, 0)),
    'middle folded': ((2.0, 1.0, 1.0, 1.5), (0, 1, 0)),
    'two folded': ((1.5, 1.0, 1.0, 1.0, 2.0), (0, 1, 1, 0)),
    'all folded': ((1.0, 1.0, 1.0, 1.0, 2.5, 1.0), (1, 1, 1, 0, 0)),
}


def expected_step(chain, first, q, weights, w):
    A = extended_matrix(chain, q, iks.IkOptions(task_weights=weights, element_weight=w))
    b = np.zeros(len(A))
    used = np.array(weights) > 0.0
    b[len(A) - used.sum() :] = first.e[used]
    return np.linalg.lstsq(A, b, rcond=None)[0], A


@pytest.mark.parametrize('name', FOLDS)
@pytest.mark.parametrize('w', [1.0, 0.03])
@pytest.mark.parametrize('off', [0.0, 1e-10, 1e-7, 1e-4, 1e-2])
def test_joints_not_determined_by_the_elements_go_to_the_border(name, w, off):
    lengths, folds = FOLDS[name]
    chain = planar(*lengths)
    q = np.array([0.3, *(math.pi * (1.0 - off) * fold + off for fold in folds)])
    target = chain.forward(q + np.linspace(-0.1, 0.2, chain.n))
    first = first_step(chain, q, target, 'extended_jacobian', PLANE, element_weight=w)
    expected, A = expected_step(chain, first, q, PLANE, w)
    assert np.linalg.matrix_rank(A) == chain.n
    bound = 1e-14 * np.linalg.cond(A) ** 2 * (np.linalg.norm(expected) + 1.0)
    np.testing.assert_allclose(first.step, expected, rtol=0, atol=bound)
    assert bound < 1e-5


@pytest.mark.parametrize('w', [1.0, 1e-2, 1e-4, 1e-6])
@pytest.mark.parametrize('make', [mimicking, lambda: snake(3), lambda: snake(5, prismatic=0.5)])
def test_step_towards_an_unreachable_target_is_accurate(make, w):
    chain = make()
    for q in postures(chain, 5, seed=2):
        target = chain.forward(q + 0.1)
        target[:3, 3] += (0.3, -0.2, 0.25)
        first = first_step(chain, q, target, 'extended_jacobian', element_weight=w)
        expected, A = expected_step(chain, first, q, POSE, w)
        bound = 1e-14 * np.linalg.cond(A) ** 2 * (np.linalg.norm(expected) + 1.0)
        np.testing.assert_allclose(first.step, expected, rtol=0, atol=bound)
        assert bound < 1e-9  # there is no division by w²


@pytest.mark.parametrize('name', ['panda', 'ur5e'])
def test_small_weights_tend_to_a_limit(name):
    """Normal equations would have lost all digits: w² is 1e-18 of what it is added to."""
    chain = arm_of(name)
    for q in postures(chain, 5, seed=3):
        target = chain.forward(q + 0.05)
        near, nearer = (
            first_step(chain, q, target, 'extended_jacobian', element_weight=w).step
            for w in (1e-7, 1e-9)
        )
        np.testing.assert_allclose(nearer, near, rtol=0, atol=1e-7)


def test_one_joint_has_no_element():
    chain = planar(1.0)
    q = np.array([0.2])
    first = first_step(chain, q, chain.forward([0.3]), 'extended_jacobian', PLANE)
    column = first.J[:, 0]
    np.testing.assert_allclose(first.step, [column @ first.e / (column @ column)], rtol=1e-12)


def test_singular_system_gives_no_step_and_the_solve_goes_on():
    """All segments of one length, folded, and a target along them: nothing determines the step."""
    chain = planar(1.0, 1.0)
    first = first_step(chain, [0.0, 0.0], chain.forward([0.0, 0.3]), 'extended_jacobian', PLANE)
    assert not first.step.any()
    options = iks.IkOptions(task_weights=PLANE)
    target = chain.forward([0.4, 0.8])
    assert iks.solve_ik(chain, target, [0.0, 0.0], 'extended_jacobian', options).success
