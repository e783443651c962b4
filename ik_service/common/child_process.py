"""Child processes whose output is read, and which never outlive their parent."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time

from ik_service.exceptions import IkServiceError

KEPT_LINES = 2000  # lines of output that are kept; the oldest are dropped


class ChildFailedError(IkServiceError):
    """
    A child process ended, or did not print the expected output in time.

    :param message: a description of the event.
    :param output: the output of the process until then.
    :ivar output: its output until then.
    """

    def __init__(self, message: str, output: str) -> None:
        super().__init__(f'{message}; its output:\n{output.rstrip() or "(nothing)"}')
        self.output = output


class ChildProcess:
    """
    Child process that runs a Python module, in its own process group.

    Its output, both streams together, is collected line by line. It is ended when the ``with``
    block is left, and by the kernel where this process dies without warning (Linux).

    :param name: name for messages.
    :param module: the module to run, as in ``python -m``.
    :param arguments: its command line.
    :param environment: variables to set besides the inherited ones.
    :param echo: called with each line of its output, in a thread of its own.
    """

    def __init__(
        self,
        name: str,
        module: str,
        arguments: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
        echo: Callable[[str], object] | None = None,
    ) -> None:
        self.name = name
        self._echo = echo
        self._lines: deque[str] = deque(maxlen=KEPT_LINES)
        self._output_changed = threading.Condition()
        self._closed = False
        self._process = self._started(module, arguments, {**os.environ, **(environment or {})})
        self._reader = threading.Thread(target=self._read, name=f'{name} output', daemon=True)
        self._reader.start()
        # Popen.poll() and Popen.wait() in the thread of the user keep their lock for ever where an
        # interrupt comes just as they have taken it.
        self._waiter = threading.Thread(target=self._process.wait, name=name, daemon=True)
        self._waiter.start()

    def __enter__(self) -> ChildProcess:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.end()

    @property
    def pid(self) -> int:
        """Process id."""
        return self._process.pid

    @property
    def output(self) -> str:
        """Output so far, of both streams."""
        with self._output_changed:
            return ''.join(self._lines)

    @property
    def exit_code(self) -> int | None:
        """The exit code; None while it runs, minus the signal's number when a signal ended it."""
        return self._process.returncode

    def check(self) -> None:
        """Make sure that it still runs; raises ChildFailedError."""
        code = self.exit_code
        if code is not None:
            self._reader.join(0.5)
            raise ChildFailedError(f'{self.name} ended with exit code {code}', self.output)

    def wait_for(self, pattern: str, timeout: float) -> re.Match[str]:
        """
        Wait until its output matches a regular expression.

        :param pattern: the expression, matched in multi-line mode.
        :param timeout: how long to wait [s].
        :raises ChildFailedError: it ended before, or the time ran out.
        """
        deadline = time.monotonic() + timeout
        while True:
            with self._output_changed:
                match = re.search(pattern, ''.join(self._lines), re.MULTILINE)
                left = deadline - time.monotonic()
                if match is None and left > 0.0 and not self._closed:
                    self._output_changed.wait(left)
                    continue
            if match is not None:
                return match
            if self._closed:  # so it is ending, and its exit code is about to come
                self._waiter.join(0.5)
            self.check()
            raise ChildFailedError(
                f'{self.name} did not print {pattern!r} within {timeout:g} s', self.output
            )

    def send(self, number: signal.Signals) -> None:
        """Send a signal to the process and all that it started."""
        with suppress(ProcessLookupError):  # it has already ended
            os.killpg(self._process.pid, number)

    def end(self, patience: float = 5.0) -> int:
        """
        End it: by SIGINT, as Ctrl-C does, and by SIGKILL when that does not help.

        :param patience: how long SIGINT may take [s].
        :returns: the exit code.
        """
        if self.exit_code is None:
            self.send(signal.SIGINT)
        self._waiter.join(patience)
        self.send(signal.SIGKILL)  # also children that the process itself has left behind
        self._waiter.join()
        self._reader.join(1.0)
        return self._process.returncode

    def kill(self) -> None:
        """End it at once, by SIGKILL."""
        self.send(signal.SIGKILL)
        self.end()

    def _started(
        self, module: str, arguments: Sequence[str], environment: Mapping[str, str]
    ) -> subprocess.Popen[str]:
        prefix = [*_with_default_interrupts(), *_killed_with_parent()]
        # Files of the current folder stand for no modules of the child, unless they do here.
        safe = [] if {'', os.getcwd()} & {*sys.path} else ['-P']
        return subprocess.Popen(
            [*prefix, sys.executable, *safe, '-m', module, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding='utf-8',
            errors='replace',
            env={'PYTHONUNBUFFERED': '1', **environment},
            start_new_session=True,
        )

    def _read(self) -> None:
        stream = self._process.stdout
        assert stream is not None
        with stream:
            for line in stream:
                with self._output_changed:
                    self._lines.append(line)
                    self._output_changed.notify_all()
                if self._echo is not None:
                    self._echo(line)
        with self._output_changed:
            self._closed = True
            self._output_changed.notify_all()


def _with_default_interrupts() -> list[str]:
    """
    Return the command (GNU) under which SIGINT is not ignored, in case that it is in this process.

    A shell lets its background jobs ignore it, and their children inherit that.
    """
    env = shutil.which('env')
    if env is None or signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        return []
    return [env, '--default-signal=INT']


def _killed_with_parent() -> list[str]:
    """Return the command (util-linux) under which a program ends when its parent dies."""
    setpriv = shutil.which('setpriv')
    return [setpriv, '--pdeathsig', 'KILL'] if setpriv else []
