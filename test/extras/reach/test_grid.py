"""Orientations of a survey, and measures of postures."""

from __future__ import annotations

import numpy as np
import pytest
from support.chains import arm, planar
from support.robots import GANTRY, SCARA, TWO_LINKS

from ik_service import Robot
from ik_service.extras.reach.grid import chooses_orientation, even_orientations
from ik_service.extras.reach.postures import PostureMeasure


def angles(a, b):
    """Angles of the rotations between all of (k, 3, 3) and all of (m, 3, 3), (k, m) [rad]."""
    traces = np.einsum('aij,bij->ab', a, b)
    return np.arccos(np.clip((traces - 1) / 2, -1, 1))


def random_orientations(count, seed):
    """Uniform ones: the rotation part of Gaussian matrices, by QR with a positive diagonal."""
    q, r = np.linalg.qr(np.random.default_rng(seed).normal(size=(count, 3, 3)))
    q *= np.sign(np.diagonal(r, axis1=1, axis2=2))[:, None, :]
    q[np.linalg.det(q) < 0] *= -1
    return q


@pytest.mark.parametrize('count', [1, 2, 50])
def test_they_are_rotations(count):
    R = even_orientations(count)
    unit = np.tile(np.eye(3), (count, 1, 1))
    np.testing.assert_allclose(R @ R.transpose(0, 2, 1), unit, atol=1e-12)
    np.testing.assert_allclose(np.linalg.det(R), 1.0)


def test_no_orientation_is_far_from_all_of_them():
    R = even_orientations(50)
    everywhere = random_orientations(4000, seed=0)
    covering = angles(everywhere, R).min(axis=1)
    by_chance = angles(everywhere, random_orientations(50, seed=1)).min(axis=1)
    assert covering.max() < 1.2
    assert covering.max() < 0.8 * by_chance.max()
    assert covering.mean() < by_chance.mean()


def test_no_two_of_them_are_close_together():
    R = even_orientations(50)
    apart = angles(R, R) + 10.0 * np.eye(50)
    assert apart.min() > 0.5


def test_which_arms_choose_their_orientation():
    assert chooses_orientation(arm('panda'))
    assert chooses_orientation(Robot.from_urdf(SCARA).chain())
    assert chooses_orientation(Robot.from_urdf(GANTRY).chain())
    assert not chooses_orientation(planar(1.0, 1.0))
    assert chooses_orientation(planar(1.0, 1.0, 0.5))
    panda = arm('panda')
    locked = dict.fromkeys(panda.joint_names[:2], 0.0)
    assert not chooses_orientation(panda.robot.chain(panda.base_link, panda.tip_link, locked))


def chain_of(name):
    small = {'two_links': TWO_LINKS, 'scara': SCARA}
    return Robot.from_urdf(small[name]).chain() if name in small else arm(name)


@pytest.mark.parametrize(
    ('name', 'rank'), [('panda', 6), ('ur5e', 6), ('planar_6r', 3), ('scara', 4), ('two_links', 2)]
)
def test_manipulability_is_the_product_of_the_singular_values(name, rank):
    chain = chain_of(name)
    q = chain.random_postures(50)
    values = [np.linalg.svd(chain.jacobian(row), compute_uv=False)[:rank] for row in q]
    measured = PostureMeasure(chain).manipulability(q)
    np.testing.assert_allclose(measured, np.prod(values, axis=1), rtol=1e-6, atol=1e-9)


def test_rows_that_the_task_leaves_free_do_not_count():
    chain = arm('panda')
    q = chain.random_postures(20)
    values = [np.linalg.svd(chain.jacobian(row)[:3], compute_uv=False) for row in q]
    measured = PostureMeasure(chain, (1, 1, 1, 0, 0, 0)).manipulability(q)
    np.testing.assert_allclose(measured, np.prod(values, axis=1), rtol=1e-6)


def test_the_distance_from_the_limits_is_that_of_the_closest_joint():
    chain = arm('panda')
    q = chain.mid_range()
    measure = PostureMeasure(chain)
    assert measure.limit_distance(q[None]) == pytest.approx(0.5)
    q[3] = chain.lower[3] + 0.1 * (chain.upper[3] - chain.lower[3])
    assert measure.limit_distance(q[None]) == pytest.approx(0.1)
    q[5] = chain.upper[5] + 1e-9
    assert measure.limit_distance(q[None])[0] == 0.0
    assert measure.quality(q[None])[0] == 0.0


def test_joints_without_limits_keep_no_distance():
    chain = chain_of('two_links')
    assert PostureMeasure(chain).limit_distance(np.full((1, 2), 100.0))[0] == 0.5


def test_the_quality_of_two_links_is_best_at_the_right_angle():
    measure = PostureMeasure(chain_of('two_links'), (1, 1, 1, 0, 0, 0))
    quality = measure.quality(np.array([[0.3, 0.0], [0.3, 0.5 * np.pi], [0.3, np.pi]]))
    # √(sin of the elbow angle); the largest of random postures is not quite the largest.
    np.testing.assert_allclose(quality, [0.0, 1.0, 0.0], atol=1e-4)
