"""Full postures: order, limits, locked and mimic joints."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from support.arm_helpers import TREE

from ik_service.arm.joint_state import PostureSpace
from ik_service.exceptions import ArgumentError, UnknownJointError
from ik_service.robot import Robot


@pytest.fixture
def space():
    return PostureSpace(Robot.from_urdf(TREE), {'shoulder': 0.5})


def test_names_are_all_movable_joints_in_order(space):
    assert space.names == ('turntable', 'shoulder', 'elbow', 'wrist', 'grip', 'grip_too', 'pan')


def test_near_zero_is_within_the_limits(space):
    assert space.by_name(space.near_zero()) == {
        'turntable': 0.0,
        'shoulder': 0.0,
        'elbow': 0.1,
        'wrist': 0.0,
        'grip': 0.0,
        'grip_too': 0.0,
        'pan': 0.2,
    }


def test_complete_sets_locked_and_mimic_joints(space):
    posture = np.zeros(7)
    space.overlay(posture, ['grip', 'grip_too', 'shoulder'], [0.02, 0.5, 1.0])
    assert space.complete(posture) is posture
    values = space.by_name(posture)
    assert (values['grip'], values['grip_too'], values['shoulder']) == (0.02, 0.02, 0.5)


def test_indices_of_many_name_lists(space):
    for _ in range(3):
        for first in space.names:
            for second in space.names:
                if first != second:
                    posture = np.zeros(7)
                    space.overlay(posture, [first, second], [1.0, 2.0])
                    values = space.by_name(posture)
                    assert (values[first], values[second]) == (1.0, 2.0)


def test_refusals(space):
    with pytest.raises(UnknownJointError, match='tail'):
        space.indices(['elbow', 'tail'])
    with pytest.raises(ArgumentError, match=r'elbow.*twice'):
        space.indices(['elbow', 'elbow'])
    with pytest.raises(UnknownJointError, match='tail'):
        PostureSpace(Robot.from_urdf(TREE), {'tail': 0.0})
