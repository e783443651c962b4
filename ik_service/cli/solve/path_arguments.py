"""Options of ``ik_solve --path``."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from ik_service.cli.solve.options import UsageError
from ik_service.solvers.path.options import PathOptions, STARTS
from ik_service.solvers.registry import DEFAULT_SOLVER

_OWN = ('start', 'end', 'max_step', 'timing', 'output')


def add_path_options(group: argparse._ArgumentGroup, number: Callable[[str], float]) -> None:
    """
    Add the options of paths.

    :param group: of the command line.
    :param number: reads a number.
    """
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


def check_path(arguments: argparse.Namespace) -> None:
    """
    Check combinations of options with and without ``--path``.

    :param arguments: the parsed command line.
    :raises UsageError: two of them exclude each other.
    """
    if arguments.path is None:
        for name in _OWN:
            if getattr(arguments, name) is not None:
                raise UsageError(f'--{name.replace("_", "-")} goes with --path')
        return
    for name, given in (('--all', arguments.all), ('--trace', arguments.trace),
                        ('--solver', arguments.solver != DEFAULT_SOLVER)):  # fmt: skip
        if given:
            raise UsageError(f'{name} is for one pose, not for --path')
    if arguments.start == 'given' and arguments.seed is None:
        raise UsageError('--start given needs a --seed, where the path starts')
    if arguments.timing is not None and not 0.0 < arguments.timing <= 1.0:
        raise UsageError(f'--timing: a share above 0, at most 1, not {arguments.timing:g}')
    output: Path | None = arguments.output
    if output is not None and output.suffix.lower() != '.csv':
        raise UsageError(f'--output: the file has to end in .csv, not {str(output)!r}')
    if output is not None and not output.absolute().parent.is_dir():
        raise UsageError(f'--output: there is no folder {str(output.parent)!r}')
