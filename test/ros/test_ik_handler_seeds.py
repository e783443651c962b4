"""Where compute_ik starts to search: the seed of a request, the measured state, mid-range."""

from __future__ import annotations

import math

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from arm_helpers import (
    ik_request,
    posture_of,
    reachable,
    refused,
    solved,
    with_seed,
)

from ik_service.ros.errors import ErrorCode


@pytest.mark.parametrize(
    ('names', 'positions', 'words'),
    [
        (['elbow'], [0.0], ["'elbow'", 'panda_joint1']),
        (['panda_joint1'], [], ['1 names', '0 positions']),
        ([], [0.0], ['0 names', '1 positions']),
        (['panda_joint1'], [math.nan], ['panda_joint1', 'nan']),
        (['panda_joint1'], [-math.inf], ['panda_joint1', 'inf']),
        (['panda_joint1', 'panda_joint1'], [0.0, 0.1], ['panda_joint1', 'twice']),
        (['panda_joint8'], [0.0], ["'panda_joint8'"]),  # fixed
    ],
)
def test_bad_seed(server, names, positions, words):
    request = with_seed(ik_request(reachable(server.arm)), names, positions)
    answer = server.solve(request)
    refused(server, answer, ErrorCode.INVALID_ROBOT_STATE, 'robot_state.joint_state', *words)


def test_velocity_and_effort_in_the_seed_are_not_used(server):
    request = with_seed(ik_request(reachable(server.arm)), ['panda_joint1'], [0.1])
    request.ik_request.robot_state.joint_state.velocity = [math.nan, 1.0, 2.0]
    request.ik_request.robot_state.joint_state.effort = [math.inf]
    solved(server.solve(request))


def test_seed_outside_the_limits_is_brought_inside(server):
    names = server.arm.chain.joint_names
    request = with_seed(ik_request(reachable(server.arm)), names, [100.0] * 7)
    joints = solved(server.solve(request))
    assert all(
        server.arm.robot.joints[name].limits.lower <= joints[name] for name in names
    )  # fmt: skip


def test_seed_leads_to_the_solution_beside_it(server):
    for number in range(5):
        posture = posture_of(server.arm, number)
        q = 0.98 * posture[server.arm.indices] + 0.02 * server.arm.chain.mid_range()
        target = server.arm.chain.forward(q)
        request = with_seed(ik_request(target), server.arm.chain.joint_names, q)
        joints = solved(server.solve(request))
        np.testing.assert_allclose([joints[n] for n in server.arm.chain.joint_names], q, atol=1e-4)


def test_measured_state_is_the_seed_and_the_request_overlays_it(server):
    posture = posture_of(server.arm, 4)
    names = server.arm.postures.names
    server.measured.update(names, posture, 0.0)
    q = posture[server.arm.indices]
    target = server.arm.chain.forward(q)
    answer = server.solve(ik_request(target))
    joints = solved(answer)
    np.testing.assert_allclose([joints[n] for n in server.arm.chain.joint_names], q, atol=1e-9)
    assert 'measured' not in answer.error_code.message
    moved = solved(server.solve(with_seed(ik_request(target), ['panda_finger_joint1'], [0.01])))
    assert moved['panda_finger_joint1'] == 0.01
    assert moved['panda_joint1'] == pytest.approx(q[0])


def test_no_state_and_no_seed_starts_mid_range_and_says_so(server):
    answer = server.solve(ik_request(server.arm.chain.forward(server.arm.chain.mid_range())))
    joints = solved(answer)
    q = [joints[name] for name in server.arm.chain.joint_names]
    np.testing.assert_allclose(q, server.arm.chain.mid_range())
    assert 'middle of the range' in answer.error_code.message
    assert 'panda_joint4' in answer.error_code.message


def test_joints_with_several_degrees_of_freedom(server):
    request = ik_request(reachable(server.arm))
    request.ik_request.robot_state.multi_dof_joint_state.joint_names = ['virtual_joint']
    refused(server, server.solve(request), ErrorCode.INVALID_ROBOT_STATE, "'virtual_joint'")
