"""Calls in a terminal in the words of ros2cli, and messages from YAML as it takes them."""

import re

from geometry_msgs.msg import PoseStamped, PoseWithCovariance
from moveit_msgs.msg import CollisionObject
import pytest
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool
from support.harness import until
from support.ros.nodes import start_panda
import yaml

from ik_service.cli import ros
from ik_service.exceptions import IkServiceError
from ik_service.ros.terminal import graph
from ik_service.ros.terminal.graph import (
    CallFailedError,
    filled,
    find_type,
    parameter_value,
    parsed,
    rate_text,
    values_of,
    ValueTextError,
    yaml_text,
)

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
    with pytest.raises(CallFailedError, match=r"not set: .*'tip_lnk'; closest: tip_link"):
        terminal('param', 'get', node, 'tip_lnk')

    action = f'{bench.namespace}/follow_joint_trajectory'
    kind = 'control_msgs/action/FollowJointTrajectory'
    until(lambda: f'{action} [{kind}]\n' in terminal('action', 'list', '-t'), what='the action')
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

    until(is_described, what='all of the node')
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
    until(lambda: f'{space}/wanted\n' in terminal('topic', 'list'), what='the topic')
    until(lambda: f'{space}/test_client\n' in terminal('node', 'list'), what='the node')

    shown = terminal('topic', 'info', '/wanted')
    assert (
        shown
        == 'Type: geometry_msgs/msg/PoseStamped\n\nPublisher count: 0\nSubscription count: 1\n'
    )
    assert 'Reliability: RELIABLE' in terminal('topic', 'info', '-v', '/wanted')


def test_a_list_waits_for_the_first_node_that_is_discovered(bench, terminal, monkeypatch):
    monkeypatch.setattr(graph, '_LOOK', 0.0)
    assert terminal('node', 'list')


@pytest.mark.parametrize(
    ('name', 'kind', 'hint'),
    [
        ('wantd', 'PoseStamped', 'closest: {}/wanted'),
        ('wanted', 'Pose', '{}/wanted has the type geometry_msgs/msg/PoseStamped'),
    ],
)
def test_a_wait_says_what_may_be_wrong(bench, terminal, monkeypatch, name, kind, hint):
    bench.record(PoseStamped, 'wanted')

    def end(text):
        raise KeyboardInterrupt(text)

    monkeypatch.setattr(ros.sys.stderr, 'write', end)
    with pytest.raises(KeyboardInterrupt, match=hint.format(bench.namespace)):
        terminal('topic', 'pub', '--once', f'/{name}', f'geometry_msgs/msg/{kind}')


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


@pytest.mark.parametrize(
    'words',
    [
        ['topic', 'echo', '/x y'],
        ['topic', 'pub', '/x y', 'std_msgs/msg/Empty'],
        ['service', 'call', 'é', 'std_srvs/srv/Trigger'],
        ['action', 'send_goal', '/a/', 'moveit_msgs/action/MoveGroup', '{}'],
        ['param', 'get', '1', 'rate'],
        ['node', 'info', 'n' * 300],
    ],
)
def test_what_is_no_name_on_the_graph_is_refused(words):
    with pytest.raises(ValueTextError, match='name'):
        ros.main(words)


def test_types_are_found_with_and_without_their_folder():
    assert find_type('std_srvs/srv/SetBool', 'srv') is SetBool
    assert find_type('std_srvs/SetBool', 'srv') is SetBool
    assert find_type('sensor_msgs/JointState', 'msg') is JointState
    for wrong in ('std_srvs/srv/Nothing', 'no_msgs/msg/Pose', 'Pose', ''):
        with pytest.raises(ValueTextError, match='there is no type'):
            find_type(wrong, 'msg')


def test_fields_are_filled_at_every_depth():
    text = (
        '{header: {frame_id: base}, id: crate, operation: !!binary AQ==,'
        ' primitives: [{type: 1, dimensions: [0.1, 0.2, 0.3]}],'
        ' primitive_poses: [{position: {x: 1}}]}'
    )
    found = filled(CollisionObject(), parsed(text))
    assert (found.header.frame_id, found.id, found.operation) == ('base', 'crate', b'\x01')
    assert found.primitives[0].type == 1
    assert found.primitives[0].dimensions.tolist() == [0.1, 0.2, 0.3]
    assert found.primitive_poses[0].position.x == 1.0
    states = filled(JointState(), parsed('{name: [a, b], position: [1, 2.5]}'))
    assert (states.name, states.position.tolist()) == (['a', 'b'], [1.0, 2.5])
    covariance = filled(PoseWithCovariance(), {'covariance': [float(k) for k in range(36)]})
    assert covariance.covariance[35] == 35.0


@pytest.mark.parametrize(
    ('message', 'text', 'words'),
    [
        (PoseStamped, '{pose: {position: {q: 1}}}', 'no field pose.position.q; valid: x, y, z'),
        (PoseStamped, '{pose: {position: {x: wide}}}', "position.x has to be double, not 'wide'"),
        (PoseStamped, '{pose: 3}', 'pose has to be geometry_msgs/Pose, not 3'),
        (PoseStamped, '{header: {frame_id: 1.0}}', 'header.frame_id has to be string, not 1.0'),
        (PoseStamped, '{header: {stamp: {sec: 2.7}}}', 'stamp.sec has to be int32, not 2.7'),
        (CollisionObject, '{primitives: [{types: 1}]}', r'no field primitives\[0\]\.types'),
        (JointState, '{position: [a]}', 'position has to be sequence<double>'),
        (JointState, '{name: abc}', "name has to be sequence<string>, not 'abc'"),
        (JointState, '{name: [1, 2]}', r'name has to be sequence<string>, not \[1, 2\]'),
        (JointState, '{header: {stamp: {sec: 3000000000}}}', 'sec has to be int32'),
        (CollisionObject, '{primitives: [1]}', r'primitives has to be sequence<.*, not \[1\]'),
        (SetBool.Request, '{data: 1}', 'data has to be boolean, not 1'),
    ],
)  # fmt: skip
def test_what_a_message_does_not_take_is_named(message, text, words):
    with pytest.raises(ValueTextError, match=words):
        filled(message(), parsed(text))


@pytest.mark.parametrize('text', ['{a: [}', '[1, 2]', 'text'])
def test_text_that_is_no_mapping_is_refused(text):
    with pytest.raises(ValueTextError, match='the values'):
        parsed(text)


def test_messages_are_shown_as_yaml_that_makes_them_again():
    state = filled(JointState(), parsed('{header: {frame_id: base}, name: [ä], velocity: [0.5]}'))
    shown = yaml_text(state)
    assert 'frame_id: base' in shown
    assert filled(JointState(), yaml.safe_load(shown)) == state
    assert values_of(SetBool.Response(success=True)) == {'success': True, 'message': ''}


@pytest.mark.parametrize(
    ('text', 'value'),
    [
        ('0.3', 0.3),
        ('1', 1),
        ('false', False),
        ('pseudoinverse', 'pseudoinverse'),
        ('[0.0, 0.0, 0.06]', [0.0, 0.0, 0.06]),
        ('{tcp: {link: a}}', '{tcp: {link: a}}'),
        ('{a: [', '{a: ['),
        ('2024-13-45', '2024-13-45'),
        ('', ''),
    ],
)
def test_parameters_are_read_as_ros2_param_set_does(text, value):
    assert parameter_value(text) == value
