"""
Velocities for arms that take those in place of positions.

An arm that is driven by velocities drifts away from the positions that the commands mean, and
goes on with its last velocity when nothing more comes. So each velocity is that of the commands
plus a bounded correction of the measured error, and a stream of them always ends with zeros.
"""

from __future__ import annotations

import numpy as np

from ik_service.motion.command.motion_limits import clamped, MotionLimits

GAIN = 4.0  # share of the measured error that is corrected in a second [1/s]
CORRECTION = 0.2  # largest correction, as a share of the highest speed that is allowed
FAREWELL = 0.5  # time for which zeros are repeated at the end of a motion [s]

_STABLE = 0.5  # share of the error that is corrected in a period, at most

_SHARE = 0.1
"""Share of the acceleration and of the jerk that is left for changes of the correction."""

_ANY, _ROUNDING = 1e9, 1e-9
"""
Jerk that greater ones count as, in shares of the velocity limit [1/s²]; share, and speed in such
shares, that counts as rounding.
"""

_MARGIN, _LATEST, _REMEMBERED = 0.2, 0.05, 0.99
"""
Delay of the next velocities that joint limits always allow for, as a share of the period; delay
of ticks that they allow for, at most [s]; share of it that still counts in the next tick.
"""

_SLOW = 0.1  # share of the period by which sending may be late without being noticed by the arm


class VelocityCommand:
    """Velocities of n joints, tick by tick, within the limits of speed and acceleration."""

    def __init__(self, n: int) -> None:
        self._speed = np.zeros(n)  # shares of the velocity limits
        self._braking = np.zeros(n)
        self._correction, self._change = np.zeros((2, n))  # and its change in a second
        self._rate, self._step = np.zeros(n), 0.0  # acceleration and length of the last step
        self._smoothed = np.zeros(n, bool)  # which speeds are approaching the wanted ones
        self._sent_at = -np.inf
        self._late = 0.0  # by how much ticks are late [s]
        self._farewell = 0.0  # time for which zeros are still to be sent [s]
        self._before = vars(self).copy()

    @property
    def busy(self) -> bool:
        """Whether there is still something to send, be it zeros."""
        return self._farewell > 0.0

    def next(
        self,
        velocity: np.ndarray,
        error: np.ndarray | None,
        q: np.ndarray,
        limits: MotionLimits,
        now: float,
        period: float,
        bounds: MotionLimits | None = None,
    ) -> np.ndarray:
        """
        Return the velocities to send (n,) [rad/s] or [m/s].

        :param velocity: (n,) velocities of the commands [rad/s] or [m/s].
        :param error: (n,) how far the joints are behind their commands [rad] or [m]; None when
            that is not known.
        :param q: (n,) where the joints are, which must not leave their limits [rad] or [m].
        :param bounds: the bounds that the commands keep, where limits were changed; None for
            the limits.
        """
        self._before = {**vars(self), '_before': {}}
        most = 0.0 if error is None else CORRECTION * limits.scaling
        gain = min(GAIN, _STABLE / period)
        missing = np.zeros_like(velocity) if error is None else gain * error / limits.unit
        passed = now - self._sent_at
        dt = max(min(passed, period), 1e-9)
        if self._speed.any():
            self._late = min(max(passed - period, _REMEMBERED * self._late), _LATEST)
        correction = self._corrected(clamped(missing, -most, most), limits, dt)
        along, scaling, limits = velocity / limits.unit, limits.scaling, bounds or limits
        fastest = np.maximum(scaling, np.abs(along))
        wanted = clamped(along + correction, -fastest, fastest)
        if not np.isfinite(wanted).all():
            wanted = np.zeros_like(wanted)
        self._braking = limits.braking_since_rest(self._braking, bool(self._speed.any()))
        # It lasts until the next one arrives, and slows down by what a period allows only.
        lasts = (1.0 + _MARGIN) * period + self._late
        below, above = _stopping_speeds(q, limits, self._braking * (period / lasts), lasts)
        wanted = clamped(wanted, -below, above)
        fastest = np.where(fastest > scaling, _ANY, scaling)  # of the commands: they slow down
        before, wanted = self._speed, self._smooth(wanted, fastest, limits, dt)
        low, high = limits.reachable_speeds(q, self._speed, self._braking, dt)
        if dt < period or limits.jerk is not None:
            below, above = _stopping_speeds(q, limits, self._braking, period)
            if limits.jerk is not None:  # what is too fast by now slows down smoothly, too
                high = np.maximum(high, np.minimum(wanted, before))
                low = np.minimum(low, np.maximum(wanted, before))
            # It lasts for a whole period all the same.
            high = np.minimum(high, above)
            low = np.minimum(np.maximum(low, -below), high)
        self._speed = np.where(limits.movable, clamped(wanted, low, high), 0.0)
        self._rate = (self._speed - before) / (0.5 * (dt + (self._step or dt)))
        self._sent_at, self._step = now, dt
        self._farewell = FAREWELL if self._speed.any() else self._farewell - dt
        return self._speed * limits.unit

    def _corrected(self, wanted: np.ndarray, limits: MotionLimits, dt: float) -> np.ndarray:
        """Return the correction (n,) nearest to a wanted one that goes on smoothly."""
        if limits.jerk is None or not np.isfinite(wanted).all():
            return wanted
        most, jerk = np.maximum(limits.acceleration, self._braking), _SHARE * limits.jerk
        away, last = wanted - self._correction, self._step or dt
        self._change = _next_rate(away, self._change, _SHARE * most, jerk, dt, last)
        left = away - self._change * dt
        self._correction = np.where(np.abs(left) > _ROUNDING, wanted - left, wanted)
        return self._correction

    def _smooth(
        self, wanted: np.ndarray, fastest: np.ndarray, limits: MotionLimits, dt: float
    ) -> np.ndarray:
        """Return wanted speeds (n,), or intermediate ones up to the fastest, by the jerk."""
        if limits.jerk is None:
            return wanted
        step, aims = self._step or dt, np.array([wanted, -fastest, fastest])
        away, span = aims - self._speed, 0.5 * (dt + step)
        most = np.where(away * self._speed < 0.0, self._braking, limits.acceleration)
        rates = _next_rate(away, self._rate, most, limits.jerk, dt, step)
        gentle, lowest, highest = self._speed + span * rates
        wanted = clamped(wanted, lowest, highest)
        away = wanted - self._speed
        sudden = np.abs(away / span - self._rate) > limits.jerk * step * (1.0 + _ROUNDING)
        self._smoothed = sudden | (self._smoothed & (np.abs(gentle - wanted) > _ROUNDING))
        return np.where(self._smoothed, gentle, wanted)

    def mark_sent(self, delay: float, period: float) -> None:
        """Take note of the delay from the tick to the end of sending the last velocities [s]."""
        if delay > _SLOW * period:
            self._sent_at += delay

    def discard(self) -> None:
        """Forget the last velocities, which were not sent."""
        vars(self).update(self._before)

    def rest(
        self, q: np.ndarray, limits: MotionLimits, now: float, period: float
    ) -> np.ndarray | None:
        """
        Return the velocities after the last command: down to zero, then zeros for a while.

        :param q: as for :meth:`next`.
        :param limits: as for :meth:`next`.
        :param now: as for :meth:`next`.
        :param period: as for :meth:`next`.
        :returns: (n,) velocities; None when nothing more is to be sent.
        """
        if self._farewell <= 0.0:  # by ticks, as a process that stalls sends nothing
            return None
        return self.next(np.zeros_like(self._speed), None, q, limits, now, period)


def _next_rate(
    away: np.ndarray, rate: np.ndarray, most: np.ndarray, jerk: np.ndarray, dt: float, last: float
) -> np.ndarray:
    """
    Return the rate (n,) at which a distance gets less, so that the rate, too, is 0 at its end.

    :param away: (n,) the distance.
    :param rate: (n,) the last rate.
    :param most: (n,) the highest one.
    :param jerk: (n,) the largest change of the rate in a second.
    :param last: length of the one before [s].
    """
    jerk = np.minimum(jerk, _ANY)
    change, twice = jerk * dt, 2.0 * jerk * np.abs(away)
    # In this form no digits are lost, and the last rest of a distance is covered.
    size = twice / np.maximum(np.sqrt(change**2 + twice) + change, 1e-300)
    size = np.minimum(np.minimum(size, np.abs(away) / dt), most)
    return clamped(np.copysign(size, away), rate - jerk * last, rate + jerk * last)


def _stopping_speeds(
    q: np.ndarray, limits: MotionLimits, braking: np.ndarray, dt: float
) -> tuple[np.ndarray, np.ndarray]:
    """
    Return :func:`.motion_limits.stopping_speed_along` of joints before both of their limits.

    :param q: (n,) where they are [rad] or [m].
    :returns: (n,) downwards and (n,) upwards, in shares of the velocity limits.
    """
    room = np.array([q - limits.lower, limits.upper - q]) / limits.unit
    twice = 2.0 * clamped(room, 0.0, 1e9)
    below, above = twice / (dt + np.sqrt(dt * dt + twice / np.maximum(braking, 1e-200)))
    return below, above
