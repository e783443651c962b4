"""Joint commands as messages."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from ik_service.following.settings import FollowerCommand
from ik_service.ros.following.command_publisher import joint_command, joint_trajectory

COMMAND = FollowerCommand(np.array([0.5, -1.0]), np.array([0.1, 0.0]))


def test_joint_command():
    message = joint_command(('a', 'b'), COMMAND)
    assert message.name == ['a', 'b']
    assert list(message.position) == [0.5, -1.0]
    assert list(message.velocity) == [0.1, 0.0]


def test_joint_trajectory():
    message = joint_trajectory(('a', 'b'), COMMAND, period=2.004)
    assert message.joint_names == ['a', 'b']
    (point,) = message.points
    assert list(point.positions) == [0.5, -1.0]
    assert list(point.velocities) == []
    assert (point.time_from_start.sec, point.time_from_start.nanosec) == (2, 4_000_000)
    assert (message.header.stamp.sec, message.header.stamp.nanosec) == (0, 0)
