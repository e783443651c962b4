"""
Smooth time from a simulated clock, which is read now and then and goes on in steps.

Simulators publish their clock 10 to 1,000 times a second, and it runs slower or faster than the
real one, at a rate that changes; it may be paused, or set back. Motion that is timed by the real
clock, or by the steps of this one, leaps in the simulated controller. So the clock's rate is
learnt from its last steps, and between two of them the time goes on at this rate, corrected by
how far it is off at each step. It never runs back and never far beyond the last step. It is kept
a little ahead of the clock, as a step is known only some time after it was made: commands for
a simulated controller have to be there by then.

A step that does not follow from those before is believed only when none that does has come for a
while: a second clock shows itself by then, and motion is not timed by one and then by the other.
"""

from __future__ import annotations

from collections import deque
from itertools import pairwise

SETTLED = 0.5
"""
Time on a simulated clock below which nothing moves, as its windows would begin before 0 [s]. After
a jump to there, what moves has to come to rest all the same.
"""

_SPAN, _FEWEST = 0.25, 3
"""Real time from whose steps the rate is learnt [s], and the least number of steps for that."""

_RECENT = 0.02  # real time of whose steps the one that was delayed least counts [s]

_SETTLES = 0.1
"""Real time within which the estimate comes to where the clock is [s], three steps at least."""

_BEYOND = 1.25
"""Steps by which the estimate may pass the last step: the next one may be a little late."""

_UNSURE, _DELIVERY = 0.25, 0.004
"""Lead of the estimate: share of a step, and real time in which a step gets here [s]."""

_JUMP, _FASTEST = 1.0, 20.0
"""A step is a jump where it is longer than this [s] beside the real time at this rate."""

_PAUSE = 3.0
"""Time without a step, in usual ones, after which the clock is taken to have been paused."""

_LEAP, _LEAST_LEAP = 2.0, 0.025
"""
Share of a usual step and of the time at this rate, and time [s], beyond which a step says nothing
of the rate: the simulation was moved on at once, or this is another clock.
"""

_DOUBTFUL, _SHORTEST_DOUBT, _LONGEST_DOUBT = 3.0, 0.05, 0.25
"""Real time for which such a step is doubted: in those of usual steps; at least, at most [s]."""


class SimulatedTime:
    """
    Monotonic estimate of a simulated clock.

    :param start: initial time of the estimate [s].
    :ivar jumps: how often the clock was set back or ahead, or another one showed itself; the
        estimate goes on from where it was.
    :ivar restarts: how often it had to begin anew from there.
    """

    def __init__(self, start: float) -> None:
        self.jumps = self.restarts = 0
        self._edges: deque[tuple[float, float]] = deque()  # real times, and the clock's
        self._anchor = 0.0, start  # real time and estimate
        self._shift = 0.0  # from the estimate to the clock
        self._speed = 0.0  # of the estimate, against the real time
        self._rate = 0.0  # of the clock
        self._step = 0.0  # of the clock, usually
        self._most = start  # of the estimate until the next step
        self._interval = 0.0  # real time between two steps, usually
        self._doubted_since: float | None = None  # real time of a step that does not follow

    @property
    def lead(self) -> float:
        """Time by which the estimate is to be ahead of the clock as it is read [s]."""
        return _UNSURE * self._step + _DELIVERY * max(self._rate, 1.0)

    @property
    def ahead(self) -> float:
        """Time by which the estimate may be ahead of the clock [s]."""
        return _BEYOND * self._step + 2.0 * self.lead

    def at(self, real: float) -> float:
        """Return the estimate [s] at a real time, not before that of the last reading [s]."""
        since, then = self._anchor
        return max(min(then + self._speed * (real - since), self._most), then)

    def wait(self, moment: float, real: float) -> float:
        """Return the real time from now until a moment of the estimate [s]; inf for never."""
        left = moment - self.at(real)
        if left <= 0.0:
            return 0.0
        return left / self._speed if moment <= self._most and self._speed > 0.0 else float('inf')

    def clock_at(self, moment: float) -> float:
        """Return the time of the clock at a moment of the estimate [s]."""
        return moment + self._shift

    def moment_of(self, clock: float) -> float:
        """Return when the clock shows a time [s], on the time of the estimate [s]."""
        return clock - self._shift

    def read(self, real: float, clock: float) -> None:
        """Take in a reading of the clock [s], 0 before its first message, of a real time [s]."""
        if clock <= 0.0:
            return
        if not self._edges:
            self._restart(real, clock)
            return
        then, before = self._edges[-1]
        step, passed = clock - before, real - then
        if not 0.0 <= step <= self._largest_step(passed):
            self._doubt(real, clock, 0.0 <= step <= _JUMP + _FASTEST * passed)
            return
        if step > 0.0:
            self.jumps += self._doubted_since is not None
            self._doubted_since = None
            self._take_step(real, clock, then, before)

    def _largest_step(self, passed: float) -> float:
        """Return the largest step in a real time [s] that follows from those before [s]."""
        if self._step == 0.0:
            return _JUMP + _FASTEST * passed
        return max(_LEAP * (self._step + self._rate * passed), _LEAST_LEAP)

    def _doubt(self, real: float, clock: float, leaps: bool) -> None:
        """Doubt a step, or believe it after a while without the clock from before."""
        since = self._doubted_since = self._doubted_since or real
        patience = min(max(_DOUBTFUL * self._interval, _SHORTEST_DOUBT), _LONGEST_DOUBT)
        if real - since < patience:
            return
        self._doubted_since = None
        if leaps:
            self._edges.clear()
            self._take_step(real, clock, real, clock)
        else:
            self._restart(real, clock)
            self.jumps, self.restarts = self.jumps + 1, self.restarts + 1

    def _restart(self, real: float, clock: float) -> None:
        now = self.at(real)
        # Where jump follows jump, it goes on: two clocks must not keep a motion from being ended.
        again = len(self._edges) == 1
        self._edges.clear()
        self._edges.append((real, clock))
        self._anchor, self._shift = (real, now), clock - now
        self._speed = self._rate if again else 0.0
        self._most = now + (_BEYOND * self._step if again else 0.0)

    def _take_step(self, real: float, clock: float, then: float, before: float) -> None:
        edges = self._edges
        usual = (edges[-1][0] - edges[0][0]) / (len(edges) - 1) if len(edges) > 1 else real - then
        if real - then > _PAUSE * usual + _RECENT:
            edges.clear()
        edges.append((real, clock))
        while len(edges) > _FEWEST and edges[0][0] < real - _SPAN:
            edges.popleft()
        if len(edges) > 1:
            self._rate = (clock - edges[0][1]) / (real - edges[0][0])
            self._interval = (real - edges[0][0]) / (len(edges) - 1)
            self._step = max(later[1] - earlier[1] for earlier, later in pairwise(edges))
        now, since = self.at(real), real - then
        truth = max(c + self._rate * (real - r) for r, c in edges if r >= real - _RECENT)
        behind = self.moment_of(truth) - now
        if clock < SETTLED and not self.jumps:
            self._anchor, self._most = (real, now), now
            self._shift = clock - now
            return
        if behind > 0.0:  # the clock has overtaken it: as after a tick that is late
            now += behind + (self.lead if behind > self.lead else 0.0)
        error = self.moment_of(truth) + self.lead - now
        settles = max(_SETTLES, 3.0 * since) if len(edges) > 1 else _SETTLES
        self._speed = min(max(self._rate + error / settles, 0.0), 2.0 * self._rate)
        self._anchor = real, now
        self._most = max(self.moment_of(truth) + self.lead + _BEYOND * self._step, now)
