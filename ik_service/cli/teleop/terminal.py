"""Terminal whose keys arrive one by one, and which is restored whatever happens."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
import os
import select
import sys
import termios
import tty

_ESCAPE = '\x1b'


@contextmanager
def single_keys() -> Iterator[None]:
    """Let keys arrive at once and unseen for the time of a ``with`` block."""
    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    try:
        tty.setcbreak(descriptor)  # Ctrl-C stays one
        yield
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


def keys_within(seconds: float) -> str | None:
    """
    Return the keys that were pressed, waiting for the first; without those of the cursor.

    :param seconds: how long to wait [s].
    :returns: the characters; None when the terminal has gone.
    """
    descriptor = sys.stdin.fileno()
    if not select.select([descriptor], [], [], seconds)[0]:
        return ''
    try:
        read = os.read(descriptor, 1024)
    except OSError:
        return None
    if not read:
        return None
    text = read.decode(errors='ignore')
    return text.partition(_ESCAPE)[0]
