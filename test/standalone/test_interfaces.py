"""The message types of the environment are those of other ROS 2 nodes."""

import json
import os
from pathlib import Path
import sys

import pytest
from support.ros.messages import require_tf_messages
import yaml

CONTRACT = yaml.safe_load(Path(__file__).with_name('interfaces.yaml').read_text())
"""What every client relies on: nodes only connect when the hashes of their types agree."""

pytest.importorskip('moveit_msgs', reason='needs the message types: make env')


def _description(type_name: str) -> dict:
    """Return what the generator wrote about a type, from the installation that has it."""
    prefixes = [*os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep), sys.prefix]
    package, kind, name = type_name.split('/')
    files = [Path(prefix, 'share', package, kind, f'{name}.json') for prefix in prefixes if prefix]
    found = next((path for path in files if path.exists()), None)
    assert found is not None, f'{type_name}: no description below any of {prefixes}'
    return json.loads(found.read_text(encoding='utf-8'))


@pytest.mark.parametrize('type_name', CONTRACT['type hashes'])
def test_type_hash_is_that_of_other_nodes(type_name):
    if type_name.startswith('tf2_msgs/'):
        require_tf_messages()
    hashes = {
        entry['type_name']: entry['hash_string']
        for entry in _description(type_name)['type_hashes']
    }
    assert hashes[type_name] == CONTRACT['type hashes'][type_name]


def test_error_codes_are_those_of_moveit():
    from moveit_msgs.msg import MoveItErrorCodes

    codes = CONTRACT['error codes']
    assert {name: getattr(MoveItErrorCodes, name) for name in codes} == codes


def test_constants_are_those_of_moveit():
    from moveit_msgs.msg import CollisionObject, OrientationConstraint, VisibilityConstraint

    operations = [getattr(CollisionObject, name) for name in ('ADD', 'REMOVE', 'APPEND', 'MOVE')]
    assert [int.from_bytes(value, 'little') for value in operations] == [0, 1, 2, 3]
    assert OrientationConstraint.XYZ_EULER_ANGLES == 0
    assert OrientationConstraint.ROTATION_VECTOR == 1
    directions = [getattr(VisibilityConstraint, f'SENSOR_{axis}') for axis in 'ZYX']
    assert directions == [0, 1, 2]


def test_request_survives_the_middleware_encoding():
    serialization = pytest.importorskip('rclpy.serialization')
    from moveit_msgs.msg import AttachedCollisionObject, JointConstraint, PositionIKRequest

    request = PositionIKRequest(group_name='arm', ik_link_name='tool0', avoid_collisions=True)
    request.robot_state.joint_state.name = ['a', 'b']
    request.robot_state.joint_state.position = [0.25, -1.5]
    request.robot_state.attached_collision_objects = [AttachedCollisionObject(link_name='hand')]
    request.constraints.joint_constraints = [JointConstraint(joint_name='a', weight=1.0)]
    request.pose_stamped.pose.position.z = 0.5
    request.timeout.nanosec = 5_000_000

    encoded = serialization.serialize_message(request)
    assert serialization.deserialize_message(encoded, PositionIKRequest) == request


def test_service_can_be_offered_and_found():
    rclpy = pytest.importorskip('rclpy')
    from moveit_msgs.srv import GetPositionIK

    context = rclpy.Context()
    rclpy.init(context=context)
    try:
        node = rclpy.create_node('offers_compute_ik', context=context)
        service = node.create_service(GetPositionIK, 'offered_compute_ik', lambda _, reply: reply)
        client = node.create_client(GetPositionIK, 'offered_compute_ik')
        assert client.wait_for_service(timeout_sec=60.0)
        node.destroy_client(client)
        node.destroy_service(service)
        node.destroy_node()
    finally:
        rclpy.shutdown(context=context)
