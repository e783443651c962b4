"""Frames of a running node: tf without tf2_ros, measured links, xacro, and tool frames."""

from functools import partial
import re

from geometry_msgs.msg import PoseStamped, TransformStamped
import numpy as np
import pytest
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from support.harness import until
from support.motion.rigs import READY
from support.ros.messages import require_tf_messages
from support.ros.nodes import Arm, ask, fk, LATCHED, NODE, start_panda, target, WAITING
from support.ros.servers import ik_request, PANDA, posture_of, TIP, TREE, with_seed

from ik_service.common.quaternions import quaternion_xyzw_from_rotation
from ik_service.common.transforms import (
    inverse_transform,
    rigid_transform,
    rotation_from_rpy,
    transform_from_xyz_rpy,
)
from ik_service.ros.common.conversions import matrix_from_pose
from ik_service.ros.common.errors import ErrorCode

T_MAP_ODOM = rigid_transform(rotation_from_rpy(0, 0, 1.0), (3.0, -2.0, 0.0))
STATIC = QoSProfile(depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL)


class Tf:
    """Publisher of both topics of tf."""

    def __init__(self, bench):
        require_tf_messages()
        from tf2_msgs.msg import TFMessage

        self._message = TFMessage
        self._clock = bench.node.get_clock()
        self._moving = bench.publisher(TFMessage, '/tf')
        self._static = bench.publisher(TFMessage, '/tf_static', STATIC)

    def __call__(self, parent, child, T, age=0.0):
        self._moving.publish(self._message(transforms=[self._stamped(parent, child, T, age)]))

    def static(self, parent, child, T):
        self._static.publish(self._message(transforms=[self._stamped(parent, child, T, 1e5)]))

    def _stamped(self, parent, child, T, age):
        message = TransformStamped(child_frame_id=child)
        message.header.frame_id = parent
        stamp = self._clock.now().nanoseconds - int(1e9 * age)
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp, 10**9)
        at, turn = message.transform.translation, message.transform.rotation
        at.x, at.y, at.z = T[:3, 3].tolist()
        turn.x, turn.y, turn.z, turn.w = quaternion_xyzw_from_rotation(T[:3, :3])
        return message


def tip_of(arm, answer):
    assert answer.error_code.val == ErrorCode.SUCCESS, answer.error_code
    joints = answer.solution.joint_state
    known = dict(zip(joints.name, joints.position, strict=True))
    return arm.chain.forward([known[name] for name in arm.chain.joint_names])


def asked_until(bench, request, words='', publish=lambda: None):
    """Ask until the transforms have arrived; return the answer."""

    def answered():
        publish()
        answer = ask(bench, request)
        waits = answer.error_code.val == ErrorCode.FRAME_TRANSFORM_FAILURE
        return (words in answer.error_code.message if words else not waits) and answer

    return until(answered, what='the frame')


def test_transforms_that_are_too_old(shared_bench, panda_node, arm):
    bench = shared_bench
    bench.configure('ik_service', tf_timeout=2.0)
    tf = Tf(bench)
    request = ik_request(arm.chain.forward(READY), 'map')
    old = partial(tf, 'map', 'panda_link0', np.eye(4), age=30.0)
    answer = asked_until(bench, request, ' s old', old)
    assert answer.error_code.val == ErrorCode.FRAME_TRANSFORM_FAILURE
    assert "frame 'map'" in answer.error_code.message
    assert '30.' in answer.error_code.message
    assert 'more than the 2 s of tf_timeout' in answer.error_code.message
    bench.configure('ik_service', tf_timeout=0.0)
    assert ask(bench, request).error_code.val == ErrorCode.SUCCESS
    bench.configure('ik_service', tf_timeout=1.0)
    assert ask(bench, request).error_code.val == ErrorCode.FRAME_TRANSFORM_FAILURE


def test_a_camera_on_the_hand_is_where_the_hand_is_measured(shared_bench, panda_node, arm):
    bench = shared_bench
    tf = Tf(bench)
    T_hand_camera = rigid_transform(rotation_from_rpy(0.1, 0.2, 0.3), (0.05, 0.0, 0.02))
    tf.static('panda_hand', 'camera', T_hand_camera)
    now, goal = posture_of(arm, 1), posture_of(arm, 2)
    T = arm.link_poses(goal)[TIP]
    T_camera = arm.link_poses(now)['panda_hand'] @ T_hand_camera
    request = ik_request(inverse_transform(T_camera) @ T, 'camera')
    with_seed(request, arm.postures.names, posture_of(arm, 3))
    unmeasured = asked_until(bench, request)
    assert "frame 'camera' is where the request puts it" in unmeasured.error_code.message
    states = bench.publisher(JointState, 'joint_states')

    def measured():
        states.publish(JointState(name=list(arm.postures.names), position=now.tolist()))
        answer = ask(bench, request)
        return 'not measured' not in answer.error_code.message and answer

    answer = until(measured, what='the joint states')
    np.testing.assert_allclose(tip_of(arm, answer), T, atol=1e-4)


def test_a_target_in_a_frame_of_tf_is_followed_with_a_tool(bench, arm):
    tools = {'tcp': {'link': 'panda_link8', 'xyz': [0.0, 0.0, 0.15]}}
    bench.start(NODE, urdf=str(PANDA), tip_link='tcp', tool_frames=tools)
    tf = Tf(bench)
    joints = Arm(bench, arm.chain.joint_names, READY)
    posture = arm.rest.copy()
    posture[arm.indices] = READY
    T = arm.link_poses(posture)['panda_link8'] @ rigid_transform(None, (0, 0, 0.15))
    T[:3, 3] += 0.0, 0.1, 0.05
    publisher = bench.publisher(PoseStamped, 'target_pose')

    def arrived():
        tf('map', 'panda_link0', T_MAP_ODOM)
        publisher.publish(target(T_MAP_ODOM @ T, 'map'))
        posture[arm.indices] = joints.q
        tip = arm.link_poses(posture)['panda_link8'] @ rigid_transform(None, (0, 0, 0.15))
        return np.allclose(tip, T, atol=1e-3)

    until(arrived, what='the target')


def test_xacro_arguments_of_the_node_and_the_simulated_arm(bench, arm, tmp_path):
    pytest.importorskip('xacro', reason='the extra xacro is not installed')
    file = tmp_path / 'panda.urdf.xacro'
    text = PANDA.read_text()
    start = text.index('<robot')
    body = text[text.index('>', start) + 1 :].replace('panda_link8', '$(arg flange)')
    head = '<robot name="$(arg name)" xmlns:xacro="http://www.ros.org/wiki/xacro">'
    given = '<xacro:arg name="name" default="x"/><xacro:arg name="flange" default="y"/>'
    file.write_text(f'{head}{given}{body}')
    parameters = {'urdf': str(file), 'xacro_args': "name:='my arm' flange:=plate"}
    node = bench.start(NODE, tip_link=TIP, **parameters)
    assert 'my arm' in node.output
    simulated = bench.start('ik_service.ros.sim.main', **parameters)
    assert 'my arm' in simulated.output
    answer = fk(bench, ['plate'], arm.postures.names, arm.rest)
    T = matrix_from_pose(answer.pose_stamped[0].pose)
    np.testing.assert_allclose(T, arm.link_poses(arm.rest)['panda_link8'], atol=1e-12)


REBUILT = 'ready with other parameters of the arm'


def rebuilt(node, before, times=1, after=''):
    """Wait until a node has rebuilt its arm so often since it had printed so much."""
    pattern = '(?s)' + '.*'.join([REBUILT] * times) + after
    until(lambda: re.search(pattern, node.output[before:]), what='the arm with another tool')


def set_tools(bench, text):
    (result,) = bench.set_parameters('ik_service', tool_frames=text)
    return result


def tool_x(bench, link):
    names = [f'panda_joint{i}' for i in range(1, 8)]
    answer = fk(bench, [link], names, READY)
    assert answer.error_code.val == ErrorCode.SUCCESS, answer.error_code
    return answer.pose_stamped[0].pose.position


def test_nested_tools_from_a_file_and_their_change(bench, arm):
    tools = {'tcp': {'link': 'panda_link8', 'xyz': [0.1, 0.0, 0.2], 'rpy': [0, 0, 1]}}
    node = start_panda(bench, tool_frames=tools)
    T_tool = transform_from_xyz_rpy((0.1, 0.0, 0.2), (0, 0, 1))
    posture = posture_of(arm, 4)
    T = arm.link_poses(posture)['panda_link8'] @ T_tool
    answer = ask(bench, ik_request(T, ik_link_name='tcp'))
    assert answer.error_code.val == ErrorCode.SUCCESS, answer.error_code
    q = np.array(answer.solution.joint_state.position)
    np.testing.assert_allclose(arm.link_poses(q)['panda_link8'] @ T_tool, T, atol=1e-4)
    before = tool_x(bench, 'tcp')
    results = bench.set_parameters('ik_service', **{'tool_frames.tcp.xyz': [0.1, 0.0, 0.7]})
    assert results[0].successful, results
    node.wait_for(REBUILT, 60.0)
    assert before.z - tool_x(bench, 'tcp').z == pytest.approx(0.5, abs=2e-3)  # READY points down


def test_tools_are_set_replaced_refused_and_removed_while_the_node_runs(shared_bench, panda_node):
    bench, node, since = shared_bench, panda_node, len(panda_node.output)
    result = set_tools(bench, '{tcp: {link: panda_link8, xyz: [0, 0, 0.1]}}')
    assert result.successful, result
    rebuilt(node, since)
    tool_x(bench, 'tcp')
    for bad, words in [
        ('{tcp: {link: panda_link9}}', "there is no link 'panda_link9'"),
        ('{panda_hand: {link: panda_link8}}', 'has a link of that name'),
    ]:
        result = set_tools(bench, bad)
        assert not result.successful
        assert words in result.reason
    assert bench.get_parameters('ik_service', 'tool_frames')[0].startswith('{tcp')
    tool_x(bench, 'tcp')
    results = bench.set_parameters('ik_service', **{'tool_frames.new.link': 'panda_link8'})
    assert 'there is no such parameter' in results[0].reason
    before = tool_x(bench, 'tcp')
    bench.configure('ik_service', **{'tool_frames.tcp.xyz': [0.0, 0.0, 0.3]})
    rebuilt(node, since, 2)
    assert before.z - tool_x(bench, 'tcp').z == pytest.approx(0.2, abs=2e-3)  # READY points down
    assert '0.3' in bench.get_parameters('ik_service', 'tool_frames')[0]
    assert set_tools(bench, '').successful
    rebuilt(node, since, 3)
    assert fk(bench, ['tcp'], [], []).error_code.val == ErrorCode.INVALID_LINK_NAME


def test_a_moving_arm_comes_to_rest_before_its_tool_changes_and_the_state_is_kept(
    shared_bench, panda_node, arm
):
    bench, node, since = shared_bench, panda_node, len(panda_node.output)
    joints = Arm(bench, arm.chain.joint_names, READY)
    commands = bench.record(JointState, 'joint_command')
    T = arm.chain.forward(READY)
    T[:3, 3] += 0.0, 0.3, 0.0
    publisher = bench.publisher(PoseStamped, 'target_pose')

    def follows():
        if not len(commands):  # the node may not have a joint state yet
            publisher.publish(target(T))
        return len(commands) > 20

    until(follows, what='twenty commands')
    assert max(map(abs, commands.messages[-1].velocity)) > 0.01
    assert set_tools(bench, '{tcp: {link: panda_link8, xyz: [0, 0, 0.1]}}').successful
    rebuilt(node, since, after='.*not following any target')
    until(lambda: max(map(abs, commands.messages[-1].velocity)) < 1e-9, what='the last command')
    count = len(commands)
    joints.vanish()
    request = ik_request(np.eye(4), 'tcp', ik_link_name='tcp')  # where it is: the state is known
    answer = ask(bench, request)
    assert answer.error_code.val == ErrorCode.SUCCESS, answer.error_code
    assert 'not measured' not in answer.error_code.message
    assert len(commands) == count


def test_tools_wait_for_a_description(bench):
    node = bench.start(
        NODE, ready=WAITING, base_link='base', tip_link='tool', tool_frames='{t: {link: tool}}'
    )
    assert set_tools(bench, '{u: {link: hand}}').successful
    publisher = bench.publisher(String, 'robot_description', LATCHED)
    publisher.publish(String(data=TREE))
    node.wait_for(r'\bready\b', 120.0)
    assert fk(bench, ['u'], [], []).error_code.val == ErrorCode.SUCCESS
    publisher.publish(String(data=PANDA.read_text()))  # which has no link 'base'
    node.wait_for('refused', 60.0)
    assert set_tools(bench, '{v: {link: hand}}').successful  # with the description in use
    node.wait_for(REBUILT, 60.0)
    assert fk(bench, ['v'], [], []).error_code.val == ErrorCode.SUCCESS
