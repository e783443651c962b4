"""Responses of compute_fk, get_urdf and check_state_validity, without a node."""

import math

from geometry_msgs.msg import Pose
from moveit_msgs.msg import ContactInformation, JointConstraint, VisibilityConstraint
from moveit_msgs.srv import GetGroupUrdf, GetPositionFK, GetStateValidity
import numpy as np
import pytest
from support.ros.constraints import SPHERE, turned, within
from support.ros.servers import PANDA, panda_arm, posture_of, Server, tree_arm
from support.ros.worlds import attached, ball, put

from ik_service import Robot
from ik_service.common.transforms import inverse_transform, rotation_from_rpy
from ik_service.ros.common.conversions import matrix_from_pose
from ik_service.ros.common.errors import ErrorCode


@pytest.fixture
def server():
    return Server(tree_arm())


def fk_request(links, frame='', names=(), positions=()):
    request = GetPositionFK.Request(fk_link_names=list(links))
    request.header.frame_id = frame
    request.robot_state.joint_state.name = list(names)
    request.robot_state.joint_state.position = [float(value) for value in positions]
    return request


@pytest.mark.parametrize('frame', ['', 'world', '/base', 'hand', 'neck'])
def test_poses_of_any_links_in_any_frame(server, frame):
    posture = posture_of(server.arm, 1)
    names = server.arm.postures.names
    poses = server.arm.link_poses(posture)
    links = ['tool', 'world', 'finger_2', 'neck']
    answer = server.place(fk_request(links, frame, names, posture))
    assert answer.error_code.val == ErrorCode.SUCCESS
    note = 'is where the request puts it, as it is not measured'
    assert (note in answer.error_code.message) == (frame in ('/base', 'hand', 'neck'))
    assert answer.fk_link_names == links
    T_frame_root = inverse_transform(poses[frame.strip('/') or 'world'])
    for link, stamped in zip(links, answer.pose_stamped, strict=True):
        T = matrix_from_pose(stamped.pose)
        np.testing.assert_allclose(T, T_frame_root @ poses[link], atol=1e-12)
        assert stamped.header.frame_id == frame.strip('/') or 'world'
        assert stamped.header.stamp.sec == 7


def test_measured_state_is_used_and_overlaid(server):
    arm = server.arm
    measured = posture_of(arm, 2)
    server.measured.update(arm.postures.names, measured, 0.0)
    answer = server.place(fk_request(['tool'], '', ['shoulder'], [0.25]))
    measured[arm.postures.indices(['shoulder'])] = 0.25
    T = matrix_from_pose(answer.pose_stamped[0].pose)
    np.testing.assert_allclose(T, arm.link_poses(measured)['tool'], atol=1e-12)


def test_assumed_joints_are_named_if_they_matter(server):
    answer = server.place(fk_request(['finger_2'], names=['turntable', 'elbow'], positions=[0, 1]))
    assert answer.error_code.val == ErrorCode.SUCCESS
    assert answer.error_code.message.endswith('shoulder, wrist, grip')
    assert server.place(fk_request(['table'])).error_code.message == ''


def test_mimic_joints_that_are_given_elsewhere_are_named(server):
    request = fk_request(['finger_2'], '', ['grip', 'grip_too'], [0.01, 0.03])
    assert 'not used: grip_too at 0.03' in server.place(request).error_code.message
    request.robot_state.joint_state.position[1] = 0.0101  # noise of a measurement
    assert 'grip_too' not in server.place(request).error_code.message


def test_mimic_joints_are_not_taken_at_mid_range(server):
    request = GetStateValidity.Request()
    request.robot_state.joint_state.name, request.robot_state.joint_state.position = (
        ['grip'],
        [0.01],
    )
    server.check(request)
    assert 'mid-range: ' in server.refusals[-1]
    assert 'grip' not in server.refusals[-1]


def test_unknown_links_leave_the_known_ones_answered(server):
    answer = server.place(fk_request(['tool', 'tail', 'hand']))
    assert answer.error_code.val == ErrorCode.INVALID_LINK_NAME
    assert 'tail' in answer.error_code.message
    assert answer.fk_link_names == ['tool', 'hand']
    assert len(answer.pose_stamped) == 2


def test_many_turns_keep_the_precision_of_the_pose(server):
    turns = 150_000  # 942,478 rad
    near = server.place(fk_request(['tool'], '', ['turntable'], [0.3]))
    far = server.place(fk_request(['tool'], '', ['turntable'], [0.3 + math.tau * turns]))
    T = [matrix_from_pose(answer.pose_stamped[0].pose) for answer in (near, far)]
    np.testing.assert_allclose(T[1], T[0], atol=1e-9)


def test_unknown_links_are_not_all_repeated(server):
    answer = server.place(fk_request([f'link_{number}' + 'x' * 1000 for number in range(1000)]))
    assert 'and 990 more; valid: ' in answer.error_code.message
    assert len(answer.error_code.message) < 3000


@pytest.mark.parametrize(
    ('request_', 'code', 'word'),
    [
        (fk_request([]), ErrorCode.INVALID_LINK_NAME, 'fk_link_names'),
        (fk_request(['tool'] * 10_000), ErrorCode.INVALID_LINK_NAME, 'has 10000 links'),
        (fk_request(['tool'], 'moon'), ErrorCode.FRAME_TRANSFORM_FAILURE, "'moon'"),
        (fk_request(['tool'], '', ['tail'], [0.0]), ErrorCode.INVALID_ROBOT_STATE, 'tail'),
        (fk_request(['tool'], '', ['pan'], [1e15]), ErrorCode.INVALID_ROBOT_STATE, 'at 1e+15'),
    ],
    ids=['no links', 'too many links', 'frame', 'joint', 'position'],
)
def test_what_cannot_be_placed_is_refused_by_name(server, request_, code, word):
    answer = server.place(request_)
    assert answer.error_code.val == code
    assert word in answer.error_code.message
    assert not answer.pose_stamped


@pytest.fixture(scope='module')
def panda_server():
    return Server(panda_arm())


def urdf_of(panda_server, group):
    request, response = GetGroupUrdf.Request(group_name=group), GetGroupUrdf.Response()
    return panda_server.urdf.handle(request, response)


def test_a_group_gets_its_links_and_joints(panda_server):
    answer = urdf_of(panda_server, 'panda_arm')
    assert answer.error_code.val == ErrorCode.SUCCESS
    part = Robot.from_urdf_text(answer.urdf_string)
    assert part.name == 'panda_arm'
    chain = panda_server.arm.groups['panda_arm'].chain
    assert part.chain(chain.base_link, chain.tip_link).joint_names == chain.joint_names


def test_without_a_group_it_is_the_whole_description(panda_server):
    assert urdf_of(panda_server, '').urdf_string == PANDA.read_text(encoding='utf-8')


def test_an_unknown_group_is_refused_by_name(panda_server):
    answer = urdf_of(panda_server, 'tail')
    assert answer.error_code.val == ErrorCode.INVALID_GROUP_NAME
    assert "'tail'" in answer.error_code.message
    assert answer.urdf_string == ''


def test_a_hand_gets_its_fingers_though_nothing_can_be_placed_with_it(panda_server):
    assert 'hand' in panda_server.arm.faults
    answer = urdf_of(panda_server, 'hand')
    assert answer.error_code.val == ErrorCode.SUCCESS
    part = Robot.from_urdf_text(answer.urdf_string)
    assert part.links == ('panda_link8', 'panda_hand', 'panda_leftfinger', 'panda_rightfinger')
    assert part.resolve_mimic('panda_finger_joint2')[0] == 'panda_finger_joint1'


@pytest.mark.parametrize(('position', 'valid'), [(0.03, True), (0.05, False)])
def test_a_state_of_a_hand_is_checked_though_nothing_can_be_placed_with_it(
    panda_server, position, valid
):
    request = GetStateValidity.Request(group_name='hand')
    request.robot_state.joint_state.name = ['panda_finger_joint1', 'panda_joint1']
    request.robot_state.joint_state.position = [position, 9.0]  # beside the group
    assert panda_server.check(request).valid is valid


STRAIGHT = {'shoulder': 0.0, 'elbow': 0.0, 'wrist': 0.0, 'slide': 0.0}  # the tool is at x = 2.2


def state(group='', constraints=None, **joints):
    request = GetStateValidity.Request(group_name=group)
    positions = {**STRAIGHT, **joints}
    request.robot_state.joint_state.name = list(positions)
    request.robot_state.joint_state.position = [float(value) for value in positions.values()]
    request.robot_state.is_diff = True
    for kind, message in (constraints or {}).items():
        setattr(request.constraints, f'{kind}_constraints', message)
    return request


def test_a_free_state_is_valid(crane):
    answer = crane.check(state())
    assert answer.valid
    assert [*answer.contacts, *answer.cost_sources, *answer.constraint_result] == []
    assert crane.refusals == []


def test_a_contact_says_where_and_of_what(crane):
    put(crane, ball('lamp', (0.5, 0.13, 0.0)), attached('tray', 'tool', (0.0, 0.3, 0.0)))
    put(crane, ball('post', (2.2, 0.45, 0.0)))
    answer = crane.check(state())
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


def test_a_group_restricts_the_checks_to_what_it_moves(crane):
    request = state('arm')
    put(crane, ball('stone', (0.0, 0.0, 0.15)), ball('lamp', (0.5, 0.13, 0.0)))
    bodies = {c.contact_body_2 for c in crane.check(state()).contacts}
    assert bodies == {'stone', 'lamp'}  # the base is in the stone
    name = crane.arm.group_names[0]
    bodies = {c.contact_body_2 for c in crane.check(state(name)).contacts}
    assert bodies == {'lamp'}
    request = state('nobody')
    assert not crane.check(request).valid
    assert "'nobody'" in crane.refusals[-1]


def test_joints_outside_their_limits_are_not_valid_and_named_in_the_log(crane):
    assert not crane.check(state(elbow=2.7)).valid
    assert 'elbow at 2.7' in crane.refusals[-1]
    assert not crane.check(state(slide=-0.1)).valid
    assert crane.check(state(crane.arm.group_names[0], slide=-0.1)).valid  # beside the group


def test_the_state_is_the_measured_one_overlaid_by_that_of_the_request(crane):
    names = crane.arm.postures.names
    bent = {**STRAIGHT, 'shoulder': 1.0}
    crane.measured.update(names, [bent[name] for name in names], now=0.0)
    put(crane, ball('lamp', (0.5 * math.cos(1.0), 0.5 * math.sin(1.0), 0.0)))
    assert not crane.check(GetStateValidity.Request()).valid
    assert crane.check(state()).valid
    request = state()
    request.robot_state.attached_collision_objects = [attached('tray', 'upper', (0.8, 0.3, 0.0))]
    put(crane, ball('post', (0.8, 0.45, 0.0)))
    (contact,) = crane.check(request).contacts
    assert {contact.contact_body_1, contact.contact_body_2} == {'tray', 'post'}


def position_constraint(at, radius, weight=0.0):
    constraint = within(SPHERE, [radius], at, 'tool')
    constraint.weight = weight
    return constraint


def orientation_constraint(yaw, tolerance):
    R = rotation_from_rpy(0.0, 0.0, yaw)
    return turned(R, tolerance, tolerance, tolerance, 'tool', kind=0)


def test_constraints_have_a_result_each_in_the_order_of_moveit(crane):
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
    answer = crane.check(request)
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
    assert crane.check(request).valid


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
def test_faulty_requests_are_not_valid_and_logged(crane, request_, words):
    answer = crane.check(request_)
    assert not answer.valid
    assert not crane.errors
    for word in words:
        assert word in crane.refusals[-1]


def test_without_a_checker_the_parameter_decides(crane):
    lacking = type(crane)(crane.arm)
    assert lacking.check(state()).valid
    assert 'collisions are not checked' in lacking.refusals[-1]
    lacking.required = True
    assert not lacking.check(state()).valid
    assert 'require_collision_checking' in lacking.refusals[-1]


def test_frames_of_constraints(crane):
    put(crane, ball('lamp', (2.0, 1.0, 0.0)))
    message = position_constraint((0.2, -1.0, 0.0), 0.01)
    message.header.frame_id = 'lamp'
    answer = crane.check(state(constraints={'position': [message]}))
    assert answer.constraint_result[0].result
    assert message.constraint_region.primitive_poses[0] != Pose()
