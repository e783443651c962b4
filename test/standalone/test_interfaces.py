"""The message types of the environment are those of other ROS 2 nodes."""

import json
import os
from pathlib import Path
import sys

import pytest
from support.tf_helpers import require_tf_messages

# The hashes of moveit_msgs 2.6.0, object_recognition_msgs 2.0.0 and tf2_msgs 0.36.0: nodes only
# connect when the hash of the type agrees, so these are the contract with every client.
TYPE_HASHES = {
    'control_msgs/action/FollowJointTrajectory': (
        'RIHS01_ff29901b2693f5deb847e96084a1c2cdb26e70b7c847be21859b70a55fb29cf0'
    ),
    'control_msgs/msg/JointComponentTolerance': (
        'RIHS01_739ea7566931944d33830fa10f1bf5e7a7fbdc3172bce7a7eaac642bd6e3ffa4'
    ),
    'control_msgs/msg/JointJog': (
        'RIHS01_ba249455a20f70168a1acb7bf43b776b72ff1f7eb5fc4cfea443f749e963c6e7'
    ),
    'control_msgs/msg/JointTolerance': (
        'RIHS01_c254f9cece0f3b733017b6990fd46d1326e25242d6b8844398c97d9a88e7d648'
    ),
    'moveit_msgs/action/ExecuteTrajectory': (
        'RIHS01_e1ed3386f275fc8cea91cc78701074f892e78e583be2f8063eea5616dd1065fc'
    ),
    'moveit_msgs/msg/AttachedCollisionObject': (
        'RIHS01_7fdfe7951a33a857f20fc42c9ed410a38d06dd0c209ac774ecea746dc487dc41'
    ),
    'moveit_msgs/msg/BoundingVolume': (
        'RIHS01_00bb0df2edac637497dedf1778d8f217187c8d9d10f41dcfccc4d8578123ef13'
    ),
    'moveit_msgs/msg/CollisionObject': (
        'RIHS01_74b0acd6d56be032bf4f764b2c2633f50588b5fb2bd71e97206c59052747cf7e'
    ),
    'moveit_msgs/msg/ConstraintEvalResult': (
        'RIHS01_b632ab96d68fbfd587546b1c585a3b8be0606b7de7751929653392b343039997'
    ),
    'moveit_msgs/msg/Constraints': (
        'RIHS01_71718200459ae8fecdc4f2c9631215f7eba5ff686c701a32e231ba8b11b3592b'
    ),
    'moveit_msgs/msg/ContactInformation': (
        'RIHS01_47c926e539a1f54729ec4a9edc568a983678beefb908841d68fbb3cff3feeecb'
    ),
    'moveit_msgs/msg/CostSource': (
        'RIHS01_dd6bd4e383e102b4b7ef54e46e2f8cd4b4323a2c56370c42862bd2d3358a59f6'
    ),
    'moveit_msgs/msg/JointConstraint': (
        'RIHS01_4996641a8e12f5b7fde07f1cec1490324e1c4035ac5fc989ce99c9600c31e30d'
    ),
    'moveit_msgs/msg/MoveItErrorCodes': (
        'RIHS01_dcda8a9950cf6dd6ac221c2c0d2509f52f136afa0403dd19beacdf07e83e4a07'
    ),
    'moveit_msgs/msg/OrientationConstraint': (
        'RIHS01_7a1917ac47886eb1fc170317952198b203bb797f07270475a7bbaf692cad2871'
    ),
    'moveit_msgs/msg/PositionConstraint': (
        'RIHS01_3758504dabfe337a1a660b29917e3405e5e858fdd6e9976edba04275396523df'
    ),
    'moveit_msgs/msg/PositionIKRequest': (
        'RIHS01_200709be614f71f4d11d0bdd672785db28d27f7a10b516d9b961706a0c7f6d7d'
    ),
    'moveit_msgs/msg/RobotState': (
        'RIHS01_7c516dc15713e545cb2836c5ca745fbdcfcc10de4855a41c83e6b4bf1afc3f83'
    ),
    'moveit_msgs/msg/RobotTrajectory': (
        'RIHS01_af1dc87fb94d13e5f233e9c210d2662fa06143a8b3c6aec47c57ad45074fcce8'
    ),
    'moveit_msgs/msg/ServoStatus': (
        'RIHS01_882a75f7648d6f8a9bf528e4787f51c58f2d5d88b702e450443d99f270e6936b'
    ),
    'moveit_msgs/msg/VisibilityConstraint': (
        'RIHS01_2b479935307de421623221520ee5d9ffab494af7f4b1945114fc7e4831856c75'
    ),
    'moveit_msgs/srv/GetCartesianPath': (
        'RIHS01_b19f501df5d378141d918199894c3ad24533e76021a880b15dc5d62fec8d7b1a'
    ),
    'moveit_msgs/srv/GetGroupUrdf': (
        'RIHS01_c163c6928521f2baf5e381b73f8ebdea4f2df895e643cb90de931a5319b8198c'
    ),
    'moveit_msgs/srv/GetPositionFK': (
        'RIHS01_2f16ec361a135d84b85a29385abeb9eeb025e39c09038bd6b2826645edc7edad'
    ),
    'moveit_msgs/srv/GetPositionIK': (
        'RIHS01_054ed6f6f71a09b01b5246c5d80beb4dacc6f444f58df039849c76292933e9e3'
    ),
    'moveit_msgs/srv/GetStateValidity': (
        'RIHS01_e9fcd24ae0fd8c2f16d4afe397efaf03427d1f899fe91ecf6cb7f7f1c6ca8720'
    ),
    'moveit_msgs/srv/ServoCommandType': (
        'RIHS01_2065f4daf271249330596d344ecd48f5c2d2a52e3b21b1fc56d99c52b8eeae22'
    ),
    'object_recognition_msgs/msg/ObjectType': (
        'RIHS01_5eb3ee3976403366d7c50d7dbee8bec96b3bced1e752674a7194a35841632134'
    ),
    'tf2_msgs/msg/TFMessage': (
        'RIHS01_e369d0f05a23ae52508854b66f6aa0437f3449d652e8cbf22d5abe85d020f087'
    ),
}
ERROR_CODES = {
    'SUCCESS': 1,
    'UNDEFINED': 0,
    'FAILURE': 99999,
    'PLANNING_FAILED': -1,
    'INVALID_MOTION_PLAN': -2,
    'MOTION_PLAN_INVALIDATED_BY_ENVIRONMENT_CHANGE': -3,
    'CONTROL_FAILED': -4,
    'UNABLE_TO_AQUIRE_SENSOR_DATA': -5,
    'TIMED_OUT': -6,
    'PREEMPTED': -7,
    'START_STATE_IN_COLLISION': -10,
    'START_STATE_VIOLATES_PATH_CONSTRAINTS': -11,
    'GOAL_IN_COLLISION': -12,
    'GOAL_VIOLATES_PATH_CONSTRAINTS': -13,
    'GOAL_CONSTRAINTS_VIOLATED': -14,
    'INVALID_GROUP_NAME': -15,
    'INVALID_GOAL_CONSTRAINTS': -16,
    'INVALID_ROBOT_STATE': -17,
    'INVALID_LINK_NAME': -18,
    'INVALID_OBJECT_NAME': -19,
    'FRAME_TRANSFORM_FAILURE': -21,
    'COLLISION_CHECKING_UNAVAILABLE': -22,
    'ROBOT_STATE_STALE': -23,
    'SENSOR_INFO_STALE': -24,
    'COMMUNICATION_FAILURE': -25,
    'START_STATE_INVALID': -26,
    'GOAL_STATE_INVALID': -27,
    'UNRECOGNIZED_GOAL_TYPE': -28,
    'CRASH': -29,
    'ABORT': -30,
    'NO_IK_SOLUTION': -31,
}

pytest.importorskip('moveit_msgs', reason='needs the message types: make env')


def _description(type_name: str) -> dict:
    """Return what the generator wrote about a type, from the installation that has it."""
    prefixes = [*os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep), sys.prefix]
    package, kind, name = type_name.split('/')
    files = [Path(prefix, 'share', package, kind, f'{name}.json') for prefix in prefixes if prefix]
    found = next((path for path in files if path.exists()), None)
    assert found is not None, f'{type_name}: no description below any of {prefixes}'
    return json.loads(found.read_text(encoding='utf-8'))


@pytest.mark.parametrize('type_name', TYPE_HASHES)
def test_type_hash_is_that_of_other_nodes(type_name):
    if type_name.startswith('tf2_msgs/'):
        require_tf_messages()
    hashes = {
        entry['type_name']: entry['hash_string']
        for entry in _description(type_name)['type_hashes']
    }
    assert hashes[type_name] == TYPE_HASHES[type_name]


def test_error_codes_are_those_of_moveit():
    from moveit_msgs.msg import MoveItErrorCodes

    assert {name: getattr(MoveItErrorCodes, name) for name in ERROR_CODES} == ERROR_CODES


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
        assert client.wait_for_service(timeout_sec=10.0)
        node.destroy_client(client)
        node.destroy_service(service)
        node.destroy_node()
    finally:
        rclpy.shutdown(context=context)
