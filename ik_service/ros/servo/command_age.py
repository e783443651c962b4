"""How long a command of servoing counts, by its stamp."""

from __future__ import annotations

from collections.abc import Callable

from builtin_interfaces.msg import Time

from ik_service.exceptions import ArgumentError

_AHEAD = 0.1
"""How far the clock of a sender may run ahead [s]."""


class CommandAge:
    """
    Time up to which commands count, on the monotonic clock.

    :param clock: returns the node's time [ns], which may be simulated.
    :param say: logs a remark.
    """

    def __init__(self, clock: Callable[[], int], say: Callable[[str], object]) -> None:
        self._clock = clock
        self._say = say
        self._unstamped: set[str] = set()

    def until(self, topic: str, stamp: Time, timeout: float, now: float) -> float:
        """
        Return until when a command counts.

        :param topic: its topic, for messages.
        :param stamp: its stamp; without one it counts as sent now, which is said once.
        :param timeout: for how long commands count [s].
        :param now: on the monotonic clock [s].
        :returns: on the monotonic clock [s].
        :raises ArgumentError: it is older than that, or from the future.
        """
        sent = stamp.sec * 1_000_000_000 + stamp.nanosec
        if sent == 0:
            if topic not in self._unstamped:
                self._unstamped.add(topic)
                self._say(f'{topic} has no stamp: each message counts from its arrival')
            return now + timeout
        age = 1e-9 * (self._clock() - sent)
        if age >= timeout:
            raise ArgumentError(
                'header.stamp',
                f'is {age:.3g} s old, and a command counts for {timeout:g} s{_HINT}',
            )
        if age < -_AHEAD:
            raise ArgumentError('header.stamp', f'lies {-age:.3g} s in the future{_HINT}')
        return now + timeout - max(age, 0.0)


_HINT = '; the clocks of sender and node have to agree, and use_sim_time has to be the same'
