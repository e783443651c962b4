"""The message types of the environment are those of other ROS 2 nodes."""

import json
import os
from pathlib import Path
import sys

import pytest
from support.ros.messages import require_tf_messages

# The hashes of moveit_msgs 2.6.0, object_recognition_msgs and octomap_msgs 2.0.0, and tf2_msgs
# 0.36.0: nodes only connect when the hash of the type agrees, so these are the contract with every
# client.
TYPE_HASHES = {
    'control_msgs/action/FollowJointTrajectory': (
        'RIHS01_ff29901b2693f5deb847e96084a1c2cdb26e70b7c847be21859b70a55fb29cf0'
    ),
    'control_msgs/action/GripperCommand': (
        'RIHS01_e17c0e644eccf14bea84a0a93e0977182872c2eb7873ca6694900059b46dbc84'
    ),
    'control_msgs/msg/GripperCommand': (
        'RIHS01_57eb8f326c9889ca8bb34ead82cc94cc09bf6bc5c3b6c09546dca3a00b589890'
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
    'moveit_msgs/action/MoveGroup': (
        'RIHS01_8c41d70908a2d26b564ddac31e9710f697a753bbd2a4d229542f76271daefc0b'
    ),
    'moveit_msgs/msg/AllowedCollisionEntry': (
        'RIHS01_eeb7cc3f1bfdb8c778aa7454ae90037c2749dab3ca0abdfe3dad2ae8723977db'
    ),
    'moveit_msgs/msg/AllowedCollisionMatrix': (
        'RIHS01_ac0159eec0d99f73158c7349c9d1c01b3dc7f749d75a2ea22e74a2a1091a9b05'
    ),
    'moveit_msgs/msg/AttachedCollisionObject': (
        'RIHS01_7fdfe7951a33a857f20fc42c9ed410a38d06dd0c209ac774ecea746dc487dc41'
    ),
    'moveit_msgs/msg/BoundingVolume': (
        'RIHS01_00bb0df2edac637497dedf1778d8f217187c8d9d10f41dcfccc4d8578123ef13'
    ),
    'moveit_msgs/msg/CartesianPoint': (
        'RIHS01_bbb5a879e7dd5b8443c3ce8cf374c3f314522a5540b1b4104a7b470fcc6ca907'
    ),
    'moveit_msgs/msg/CartesianTrajectory': (
        'RIHS01_30452179003246bb9264a44854a4b720c882f63638da8da0a9afed4f565c748d'
    ),
    'moveit_msgs/msg/CartesianTrajectoryPoint': (
        'RIHS01_63b1d2ef10058a5da0931e4de777a10fdfed3972ab166c60632f4a182b7fd5ea'
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
    'moveit_msgs/msg/DisplayTrajectory': (
        'RIHS01_dd351cbd6d9986eb019306910ec09236a136a02dbc0b3465707cb62f2d56e22b'
    ),
    'moveit_msgs/msg/GenericTrajectory': (
        'RIHS01_b38b4942aba82576ec047a9278c47785022ce66ca86d91827aba06cdc97793c6'
    ),
    'moveit_msgs/msg/JointConstraint': (
        'RIHS01_4996641a8e12f5b7fde07f1cec1490324e1c4035ac5fc989ce99c9600c31e30d'
    ),
    'moveit_msgs/msg/LinkPadding': (
        'RIHS01_864762d9e19f758b0385427f75691374cae830495727c96405f2bad0eb20c766'
    ),
    'moveit_msgs/msg/LinkScale': (
        'RIHS01_4666a0685f26365ccf4c9bfed0b14c654604fa0564be65c221d8d54fdc7a0f83'
    ),
    'moveit_msgs/msg/MotionPlanRequest': (
        'RIHS01_f82ed20da5f8f93146999c1a3cfe34b56b97fc10333b40cac69782a1210888d7'
    ),
    'moveit_msgs/msg/MotionPlanResponse': (
        'RIHS01_bc0dc15c0462edc942dc45dc689cd1a1b1a64c1412002a2e8d210eff2477d62a'
    ),
    'moveit_msgs/msg/MoveItErrorCodes': (
        'RIHS01_dcda8a9950cf6dd6ac221c2c0d2509f52f136afa0403dd19beacdf07e83e4a07'
    ),
    'moveit_msgs/msg/ObjectColor': (
        'RIHS01_4f937f7b22942a9c4a6409c20255aaad1b5d9a003ae3c0edb779698be443c127'
    ),
    'moveit_msgs/msg/OrientationConstraint': (
        'RIHS01_7a1917ac47886eb1fc170317952198b203bb797f07270475a7bbaf692cad2871'
    ),
    'moveit_msgs/msg/PlannerInterfaceDescription': (
        'RIHS01_befe55b35f337f0fd4f84ddda3fe086960c47ef495a6b2a369991b3738b8f220'
    ),
    'moveit_msgs/msg/PlanningOptions': (
        'RIHS01_2570a8ed681162d1d3afbce3a8e7ff2b6fd519676d13cf952e0a388072b255db'
    ),
    'moveit_msgs/msg/PlanningScene': (
        'RIHS01_0f58540ad5eab4b9ea827d53b763c793d8cabd202b3b301fcee25afa4ce1bd80'
    ),
    'moveit_msgs/msg/PlanningSceneComponents': (
        'RIHS01_76b77cb53f7a0b680d46fad6c0056d3710a74ec335dd5f361f3df62383313d69'
    ),
    'moveit_msgs/msg/PlanningSceneWorld': (
        'RIHS01_e08e6a4a81ca6b6a6953ac758dadc2c949555093efea6a9a22d9accf62c2c099'
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
    'moveit_msgs/msg/TrajectoryConstraints': (
        'RIHS01_4975a7925aa917c5af450713fcb8bdbc19c666d0c336a5f27056733bf8fc65f8'
    ),
    'moveit_msgs/msg/VisibilityConstraint': (
        'RIHS01_2b479935307de421623221520ee5d9ffab494af7f4b1945114fc7e4831856c75'
    ),
    'moveit_msgs/msg/WorkspaceParameters': (
        'RIHS01_5001636b05e9fef44faf0220f88552cab9954e55dd3ab51075f448e9aa59186e'
    ),
    'moveit_msgs/srv/ApplyPlanningScene': (
        'RIHS01_8e6134783db0987c0acedbfd2f16f608a8f7a54e83a7bbb372e851af419f4d72'
    ),
    'moveit_msgs/srv/GetCartesianPath': (
        'RIHS01_b19f501df5d378141d918199894c3ad24533e76021a880b15dc5d62fec8d7b1a'
    ),
    'moveit_msgs/srv/GetGroupUrdf': (
        'RIHS01_c163c6928521f2baf5e381b73f8ebdea4f2df895e643cb90de931a5319b8198c'
    ),
    'moveit_msgs/srv/GetMotionPlan': (
        'RIHS01_0e118e1d8d53d5fea8eea309fc06a58239fa0e617864127e7de8399ab7335b27'
    ),
    'moveit_msgs/srv/GetPlanningScene': (
        'RIHS01_7ed7e96238b902174d985b0eb739ea08c95377e8e46a6a9014c22497faf79cd2'
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
    'moveit_msgs/srv/QueryPlannerInterfaces': (
        'RIHS01_c7550fca36d2ac8b3463b25c723baaf7ecd313d659d23d519c021b519e07b431'
    ),
    'moveit_msgs/srv/ServoCommandType': (
        'RIHS01_2065f4daf271249330596d344ecd48f5c2d2a52e3b21b1fc56d99c52b8eeae22'
    ),
    'object_recognition_msgs/msg/ObjectType': (
        'RIHS01_5eb3ee3976403366d7c50d7dbee8bec96b3bced1e752674a7194a35841632134'
    ),
    'octomap_msgs/msg/Octomap': (
        'RIHS01_9891a19a05b70ec20aa8f45db3f8300b9ab80afff32c61c549d25087da9625b0'
    ),
    'octomap_msgs/msg/OctomapWithPose': (
        'RIHS01_e65f8760aa96a2acef86b6d206175cfc78420082b6159dd3fa6ebf93f5f81979'
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
