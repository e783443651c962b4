"""Joint states merged from several publishers."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from support.arm_helpers import panda_arm, tree_arm

from ik_service.arm.arm import MeasuredState
from ik_service.exceptions import ArgumentError

ARM = ('shoulder', 'elbow', 'wrist')


@pytest.fixture
def measured():
    return MeasuredState(tree_arm())


def missing(measured):
    return [measured.arm.postures.names[i] for i in measured.unmeasured(measured.arm.indices)]


def test_all_joints_are_missing_at_first(measured):
    assert measured.joints() is None
    assert missing(measured) == list(ARM)
    np.testing.assert_array_equal(measured.posture(), measured.arm.rest)


def test_partial_messages_are_merged_and_the_oldest_gives_the_age(measured):
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


def test_joints_that_the_last_messages_are_without_are_told(measured):
    names, indices = measured.arm.postures.names, measured.arm.indices
    measured.update(['shoulder', 'elbow'], [0.5, 1.0], now=10.0)
    assert not len(measured.left_out(indices, 0.5)), 'one that was never measured is another case'
    measured.update(['wrist'], [0.25], now=10.4)
    assert not len(measured.left_out(indices, 0.5))
    measured.update(['shoulder', 'wrist'], [0.5, 0.25], now=10.6)
    assert [names[i] for i in measured.left_out(indices, 0.5)] == ['elbow']


def test_joints_of_other_robots_are_left_out(measured):
    measured.update(['mast', 'elbow', 'keel'], [9.0, 1.0, math.nan], now=1.0)
    assert missing(measured) == ['shoulder', 'wrist']
    assert measured.arm.postures.by_name(measured.posture())['elbow'] == 1.0


@pytest.mark.parametrize('value', [math.nan, math.inf, -1e7])
def test_unmeasured_joints_outside_the_chain_are_accepted(measured, value):
    measured.update([*ARM, 'grip', 'pan'], [0.5, 1.0, 0.25, value, 0.3], now=1.0)
    np.testing.assert_array_equal(measured.joints()[0], [0.5, 1.0, 0.25])
    names = list(measured.arm.postures.names)
    beside = np.array([names.index('grip'), names.index('pan')])
    assert measured.unmeasured(beside).tolist() == [names.index('grip')]
    assert measured.arm.postures.by_name(measured.posture())['pan'] == 0.3


@pytest.mark.parametrize('value', [math.nan, math.inf, -1e7])
def test_an_invalid_chain_joint_is_refused_and_keeps_its_age(measured, value):
    measured.update(ARM, [0.5, 1.0, 0.25], now=1.0)
    with pytest.raises(ArgumentError, match=re.escape(f"joint 'elbow' is at {value:g}")):
        measured.update(ARM, [0.6, value, 0.35], now=2.0)
    positions, oldest = measured.joints()
    np.testing.assert_array_equal(positions, [0.6, 1.0, 0.35])
    assert oldest == 1.0


def test_too_many_names_are_refused_by_their_count(measured):
    with pytest.raises(ArgumentError, match='names 1000000 joints'):
        measured.update(['elbow'] * 1_000_000, [0.0], now=1.0)


def test_long_name_lists_are_not_cached(measured):
    for number in range(10):
        names = [f'joint_{number}_{i}' for i in range(9_000)]
        measured.update(names, [0.0] * 9_000, now=1.0)
    assert sum(len(key) for key in measured._known) == 0


@pytest.mark.parametrize(
    ('names', 'positions'),
    [
        (['elbow', 'wrist'], [1.0]),
        (['elbow', 'elbow'], [1.0, 1.1]),
        (['elbow', 'elbow'], [1.0, math.nan]),
    ],
)
def test_malformed_messages_leave_the_state_unchanged(measured, names, positions):
    with pytest.raises(ArgumentError):
        measured.update(names, positions, now=1.0)
    np.testing.assert_array_equal(measured.posture(), measured.arm.rest)
    assert missing(measured) == list(ARM)


def test_messages_without_positions_are_accepted(measured):
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
