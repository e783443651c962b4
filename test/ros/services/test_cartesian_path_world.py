"""Straight lines beside obstacles, and of objects that the arm carries."""

import numpy as np
import pytest

pytest.importorskip('coal', reason='needs the extra collision')

from moveit_msgs.srv import GetStateValidity
from support.ros.lines import line_request, moved, samples, trajectory_of
from support.ros.worlds import attached, ball, crane_server, put

START = {'shoulder': 0.9, 'elbow': -1.8, 'wrist': 0.9}


@pytest.fixture
def server():
    return crane_server()


def tool(server, joints=START):
    return server.arm.chain.forward(np.array([joints[n] for n in server.arm.chain.joint_names]))


def plan(server, waypoints, **fields):
    return server.plan(line_request(waypoints, START, START.values(), **fields))


def test_a_line_ends_before_an_obstacle_that_it_leads_into(server):
    start = tool(server)
    end = moved(start, 0.4, 0.0, 0.0)
    assert plan(server, [end], avoid_collisions=True).fraction == 1.0
    middle = 0.5 * (start + end)[:3, 3] + [0.0037, 0.0, 0.0]  # touched between two points
    put(server, ball('lamp', middle))
    blocked = plan(server, [end], avoid_collisions=True)
    assert 0.0 < blocked.fraction < 0.5
    assert 'lamp' in blocked.error_code.message
    last = trajectory_of(blocked).positions[-1]
    state = GetStateValidity.Request()
    state.robot_state.joint_state.name = list(server.arm.chain.joint_names)
    state.robot_state.joint_state.position = last
    assert server.check(state).valid
    assert plan(server, [end]).fraction == 1.0  # without avoid_collisions


def test_an_attached_object_moves_straight(server):
    put(server, attached('pen', 'hand', (0.0, 0.3, 0.0)))
    chain = server.arm.robot.chain('base', 'hand')
    T_hand_pen = moved(np.eye(4), 0.0, 0.3, 0.0)
    at = chain.forward(np.array(list(START.values()))) @ T_hand_pen
    end = moved(at, -0.2, 0.1, 0.0)
    answer = plan(server, [end], link_name='pen')
    assert answer.fraction == 1.0, answer.error_code
    _, q, _, _ = samples(trajectory_of(answer), 201)
    points = np.array([(chain.forward(row) @ T_hand_pen)[:3, 3] for row in q])
    way = (end - at)[:3, 3] / np.linalg.norm((end - at)[:3, 3])
    off = points - at[:3, 3]
    assert np.linalg.norm(off - np.outer(off @ way, way), axis=1).max() < 1e-4


def test_objects_that_the_start_state_attaches_are_avoided_with(server):
    start = tool(server)
    request = line_request([moved(start, 0.4, 0.0, 0.0)], START, START.values())
    request.avoid_collisions = request.start_state.is_diff = True
    put(server, ball('lamp', start[:3, 3] + [0.2, 0.45, 0.0]))
    assert server.plan(request).fraction == 1.0
    request.start_state.attached_collision_objects = [attached('plank', 'hand', (0.2, 0.45, 0.0))]
    answer = server.plan(request)
    assert answer.fraction < 1.0
    assert 'plank' in answer.error_code.message
