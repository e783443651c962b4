"""Arguments of the launch files; needs no ROS."""

from pathlib import Path

import pytest

from ik_service.exceptions import ArgumentError
from ik_service.ros.common.bringup import (
    ARGUMENTS,
    check_names,
    connection,
    CONTROL_ARGUMENTS,
    CONTROLLER_TOPICS,
)

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
                'command_joints': 'b, a c',
                'joint_limits': '~/joint_limits.yaml',
                'velocity_scaling': '0.1',
                'use_sim_time': 'True',
            },
            {},
        )
        assert settled.remappings == [('joint_states', '/ur/joint_states')]
        assert settled.parameters == {
            'command_joints': ['b', 'a', 'c'],
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
        assert 'did you mean command_topic?' in text
        assert all(name in text for name in ARGUMENTS)

    def test_known_arguments_and_options_are_accepted(self):
        check_names([f'{name}:=x' for name in ARGUMENTS] + ['--debug'], PROGRAM, FILE, ARGUMENTS)

    def test_arguments_of_a_launch_file_that_includes_this_one_are_its_own(self):
        program = (*PROGRAM[:-1], 'my_cell.launch.py')
        check_names(['robot_ip:=10.0.0.2'], program, FILE, ARGUMENTS)
