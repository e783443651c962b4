"""Closed forms of arms of six revolute joints: recognition, and roots of their equations."""

import math

import numpy as np
import pytest
from support.chains import arm, planar, snake
from support.robots import JOINTS, six_joint_arm, WITHOUT

from ik_service.jit.compile import kernel
from ik_service.solvers.all_solutions.angles import first_degree_roots, second_degree_roots
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


@kernel
def _first(a, b, d, roots):
    return first_degree_roots(a, b, d, roots)


@kernel
def _second(c0, a1, b1, a2, b2, roots):
    return second_degree_roots(c0, a1, b1, a2, b2, roots)


def roots_of(solve, *coefficients):
    found = np.empty(4)
    return found[: solve(*map(float, coefficients), found)]


def value(c0, a1, b1, a2, b2, x):
    return (c0 + a1 * math.cos(x) + b1 * math.sin(x)
            + a2 * math.cos(2 * x) + b2 * math.sin(2 * x))  # fmt: skip


def apart(a, b):
    return abs(math.remainder(a - b, 2 * math.pi))


def product_of(first, second):
    """Coefficients of (a cos x + b sin x − d) of two such factors, multiplied."""
    (a, b, d), (e, f, g) = first, second
    return (
        d * g + 0.5 * (a * e + b * f),
        -a * g - d * e,
        -b * g - d * f,
        0.5 * (a * e - b * f),
        0.5 * (a * f + b * e),
    )


def factor(x, y):
    """A factor with the roots x and y."""
    middle = 0.5 * (x + y)
    return math.cos(middle), math.sin(middle), math.cos(0.5 * (x - y))


def test_first_degree():
    random = np.random.default_rng(0)
    for _ in range(100):
        x, y = random.uniform(-3, 3, 2)
        roots = roots_of(_first, *factor(x, y))
        assert min(apart(root, x) for root in roots) < 1e-7
        assert min(apart(root, y) for root in roots) < 1e-7
    assert len(roots_of(_first, 1.0, 1.0, 2.0)) == 0
    assert len(roots_of(_first, 0.0, 0.0, 1.0)) == 0
    assert len(roots_of(_first, 0.0, 0.0, 0.0)) == 2


def test_four_roots():
    random = np.random.default_rng(1)
    for _ in range(300):
        made = random.uniform(-math.pi, math.pi, 4)
        coefficients = product_of(factor(*made[:2]), factor(*made[2:]))
        roots = roots_of(_second, *coefficients)
        assert len(roots) == 4
        for x in made:
            nearest = min(roots, key=lambda root: apart(root, x))
            assert abs(value(*coefficients, nearest)) < 1e-12
            assert apart(nearest, x) < 1e-4


def test_two_roots():
    random = np.random.default_rng(2)
    for _ in range(100):
        made = random.uniform(-math.pi, math.pi, 2)
        coefficients = product_of(factor(*made), (0.5, 0.3, random.uniform(0.8, 2)))
        roots = roots_of(_second, *coefficients)
        assert len(roots) == 2
        assert all(min(apart(root, x) for root in roots) < 1e-6 for x in made)


def test_double_roots():
    coefficients = product_of(factor(0.7, 0.7), factor(-1.0, 2.0))
    roots = roots_of(_second, *coefficients)
    assert len(roots) == 4
    assert sum(apart(root, 0.7) < 1e-6 for root in roots) == 2


@pytest.mark.parametrize('coefficients', [(1.0, 0, 0, 0, 0), (3.0, 1, 1, 0.2, 0.1)])
def test_no_roots(coefficients):
    assert len(roots_of(_second, *coefficients)) == 0
