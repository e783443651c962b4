"""Seeds of compute_ik: from the request, the measured state, or mid-range."""

import math
import time

import numpy as np
import pytest
from support.ros.servers import (
    ik_request,
    IN_PLANE,
    posture_of,
    reachable,
    reached,
    refused,
    Server,
    solved,
    together,
    tree_arm,
    with_seed,
)

from ik_service.ros.common.errors import ErrorCode


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


@pytest.mark.parametrize('reached', [True, False])
def test_seeds_outside_the_limits_are_told_for_joints_of_the_chain_and_beside_it(server, reached):
    target = reachable(server.arm)
    target[0, 3] += 0.0 if reached else 9.0
    outside = {'panda_joint1': 99.0, 'panda_joint4': 0.5, 'panda_finger_joint1': 0.7}
    seed = {**outside, 'panda_joint2': 0.1}
    message = server.solve(with_seed(ik_request(target), seed, seed.values())).error_code.message
    assert ('reached' in message) is reached
    told = message.partition('brought inside their limits: ')[2].partition(';')[0]
    assert set(told.split(', ')) == {f'{name} at {q:g}' for name, q in outside.items()}


def test_measured_joints_outside_the_limits_are_no_seeds(server):
    server.measured.update(['panda_joint1'], [2.9], 0.0)  # by 3 mrad
    answer = server.solve(with_seed(ik_request(reachable(server.arm)), ['panda_joint2'], [0.1]))
    assert solved(answer)
    assert 'brought inside' not in answer.error_code.message


def test_seeds_outside_are_told_of_several_poses_too(server):
    message = together({'panda_hand_tcp': reachable(server.arm), 'panda_link4': np.eye(4)})
    answer = server.solve(with_seed(message, ['panda_joint1'], [99.0]))
    assert 'brought inside their limits: panda_joint1 at 99' in answer.error_code.message


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


def test_no_state_and_no_seed_starts_mid_range_with_a_note(server):
    answer = server.solve(ik_request(server.arm.chain.forward(server.arm.chain.mid_range())))
    joints = solved(answer)
    q = [joints[name] for name in server.arm.chain.joint_names]
    np.testing.assert_allclose(q, server.arm.chain.mid_range())
    assert 'mid-range' in answer.error_code.message
    assert 'panda_joint4' in answer.error_code.message


def test_joints_beside_the_chain_are_brought_inside_their_limits_too():
    server = Server(tree_arm(), task_weights=IN_PLANE)
    names, arm = server.arm.chain.joint_names, server.arm
    posture = posture_of(arm, 3)
    target = arm.link_poses(posture)['tool']
    start = dict(zip(names, posture[arm.indices], strict=True)) | {
        'turntable': posture[arm.postures.indices(['turntable'])[0]],
        'pan': 2.0,
        'grip': 0.05,
    }
    answer = server.solve(with_seed(ik_request(target), start, start.values()))
    joints = solved(answer)
    assert (joints['pan'], joints['grip'], joints['grip_too']) == (1.0, 0.04, 0.04)
    assert 'brought inside their limits: grip at 0.05, pan at 2' in answer.error_code.message


def test_frames_are_resolved_at_the_posture_of_the_answer():
    server = Server(tree_arm(), task_weights=IN_PLANE)
    arm = server.arm
    posture = posture_of(arm, 3)
    posture[list(arm.postures.names).index('pan')] = 1.0
    poses = arm.link_poses(posture)
    T_neck_tool = np.linalg.inv(poses['neck']) @ poses['tool']
    request = with_seed(ik_request(T_neck_tool, 'neck'), ['pan', 'turntable'], [2.0, posture[0]])
    poses = reached(server, server.solve(request))
    found = np.linalg.inv(poses['neck']) @ poses['tool']
    np.testing.assert_allclose(found[:2], T_neck_tool[:2], atol=1e-4)


def test_limits_that_are_ignored_are_ignored_for_all_joints():
    server = Server(tree_arm(), task_weights=IN_PLANE, joint_limits='ignore')
    posture = posture_of(server.arm, 3)
    names = server.arm.postures.names
    posture[list(names).index('pan')] = 2.0
    target = server.arm.link_poses(posture)['tool']
    assert solved(server.solve(with_seed(ik_request(target), names, posture)))['pan'] == 2.0


@pytest.mark.filterwarnings('error')
@pytest.mark.parametrize('value', [1e100, -1e300, 1.0000001e6, 1e15])
@pytest.mark.parametrize('joint', ['panda_joint1', 'panda_finger_joint1'])
def test_huge_seeds_are_refused_by_name(server, joint, value):
    request = with_seed(ik_request(reachable(server.arm)), [joint], [value])
    code = ErrorCode.INVALID_ROBOT_STATE
    refused(server, server.solve(request), code, f"'{joint}' is at {value:g}", '1e+06')


def test_continuous_joint_of_many_turns_is_solved_near_the_seed():
    server = Server(tree_arm(), task_weights=IN_PLANE)
    q = server.arm.chain.mid_range() + np.array([0.3, 0.3, 9.9e5])
    names = server.arm.chain.joint_names
    target = server.arm.pose_of('world', server.arm.chain.base_link, server.arm.rest)
    T = np.linalg.inv(target) @ server.arm.chain.forward(q)
    joints = solved(server.solve(with_seed(ik_request(T), names, q)))
    assert joints['wrist'] == pytest.approx(9.9e5, abs=0.1)


def test_a_million_names_are_refused_by_their_count(server):
    request = ik_request(reachable(server.arm))
    request.ik_request.robot_state.joint_state.name = ['panda_joint1'] * 1_000_000
    begin = time.thread_time()
    answer = server.solve(request)
    assert time.thread_time() - begin < 0.05  # a look at each takes longer
    refused(server, answer, ErrorCode.INVALID_ROBOT_STATE, 'names 1000000 joints')


@pytest.mark.parametrize('number', [math.nan, -math.nan])
def test_nan_of_joints_that_the_chain_does_not_use_is_ignored(number):
    server = Server(tree_arm(), task_weights=IN_PLANE)
    arm = server.arm
    posture = posture_of(arm, 3)
    posture[arm.postures.indices(['pan'])] = 0.6
    server.measured.update(['pan'], [0.6], 0.0)
    target = arm.link_poses(posture)['tool']
    start = dict(zip(arm.postures.names, posture.tolist(), strict=True))
    start |= {'pan': number, 'grip': number, 'grip_too': number}
    answer = server.solve(with_seed(ik_request(target), start, start.values()))
    joints = solved(answer)
    assert joints['pan'] == 0.6  # as measured
    assert joints['grip'] == joints['grip_too'] == 0.0  # at rest
    assert joints['turntable'] == start['turntable']


@pytest.mark.parametrize(
    ('name', 'number'), [('shoulder', math.nan), ('pan', math.inf), ('pan', 1e7)]
)
def test_nan_of_used_joints_and_other_impossible_positions_are_refused(name, number):
    server = Server(tree_arm(), task_weights=IN_PLANE)
    names = ['pan', 'grip', 'shoulder']
    positions = {'pan': math.nan, 'grip': math.nan, 'shoulder': 0.0} | {name: number}
    request = with_seed(ik_request(np.eye(4)), names, [positions[n] for n in names])
    answer = server.solve(request)
    refused(server, answer, ErrorCode.INVALID_ROBOT_STATE, f"'{name}' is at")


@pytest.mark.parametrize(
    ('names', 'positions', 'word'),
    [
        (['tail', 'pan'], [0.0, math.nan], "'tail'"),
        (['pan', 'pan'], [math.nan, math.nan], "'pan'"),
        (['pan', 'grip'], [math.nan], '1 positions'),
    ],
)
def test_nan_hides_no_other_fault(names, positions, word):
    server = Server(tree_arm())
    answer = server.solve(with_seed(ik_request(np.eye(4)), names, positions))
    refused(server, answer, ErrorCode.INVALID_ROBOT_STATE, word)
