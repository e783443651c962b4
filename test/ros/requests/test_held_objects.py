"""Objects that a request attaches: their names as links, and faulty ones, without any checker."""

from moveit_msgs.msg import CollisionObject, RobotState
from moveit_msgs.srv import GetPositionFK
import numpy as np
import pytest
from shape_msgs.msg import SolidPrimitive
from support.ros.lines import line_request, moved
from support.ros.servers import ik_request, refused, Server, solved
from support.ros.worlds import attached, ball, by_name, crane_arm, put, T_TOOL

from ik_service.common.transforms import rigid_transform
from ik_service.ros.common.conversions import matrix_from_pose
from ik_service.ros.requests.errors import ErrorCode

POSTURE = {'shoulder': 0.9, 'elbow': -1.8, 'wrist': 0.9, 'slide': 0.1}


@pytest.fixture
def server():
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


def solve(server, state, link='', T=T_TOOL):
    return server.solve(ik_request(T, robot_state=state, ik_link_name=link))


def place(server, state, *links):
    request = GetPositionFK.Request(fk_link_names=list(links), robot_state=state)
    return server.fk.handle(request, GetPositionFK.Response())


def places(answer):
    assert answer.error_code.val == ErrorCode.SUCCESS, answer.error_code
    return [matrix_from_pose(stamped.pose) for stamped in answer.pose_stamped]


def tool_at(server, answer):
    joints = solved(answer)
    return server.arm.link_poses(np.array([joints[n] for n in server.arm.postures.names]))['tool']


@pytest.mark.parametrize(('link', 'beyond'), [('stick', 0.3), ('stick/end', 0.4)])
def test_a_request_may_place_what_it_attaches(server, link, beyond):
    target = rigid_transform(position=(1.4 + beyond, 0.0, 0.0))
    answer = solve(server, state_with(stick()), link, target)
    np.testing.assert_allclose(tool_at(server, answer), T_TOOL, atol=1e-4)
    refused(server, solve(server, state_with(), link), ErrorCode.INVALID_LINK_NAME, 'stick')


def test_compute_fk_places_what_a_request_attaches(server):
    T_tool, T_stick, T_end = places(
        place(server, state_with(stick()), 'tool', 'stick', 'stick/end')
    )
    np.testing.assert_allclose(T_stick, moved(T_tool, 0.3, 0.0, 0.0), atol=1e-12)
    np.testing.assert_allclose(T_end, moved(T_tool, 0.4, 0.0, 0.0), atol=1e-12)
    answer = place(server, state_with(), 'stick')
    assert answer.error_code.val == ErrorCode.INVALID_LINK_NAME


def test_the_object_of_the_request_counts_before_one_of_the_same_name_that_is_known(server):
    put(server, stick((0.1, 0.0, 0.0)), attached('cup', 'hand', (0.0, 0.2, 0.0)))
    T_tool, T_stick, _ = places(place(server, state_with(stick()), 'tool', 'stick', 'cup'))
    np.testing.assert_allclose(T_stick, moved(T_tool, 0.3, 0.0, 0.0), atol=1e-12)
    gone = place(server, state_with(by_name('stick', '', CollisionObject.REMOVE)), 'stick', 'cup')
    assert gone.error_code.val == ErrorCode.INVALID_LINK_NAME
    assert gone.fk_link_names == ['cup']


def test_an_object_in_the_frame_of_a_link_is_where_the_request_puts_that_link(server):
    given = stick()
    given.object.header.frame_id = 'base'
    (T_stick,) = places(place(server, state_with(given), 'stick'))
    np.testing.assert_allclose(T_stick, moved(np.eye(4), 0.3, 0.0, 0.0), atol=1e-12)


def test_an_object_of_the_world_may_be_attached_by_a_request(server):
    put(server, ball('lamp', (0.7, 0.1, 0.0)))
    (T_lamp,) = places(place(server, state_with(by_name('lamp', 'tool')), 'lamp'))
    np.testing.assert_allclose(T_lamp, moved(np.eye(4), 0.7, 0.1, 0.0), atol=1e-12)


def test_a_line_of_what_the_start_state_attaches(server):
    at = places(place(server, state_with(stick()), 'stick'))[0]
    request = line_request(
        [moved(at, -0.2, 0.1, 0.0)], POSTURE, POSTURE.values(), link_name='stick'
    )
    request.start_state.is_diff = True
    assert server.plan(request).error_code.val == ErrorCode.INVALID_LINK_NAME
    request.start_state.attached_collision_objects = [stick()]
    assert server.plan(request).fraction == 1.0
    request.start_state.attached_collision_objects = [attached('stick', 'moon')]
    answer = server.plan(request).error_code
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
        (by_name('stick', 'tool'), 'no shapes'),
    ],
)
def test_faulty_objects_are_refused_by_every_service(server, message, word):
    state = state_with(stick(), message)
    field = 'robot_state.attached_collision_objects[1]'
    refused(server, solve(server, state), ErrorCode.INVALID_ROBOT_STATE, field, word)
    answer = place(server, state, 'tool').error_code
    assert answer.val == ErrorCode.INVALID_ROBOT_STATE
    assert field in answer.message
    assert word in answer.message
