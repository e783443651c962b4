"""Constraints and collision flags in requests to compute_ik."""

from __future__ import annotations

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from builtin_interfaces.msg import Duration
from moveit_msgs.msg import (
    AttachedCollisionObject,
    JointConstraint,
    OrientationConstraint,
    PositionConstraint,
    VisibilityConstraint,
)
from support.arm_helpers import ik_request, reachable, refused, solved

from ik_service.ros.common.errors import ErrorCode


def test_solutions_satisfy_joint_constraints(server):
    T = reachable(server.arm, 1)
    free = solved(server.solve(ik_request(T)))
    other = free['panda_joint3'] + 0.3
    constraint = JointConstraint(
        joint_name='panda_joint3', position=other, tolerance_above=0.05, tolerance_below=0.1
    )
    request = ik_request(T, timeout=Duration(sec=1))
    request.ik_request.constraints.joint_constraints = [constraint]
    joints = solved(server.solve(request))
    assert other - 0.1 <= joints['panda_joint3'] <= other + 0.05


@pytest.mark.parametrize(
    ('kind', 'constraint'),
    [
        ('position_constraints', PositionConstraint()),
        ('orientation_constraints', OrientationConstraint()),
        ('visibility_constraints', VisibilityConstraint()),
    ],
)
def test_other_constraints_are_refused_by_name(server, kind, constraint):
    request = ik_request(reachable(server.arm))
    setattr(request.ik_request.constraints, kind, [constraint])
    refused(server, server.solve(request), ErrorCode.INVALID_GOAL_CONSTRAINTS, kind)


def test_a_note_says_that_collisions_are_not_checked(server):
    request = ik_request(reachable(server.arm), avoid_collisions=True)
    request.ik_request.robot_state.attached_collision_objects = [AttachedCollisionObject()]
    answer = server.solve(request)
    solved(answer)
    assert 'collisions are not checked' in answer.error_code.message
    assert 'attached objects' in answer.error_code.message
