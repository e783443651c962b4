"""Command line of ``ik_solve``, with its help text."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
import math
from pathlib import Path
import textwrap
from typing import NoReturn

from ik_service.cli.solve.options import option_texts, UsageError
from ik_service.common.resources import share_folder
from ik_service.model.xacro_arguments import XACRO_HELP
from ik_service.solvers.registration import load_solvers
from ik_service.solvers.registry import DEFAULT_SOLVER, solver_names, solver_spec

ALL = 'all'
_LARGEST = 1e9  # of any number [m] or [rad]: far beyond use

_DESCRIPTION = """
Inverse kinematics of one pose, for any URDF or xacro file: prints the joint values that put the
tip of an arm there, their errors, and on request every iteration of the solver.

Lengths are in metres. Joint values are in radians, those of sliding joints in metres, as in the
URDF. Only --rpy is in degrees. Poses are those of the tip link in the frame of the base link.
"""

_WORDS = """
terms:
  seed      Joint values at which the search starts. Most poses have several solutions; one near
            the seed is found. Give the arm's present joint values to get a solution close to
            them. The default is the middle of the joint limits. A seed outside the limits is
            brought inside.
  limits    Every solution lies within the joint limits of the URDF, unless
            --set joint_limits=ignore. "To the limit" in the table is the distance to the nearer
            limit.
  search    A method iterates from a start towards the target. Where it gets stuck, another
            search starts from a random posture. The same command always gives the same result;
            --set random_seed=1 gives other random postures.
  solved    Position and orientation are within tolerance, by the forward kinematics of the
            result, and all joints are within their limits. Otherwise the closest pose found is
            printed.
  time      That of a second call. The first one loads (on a new machine: compiles) the solver.
"""

_EXAMPLES = """
examples:
  ik_solve panda --xyz 0.4 0.1 0.5 --rpy 180 0 0
  ik_solve panda --xyz 0.4 0.1 0.5                   position only
  ik_solve ur5e --random 7 --plot ur5e.png           a random reachable pose, with a figure
  ik_solve ur5e --random 7 --solver all              every method on the same pose
  ik_solve panda --joints 0 -0.8 0 -2.4 0 1.6 0.8 --seed 0 0 0 -1 0 1 0 --trace
  ik_solve my_robot.urdf --base-link base --tip-link tool0 --lock torso=0.1 \\
           --xyz 0.3 0 0.4 --quaternion 1 0 0 0 --set timeout=0.05 prefer=nearest --json

exit code: 0 solved (with --solver all: by at least one), 1 not solved, 2 the command is wrong.
"""


def parse(words: Sequence[str]) -> argparse.Namespace:
    """
    Parse a command line.

    :param words: the words after the program's name.
    :raises UsageError: the command line is invalid.
    :raises SystemExit: it asked for help, which is printed.
    """
    _load_solvers(words)
    # argparse takes -1e-3 and -inf for options, but no word that starts with a space.
    arguments = _parser().parse_args([f' {w}' if _is_number(w) else w for w in words])
    _check(arguments)
    return arguments


def _load_solvers(words: Sequence[str]) -> None:
    """Register the solvers that the command line names, so that --solver knows them."""
    parser = _Parser(add_help=False, allow_abbrev=False)
    parser.add_argument('--load', action='append', default=[])
    load_solvers(parser.parse_known_args(words)[0].load)


def our_arms() -> tuple[str, ...]:
    """Return the names of the arms that come with the package, sorted."""
    return tuple(sorted(file.stem for file in share_folder('urdf').glob('*.urdf')))


class _Parser(argparse.ArgumentParser):
    """Parser that raises a :class:`UsageError` instead of ending the program."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(message)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog='ik_solve',
        usage='ik_solve URDF (--xyz X Y Z [--rpy … | --quaternion …] | --joints Q … | --random) '
        '[options]',
        description=_DESCRIPTION,
        epilog=f'{_WORDS}\n{_solver_lines()}\n{_option_lines()}\n{_EXAMPLES}',
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    _add_robot(parser.add_argument_group('robot'))
    _add_target(parser.add_argument_group('target, one of --xyz, --joints and --random'))
    _add_search(parser.add_argument_group('search'))
    _add_output(parser.add_argument_group('output'))
    return parser


def _add_robot(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        'urdf',
        metavar='URDF',
        help=f'a URDF or xacro file, or an arm of this package: {", ".join(our_arms())}',
    )
    group.add_argument('--xacro-args', default='', metavar='TEXT', help=XACRO_HELP)
    group.add_argument('--base-link', metavar='LINK', help="default: the robot's root")
    group.add_argument('--tip-link', metavar='LINK', help='default: the tool')
    group.add_argument(
        '--lock',
        nargs='+',
        action='extend',
        default=[],
        metavar='JOINT=VALUE',
        help='joints that do not move, and their values [rad or m]',
    )


def _add_target(group: argparse._ArgumentGroup) -> None:
    which = group.add_mutually_exclusive_group(required=True)
    which.add_argument(
        '--xyz', nargs=3, type=_number, metavar=('X', 'Y', 'Z'), help='position [m]'
    )
    which.add_argument(
        '--joints',
        nargs='+',
        type=_number,
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
    how = group.add_mutually_exclusive_group()
    how.add_argument(
        '--rpy',
        nargs=3,
        type=_number,
        metavar=('ROLL', 'PITCH', 'YAW'),
        help='orientation for --xyz, about the fixed axes x, y, z, as in a URDF, but in DEGREES; '
        'without --rpy and --quaternion the orientation is free',
    )
    how.add_argument(
        '--quaternion',
        nargs=4,
        type=_number,
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
        '--seed', nargs='+', type=_number, metavar='Q', help='start of the search [rad or m]'
    )
    group.add_argument(
        '--solver',
        choices=(*solver_names(), ALL),
        default=DEFAULT_SOLVER,
        metavar='NAME',
        help=f'a method of the list below, or "{ALL}" to compare them (default: %(default)s)',
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
    for name in ('rpy', 'quaternion'):
        if getattr(arguments, name) is not None and arguments.xyz is None:
            raise UsageError(
                f'--{name} goes with --xyz; --joints and --random bring their own orientation'
            )
    if arguments.trace and arguments.solver == ALL and not arguments.json:
        raise UsageError(f'--trace shows one method: name it instead of {ALL}, or add --json')
    if arguments.plot is not None and arguments.plot.suffix.lower() != '.png':
        raise UsageError(f'--plot: the file has to end in .png, not {str(arguments.plot)!r}')
    if arguments.plot is not None and not arguments.plot.absolute().parent.is_dir():
        raise UsageError(f'--plot: there is no folder {str(arguments.plot.parent)!r}')


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not abs(value) <= _LARGEST:
        raise argparse.ArgumentTypeError(f'{text.strip()!r} is no number up to {_LARGEST:g}')
    return value


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


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def _solver_lines() -> str:
    width = max(map(len, solver_names()))
    lines = [f'  {name:{width}}  {solver_spec(name).summary}' for name in solver_names()]
    return '\n'.join(['methods (--solver):', *lines, ''])


def _option_lines() -> str:
    lines = ['options (--set), for those methods that use them:']
    for name, text in option_texts().items():
        lines += [f'  {name}']
        lines += textwrap.wrap(text, 94, initial_indent=' ' * 6, subsequent_indent=' ' * 6)
    return '\n'.join([*lines, ''])
