"""
Clock of the steps of a window, for ticks that come unevenly.

A command moves on by one period at most, however late its tick was; a window whose steps took no
longer would run out of commands, a little with every late tick. So its steps take longer, by the
share by which ticks have been late lately, and are planned further ahead, by what the next ones
may be late. Both change slowly: a phase-locked loop, as in the jitter buffers of audio
streams. Steps are never shorter than their ticks, so what is planned further ahead comes nearer
again only when the motion rests.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

_LATENESS, _RESERVE, _CORRECTION = 0.3, 2.0, 0.1
"""Time constants of the share, of the reserve, and of coming to the wanted time [s]."""

_LATER, _MOST = 3.0, 1.5
"""Reserve for ticks in a row, in ticks as late as the last ones; in periods, at most."""

_GENTLE = 0.1
"""Share of the acceleration that a change of the ratio takes."""

_SLOWEST = 2.0
"""Largest ratio."""


@dataclass(frozen=True)
class StepClock:
    """
    Length of steps, and how far ahead they are planned.

    :ivar ratio: length of the last step by that of its tick.
    :ivar lateness: by how much ticks have been late lately, as a share of the time between them.
    :ivar reserve: how much further ahead steps are planned [s].
    """

    ratio: float = 1.0
    lateness: float = 0.0
    reserve: float = 0.0

    def ticked(self, elapsed: float, period: float) -> StepClock:
        """
        Return the clock after a tick; one that stalls by more than a period tells nothing.

        :param elapsed: time since the last tick [s], above 0.
        :param period: time between two ticks that are in time [s].
        """
        late, dt = max(elapsed - period, 0.0), min(elapsed, period)
        if late > period:
            return self
        share = min(dt / _LATENESS, 1.0)
        lateness = self.lateness + share * (late / dt - self.lateness)
        needed = min(_LATER * late, _MOST * period)
        reserve = max(needed, self.reserve * max(1.0 - dt / _RESERVE, 0.0))
        return replace(self, lateness=lateness, reserve=reserve)

    def stepped(self, until: float, dt: float, braking: float) -> StepClock:
        """
        Return the clock after a step.

        :param until: from its begin to when its end is wanted, but for the reserve [s].
        :param dt: length of its tick [s].
        :param braking: largest decrease of the speeds, in shares of the fastest [1/s].
        """
        wanted = 1.0 + self.lateness + (until + self.reserve - self.ratio * dt) / _CORRECTION
        change = _GENTLE * braking * dt
        ratio = min(max(wanted, self.ratio - change), self.ratio + change, _SLOWEST)
        return replace(self, ratio=max(ratio, 1.0))  # shorter steps would brake more sharply
