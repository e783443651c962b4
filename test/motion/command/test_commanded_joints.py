"""Commands of several groups for the joints of one controller."""

from __future__ import annotations

import numpy as np

from ik_service.motion.command.commanded_joints import CommandedJoints

LEFT, RIGHT = np.array([2, 0]), np.array([3])
MEASURED = np.array([1.0, 2.0, 3.0, 4.0])


def test_joints_that_no_group_moves_are_held_where_the_commands_began():
    joints = CommandedJoints('abcd')
    joints.begin(1, MEASURED)
    joints.put(LEFT, np.array([3.5, 1.5]), np.array([0.1, 0.2]))
    np.testing.assert_array_equal(joints.q, [1.5, 2.0, 3.5, 4.0])
    np.testing.assert_array_equal(joints.velocity, [0.2, 0.0, 0.1, 0.0])


def test_a_group_that_has_come_to_rest_is_held_while_another_moves():
    joints = CommandedJoints('abcd')
    joints.begin(1, MEASURED)
    joints.put(LEFT, np.array([3.5, 1.5]), np.array([0.1, 0.2]))
    joints.begin(2, MEASURED + 0.01)  # where they are measured, a little off, counts no more
    joints.put(RIGHT, np.array([4.5]), np.array([0.3]))
    joints.end(1, LEFT)
    np.testing.assert_array_equal(joints.q, [1.5, 2.0, 3.5, 4.5])
    np.testing.assert_array_equal(joints.velocity, [0.0, 0.0, 0.0, 0.3])
    joints.end(2, RIGHT)
    joints.begin(1, MEASURED + 1.0)
    np.testing.assert_array_equal(joints.q, MEASURED + 1.0)
