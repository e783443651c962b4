"""Statistics of the requests of a service, for the diagnostics."""

from __future__ import annotations

from collections import Counter
import threading


class RequestStatistics:
    """Outcomes of the requests of a service. Safe to share between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._outcomes: Counter[str] = Counter()
        self._refusal = ''

    def add(self, outcome: str) -> None:
        """
        Count a request.

        :param outcome: name of its error code.
        """
        with self._lock:
            self._outcomes[outcome] += 1

    def refuse(self, message: str) -> None:
        """
        Keep why the last refused request was refused.

        :param message: the reason.
        """
        self._refusal = message

    def report(self) -> dict[str, str]:
        """Return names and values for the diagnostics."""
        with self._lock:
            return {
                'requests': str(self._outcomes.total()),
                **{name: str(count) for name, count in sorted(self._outcomes.items())},
                'last refusal': self._refusal or 'none',
            }


class SolveStatistics(RequestStatistics):
    """Outcomes of the requests of a service, with the times of their solves."""

    def __init__(self) -> None:
        super().__init__()
        self._solves = 0
        self._total = 0.0
        self._longest = 0.0

    def add(self, outcome: str, solve_time: float | None = None) -> None:
        """
        Count a request.

        :param outcome: name of its error code.
        :param solve_time: time of its solve [s]; None when nothing was solved.
        """
        with self._lock:
            self._outcomes[outcome] += 1
            if solve_time is not None:
                self._solves += 1
                self._total += solve_time
                self._longest = max(self._longest, solve_time)

    def report(self) -> dict[str, str]:
        """Return names and values for the diagnostics."""
        report = super().report()
        with self._lock:
            mean = self._total / self._solves if self._solves else 0.0
            return {
                **report,
                'mean solve time [ms]': f'{1e3 * mean:.3f}',
                'longest solve time [ms]': f'{1e3 * self._longest:.3f}',
            }
