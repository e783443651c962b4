"""
Highest rates at which the clock of a trajectory may run, for limits below those it was made for.

A trajectory that is played at the rate r moves with r q̇ and, where the rate changes by u in a
second, accelerates with r² q̈ + u q̇. The highest rates from which the rest of the trajectory can
still be played within the limits are found backwards from its end, in x = r², for which the limits
are linear (the backward pass of TOPP-RA, Pham & Pham 2018, with the trajectory's own time as the
path parameter). The geometry of the motion is never changed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ik_service.jit.compile import kernel
from ik_service.jit.entry import entry_point
from ik_service.paths.trajectory.joint_trajectory import JointTrajectory

_SQUARE_HALVINGS = 30  # of an interval of squared rates, to a billionth of it


@kernel
def write_highest_squares(spacing, velocity, acceleration, limits, squares):
    """
    Lower the squares of rates to those from which the rest can be played within accelerations.

    :param spacing: (g,) lengths of the intervals [s].
    :param velocity: (g, 2, n) velocities at both ends of each interval [rad/s] or [m/s].
    :param acceleration: (g, 2, n) accelerations there [rad/s²] or [m/s²].
    :param limits: (n,) largest accelerations [rad/s²] or [m/s²].
    :param squares: (g + 1,) the largest squares that the velocities allow; lowered in place.
    """
    for i in range(len(spacing) - 1, -1, -1):
        low, high = 0.0, squares[i]
        square = high
        for _ in range(_SQUARE_HALVINGS):
            # The changes of the rate in a second that lead to a square between 0 and the next one.
            least = -0.5 * square / spacing[i]
            most = 0.5 * (squares[i + 1] - square) / spacing[i]
            for j in range(len(limits)):
                for end in range(2):
                    bend = acceleration[i, end, j]
                    speed = velocity[i, end, j] + (2.0 * spacing[i] * bend if end else 0.0)
                    pull, limit = square * bend, limits[j]
                    if abs(speed) <= _NOTHING:
                        if abs(pull) > limit:
                            most = least - 1.0
                        continue
                    one, other = (limit - pull) / speed, (-limit - pull) / speed
                    least = max(least, min(one, other))
                    most = min(most, max(one, other))
            if least <= most:
                low = square
                if square == high:
                    break
            else:
                high = square
            square = 0.5 * (low + high)
        squares[i] = low


_INTERVALS = 1500  # intervals that a trajectory is divided into, at least
_MOST_PARTS = 400  # parts that a segment is divided into, at most
_HALVINGS = 12  # halvings in which a rate is found

_NOTHING = 1e-12  # speed that counts as none, and time that may be divided by


@dataclass(frozen=True)
class ClockRates:
    """
    Highest rates of a trajectory's clock.

    :ivar times: (g,) times in the trajectory [s].
    :ivar squares: (g,) squares of the highest rates there, 0 to 1.
    :ivar corners: (c,) times at which a velocity jumps [s].
    """

    times: np.ndarray
    squares: np.ndarray
    corners: np.ndarray

    def between(self, t: float, later: float) -> float:
        """Return the highest rate allowed throughout from one time to a later one [s]."""
        first, last = self.times.searchsorted((t, later))
        ends = np.interp((t, later), self.times, self.squares)
        return float(np.sqrt(min(*ends, self.squares[first:last].min(initial=1.0))))

    def next_place(
        self, t: float, rate: float, slower: float, wanted: float, dt: float
    ) -> tuple[float, float]:
        """
        Return where a clock is after a while (time [s] and rate), as fast as it may be until then.

        :param t: its time [s].
        :param slower: lowest change of the rate in a second [1/s].
        :param wanted: highest rate that is of use.
        :param dt: the while [s].
        """
        lowest = max(rate + slower * dt, 0.0)
        rate_then = self._highest(t, rate, lowest, max(wanted, lowest), dt)
        passed = 0.5 * (rate + rate_then) * dt
        at_corner = self._at_corner(t, t + passed)
        if at_corner < rate and lowest < rate:  # it slows down at once, to be slow enough there
            rate_then = max(min(rate_then, at_corner), lowest)
            changing = min((rate_then - rate) / slower, dt)
            passed = 0.5 * (rate + rate_then) * changing + rate_then * (dt - changing)
        return t + passed, rate_then

    def _highest(self, t: float, rate: float, lowest: float, wanted: float, dt: float) -> float:
        """Return the highest rate, lowest to wanted, that may be had after dt and until then."""
        low, high = lowest, wanted
        if high <= self.between(t, t + 0.5 * (rate + high) * dt):
            return high
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            if middle <= self.between(t, t + 0.5 * (rate + middle) * dt):
                low = middle
            else:
                high = middle
        return low

    def _at_corner(self, t: float, later: float) -> float:
        """Return the highest rate at the first corner between two times; inf without any."""
        i = int(self.corners.searchsorted(t, 'right'))
        if i == len(self.corners) or self.corners[i] >= later:
            return np.inf
        return self.between(self.corners[i], self.corners[i])


class ClockGrid:
    """Division of a trajectory into intervals, with its velocities and accelerations there."""

    def __init__(self, trajectory: JointTrajectory) -> None:
        spans = np.diff(trajectory.times)
        step = trajectory.duration / _INTERVALS
        # A segment has some, however short it is beside others: its velocity may have a peak.
        least = np.clip(_INTERVALS // max(len(spans), 1), 1, _MOST_PARTS)
        parts = np.ceil(spans / max(step, _NOTHING)).clip(least, _MOST_PARTS).astype(int)
        segment = np.repeat(np.arange(len(spans)), parts)
        number = np.arange(len(segment)) - np.repeat(np.cumsum(parts) - parts, parts)
        self._spacing = (spans / parts)[segment]
        begin = number * self._spacing
        self._times = np.append(trajectory.times[segment] + begin, trajectory.times[-1])
        n = len(trajectory.joint_names)
        self._velocity = np.empty((len(segment), 2, n))
        self._acceleration = np.empty((len(segment), 2, n))
        for end in range(2):
            powers = _powers(begin + end * self._spacing)
            for i in range(0, len(segment), 4096):
                rows = slice(i, i + 4096)
                motion = powers[rows] @ trajectory.coefficients[segment[rows]]
                self._velocity[rows, end] = motion[:, 1]
                self._acceleration[rows, end] = motion[:, 2]

    def highest_rates(
        self,
        velocity: np.ndarray,
        acceleration: np.ndarray,
        period: float,
        moving: bool = False,
    ) -> ClockRates:
        """
        Return the highest rates that keep limits.

        :param velocity: (n,) largest velocities [rad/s] or [m/s].
        :param acceleration: (n,) largest accelerations [rad/s²] or [m/s²]; inf for no limit.
        :param period: time in which a velocity that jumps may change [s].
        :param moving: whether it starts from its first velocity; else from rest.
        """
        if not len(self._spacing):
            return ClockRates(self._times, np.ones(1), np.empty(0))
        n = len(velocity)
        still = np.zeros((1, n))
        first = self._velocity[:1, 0] if moving else still
        before = np.concatenate([first, self._velocity[:, 1]])
        after = np.concatenate([self._velocity[:, 0], still])
        fastest = np.maximum(np.abs(before), np.abs(after))
        squares = _squares(velocity, fastest)
        # From and to rest, and at a corner, the velocity changes within a period.
        jumps = np.abs(after - before)
        squares = np.minimum(squares, _squares(acceleration * period, jumps))
        bounds = np.array(acceleration)
        arguments = self._spacing, self._velocity, self._acceleration, bounds, squares
        entry_point(write_highest_squares, *arguments)(*arguments)
        return ClockRates(self._times, squares, self._times[(jumps > _NOTHING).any(axis=1)])


def warm_up() -> None:
    """Compile the kernel, or load it from the cache; it is the same for all trajectories."""
    still = np.zeros((2, 1))
    trajectory = JointTrajectory(('joint',), np.array([0.0, 1.0]), still, still)
    ClockGrid(trajectory).highest_rates(np.ones(1), np.ones(1), 0.01)


def _squares(limits: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Return (g,) squares, 1 at most, of the rates that bring sizes (g, n) to limits (n,)."""
    with np.errstate(divide='ignore', invalid='ignore'):
        rates = np.where(sizes > _NOTHING, limits / sizes, 1.0)
    return np.minimum(rates.min(axis=1), 1.0) ** 2


def _powers(times: np.ndarray) -> np.ndarray:
    """Return the rows (g, 3, 6) of :func:`~.segments.time_powers` for many times (g,)."""
    powers = np.empty((len(times), 3, 6))
    powers[:, 0] = times[:, None] ** np.arange(6.0)
    powers[:, 1:] = 0.0
    powers[:, 1, 1:] = powers[:, 0, :-1] * np.arange(1.0, 6.0)
    powers[:, 2, 2:] = powers[:, 1, 1:-1] * np.arange(2.0, 6.0)
    return powers
