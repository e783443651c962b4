"""Options of a command line that name a robot, and the parser of ``ik_solve`` and ``ik_place``."""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import NoReturn

from ik_service.cli.solve.options import UsageError
from ik_service.common.resources import share_folder
from ik_service.model.package_folders import PACKAGE_DIRS_HELP
from ik_service.model.xacro_file import XACRO_HELP

_LARGEST = 1e9  # of any number [m] or [rad]: far beyond use


class Parser(argparse.ArgumentParser):
    """Parser that raises a :class:`UsageError` instead of ending the program."""

    def error(self, message: str) -> NoReturn:  # noqa: D102
        raise UsageError(message)


def add_robot_options(group: argparse._ArgumentGroup) -> None:
    """
    Add the options that name a robot and a chain of it.

    :param group: of the command line.
    """
    group.add_argument(
        'urdf',
        metavar='URDF',
        help=f'a URDF or xacro file, or an arm of this package: {", ".join(our_arms())}',
    )
    group.add_argument('--xacro-args', default='', metavar='TEXT', help=XACRO_HELP)
    group.add_argument('--package-dirs', default='', metavar='PATHS', help=PACKAGE_DIRS_HELP)
    group.add_argument('--base-link', metavar='LINK', help="default: the robot's root")
    group.add_argument('--tip-link', metavar='LINK', help='default: the tool of the arm')
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


def our_arms() -> tuple[str, ...]:
    """Return the names of the arms that come with the package, sorted."""
    return tuple(sorted(file.stem for file in share_folder('urdf').glob('*.urdf')))


def number(text: str) -> float:
    """
    Read a number.

    :param text: a word of the command line.
    :raises ArgumentTypeError: it is none, or far beyond use.
    """
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not abs(value) <= _LARGEST:
        raise argparse.ArgumentTypeError(f'{text.strip()!r} is no number up to {_LARGEST:g}')
    return value


def is_number(word: str) -> bool:
    """
    Return whether a word is a number, also one that argparse would take for an option.

    :param word: of the command line.
    """
    try:
        float(word)
    except ValueError:
        return False
    return True
