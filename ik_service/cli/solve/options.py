"""Options of a command line that name a robot or settings of a solver, and what they give."""

from __future__ import annotations

import argparse
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
import inspect
import os
from pathlib import Path
import re
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints, NoReturn, Union

import numpy as np

from ik_service.cli.parser import Parser
from ik_service.common.arguments import parse_positions, to_number
from ik_service.common.files import whole_file
from ik_service.common.quoting import listed
from ik_service.common.resources import share_folder, urdf_path
from ik_service.exceptions import (
    ArgumentError,
    ChainError,
    IkServiceError,
    OptionError,
    RobotDescriptionError,
    UnknownOptionError,
    UnknownStateError,
)
from ik_service.kinematics.chain import KinematicChain
from ik_service.model.joint import JointType
from ik_service.model.package_folders import PACKAGE_DIRS_HELP, parse_package_dirs
from ik_service.model.xacro_file import parse_xacro_args, XACRO_HELP
from ik_service.robot import Robot
from ik_service.solvers.options import IkOptions

OPTION_NAMES = tuple(field.name for field in fields(IkOptions))
_FIELD = re.compile(r'^:param (\w+): (.*?)(?=^:|\Z)', re.MULTILINE | re.DOTALL)
_TRUTH = {'true': True, 'yes': True, '1': True, 'false': False, 'no': False, '0': False}


class UsageError(IkServiceError, ValueError):
    """Invalid command line."""


@contextmanager
def named_as(**options: str) -> Iterator[None]:
    """
    Name arguments at fault as the user has typed them.

    :param options: the option of the command line by argument.
    :raises UsageError: in place of an ArgumentError of one of these arguments.
    """
    try:
        yield
    except ArgumentError as error:
        if error.argument not in options:
            raise
        raise UsageError(f'{options[error.argument]}: {error.reason}') from error


def read_settings(words: Sequence[str]) -> dict[str, Any]:
    """
    Read options such as ``timeout=0.1``.

    :returns: the values by option, of the type that the option has.
    :raises UsageError: a word is no option with a value, or an option stands twice.
    :raises UnknownOptionError: there is no such option; lists those there are.
    :raises OptionError: a value is not of the option's type.
    """
    values: dict[str, Any] = {}
    for word in words:
        name, equals, text = word.partition('=')
        if name not in OPTION_NAMES and equals:
            raise UnknownOptionError(name, OPTION_NAMES)
        if not equals:
            raise UsageError(f'--set takes OPTION=VALUE, such as timeout=0.1, not {word!r}')
        if name in values:
            raise UsageError(f'--set names {name} twice')
        values[name] = _value(name, text.strip())
    return values


def option_texts() -> dict[str, str]:
    """Return the meaning and default of each option by its name, in the order of ``IkOptions``."""
    meanings = {
        name: ' '.join(text.replace('``', '').split()).rstrip('.')
        for name, text in _FIELD.findall(inspect.getdoc(IkOptions) or '')
    }
    return {
        field.name: f'{meanings.get(field.name, "")} (default: {default_text(field.default)})'
        for field in fields(IkOptions)
    }


def default_text(value: object) -> str:
    """Return a value as ``--set`` takes it."""
    if value is None:
        return "the method's own"
    if isinstance(value, tuple):
        return ','.join(f'{number:g}' for number in value)
    return str(value).lower() if isinstance(value, bool) else f'{value}'


def _value(name: str, text: str) -> object:
    """Read a value by the first of the option's types that takes it."""
    kinds = _kinds(get_type_hints(IkOptions)[name])
    if NoneType in kinds and text.lower() in ('none', 'default'):
        return None
    readers = [reader for kind, reader in _READERS.items() if kind in kinds] or [(str, 'text')]
    for read, _ in readers:
        try:
            return read(text)
        except (KeyError, ValueError):
            continue
    wanted = ' or '.join(description for _, description in readers)
    raise OptionError(name, f'has to be {wanted}, not {text!r}')


def _kinds(hint: object) -> set[object]:
    if get_origin(hint) in (Union, UnionType):
        return set().union(*map(_kinds, get_args(hint)))
    kind = get_origin(hint) or hint
    if isinstance(kind, type) and issubclass(kind, Sequence) and kind is not str:
        return {tuple}
    return {kind}


_READERS: dict[object, tuple[Callable[[str], object], str]] = {
    bool: (lambda text: _TRUTH[text.lower()], 'true or false'),
    int: (int, 'a whole number'),
    float: (float, 'a number'),
    tuple: (
        lambda text: tuple(map(float, text.replace(',', ' ').split())),
        'numbers with commas between them',
    ),
    Path: (Path, 'a path'),
    str: (str, 'text'),
}


_LARGEST = 1e9  # of any number [m] or [rad]: far beyond use


class NumberParser(Parser):
    """Parser that takes negative numbers, and raises a :class:`UsageError`."""

    def parse_args(self, args, namespace=None):  # type: ignore[override]  # noqa: ANN001,ANN201,D102
        # argparse takes -1e-3 and -inf for options, but no word that starts with a space.
        words = [f' {word}' if is_number(word) else word for word in args]
        return super().parse_args(words, namespace)

    def error(self, message: str) -> NoReturn:  # noqa: D102
        raise UsageError(message)


def add_robot_options(group: argparse._ActionsContainer) -> None:
    """Add the options that name a robot and a chain of it."""
    group.add_argument(
        'urdf',
        metavar='URDF',
        help=f'a URDF or xacro file, or an arm of this package: {", ".join(our_arms())}',
    )
    add_description_options(group)
    group.add_argument(
        '--group',
        metavar='NAME',
        help='base and tip of a planning group: of the SRDF, or else of the maker of the arm',
    )
    group.add_argument(
        '--srdf',
        type=Path,
        metavar='FILE',
        help='an SRDF or xacro file, which names planning groups and their states; its first '
        'group is the default',
    )
    group.add_argument(
        '--lock',
        nargs='+',
        action='extend',
        default=[],
        metavar='JOINT=VALUE',
        help='joints that do not move, and their values [rad or m]',
    )


def add_description_options(group: argparse._ActionsContainer) -> None:
    """Add the options that say how a robot's file is read, and name the links of a chain."""
    group.add_argument('--xacro-args', default='', metavar='TEXT', help=XACRO_HELP)
    group.add_argument('--package-dirs', default='', metavar='PATHS', help=PACKAGE_DIRS_HELP)
    group.add_argument('--base-link', metavar='LINK', help="default: the robot's root")
    group.add_argument('--tip-link', metavar='LINK', help='default: the tool of the arm')


def described_robot(path: Path, arguments: Namespace, srdf: Path | None = None) -> Robot:
    """
    Read the file of a robot.

    :param path: a URDF or xacro file.
    :param arguments: with the options of :func:`add_description_options`.
    :param srdf: an SRDF or xacro file, for which the same arguments are; None for none.
    :raises IkServiceError: an option or a file, which is named, is faulty.
    """
    xacro_args = parse_xacro_args(arguments.xacro_args, '--xacro-args')
    folders = parse_package_dirs(arguments.package_dirs)
    try:
        return Robot.from_urdf(path, xacro_args, srdf, folders)
    except RobotDescriptionError as error:
        raise UsageError(str(error)) from error


def our_arms() -> tuple[str, ...]:
    """Return the names of the arms that come with the package, sorted."""
    return tuple(sorted(file.stem for file in share_folder('urdf').glob('*.urdf')))


def number(text: str) -> float:
    """Read a number; raises ArgumentTypeError if it is none, or far beyond use."""
    value = to_number(text)
    if not abs(value) <= _LARGEST:
        raise argparse.ArgumentTypeError(f'{text.strip()!r} is no number up to {_LARGEST:g}')
    return value


def check_written(option: str, file: Path | None, suffix: str, poses: Path | None = None) -> None:
    """
    Check a file that will be written.

    :param option: the option that names it.
    :param file: the file; None where the option is not given.
    :param suffix: how its name has to end.
    :param poses: the file of poses that is read; None for none.
    :raises UsageError: it ends in another way, there is no such folder, or it is that file.
    """
    if file is None:
        return
    if poses is not None and os.path.realpath(file) == os.path.realpath(poses):
        raise UsageError(f'{option}: {file} is the file of the poses')
    if file.suffix.lower() != suffix:
        raise UsageError(f'{option}: the file has to end in {suffix}, not {str(file)!r}')
    if not os.path.isdir(file.absolute().parent):
        raise UsageError(f'{option}: there is no folder {str(file.parent)!r}')


def write_files(
    arguments: Namespace, writers: Mapping[str, tuple[str, Callable[[Path], object]]]
) -> None:
    """
    Write files that options name, whole or not at all; print which, unless with ``--json``.

    :param writers: for each option the label of its file, and what writes it.
    :raises UsageError: a file cannot be written.
    """
    written = []
    for option, (label, write) in writers.items():
        file = getattr(arguments, option)
        if file is None:
            continue
        try:
            with whole_file(file) as part:
                write(part)
        except OSError as error:
            raise UsageError(f'--{option}: {file} cannot be written: {error.strerror}') from error
        written.append(f'{label:<10}{file}')
    if written and not arguments.json:
        print('\n'.join(['', *written]))


def make_folder(option: str, path: Path) -> None:
    """Make the folder that an option names, if need be; UsageError if it cannot be one."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        fault = f'{str(path)!r} is no folder and cannot be made one: {error.strerror}'
        raise UsageError(f'{option}: {fault}') from error


def is_number(word: str) -> bool:
    """Return whether a word is a number, also one that argparse would take for an option."""
    try:
        float(word)
    except ValueError:
        return False
    return True


@dataclass(frozen=True)
class ArmRequest:
    """Arm of a request."""

    chain: KinematicChain
    urdf: Path

    @property
    def slides(self) -> tuple[bool, ...]:
        """(n,) Whether each of the chain's joints is prismatic."""
        joints = self.chain.robot.joints
        return tuple(joints[name].type is JointType.PRISMATIC for name in self.chain.joint_names)


def read_chain(arguments: Namespace) -> tuple[Path, KinematicChain]:
    """Read the robot of a command line; raises IkServiceError for a fault, or no such link."""
    path, tip, group = Path(arguments.urdf), arguments.tip_link, arguments.group
    if group is not None and (arguments.base_link or tip):
        raise UsageError('--group brings its own links: leave out --base-link and --tip-link')
    if arguments.urdf in our_arms() and not path.is_file():
        path = urdf_path(arguments.urdf)
    elif not os.path.exists(arguments.urdf):  # an empty Path would be the current folder
        raise UsageError(
            f'there is no file {arguments.urdf!r}, and of our own arms none has that name: '
            + ', '.join(our_arms())
        )
    robot = described_robot(path, arguments, arguments.srdf)
    default = robot.default_group  # as in the node
    if group is None and default and not (arguments.base_link or tip):
        group = default.name
    try:
        locked = parse_positions(','.join(arguments.lock), '--lock')
    except OptionError as error:
        raise UsageError(str(error)) from error
    if group is not None:
        return path, _chain_of(robot, group, locked)
    if tip is None:
        try:
            tip = robot.default_tip(arguments.base_link)
        except ChainError as error:
            raise UsageError(f'{error} (--tip-link)') from error
    try:
        return path, robot.chain(arguments.base_link, tip, locked)
    except ChainError as error:
        raise UsageError(str(error)) from error


def named_seed(chain: KinematicChain, name: str) -> np.ndarray:
    """
    Return the posture of a named state; joints that it does not name are in mid-range.

    :returns: (n,) [rad] or [m].
    :raises UnknownStateError: no group has such a state for the joints of the chain; lists those
        there are.
    """
    robot = chain.robot
    states = robot.named_states(chain.joint_names) if isinstance(robot, Robot) else {}
    if name not in states:
        raise UnknownStateError(name, states)
    return chain.joint_vector(states[name])


def _chain_of(robot: Robot, group: str, locked: dict[str, float]) -> KinematicChain:
    chain = robot.group(group, locked)
    if isinstance(chain, KinematicChain):
        return chain
    raise UsageError(
        f'--group: {group!r} has several tips, and one is solved for here: name it with '
        f'--tip-link: {listed(map(str, chain.tips))}'
    )
