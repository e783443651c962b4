"""Program ``ik_cell``: the IK nodes of several arms, from one file."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from contextlib import ExitStack, nullcontext
from functools import partial
import signal
import sys

from ik_service.cli.parser import Parser
from ik_service.cli.ros import split_ros_arguments
from ik_service.common.child_process import ChildProcess
from ik_service.common.quoting import quote
from ik_service.common.threads import lasting, switch_interval
from ik_service.exceptions import UnknownArmError
from ik_service.ros.common.runtime import GRACE, ros, run, StopRequest

PARTS = ('all', 'arms', 'simulation')
FRAMES = ('all', 'world', 'none')

_EPILOG = """\
config/cell.yaml is an example of the file. Arguments after --ros-args hold for all nodes.
An arm that cannot start ends all. Later, a process that ends takes no other arm with it.
Exit code: 0 after Ctrl-C; 1 an arm could not start, or its process ended; 2 a wrong command or
file."""


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parsed = Parser(
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


def spread(names: Sequence[str], count: int) -> list[tuple[str, ...]]:
    """Return names in so many groups of nearly the same size, in their order."""
    bounds = [len(names) * i // count for i in range(count + 1)]
    return [tuple(names[bounds[i] : bounds[i + 1]]) for i in range(count)]


def _command(options: argparse.Namespace, names: Sequence[str], part: str) -> list[str]:
    """Return the command line of a process with a part of some arms."""
    words = [options.file, '--arms', ','.join(names), '--report-start', '--part', part]
    if options.simulate is not None:
        words.append('--simulate' if options.simulate else '--no-simulate')
    return words


def _names(text: str) -> tuple[str, ...]:
    names = tuple(name for name in text.split(',') if name)
    if not names:
        raise argparse.ArgumentTypeError(f'{text!r} names no arm')
    return names


def _count(text: str) -> int | str:
    if text == 'one_per_arm':
        return text
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f'{quote(text)} is neither one_per_arm nor from 1 on')
    return int(text)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the arms until SIGINT or SIGTERM."""
    words = sys.argv[1:] if arguments is None else arguments
    sys.exit(run(lambda stop: _program(words, stop), 'ik_cell'))


def _program(words: Sequence[str], stop: StopRequest) -> int:
    own, for_ros = split_ros_arguments(words)
    parsed = parser()
    options = parsed.parse_args(own)
    # Only now, so that signals are caught while it is imported.
    from ik_service.extras.cells.cell_file import read_cell
    from ik_service.extras.cells.descriptions import describe

    cell = read_cell(options.file, options.simulate, options.processes)
    described = describe(cell)  # all of them, to see whether their names clash
    known = [arm.entry.name for arm in described]
    for name in options.arms:
        if name not in known:
            parsed.error(str(UnknownArmError(name, known)))
    arms = [arm for arm in described if not options.arms or arm.entry.name in options.arms]
    names = [arm.entry.name for arm in arms]
    simulate = options.part != 'arms' and any(arm.entry.simulate for arm in arms)
    groups = spread(names, min(cell.processes, len(names)))
    if options.part != 'simulation' and (simulate or len(groups) > 1):
        shown = ['--processes', '1', '--frames', options.frames]
        commands = [[*_command(options, group, 'arms'), *shown, *for_ros] for group in groups]
        simulation = [*_command(options, names, 'simulation'), *for_ros] if simulate else []
        return supervise(commands, simulation, stop)
    # Many arms that take turns so often would mostly take turns.
    turns = switch_interval() if len(arms) == 1 else nullcontext()
    report = partial(print, STARTED, flush=True) if options.report_start else lambda: None
    with ros(for_ros), turns:
        with lasting():
            from ik_service.extras.cells.arm_nodes import run_arms, run_simulated_arms

        if options.part == 'simulation':
            run_simulated_arms(cell, arms, stop, report)
        else:
            run_arms(cell, arms, options.frames, stop, report)
    return 0


STARTED = 'ik_cell: all of this process has started'
"""Line that a process prints with ``--report-start``."""

_PROGRAM = 'ik_service.extras.cells.main'
_PERIOD = 0.2  # of looking whether they run [s]


def supervise(arms: Sequence[Sequence[str]], simulation: Sequence[str], stop: StopRequest) -> int:
    """
    Run command lines until a stop is asked for, or no arm is left; return the exit code.

    It is 1 if one ended before, or its own if that was before it had started.
    A process that ends before it has started ends all. Later, it takes no other one with it: the
    other arms go on. At a stop, the arms come to rest before the simulated arms end.
    """
    from ik_service.motion.command.motion_limits import LONGEST_RAMP  # slow, as those above

    patience = LONGEST_RAMP + GRACE + 4.0  # until an end is forced [s]
    stop.grace = 2.0 * patience
    with ExitStack() as stack:
        running = []
        if simulation:
            running.append(_Part('simulated arms', simulation))
            stack.callback(_end, [running[0].process], GRACE + 4.0)
        parts = [_Part(f'arms {number}', words) for number, words in enumerate(arms, 1)]
        stack.callback(_end, [part.process for part in parts], patience)
        running += parts
        code = 0
        while any(part in running for part in parts) and not stop.wait(_PERIOD):
            for part in [part for part in running if part.process.exit_code is not None]:
                running.remove(part)
                code = 1
                if not part.ended():
                    return max(code, part.process.exit_code or 0)
    return code


class _Part:
    """A process, whose output goes to that of this one."""

    def __init__(self, name: str, words: Sequence[str]) -> None:
        self._started = False
        self.process = ChildProcess(name, _PROGRAM, words, echo=self._echo)

    def ended(self) -> bool:
        """Report that the process has ended; return whether it had started before."""
        code = self.process.end()  # all of its output has come then
        before = '' if self._started else ' before it had started, so the others end, too'
        text = f'ik_cell: the process {self.process.name!r} has ended with {code}{before}'
        print(text, file=sys.stderr, flush=True)
        return self._started

    def _echo(self, line: str) -> None:
        if STARTED in line:  # the end of another line, where several threads write
            self._started = True
            line = line.replace(STARTED, '')
        if line.strip():
            print(line, end='', flush=True)


def _end(children: Sequence[ChildProcess], patience: float) -> None:
    for child in children:
        if child.exit_code is None:
            child.send(signal.SIGTERM)  # no traceback of one that is just starting Python
    for child in children:
        child.end(patience)


if __name__ == '__main__':
    main()
