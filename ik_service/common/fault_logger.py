"""Rate-limited logging of faults: when they begin, when they change, and while they last."""

from __future__ import annotations

from collections.abc import Callable
import threading
import time

_PAUSE = 10.0  # time after which the same fault is logged again [s]
_BURST = 4  # lines that may come at once
_PERIOD = 2.0  # between the lines after that [s]
_RECOVERY_TIME = 1.0  # how long there must be no fault until its end is logged [s]
_REMEMBERED = 32  # faults


class FaultLogger:
    """
    Log of a fault that may come with every message.

    It is logged when it is new or another one than before, and again after the pause while it
    lasts. Faults that are different every time are logged at a bounded rate, with the number of
    those that were left out. Safe to share between threads.

    :param log: writes a line.
    :param recovered: line that is logged when the fault is over; empty for none.
    :param now: clock [s].
    :ivar last: the last fault; empty before any.
    :ivar count: how often there was one.
    """

    def __init__(
        self,
        log: Callable[[str], object],
        recovered: str = '',
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._log = log
        self._recovered = recovered
        self._now = now
        self._lock = threading.Lock()
        self._logged_at: dict[str, float] = {}
        self._present = False
        self._reported_at = 0.0
        self._allowance = float(_BURST)
        self._allowance_at = now()
        self._left_out = 0
        self.last = ''
        self.count = 0

    def report(self, fault: str, kind: str = '') -> None:
        """
        Report a fault.

        :param fault: the fault, as a text.
        :param kind: faults of one kind count as the same, such as those that only differ in a
            measured number; empty: only the same words do.
        """
        with self._lock:
            self.last = fault
            self.count += 1
            self._reported_at = now = self._now()
            line = self._line(fault, kind or fault, now)
            self._present = True
        if line:
            self._log(line)

    def clear(self) -> None:
        """Report that there is no fault."""
        if not self._present:
            return
        with self._lock:
            now = self._now()
            # A fault that flickers is not gone between two messages.
            if not self._present or now - self._reported_at < _RECOVERY_TIME:
                return
            self._present = False
            logged = bool(self._logged_at)
            self._logged_at.clear()
        if logged and self._recovered:
            self._log(self._recovered)

    def _line(self, fault: str, kind: str, now: float) -> str:
        """Return the line to be logged of a fault; empty for none."""
        logged_at = self._logged_at.get(kind)
        if logged_at is not None and now - logged_at < _PAUSE:
            return ''
        regained = (now - self._allowance_at) / _PERIOD
        self._allowance = min(self._allowance + regained, float(_BURST))
        self._allowance_at = now
        if self._allowance < 1.0:
            self._left_out += 1
            return ''
        self._allowance -= 1.0
        if len(self._logged_at) >= _REMEMBERED:
            self._logged_at.clear()
        self._logged_at[kind] = now
        left_out, self._left_out = self._left_out, 0
        return fault if not left_out else f'{fault} ({left_out} other faults were not logged)'
