"""Choice of the robot by the launch files; needs no ROS."""

import os
from pathlib import Path

import pytest

from ik_service.exceptions import ArgumentError, OptionError, UrdfError
from ik_service.ros.common.bringup import (
    ARGUMENTS,
    check_names,
    connection,
    CONTROL_ARGUMENTS,
    CONTROLLER_TOPICS,
    node_parameters,
    settle,
)

ROBOT = '<robot name="r"><link name="a"/></robot>'
PANDA = '<robot name="panda"><link name="panda_link0"/></robot>'


@pytest.fixture
def share(tmp_path):
    folder = tmp_path / 'share' / 'ik_service'
    (folder / 'urdf').mkdir(parents=True)
    (folder / 'urdf' / 'panda.urdf').write_text(PANDA, encoding='utf-8')
    return folder


@pytest.fixture
def arm(tmp_path):
    file = tmp_path / 'arm.urdf'
    file.write_text(ROBOT, encoding='utf-8')
    return file


@pytest.fixture
def params_file(tmp_path):
    def write(text):
        file = tmp_path / 'params.yaml'
        file.write_text(text, encoding='utf-8')
        return file

    return write


def rule(node, **parameters):
    lines = [f'    {name}: {value}' for name, value in parameters.items()]
    return '\n'.join([f'{node}:', '  ros__parameters:', *lines, ''])


BUNDLED, OTHER, TEXT = {'urdf': '{share}/urdf/panda.urdf'}, {'urdf': '{arm}'}, ROBOT
CHAIN = {'base_link': 'panda_link0', 'tip_link': 'panda_hand_tcp'}
ON_TOPIC = {'robot_state_publisher': 'false'}  # the robot is the one on the topic
EMPTY = dict.fromkeys(('urdf', 'base_link', 'tip_link', 'params_file', 'namespace'), '')
ROBOTS = {
    'nothing': ({}, '', BUNDLED, CHAIN),
    'empty arguments': (EMPTY, '', BUNDLED, CHAIN),
    'another urdf': (OTHER, '', OTHER, {}),
    'relative path': ({'urdf': 'arm.urdf'}, '', OTHER, {}),
    'tilde': ({'urdf': '~/arm.urdf'}, '', OTHER, {}),
    'path of the Panda': (BUNDLED, '', BUNDLED, CHAIN),
    'tip alone': ({'tip_link': 'panda_link8'}, '', BUNDLED, {**CHAIN, 'tip_link': 'panda_link8'}),
    'tip of another urdf': ({**OTHER, 'tip_link': 'a'}, '', OTHER, {'tip_link': 'a'}),
    'state publisher': ({'robot_state_publisher': 'true'}, '', BUNDLED, CHAIN),
    'topic': (ON_TOPIC, '', {}, {}),
    'topic, links': ({**ON_TOPIC, **CHAIN}, '', {}, CHAIN),
    'topic, urdf': ({**ON_TOPIC, **OTHER}, '', OTHER, {}),
    'topic, Panda': ({**ON_TOPIC, **BUNDLED}, '', BUNDLED, CHAIN),
    'topic, file': (ON_TOPIC, rule('/**', urdf='{arm}'), OTHER, {}),
    'topic, text in the file': (
        ON_TOPIC, rule('/**', robot_description=f"'{TEXT}'"), {'robot_description': TEXT}, {},
    ),
    'topic, file with empty values': (
        ON_TOPIC, rule('/**', urdf="''", robot_description="''"), {}, {},
    ),
    'file': ({}, rule('/**/ik_service', urdf='{arm}', tip_link='a'), OTHER, {'tip_link': 'a'}),
    'argument and file': (
        {**OTHER, 'tip_link': 'a'}, rule('/**', urdf='else.urdf', tip_link='b'), OTHER,
        {'tip_link': 'a'},
    ),
    'file with empty values': ({}, rule('/**', urdf="''", tip_link="''"), BUNDLED, CHAIN),
    'tip of the file': (
        {}, rule('/**', tip_link='panda_link8'), BUNDLED, {**CHAIN, 'tip_link': 'panda_link8'},
    ),
    'text in the file': (
        {}, rule('/**', robot_description=f"'{TEXT}'"), {'robot_description': TEXT}, {},
    ),
    'file for the namespace': (
        {'namespace': 'cell_1'}, rule('/cell_1/ik_service', urdf='{arm}'), OTHER, {},
    ),
    'file for another namespace': ({}, rule('/cell_1/ik_service', urdf='{arm}'), BUNDLED, CHAIN),
}  # fmt: skip
"""Arguments, parameter file, and the source and the chain of the robot that they give."""


@pytest.mark.parametrize(('arguments', 'file', 'source', 'chain'), ROBOTS.values(), ids=ROBOTS)
def test_a_robot_and_its_chain(
    share, arm, params_file, monkeypatch, arguments, file, source, chain
):
    monkeypatch.chdir(arm.parent)
    monkeypatch.setenv('HOME', str(arm.parent))

    def filled(values):
        return {name: text.format(arm=arm, share=share) for name, text in values.items()}

    given = filled(arguments)
    if file:
        given['params_file'] = str(params_file(file.format(arm=arm)))
    robot = settle(given, share)
    assert (robot.source, robot.chain) == (filled(source), chain)
    assert robot.description == (PANDA if source == BUNDLED else ROBOT if source else '')


def test_an_srdf_is_for_the_node_alone(share, arm, monkeypatch):
    monkeypatch.chdir(arm.parent)
    robot = settle({'urdf': str(arm), 'srdf': 'arm.srdf'}, share)
    assert robot.semantics == {'srdf': str(arm.parent / 'arm.srdf')}
    assert robot.source == {'urdf': str(arm)}
    assert settle({'srdf': ''}, share).semantics == {}
    folders = settle({'package_dirs': 'ws:/opt/x'}, share).semantics['package_dirs']
    assert folders == f'{Path.cwd() / "ws"}:/opt/x'


class TestParameterFile:
    @pytest.mark.parametrize(
        ('node', 'applies'),
        [
            ('/**', True),
            ('/**/ik_service', True),
            ('/cell_1/ik_service', True),
            ('cell_1/ik_service', True),
            ('/*/ik_service', True),
            ('ik_service', False),
            ('/cell_2/ik_service', False),
            ('/*/*/ik_service', False),
            ('/cell_1/ik_ser[v]ice', False),
        ],
    )
    def test_rules_are_matched_as_ros_matches_them(self, params_file, node, applies):
        file = params_file(rule(f"'{node}'", publish_rate=50.0))
        found = node_parameters(file, '/cell_1/ik_service')
        assert found == ({'publish_rate': 50.0} if applies else {})

    def test_a_pipe_is_not_waited_for(self, share, tmp_path):
        os.mkfifo(tmp_path / 'params.yaml')
        with pytest.raises(ArgumentError, match=r'params\.yaml: cannot be read: it is a pipe'):
            settle({'params_file': str(tmp_path / 'params.yaml')}, share)

    def test_a_later_rule_wins(self, params_file):
        text = rule('/**', a=1, b=1) + rule('/ik_service', b=2)
        assert node_parameters(params_file(text), '/ik_service') == {'a': 1, 'b': 2}

    def test_namespaces_may_be_nested(self, params_file):
        text = 'cell_1:\n  ik_service:\n    ros__parameters:\n      a: 1\n'
        assert node_parameters(params_file(text), '/cell_1/ik_service') == {'a': 1}

    def test_a_file_without_rules_sets_nothing(self, params_file):
        assert node_parameters(params_file('# nothing\n'), '/ik_service') == {}
        assert node_parameters(params_file(''), '/ik_service') == {}

    @pytest.mark.parametrize('text', [None, 'a: [1,', '\0', 'a text', '- just\n- a list\n'])
    def test_a_missing_or_broken_file_is_named(self, share, params_file, text):
        path = '/nowhere/params.yaml' if text is None else str(params_file(text))
        with pytest.raises(ArgumentError, match=f'^params_file: {path}'):
            settle({'params_file': path}, share)


class TestNamespace:
    @pytest.mark.parametrize(
        ('given', 'pushed', 'absolute'),
        [
            ('', '', '/'),
            ('cell_1', '', '/cell_1'),
            ('/cell_1/', '', '/cell_1'),
            ('arm', '/cell_1', '/cell_1/arm'),
            ('', 'cell_1', '/cell_1'),
            ('/arm', '/cell_1', '/arm'),
        ],
    )
    def test_it_is_absolute_and_heeds_what_was_pushed(self, share, given, pushed, absolute):
        robot = settle({'namespace': given, 'ros_namespace': pushed}, share)
        assert robot.namespace == absolute


class TestDescription:
    def test_a_missing_file_is_named_in_one_sentence(self, share):
        message = r"^file '/nowhere/arm\.urdf': cannot be read: No such file or directory$"
        with pytest.raises(UrdfError, match=message):
            settle({'urdf': '/nowhere/arm.urdf'}, share)

    @pytest.mark.parametrize('name', ['arm.urdf', 'arm.urdf.xacro'])
    def test_a_pipe_is_not_waited_for(self, share, tmp_path, name):
        os.mkfifo(tmp_path / name)
        with pytest.raises(UrdfError, match=f"{name}': cannot be read: it is a pipe"):
            settle({'urdf': str(tmp_path / name)}, share)

    def test_a_xacro_file_is_expanded_and_handed_over_as_text(self, share, tmp_path):
        pytest.importorskip('xacro')
        file = tmp_path / 'arm.urdf.xacro'
        file.write_text('<robot name="r"><link name="l${1 + 1}"/></robot>')
        robot = settle({'urdf': str(file)}, share)
        assert robot.source == {'robot_description': robot.description}
        assert '<link name="l2"/>' in robot.description


class TestXacroArguments:
    @pytest.fixture
    def xacro(self, tmp_path):
        pytest.importorskip('xacro')
        file = tmp_path / 'arm.urdf.xacro'
        text = '<xacro:arg name="n" default="1"/><link name="l$(arg n)"/>'
        head = '<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">'
        file.write_text(f'{head}{text}</robot>')
        return file

    def test_they_come_from_the_argument_or_the_file(self, share, xacro, params_file):
        robot = settle({'urdf': str(xacro), 'xacro_args': 'n:=2'}, share)
        assert 'name="l2"' in robot.description
        file = params_file(rule('/**', urdf=xacro, xacro_args='n:=3'))
        robot = settle({'params_file': str(file)}, share)
        assert 'name="l3"' in robot.description
        robot = settle({'params_file': str(file), 'xacro_args': 'n:=4'}, share)
        assert 'name="l4"' in robot.description
        # What the node gets from the file as well must not win over the text.
        empty = {'urdf': '', 'xacro_args': ''}
        assert robot.source == {'robot_description': robot.description, **empty}

    def test_those_of_the_file_are_not_for_another_urdf(self, share, arm, params_file):
        file = params_file(rule('/**', urdf='other.xacro', xacro_args='n:=3'))
        robot = settle({'params_file': str(file), 'urdf': str(arm)}, share)
        assert robot.source == {'urdf': str(arm), 'xacro_args': ''}

    @pytest.mark.parametrize('text', ['n=2', ':=2', 'n:=1 n:=2', 'n:="1'])
    def test_bad_ones_are_refused(self, share, xacro, text):
        with pytest.raises(OptionError, match=r'^xacro_args: '):
            settle({'urdf': str(xacro), 'xacro_args': text}, share)

    def test_one_that_no_file_asks_for_is_refused(self, share, xacro, tmp_path):
        arguments = {'urdf': str(xacro), 'xacro_args': 'n:=2 hnd:=left'}
        with pytest.raises(ArgumentError, match="'hnd' is not used"):
            settle(arguments, share)
        srdf = tmp_path / 'arm.srdf.xacro'
        text = xacro.read_text().replace('"n"', '"hnd"').replace('<link name="l$(arg n)"/>', '')
        srdf.write_text(text.replace('</robot>', '<group name="$(arg hnd)"/></robot>'))
        semantics = settle({**arguments, 'srdf': str(srdf)}, share).semantics
        assert semantics['srdf'] == ''
        assert '<group name="left"/>' in semantics['robot_description_semantic']

    def test_a_urdf_file_takes_none(self, share, arm):
        with pytest.raises(ArgumentError, match='xacro'):
            settle({'urdf': str(arm), 'xacro_args': 'n:=2'}, share)


def test_the_bundled_file_is_in_the_package():
    folder = Path(__file__).resolve().parents[3]
    robot = settle({}, folder)
    assert all(f'<link name="{link}"' in robot.description for link in robot.chain.values())


FILE = 'ik_service.launch.py'
PROGRAM = ('/opt/ros/jazzy/bin/ros2', 'launch', 'ik_service', FILE)


class TestConnection:
    def test_without_arguments_everything_stays_with_the_file_and_the_node(self):
        for arguments in ({}, dict.fromkeys(CONTROL_ARGUMENTS, '')):
            settled = connection(arguments, {'command_interface': 'joint_trajectory'})
            assert settled.parameters == {}
            assert settled.remappings == []

    def test_a_trajectory_controller_settles_topic_and_action(self):
        settled = connection(
            {'command_interface': 'joint_trajectory', 'controller': '/arm/jtc'}, {}
        )
        assert settled.remappings == [('joint_trajectory', '/arm/jtc/joint_trajectory')]
        assert settled.parameters == {
            'command_interface': 'joint_trajectory',
            'trajectory_action': '/arm/jtc/follow_joint_trajectory',
        }

    @pytest.mark.parametrize('interface', ['position_commands', 'velocity_commands'])
    def test_a_forward_controller_settles_the_topic(self, interface):
        settled = connection({'controller': 'forward/'}, {'command_interface': interface})
        assert settled.remappings == [(interface, 'forward/commands')]
        assert settled.parameters == {}

    def test_topic_and_action_of_the_user_win_over_those_of_the_controller(self):
        arguments = {'controller': 'jtc', 'command_topic': '/in', 'trajectory_action': '/do'}
        settled = connection(arguments, {'command_interface': 'joint_trajectory'})
        assert settled.remappings == [('joint_trajectory', '/in')]
        assert settled.parameters == {'trajectory_action': '/do'}
        arguments['trajectory_action'] = 'none'
        assert connection(arguments, {'command_interface': 'joint_trajectory'}).parameters == {}

    def test_joint_states_joints_limits_and_speed(self, monkeypatch):
        monkeypatch.setenv('HOME', '/home/me')
        settled = connection(
            {
                'joint_states': '/ur/joint_states',
                'command_joints': 'b, a c,',
                'joint_limits': '~/joint_limits.yaml',
                'velocity_scaling': '0.1',
                'use_sim_time': 'True',
            },
            {},
        )
        assert settled.remappings == [('joint_states', '/ur/joint_states')]
        assert settled.parameters == {
            'command_joints': ['b', 'a c'],
            'joint_limits': str(Path('/home/me/joint_limits.yaml')),
            'velocity_scaling': 0.1,
            'use_sim_time': True,
        }

    @pytest.mark.parametrize(
        ('arguments', 'reason'),
        [
            ({'command_interface': 'effort'}, "has to be one of joint_command, .*not 'effort'"),
            ({'controller': 'jtc'}, 'takes no joint_command; set command_interface to'),
            ({'use_sim_time': 'maybe'}, 'has to be true or false'),
            ({'velocity_scaling': 'slow'}, "velocity_scaling.*'slow' is no number"),
        ],
    )
    def test_what_cannot_be_is_refused(self, arguments, reason):
        with pytest.raises(ArgumentError, match=reason):
            connection(arguments, {})

    def test_every_command_interface_is_known(self):
        pytest.importorskip('rclpy', reason='ROS 2 is not installed')
        from ik_service.ros.motion.parameters import COMMAND_INTERFACES

        assert tuple(CONTROLLER_TOPICS) == COMMAND_INTERFACES


class TestNames:
    def test_an_unknown_argument_is_refused_with_the_nearest_one_and_all(self):
        with pytest.raises(ArgumentError) as caught:
            check_names(['urdf:=a.urdf', 'comand_topic:=/x'], PROGRAM, FILE, ARGUMENTS)
        text = str(caught.value)
        assert 'comand_topic' in text
        assert '(is command_topic meant?)' in text
        assert all(name in text for name in ARGUMENTS)

    def test_known_arguments_and_options_are_accepted(self):
        check_names([f'{name}:=x' for name in ARGUMENTS] + ['--debug'], PROGRAM, FILE, ARGUMENTS)

    def test_arguments_of_a_launch_file_that_includes_this_one_are_its_own(self):
        program = (*PROGRAM[:-1], 'my_cell.launch.py')
        check_names(['robot_ip:=10.0.0.2'], program, FILE, ARGUMENTS)
