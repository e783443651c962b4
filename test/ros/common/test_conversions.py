"""Conversion of poses to matrices, and messages that are read from their bytes."""

import math

from geometry_msgs.msg import Point, Point32, Polygon, Pose, Quaternion, Transform, Vector3
from hypothesis import given
from hypothesis import strategies as st
from moveit_msgs.msg import AttachedCollisionObject, CollisionObject
import numpy as np
import pytest
from rclpy.serialization import serialize_message
from shape_msgs.msg import Mesh, MeshTriangle, Plane, SolidPrimitive
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from ik_service.exceptions import ArgumentError
from ik_service.ros.common import cdr
from ik_service.ros.common.cdr import read_message
from ik_service.ros.common.conversions import (
    matrix_from_pose,
    matrix_from_transform,
    pose_from_matrix,
)
from ik_service.ros.common.errors import ErrorCode, RequestError

UNIT = st.lists(st.floats(-1, 1), min_size=4, max_size=4).filter(
    lambda q: math.hypot(*q) > 1e-3
)  # fmt: skip


def pose(position=(0.0, 0.0, 0.0), orientation=(0.0, 0.0, 0.0, 1.0)):
    x, y, z, w = (float(value) for value in orientation)
    px, py, pz = (float(value) for value in position)
    return Pose(position=Point(x=px, y=py, z=pz), orientation=Quaternion(x=x, y=y, z=z, w=w))


def components(quaternion):
    return np.array([quaternion.x, quaternion.y, quaternion.z, quaternion.w])


def test_quarter_turn_about_z_takes_x_to_y():
    T = matrix_from_pose(pose((1, 2, 3), (0, 0, math.sqrt(0.5), math.sqrt(0.5))))
    expected = [[0, -1, 0, 1], [1, 0, 0, 2], [0, 0, 1, 3], [0, 0, 0, 1]]
    np.testing.assert_allclose(T, expected, atol=1e-15)


@given(UNIT)
def test_round_trip_keeps_the_rotation(quaternion):
    q = np.array(quaternion) / math.hypot(*quaternion)
    T = matrix_from_pose(pose((1, -2, 3), q))
    np.testing.assert_allclose(T[:3, :3] @ T[:3, :3].T, np.eye(3), atol=1e-14)
    assert np.linalg.det(T[:3, :3]) == pytest.approx(1.0)
    back = pose_from_matrix(T)
    assert abs(components(back.orientation) @ q) == pytest.approx(1.0, abs=1e-14)
    assert back.orientation.w >= 0.0
    assert (back.position.x, back.position.y, back.position.z) == (1.0, -2.0, 3.0)


@pytest.mark.parametrize('axis', range(3))
def test_half_turns_survive_the_round_trip(axis):
    q = np.zeros(4)
    q[axis] = 1.0
    back = components(pose_from_matrix(matrix_from_pose(pose(orientation=q))).orientation)
    np.testing.assert_allclose(np.abs(back), q, atol=1e-15)


@pytest.mark.parametrize('norm', [0.991, 1.009, 0.5, 1.02, 1e-200, 1e200, 1e-310, 1.7e308])
def test_quaternions_of_any_length_are_normalised(norm):
    T = matrix_from_pose(pose(orientation=(0.6 * norm, 0, 0, 0.8 * norm)))
    expected = matrix_from_pose(pose(orientation=(0.6, 0, 0, 0.8)))
    np.testing.assert_allclose(T, expected, atol=1e-13)


@pytest.mark.parametrize(
    ('bad', 'words'),
    [
        (pose((math.nan, 0, 0)), ['goal.position.x', 'nan']),
        (pose((0, math.inf, 0)), ['goal.position.y', 'inf']),
        (pose((math.inf, -math.inf, 0)), ['goal.position.x', 'inf']),
        (pose(orientation=(0, 0, math.nan, 1)), ['goal.orientation.z', 'nan']),
        (pose(orientation=(0, 0, 0, 0)), ['goal.orientation', 'zero']),
    ],
)
def test_bad_poses_are_refused_by_field(bad, words):
    with pytest.raises(RequestError) as caught:
        matrix_from_pose(bad, 'goal')
    assert caught.value.code is ErrorCode.INVALID_GOAL_CONSTRAINTS
    for word in words:
        assert word in str(caught.value)


def test_transforms_are_converted_like_poses():
    transform = Transform(translation=Vector3(x=1.0), rotation=Quaternion(x=1.0, w=0.0))
    np.testing.assert_allclose(
        matrix_from_transform(transform), np.diag([1.0, -1, -1, 1]) + np.eye(4, k=3), atol=1e-15
    )


def whole():
    """A message in which nothing is empty, and sizes leave gaps between the fields."""
    item = CollisionObject(id='kitchen ☕', operation=CollisionObject.APPEND)
    item.header.frame_id, item.header.stamp.sec = 'map', -3
    item.pose.position.x, item.type.key = 0.25, 'mug'
    item.primitives = [
        SolidPrimitive(type=SolidPrimitive.CYLINDER, dimensions=[0.5, 0.1]),
        SolidPrimitive(
            type=SolidPrimitive.PRISM,
            dimensions=[1.0],
            polygon=Polygon(points=[Point32(x=1.0, y=2.0, z=3.0)]),
        ),
    ]
    item.primitive_poses = [Pose(), Pose(position=Point(x=1.0, y=2.0, z=3.0))]
    item.meshes = [
        Mesh(
            vertices=[Point(x=float(i), y=0.5, z=-1.0) for i in range(3)],
            triangles=[MeshTriangle(vertex_indices=[2, 0, 1])],
        )
    ]
    item.mesh_poses, item.planes = [Pose()], [Plane(coef=[0.0, 0.0, 1.0, -0.5])]
    item.subframe_names, item.subframe_poses = ['handle', ''], [Pose(), Pose()]
    posture = JointTrajectory(joint_names=['a'], points=[JointTrajectoryPoint(positions=[1.0])])
    return AttachedCollisionObject(
        link_name='hand', object=item, touch_links=['a', 'bcd'], detach_posture=posture, weight=2.5
    )


def check_alike(read, message):
    """Compare all fields of both, whatever their lists are."""
    if hasattr(message, 'get_fields_and_field_types'):
        if isinstance(read, np.ndarray):
            values = [getattr(message, f) for f in message.get_fields_and_field_types()]
            np.testing.assert_array_equal(read, np.ravel(values))
            return
        for field in message.get_fields_and_field_types():
            check_alike(getattr(read, field), getattr(message, field))
    elif isinstance(message, (str, int, float)):
        assert read == message
    elif isinstance(message, bytes):
        assert read == int.from_bytes(message, 'little')
    else:
        assert len(read) == len(message)
        for one, other in zip(read, message, strict=True):
            check_alike(one, other)


def test_a_message_is_read_as_rclpy_reads_it():
    message = whole()
    read = read_message(serialize_message(message), AttachedCollisionObject)
    check_alike(read, message)
    assert read.object.meshes[0].triangles.shape == (1, 3)
    assert read.object.meshes[0].vertices.tolist()[2] == [2.0, 0.5, -1.0]


def test_bytes_that_are_cut_off_are_refused_wherever_that_is():
    data = serialize_message(whole())
    for length in range(4, len(data) - 8):
        with pytest.raises(ArgumentError, match='message'):
            read_message(data[:length], AttachedCollisionObject)


def test_random_bytes_are_refused_or_read_but_nothing_else_happens():
    data, rng = bytearray(serialize_message(whole())), np.random.default_rng(3)
    for _ in range(500):
        damaged = bytearray(data)
        for place in rng.integers(4, len(data), 5):
            damaged[place] = int(rng.integers(256))
        try:
            read_message(bytes(damaged), AttachedCollisionObject)
        except ArgumentError:
            continue


def test_the_number_of_objects_that_a_message_becomes_is_bounded(monkeypatch):
    monkeypatch.setattr(cdr, 'MOST_ELEMENTS', 3)
    message = CollisionObject(primitive_poses=[Pose()] * 4)
    with pytest.raises(ArgumentError, match='more than 3'):
        read_message(serialize_message(message), CollisionObject)
    assert read_message(serialize_message(CollisionObject()), CollisionObject).id == ''


@pytest.mark.parametrize('data', [b'', b'\x00\x01', b'\x77\x77\x00\x00 nothing'])
def test_what_is_no_message_is_refused(data):
    with pytest.raises(ArgumentError, match='message'):
        read_message(data, CollisionObject)
