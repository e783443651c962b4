"""Arguments of the launch files: their meanings, the connection that they ask for, and typos."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
import difflib
import os
from pathlib import Path

from ik_service.common.quoting import quote
from ik_service.exceptions import ArgumentError

ROBOT_ARGUMENTS = {
    'urdf': 'URDF or xacro file of the robot. Empty: the one that params_file names, else the '
    'Franka Emika Panda that comes with the package, or with robot_state_publisher:=false what '
    'comes on the topic robot_description.',
    'xacro_args': 'Arguments of a xacro file, with blanks between them, such as '
    '"ur_type:=ur5e name:=ur". Empty: as in params_file, else its own defaults.',
    'package_dirs': 'Folders in which more packages lie, for meshes and xacro files, with ":" '
    'between them. Empty: as in params_file, else installed packages and those around the file.',
    'srdf': 'SRDF file, or xacro file of one, with the planning groups of the robot. Empty: as in '
    'params_file, else what comes on the topic robot_description_semantic.',
    'base_link': 'Link where the chain starts. Empty: as in params_file, else the root of the '
    'robot.',
    'tip_link': 'Link that is brought to the target. Empty: as in params_file, else the only '
    'leaf of the robot; panda_hand_tcp for the Panda that comes with the package.',
    'solver': 'Method, such as levenberg_marquardt, pseudoinverse or transpose. Empty: as in '
    "params_file, else the node's default.",
    'publish_markers': 'true or false: whether to publish markers of target, trail and reach, for '
    "RViz and Foxglove. Empty: as in params_file, else the node's default.",
    'params_file': 'ROS parameter file; share/ik_service/config/ik_service.yaml is one to copy '
    'and edit. The arguments here win over it. Empty: none.',
    'namespace': 'Namespace of all nodes, and so of their topics and services, such as cell_1. '
    'Empty: none.',
}
"""Arguments that say which robot there is, and how it is solved for."""

CONTROL_ARGUMENTS = {
    'command_interface': 'What the arm takes: joint_command, joint_trajectory, position_commands '
    'or velocity_commands. Empty: as in params_file, else joint_command.',
    'controller': 'Name of the ros2_control controller that moves the arm, such as '
    'joint_trajectory_controller; settles command_topic, and trajectory_action where it takes '
    'trajectories. Empty: none.',
    'command_topic': 'Topic that the commands go to, such as /forward_position_controller/'
    'commands. Empty: that of the controller, else the name of the command interface.',
    'command_joints': 'Joints of the controller, in its order, with commas between them. Empty: '
    'as in params_file, else the joints of the planning group.',
    'joint_states': 'Topic on which the arm publishes its joint states, also for '
    'robot_state_publisher. Empty: joint_states.',
    'trajectory_action': 'Action of the controller that executes whole trajectories, such as '
    "/joint_trajectory_controller/follow_joint_trajectory; none for the node's own. Empty: that "
    'of the controller, else as in params_file.',
    'joint_limits': 'File with limits of the joints, as the joint_limits.yaml of MoveIt. Empty: '
    'as in params_file, else those of the URDF alone.',
    'use_sim_time': 'true or false: whether the time is that of the topic clock, as simulators '
    "publish it. Empty: as in params_file, else the computer's.",
    'velocity_scaling': "Share of the joints' velocity limits that commands use, 0.0 to 1.0. "
    "Empty: as in params_file, else the node's default.",
}
"""Arguments that say how the arm is moved."""

ARGUMENTS = {**ROBOT_ARGUMENTS, **CONTROL_ARGUMENTS}
"""Arguments of ik_service.launch.py that are empty by default."""

STATE_PUBLISHER = 'robot_state_publisher'
"""Argument of ik_service.launch.py that is true or false."""

CONTROLLER_TOPICS = {
    'joint_command': '',
    'joint_trajectory': 'joint_trajectory',
    'position_commands': 'commands',
    'velocity_commands': 'commands',
}
"""Last part of the topic of a ros2_control controller for each command interface."""

_TRAJECTORY_ACTION = 'follow_joint_trajectory'


@dataclass(frozen=True)
class Connection:
    """
    Connection of the node with an arm.

    :ivar parameters: parameters of the node that are settled.
    :ivar remappings: names of topics, and what they become.
    """

    parameters: Mapping[str, str | float | bool | list[str]]
    remappings: Sequence[tuple[str, str]]


def connection(arguments: Mapping[str, str], from_file: Mapping[str, object]) -> Connection:
    """
    Return how the node is connected with an arm.

    :param arguments: the launch arguments :data:`CONTROL_ARGUMENTS`; empty or absent where the
        user gave none.
    :param from_file: parameters that the parameter file gives to the node.
    :raises ArgumentError: there is no such command interface, the interface has no controllers,
        or another value cannot be.
    """
    given = {name: arguments.get(name, '').strip() for name in CONTROL_ARGUMENTS}
    interface = given['command_interface'] or str(from_file.get('command_interface', ''))
    interface = interface or next(iter(CONTROLLER_TOPICS))
    if interface not in CONTROLLER_TOPICS:
        choices = ', '.join(CONTROLLER_TOPICS)
        raise ArgumentError(
            'command_interface', f'has to be one of {choices}, not {quote(interface)}'
        )
    topic, action = given['command_topic'], given['trajectory_action']
    if given['controller']:
        last, controller = CONTROLLER_TOPICS[interface], given['controller'].rstrip('/')
        if not last:
            choices = ', '.join(name for name, part in CONTROLLER_TOPICS.items() if part)
            reason = f'takes no {interface}; set command_interface to one of {choices}'
            raise ArgumentError('controller', reason)
        topic = topic or f'{controller}/{last}'
        if last == 'joint_trajectory':
            action = action or f'{controller}/{_TRAJECTORY_ACTION}'
    parameters = _parameters({**given, 'trajectory_action': '' if action == 'none' else action})
    renamed = ((interface, topic), ('joint_states', given['joint_states']))
    return Connection(parameters, [(old, new) for old, new in renamed if new])


def _parameters(given: Mapping[str, str]) -> dict[str, str | float | bool | list[str]]:
    settled: dict[str, str | float | bool | list[str]] = {
        name: given[name] for name in ('command_interface', 'trajectory_action') if given[name]
    }
    if given['joint_limits']:
        settled['joint_limits'] = str(Path(os.path.expanduser(given['joint_limits'])).absolute())
    if given['command_joints']:
        settled['command_joints'] = given['command_joints'].replace(',', ' ').split()
    if given['use_sim_time']:
        if given['use_sim_time'].lower() not in ('true', 'false'):
            text = quote(given['use_sim_time'])
            raise ArgumentError('use_sim_time', f'has to be true or false, not {text}')
        settled['use_sim_time'] = given['use_sim_time'].lower() == 'true'
    if given['velocity_scaling']:
        try:
            settled['velocity_scaling'] = float(given['velocity_scaling'])
        except ValueError as error:
            text = quote(given['velocity_scaling'])
            raise ArgumentError('velocity_scaling', f'{text} is no number') from error
    return settled


def check_names(
    command_line: Sequence[str], program: Sequence[str], file: str, known: Iterable[str]
) -> None:
    """
    Refuse arguments on the command line that a launch file does not have.

    ``launch`` ignores them without a word. Where another launch file includes this one, the
    command line may hold arguments of that one, and is not looked at.

    :param command_line: the arguments, such as ``urdf:=arm.urdf``.
    :param program: the whole command line of the process.
    :param file: name of the launch file.
    :param known: names of its arguments.
    :raises ArgumentError: naming the argument, the nearest name and all there are.
    """
    if not any(Path(word).name == file for word in program):
        return
    names = sorted(known)
    for word in command_line:
        name, sign, _ = word.partition(':=')
        if sign and name not in names:
            near = difflib.get_close_matches(name, names, 1, 0.5)
            hint = f'; did you mean {near[0]}?' if near else '.'
            reason = f'{file} has no such argument{hint} It has {", ".join(names)}'
            raise ArgumentError(name, reason)
