"""Targets with tolerances: what is called solved is within them."""

import math

import numpy as np
import pytest
from support.chains import arm, postures, rotation, transform, within_limits

import ik_service as iks

INF = math.inf

TASKS = {
    'position only': {'orientation_tolerances': (INF, INF, INF)},
    'orientation only': {'region': iks.Sphere(INF)},
    'five degrees of freedom': {'orientation_tolerances': (0, 0, INF)},
    'five by Euler angles': {
        'orientation_tolerances': (0, 0, 4), 'parameterization': 'euler_xyz',
    },
    'upright in a box': {
        'region': iks.Box((0.2, 0.1, 0.01)), 'orientation_tolerances': (0.1, 0.1, INF),
    },
    'sphere': {'region': iks.Sphere(0.02)},
    'cylinder': {'region': iks.Cylinder(0.03, 0.1), 'orientation_tolerances': (0.3, 0.01, 1.0)},
    'line': {'region': iks.Box((0, INF, 0)), 'orientation_tolerances': (INF, 0.2, INF)},
    'as narrow as can be promised': {
        'region': iks.Box((2e-4, 2e-4, 2e-4)), 'orientation_tolerances': (1e-4, 1e-4, 1e-4),
    },
    'Euler angles': {
        'orientation_tolerances': (0.2, 0.1, 0.3), 'parameterization': 'euler_xyz',
    },
}  # fmt: skip


@pytest.mark.parametrize('fields', TASKS.values(), ids=TASKS)
def test_tolerances_hold_in_fact(fields):
    """Wide ones exactly, others within the solver's own; the errors are 0 inside."""
    chain = arm('panda')
    solver = iks.Solver(chain)
    for q, seed in zip(postures(chain, 40, 11), postures(chain, 40, 12), strict=True):
        task = iks.Task(chain.forward(q), **fields)
        result = solver.solve(task, seed)
        assert result.success, result.reason
        assert within_limits(chain, result.q)
        position, orientation = task.violation(chain.forward(result.q))
        assert position <= (1e-5 if narrow_region(task.region) else 0.0)
        wide = all(t >= 1e-4 for t in task.orientation_tolerances)
        assert orientation <= (0.0 if wide else 1e-5)
        assert abs(result.position_error - position) < 1e-12
        assert abs(result.orientation_error - orientation) < 1e-9


def narrow_region(region):
    return region is None or 0.0 in region.extents


def test_point_of_the_tip():
    chain = arm('panda')
    for q in postures(chain, 10, 13):
        T, point = chain.forward(q), (0.1, -0.02, 0.05)
        task = iks.Task(
            transform(T[:3, :3], T[:3, 3] + T[:3, :3] @ point), iks.Sphere(0.001), point=point
        )
        result = iks.solve_ik(chain, task)
        assert result.success
        assert task.violation(chain.forward(result.q)) <= (0.0, 1e-5)


def test_solved_at_once_inside_the_tolerances():
    chain = arm('panda')
    q = postures(chain, 1, 14)[0]
    T = chain.forward(q) @ transform(rotation((0, 0, 1), 0.1), (0.01, 0.0, 0.0))
    task = iks.Task(T, iks.Sphere(0.02), orientation_tolerances=(0.2, 0.2, 0.2))
    result = iks.solve_ik(chain, task, q)
    assert result.iterations == 0
    np.testing.assert_array_equal(result.q, q)
