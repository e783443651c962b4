"""Saying what is wrong when it begins, when it changes, and while it lasts; never in a flood."""

from __future__ import annotations

from collections.abc import Callable
import threading
import time

_BURST = 4  # lines that may come at once
_PERIOD = 2.0  # of the lines after that [s]
_WELL_FOR = 1.0  # how long all has to be well until that is said [s]
_REMEMBERED = 32  # faults


class Complaint:
    """
    A fault that may come with every message.

    It is logged when it is new or another one than before, and again after the pause while it
    lasts. Faults that are different every time are logged at a bounded rate, with the number of
    those that were left out. Safe to share between threads.

    :param log: writes a line.
    :param pause: time after which the same fault is logged again [s].
    :param well: what is logged when all is well again; empty for nothing.
    :param now: the time [s].
    :ivar last: the last fault; empty before any.
    :ivar count: how often there was one.
    """

    def __init__(
        self,
        log: Callable[[str], object],
        pause: float = 10.0,
        well: str = '',
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._log = log
        self._pause = pause
        self._well = well
        self._now = now
        self._lock = threading.Lock()
        self._said_at: dict[str, float] = {}
        self._present = False
        self._came_at = 0.0
        self._room = float(_BURST)
        self._room_at = now()
        self._left_out = 0
        self.last = ''
        self.count = 0

    def about(self, fault: str, kind: str = '') -> None:
        """
        Report a fault.

        :param fault: what is wrong.
        :param kind: faults of one kind count as the same, such as those that only differ in a
            measured number; empty: only the same words do.
        """
        with self._lock:
            self.last = fault
            self.count += 1
            self._came_at = now = self._now()
            line = self._line(fault, kind or fault, now)
            self._present = True
        if line:
            self._log(line)

    def settle(self) -> None:
        """Report that all is well."""
        if not self._present:
            return
        with self._lock:
            now = self._now()
            # A fault that flickers is not gone between two messages.
            if not self._present or now - self._came_at < _WELL_FOR:
                return
            self._present = False
            told = bool(self._said_at)
            self._said_at.clear()
        if told and self._well:
            self._log(self._well)

    def _line(self, fault: str, kind: str, now: float) -> str:
        """Return what is to be logged of a fault; empty for nothing."""
        said_at = self._said_at.get(kind)
        if said_at is not None and now - said_at < self._pause:
            return ''
        self._room = min(self._room + (now - self._room_at) / _PERIOD, float(_BURST))
        self._room_at = now
        if self._room < 1.0:
            self._left_out += 1
            return ''
        self._room -= 1.0
        if len(self._said_at) >= _REMEMBERED:
            self._said_at.clear()
        self._said_at[kind] = now
        left_out, self._left_out = self._left_out, 0
        return fault if not left_out else f'{fault} ({left_out} other faults were not logged)'


def refusals(service: str, log: Callable[[str], object]) -> Callable[[str], None]:
    """
    Return what tells of the refused requests of a service.

    :param service: its name.
    :param log: writes a line.
    """
    complaint = Complaint(log)
    return lambda message: complaint.about(f'{service} refused: {message}')
