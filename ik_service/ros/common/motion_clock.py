"""Time by which the arm moves: the real time, or a smooth estimate of the simulated one."""

from __future__ import annotations

from collections.abc import Callable
import math
import threading
import time

from rclpy.clock import ROSClock

from ik_service.common.periodic_calls import CallClock
from ik_service.common.simulated_time import SimulatedTime

_POLL = 0.0025
"""Longest time between two readings of a simulated clock while something waits for it [s]."""

_BEHIND = 0.05  # largest lag of a controller's clock behind this one without simulated time [s]

_PAUSED, _SLEEP = 0.5, 0.005
"""Real time after which a clock that stands is paused, and between two checks of it [s]."""

_LOOKS, _AT_ONCE = 3, 2e-5
"""Number of readings of two clocks, and the time within which they are simultaneous [s]."""

_FRESH = 5e-4
"""Time for which the clock of a node is known to be simulated or not: about that of a tick [s]."""


class MotionClock(CallClock):
    """
    Monotonic clock of everything that moves the arm; safe to share between threads.

    With ``use_sim_time`` it runs as the simulated time does: ticks come in simulated time, and so
    limits, timeouts and stamps count in it. While that stands still, so does this clock.

    :param clock: the node's clock; None for the real time, also in stamps.
    :param real: the real time, a monotonic clock [s].
    :param system: the system's time [ns], which is that of the ROS graph unless it is simulated.
    """

    def __init__(
        self,
        clock: ROSClock | None = None,
        real: Callable[[], float] = time.monotonic,
        system: Callable[[], int] = time.time_ns,
    ) -> None:
        self._clock = clock
        self._real, self._system = real, system
        self._lock = threading.Lock()
        self._simulated: SimulatedTime | None = None
        self._shift = 0.0  # from the real time to this one, where that is not simulated
        self._checked, self._was_simulated = -math.inf, False

    @property
    def simulated(self) -> bool:
        """Whether the time is simulated."""
        return self._clock is not None and bool(self._clock.ros_time_is_active)

    @property
    def silent(self) -> bool:
        """Whether the time is simulated, and nothing has come on ``/clock`` yet."""
        return self.simulated and self.graph_time() == 0

    @property
    def jumps(self) -> int:
        """Number of times that a simulated clock was set, or another one showed itself."""
        return 0 if self._simulated is None else self._simulated.jumps

    @property
    def restarts(self) -> int:
        """Number of times that a simulated clock was set back or ahead."""
        return 0 if self._simulated is None else self._simulated.restarts

    @property
    def behind(self) -> float:
        """Largest lag of a controller's clock behind this one [s]."""
        with self._lock:
            estimate = self._simulated
            return _BEHIND + (0.0 if estimate is None else estimate.ahead)

    def now(self) -> float:
        """Return the time [s]."""
        with self._lock:
            real = self._real()
            estimate = self._read(real)
            return real + self._shift if estimate is None else estimate.at(real)

    def wait(self, moment: float) -> float:
        """Return how long to wait in real time for a moment, or until to ask again [s]."""
        with self._lock:
            real = self._real()
            estimate = self._read(real)
            if estimate is None:
                return moment - real - self._shift
            return min(estimate.wait(moment, real), _POLL)

    def wait_while(self, condition: Callable[[], bool], longest: float) -> None:
        """
        Wait while a condition holds, which the motion ends; not for a simulation that is paused.

        :param longest: for how long, in real time [s].
        """
        began = since = self._real()
        last = self.now()
        while condition() and self._real() - began < longest:
            now = self.now()
            if now > last:
                last, since = now, self._real()
            elif self._real() - since > _PAUSED:
                return
            time.sleep(_SLEEP)

    def graph_time(self) -> int:
        """Return the time of the ROS graph [ns]."""
        if self._clock is not None and self.simulated:
            return self._clock.now().nanoseconds
        return self._system()  # the same as the clock's, in a tenth of the time

    def stamp_of(self, moment: float) -> int:
        """Return the time of the ROS graph [ns] for a moment on this clock [s]."""
        with self._lock:
            estimate = self._simulated
            if estimate is not None:
                return round(1e9 * estimate.clock_at(moment))
            real, graph = self._both()
            return graph + round(1e9 * (moment - self._shift - real))

    def moment_of(self, stamp: int) -> float:
        """Return when it is a time of the ROS graph [ns], on this clock [s]."""
        with self._lock:
            if self._simulated is not None:
                return self._simulated.moment_of(1e-9 * stamp)
            real, graph = self._both()
            return real + self._shift + 1e-9 * (stamp - graph)

    def _read(self, real: float) -> SimulatedTime | None:
        """Read a simulated clock; return the estimate of it, or None."""
        if not 0.0 <= real - self._checked < _FRESH:
            self._checked, self._was_simulated = real, self.simulated
        if not self._was_simulated:
            if self._simulated is not None:
                self._shift = self._simulated.at(real) - real
                self._simulated = None
            return None
        assert self._clock is not None
        if self._simulated is None:
            self._simulated = SimulatedTime(real + self._shift)
        self._simulated.read(real, 1e-9 * self._clock.now().nanoseconds)
        return self._simulated

    def _both(self) -> tuple[float, int]:
        """Return the real time [s] and that of the graph [ns] at one moment."""
        closest = math.inf
        for _ in range(_LOOKS):  # another thread may get the core between two reads of clocks
            before = self._real()
            graph = self.graph_time()
            after = self._real()
            if after - before < closest:
                closest, middle, stamp = after - before, 0.5 * (before + after), graph
            if closest < _AT_ONCE:
                break
        return middle, stamp
