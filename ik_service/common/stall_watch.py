"""
Watches over a thread that sends commands: reports when a step hangs, or none begins.

They have threads and a process of their own, which call nothing that the watched one might wait
in, and write to stderr: a hang in the middleware can be reported neither through it nor through
its log. Run as a program, this file is that process; it imports nothing of the package.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
import os
import select
import signal
import subprocess
import sys
import threading
import time
import traceback
from typing import TextIO

PATIENCE = 0.5  # time after which a step that has not ended, or was not begun, is reported [s]
TICK_LASTS = 'a tick has not ended'  # step of a tick

_PERIOD = 0.1  # time between two looks [s]
_PAUSE = 10.0  # time after which a lasting stall is reported again [s]

_HINT = (
    'Where the innermost call is one of the middleware, it waits there for a lock: with Fast DDS '
    'mostly one in shared memory whose owner was killed. FASTDDS_BUILTIN_TRANSPORTS=UDPv4 in the '
    'environment of all processes avoids that'
)


class StallWatch:
    """
    Watch over the steps of one thread, for the time of a ``with`` block.

    :param name: who steps, for messages.
    :param due: returns when the next step is due, on the monotonic clock [s].
    :param thread: returns the identifier of the thread that steps; None before there is one.
    :param write: writes a text.
    :ivar count: how often something was reported.
    """

    def __init__(
        self,
        name: str,
        due: Callable[[], float],
        thread: Callable[[], int | None],
        write: Callable[[str], object] | None = None,
    ) -> None:
        self._name, self._due, self._thread_of = name, due, thread
        self._write = write or _write_to_stderr
        self._step: tuple[str, float] | None = None
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name='stall watch', daemon=True)
        self._reported: tuple[str, float, float] | None = None
        self.count = 0

    def __enter__(self) -> StallWatch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join(2.0 * _PERIOD)

    def begin(self, what: str) -> None:
        """Note that a step begins, named by what is not done while it lasts."""
        self._step = what, time.monotonic()

    def end(self) -> None:
        """Note that the step has ended."""
        self._step = None

    def _run(self) -> None:
        looked = time.monotonic()
        while not self._ended.wait(_PERIOD):
            now = time.monotonic()
            if now - looked < PATIENCE:  # else this process was suspended, and not that thread
                self._look(now)
            looked = now

    def _look(self, now: float) -> None:
        """Report a step that lasts too long, and the end of one that did."""
        step = self._step or ('no tick has begun', self._due())
        what, since = step
        lasts = now - since > PATIENCE
        if self._reported is not None and not (lasts and self._reported[:2] == step):
            what_was, since_was, _ = self._reported
            self._reported = None
            self._write(f'{self._name}: {what_was} for {now - since_was:.1f} s; it goes on now\n')
        if lasts and (self._reported is None or now - self._reported[2] >= _PAUSE):
            self._reported = (*step, now)
            self.count += 1
            self._write(
                f'{self._name}: {what} for {now - since:.1f} s. The thread is here:\n'
                f'{self._stack()}{_HINT}\n'
            )

    def _stack(self) -> str:
        frames = sys._current_frames()
        frame = frames.get(self._thread_of() or 0)
        return ''.join(traceback.format_stack(frame)) if frame is not None else '  (not known)\n'


class InterpreterWatch:
    """
    Watch over the whole interpreter, for the time of a ``with`` block.

    Calls into the middleware let no other thread of Python run. Where one of them hangs, a process
    that hears no more from this one says so. (To write the stacks from a thread without Python, as
    faulthandler can, ends the process where its threads go on meanwhile, as after SIGSTOP.)

    :param name: name of the program, for messages.
    :param file: the file written to; it has a descriptor.
    """

    def __init__(self, name: str, file: TextIO | None = None) -> None:
        self._name, self._file = name, file or sys.stderr
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name='interpreter watch', daemon=True)

    def __enter__(self) -> InterpreterWatch:
        self._listener = subprocess.Popen(
            [sys.executable, '-I', '-S', __file__, self._name],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=self._file,
            bufsize=0,
            start_new_session=True,  # where Ctrl-C would interrupt its start
        )
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        with suppress(OSError):  # it is gone
            self._listener.stdin.close()  # type: ignore[union-attr]  # it is a pipe
        self._listener.wait()

    def _run(self) -> None:
        pipe = self._listener.stdin.fileno()  # type: ignore[union-attr]
        os.set_blocking(pipe, False)  # the listener may be suspended
        while not self._ended.wait(_PERIOD):
            with suppress(OSError):
                os.write(pipe, b'.')


def _listen(name: str) -> None:
    """Report when nothing comes from stdin for too long, and when it does again, until its end."""
    for number in (signal.SIGINT, signal.SIGTERM):  # as a service manager sends to all; stdin ends
        signal.signal(number, signal.SIG_IGN)
    heard, silent = time.monotonic(), False
    while True:
        comes = bool(select.select([0], [], [], PATIENCE + _PERIOD)[0])
        if comes and not os.read(0, 4096):
            return
        lasts = time.monotonic() - heard
        if comes and silent:
            _write_to_stderr(f'{name}: threads run again, after {lasts:.1f} s\n')
        elif not comes and not silent:
            _write_to_stderr(
                f'{name}: no thread has run for {lasts:.1f} s, and no command was sent: the '
                f'process is suspended, or one of its threads hangs in a call. {_HINT}\n'
            )
        heard, silent = (time.monotonic(), False) if comes else (heard, True)


def _write_to_stderr(text: str) -> None:
    print(text, end='', file=sys.stderr, flush=True)


if __name__ == '__main__':
    _listen(sys.argv[1])
