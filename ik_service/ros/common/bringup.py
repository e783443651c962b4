"""Robot and parameters of the launch files, from their arguments and the parameter file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
import os
from pathlib import Path

import yaml

from ik_service.common.regular_file import read_regular
from ik_service.common.shared_parameters import is_for, sections
from ik_service.exceptions import ArgumentError
from ik_service.model.description import is_xacro, load_text
from ik_service.model.package_folders import own_package, parse_package_dirs
from ik_service.model.xacro_file import parse_xacro_args

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
        path of the file of its groups, where an argument gives it, and ``package_dirs`` with
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
    :raises ArgumentError: the parameter file is missing or is not YAML.
    :raises UrdfError: the robot description is missing or malformed, or xacro refuses it.
    :raises MissingExtraError: it is a xacro file, and xacro is not installed.
    :raises OptionError: the arguments for xacro cannot be read.
    """
    namespace = _absolute_namespace(arguments)
    params_file = _path(arguments.get('params_file', ''))
    node = f'{namespace.rstrip("/")}/{NODE_NAME}'
    params = node_parameters(Path(params_file), node) if params_file else {}
    given = {key: value for key, value in params.items() if value}
    given.update({key: value for key, value in arguments.items() if value})

    folders = parse_package_dirs(str(given.get('package_dirs', '')))
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
        xacro_args = given if is_xacro(file) else arguments  # the file's may be for its own urdf
        xacro_values = parse_xacro_args(str(xacro_args.get('xacro_args', '')))
        text = load_text(file, xacro_values, package_dirs=folders)
        named = {'robot_description': text} if is_xacro(file) else {'urdf': str(file)}
        if is_xacro(file):
            folders += own_package(file, text)  # which nobody can find around a text
        source = {**from_file, **named}  # those of the file must not win over what is chosen here
    chain = {name: str(given[name]) for name in BUNDLED_CHAIN if name in given}
    srdf = _path(arguments.get('srdf', ''))
    semantics = {'srdf': srdf} if srdf else {}
    if folders:
        semantics['package_dirs'] = os.pathsep.join(map(str, folders))
    return Bringup(namespace, params_file, text, source, chain, semantics, params)


def node_parameters(file: Path, node: str) -> dict[str, object]:
    """
    Return the parameters that a ROS parameter file sets for one node.

    :param file: the parameter file.
    :param node: fully qualified name of the node, such as ``/cell_1/ik_service``.
    :raises ArgumentError: the file is missing or is not YAML.
    """
    try:
        tree = yaml.safe_load(read_regular(file, _LONGEST_PARAMETERS).decode('utf-8'))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        reason = getattr(error, 'strerror', None) or error
        raise ArgumentError('params_file', f'{file} cannot be read: {reason}') from error
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
