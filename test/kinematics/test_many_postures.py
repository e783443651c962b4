"""Poses and speeds of many postures: the same as those of one posture after the other."""

from __future__ import annotations

import numpy as np
import pytest
from support.chains import arm, postures, snake

from ik_service.exceptions import ArgumentError
from ik_service.kinematics.many_postures import tip_poses, tip_speeds

CHAINS = {
    'panda': lambda: arm('panda'),
    'ur5e': lambda: arm('ur5e'),
    'one joint': lambda: snake(1),
    'nine joints, some of which slide': lambda: snake(9, 3),
}


@pytest.mark.parametrize('name', CHAINS)
def test_they_are_those_of_one_posture_after_the_other(name):
    chain = CHAINS[name]()
    q, velocities = postures(chain, 200), postures(chain, 200, seed=1)
    poses = np.array([chain.forward(row) for row in q])
    np.testing.assert_array_equal(tip_poses(chain, q), poses)
    twists = [chain.jacobian(row) @ v for row, v in zip(q, velocities, strict=True)]
    speeds = np.linalg.norm(np.array(twists)[:, :3], axis=1)
    np.testing.assert_allclose(tip_speeds(chain, q, velocities), speeds, rtol=1e-12, atol=1e-15)


def test_angles_far_out_lose_nothing():
    chain = arm('planar_6r')
    q = postures(chain, 3)
    q[1] += 2.0 * np.pi * 1e9
    poses = [chain.forward(row) for row in q]
    np.testing.assert_allclose(tip_poses(chain, q), poses, atol=1e-12)


def test_rows_of_any_layout_are_taken_and_not_changed():
    chain = arm('panda')
    q = postures(chain, 8)
    turned = np.asfortranarray(q)
    turned.setflags(write=False)
    np.testing.assert_array_equal(tip_poses(chain, turned), tip_poses(chain, q))
    assert tip_poses(chain, q[:0]).shape == (0, 4, 4)


@pytest.mark.parametrize(
    ('q', 'velocities', 'word'),
    [
        (np.zeros(7), np.zeros((1, 7)), r'q: .*\(N, 7\)'),
        (np.zeros((2, 6)), np.zeros((2, 6)), r'q: .*\(N, 7\)'),
        (np.zeros((2, 7)), np.zeros((3, 7)), r'velocities: .*\(2, 7\)'),
        (np.full((2, 7), np.nan), np.zeros((2, 7)), r'q\[0\]'),
        (np.zeros((2, 7)), np.full((2, 7), np.inf), r'velocities\[0\]'),
    ],
)
def test_what_cannot_be_is_named(q, velocities, word):
    with pytest.raises(ArgumentError, match=word):
        tip_speeds(arm('panda'), q, velocities)
