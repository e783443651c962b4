"""Measures of postures against plain linear algebra."""

from __future__ import annotations

import numpy as np
import pytest
from support.chains import arm
from support.robots import SCARA, TWO_LINKS

from ik_service import Robot
from ik_service.extras.reach.postures import PostureMeasure


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
