"""Conversion of the stamps of joint states to the monotonic clock."""

from __future__ import annotations

from collections.abc import Callable, Mapping
import time

from sensor_msgs.msg import JointState

_REMEMBERED = 64  # sets of joints
_CLOCK_STEP = 100_000_000  # difference of two clocks beyond which one of them was set [ns]

_LONGEST_WAIT = 60.0
"""Longest plausible wait of a message [s]; a longer or negative one means that a clock was set."""


class StampConverter:
    """
    Converter of stamps to times on the monotonic clock, which notices impossible ones.

    A message that is not newer than the last one of the same joints tells nothing new. One without
    a stamp counts from its arrival, and so does one from the future: that clock runs ahead.

    :param clock: the node's time [ns], which may be simulated.
    :ivar fault: what was wrong with the last message; empty when nothing was.
    :ivar age: age of the last message by its stamp, when it arrived [s].
    """

    def __init__(self, clock: Callable[[], int]) -> None:
        self._clock = clock
        self._last_clock = 0
        self._newest: dict[tuple[str, ...], int] = {}
        self.fault = ''
        self.age = 0.0

    def measured_at(self, message: JointState, now: float, waited: float = 0.0) -> float | None:
        """
        Return when a joint state was measured.

        :param message: the joint state.
        :param now: on the monotonic clock [s].
        :param waited: how long ago it arrived [s].
        :returns: on the same clock [s]; None when it is not newer than the last one.
        """
        stamp = message.header.stamp.sec * 1_000_000_000 + message.header.stamp.nanosec
        self.fault, self.age = '', 0.0
        if stamp <= 0:
            return now - waited
        clock = self._clock()
        if clock < self._last_clock - _CLOCK_STEP:  # the simulation was started again
            self._newest.clear()
        self._last_clock = clock
        if not self._is_newer(tuple(message.name), stamp, clock):
            return None
        self.age = max(1e-9 * (clock - stamp), waited)
        if self.age > 1e6:
            self.fault = (
                f'stamped {1e-9 * stamp:.2f} s, while this clock reads {1e-9 * clock:.2f} s; '
                'is use_sim_time the same for both?'
            )
        return now - self.age

    def _is_newer(self, names: tuple[str, ...], stamp: int, now: int) -> bool:
        newest = self._newest.get(names)
        corrected = newest is not None and newest - _CLOCK_STEP > max(now, stamp)
        if newest is not None and stamp <= newest and not corrected:
            back = 1e-9 * (newest - stamp)
            self.fault = (
                f'the stamps run backwards, by {back:.3f} s' if back else 'the stamp stands still'
            )
            return False
        if len(self._newest) >= _REMEMBERED:
            self._newest.clear()
        self._newest[names] = stamp
        return True


def queue_delay(info: Mapping[str, int]) -> float:
    """
    Return how long a message has waited in the queue [s]; a busy process takes it out late.

    :param info: message information of rclpy; its time of arrival is 0 where the middleware does
        not give it.
    """
    received = info.get('received_timestamp', 0)
    waited = 1e-9 * (time.time_ns() - received) if received > 0 else 0.0
    return waited if 0.0 <= waited <= _LONGEST_WAIT else 0.0
