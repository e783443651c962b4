"""Counts and times of the requests of a service, for the diagnostics."""

from __future__ import annotations

from collections import Counter
import threading

from ik_service.solvers.result import IkResult


class RequestStatistics:
    """What became of all requests of a service so far. Safe to share between threads."""

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
        """Keep why a request was refused, until the next one is."""
        self._refusal = message

    def report(self) -> dict[str, str]:
        """Return the numbers as names and values to show."""
        with self._lock:
            return {
                'requests': str(self._outcomes.total()),
                **{name: str(count) for name, count in sorted(self._outcomes.items())},
                'last refusal': self._refusal or 'none',
            }


class SolveStatistics(RequestStatistics):
    """The same, with the times of the solves."""

    def __init__(self) -> None:
        super().__init__()
        self._solves = 0
        self._total = 0.0
        self._longest = 0.0

    def add(self, outcome: str, result: IkResult | None = None) -> None:
        """
        Count a request.

        :param outcome: name of its error code.
        :param result: what the solver said; None when it was not asked.
        """
        with self._lock:
            self._outcomes[outcome] += 1
            if result is not None:
                self._solves += 1
                self._total += result.solve_time
                self._longest = max(self._longest, result.solve_time)

    def report(self) -> dict[str, str]:
        """Return the numbers as names and values to show."""
        report = super().report()
        with self._lock:
            mean = self._total / self._solves if self._solves else 0.0
            return {
                **report,
                'mean solve time [ms]': f'{1e3 * mean:.3f}',
                'longest solve time [ms]': f'{1e3 * self._longest:.3f}',
            }
