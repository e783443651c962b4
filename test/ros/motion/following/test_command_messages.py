"""Joint commands as messages."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from ik_service.motion.settings import FollowerCommand
from ik_service.paths.trajectory.joint_trajectory import JointTrajectory
from ik_service.ros.motion.following.command_channels import (
    joint_command,
    joint_trajectory,
    multi_array,
)

COMMAND = FollowerCommand(np.array([0.5, -1.0]), np.array([0.1, 0.0]))
WAY = JointTrajectory(
    ('a', 'b'), np.array([0.0, 2.004]), np.array([[0.0, 1.0], [2.0, 3.0]]), np.zeros((2, 2))
)


def test_joint_command():
    message = joint_command(('a', 'b'), COMMAND)
    assert message.name == ['a', 'b']
    assert list(message.position) == [0.5, -1.0]
    assert list(message.velocity) == [0.1, 0.0]


def test_joint_trajectory():
    message = joint_trajectory(WAY, 7 * 10**9 + 5)
    assert message.joint_names == ['a', 'b']
    assert (message.header.stamp.sec, message.header.stamp.nanosec) == (7, 5)
    first, last = message.points
    assert list(first.positions) == [0.0, 1.0]
    assert list(last.positions) == [2.0, 3.0]
    assert list(last.velocities) == [0.0, 0.0]
    assert list(last.accelerations) == []
    assert (last.time_from_start.sec, last.time_from_start.nanosec) == (2, 4_000_000)


@pytest.mark.parametrize('start', [0, -(10**9)])
def test_a_clock_that_does_not_run_yet_is_no_stamp(start):
    message = joint_trajectory(WAY, start)
    assert (message.header.stamp.sec, message.header.stamp.nanosec) == (0, 0)


def test_multi_array():
    message = multi_array(np.array([0.5, -1.0])[::-1])
    assert list(message.data) == [-1.0, 0.5]
    assert not message.layout.dim
