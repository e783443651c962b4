"""Processes of a cell: some for its nodes, and one for its simulated arms."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
import signal
import sys

from ik_service.common.child_process import ChildProcess
from ik_service.motion.command.motion_limits import LONGEST_RAMP
from ik_service.ros.common.runtime import GRACE, StopRequest

STARTED = 'ik_cell: all of this process has started'
"""Line that a process prints with ``--report-start``."""

_PROGRAM = 'ik_service.extras.cells.main'
_PERIOD = 0.2  # of looking whether they run [s]
_PATIENCE = LONGEST_RAMP + GRACE + 4.0  # until an end is forced [s]


def supervise(arms: Sequence[Sequence[str]], simulation: Sequence[str], stop: StopRequest) -> int:
    """
    Run the program in several processes until a stop is asked for, or no arm is left.

    A process that ends before it has started ends all. Later, it takes no other one with it: the
    other arms go on. At a stop, the arms come to rest before the simulated arms end.

    :param arms: command lines of the processes of arms, after the program's name.
    :param simulation: that of the process of the simulated arms; empty for none.
    :returns: the exit code: 0, or 1 when a process has ended by itself.
    """
    stop.grace = 2.0 * _PATIENCE
    with ExitStack() as stack:
        running = []
        if simulation:
            running.append(_Part('simulated arms', simulation))
            stack.callback(running[0].process.end)
        parts = [_Part(f'arms {number}', words) for number, words in enumerate(arms, 1)]
        stack.callback(_end, [part.process for part in parts])
        running += parts
        code = 0
        while any(part in running for part in parts) and not stop.wait(_PERIOD):
            for part in [part for part in running if part.process.exit_code is not None]:
                running.remove(part)
                code = 1
                if not part.ended():
                    return code
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


def _end(children: Sequence[ChildProcess]) -> None:
    for child in children:
        if child.exit_code is None:
            child.send(signal.SIGINT)
    for child in children:
        child.end(_PATIENCE)
