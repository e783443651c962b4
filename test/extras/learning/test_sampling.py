"""Postures that guesses are learned from."""

import math

import numpy as np
import pytest
from support.chains import arm, joint_xml, limit_xml, robot_xml, snake, within_limits

from ik_service import Robot
from ik_service.extras.learning.sampling import (
    linearisation,
    manipulable_postures,
    sample_postures,
    tip_poses,
)
from ik_service.kinematics.joint_space import sampled_range


def chain_of_joint(kind, inner=''):
    joints = [joint_xml('joint', kind, 'base', 'tip', (0.3, 0, 0), inner=inner)]
    return Robot.from_urdf(robot_xml(['base', 'tip'], joints)).chain()


def test_postures_fill_the_limits_and_are_repeatable():
    chain = arm('panda')
    postures = sample_postures(chain, 4000, seed=3)
    assert all(within_limits(chain, q) for q in postures)
    spread = (postures.max(axis=0) - postures.min(axis=0)) / (chain.upper - chain.lower)
    assert (spread > 0.99).all()
    np.testing.assert_array_equal(postures, sample_postures(chain, 4000, seed=3))
    assert not np.array_equal(postures, sample_postures(chain, 4000, seed=4))


def test_no_more_than_one_turn_is_sampled():
    chain = arm('ur5e')  # two turns at most joints
    assert (chain.upper - chain.lower).max() > 12.0
    lower, upper = sampled_range(chain)
    np.testing.assert_allclose(upper - lower, 2 * math.pi)
    np.testing.assert_allclose(0.5 * (lower + upper), chain.mid_range(), atol=1e-12)


@pytest.mark.parametrize(
    ('kind', 'inner', 'expected'),
    [
        ('continuous', '', (-math.pi, math.pi)),
        ('revolute', limit_xml(0.5, 9.0), (4.75 - math.pi, 4.75 + math.pi)),
        ('prismatic', limit_xml(-0.1, 20.0), (-0.1, 20.0)),
    ],
)
def test_range_of_one_joint(kind, inner, expected):
    lower, upper = sampled_range(chain_of_joint(kind, inner))
    np.testing.assert_allclose([lower[0], upper[0]], expected)


def test_range_of_a_joint_with_one_limit():
    chain = chain_of_joint('continuous').with_limits([2.0], [math.inf])
    np.testing.assert_allclose(sampled_range(chain), [[2.0], [2.0 + math.pi]])


def test_manipulable_postures_are_the_better_third():
    chain = arm('panda')

    def measure(postures):
        jacobians = np.array([chain.jacobian(q) for q in postures])
        return np.sqrt(np.linalg.det(jacobians @ np.swapaxes(jacobians, 1, 2)))

    drawn = measure(sample_postures(chain, 900, seed=8))
    kept = measure(manipulable_postures(chain, 300, seed=8))
    assert len(kept) == 300
    assert np.median(kept) > np.percentile(drawn, 75)
    assert kept.min() > np.percentile(drawn, 25)


def test_manipulable_postures_of_an_arm_that_is_always_singular():
    chain = arm('planar_6r')
    assert manipulable_postures(chain, 200, seed=8).shape == (200, 6)


def test_linearisation_is_forward_kinematics_and_jacobian():
    chain = snake(5, seed=2, prismatic=0.5)
    postures = sample_postures(chain, 20, seed=9)
    frames, rows = linearisation(chain, postures)
    c, s = chain.arrays.tip
    for q, frame, row, T in zip(postures, frames, rows, tip_poses(chain, postures), strict=True):
        np.testing.assert_allclose(row.T, chain.jacobian(q), atol=1e-12)
        np.testing.assert_allclose(frame[9:], T[:3, 3], atol=1e-12)
        np.testing.assert_allclose(frame[6:9], T[:3, 2], atol=1e-12)
        np.testing.assert_allclose(c * frame[:3] + s * frame[3:6], T[:3, 0], atol=1e-12)


def test_poses_of_no_postures():
    chain = arm('planar_6r')
    assert tip_poses(chain, np.empty((0, 6))).shape == (0, 4, 4)
