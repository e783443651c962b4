"""Command line of ``ik_cell``, and the command lines of the processes that it starts."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

PARTS = ('all', 'arms', 'simulation')
FRAMES = ('all', 'world', 'none')

_EPILOG = """\
config/cell.yaml is an example of the file. Arguments after --ros-args hold for all nodes.
An arm that cannot start ends all. Later, a process that ends takes no other arm with it."""

STARTED = 'ik_cell: all of this process has started'
"""Line that a process prints with ``--report-start``."""


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parsed = argparse.ArgumentParser(
        'ik_cell',
        description='Run the IK nodes of several arms, as a file describes them.',
        epilog=_EPILOG,
    )
    parsed.add_argument('file', help='the file (YAML)')
    parsed.add_argument(
        '--arms', metavar='NAME,…', type=_names, default=(), help='only these arms of the file'
    )
    parsed.add_argument(
        '--processes',
        type=_count,
        metavar='N',
        help='over how many processes the arms are spread, or one_per_arm; otherwise as the file '
        'says',
    )
    parsed.add_argument(
        '--simulate',
        action=argparse.BooleanOptionalAction,
        help='whether all arms are simulated; otherwise as the file says',
    )
    parsed.add_argument(
        '--part',
        choices=PARTS,
        default=PARTS[0],
        help='what is run: the IK nodes, the simulated arms, or both (default)',
    )
    parsed.add_argument(
        '--frames',
        choices=FRAMES,
        default=FRAMES[0],
        help='which frames go to tf: all (default), only where the arms stand (beside '
        'robot_state_publisher), or none',
    )
    parsed.add_argument('--report-start', action='store_true', help=argparse.SUPPRESS)
    return parsed


def arms_command(options: argparse.Namespace, names: Sequence[str]) -> list[str]:
    """
    Return the command line of a process with the nodes of some arms.

    :param options: the options of this program.
    :param names: the arms.
    """
    words = ['--part', 'arms', '--processes', '1', '--frames', options.frames]
    return [*_command(options, names), *words]


def simulation_command(options: argparse.Namespace, names: Sequence[str]) -> list[str]:
    """
    Return the command line of the process with the simulated arms; the same parameters.

    :param options: the options of this program.
    :param names: the arms.
    """
    return [*_command(options, names), '--part', 'simulation']


def spread(names: Sequence[str], count: int) -> list[tuple[str, ...]]:
    """
    Return names in groups of nearly the same size, in their order.

    :param names: the names.
    :param count: number of the groups, at most that of the names.
    """
    bounds = [len(names) * i // count for i in range(count + 1)]
    return [tuple(names[bounds[i] : bounds[i + 1]]) for i in range(count)]


def _command(options: argparse.Namespace, names: Sequence[str]) -> list[str]:
    words = [options.file, '--arms', ','.join(names), '--report-start']
    if options.simulate is not None:
        words.append('--simulate' if options.simulate else '--no-simulate')
    return words


def _names(text: str) -> tuple[str, ...]:
    names = tuple(name for name in text.split(',') if name)
    if not names:
        raise argparse.ArgumentTypeError(f'{text!r} names no arm')
    return names


def _count(text: str) -> int | str:
    return int(text) if text.isdecimal() else text
