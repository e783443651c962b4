"""Joint constraints, states of virtual joints, and objects that requests attach; no node."""

import math

from geometry_msgs.msg import Quaternion, Transform, Vector3
from moveit_msgs.msg import CollisionObject, JointConstraint, RobotState
from moveit_msgs.srv import GetPositionFK
import numpy as np
import pytest
from sensor_msgs.msg import MultiDOFJointState
from shape_msgs.msg import SolidPrimitive
from support.ros.lines import line_request, moved
from support.ros.servers import ik_request, reached, refused, Server, tree_arm
from support.ros.worlds import attached, ball, by_name, crane_arm, put, T_TOOL

from ik_service.arm.arm import ArmSettings
from ik_service.arm.loader import build_arm
from ik_service.common.quaternions import quaternion_xyzw_from_rotation
from ik_service.common.transforms import rigid_transform, rotation_about_axis, rotation_from_rpy
from ik_service.exceptions import ArgumentError
from ik_service.ros.common.conversions import matrix_from_pose
from ik_service.ros.common.errors import ErrorCode, RequestError, UnmetConstraintError
from ik_service.ros.requests.constraints import constrained_chain
from ik_service.ros.scene import robot_states
from ik_service.ros.scene.robot_states import read_multi_dof


@pytest.fixture(scope='module')
def arm():
    return tree_arm()


def joint_constraint(name, position, above=0.1, below=0.2):
    return JointConstraint(
        joint_name=name, position=position, tolerance_above=above, tolerance_below=below
    )


def constrain(arm, *constraints, joint_limits='clamp', **positions):
    at = {**arm.postures.by_name(arm.rest), **positions}
    return constrained_chain(arm.chain, constraints, at, joint_limits)


def limits(chain, name):
    i = chain.joint_names.index(name)
    return pytest.approx((chain.lower[i], chain.upper[i]))


def test_limits_are_narrowed_for_that_joint_only(arm):
    chain = constrain(arm, joint_constraint('elbow', 1.0))
    assert limits(chain, 'elbow') == (0.8, 1.1)
    assert limits(chain, 'shoulder') == (-2.0, 2.0)
    assert limits(arm.chain, 'elbow') == (0.1, 2.5)


def test_all_constraints_on_a_joint_count(arm):
    chain = constrain(arm, joint_constraint('elbow', 1.0), joint_constraint('elbow', 1.2))
    assert limits(chain, 'elbow') == (1.0, 1.1)


def test_more_constraints_than_are_read_are_refused(arm):
    with pytest.raises(RequestError, match='1001 elements, more than the 1000'):
        constrain(arm, *[joint_constraint('elbow', 1.0)] * 1001)


def test_limits_of_the_joint_stay(arm):
    chain = constrain(arm, joint_constraint('elbow', 0.2, below=5.0))
    assert limits(chain, 'elbow') == (0.1, 0.3)


def test_infinite_tolerances_do_not_constrain(arm):
    chain = constrain(arm, joint_constraint('elbow', 0.2, math.inf, math.inf))
    assert limits(chain, 'elbow') == (0.1, 2.5)


def test_continuous_joints_are_constrained_on_the_turn_of_the_seed(arm):
    chain = constrain(arm, joint_constraint('wrist', 0.5), wrist=13.0)
    assert (0.3 + 4 * math.pi, 0.6 + 4 * math.pi) == limits(chain, 'wrist')


def test_joints_that_the_chain_does_not_move_must_comply(arm):
    constrain(arm, joint_constraint('grip', 0.0, 0.0, 0.0))
    assert 'grip' in refusal(arm, joint_constraint('grip', 0.9))


def test_full_turns_of_continuous_joints_beside_the_chain_do_not_count(arm):
    chain = arm.robot.chain('base', 'fore')
    at = arm.postures.by_name(arm.rest) | {'wrist': 0.55 - 4 * math.pi}
    constrained_chain(chain, [joint_constraint('wrist', 0.5)], at, 'clamp')
    with pytest.raises(UnmetConstraintError, match="'wrist'"):
        constrained_chain(chain, [joint_constraint('wrist', 1.5)], at, 'clamp')


def test_constraints_on_a_joint_that_follows_another_hold_for_that(arm):
    chain = arm.robot.chain('base', 'finger_1')
    at = arm.postures.by_name(arm.rest)
    narrowed = constrained_chain(
        chain, [joint_constraint('grip_too', 0.02, 0.01, 0.01)], at, 'clamp'
    )
    assert limits(narrowed, 'grip') == (0.01, 0.03)
    constrain(arm, joint_constraint('grip_too', 0.0))  # whose chain moves neither
    assert "'grip_too'" in refusal(arm, joint_constraint('grip_too', 0.9))


def refusal(arm, *constraints, **more):
    with pytest.raises(RequestError) as caught:
        constrain(arm, *constraints, **more)
    assert caught.value.code is ErrorCode.INVALID_GOAL_CONSTRAINTS
    return str(caught.value)


def test_refusals_name_the_fault(arm):
    assert "'tail'" in refusal(arm, joint_constraint('tail', 0.0))
    assert "'floor'" in refusal(arm, joint_constraint('floor', 0.0))  # fixed
    good = joint_constraint('wrist', 0.0)
    assert '[1].position' in refusal(arm, good, joint_constraint('elbow', math.nan))
    assert 'tolerance_above' in refusal(arm, joint_constraint('elbow', 1.0, above=-0.1))
    assert 'tolerance_below' in refusal(arm, joint_constraint('elbow', 1.0, below=math.nan))
    assert 'ignore' in refusal(arm, good, joint_limits='ignore')


def test_constraints_that_leave_no_position_are_told_with_what_is_against_them(arm):
    beyond = refusal(arm, joint_constraint('elbow', 9.0))
    assert "joint_constraints[0] allows 8.8 … 9.1 for joint 'elbow'" in beyond
    assert 'but its limits only 0.1 … 2.5' in beyond
    apart = refusal(arm, joint_constraint('elbow', 1.0), joint_constraint('elbow', 2.0))
    assert "joint_constraints[1] allows 1.8 … 2.1 for joint 'elbow'" in apart
    assert 'but others only 0.8 … 1.1' in apart


NORMAL = np.array([0.6, 0.0, 0.8])
BOTH = """
<robot name="both">
  <link name="floor"/><link name="cart"/><link name="drone"/><link name="arm"/>
  <joint name="drive" type="planar">
    <parent link="floor"/><child link="cart"/><axis xyz="0.6 0 0.8"/><origin xyz="0 0 0.1"/>
  </joint>
  <joint name="fly" type="floating">
    <parent link="floor"/><child link="drone"/><origin rpy="0.1 0 0"/>
  </joint>
  <joint name="turn" type="continuous"><parent link="cart"/><child link="arm"/></joint>
</robot>
"""


@pytest.fixture
def both():
    both = Server(build_arm(BOTH, ArmSettings(tip_link='arm')))
    return both


def transform(T):
    x, y, z, w = quaternion_xyzw_from_rotation(T[:3, :3])
    px, py, pz = T[:3, 3].tolist()
    return Transform(
        translation=Vector3(x=px, y=py, z=pz), rotation=Quaternion(x=x, y=y, z=z, w=w)
    )


def in_plane(x, y, angle):
    """A pose in the plane of the planar joint, whose first direction is given by x."""
    R = rotation_about_axis(NORMAL, angle)
    return rigid_transform(R, x * np.array([0.8, 0.0, -0.6]) + y * np.array([0.0, 1.0, 0.0]))


def fk(both, link, **joints):
    request = GetPositionFK.Request(fk_link_names=[link])
    state = request.robot_state.multi_dof_joint_state
    state.joint_names = list(joints)
    state.transforms = [transform(T) for T in joints.values()]
    return both.place(request)


@pytest.mark.parametrize('angle', [0.0, 1.0, -3.0])
def test_planar_joint(both, angle):
    T = in_plane(0.3, -0.4, angle)
    answer = fk(both, 'cart', drive=T)
    assert answer.error_code.val == ErrorCode.SUCCESS, answer.error_code
    assert answer.error_code.message == ''
    reached = matrix_from_pose(answer.pose_stamped[0].pose)
    np.testing.assert_allclose(reached, rigid_transform(None, (0, 0, 0.1)) @ T, atol=1e-12)


def test_floating_joint(both):
    T = rigid_transform(rotation_from_rpy(2.0, -0.4, 3.0), (0.1, 0.2, -0.3))
    reached = matrix_from_pose(fk(both, 'drone', fly=T).pose_stamped[0].pose)
    T_parent = rigid_transform(rotation_from_rpy(0.1, 0, 0))
    np.testing.assert_allclose(reached, T_parent @ T, atol=1e-12)


@pytest.mark.parametrize(
    'T', [rigid_transform(None, 0.1 * NORMAL), rigid_transform(rotation_from_rpy(0.1, 0, 0))]
)
def test_a_pose_beside_the_plane_is_refused(both, T):
    answer = fk(both, 'cart', drive=T)
    assert answer.error_code.val == ErrorCode.INVALID_ROBOT_STATE
    assert "'drive' is planar" in answer.error_code.message


@pytest.mark.parametrize(
    ('names', 'transforms', 'frame', 'words'),
    [
        (['nowhere'], [Transform()], '', "'nowhere': the robot has no such joint"),
        (['turn'], [Transform()], '', "'turn': the robot has no such joint"),
        (['fly', 'fly'], [Transform()] * 2, '', "'fly' is named twice"),
        (['fly'], [], '', '1 names, but 0 transforms'),
        (['fly'], [Transform(rotation=Quaternion(w=0.0))], '', 'zero quaternion'),
        (['fly'], [Transform(translation=Vector3(x=math.nan))], '', 'nan'),
        (['fly'], [Transform(translation=Vector3(x=1e7))], '', 'beyond'),
        (['fly'], [Transform()], 'moon', "'moon', not in floor"),
        (['x'] * 1001, [], '', 'more than 1000'),
    ],
)
def test_bad_states_are_refused(both, names, transforms, frame, words):
    request = GetPositionFK.Request(fk_link_names=['arm'])
    state = MultiDOFJointState(joint_names=names, transforms=transforms)
    state.header.frame_id = frame
    request.robot_state.multi_dof_joint_state = state
    answer = both.place(request)
    assert answer.error_code.val == ErrorCode.INVALID_ROBOT_STATE, answer.error_code
    assert words in answer.error_code.message
    assert not both.errors


def test_virtual_joint_of_the_root(monkeypatch):
    monkeypatch.setattr(robot_states, 'virtual_frames', lambda robot: {'odom': 'drive'})
    arm = tree_arm()
    both = Server(arm)
    T = rigid_transform(rotation_from_rpy(0, 0, 0.5), (2.0, 0.0, 0.0))
    request = GetPositionFK.Request(fk_link_names=['table'])
    request.header.frame_id = 'odom'
    state = request.robot_state.multi_dof_joint_state
    state.joint_names, state.transforms, state.header.frame_id = ['drive'], [transform(T)], 'odom'
    answer = both.place(request)
    assert answer.error_code.val == ErrorCode.SUCCESS, answer.error_code
    reached = matrix_from_pose(answer.pose_stamped[0].pose)
    np.testing.assert_allclose(reached, T @ arm.link_poses(arm.rest)['table'], atol=1e-12)
    state.header.frame_id = 'map'
    with pytest.raises(ArgumentError, match="'map', not in odom"):
        read_multi_dof(arm, state, arm.rest.copy())


POSTURE = {'shoulder': 0.9, 'elbow': -1.8, 'wrist': 0.9, 'slide': 0.1}


@pytest.fixture
def crane():
    return Server(crane_arm())


def state_with(*objects, joints=POSTURE):
    state = RobotState(attached_collision_objects=list(objects), is_diff=True)
    state.joint_state.name, state.joint_state.position = list(joints), list(joints.values())
    return state


def stick(position=(0.3, 0.0, 0.0)):
    message = attached('stick', 'tool', position)
    message.object.subframe_names = ['end']
    message.object.subframe_poses = [ball('', (0.1, 0.0, 0.0)).pose]
    return message


def solve(crane, state, link='', T=T_TOOL):
    return crane.solve(ik_request(T, robot_state=state, ik_link_name=link))


def place(crane, state, *links):
    request = GetPositionFK.Request(fk_link_names=list(links), robot_state=state)
    return crane.fk.handle(request, GetPositionFK.Response())


def places(answer):
    assert answer.error_code.val == ErrorCode.SUCCESS, answer.error_code
    return [matrix_from_pose(stamped.pose) for stamped in answer.pose_stamped]


@pytest.mark.parametrize(('link', 'beyond'), [('stick', 0.3), ('stick/end', 0.4)])
def test_a_request_may_place_what_it_attaches(crane, link, beyond):
    target = rigid_transform(position=(1.4 + beyond, 0.0, 0.0))
    answer = solve(crane, state_with(stick()), link, target)
    np.testing.assert_allclose(reached(crane, answer)['tool'], T_TOOL, atol=1e-4)
    refused(crane, solve(crane, state_with(), link), ErrorCode.INVALID_LINK_NAME, 'stick')


def test_compute_fk_places_what_a_request_attaches(crane):
    T_tool, T_stick, T_end = places(
        place(crane, state_with(stick()), 'tool', 'stick', 'stick/end')
    )
    np.testing.assert_allclose(T_stick, moved(T_tool, 0.3, 0.0, 0.0), atol=1e-12)
    np.testing.assert_allclose(T_end, moved(T_tool, 0.4, 0.0, 0.0), atol=1e-12)
    answer = place(crane, state_with(), 'stick')
    assert answer.error_code.val == ErrorCode.INVALID_LINK_NAME
    put(crane, attached('cup', 'hand', (0.0, 0.2, 0.0)))
    for name, closest in (('stik', 'stick'), ('cups', 'cup')):
        answer = place(crane, state_with(stick()), name)
        assert f'closest: {closest}' in answer.error_code.message


def test_the_object_of_the_request_counts_before_one_of_the_same_name_that_is_known(crane):
    put(crane, stick((0.1, 0.0, 0.0)), attached('cup', 'hand', (0.0, 0.2, 0.0)))
    T_tool, T_stick, _ = places(place(crane, state_with(stick()), 'tool', 'stick', 'cup'))
    np.testing.assert_allclose(T_stick, moved(T_tool, 0.3, 0.0, 0.0), atol=1e-12)
    gone = place(crane, state_with(by_name('stick', '', CollisionObject.REMOVE)), 'stick', 'cup')
    assert gone.error_code.val == ErrorCode.INVALID_LINK_NAME
    assert gone.fk_link_names == ['cup']


def test_an_object_in_the_frame_of_a_link_is_where_the_request_puts_that_link(crane):
    given = stick()
    given.object.header.frame_id = 'base'
    (T_stick,) = places(place(crane, state_with(given), 'stick'))
    np.testing.assert_allclose(T_stick, moved(np.eye(4), 0.3, 0.0, 0.0), atol=1e-12)


def test_an_object_of_the_world_may_be_attached_by_a_request(crane):
    put(crane, ball('lamp', (0.7, 0.1, 0.0)))
    (T_lamp,) = places(place(crane, state_with(by_name('lamp', 'tool')), 'lamp'))
    np.testing.assert_allclose(T_lamp, moved(np.eye(4), 0.7, 0.1, 0.0), atol=1e-12)


def test_a_line_of_what_the_start_state_attaches(crane):
    at = places(place(crane, state_with(stick()), 'stick'))[0]
    request = line_request(
        [moved(at, -0.2, 0.1, 0.0)], POSTURE, POSTURE.values(), link_name='stick'
    )
    request.start_state.is_diff = True
    assert crane.plan(request).error_code.val == ErrorCode.INVALID_LINK_NAME
    request.start_state.attached_collision_objects = [stick()]
    assert crane.plan(request).fraction == 1.0
    request.start_state.attached_collision_objects = [attached('stick', 'moon')]
    answer = crane.plan(request).error_code
    assert answer.val == ErrorCode.INVALID_ROBOT_STATE
    assert 'start_state.attached_collision_objects[0]' in answer.message


def negative():
    shape = SolidPrimitive(type=SolidPrimitive.SPHERE, dimensions=[-0.1])
    return attached('stick', 'tool', shape=shape)


def headless():
    message = stick()
    message.object.subframe_poses = []
    return message


@pytest.mark.parametrize(
    ('message', 'word'),
    [
        (attached('stick', 'moon'), 'moon'),
        (attached('stick', 'tool', (np.nan, 0.0, 0.0)), 'pose.position.x'),
        (negative(), 'dimensions'),
        (headless(), 'subframe_names'),
        (attached('finger', 'tool'), 'name of a link'),
        (by_name('rod', 'tool'), 'no shapes'),
    ],
)
def test_faulty_objects_are_refused_by_every_service(crane, message, word):
    state = state_with(stick(), message)
    field = 'robot_state.attached_collision_objects[1]'
    refused(crane, solve(crane, state), ErrorCode.INVALID_ROBOT_STATE, field, word)
    answer = place(crane, state, 'tool').error_code
    assert answer.val == ErrorCode.INVALID_ROBOT_STATE
    assert field in answer.message
    assert word in answer.message
