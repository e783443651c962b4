"""Calls in a terminal in the words of ros2cli, against a node."""

import re

from geometry_msgs.msg import PoseStamped
import pytest
from support.harness import until
from support.ros.nodes import start_panda

from ik_service.cli import ros
from ik_service.exceptions import IkServiceError
from ik_service.ros.terminal.graph import CallFailedError, rate_text

JOINTS = ', '.join(f'panda_joint{number}' for number in range(1, 8))
GOAL = (
    f'{{trajectory: {{joint_names: [{JOINTS}], points: [{{positions: [9, 0, 0, 0, 0, 0, 0],'
    ' time_from_start: {sec: 2}}]}}'
)


@pytest.fixture
def terminal(bench, monkeypatch, capsys):
    """Returns what a call of the program prints; its names are in the bench's namespace."""
    monkeypatch.setenv('ROS_DOMAIN_ID', str(bench.node.context.get_domain_id()))

    def call(*words):
        assert ros.main([re.sub('^/', f'{bench.namespace}/', word) for word in words]) == 0
        return capsys.readouterr().out

    return call


def test_services_parameters_and_actions_are_called_as_by_ros2cli(bench, terminal):
    start_panda(bench)
    answer = terminal('service', 'call', '/ik_service/stop', 'std_srvs/srv/Trigger')
    assert 'requester: making request: std_srvs.srv.Trigger_Request()' in answer
    assert "response:\nstd_srvs.srv.Trigger_Response(success=True, message='nothing mov" in answer
    fk = terminal(
        'service', 'call', '/compute_fk', 'moveit_msgs/srv/GetPositionFK',
        '{fk_link_names: [panda_hand_tcp]}',
    )  # fmt: skip
    assert "fk_link_names=['panda_hand_tcp']" in fk.partition('response:')[2]

    node = '/ik_service'
    assert (
        terminal('param', 'get', node, 'solver.name') == 'String value is: levenberg_marquardt\n'
    )
    assert terminal('param', 'set', node, 'velocity_scaling', '0.25').startswith(
        'Set parameter successful'
    )
    assert terminal('param', 'get', node, 'velocity_scaling') == 'Double value is: 0.25\n'
    assert '  solver.name\n' in terminal('param', 'list', node)
    with pytest.raises(CallFailedError, match=r'Setting parameter failed: .*levenberg_marquardt'):
        terminal('param', 'set', node, 'solver.name', 'nothing')
    with pytest.raises(CallFailedError, match='Parameter not set'):
        terminal('param', 'get', node, 'nothing')

    action = f'{bench.namespace}/follow_joint_trajectory'
    kind = 'control_msgs/action/FollowJointTrajectory'
    until(lambda: f'{action} [{kind}]\n' in terminal('action', 'list', '-t'), 60.0, 'the action')
    assert terminal('action', 'type', '/follow_joint_trajectory') == f'{kind}\n'
    server = f'Action servers: 1\n    {bench.namespace}/ik_service [{kind}]\n'
    assert terminal('action', 'info', '-t', '/follow_joint_trajectory').endswith(server)
    assert terminal('service', 'type', '/ik_service/stop') == 'std_srvs/srv/Trigger\n'

    def is_described():
        told = terminal('node', 'info', node)
        assert told.startswith(f'{bench.namespace}/ik_service\n  Subscribers:\n')
        services, _, actions = told.partition('Service Servers:')[2].partition('Action Servers:')
        service = f'    {bench.namespace}/compute_ik: moveit_msgs/srv/GetPositionIK\n'
        return service in services and f'    {action}: {kind}\n' in actions

    until(is_described, 60.0, 'all of the node')
    with pytest.raises(CallFailedError, match=r'there is no service .*/nothing'):
        terminal('service', 'type', '/nothing')

    told = terminal(
        'action', 'send_goal', '/follow_joint_trajectory',
        'control_msgs/action/FollowJointTrajectory', GOAL,
    )  # fmt: skip
    assert 'Goal accepted with ID: ' in told
    assert 'error_code: -1' in told
    assert told.endswith('Goal finished with status: ABORTED\n')


def test_messages_are_published_printed_and_listed(bench, terminal):
    poses = bench.record(PoseStamped, 'wanted')
    text = '{header: {frame_id: base}, pose: {position: {x: 0.5}}}'
    told = terminal('topic', 'pub', '--once', '/wanted', 'geometry_msgs/msg/PoseStamped', text)
    assert told.startswith(('publisher: beginning loop', 'Waiting for at least 1'))
    assert 'publishing #1: geometry_msgs.msg.PoseStamped(' in told
    assert poses.wait().pose.position.x == 0.5
    space = bench.namespace
    until(lambda: f'{space}/wanted\n' in terminal('topic', 'list'), 60.0, 'the topic')
    until(lambda: f'{space}/test_client\n' in terminal('node', 'list'), 60.0, 'the node')

    shown = terminal('topic', 'info', '/wanted')
    assert (
        shown
        == 'Type: geometry_msgs/msg/PoseStamped\n\nPublisher count: 0\nSubscription count: 1\n'
    )
    assert 'Reliability: RELIABLE' in terminal('topic', 'info', '-v', '/wanted')


def test_rates_are_shown_as_by_ros2cli():
    assert rate_text([0.0, 0.1, 0.2, 0.4], 0.5) == (
        'average rate: 7.500\n\tmin: 0.100s max: 0.200s std dev: 0.04714s window: 3'
    )
    assert rate_text([0.0], 0.5) == rate_text([0.0, 0.1], 9.0) == 'no new messages'


def test_programs_are_run_from_the_environment(monkeypatch):
    begun = []
    monkeypatch.setattr(ros.os, 'execv', lambda path, words: begun.append((path, words)))
    with pytest.raises(IkServiceError, match=r'has to be of ik_service and one of .*ik_node'):
        ros.main(['run', 'ik_service', 'ik_nothing'])
    with pytest.raises(IkServiceError, match='ik_service'):
        ros.main(['run', 'rviz2', 'rviz2'])
    assert not begun


@pytest.mark.parametrize(
    'words', [[], ['topic'], ['service', 'call', '/a'], ['topic', 'pub', '-r', '0', '/a', 'b']]
)
def test_what_is_no_command_is_told(words, capsys):
    with pytest.raises(SystemExit) as caught:
        ros.main(words)
    assert caught.value.code == 2
    assert 'usage: ' in capsys.readouterr().err
