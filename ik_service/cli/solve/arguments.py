"""Command line of ``ik_solve``."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
import textwrap

from ik_service.cli.solve.options import (
    add_robot_options,
    check_written,
    is_number,
    number,
    NumberParser,
    option_texts,
    UsageError,
)
from ik_service.common.arguments import checked_option
from ik_service.exceptions import SolverSpecError
from ik_service.paths.search.path_solver import PathOptions, STARTS
from ik_service.solvers.registry import DEFAULT_SOLVER, load_solvers, solver_names, solver_spec

_OF_PATHS = ('start', 'end', 'max-step', 'timing', 'output')


DESCRIPTION = """
Inverse kinematics of one pose, or of a whole path of poses, for any URDF or xacro file: prints the
joint values that put the tip of an arm there, their errors, and on request every iteration of the
solver.

Lengths are in metres. Joint values are in radians, those of sliding joints in metres, as in the
URDF. Only --rpy is in degrees. Poses are those of the tip link in the frame of the base link.
"""

_WORDS = """
terms:
  seed      Joint values at which the search starts. Most poses have several solutions; one near
            the seed is found. Give the arm's present joint values to get a solution close to
            them, or the name of a state that the arm's planning group has. The default is the
            middle of the joint limits. A seed outside the limits is brought inside.
  limits    Every solution lies within the joint limits of the URDF, unless
            --set joint_limits=ignore. "To the limit" in the table is the distance to the nearer
            limit.
  search    A method iterates from a start towards the target. Where it gets stuck, another
            search starts from a random posture. The same command always gives the same result;
            --set random_seed=1 gives other random postures.
  solved    Position and orientation are within tolerance, by the forward kinematics of the
            result, and all joints are within their limits. Otherwise the closest pose found is
            printed.
  path      A CSV file whose first line names the columns: x, y, z [m], then qx, qy, qz, qw or
            roll, pitch, yaw [DEGREES] or neither, for any orientation; t [s] if there are times,
            which are only handed on. Or matrices (N, 4, 4) as .npy or .json. No joint moves by
            more than --max-step from one pose to the next. At most 1,000,000 poses, which take
            some 25 s and 1 GB.
  time      That of a second call. The first one loads (on a new machine: compiles) the solver.
"""

_EXAMPLES = """
examples:
  ik_solve panda --xyz 0.4 0.1 0.5 --rpy 180 0 0
  ik_solve panda --xyz 0.4 0.1 0.5                   position only
  ik_solve ur5e --random 7 --plot ur5e.png           a random reachable pose, with a figure
  ik_solve ur5e --random 7 --solver all              every method on the same pose
  ik_solve panda --joints 0 -0.8 0 -2.4 0 1.6 0.8 --seed 0 0 0 -1 0 1 0 --trace
  ik_solve panda --group panda_arm --random --seed ready
  ik_solve panda --random 3 --avoid-collisions       not colliding with itself
  ik_solve panda --path poses.csv --output joints.csv --plot path.png
  ik_solve panda --path poses.csv --seed ready --start free --timing 0.5 --output joints.csv
  ik_solve my_robot.urdf --srdf my_robot.srdf --group left_arm --random
  ik_solve my_robot.urdf --base-link base --tip-link tool0 --lock torso=0.1 \\
           --xyz 0.3 0 0.4 --quaternion 1 0 0 0 --set timeout=0.05 prefer=nearest --json

exit code: 0 solved (with --solver all: by at least one; with --path: all poses), 1 not solved,
2 the command is wrong.
"""


def epilog() -> str:
    """Return the text below the options: terms, methods, options of solvers, examples."""
    width = max(map(len, solver_names()))
    methods = [f'  {name:{width}}  {solver_spec(name).summary}' for name in solver_names()]
    options = []
    for name, text in option_texts().items():
        indent = ' ' * 6
        wrapped = textwrap.wrap(text, 94, initial_indent=indent, subsequent_indent=indent)
        options += [f'  {name}', *wrapped]
    return '\n'.join(
        [
            _WORDS,
            'methods (--solver):',
            *methods,
            '',
            'options (--set), for those methods that use them:',
            *options,
            '',
            _EXAMPLES,
        ]
    )


ALL = 'all'


def parse(words: Sequence[str]) -> argparse.Namespace:
    """Parse a command line; raises UsageError, or SystemExit where it asks for help."""
    _load_solvers(words)
    arguments = _parser().parse_args(words)
    arguments.seed = _posture(arguments.seed, '--seed')
    arguments.end = _posture(arguments.end, '--end')
    _check(arguments)
    return arguments


def _load_solvers(words: Sequence[str]) -> None:
    """Register the solvers that the command line names, so that --solver knows them."""
    parser = NumberParser(add_help=False, allow_abbrev=False)
    parser.add_argument('--load', action='append', default=[])
    try:
        load_solvers(parser.parse_known_args(words)[0].load)
    except SolverSpecError as error:
        raise UsageError(f'--load: {error.reason}') from error


def _parser() -> argparse.ArgumentParser:
    parser = NumberParser(
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
    _add_path(parser.add_argument_group('path, with --path'))
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
        type=checked_option(
            int,
            lambda seed: seed >= 0,
            '{!r} is no whole number of at least 0 (the URDF comes first)',
        ),
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


def _add_path(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        '--start',
        choices=STARTS,
        help='"given": at the seed, or within a step of it (default where there is a --seed); '
        '"free": at any solution of the first pose',
    )
    group.add_argument(
        '--end',
        nargs='+',
        metavar='Q',
        help='where the path ends, or within a step of it, as --seed (default: anywhere)',
    )
    group.add_argument(
        '--max-step',
        type=number,
        metavar='R',
        help='largest motion of a joint from one pose to the next [rad or m] '
        f'(default: {PathOptions().max_step:g})',
    )
    group.add_argument(
        '--timing',
        nargs='?',
        type=number,
        const=1.0,
        metavar='SHARE',
        help='time the path by a share of the joint velocities of the description (default: '
        '%(const)s): --output gets the times and the velocities',
    )
    group.add_argument(
        '--output',
        type=Path,
        metavar='FILE.csv',
        help='write the joint values there, a line for each pose that is reached',
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
    solver = arguments.solver != DEFAULT_SOLVER
    if arguments.xyz is None:
        given = {f'--{name}': getattr(arguments, name) for name in ('rpy', 'quaternion')}
        _refuse('goes with --xyz; other targets bring their own orientation', given)
    if arguments.path is None:
        given = {f'--{name}': getattr(arguments, name.replace('-', '_')) for name in _OF_PATHS}
        _refuse('goes with --path', given)
    else:
        given = {'--all': arguments.all, '--trace': arguments.trace, '--solver': solver}
        _refuse('is for one pose, not for --path', given)
    if arguments.all:
        given = {
            '--trace': arguments.trace,
            '--plot': arguments.plot,
            '--solver': solver,
            '--avoid-collisions': arguments.avoid_collisions,
        }
        _refuse('is for one solution, not for --all', given)
    else:
        _refuse('goes with --all', {'--resolution': arguments.resolution})
    if arguments.trace and arguments.solver == ALL and not arguments.json:
        raise UsageError(f'--trace shows one method: name it instead of {ALL}, or add --json')
    if arguments.start == 'given' and arguments.seed is None:
        raise UsageError('--start given needs a --seed, where the path starts')
    if arguments.timing is not None and not 0.0 < arguments.timing <= 1.0:
        raise UsageError(f'--timing: a share above 0, at most 1, not {arguments.timing:g}')
    check_written('--output', arguments.output, '.csv', arguments.path)
    check_written('--plot', arguments.plot, '.png')


def _refuse(reason: str, options: Mapping[str, object]) -> None:
    """Refuse options that are given: neither None nor False."""
    for name, value in options.items():
        if value is not None and value is not False:
            raise UsageError(f'{name} {reason}')


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
