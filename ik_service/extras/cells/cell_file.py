"""
File that describes a cell: its arms, their namespaces and prefixes, and where they stand.

``config/cell.yaml`` is an example.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
import math
import os
from pathlib import Path
import re

import numpy as np
from rclpy.exceptions import InvalidNamespaceException
from rclpy.expand_topic_name import expand_topic_name
from rclpy.validate_namespace import validate_namespace
import yaml

from ik_service.common.files import file_fault, read_regular
from ik_service.common.quoting import quote, safe_repr, shown_path, suggested, truncate
from ik_service.common.transforms import transform_from_xyz_rpy
from ik_service.exceptions import ArgumentError, IkServiceError
from ik_service.model.robot_model import RobotModel
from ik_service.ros.common.bringup import (
    Connection,
    connection,
    CONTROL_ARGUMENTS,
    NODE_NAME,
    TRAJECTORY_ACTION,
)
from ik_service.ros.common.runtime import name_fault

SIMULATED = ('joint_command', 'joint_trajectory')  # command interfaces that a simulated arm takes


class CellError(IkServiceError, ValueError):
    """Mistake of an arm, or the cell if empty, at a key such as ``base.xyz``, or all of it."""

    def __init__(self, file: Path, arm: str, key: str, reason: str) -> None:
        named = f'arm {quote(arm)}' if arm else ''
        parts = [shown_path(file), named, truncate(key), reason]
        super().__init__(': '.join(filter(None, parts)))
        self.arm = arm
        self.key = key
        self.reason = reason


class CellSection:
    """
    Section of a cell file.

    :param arm: name of the arm; empty for the whole cell.
    :param key: key of the section within the arm; empty for the arm itself.
    :raises CellError: the values are no section.
    """

    def __init__(self, file: Path, arm: str, values: object, key: str = '') -> None:
        self._file = file
        self._arm = arm
        self._key = key
        if not isinstance(values, Mapping):
            raise self.error('', f'has to be a section of keys, not {safe_repr(values)}')
        wrong = next((key for key in values if not isinstance(key, str)), None)
        if wrong is not None:
            raise self.error('', f'has the key {safe_repr(wrong)}, which is no text; quote it')
        self._values: Mapping[str, object] = values

    @property
    def folder(self) -> Path:
        """Folder of the file, to which paths in it are relative."""
        return self._file.parent

    def __contains__(self, key: str) -> bool:
        return self._values.get(key) is not None

    def error(self, key: str, reason: str) -> CellError:
        """Return an error about a key, or about the section."""
        path = '.'.join(filter(None, [self._key, key]))
        return CellError(self._file, self._arm, path, reason)

    def refuse_others(self, known: Iterable[str]) -> None:
        """Refuse keys that have no meaning, by a CellError."""
        known = list(known)
        for key in self._values:
            if key not in known:
                raise self.error(key, f'there is no such key; {suggested(key, known)}')

    def value(self, key: str) -> object:
        """Return the value of a key as it stands there, or the default."""
        return self._values.get(key)

    def text(self, key: str, default: str = '') -> str:
        """Return a text."""
        value = self._values.get(key)
        if value is None:
            return default
        if not isinstance(value, str):
            raise self.error(key, f'has to be text, not {safe_repr(value)}; quote it')
        return value.strip()

    def flag(self, key: str, default: bool) -> bool:
        """Return true or false."""
        value = self._values.get(key)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise self.error(key, f'has to be true or false, not {safe_repr(value)}')
        return value

    def number(self, key: str, default: float, low: float, high: float) -> float:
        """Return a number."""
        value = self._values.get(key)
        if value is None:
            return default
        if not _is_number(value) or not low <= float(value) <= high:  # type: ignore[arg-type]
            raise self.error(
                key, f'has to be a number from {low:g} to {high:g}, not {safe_repr(value)}'
            )
        return float(value)  # type: ignore[arg-type]

    def triple(self, key: str, unit: str) -> tuple[float, float, float]:
        """Return three numbers; zeros by default."""
        value = self._values.get(key)
        if value is None:
            return 0.0, 0.0, 0.0
        if not isinstance(value, list) or len(value) != 3 or not all(map(_is_number, value)):
            raise self.error(
                key, f'has to be three finite numbers [{unit}], not {safe_repr(value)}'
            )
        x, y, z = map(float, value)
        return x, y, z

    def section(self, key: str) -> CellSection:
        """Return a section of the section; an empty one by default."""
        inner = '.'.join(filter(None, [self._key, key]))
        values = self._values.get(key)
        return CellSection(self._file, self._arm, {} if values is None else values, inner)

    def items(self) -> Iterable[tuple[str, object]]:
        """Return all keys and values as they stand there."""
        return self._values.items()

    def numbers(self) -> dict[str, float]:
        """Return the values of all keys, which have to be finite numbers."""
        for key, value in self._values.items():
            if not _is_number(value):
                raise self.error(key, f'has to be a finite number, not {safe_repr(value)}')
        return {key: float(value) for key, value in self._values.items()}  # type: ignore[arg-type]

    def texts(self) -> dict[str, str]:
        """Return the values of all keys as texts, as the arguments of a xacro file are."""
        found = {}
        for key, value in self._values.items():
            if not isinstance(value, (str, bool, int, float)):
                raise self.error(key, f'has to be text or a number, not {safe_repr(value)}')
            found[key] = str(value).lower() if isinstance(value, bool) else str(value)
        return found


def _is_number(value: object) -> bool:
    plain = isinstance(value, (int, float)) and not isinstance(value, bool)
    try:
        return plain and math.isfinite(value)  # type: ignore[arg-type]
    except OverflowError:  # a whole number with hundreds of digits
        return False


@dataclass(frozen=True, eq=False)
class ArmEntry:
    """
    Arm of a cell, as its file describes it.

    :ivar namespace: absolute namespace of its nodes, such as ``/left``.
    :ivar prefix: prefix of the names of its links and joints, such as ``left_``.
    :ivar urdf: its URDF or xacro file.
    :ivar package_dirs: more folders in which the packages lie that meshes and xacro files name.
    :ivar srdf: its SRDF file; None without one.
    :ivar base_link: where its chain starts, without prefix; empty for the node's default.
    :ivar tip_link: where its chain ends, without prefix; empty for the node's default.
    :ivar T_world_root: (4, 4) pose of its root link [m]; None where the file gives none.
    :ivar simulate: whether it is a simulated one.
    :ivar initial_positions: where the simulated arm starts [rad] or [m], by joint without prefix.
    :ivar connection: how its node is connected with the arm.
    """

    name: str
    namespace: str
    prefix: str
    urdf: Path
    xacro_args: Mapping[str, str]
    package_dirs: tuple[Path, ...]
    srdf: Path | None
    base_link: str
    tip_link: str
    T_world_root: np.ndarray | None
    simulate: bool
    initial_positions: Mapping[str, float]
    connection: Connection
    parameters: Mapping[str, object]

    def resolved(self, name: str) -> str:
        """Absolute name of the node's topic or action; ValueError for an invalid one."""
        renamed = dict(self.connection.remappings).get(name, name)
        return expand_topic_name(renamed, NODE_NAME, self.namespace)

    @property
    def command_interface(self) -> str:
        """The command interface: the topic of its commands before it is remapped."""
        return str(self.connection.parameters.get('command_interface', SIMULATED[0]))


@dataclass(frozen=True)
class Cell:
    """Arms of a cell, over how many processes they spread, and rate of their frames [Hz]."""

    file: Path
    world: str
    processes: int
    frame_rate: float
    arms: tuple[ArmEntry, ...]

    def error(self, arm: str, key: str, reason: str) -> CellError:
        """Return an error about an arm of the file, or about the whole cell."""
        return CellError(self.file, arm, key, reason)


_OWN_KEYS = (
    'urdf', 'xacro_args', 'package_dirs', 'srdf', 'prefix', 'namespace', 'base', 'base_link',
    'tip_link', 'simulate', 'initial_positions', 'parameters',
)  # fmt: skip
_ARM_KEYS = (*_OWN_KEYS, *CONTROL_ARGUMENTS)
_SETTLED = {
    **dict.fromkeys(('urdf', 'robot_description', 'xacro_args'), 'urdf'),
    **dict.fromkeys(('srdf', 'robot_description_semantic'), 'srdf'),
    **{name: name for name in ('package_dirs', 'base_link', 'tip_link')},
    **{name: name for name in CONTROL_ARGUMENTS},
}
"""Parameters of the node that keys of the arm settle, and these keys."""

_PREFIX = re.compile(r'[A-Za-z0-9_/-]*')

MOST_ARMS = 64  # arms of a cell
ONE_PER_ARM = 'one_per_arm'

_LONGEST = 2**20  # of the file [byte]
_KEYS = ('world', 'simulate', 'processes', 'frame_rate', 'arms')
_NAME = re.compile(r'[A-Za-z][A-Za-z0-9_]*')

_COMMANDS, _STATES, _ACTION = 'command_topic', 'joint_states', 'trajectory_action'


def read_arm(arm: CellSection, name: str, simulated: bool, forced: bool | None = None) -> ArmEntry:
    """Read an arm, simulated by default or forced; CellError for what cannot be."""
    arm.refuse_others(_ARM_KEYS)
    prefix = arm.text('prefix', f'{name}_')
    if not _PREFIX.fullmatch(prefix):
        raise arm.error('prefix', f'{quote(prefix)} has more than letters, digits, _, / and -')
    urdf = _path(arm, 'urdf')
    if urdf is None:
        raise arm.error('urdf', 'is missing; it is the path of a URDF or xacro file')
    simulated = arm.flag('simulate', simulated)
    if not simulated and forced is None and 'initial_positions' in arm:
        raise arm.error('initial_positions', 'is for simulated arms; set simulate to true')
    simulated = simulated if forced is None else forced
    return ArmEntry(
        name,
        _namespace(arm, arm.text('namespace', name)),
        prefix,
        urdf,
        arm.section('xacro_args').texts(),
        _folders(arm, 'package_dirs'),
        _path(arm, 'srdf'),
        arm.text('base_link'),
        arm.text('tip_link'),
        _base(arm.section('base')) if 'base' in arm else None,
        simulated,
        arm.section('initial_positions').numbers(),
        _connection(arm, simulated),
        _unsettled(arm.section('parameters')),
    )


def _namespace(arm: CellSection, text: str) -> str:
    namespace = '/' + '/'.join(part for part in text.split('/') if part)
    try:
        validate_namespace(namespace)
    except InvalidNamespaceException as error:
        reason = f'{quote(text)} is none: {name_fault(error)}'
        raise arm.error('namespace', reason) from error
    return namespace


def _path(arm: CellSection, key: str) -> Path | None:
    text = arm.text(key)
    if not text:
        return None
    path = Path(os.path.expanduser(_in_package(arm, key, text)))
    return path if path.is_absolute() else arm.folder / path


def _folders(arm: CellSection, key: str) -> tuple[Path, ...]:
    """Return the folders of a text with ':' between them, relative to that of the file."""
    places = (os.path.expanduser(place.strip()) for place in arm.text(key).split(os.pathsep))
    return tuple(arm.folder / place for place in places if place)


def _in_package(arm: CellSection, key: str, text: str) -> str:
    """Return the path that ``package://<package>/<path>`` stands for; others as they are."""
    if not text.startswith('package://'):
        return text
    from ament_index_python.packages import get_package_share_directory

    package, _, inside = text.removeprefix('package://').partition('/')
    try:
        return str(Path(get_package_share_directory(package)) / inside)
    except (LookupError, ValueError) as error:
        raise arm.error(key, f'the package {quote(package)} is not installed') from error


def _base(base: CellSection) -> np.ndarray:
    base.refuse_others(('xyz', 'rpy'))
    T = transform_from_xyz_rpy(base.triple('xyz', 'm'), base.triple('rpy', 'rad'))
    T.setflags(write=False)
    return T


def _connection(arm: CellSection, simulated: bool) -> Connection:
    given = {key: _as_argument(arm, key) for key in CONTROL_ARGUMENTS if key in arm}
    if simulated and given.get('command_interface', SIMULATED[0]) not in SIMULATED:
        reason = f'a simulated arm takes {" or ".join(SIMULATED)}'
        raise arm.error('command_interface', reason)
    if given.get('joint_limits'):
        given['joint_limits'] = str(_path(arm, 'joint_limits'))
    try:
        return connection(given, {})
    except ArgumentError as error:
        raise arm.error(error.argument, error.reason) from error


def _as_argument(arm: CellSection, key: str) -> str:
    """Return a value as launch files are given it."""
    value = arm.value(key)
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return ','.join(value)
    if not isinstance(value, (str, bool, int, float)):
        raise arm.error(
            key, f'has to be text, a number or a list of names, not {safe_repr(value)}'
        )
    return str(value).lower() if isinstance(value, bool) else str(value)


def _unsettled(section: CellSection) -> dict[str, object]:
    """Return parameters, none of which another key of the arm settles."""
    try:
        found = _parameters(section)
    except RecursionError as error:
        raise section.error('', 'contains itself') from error
    for name in found:
        if name in _SETTLED:
            raise section.error(name, f'is settled by the key {_SETTLED[name]} of the arm')
    return found


def _parameters(section: CellSection) -> dict[str, object]:
    """Return parameters by their full names, which the file may nest."""
    found: dict[str, object] = {}
    for key, value in section.items():
        if isinstance(value, Mapping):
            inner = _parameters(section.section(key))
            named = {f'{key}.{name}': entry for name, entry in inner.items()}
        elif not isinstance(value, (str, bool, int, float, list)):
            raise section.error(key, f'{safe_repr(value)} is no value of a parameter')
        else:
            named = {key: _items(section, key, value) if isinstance(value, list) else value}
        for name in found.keys() & named:
            raise section.error(name, 'stands twice, once nested')
        found |= named
    return found


def _items(section: CellSection, key: str, values: list[object]) -> list[object]:
    """Return the items of a list, which have to be of one kind; 1 among 0.5 is 1.0."""
    kinds = {type(value) for value in values}
    if kinds == {int, float}:
        try:
            return [float(value) for value in values]  # type: ignore[arg-type]
        except OverflowError as error:
            raise section.error(key, f'{safe_repr(values)} holds too great a number') from error
    if len(kinds) > 1 or not kinds <= {str, bool, int, float}:
        reason = 'has to hold only numbers, only texts, or only true and false'
        raise section.error(key, f'{reason}, not {safe_repr(values)}')
    return values


def read_cell(
    file: str | os.PathLike[str], simulate: bool | None = None, processes: object = None
) -> Cell:
    """
    Read a cell file; whether its robots go together is seen where they are read.

    :param simulate: whether all its arms are simulated ones; None for the file's choice.
    :param processes: over how many processes its arms are spread, or :data:`ONE_PER_ARM`; None
        for the file's choice.
    :raises CellError: it cannot be read, a key is unknown, missing or given twice, or a value
        cannot be; or two arms have the same namespace, or one inside that of the other, or take
        their commands on the same topic.
    """
    path = Path(os.path.expanduser(file)).absolute()
    cell = CellSection(path, '', _loaded(path))
    cell.refuse_others(_KEYS)
    entries = [*cell.section('arms').items()]
    if not 1 <= len(entries) <= MOST_ARMS:
        raise cell.error('arms', f'has to hold 1 to {MOST_ARMS} arms, not {len(entries)}')
    simulated = cell.flag('simulate', False)
    for name, _ in entries:
        if not _NAME.fullmatch(name):
            reason = 'is no name: letters, digits and underscores, a letter first'
            raise CellError(path, name, '', reason)
    arms = [
        read_arm(CellSection(path, name, values), name, simulated, simulate)
        for name, values in entries
    ]
    world = cell.text('world', 'world').lstrip('/')
    if not world:
        raise cell.error('world', 'is empty; it is the name of a frame')
    rate = cell.number('frame_rate', 20.0, 1.0, 500.0)
    count = _processes(
        cell, cell.value('processes') if processes is None else processes, len(arms)
    )
    read = Cell(path, world, count, rate, tuple(arms))
    check_topics(read)
    return read


class _UniqueKeys(yaml.SafeLoader):
    """Loader that refuses a key that stands twice, of which YAML would keep the last."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._checked: set[yaml.MappingNode] = set()

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        """Check the keys as they stand in the file, before those of ``<<`` come to them."""
        if node not in self._checked:  # a section that others merge comes here again
            self._checked.add(node)
            self._check(node)
        super().flatten_mapping(node)

    def _check(self, node: yaml.MappingNode) -> None:
        seen: list[object] = []
        for key_node, _ in node.value:
            merges = key_node.tag == 'tag:yaml.org,2002:merge'
            key = '<<' if merges else self.construct_object(key_node, deep=True)
            if key in seen:
                several = '; of several sections: <<: [*one, *other]' if merges else ''
                problem = f'the key {safe_repr(key)} stands twice{several}'
                mark = key_node.start_mark
                raise yaml.constructor.ConstructorError(None, None, problem, mark)
            seen.append(key)


def _loaded(path: Path) -> object:
    try:
        return yaml.load(read_regular(path, _LONGEST).decode('utf-8'), Loader=_UniqueKeys)
    except (OSError, yaml.YAMLError, ValueError, RecursionError) as error:
        raise CellError(path, '', '', file_fault(error)) from error


def _processes(cell: CellSection, value: object, arms: int) -> int:
    if value == ONE_PER_ARM:
        return arms
    if value is None:
        return 1
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        reason = f'has to be a whole number from 1 on or {ONE_PER_ARM}, not {safe_repr(value)}'
        raise cell.error('processes', reason)
    return min(value, arms)


def check_topics(cell: Cell) -> None:
    """
    Refuse namespaces that contain each other, and topics and actions that arms may not share.

    That is commands to the same topic or action, or as joint states.
    """
    taken = {(_ACTION, arm.resolved(TRAJECTORY_ACTION)): arm.name for arm in cell.arms}
    for i, arm in enumerate(cell.arms):
        for other in cell.arms[:i]:
            _check_namespaces(cell, arm, other)
        for key, name in _moved_by(cell, arm):
            owner = taken.setdefault((key, name), arm.name)
            if owner != arm.name:
                reason = f'{name} moves the arm {quote(owner)}, too'
                raise cell.error(arm.name, key, reason)
    for arm in cell.arms:
        name = arm.resolved(_STATES)
        if (_COMMANDS, name) in taken:
            reason = f'{name} holds the commands of the arm {quote(taken[_COMMANDS, name])}'
            raise cell.error(arm.name, _STATES, reason)


def check_robots(cell: Cell, robots: Mapping[str, RobotModel]) -> None:
    """Refuse links of one name in two arms, and joints of one name on one topic of states."""
    links: dict[str, str] = {}
    joints: dict[tuple[str, str], str] = {}
    for arm in cell.arms:
        for link in robots[arm.name].links:
            owner = links.setdefault(link, arm.name)
            if owner != arm.name and link != cell.world:
                reason = _both(arm, f'link {quote(link)}', owner, 'in tf')
                raise cell.error(arm.name, 'prefix', reason)
        topic = arm.resolved(_STATES)
        for joint in robots[arm.name].movable_joint_names:
            owner = joints.setdefault((topic, joint), arm.name)
            if owner != arm.name:
                reason = _both(arm, f'joint {quote(joint)}', owner, f'on {topic}')
                raise cell.error(arm.name, _STATES, reason)


def _both(arm: ArmEntry, part: str, owner: str, place: str) -> str:
    kept = f'the prefix {quote(arm.prefix)}' if arm.prefix else 'no prefix'
    return (
        f'with {kept}, the {part} is also one of the arm {quote(owner)}, and they meet {place}; '
        'give one of them another prefix'
    )


def _check_namespaces(cell: Cell, arm: ArmEntry, other: ArmEntry) -> None:
    mine, others = arm.namespace.rstrip('/') + '/', other.namespace.rstrip('/') + '/'
    if mine == others:
        reason = f'{arm.namespace} is that of the arm {quote(other.name)}, too'
    elif mine.startswith(others) or others.startswith(mine):
        reason = f'{arm.namespace} and {other.namespace} of the arm {quote(other.name)} overlap'
    else:
        return
    raise cell.error(arm.name, 'namespace', f'{reason}; each arm needs one of its own')


def _moved_by(cell: Cell, arm: ArmEntry) -> list[tuple[str, str]]:
    """Return the topic and the action that move an arm, by the keys that name them."""
    action = arm.connection.parameters.get(_ACTION, '')
    names = {_COMMANDS: arm.command_interface, _STATES: _STATES, _ACTION: str(action)}
    found = {}
    for key, name in names.items():
        try:
            found[key] = arm.resolved(name) if name else ''
        except ValueError as error:
            reason = f'is no name: {str(error).partition(", at ")[0]}'  # without a place in C
            raise cell.error(arm.name, key, reason) from error
    return [(key, name) for key, name in found.items() if name and key != _STATES]
