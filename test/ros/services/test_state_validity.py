"""Validity of states: collisions with their contacts, limits, constraints."""

import math

import numpy as np
import pytest

pytest.importorskip('coal', reason='needs the extra collision')

from geometry_msgs.msg import Pose
from moveit_msgs.msg import (
    ContactInformation,
    JointConstraint,
    VisibilityConstraint,
)
from moveit_msgs.srv import GetStateValidity
from support.ros.constraints import SPHERE, turned, within
from support.ros.worlds import attached, ball, crane_server, put

from ik_service.common.transforms import rotation_from_rpy

STRAIGHT = {'shoulder': 0.0, 'elbow': 0.0, 'wrist': 0.0, 'slide': 0.0}  # the tool is at x = 2.2


@pytest.fixture
def server():
    return crane_server()


def state(group='', constraints=None, **joints):
    request = GetStateValidity.Request(group_name=group)
    positions = {**STRAIGHT, **joints}
    request.robot_state.joint_state.name = list(positions)
    request.robot_state.joint_state.position = [float(value) for value in positions.values()]
    request.robot_state.is_diff = True
    for kind, message in (constraints or {}).items():
        setattr(request.constraints, f'{kind}_constraints', message)
    return request


def test_a_free_state_is_valid(server):
    answer = server.check(state())
    assert answer.valid
    assert [*answer.contacts, *answer.cost_sources, *answer.constraint_result] == []
    assert server.refusals == []


def test_a_contact_says_where_and_of_what(server):
    put(server, ball('lamp', (0.5, 0.13, 0.0)), attached('tray', 'tool', (0.0, 0.3, 0.0)))
    put(server, ball('post', (2.2, 0.45, 0.0)))
    answer = server.check(state())
    assert not answer.valid
    found = {(c.contact_body_1, c.contact_body_2): c for c in answer.contacts}
    assert set(found) == {('upper', 'lamp'), ('tray', 'post')}
    lamp, post = found['upper', 'lamp'], found['tray', 'post']
    link, thing, held = (
        ContactInformation.ROBOT_LINK,
        ContactInformation.WORLD_OBJECT,
        ContactInformation.ROBOT_ATTACHED,
    )
    assert (lamp.body_type_1, lamp.body_type_2) == (link, thing)
    assert (post.body_type_1, post.body_type_2) == (held, thing)
    assert lamp.header.frame_id == 'base'
    assert lamp.position.x == pytest.approx(0.5, abs=1e-3)
    assert 0.03 - 1e-3 <= lamp.position.y <= 0.05 + 1e-3
    assert lamp.normal.y == pytest.approx(1.0, abs=1e-3)
    assert lamp.depth == pytest.approx(0.02, abs=1e-3)


def test_a_group_restricts_the_checks_to_what_it_moves(server):
    request = state('arm')
    put(server, ball('stone', (0.0, 0.0, 0.15)), ball('lamp', (0.5, 0.13, 0.0)))
    bodies = {c.contact_body_2 for c in server.check(state()).contacts}
    assert bodies == {'stone', 'lamp'}  # the base is in the stone
    name = server.arm.group_names[0]
    bodies = {c.contact_body_2 for c in server.check(state(name)).contacts}
    assert bodies == {'lamp'}
    request = state('nobody')
    assert not server.check(request).valid
    assert "'nobody'" in server.refusals[-1]


def test_joints_outside_their_limits_are_not_valid_and_named_in_the_log(server):
    assert not server.check(state(elbow=2.7)).valid
    assert 'elbow at 2.7' in server.refusals[-1]
    assert not server.check(state(slide=-0.1)).valid
    assert server.check(state(server.arm.group_names[0], slide=-0.1)).valid  # beside the group


def test_the_state_is_the_measured_one_overlaid_by_that_of_the_request(server):
    names = server.arm.postures.names
    bent = {**STRAIGHT, 'shoulder': 1.0}
    server.measured.update(names, [bent[name] for name in names], now=0.0)
    put(server, ball('lamp', (0.5 * math.cos(1.0), 0.5 * math.sin(1.0), 0.0)))
    assert not server.check(GetStateValidity.Request()).valid
    assert server.check(state()).valid
    request = state()
    request.robot_state.attached_collision_objects = [attached('tray', 'upper', (0.8, 0.3, 0.0))]
    put(server, ball('post', (0.8, 0.45, 0.0)))
    (contact,) = server.check(request).contacts
    assert {contact.contact_body_1, contact.contact_body_2} == {'tray', 'post'}


def position_constraint(at, radius, weight=0.0):
    constraint = within(SPHERE, [radius], at, 'tool')
    constraint.weight = weight
    return constraint


def orientation_constraint(yaw, tolerance):
    R = rotation_from_rpy(0.0, 0.0, yaw)
    return turned(R, tolerance, tolerance, tolerance, 'tool', kind=0)


def test_constraints_have_a_result_each_in_the_order_of_moveit(server):
    request = state(
        constraints={
            'orientation': [orientation_constraint(0.5, 0.1), orientation_constraint(0.5, 0.6)],
            'position': [position_constraint((2.0, 0.0, 0.0), 0.1, 2.0)],
            'joint': [
                JointConstraint(joint_name='wrist', position=6.2, tolerance_below=0.1, weight=1.0),
                JointConstraint(joint_name='wrist', position=6.2, tolerance_above=0.1, weight=1.0),
                JointConstraint(joint_name='slide', position=0.2, tolerance_below=0.3),
            ],
        }
    )
    answer = server.check(request)
    assert [result.result for result in answer.constraint_result] == [
        False, True, True, False, False, True,
    ]  # fmt: skip
    distances = [result.distance for result in answer.constraint_result]
    np.testing.assert_allclose(
        distances, [math.tau - 6.2, math.tau - 6.2, 0.2, 2 * 0.2, 0.5, 0.5], atol=1e-9
    )
    assert not answer.valid
    request.constraints.joint_constraints = request.constraints.joint_constraints[2:]
    request.constraints.position_constraints = [position_constraint((2.0, 0.0, 0.0), 0.21)]
    request.constraints.orientation_constraints = [orientation_constraint(0.5, 0.6)]
    assert server.check(request).valid


def without(name):
    return {'joint': [JointConstraint(joint_name=name)]}


@pytest.mark.parametrize(
    ('request_', 'words'),
    [
        (state(knee=1.0), ('knee',)),
        (state(elbow=math.nan), ('elbow', 'nan')),
        (state(constraints=without('knee')), ('joint_constraints[0]', 'knee')),
        (state(constraints={'visibility': [VisibilityConstraint()]}), ('visibility',)),
    ],
)
def test_faulty_requests_are_not_valid_and_logged(server, request_, words):
    answer = server.check(request_)
    assert not answer.valid
    assert not server.errors
    for word in words:
        assert word in server.refusals[-1]


def test_without_a_checker_the_parameter_decides(server):
    lacking = type(server)(server.arm)
    assert lacking.check(state()).valid
    assert 'collisions are not checked' in lacking.refusals[-1]
    lacking.required = True
    assert not lacking.check(state()).valid
    assert 'require_collision_checking' in lacking.refusals[-1]


def test_frames_of_constraints(server):
    put(server, ball('lamp', (2.0, 1.0, 0.0)))
    message = position_constraint((0.2, -1.0, 0.0), 0.01)
    message.header.frame_id = 'lamp'
    answer = server.check(state(constraints={'position': [message]}))
    assert answer.constraint_result[0].result
    assert message.constraint_region.primitive_poses[0] != Pose()
