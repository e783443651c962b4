"""The paper's experiment through the package's solvers, against its equations in plain NumPy."""

import numpy as np
import pytest

from ik_service.extras.studies import soch_lorencz
from ik_service.extras.studies.soch_lorencz import distances

# The arm and the equations of the paper in points, with none of the package's code
LENGTHS = np.array([90.0, 60.0, 90.0, 150.0, 150.0, 90.0])
BASE = np.array([-230.0, 0.0])
N = len(LENGTHS)
WAYPOINTS = [
    np.array([400.0 * np.cos(2 * np.pi * k / 100), 50.0 * np.sin(2 * np.pi * k / 100)])
    for k in range(1, 101)
]


def tip(q):
    angle = np.cumsum(q)
    return BASE + LENGTHS @ np.column_stack([np.cos(angle), np.sin(angle)])


def jacobian(q):
    """The last two rows of equation (9)."""
    angle = np.cumsum(q)
    x, y = LENGTHS * np.cos(angle), LENGTHS * np.sin(angle)
    return np.array([[-y[i:].sum() for i in range(N)], [x[i:].sum() for i in range(N)]])


def extended_matrix(q, w):
    """Equation (9), its upper rows multiplied by w."""
    A = np.zeros((2 * N, N))
    for i in range(N - 1):
        first, second = q[i], q[i] + q[i + 1]
        A[i, i] = -LENGTHS[i] * np.sin(first) - LENGTHS[i + 1] * np.sin(second)
        A[i, i + 1] = -LENGTHS[i + 1] * np.sin(second)
        A[N - 1 + i, i] = LENGTHS[i] * np.cos(first) + LENGTHS[i + 1] * np.cos(second)
        A[N - 1 + i, i + 1] = LENGTHS[i + 1] * np.cos(second)
    A *= w
    A[-2:] = jacobian(q)
    return A


def inversion_step(q, dx):
    """Equation (4), with the singular values cut at 1e-15 of the largest."""
    return np.linalg.pinv(jacobian(q), rcond=1e-15) @ dx


def extended_step(q, dx, w):
    """Least squares of equation (9) by the normal equations and LU, inner displacements zero."""
    A = extended_matrix(q, w)
    b = np.append(np.zeros(2 * N - 2), dx)
    return np.linalg.solve(A.T @ A, A.T @ b)


def follow(step):
    """Postures (101, 6) and distances (100,) of one step a waypoint from q = 0."""
    q = [np.zeros(N)]
    for waypoint in WAYPOINTS:
        q.append(q[-1] + step(q[-1], waypoint - tip(q[-1])))
    distance = [np.linalg.norm(tip(a) - b) for a, b in zip(q[1:], WAYPOINTS, strict=True)]
    return np.array(q), np.array(distance)


@pytest.fixture(scope='module')
def inversion():
    return soch_lorencz.follow(soch_lorencz.INVERSION)


@pytest.fixture(scope='module', params=soch_lorencz.WEIGHTS)
def extended(request):
    return soch_lorencz.follow(soch_lorencz.EXTENDED, request.param)


def test_the_arm_is_that_of_the_paper():
    chain = soch_lorencz.arm()
    assert chain.forward(np.zeros(6))[:2, 3] / soch_lorencz.POINT == pytest.approx([400.0, 0.0])
    for q in np.random.default_rng(0).uniform(-np.pi, np.pi, (20, 6)):
        np.testing.assert_allclose(chain.forward(q)[:2, 3] / soch_lorencz.POINT, tip(q), atol=1e-9)


def test_waypoints_are_a_hundred_points_of_the_ellipse():
    points = soch_lorencz.waypoints()
    np.testing.assert_allclose(points, WAYPOINTS, atol=1e-9)
    np.testing.assert_allclose((points / [400.0, 50.0]) ** 2 @ [1, 1], 1.0, atol=1e-12)


def test_inversion_is_equation_4(inversion):
    # The jumps multiply rounding, so that the ways part in the last of these digits.
    q, distance = follow(inversion_step)
    np.testing.assert_allclose(inversion.q[:8], q[:8], atol=1e-7)
    np.testing.assert_allclose(inversion.distance, distance, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize('w', [1.0, 0.1, 1e-3])
def test_extended_jacobian_is_equation_9(w):
    run = soch_lorencz.follow(soch_lorencz.EXTENDED, w)
    q, distance = follow(lambda q, dx: extended_step(q, dx, w))
    np.testing.assert_allclose(run.q[:50], q[:50], atol=1e-6)
    np.testing.assert_allclose(run.distance[:50], distance[:50], rtol=1e-4, atol=1e-6)


def test_the_start_is_singular_for_inversion(inversion):
    assert inversion.rank[0] == 1
    assert inversion.condition[0] > 1e15


def test_inversion_makes_a_big_jump_and_the_extended_jacobian_does_not(inversion, extended):
    assert inversion.joint_step[:8].max() > 4.0
    assert inversion.distance[:8].max() > 700.0
    assert extended.joint_step[:8].max() < 0.7


@pytest.mark.parametrize('w', [1.0, 0.1, 1e-3, 1e-5, 1e-6])
def test_the_extended_jacobian_leaves_the_singular_start(w):
    run = soch_lorencz.follow(soch_lorencz.EXTENDED, w)
    assert run.distance[:8].max() < 12.0


def test_what_goes_away_with_w_is_what_numbers_can_hold():
    # The matrix keeps its rank; its normal equations are singular to working precision first.
    run = soch_lorencz.follow(soch_lorencz.EXTENDED, 1e-10)
    assert run.rank.min() == 6
    assert run.distance[:8].max() > 40.0
    assert not distances(1e-8, 8, np.float64).max() < 40.0  # far away, or NaN
    assert soch_lorencz.follow(soch_lorencz.EXTENDED, 1e-8).distance[:8].max() < 40.0


def test_the_extended_matrix_has_full_rank_all_the_way(extended):
    assert extended.rank.min() == 6


def test_double_precision_follows_as_the_solver_does():
    run = soch_lorencz.follow(soch_lorencz.EXTENDED, 0.1)
    np.testing.assert_allclose(distances(0.1, 8, np.float64), run.distance[:8], rtol=1e-6)


def test_single_precision_loses_the_way_where_double_does_not():
    single, double = (distances(1e-4, 8, kind) for kind in (np.float32, np.float64))
    assert double.max() < 12.0
    assert not single.max() < 12.0  # far away, or NaN
