"""Arguments of the launch files: meanings, and the robot and connection that they ask for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
import os
from pathlib import Path

import yaml

from ik_service.common.files import file_fault, read_regular
from ik_service.common.quoting import meant, quote
from ik_service.common.shared_parameters import fault_of, is_for, sections
from ik_service.exceptions import ArgumentError
from ik_service.model.description import is_xacro, load_text
from ik_service.model.groups.srdf import load_srdf_text
from ik_service.model.package_folders import own_package, parse_package_dirs
from ik_service.model.xacro_file import parse_xacro_args, XacroArguments

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

STATE_PUBLISHER = 'robot_state_publisher'  # argument of ik_service.launch.py that is true or false

CONTROLLER_TOPICS = {
    'joint_command': '',
    'joint_trajectory': 'joint_trajectory',
    'position_commands': 'commands',
    'velocity_commands': 'commands',
}
"""Last part of the topic of a ros2_control controller for each command interface."""

TRAJECTORY_ACTION = 'follow_joint_trajectory'
"""Action of a trajectory controller, and of the node itself."""


@dataclass(frozen=True)
class Connection:
    """
    Connection of the node with an arm.

    :ivar parameters: parameters of the node that are settled.
    :ivar remappings: names of topics, and their new names.
    """

    parameters: Mapping[str, str | float | bool | list[str]]
    remappings: Sequence[tuple[str, str]]


def connection(arguments: Mapping[str, str], from_file: Mapping[str, object]) -> Connection:
    """
    Return how the node is connected with an arm.

    :param arguments: the launch arguments :data:`CONTROL_ARGUMENTS`; empty or absent where the
        user gave none.
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
            action = action or f'{controller}/{TRAJECTORY_ACTION}'
    parameters = _parameters({**given, 'trajectory_action': '' if action == 'none' else action})
    renamed = ((interface, topic), ('joint_states', given['joint_states']))
    return Connection(parameters, [(old, new) for old, new in renamed if new])


def _parameters(given: Mapping[str, str]) -> dict[str, str | float | bool | list[str]]:
    settled: dict[str, str | float | bool | list[str]] = {
        name: given[name] for name in ('command_interface', 'trajectory_action') if given[name]
    }
    if given['joint_limits']:
        settled['joint_limits'] = str(Path(os.path.expanduser(given['joint_limits'])).absolute())
    listed = given['command_joints']
    parts = listed.split(',') if ',' in listed else listed.split()
    if names := [*filter(None, map(str.strip, parts))]:
        settled['command_joints'] = names
    if given['use_sim_time']:
        _check_switch(given, 'use_sim_time')
        settled['use_sim_time'] = given['use_sim_time'].lower() == 'true'
    if given['velocity_scaling']:
        try:
            settled['velocity_scaling'] = float(given['velocity_scaling'])
        except ValueError as error:
            text = quote(given['velocity_scaling'])
            raise ArgumentError('velocity_scaling', f'{text} is no number') from error
    return settled


def _check_switch(given: Mapping[str, str], name: str) -> None:
    value = given.get(name, '')
    if value and value.lower() not in ('true', 'false'):
        raise ArgumentError(name, f'has to be true or false, not {quote(value)}')


def check_names(
    command_line: Sequence[str], program: Sequence[str], file: str, known: Iterable[str]
) -> None:
    """
    Refuse arguments on the command line that a launch file does not have.

    ``launch`` ignores them without a word. Where another launch file includes this one, the
    command line may hold arguments of that one, and is not checked.

    :param command_line: the arguments, such as ``urdf:=arm.urdf``.
    :raises ArgumentError: naming the argument, the nearest name and all there are.
    """
    if not any(Path(word).name == file for word in program):
        return
    names = sorted(known)
    for word in command_line:
        name, sign, _ = word.partition(':=')
        if sign and name not in names:
            reason = f'{file} has no such argument{meant(name, names)}. It has {", ".join(names)}'
            raise ArgumentError(name, reason)


NODE_NAME = 'ik_service'
BUNDLED_URDF = Path('urdf') / 'panda.urdf'
BUNDLED_CHAIN = {'base_link': 'panda_link0', 'tip_link': 'panda_hand_tcp'}

_LONGEST_PARAMETERS = 64 * 2**20  # [byte]


@dataclass(frozen=True)
class Bringup:
    """
    Robot to bring up, and the parameters that hand it to its nodes.

    :ivar namespace: absolute namespace of the nodes, such as ``/`` or ``/cell_1``.
    :ivar params_file: absolute path of the user's parameter file; empty where there is none.
    :ivar description: the URDF, as text; empty where it comes from the topic.
    :ivar source: the parameters that hand the robot to a node: ``urdf`` with the path of its
        file, or ``robot_description`` with the text where no file holds it (an expanded xacro);
        empty texts for others that the parameter file gives; none where nodes wait for the topic
        ``robot_description``.
    :ivar chain: ``base_link`` and ``tip_link`` as far as they are settled; the node finds the
        others by itself.
    :ivar semantics: further parameters of the IK node about the robot: ``srdf`` with the absolute
        path of the file of its groups, where an argument gives it, or
        ``robot_description_semantic`` with what a xacro file says, and ``package_dirs`` with
        absolute paths: those of the argument, and the package of a xacro file.
    :ivar given: the parameters that the parameter file gives to the IK node.
    """

    namespace: str
    params_file: str
    description: str
    source: Mapping[str, str]
    chain: Mapping[str, str]
    semantics: Mapping[str, str]
    given: Mapping[str, object]


def settle(arguments: Mapping[str, str], share: Path) -> Bringup:
    """
    Determine the robot: an argument wins over the parameter file, and that over the bundled arm.

    Without ``robot_state_publisher`` there is no bundled arm: another program publishes the
    description of a robot.

    :param arguments: the launch arguments ``urdf``, ``srdf``, ``xacro_args``,
        ``package_dirs``, ``base_link``, ``tip_link``, ``params_file``, ``namespace``,
        ``robot_state_publisher``; empty or absent where the user gave none. A namespace that an
        including launch file has pushed is found under ``ros_namespace``.
    :raises ArgumentError: the parameter file is missing or is not YAML, no xacro file asks for an
        argument, or ``publish_markers`` is neither true nor false.
    :raises UrdfError: the robot description is missing or malformed, or xacro refuses it.
    :raises MissingExtraError: it is a xacro file, and xacro is not installed.
    :raises SrdfError: xacro refuses the SRDF.
    :raises OptionError: the arguments for xacro cannot be read.
    """
    _check_switch(arguments, 'publish_markers')
    namespace = _absolute_namespace(arguments)
    params_file = _path(arguments.get('params_file', ''))
    node = f'{namespace.rstrip("/")}/{NODE_NAME}'
    params = node_parameters(Path(params_file), node) if params_file else {}
    given = {key: value for key, value in params.items() if value}
    given.update({key: value for key, value in arguments.items() if value})

    folders = parse_package_dirs(str(given.get('package_dirs', '')))
    xacro_args = _xacro_args(arguments)
    text = '' if arguments.get('urdf') else str(params.get('robot_description') or '')
    if text:
        source = {'robot_description': text}
    elif not given.get('urdf') and arguments.get('robot_state_publisher') == 'false':
        source = {}
    else:
        file = Path(_path(str(given.get('urdf', share / BUNDLED_URDF))))
        if file.resolve() == (share / BUNDLED_URDF).resolve():
            given = {**BUNDLED_CHAIN, **given}
        from_file = {name: '' for name in ('urdf', 'xacro_args') if params.get(name)}
        if is_xacro(file):  # otherwise those of the parameter file may be for its own urdf
            xacro_args = _xacro_args(given)
        text = load_text(file, xacro_args, package_dirs=folders)
        named = {'robot_description': text} if is_xacro(file) else {'urdf': str(file)}
        if is_xacro(file):
            folders += own_package(file, text)  # which nobody can find around a text
        source = {**from_file, **named}  # those of the file must not win over what is chosen here
    chain = {name: str(given[name]) for name in BUNDLED_CHAIN if name in given}
    srdf = _path(arguments.get('srdf', ''))
    semantics = {'srdf': srdf} if srdf else {}
    if srdf and is_xacro(srdf):  # the node has no arguments for it
        semantic = load_srdf_text(srdf, xacro_args, folders)
        semantics = {'srdf': '', 'robot_description_semantic': semantic}
    xacro_args.check_asked()
    if folders:
        semantics['package_dirs'] = os.pathsep.join(map(str, folders))
    return Bringup(namespace, params_file, text, source, chain, semantics, params)


def _xacro_args(given: Mapping[str, object]) -> XacroArguments:
    return XacroArguments(parse_xacro_args(str(given.get('xacro_args', ''))))


def node_parameters(file: Path, node: str) -> dict[str, object]:
    """
    Return the parameters that a ROS parameter file sets for one node.

    :param node: fully qualified name of the node, such as ``/cell_1/ik_service``.
    :raises ArgumentError: the file is missing, is not YAML, or holds a single value.
    """
    try:
        tree = yaml.safe_load(read_regular(file, _LONGEST_PARAMETERS).decode('utf-8'))
    except (OSError, ValueError, RecursionError, yaml.YAMLError) as error:
        raise ArgumentError('params_file', f'{file}: {file_fault(error)}') from error
    if fault := fault_of(tree):
        raise ArgumentError('params_file', f'{file}: {fault}')
    found: dict[str, object] = {}
    for section, parameters in sections(tree):
        if is_for(section, node):  # a later one wins, as in ROS
            found.update(parameters)
    return found


def _absolute_namespace(arguments: Mapping[str, str]) -> str:
    namespace = arguments.get('namespace', '')
    if not namespace.startswith('/'):
        namespace = f'{arguments.get("ros_namespace", "")}/{namespace}'
    return '/' + '/'.join(part for part in namespace.split('/') if part)


def _path(name: str) -> str:
    """Make a path absolute; a shell leaves the ~ of ``urdf:=~/arm.urdf`` to us."""
    return str(Path(os.path.expanduser(name)).absolute()) if name else ''
