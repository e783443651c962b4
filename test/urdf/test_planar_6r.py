"""The planar arm against the experiment of Soch & Lorencz that it repeats."""

from math import pi

import numpy as np
import pytest
from support.chains import arm_path, assert_same_pose, postures, rot_z, trans

from ik_service import Robot

# Soch & Lorencz, section 3, with points as millimetres.
SEGMENTS = (0.090, 0.060, 0.090, 0.150, 0.150, 0.090)
BASE = -0.230


@pytest.fixture
def planar():
    return Robot.from_urdf(arm_path('planar_6r'))


def test_planar_names(planar):
    links = tuple(f'link_{i}' for i in range(1, 7))
    assert set(planar.links) == {'world', 'base_link', *links, 'tool0'}
    chain = planar.chain()
    assert (chain.base_link, chain.tip_link) == ('world', 'tool0')
    assert chain.joint_names == tuple(f'joint_{i}' for i in range(1, 7))
    np.testing.assert_array_equal(chain.upper, np.full(6, pi))
    np.testing.assert_array_equal(chain.lower, np.full(6, -pi))


def test_planar_segments(planar):
    chain = planar.chain('world', 'tool0')
    for q in postures(chain, 200):
        angles = np.cumsum(q)
        x = BASE + np.dot(SEGMENTS, np.cos(angles))
        y = np.dot(SEGMENTS, np.sin(angles))
        expected = trans(x, y) @ rot_z(angles[-1])
        assert_same_pose(chain.forward(q), expected)
