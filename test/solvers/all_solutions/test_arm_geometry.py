"""Recognition of arms that have a closed form."""

import pytest
from support.chains import arm, planar, snake
from support.six_joint_arms import JOINTS, six_joint_arm, WITHOUT

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
