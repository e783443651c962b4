"""Objects of the world from their topics: as bodies, and as frames of requests."""

from __future__ import annotations

import math

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from geometry_msgs.msg import Pose
from moveit_msgs.msg import CollisionObject
from shape_msgs.msg import SolidPrimitive
from support.harness import until
from support.ros.nodes import ask, start_panda
from support.ros.servers import ik_request, panda_arm, posture_of
from support.ros.worlds import WorldBench

from ik_service.common.transforms import rigid_transform, rotation_from_rpy
from ik_service.ros.common.conversions import pose_from_matrix
from ik_service.ros.requests.errors import ErrorCode, RequestError

T_BOX = rigid_transform(rotation_from_rpy(0.1, -0.2, 0.3), (0.4, 0.1, 0.3))
BALL = SolidPrimitive(type=SolidPrimitive.SPHERE, dimensions=[0.1])
T_GRASP = rigid_transform(rotation_from_rpy(math.pi, 0.0, 0.0), (0.0, 0.0, 0.1))


@pytest.fixture
def world():
    return WorldBench(panda_arm())


def item(operation=CollisionObject.ADD, T=T_BOX, name='box', frame='', **subframes):
    message = CollisionObject(id=name, pose=pose_from_matrix(T), operation=operation)
    message.primitives = [BALL]
    message.header.frame_id = frame
    message.subframe_names = list(subframes)
    message.subframe_poses = [pose_from_matrix(T) for T in subframes.values()]
    return message


def test_an_object_and_its_subframes_are_frames(world):
    world.receive(item(grasp=T_GRASP))
    np.testing.assert_allclose(world.at('box'), T_BOX, atol=1e-12)
    np.testing.assert_allclose(world.at('box/grasp'), T_BOX @ T_GRASP, atol=1e-12)
    assert world.warnings == []


def test_an_object_moves_with_its_subframes(world):
    world.receive(item(grasp=T_GRASP))
    world.receive(item(CollisionObject.MOVE, T_GRASP))
    np.testing.assert_allclose(world.at('box/grasp'), T_GRASP @ T_GRASP, atol=1e-12)


def test_an_object_that_is_added_again_replaces_the_old_one(world):
    world.receive(item(grasp=T_GRASP))
    world.receive(item(T=T_GRASP, top=T_GRASP))
    np.testing.assert_allclose(world.at('box'), T_GRASP, atol=1e-12)
    with pytest.raises(RequestError):
        world.at('box/grasp')


def test_appended_shapes_leave_the_frame_where_it_is(world):
    world.receive(item())
    world.receive(item(CollisionObject.APPEND, T_GRASP))
    np.testing.assert_allclose(world.at('box'), T_BOX, atol=1e-12)


@pytest.mark.parametrize('name', ['box', ''])
def test_removed_objects_are_no_frames(world, name):
    world.receive(item(grasp=T_GRASP))
    world.receive(item(CollisionObject.REMOVE, name=name))
    for frame in ('box', 'box/grasp'):
        with pytest.raises(RequestError):
            world.at(frame)


def test_an_object_stays_where_the_hand_put_it(world):
    arm = world.measured.arm
    before, after = posture_of(arm, 1), posture_of(arm, 2)
    world.measured.update(arm.postures.names, before, now=0.0)
    world.receive(item(frame='panda_hand'))
    world.measured.update(arm.postures.names, after, now=1.0)
    expected = arm.link_poses(before)['panda_hand'] @ T_BOX
    np.testing.assert_allclose(world.at('box'), expected, atol=1e-12)


def test_an_object_may_stand_on_another(world):
    world.receive(item())
    world.receive(item(T=T_GRASP, name='cup', frame='box'))
    np.testing.assert_allclose(world.at('cup'), T_BOX @ T_GRASP, atol=1e-12)


def test_the_pose_of_the_only_shape_counts_where_the_object_has_none(world):
    message = item(T=np.eye(4))
    message.primitive_poses = [pose_from_matrix(T_BOX)]
    world.receive(message)
    np.testing.assert_allclose(world.at('box'), T_BOX, atol=1e-12)


def faulty(kind):
    message = item()
    if kind == 'NaN':
        message.pose.position.x = math.nan
    elif kind == 'subframes':
        message.subframe_names, message.subframe_poses = ['a', 'b'], [Pose()]
    elif kind == 'frame':
        message.header.frame_id = 'moon'
    elif kind == 'operation':
        message.operation = b'\x09'
    elif kind == 'itself':
        message.header.frame_id = 'box'
    elif kind == 'name':
        message.id = ''
    return message


@pytest.mark.parametrize('kind', ['NaN', 'subframes', 'frame', 'operation', 'name', 'itself'])
def test_faulty_objects_change_nothing_and_are_logged(world, kind):
    world.receive(item(grasp=T_GRASP))
    world.receive(faulty(kind))
    np.testing.assert_allclose(world.at('box/grasp'), T_BOX @ T_GRASP, atol=1e-12)
    (warning,) = world.warnings
    assert warning.startswith('collision_object ')


def test_an_object_that_is_not_there_cannot_be_moved(world):
    world.receive(item(CollisionObject.MOVE))
    assert 'unknown object' in world.warnings[0]


def test_before_there_is_a_robot_only_the_root_is_known(world):
    measured, world.measured = world.measured, None
    world.receive(item(frame='panda_hand', name='late'))
    world.receive(item())
    world.measured = measured
    np.testing.assert_allclose(world.at('box'), T_BOX, atol=1e-12)
    assert len(world.warnings) == 1


def test_a_request_in_the_frame_of_an_object(bench):
    start_panda(bench)
    arm = panda_arm()
    tip = arm.link_poses(posture_of(arm, 1))[arm.chain.tip_link]
    publisher = bench.publisher(CollisionObject, 'collision_object', 10)
    request = ik_request(np.linalg.inv(T_BOX @ T_GRASP) @ tip, 'box/grasp')

    def answered():
        publisher.publish(item(grasp=T_GRASP))
        answer = ask(bench, request)
        return answer.error_code.val == ErrorCode.SUCCESS and answer

    joints = until(answered, 10.0, 'the object').solution.joint_state
    found = arm.link_poses(np.array(joints.position))[arm.chain.tip_link]
    np.testing.assert_allclose(found, tip, atol=1e-4)
