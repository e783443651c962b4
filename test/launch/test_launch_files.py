"""Structure of the launch files, mostly without starting them."""

import os
import signal

import pytest

pytest.importorskip('launch_ros.actions')

from launch import LaunchContext, LaunchDescription, LaunchService
from launch.actions import OpaqueFunction, RegisterEventHandler, Shutdown, TimerAction
from launch.event_handlers import OnProcessExit, OnProcessStart
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.utilities import perform_substitutions
from launch_ros.actions import Node
from launch_ros.utilities import evaluate_parameters
from support.launched import ENVIRONMENT, launched, SHARE
import yaml

from ik_service.exceptions import ArgumentError
from ik_service.ros.common.bringup import ARGUMENTS as EMPTY

ARGUMENTS = {**dict.fromkeys(EMPTY, ''), 'robot_state_publisher': 'true'}


@pytest.fixture(autouse=True)
def _environment(monkeypatch):
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)


def described(file, context):
    path = str(SHARE / 'launch' / file)
    return PythonLaunchDescriptionSource(path).get_launch_description(context)


def nodes(file, context=None, **arguments):
    """Return the nodes that a launch file would start, by the name of their program."""
    context = context or LaunchContext()
    context.launch_configurations.update(arguments)
    found = _nodes(described(file, context).entities, context)
    return {node.node_executable: node for node in found}


def _nodes(entities, context):
    for entity in entities or []:
        if not isinstance(entity, Node):
            yield from _nodes(entity.visit(context), context)
        elif entity.condition is None or entity.condition.evaluate(context):
            yield entity


def parameters_of(node, context):
    """The parameters of a node besides those of files; what comes later wins."""
    given = evaluate_parameters(context, node._Node__parameters)
    parts = [part for part in given if isinstance(part, dict)]
    return {name: value for part in parts for name, value in part.items()}


@pytest.mark.parametrize(
    ('file', 'arguments'),
    [
        ('ik_service.launch.py', ARGUMENTS),
        ('demo.launch.py', {**ARGUMENTS, 'rviz': 'false', 'engine': ''}),
        ('servo.launch.py', {**ARGUMENTS, 'servo_node': 'servo_node'}),
        (
            'cell.launch.py',
            {
                'cell': str(SHARE / 'config' / 'cell.yaml'),
                'processes': '',
                'simulate': '',
                'robot_state_publisher': 'true',
            },
        ),
    ],
)
def test_every_argument_has_a_default_and_a_description(file, arguments):
    context = LaunchContext()
    declared = described(file, context).get_launch_arguments()
    defaults = {
        argument.name: perform_substitutions(context, argument.default_value)
        for argument in declared
    }
    assert defaults == arguments
    assert all(len(argument.description.split()) > 5 for argument in declared)


def test_the_node_starts_after_robot_state_publisher():
    # A package that is not installed then leaves no program behind.
    assert list(nodes('ik_service.launch.py')) == ['robot_state_publisher', 'ik_node']


@pytest.mark.parametrize('file', ['ik_service.launch.py', 'demo.launch.py'])
def test_without_robot_state_publisher_the_robot_comes_from_the_topic(file):
    context = LaunchContext()
    for node in nodes(file, context, robot_state_publisher='false').values():
        given = parameters_of(node, context)
        assert not given.keys() & {'urdf', 'robot_description', 'base_link', 'tip_link'}
    rviz = nodes('demo.launch.py', rviz='true', robot_state_publisher='false')['rviz2']
    command = [perform_substitutions(context, part) for part in rviz.cmd[1:4]]
    assert command[:2] == ['-d', str(SHARE / 'config' / 'ik_service.rviz')]
    assert command[2] == '--ros-args'


def test_the_launch_ends_with_the_node():
    def kill_node(event, _context):
        if event.process_name.startswith('ik_node'):
            os.kill(event.pid, signal.SIGKILL)

    ended, late = [], []
    too_late = [OpaqueFunction(function=lambda _: late.append(True)), Shutdown()]
    service = LaunchService(noninteractive=True)
    parts = [
        RegisterEventHandler(OnProcessStart(on_start=kill_node)),
        RegisterEventHandler(
            OnProcessExit(on_exit=lambda event, _: ended.append(event.process_name))
        ),
        TimerAction(period=60.0, actions=too_late),
        launched(
            'demo.launch.py',
            robot_state_publisher='false',
            urdf=str(SHARE / 'urdf' / 'panda.urdf'),
        ),
    ]
    service.include_launch_description(LaunchDescription(parts))
    service.run()
    assert [name.rpartition('-')[0] for name in ended] == ['ik_node', 'ik_sim']
    assert not late


def test_the_demo_adds_an_arm_and_rviz_when_asked():
    both = ['robot_state_publisher', 'ik_node', 'ik_sim']
    assert list(nodes('demo.launch.py')) == both
    # RViz first: where it is not installed, nothing is left behind.
    assert list(nodes('demo.launch.py', rviz='true')) == ['rviz2', 'target_marker', *both]


@pytest.mark.parametrize(
    ('arguments', 'expected'),
    [
        ({}, None),
        ({'publish_markers': 'true'}, True),
        ({'publish_markers': 'false'}, False),
        ({'rviz': 'true'}, True),
        ({'rviz': 'true', 'publish_markers': 'false'}, False),
    ],
)
def test_markers_are_published_when_rviz_shows_them_or_when_asked(arguments, expected):
    context = LaunchContext()
    node = nodes('demo.launch.py', context, **arguments)['ik_node']
    assert parameters_of(node, context).get('publish_markers') is expected


def test_joints_named_like_switches_and_numbers_of_yaml_stay_texts():
    context = LaunchContext()
    joints = 'x,y,z,inf,1e3'
    given = {'command_interface': 'position_commands', 'command_joints': joints, 'tip_link': 'n'}
    node = nodes('ik_service.launch.py', context, **{**ARGUMENTS, **given})['ik_node']
    written = yaml.dump(parameters_of(node, context))
    assert all(f"- '{name}'" in written for name in ('y', 'inf', '1e3'))
    assert "tip_link: 'n'" in written


@pytest.mark.parametrize('name', ['publish_markers', 'use_sim_time'])
def test_switches_that_are_none_are_named(name):
    with pytest.raises(ArgumentError, match=f"{name}: has to be true or false, not 'maybe'"):
        nodes('ik_service.launch.py', **{**ARGUMENTS, name: 'maybe'})


def test_nodes_of_the_demo_are_in_its_namespace():
    context = LaunchContext()
    found = nodes('demo.launch.py', context, rviz='true', namespace='cell_1')
    for program in ('ik_node', 'target_marker', 'rviz2'):
        found[program]._perform_substitutions(context)
        assert found[program].expanded_node_namespace == '/cell_1'


@pytest.mark.parametrize(('urdf', 'frame'), [('panda', 'panda_link0'), ('planar_6r', 'world')])
def test_rviz_looks_from_the_base_of_the_robot(urdf, frame):
    path = str(SHARE / 'urdf' / f'{urdf}.urdf')
    rviz = nodes('demo.launch.py', rviz='true', urdf=path)['rviz2']
    context = LaunchContext()
    command = [perform_substitutions(context, part) for part in rviz.cmd[1:5]]
    assert command == ['-d', str(SHARE / 'config' / 'ik_service.rviz'), '-f', frame]


@pytest.mark.parametrize('file', ['ik_service.launch.py', 'demo.launch.py'])
def test_a_missing_urdf_is_reported_in_one_sentence(file):
    with pytest.raises(Exception, match=r"^file '/nowhere/arm\.urdf': cannot be read: No such "):
        nodes(file, urdf='/nowhere/arm.urdf')


def test_the_node_is_connected_with_the_controller():
    context = LaunchContext()
    found = nodes(
        'ik_service.launch.py',
        context,
        command_interface='joint_trajectory',
        controller='/jtc',
        command_joints='a,b',
        joint_states='/arm/joint_states',
        velocity_scaling='0.1',
    )
    node = found['ik_node']
    given = parameters_of(node, context)
    assert given['command_interface'] == 'joint_trajectory'
    assert given['trajectory_action'] == '/jtc/follow_joint_trajectory'
    assert list(given['command_joints']) == ['a', 'b']
    assert given['velocity_scaling'] == 0.1
    node._perform_substitutions(context)
    states = ('joint_states', '/arm/joint_states')
    assert set(node.expanded_remapping_rules) == {
        ('joint_trajectory', '/jtc/joint_trajectory'),
        states,
    }
    publisher = found['robot_state_publisher']
    publisher._perform_substitutions(context)
    assert publisher.expanded_remapping_rules == [states]


@pytest.mark.parametrize('file', ['ik_service.launch.py', 'demo.launch.py'])
def test_an_unknown_argument_on_the_command_line_is_refused(monkeypatch, file):
    monkeypatch.setattr('sys.argv', ['ros2', 'launch', 'ik_service', file, 'tip_lnk:=tool0'])
    context = LaunchContext(argv=['tip_lnk:=tool0'])
    with pytest.raises(Exception, match=r'tip_lnk.*is tip_link meant\?'):
        nodes(file, context)


@pytest.mark.parametrize('interface', ['position_commands', 'velocity_commands'])
def test_the_simulated_arm_says_which_commands_it_takes(interface):
    with pytest.raises(Exception, match='command_interface'):
        nodes('demo.launch.py', command_interface=interface)


@pytest.mark.parametrize('argument', ['rviz', 'engine'])
def test_values_outside_the_choices_are_refused(argument):
    with pytest.raises(RuntimeError, match=argument):
        nodes('demo.launch.py', **{argument: 'maybe'})


def test_the_topics_and_services_of_servo_are_below_the_name_of_its_node():
    context = LaunchContext()
    list(nodes('servo.launch.py', context, servo_node='my_servo', robot_state_publisher='false'))
    renamed = dict(context.launch_configurations.get('ros_remaps', []))
    assert renamed == {}, 'the names of other launch files stay as they are'
    with pytest.raises(ArgumentError, match='servo_node: has to be the name of a node'):
        nodes('servo.launch.py', servo_node='')
    (node,) = _remapped('servo.launch.py', servo_node='my_servo/', robot_state_publisher='false')
    assert node['delta_twist_cmds'] == 'my_servo/delta_twist_cmds'
    assert node['pause_servo'] == 'my_servo/pause_servo'
    assert len(node) == 6


def test_a_cell_has_a_state_publisher_for_each_arm_with_its_prefix_and_namespace():
    context = LaunchContext()
    entities = _nodes(described('cell.launch.py', context).entities, context)
    found = [node for node in entities if node.node_executable == 'robot_state_publisher']
    texts, namespaces = [], []
    for node in found:
        node._perform_substitutions(context)
        namespaces.append(node.expanded_node_namespace)
        texts.append(parameters_of(node, context)['robot_description'])
    assert namespaces == ['/left', '/right']
    assert '"left_panda_link0"' in texts[0]
    assert '"right_base_link"' in texts[1]


def test_a_mistake_in_a_cell_is_reported_with_the_arm_and_the_key(tmp_path):
    file = tmp_path / 'cell.yaml'
    file.write_text('arms: {one: {}}')
    with pytest.raises(Exception, match="arm 'one': urdf: is missing"):
        nodes('cell.launch.py', cell=str(file))


def _remapped(file, **arguments):
    """Yield what is renamed where the node of a launch file is started."""
    context = LaunchContext()
    context.launch_configurations.update(arguments)
    pending = list(described(file, context).entities)
    while pending:
        entity = pending.pop(0)
        if isinstance(entity, Node):
            if entity.condition is None or entity.condition.evaluate(context):
                yield dict(context.launch_configurations['ros_remaps'])
        else:
            pending[:0] = entity.visit(context) or []
