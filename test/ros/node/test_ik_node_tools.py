"""Tool frames of the node, from a parameter file and while it runs."""

from geometry_msgs.msg import PoseStamped
import numpy as np
import pytest
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from support.harness import until
from support.motion.rigs import READY
from support.ros.nodes import Arm, ask, ended, fk, LATCHED, NODE, start_panda, target, WAITING
from support.ros.servers import ik_request, PANDA, posture_of, TIP, TREE

from ik_service.common.transforms import transform_from_xyz_rpy
from ik_service.ros.requests.errors import ErrorCode

REBUILT = 'ready with other parameters of the arm'


def set_tools(bench, text):
    (result,) = bench.set_parameters('ik_service', timeout=30.0, tool_frames=text)
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
    results = bench.set_parameters(
        'ik_service', timeout=30.0, **{'tool_frames.tcp.xyz': [0.1, 0.0, 0.7]}
    )
    assert results[0].successful, results
    node.wait_for(REBUILT, 60.0)
    assert before.z - tool_x(bench, 'tcp').z == pytest.approx(0.5, abs=2e-3)  # READY points down


def test_tools_are_set_replaced_refused_and_removed_while_the_node_runs(bench):
    node = start_panda(bench)
    result = set_tools(bench, '{tcp: {link: panda_link8, xyz: [0, 0, 0.1]}}')
    assert result.successful, result
    node.wait_for(REBUILT, 60.0)
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
    (result,) = bench.set_parameters('ik_service', **{'tool_frames.tcp.xyz': [0.0, 0.0, 0.3]})
    assert result.successful, result
    node.wait_for(f'(?s){REBUILT}.*{REBUILT}', 60.0)
    assert before.z - tool_x(bench, 'tcp').z == pytest.approx(0.2, abs=2e-3)  # READY points down
    assert '0.3' in bench.get_parameters('ik_service', 'tool_frames')[0]
    assert set_tools(bench, '').successful
    node.wait_for(f'(?s){REBUILT}.*{REBUILT}.*{REBUILT}', 60.0)
    assert fk(bench, ['tcp'], [], []).error_code.val == ErrorCode.INVALID_LINK_NAME


def test_a_moving_arm_comes_to_rest_before_its_tool_changes_and_the_state_is_kept(bench, arm):
    node = start_panda(bench)
    joints = Arm(bench, arm.chain.joint_names, READY)
    commands = bench.record(JointState, 'joint_command')
    T = arm.chain.forward(READY)
    T[:3, 3] += 0.0, 0.3, 0.0
    publisher = bench.publisher(PoseStamped, 'target_pose')

    def follows():
        if not len(commands):  # the node may not have a joint state yet
            publisher.publish(target(T))
        return len(commands) > 20

    until(follows, 20.0, 'twenty commands')
    assert max(map(abs, commands.messages[-1].velocity)) > 0.01
    assert set_tools(bench, '{tcp: {link: panda_link8, xyz: [0, 0, 0.1]}}').successful
    node.wait_for(f'{REBUILT}.*not following any target', 60.0)
    until(lambda: max(map(abs, commands.messages[-1].velocity)) < 1e-9, 5.0, 'the last command')
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
    node.wait_for('refused', 30.0)
    assert set_tools(bench, '{v: {link: hand}}').successful  # with the description in use
    node.wait_for(REBUILT, 60.0)
    assert fk(bench, ['v'], [], []).error_code.val == ErrorCode.SUCCESS


def test_bad_tools_are_refused_at_the_start(bench):
    tools = {'tcp': {'link': 'panda_link9'}}
    node = bench.start(NODE, ready=None, urdf=str(PANDA), tip_link=TIP, tool_frames=tools)
    ended(node, "tool frame 'tcp': there is no link 'panda_link9'")
