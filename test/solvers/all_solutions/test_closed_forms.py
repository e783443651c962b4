"""Closed forms of arms of six revolute joints, and the elimination where there is none."""

import math

import numpy as np
import pytest
from support.chains import arm, planar, postures, snake, targets
from support.robots import JOINTS, six_joint_arm, WITHOUT

import ik_service as iks
from ik_service.solvers.all_solutions.closed_forms import (
    closed_form_of,
    GENERAL,
    INTERSECTING,
    NO_FORM,
    PARALLEL,
    SKEW,
    SPHERICAL_WRIST,
    THREE_PARALLEL,
)
from ik_service.solvers.all_solutions.elimination import elimination_of
from ik_service.solvers.all_solutions.finder import list_solutions, needs_elimination

EXPECTED = {
    'elbow': (SPHERICAL_WRIST, INTERSECTING, 0),
    'elbow, shoulder offset': (SPHERICAL_WRIST, SKEW, 0),
    'scara': (SPHERICAL_WRIST, PARALLEL, 0),
    'skewed': (SPHERICAL_WRIST, SKEW, 0),
    'parallel': (THREE_PARALLEL, SKEW, 0),
    'elbow, inverted': (SPHERICAL_WRIST, INTERSECTING, 1),
    'skewed, inverted': (SPHERICAL_WRIST, SKEW, 1),
    'parallel, inverted': (THREE_PARALLEL, SKEW, 1),
}


@pytest.mark.parametrize('name', JOINTS)
def test_arms_with_a_closed_form(name):
    form = closed_form_of(six_joint_arm(name))
    assert (form.kind, form.first_axes, form.inverted) == EXPECTED[name]


@pytest.mark.parametrize('name', WITHOUT)
def test_arms_without(name):
    assert closed_form_of(six_joint_arm(name)).kind == GENERAL


def test_the_arm_of_universal_robots():
    assert closed_form_of(arm('ur5e')).kind == THREE_PARALLEL


@pytest.mark.parametrize('chain', [planar(1.0), snake(6), arm('panda')])
def test_other_chains_have_none(chain):
    assert closed_form_of(chain).kind == NO_FORM


def test_a_planar_arm_of_six_joints():
    assert closed_form_of(planar(1, 1, 1, 1, 1, 1)).kind == GENERAL


def apart(solutions, q):
    """Largest joint difference of each solution from a posture, but for full turns."""
    return np.abs(np.remainder(solutions - q + math.pi, 2 * math.pi) - math.pi).max(axis=1)


@pytest.mark.parametrize('name', WITHOUT)
def test_the_list_is_proved_complete_and_has_the_posture_that_made_the_target(name):
    chain = six_joint_arm(name)
    proved = 0
    for q in postures(chain, 200, seed=3):
        solutions = list_solutions(chain, chain.forward(q))
        assert apart(solutions.q, q).min() < 1e-4
        proved += solutions.proved
    assert proved >= 160  # less where the arm is solved with axes that are off


@pytest.mark.parametrize(
    ('name', 'q'),
    [
        ('wrist apart', (0.91443982, -1.23630114, -0.3377689, 0.17829567, 1.56777684, 1.82545848)),
        ('wrist apart', (1.54367532, 2.78277601, 0.46720314, -1.1147132, -3.01486773, -2.5437061)),
        (
            'wrist of 60 degrees',
            (-0.17939567, 1.52868826, 2.74885555, -1.6455817, 0.75986912, -2.48265473),
        ),
        ('wrist offset', (-1.99544002, -0.3959274, 1.60807833, -0.0135836, -1.57968613, 2.534017)),
        (
            'wrist apart',  # one of the two is found, and is almost singular
            (
                2.91547968883,
                0.03080551245,
                1.30858528026,
                -2.38422956692,
                0.09077550926,
                -2.40482837,
            ),
        ),
        (
            'wrist offset',  # at the end of the reach there is no other
            (
                0.31565441564,
                0.60320606132,
                -1.2969464114,
                -1.56817982044,
                -0.42799429744,
                -1.6292416,
            ),
        ),
        (
            'wrist of 60 degrees',  # many of them nearly meet
            (
                1.4317923196105,
                -1.6825400457010364,
                2.7434258075820446,
                -1.2871010772631717,
                1.678275848508675,
                0.6812939925826073,
            ),
        ),
    ],
)
def test_of_two_solutions_that_nearly_meet_none_is_proved_away(name, q):
    """Where such an arm is solved with axes that are off, their roots can be a complex pair."""
    chain = six_joint_arm(name)
    solutions = list_solutions(chain, chain.forward(q))
    assert not solutions.proved or apart(solutions.q, np.array(q)).min(initial=1.0) < 1e-4


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
