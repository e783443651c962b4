"""Standard streams of programs that are closed, or that nobody reads."""

from __future__ import annotations

from contextlib import suppress
import os
import stat
import sys

_MODES = {'stdin': 'r', 'stdout': 'w', 'stderr': 'w'}


def open_closed_streams() -> None:
    """Open the standard streams that are closed: files and sockets would get their numbers."""
    for name, mode in _MODES.items():
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115 (for good)


def drop_unread_logs() -> None:
    """
    Let messages of ROS be dropped where nobody reads them, as behind Ctrl-S or ``| less``.

    ROS writes them while it holds the GIL: all threads would wait, those of the commands, too.
    What Python itself prints waits for a reader in its own thread alone, by a descriptor of its
    own. Pipes and terminals get a second description here, as others share the first one.
    """
    for name in ('stdout', 'stderr'):
        stream = getattr(sys, name)
        with suppress(OSError):  # there is no /proc, or the terminal is another user's
            number = stream.fileno()
            if not (os.isatty(number) or stat.S_ISFIFO(os.fstat(number).st_mode)):
                continue
            flags = os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY
            unblocked = os.open(f'/proc/self/fd/{number}', flags)
            own = open(os.dup(number), 'w', 1, stream.encoding, stream.errors)  # noqa: SIM115
            setattr(sys, name, own)
            os.dup2(unblocked, number)
            os.close(unblocked)
