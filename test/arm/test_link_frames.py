"""Poses of single links, against the poses of all links."""

from __future__ import annotations

import numpy as np
import pytest
from support.arm_helpers import posture_of, tree_arm

from ik_service.common.transforms import inverse_transform
from ik_service.exceptions import UnknownLinkError


@pytest.mark.parametrize('locked', [{}, {'turntable': 0.7, 'grip': 0.01}])
def test_every_link_is_where_forward_kinematics_puts_it(locked):
    arm = tree_arm(locked=locked)
    posture = posture_of(arm, 5)
    poses = arm.link_poses(posture)
    for link in arm.robot.links:
        T = arm.link_frames.root_from_link(link, posture)
        np.testing.assert_allclose(T, poses[link], atol=1e-14)
        for other, T_link_other in arm.link_frames.beside(link).items():
            expected = inverse_transform(poses[link]) @ poses[other]
            np.testing.assert_allclose(T_link_other, expected, atol=1e-14)


@pytest.mark.parametrize('link', ['world', 'table', 'base', 'tool', 'finger_2', 'neck'])
def test_joints_that_move_a_link(link):
    for arm in (tree_arm(), tree_arm(locked={'turntable': 0.1, 'grip': 0.02})):
        expected = arm.joints_that_move([link])
        assert arm.link_frames.moving(link).tolist() == expected.tolist()
        assert arm.link_frames.stands_still(link) == (len(expected) == 0)


def test_unknown_links_are_refused():
    frames = tree_arm().link_frames
    for call in (frames.beside, frames.moving, lambda link: frames.root_from_link(link, None)):
        with pytest.raises(UnknownLinkError):
            call('tail')
