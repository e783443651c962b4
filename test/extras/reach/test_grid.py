"""Evenly spread orientations."""

from __future__ import annotations

import numpy as np
import pytest
from support.chains import arm, planar
from support.robots import GANTRY, SCARA

from ik_service import Robot
from ik_service.extras.reach.grid import chooses_orientation, even_orientations


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
