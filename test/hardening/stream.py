"""
Judgement of the command stream from the published messages and their times.

It is independent of the code of the node. Times are those at which the middleware took a command
to send it, so that a slow listener distorts nothing. Every figure is given twice: in rad or rad/s,
and as a share of what was allowed, where 1 is the bound.

A pause ends a stretch of commands. Within a stretch, no joint may move by more than its speed
allows in the time that has really passed (at most one period), nor change its published speed by
more than its acceleration allows. A stretch has to begin where the arm really is, from rest, and
has to end at rest.
"""

from __future__ import annotations

from collections import deque
from dataclasses import asdict, dataclass, field, fields, replace
import math
import operator

import numpy as np

PAUSE = 0.15
"""Silence that ends a stretch, in seconds, or in periods where these are longer [s]."""

JITTER = 8e-3
"""
Largest difference between the time of sending and the time that the node computed with [s].

Other threads or programs may delay the sending that long. What a single interval cannot show
therefore, ten commands together do.
"""

HOLE = 1.5
"""Periods without a command after which its speed may be that of an arm that has stopped."""

_RECENT = 20  # changes of settings that may still show
STALL = 0.5
"""Silence between two commands that may be a machine that had no time for the node [s]."""

WINDOW = 10
_LONGEST_WINDOW = 0.25

GRACE = 0.3
"""How long settings that were changed may still show, beside the acceleration time [s]."""


@dataclass(frozen=True)
class Settings:
    """Bounds of the commands from a time on: rate [Hz], share of the speed, time to it [s]."""

    rate: float = 100.0
    velocity_scaling: float = 0.5
    acceleration_time: float = 0.2


@dataclass
class Bounds:
    """The arm's limits (n,), and the settings over time, as (time [s], settings)."""

    lower: np.ndarray
    upper: np.ndarray
    speed: np.ndarray
    timeline: list[tuple[float, Settings]] = field(default_factory=list)

    def change(self, time, **values):
        """Note that settings are changed; both the old and the new hold for a while."""
        last = self.timeline[-1][1] if self.timeline else Settings()
        self.timeline.append((time, replace(last, **values)))

    def at(self, time):
        """The longest period [s], the largest speeds and accelerations (n,) allowed at a time."""
        ends = [begin for begin, _ in self.timeline[1:]] + [math.inf]
        held = [
            settings
            for (begin, settings), end in zip(self.timeline, ends, strict=True)
            if begin - GRACE <= time <= end + GRACE + settings.acceleration_time
        ] or [self.timeline[-1][1]]
        scaling = max(settings.velocity_scaling for settings in held)
        slowest = min(settings.acceleration_time for settings in held)
        speed = self.speed * scaling
        acceleration = speed / slowest if slowest > 0.0 else np.full_like(speed, math.inf)
        return 1.0 / min(settings.rate for settings in held), speed, acceleration

    def late(self, time):
        """Silence from which on a command is late, with the fastest rate that may hold [s]."""
        held = (s for begin, s in self.timeline if begin - GRACE <= time)
        return HOLE / max([s.rate for s in held][-_RECENT:], default=self.timeline[0][1].rate)


@dataclass(frozen=True)
class Sample:
    """A command: when it was sent [s], its number from the writer, positions, speeds (n,)."""

    time: float
    number: int
    q: np.ndarray
    v: np.ndarray


@dataclass(frozen=True)
class Figures:
    """
    Figures of a stream: the worst of each kind [rad], [rad/s], [s]; ratios are shares of bounds.

    :ivar missed: commands that were sent, but not received here.
    :ivar holes: commands late by more than half a period; an arm may have stopped then.
    :ivar position_ratio: steps, and distances of first commands from the arm, as shares.
    :ivar speed_ratio: changes of speed as shares; the last one is that to rest.
    :ivar sustained_speed: speed over ten commands, as a share; likewise its change.
    :ivar untrue_speed: published speed against that of the steps, as a share of the limit.
    :ivar longest: longest time between two commands of a stretch [s].
    """

    commands: int = 0
    missed: int = 0
    stretches: int = 0
    holes: int = 0
    position_step: float = 0.0
    position_ratio: float = 0.0
    speed_step: float = 0.0
    speed_ratio: float = 0.0
    sustained_speed: float = 0.0
    sustained_acceleration: float = 0.0
    untrue_speed: float = 0.0
    outside: float = 0.0
    shortest: float = math.inf
    longest: float = 0.0

    def __or__(self, other):
        """Worst figures of both."""
        worst = {f.name: max(getattr(self, f.name), getattr(other, f.name)) for f in fields(self)}
        for name in ('commands', 'missed', 'stretches', 'holes'):
            worst[name] = getattr(self, name) + getattr(other, name)
        for name in ('position', 'speed'):
            leader = max(self, other, key=lambda figures: getattr(figures, f'{name}_ratio'))
            worst[f'{name}_step'] = getattr(leader, f'{name}_step')
        return Figures(**{**worst, 'shortest': min(self.shortest, other.shortest)})

    def as_dict(self):
        shown = asdict(self)
        return {k: v if math.isfinite(v) else None for k, v in shown.items()}


def check(samples, bounds, place=None, *, cut_at=(), running=False, jitter=JITTER):
    """
    Judge commands, in the order of sending.

    :param place: returns where the arm was at a time (n,), or None; stretches have to begin there.
    :param cut_at: times at which the stream was cut by force: no fault of the node's.
    :param running: whether the last command is not the end of a stretch.
    """
    figures = Figures()
    before, stretch = None, deque(maxlen=WINDOW)
    for sample in samples:
        if before is None or is_pause(before, sample, bounds):
            stalled = before is not None and sample.time - before.time < STALL
            if before is not None:
                cut = stalled or any(-0.02 <= when - before.time < 0.3 for when in cut_at)
                figures |= Figures(holes=1) if cut else _end(before, bounds, jitter)
            figures |= _begin(before, sample, bounds, place, jitter, stalled)
            stretch.clear()
        else:
            figures |= _step(before, sample, bounds, jitter)
            if sample.time - before.time > bounds.late(sample.time):
                stretch.clear()
            if len(stretch) == WINDOW:
                figures |= _sustained(stretch[0], sample, bounds, jitter)
        stretch.append(sample)
        figures |= Figures(commands=1, outside=_outside(sample, bounds))
        before = sample
    if before is not None and not running:
        figures |= _end(before, bounds, jitter)
    return figures


def is_pause(before, sample, bounds):
    """Whether a stretch ends between two commands that follow on each other."""
    silence = sample.time - before.time
    return sample.number - before.number <= 1 and silence > max(
        PAUSE, 2.5 * bounds.at(before.time)[0]
    )


def _step(before, sample, bounds, jitter):
    period, speed, acceleration = bounds.at(sample.time)
    sent = max(sample.number - before.number, 1)
    passed = max(sample.time - before.time, 0.0)
    step = np.abs(sample.q - before.q)
    change = np.abs(sample.v - before.v)
    hole = sent == 1 and passed > bounds.late(sample.time)
    if hole:  # the arm has come to rest, or not: from any speed in between
        between = np.clip(sample.v, np.minimum(before.v, 0.0), np.maximum(before.v, 0.0))
        change = np.abs(sample.v - between)
    position = _worst(step, speed * min(passed + jitter, sent * period))
    velocity = _worst(change, acceleration * (passed + jitter))
    regular = sent == 1 and abs(passed - period) < 0.2 * period
    untrue = np.abs(sample.v - (sample.q - before.q) / period) / np.maximum(speed, 1e-9)
    return Figures(
        missed=sent - 1,
        holes=int(hole),
        longest=passed / sent,
        position_step=position[0],
        position_ratio=position[1],
        speed_step=velocity[0],
        speed_ratio=velocity[1],
        untrue_speed=float(untrue.max()) if regular else 0.0,
        shortest=passed / sent,
    )


def _sustained(first, last, bounds, jitter):
    """The same over several commands, where a single one's jitter matters less."""
    passed = last.time - first.time
    if passed > _LONGEST_WINDOW:
        return Figures()
    period, speed, acceleration = bounds.at(last.time)
    most = min(passed + jitter, (last.number - first.number) * period)
    changed = _worst(np.abs(last.v - first.v), acceleration * (passed + jitter))
    return Figures(
        sustained_speed=_worst(np.abs(last.q - first.q), speed * most)[1],
        sustained_acceleration=changed[1],
    )


def _begin(before, sample, bounds, place, jitter, stalled):
    """The first command after a pause, or after a stall, where the stream may also go on."""
    period, speed, acceleration = bounds.at(sample.time)
    left = 0.0
    if before is not None:
        braked = np.abs(before.v) - acceleration * (sample.time - before.time)
        left = before.v if stalled else np.copysign(np.maximum(braked, 0.0), before.v)
    between = np.clip(sample.v, np.minimum(left, 0.0), np.maximum(left, 0.0))
    velocity = _worst(np.abs(sample.v - between), acceleration * (period + jitter))
    found = Figures(stretches=1, speed_step=velocity[0], speed_ratio=velocity[1])
    q = place(sample.time) if place else None
    if q is None:
        return found
    # What the arm itself may have moved since it was measured is no step of the command.
    places = (q, before.q) if stalled else (q,)
    steps = (_worst(np.abs(sample.q - at), speed * period + 1e-3) for at in places)
    step, ratio = min(steps, key=operator.itemgetter(1))
    return replace(found, position_step=step, position_ratio=ratio)


def _end(sample, bounds, jitter):
    """The last command before a pause: to rest from its speed."""
    period, _, acceleration = bounds.at(sample.time)
    velocity = _worst(np.abs(sample.v), acceleration * (period + jitter))
    return Figures(speed_step=velocity[0], speed_ratio=velocity[1])


def _outside(sample, bounds):
    if not (np.isfinite(sample.q).all() and np.isfinite(sample.v).all()):
        return math.inf
    return float(np.maximum(bounds.lower - sample.q, sample.q - bounds.upper).max())


def _worst(values, allowed):
    """The value that is the largest share of what is allowed, and that share."""
    shares = np.where(values > 1e-9, values / np.maximum(allowed, 1e-9), 0.0)
    joint = int(np.argmax(shares))
    return float(values[joint]), float(shares[joint])


def unasked(samples, since, bounds):
    """
    Motion of the commands after they had come to rest, without being asked to [rad].

    :param since: the time of the fault [s].
    :returns: the distance, or None when the commands never came to rest.
    """
    rest, before, moved = None, None, 0.0
    for sample in samples:
        if sample.time >= since:
            if rest is None and before is not None and is_pause(before, sample, bounds):
                rest = before.q
            if rest is None and not sample.v.any():
                rest = sample.q
            if rest is not None:
                moved = max(moved, float(np.abs(sample.q - rest).max()))
        before = sample
    if rest is None and before is not None:
        period, _, acceleration = bounds.at(before.time)
        if (np.abs(before.v) > acceleration * (period + JITTER)).any():
            return None  # the stream breaks off at a speed, or is still under way
    return moved
