"""Errors of tips and their derivatives in kernels, against NumPy and finite differences."""

from functools import lru_cache
import math

import numpy as np
import pytest
from support.chains import arm, rotation, transform

import ik_service as iks
from ik_service.jit.compile import kernel
from ik_service.kinematics.kernels import last_frame
from ik_service.solvers.loop.iteration import errors, set_goal, weighted_rows
from ik_service.solvers.loop.problem import open_problem
from ik_service.solvers.loop.tree.problem import tree_views

TOLERANCES = {
    'exact': {},
    'free': {'orientation_tolerances': (math.inf,) * 3},
    'rotation vector': {'orientation_tolerances': (0.3, 0.0, 1.5)},
    'one axis free': {'orientation_tolerances': (0.0, 0.2, math.inf)},
    'euler': {'orientation_tolerances': (0.3, 0.0, 1.5), 'parameterization': 'euler_xyz'},
    'euler free': {'orientation_tolerances': (0.0, 0.2, 4.0), 'parameterization': 'euler_xyz'},
}
REGIONS = {
    'point': None,
    'box': iks.Box((0.3, 0.0, math.inf)),
    'sphere': iks.Sphere(0.2),
    'cylinder': iks.Cylinder(0.2, 0.4),
    'line': iks.Cylinder(0.0, math.inf),
}


@kernel
def evaluate(problem, target, q):
    chain, settings, work = open_problem(problem)
    set_goal(chain, target, work.goal)
    last_frame(chain, q, work.axes, work.frame)
    found = errors(settings, work)
    for i in range(q.shape[0]):
        work.q[i] = q[i]
    weighted_rows(chain, settings, work)
    return found


@lru_cache
def solver():
    """Of the arm; with tolerances of its own so fine that the loop aims no farther inside."""
    chain = arm('panda')
    options = iks.IkOptions(position_tolerance=1e-13, orientation_tolerance=1e-13)
    return iks.Solver(chain, options=options).with_tolerances


def evaluated(task, q):
    problem = solver().problem()
    position, orientation, cost = evaluate(problem, solver().packed_many([task])[0], q)
    _, _, work = tree_views(problem)
    return position, orientation, cost, work.error.copy(), work.rows.copy()


def random_task(rng, region, tolerances):
    R = rotation(rng.normal(size=3), rng.uniform(0, math.pi))
    pose = transform(rotation(rng.normal(size=3), 2.0), rng.uniform(-0.5, 0.5, 3))
    return iks.Task(
        transform(R, rng.uniform(-0.5, 0.5, 3)),
        region,
        None if region is None else pose,
        rng.uniform(-0.2, 0.2, 3),
        **tolerances,
    )


@pytest.mark.parametrize('tolerances', TOLERANCES.values(), ids=TOLERANCES)
@pytest.mark.parametrize('region', REGIONS.values(), ids=REGIONS)
def test_errors_and_derivatives(region, tolerances):
    rng = np.random.default_rng(5)
    chain, h = arm('panda'), 1e-6
    for q in rng.uniform(chain.lower, chain.upper, (10, 7)):
        task = random_task(rng, region, tolerances)
        position, orientation, cost, _, rows = evaluated(task, q)
        violation = task.violation(chain.forward(q))
        np.testing.assert_allclose((position, orientation), violation, atol=1e-9)
        assert cost == pytest.approx(0.5 * (violation[0] ** 2 + violation[1] ** 2), abs=1e-9)
        for i in range(7):
            before, after = (evaluated(task, q + s * h * np.eye(7)[i])[3] for s in (-1, 1))
            slope = (before - after) / (2 * h)
            np.testing.assert_allclose(rows[i, :3], slope[:3], atol=1e-6)
            if 'orientation_tolerances' in tolerances and orientation < 2.5 and steep(task, q):
                np.testing.assert_allclose(rows[i, 3:], slope[3:], atol=1e-5)


def steep(task, q):
    """Whether the Euler angles are far enough from gimbal lock for exact derivatives."""
    R = task.target[:3, :3].T @ arm('panda').forward(q)[:3, :3]
    return task.parameterization != 'euler_xyz' or math.hypot(R[0, 0], R[0, 1]) > 0.1


def test_components_within_their_tolerance_are_free():
    chain, q = arm('panda'), np.array([0.1, -0.5, 0.2, -2.0, 0.1, 1.5, 0.3])
    T = chain.forward(q)
    task = iks.Task(T, iks.Box((0.1, 0.1, 0.0)), orientation_tolerances=(0.1, 0.0, 9.0))
    _, _, cost, error, rows = evaluated(task, q)
    assert cost == pytest.approx(0.0, abs=1e-20)
    np.testing.assert_allclose(error, 0.0, atol=1e-12)
    R = T[:3, :3]
    linear, angular = rows[:, :3] @ R, rows[:, 3:] @ R
    np.testing.assert_allclose(linear[:, :2], 0.0, atol=1e-12)
    np.testing.assert_allclose(angular[:, [0, 2]], 0.0, atol=1e-12)
    assert abs(linear[:, 2]).max() > 0.1
    assert abs(angular[:, 1]).max() > 0.1
