"""The paper's experiment through the package's solvers, against its equations in plain NumPy."""

from itertools import product

import numpy as np
import pytest
from support import paper_arm

from ik_service.extras.studies import soch_lorencz
from ik_service.extras.studies.soch_lorencz import distances


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
        np.testing.assert_allclose(
            chain.forward(q)[:2, 3] / soch_lorencz.POINT, paper_arm.tip(q), atol=1e-9
        )


def test_waypoints_are_a_hundred_points_of_the_ellipse():
    points = soch_lorencz.waypoints()
    np.testing.assert_allclose(points, paper_arm.WAYPOINTS, atol=1e-9)
    np.testing.assert_allclose((points / [400.0, 50.0]) ** 2 @ [1, 1], 1.0, atol=1e-12)


def test_inversion_is_equation_4(inversion):
    # The jumps multiply rounding, so that the ways part in the last of these digits.
    q, distance = paper_arm.follow(paper_arm.inversion_step)
    np.testing.assert_allclose(inversion.q[:8], q[:8], atol=1e-7)
    np.testing.assert_allclose(inversion.distance, distance, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize('w', [1.0, 0.1, 1e-3])
def test_extended_jacobian_is_equation_9(w):
    run = soch_lorencz.follow(soch_lorencz.EXTENDED, w)
    q, distance = paper_arm.follow(lambda q, dx: paper_arm.extended_step(q, dx, w))
    np.testing.assert_allclose(run.q[:50], q[:50], atol=1e-6)
    np.testing.assert_allclose(run.distance[:50], distance[:50], rtol=1e-4, atol=1e-6)


def test_the_matrix_is_that_of_the_paper_but_for_its_unit_and_frames():
    for q in np.random.default_rng(1).uniform(-np.pi, np.pi, (10, 6)):
        A = (
            soch_lorencz.matrix(soch_lorencz.arm(), q, soch_lorencz.EXTENDED, 0.1)
            / soch_lorencz.POINT
        )
        expected = paper_arm.extended(q, 0.1)
        # Frames of the basic elements are rotated, which changes rows but not their products.
        np.testing.assert_allclose(A.T @ A, expected.T @ expected, rtol=1e-9, atol=1e-6)


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


def test_the_extended_matrix_has_full_rank_wherever_segments_are_collinear():
    for bends in product((0.0, np.pi), repeat=5):
        A = soch_lorencz.matrix(
            soch_lorencz.arm(), np.array([0.3, *bends]), soch_lorencz.EXTENDED, 1.0
        )
        assert np.linalg.norm(A, -2) > 1.0 * soch_lorencz.POINT


def test_the_extended_method_trails_the_target(inversion):
    extended = soch_lorencz.follow(soch_lorencz.EXTENDED, 1.0)
    assert np.median(extended.distance) > 5 * np.median(inversion.distance)


def test_joint_steps_are_the_differences_of_the_postures(inversion):
    np.testing.assert_allclose(
        inversion.joint_step, abs(np.diff(inversion.q, axis=0)).max(axis=1), atol=0
    )


def test_double_precision_follows_as_the_solver_does():
    run = soch_lorencz.follow(soch_lorencz.EXTENDED, 0.1)
    np.testing.assert_allclose(distances(0.1, 8, np.float64), run.distance[:8], rtol=1e-6)


def test_single_precision_loses_the_way_where_double_does_not():
    single, double = (distances(1e-4, 8, kind) for kind in (np.float32, np.float64))
    assert double.max() < 12.0
    assert not single.max() < 12.0  # far away, or NaN
