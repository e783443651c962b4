"""Requests of compute_ik with avoid_collisions: what is answered, and what the message says."""

import numpy as np
import pytest

pytest.importorskip('coal', reason='needs the extra collision')

from moveit_msgs.msg import CollisionObject, JointConstraint, OrientationConstraint
from shape_msgs.msg import SolidPrimitive
from support.ros.servers import ik_request, refused, Server, solved, together, tree_arm, with_seed
from support.ros.worlds import (
    attached,
    ball,
    by_name,
    CRANE,
    crane_server,
    LEFT,
    LEFT_SEED,
    put,
    RIGHT,
    T_TOOL,
)

from ik_service.common.transforms import rigid_transform
from ik_service.ros.requests.errors import ErrorCode

TINY = SolidPrimitive(type=SolidPrimitive.SPHERE, dimensions=[0.01])


@pytest.fixture
def server():
    return crane_server()


def request(avoid=True, seed=LEFT_SEED, T=T_TOOL, **fields):
    message = ik_request(T, avoid_collisions=avoid, **fields)
    return with_seed(message, seed, seed.values())


def with_attached(message, *objects, is_diff=True):
    message.ik_request.robot_state.attached_collision_objects = list(objects)
    message.ik_request.robot_state.is_diff = is_diff
    return message


def test_the_nearest_solution_that_does_not_collide_is_the_answer(server):
    put(server, ball('lamp', LEFT))
    assert solved(server.solve(request(avoid=False)))['elbow'] < 0.0
    answer = server.solve(request())
    assert solved(answer)['elbow'] > 0.0
    assert 'collision' not in answer.error_code.message


def test_only_colliding_solutions_name_the_two_bodies(server):
    put(server, ball('lamp', LEFT), ball('post', RIGHT))
    answer = server.solve(request())
    refused(server, answer, ErrorCode.GOAL_IN_COLLISION)
    message = answer.error_code.message
    assert ('lamp' in message) != ('post' in message)
    assert ('upper' in message) != ('fore' in message)


def test_an_unreachable_target_is_not_called_a_collision(server):
    put(server, ball('lamp', LEFT), ball('post', RIGHT))
    far = rigid_transform(position=(9.0, 0.0, 0.0))
    refused(server, server.solve(request(T=far)), ErrorCode.NO_IK_SOLUTION)


def test_joints_beside_the_chain_stand_as_in_the_answer(server):
    put(server, ball('cup', (1.3, 0.4, 0.0)))
    assert solved(server.solve(request()))
    out = {**LEFT_SEED, 'slide': 0.4}
    refused(server, server.solve(request(seed=out)), ErrorCode.GOAL_IN_COLLISION, 'finger', 'cup')


def test_several_poses_and_constraints_avoid_collisions_too(server):
    put(server, ball('lamp', LEFT))
    T_hand = rigid_transform(position=(1.2, 0.0, 0.0))
    both = together({'tool': T_TOOL, 'hand': T_hand}, avoid_collisions=True)
    assert solved(server.solve(with_seed(both, LEFT_SEED, LEFT_SEED.values())))['elbow'] > 0.0
    loose = request()
    loose.ik_request.constraints.orientation_constraints = [
        OrientationConstraint(link_name='tool', **dict.fromkeys(TOLERANCES, 0.01))
    ]
    assert solved(server.solve(loose))['elbow'] > 0.0
    held = request()
    held.ik_request.constraints.joint_constraints = [
        JointConstraint(
            joint_name='elbow', position=-1.8, tolerance_above=0.5, tolerance_below=0.5
        )
    ]
    refused(server, server.solve(held), ErrorCode.GOAL_IN_COLLISION, 'lamp')


TOLERANCES = [f'absolute_{axis}_axis_tolerance' for axis in 'xyz']


def test_what_the_robot_carries_collides_unless_it_may_touch(server):
    put(server, ball('lamp', (1.4, 0.3, 0.0)), attached('tray', 'tool', (0.0, 0.15, 0.0)))
    refused(
        server, server.solve(with_attached(request())), ErrorCode.GOAL_IN_COLLISION, 'lamp', 'tray'
    )
    put(server, by_name('tray', '', CollisionObject.REMOVE))
    put(server, attached('rod', 'tool', (-0.2, 0.0, 0.0)))
    answer = server.solve(with_attached(request()))
    refused(server, answer, ErrorCode.GOAL_IN_COLLISION, 'rod', 'fore')
    put(server, attached('rod', 'tool', (-0.2, 0.0, 0.0), touch_links=['fore', 'finger']))
    assert solved(server.solve(with_attached(request())))


def test_objects_that_a_request_attaches(server):
    put(server, ball('lamp', (1.4, 0.3, 0.0)))
    tray = attached('tray', 'tool', (0.0, 0.15, 0.0))
    answer = server.solve(with_attached(request(), tray))
    refused(server, answer, ErrorCode.GOAL_IN_COLLISION, 'lamp', 'tray')
    assert solved(server.solve(request()))  # they are not kept
    assert not server.collisions.known.world.attached


def test_a_state_that_is_no_difference_replaces_what_is_known_to_be_attached(server):
    put(server, ball('lamp', (1.4, 0.3, 0.0)), attached('tray', 'tool', (0.0, 0.15, 0.0)))
    answer = server.solve(with_attached(request(), is_diff=True))
    refused(server, answer, ErrorCode.GOAL_IN_COLLISION, 'tray')
    answer = server.solve(with_attached(request(), is_diff=False))
    assert solved(answer)
    assert 'tray' in answer.error_code.message
    nothing_given = with_attached(request(seed={}), is_diff=False)
    refused(server, server.solve(nothing_given), ErrorCode.GOAL_IN_COLLISION, 'tray')


def test_a_request_for_an_attached_object_or_its_subframe(server):
    tray = attached('tray', 'tool', (0.1, 0.0, 0.0), shape=TINY)
    tray.object.subframe_names = ['rim']
    tray.object.subframe_poses = [ball('', (0.1, 0.0, 0.0)).pose]
    put(server, tray)
    server.settings = server.ik.settings = type(server.settings)()  # all axes count
    target = rigid_transform(position=(1.6, 0.0, 0.0))
    joints = solved(server.solve(request(T=target, ik_link_name='tray/rim')))
    found = server.arm.link_poses(np.array([joints[n] for n in server.arm.postures.names]))
    np.testing.assert_allclose(found['tool'], T_TOOL, atol=1e-4)
    refused(
        server,
        server.solve(request(T=target, ik_link_name='tray/edge')),
        ErrorCode.INVALID_LINK_NAME,
        'tray/edge',
    )


def test_without_a_checker_the_parameter_decides():
    server = Server(tree_arm())
    target = ik_request(avoid_collisions=True, ik_link_name='tool')
    target.ik_request.pose_stamped.header.frame_id = 'tool'  # where it is
    answer = server.solve(target)
    assert solved(answer)
    assert 'collisions are not checked: ' in answer.error_code.message
    server.required = True
    answer = server.solve(target)
    unavailable = ErrorCode.COLLISION_CHECKING_UNAVAILABLE
    refused(server, answer, unavailable, 'require_collision_checking', 'false')
    target.ik_request.avoid_collisions = False
    assert solved(server.solve(target))


def test_a_robot_without_collision_geometry_is_solved_and_the_message_says_so():
    server = Server(tree_arm())
    server.check_collisions()
    target = ik_request(avoid_collisions=True, ik_link_name='tool')
    target.ik_request.pose_stamped.header.frame_id = 'tool'
    answer = server.solve(target)
    assert solved(answer)
    assert 'no collision geometry' in answer.error_code.message


def test_a_missing_mesh_is_named():
    mesh = '<mesh filename="file:///nowhere/hand.stl"/>'
    server = crane_server(CRANE.replace('<sphere radius="0.06"/>', mesh))
    answer = server.solve(request())
    unavailable = ErrorCode.COLLISION_CHECKING_UNAVAILABLE
    refused(server, answer, unavailable, "'hand'", 'nowhere', 'require_collision_checking')
    server.required = False
    put(server, ball('lamp', LEFT))
    answer = server.solve(request())
    assert solved(answer)['elbow'] > 0.0  # the others are checked
    assert "'hand'" in answer.error_code.message
