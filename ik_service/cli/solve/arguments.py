"""Command line of ``ik_solve``."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from ik_service.cli.solve.help_text import DESCRIPTION, epilog
from ik_service.cli.solve.options import UsageError
from ik_service.cli.solve.path_arguments import add_path_options, check_path
from ik_service.cli.solve.robot_arguments import (
    add_robot_options,
    is_number,
    number,
    Parser,
)
from ik_service.solvers.registration import load_solvers
from ik_service.solvers.registry import DEFAULT_SOLVER, solver_names

ALL = 'all'


def parse(words: Sequence[str]) -> argparse.Namespace:
    """
    Parse a command line.

    :param words: the words after the program's name.
    :raises UsageError: the command line is invalid.
    :raises SystemExit: it asked for help, which is printed.
    """
    _load_solvers(words)
    # argparse takes -1e-3 and -inf for options, but no word that starts with a space.
    arguments = _parser().parse_args([f' {w}' if is_number(w) else w for w in words])
    arguments.seed = _posture(arguments.seed, '--seed')
    arguments.end = _posture(arguments.end, '--end')
    check_path(arguments)
    _check(arguments)
    return arguments


def _load_solvers(words: Sequence[str]) -> None:
    """Register the solvers that the command line names, so that --solver knows them."""
    parser = Parser(add_help=False, allow_abbrev=False)
    parser.add_argument('--load', action='append', default=[])
    load_solvers(parser.parse_known_args(words)[0].load)


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog='ik_solve',
        usage='ik_solve URDF (--xyz X Y Z [--rpy … | --quaternion …] | --joints Q … | --random | '
        '--path FILE) [options]',
        description=DESCRIPTION,
        epilog=epilog(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add_robot_options(parser.add_argument_group('robot'))
    _add_target(parser.add_argument_group('target, one of --xyz, --joints, --random and --path'))
    _add_search(parser.add_argument_group('search'))
    add_path_options(parser.add_argument_group('path, with --path'), number)
    _add_output(parser.add_argument_group('output'))
    return parser


def _add_target(group: argparse._ArgumentGroup) -> None:
    which = group.add_mutually_exclusive_group(required=True)
    which.add_argument('--xyz', nargs=3, type=number, metavar=('X', 'Y', 'Z'), help='position [m]')
    which.add_argument(
        '--joints',
        nargs='+',
        type=number,
        metavar='Q',
        help='the pose that these joint values give [rad or m], base to tip',
    )
    which.add_argument(
        '--random',
        nargs='?',
        type=_whole,
        const=0,
        metavar='SEED',
        help='the pose of a random posture within the limits (default seed: %(const)s)',
    )
    which.add_argument(
        '--path',
        type=Path,
        metavar='FILE',
        help='a whole path, without a jump: a CSV file of poses, see below',
    )
    how = group.add_mutually_exclusive_group()
    how.add_argument(
        '--rpy',
        nargs=3,
        type=number,
        metavar=('ROLL', 'PITCH', 'YAW'),
        help='orientation for --xyz, about the fixed axes x, y, z, as in a URDF, but in DEGREES; '
        'without --rpy and --quaternion the orientation is free',
    )
    how.add_argument(
        '--quaternion',
        nargs=4,
        type=number,
        metavar=('X', 'Y', 'Z', 'W'),
        help='orientation for --xyz, the scalar part last, as in ROS',
    )
    group.add_argument(
        '--position-only',
        action='store_true',
        help='leave the orientation free, even where one is given',
    )


def _add_search(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        '--seed',
        nargs='+',
        metavar='Q',
        help='start of the search [rad or m], or the name of a state of the group, such as ready',
    )
    group.add_argument(
        '--solver',
        choices=(*solver_names(), ALL),
        default=DEFAULT_SOLVER,
        metavar='NAME',
        help=f'a method of the list below, or "{ALL}" to compare them (default: %(default)s)',
    )
    group.add_argument(
        '--avoid-collisions',
        action='store_true',
        help='take only solutions at which the robot does not collide with itself, by the '
        'collision shapes of its description (needs the extra "collision")',
    )
    group.add_argument(
        '--all',
        action='store_true',
        help='print all solutions instead of one, nearest to the seed first; of a redundant arm '
        'those that cover its self-motions',
    )
    group.add_argument(
        '--resolution',
        type=number,
        metavar='R',
        help='with --all: largest joint difference between a posture on a self-motion and the '
        'nearest solution [rad or m] (default: 0.5)',
    )
    group.add_argument(
        '--load',
        action='append',
        metavar='MODULE',
        help='import a Python module that registers a solver of your own; for one in this folder, '
        'start with PYTHONPATH=. ik_solve',
    )
    group.add_argument(
        '--set',
        nargs='+',
        action='extend',
        default=[],
        metavar='OPTION=VALUE',
        help='options of the solver, see below; "none" stands for the method\'s own default',
    )


def _add_output(group: argparse._ArgumentGroup) -> None:
    group.add_argument('--trace', action='store_true', help='show the iterations')
    group.add_argument(
        '--plot', type=Path, metavar='FILE.png', help='draw errors, joints and the arm'
    )
    group.add_argument(
        '--json',
        action='store_true',
        help='print everything as JSON (with --trace: every iteration)',
    )


def _check(arguments: argparse.Namespace) -> None:
    """Check combinations of options, which argparse cannot."""
    if arguments.group is not None and (arguments.base_link or arguments.tip_link):
        raise UsageError('--group brings its own links: leave out --base-link and --tip-link')
    for name in ('rpy', 'quaternion'):
        if getattr(arguments, name) is not None and arguments.xyz is None:
            raise UsageError(
                f'--{name} goes with --xyz; other targets bring their own orientation'
            )
    if arguments.all:
        for name, given in (('--trace', arguments.trace), ('--plot', arguments.plot is not None),
                            ('--solver', arguments.solver != DEFAULT_SOLVER),
                            ('--avoid-collisions', arguments.avoid_collisions)):  # fmt: skip
            if given:
                raise UsageError(f'{name} is for one solution, not for --all')
    elif arguments.resolution is not None:
        raise UsageError('--resolution goes with --all')
    if arguments.trace and arguments.solver == ALL and not arguments.json:
        raise UsageError(f'--trace shows one method: name it instead of {ALL}, or add --json')
    if arguments.plot is not None and arguments.plot.suffix.lower() != '.png':
        raise UsageError(f'--plot: the file has to end in .png, not {str(arguments.plot)!r}')
    if arguments.plot is not None and not arguments.plot.absolute().parent.is_dir():
        raise UsageError(f'--plot: there is no folder {str(arguments.plot.parent)!r}')


def _posture(words: list[str] | None, option: str) -> list[float] | str | None:
    """Return the numbers of a posture, or the single word that names a state."""
    if words is None:
        return None
    if len(words) == 1 and not is_number(words[0]):
        return words[0]
    try:
        return [number(word) for word in words]
    except argparse.ArgumentTypeError as error:
        raise UsageError(f'argument {option}: {error}') from error


def _whole(text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        value = -1
    if value < 0:
        raise argparse.ArgumentTypeError(
            f'{text.strip()!r} is no whole number of at least 0 (the URDF comes first)'
        )
    return value
