"""Processes of a cell: some for its nodes, and one for its simulated arms."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
import signal
import sys

from ik_service.common.child_process import ChildProcess
from ik_service.following.motion_limits import LONGEST_RAMP
from ik_service.ros.common.runtime import GRACE, StopRequest

_PROGRAM = 'ik_service.cli.cell.main'
_PERIOD = 0.2  # of looking whether they run [s]
_PATIENCE = LONGEST_RAMP + GRACE + 4.0  # until an end is forced [s]


def supervise(arms: Sequence[Sequence[str]], simulation: Sequence[str], stop: StopRequest) -> int:
    """
    Run the program in several processes until a stop is asked for, or no arm is left.

    A process that ends takes no other one with it: the other arms go on. At a stop, the arms come
    to rest before the simulated arms end.

    :param arms: command lines of the processes of arms, after the program's name.
    :param simulation: that of the process of the simulated arms; empty for none.
    :param stop: the request to stop.
    :returns: the exit code: 0, or 1 when a process has ended by itself.
    """
    stop.grace = 2.0 * _PATIENCE
    with ExitStack() as stack:
        running = []
        if simulation:
            running.append(_child('simulated arms', simulation))
            stack.callback(running[0].end)
        children = [_child(f'arms {number}', words) for number, words in enumerate(arms, 1)]
        stack.callback(_end, children)
        running += children
        code = 0
        while any(child in running for child in children) and not stop.wait(_PERIOD):
            for child in [child for child in running if child.exit_code is not None]:
                running.remove(child)
                code = 1
                text = f'ik_cell: the process {child.name!r} has ended with {child.exit_code}'
                print(text, file=sys.stderr, flush=True)
    return code


def _child(name: str, words: Sequence[str]) -> ChildProcess:
    return ChildProcess(name, _PROGRAM, words, echo=lambda line: print(line, end='', flush=True))


def _end(children: Sequence[ChildProcess]) -> None:
    for child in children:
        if child.exit_code is None:
            child.send(signal.SIGINT)
    for child in children:
        child.end(_PATIENCE)
