"""Joint states put together from several publishers."""

from __future__ import annotations

import math

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from arm_helpers import panda_arm, tree_arm

from ik_service.exceptions import ArgumentError
from ik_service.ros.measured import MeasuredState

ARM = ('shoulder', 'elbow', 'wrist')


@pytest.fixture
def measured():
    return MeasuredState(tree_arm())


def missing(measured):
    return [measured.arm.postures.names[i] for i in measured.unmeasured(measured.arm.indices)]


def test_nothing_is_known_at_first(measured):
    assert measured.joints() is None
    assert missing(measured) == list(ARM)
    np.testing.assert_array_equal(measured.posture(), measured.arm.rest)


def test_parts_add_up_and_the_oldest_counts(measured):
    measured.update(['elbow', 'shoulder'], [1.0, 0.5], now=10.0)
    assert measured.joints() is None
    assert missing(measured) == ['wrist']
    measured.update(['wrist'], [0.25], now=11.0)
    positions, arrival = measured.joints()
    np.testing.assert_array_equal(positions, [0.5, 1.0, 0.25])
    assert arrival == 10.0
    measured.update(['grip'], [0.01], now=12.0)  # another device does not keep the arm fresh
    assert measured.joints()[1] == 10.0
    measured.update(ARM, [0.6, 1.1, 0.3], now=13.0)
    assert measured.joints()[1] == 13.0
    assert measured.arm.postures.by_name(measured.posture())['grip'] == 0.01


def test_joints_of_other_robots_are_left_out(measured):
    measured.update(['mast', 'elbow', 'keel'], [9.0, 1.0, math.nan], now=1.0)
    assert missing(measured) == ['shoulder', 'wrist']
    assert measured.arm.postures.by_name(measured.posture())['elbow'] == 1.0


@pytest.mark.parametrize(
    ('names', 'positions'),
    [
        (['elbow', 'wrist'], [1.0]),
        (['elbow', 'wrist'], [1.0, math.nan]),
        (['elbow', 'elbow'], [1.0, 1.1]),
    ],
)
def test_bad_messages_change_nothing(measured, names, positions):
    with pytest.raises(ArgumentError):
        measured.update(names, positions, now=1.0)
    np.testing.assert_array_equal(measured.posture(), measured.arm.rest)
    assert missing(measured) == list(ARM)


def test_messages_without_positions_are_fine(measured):
    measured.update(['elbow', 'wrist'], [], now=1.0)
    assert missing(measured) == list(ARM)


def test_a_posture_is_a_copy(measured):
    measured.posture()[:] = 7.0
    np.testing.assert_array_equal(measured.posture(), measured.arm.rest)


def test_another_arm_keeps_the_joints_of_the_same_name(measured):
    measured.update(ARM, [0.5, 1.0, 0.25], now=10.0)
    again = MeasuredState(tree_arm(tip_link='hand'), measured)
    np.testing.assert_array_equal(again.joints()[0], [0.5, 1.0, 0.25])
    assert again.joints()[1] == 10.0
    assert MeasuredState(panda_arm(), measured).joints() is None
