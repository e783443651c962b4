"""Fastest motion along a curve: by two passes over its rows, or by TOPP-RA."""

from __future__ import annotations

from itertools import pairwise
import math
from typing import Any

import numpy as np

from ik_service.exceptions import MissingExtraError, TrajectoryError
from ik_service.jit.entry import entry_point
from ik_service.paths.timing.joint_curve import JointCurve, parted
from ik_service.paths.timing.timing_kernels import segment_excess, speed_profile

_LARGE = 1e9  # stands for no limit, which its solver does not take


def toppra_profile(curve: JointCurve, accelerations: np.ndarray, caps: np.ndarray) -> np.ndarray:
    """
    Return the largest x = ṡ² at every row of a curve, from one row of rest to the next.

    :param accelerations: (k−1, n) limits of acceleration in each segment; inf for none.
    :param caps: (k,) upper bounds of x.
    :returns: (k,).
    :raises MissingExtraError: toppra is not installed.
    :raises TrajectoryError: it finds no motion.
    """
    profile = np.zeros(len(caps))
    ends = np.flatnonzero(curve.rests).tolist()
    for first, last in pairwise(ends):
        if last - first > 1:
            rows, segments = slice(first, last + 1), slice(first, last)
            profile[rows] = _piece(
                curve.h[segments], curve.q[rows], accelerations[segments], caps[rows], first
            )
    return profile


def _piece(
    h: np.ndarray, q: np.ndarray, accelerations: np.ndarray, caps: np.ndarray, first: int
) -> np.ndarray:
    """Return the profile between two rows of rest."""
    try:
        from toppra import algorithm, constraint, SplineInterpolator
    except ImportError as error:
        raise MissingExtraError('toppra', 'path') from error
    s = np.concatenate([[0.0], np.cumsum(h)])
    moving = np.ptp(q, axis=0) > 0.0
    path = SplineInterpolator(s, q[:, moving], bc_type='not-a-knot')
    limits = np.minimum(accelerations[:, moving], _LARGE)
    limits = np.vstack([limits[:1], np.minimum(limits[:-1], limits[1:]), limits[-1:]])
    constraints = [
        _speed_constraint(constraint, caps),
        _acceleration_constraint(constraint, limits),
    ]
    search = algorithm.TOPPRA(constraints, path, gridpoints=s, solver_wrapper='seidel')
    _, rates, _ = search.compute_parameterization(0.0, 0.0)
    if rates is None or not np.isfinite(rates).all():
        raise TrajectoryError('has no timing that TOPP-RA finds, from this point on', first)
    return np.square(rates)


def _speed_constraint(constraint: Any, caps: np.ndarray) -> Any:  # noqa: ANN401 - toppra's
    """Return the constraint 0 ≤ x ≤ caps."""
    bounds = np.column_stack([np.zeros_like(caps), np.minimum(caps, _LARGE)])
    made = constraint.LinearConstraint()
    made.compute_constraint_params = lambda path, gridpoints: (None,) * 6 + (bounds,)
    return made


def _acceleration_constraint(constraint: Any, limits: np.ndarray) -> Any:  # noqa: ANN401
    """Return the constraint |q' s̈ + q'' x| ≤ limits, at both ends of every step."""
    count, n = limits.shape
    signs = np.vstack([np.eye(n), -np.eye(n)])
    bounds = np.hstack([limits, limits])

    def parameters(path: Any, gridpoints: np.ndarray) -> tuple:  # noqa: ANN401
        first, second = path(gridpoints, 1), path(gridpoints, 2)
        return constraint.canlinear_colloc_to_interpolate(
            first, second, np.zeros_like(first), np.tile(signs, (count, 1, 1)), bounds,
            None, None, gridpoints,
        )  # fmt: skip

    made = constraint.LinearConstraint()
    made.compute_constraint_params = parameters
    return made


NO_SLOPE = 1e-150  # up to which a joint does not move: a speed by it would be beyond all numbers
TIMINGS = ('auto', 'built_in', 'toppra')  # timings to choose from; 'auto' is 'built_in'

Motion = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
"""(k,) times, and (k, n) positions, velocities and accelerations."""
Pace = np.ndarray | None  # (k−1,) largest ṡ in the segments; None for no bound

# Largest velocity and acceleration of a motion from rest to rest by a polynomial of degree 5, of
# length and duration 1.
_PEAK_VELOCITY = 15.0 / 8.0
_PEAK_ACCELERATION = 10.0 / math.sqrt(3.0)
# Rounds in which the limits are drawn in where the motion between rows exceeds them, and by how
# much it may before all is slowed down a little.
_ROUNDS = 12
_FINE = 1.001
_FULL = 0.999  # share of the limits that is used, as the motion is sampled
# Parts of a segment in the time of the rise to full speed, if it takes longer than that, and at
# most of a whole curve: more of them save less than 2 %.
_PARTS, _PARTS_OF_ALL = 2.0, 64
# Times as long as from rest to rest: from then on a segment is better passed so. Rows beside it
# turn the curve more sharply than the speed can be fitted to at rows alone.
_SLOW = 3.0
# Shortest durations of a segment beside the first and last rest, and beside intermediate ones, as
# shares of that at full speed; and what the rise to that speed adds to it, as a share of the time
# of the rise at constant acceleration, which a cubic speed exceeds by half.
_SHORTEST, _SHORTEST_BETWEEN, _RISE = 4.0 / 3.0, 5.0 / 3.0, 0.75


def long_segments_parted(
    curve: JointCurve, fastest: np.ndarray, strongest: np.ndarray, pace: Pace
) -> JointCurve:
    """
    Return a curve with further rows in the segments that take longer than the rise to full speed.

    Between two rows the motion is one polynomial, whose speed has one peak.

    :param fastest: (n,) limits of velocity [rad/s] or [m/s].
    :param strongest: (n,) limits of acceleration [rad/s²] or [m/s²]; inf for none.
    :param pace: bound on the speed along the curve.
    """
    most = _PARTS_OF_ALL * curve.h / curve.h.sum()
    if most.max() < 2.0:
        return curve
    steepest = np.abs(curve.secants)
    moves = steepest > NO_SLOPE
    divisor = np.where(moves, steepest, 1.0)
    with np.errstate(over='ignore', divide='ignore', invalid='ignore'):  # however slow or fast
        rate, gain = (
            np.where(moves, limit / divisor, np.inf).min(axis=1) for limit in (fastest, strongest)
        )
        if pace is not None:
            rate = np.minimum(rate, pace)
        rises = curve.h * gain / rate**2  # that the segment takes, at full speed
    wanted = np.where(rises > 1.0, np.ceil(_PARTS * rises), 1.0)
    counts = np.minimum(wanted, most).clip(1.0).astype(int)
    return parted(curve, counts) if (counts > 1).any() else curve


def fastest_motion(
    curve: JointCurve, fastest: np.ndarray, strongest: np.ndarray, pace: Pace, timing: str
) -> tuple[Motion, np.ndarray]:
    """
    Return the motion along a curve that takes the least time, within the limits also between rows.

    :param curve: the curve, of at least two rows.
    :param fastest: (n,) limits of velocity [rad/s] or [m/s].
    :param strongest: (n,) limits of acceleration [rad/s²] or [m/s²]; inf for none.
    :param pace: bound on the speed along the curve.
    :param timing: one of :data:`TIMINGS`.
    :returns: the motion, and the segments (k−1,) bool in which it would be much faster if it
        rested at both ends of each.
    :raises MissingExtraError: timing is 'toppra', and it is not installed.
    :raises TrajectoryError: TOPP-RA finds no motion.
    """
    limits = _Limits(curve, fastest, strongest, pace)
    best, least = None, math.inf
    for _ in range(_ROUNDS):
        motion = limits.motion(limits.profile(timing))
        excess = limits.excess(motion)
        slower = max(1.0, float(excess[:, 0].max()), math.sqrt(excess[:, 1].max()))
        duration = slower * motion[0][-1]
        if duration < least:
            best, least = slowed(motion, slower), duration
        if slower <= math.sqrt(_FINE):
            break
        limits.draw_in(excess)
    motion = limits.motion(np.zeros(len(curve.q))) if best is None else best
    return motion, limits.slow(motion)


def slowed(motion: Motion, factor: float) -> Motion:
    """Return a motion that takes longer, by a factor."""
    times, q, velocities, accelerations = motion
    return times * factor, q, velocities / factor, accelerations / factor**2


class _Limits:
    """Limits along a curve, which are drawn in where the motion between rows exceeds them."""

    def __init__(
        self, curve: JointCurve, fastest: np.ndarray, strongest: np.ndarray, pace: Pace
    ) -> None:
        self.curve, self.pace = curve, pace
        self.fastest, self.strongest = _FULL * fastest, _FULL * strongest
        count = len(curve.h)
        self._alone = curve.rests[:-1] & curve.rests[1:]
        self._ramps = (curve.rests[:-1] | curve.rests[1:]) & ~self._alone
        between = curve.rests & (np.arange(count + 1) % count > 0)
        self._shortest = np.where(between[:-1] | between[1:], _SHORTEST_BETWEEN, _SHORTEST)
        self._steepest = np.maximum(np.abs(curve.start), np.abs(curve.end))
        self._accelerations = np.tile(self.strongest, (count, 1))
        chords = np.abs(curve.secants)
        before = self._rates(np.maximum(chords, np.abs(curve.end)))
        after = self._rates(np.maximum(chords, np.abs(curve.start)))
        rates = np.full(count + 1, np.inf)
        rates[1:] = before
        rates[:-1] = np.minimum(rates[:-1], after)
        if pace is not None:
            self.pace = _FULL * pace
            rates[1:] = np.minimum(rates[1:], self.pace)
            rates[:-1] = np.minimum(rates[:-1], self.pace)
        self._caps = np.minimum(np.square(rates), 1e12)
        self._alone_durations = self._rest_to_rest(self._alone) if self._alone.any() else 0.0
        self._places = np.concatenate([[0.0], np.cumsum(curve.h)])
        self._slope = np.concatenate([curve.start, curve.end[-1:]])
        self._bend = np.zeros_like(self._slope)  # of the first and last row, where x is 0
        # Where the spline is parted they differ before and after a row: the mean by the lengths.
        ends = 4.0 * curve.end + 2.0 * curve.start - 6.0 * curve.secants
        starts = 6.0 * curve.secants - 4.0 * curve.start - 2.0 * curve.end
        self._bend[1:-1] = (ends[:-1] + starts[1:]) / (curve.h[:-1] + curve.h[1:])[:, None]

    def profile(self, timing: str) -> np.ndarray:
        """Return x = ṡ² at the rows (k,), the largest within the limits."""
        if timing == 'toppra':
            return toppra_profile(self.curve, self._accelerations, self._caps)
        curve, profile = self.curve, np.empty(len(self._caps))
        arguments = (
            curve.h, curve.secants, curve.start, curve.end, self._accelerations, self._caps,
            curve.rests, profile,
        )  # fmt: skip
        entry_point(speed_profile, *arguments)(*arguments)
        return profile

    def motion(self, profile: np.ndarray) -> Motion:
        """
        Return the motion of a speed profile x = ṡ² (k,).

        Between rows s̈ is constant, but beside rests the speed is reached sooner where the limits
        of acceleration allow it; at intermediate rests s̈ is 0.
        """
        curve = self.curve
        rates = np.sqrt(profile)
        first, last = rates[:-1], rates[1:]
        total = np.maximum(first + last, 1e-150)
        durations = 2.0 * curve.h / total
        gains = (last - first) / durations
        sooner = self._ramp_durations(total)
        gains[sooner < durations] = 0.0
        durations = np.minimum(durations, sooner)
        durations[self._alone] = self._alone_durations
        gains[self._alone] = 0.0
        times = np.concatenate([[0.0], np.cumsum(durations)])
        # At a row between two segments, s̈ is more that of the longer one, which would be left the
        # farther by another one: it would even be overshot.
        gain = np.zeros(len(rates))
        before, after = durations[:-1], durations[1:]
        gain[1:-1] = (gains[:-1] * before + gains[1:] * after) / (before + after)
        gain[curve.rests] = 0.0
        for end, beside, sign in ((0, 1, 1.0), (-1, -2, -1.0)):  # ṡ is cubic in t
            if self._ramps[end]:
                h, rate = durations[end], rates[beside]
                gain[end] = gain[beside] + sign * (12.0 * curve.h[end] / h - 6.0 * rate) / h
        self._along = self._places, rates, gain
        velocities = self._slope * rates[:, None]
        accelerations = self._slope * gain[:, None] + self._bend * profile[:, None]
        return times, curve.q, velocities, accelerations

    def _ramp_durations(self, speeds: np.ndarray) -> np.ndarray:
        """Return the least durations (k−1,) beside rests at some speeds there; inf elsewhere."""
        least = self.curve.h / speeds
        with np.errstate(divide='ignore', invalid='ignore', over='ignore'):
            strongest = np.nanmin(self._accelerations / self._steepest, axis=1)
        reached = np.maximum(least + _RISE * speeds / strongest, self._shortest * least)
        return np.where(self._ramps, reached, np.inf)

    def excess(self, motion: Motion) -> np.ndarray:
        """Return the largest shares of velocity and acceleration limits by segment, (k−1, 2)."""
        excess = np.empty((len(self.curve.h), 2))
        arguments = (*motion, self.fastest, self.strongest, excess)
        entry_point(segment_excess, *arguments)(*arguments)
        if self.pace is not None:
            along, one = np.empty_like(excess), np.ones(1)
            parts = (np.ascontiguousarray(part[:, None]) for part in self._along)
            of_parameter = motion[0], *parts, one, one, along
            entry_point(segment_excess, *of_parameter)(*of_parameter)
            excess[:, 0] = np.maximum(excess[:, 0], along[:, 0] / self.pace)
        return excess

    def slow(self, motion: Motion) -> np.ndarray:
        """Return the segments (k−1,) bool that would be much faster from rest to rest."""
        moving = ~self._alone
        moving[moving] = np.diff(motion[0])[moving] > _SLOW * self._rest_to_rest(moving)
        return moving

    def draw_in(self, excess: np.ndarray) -> None:
        """Draw in the limits where a motion exceeds them."""
        velocity, acceleration = np.maximum(excess, 1.0).T
        self._accelerations = self._accelerations / acceleration[:, None]
        self._caps[:-1] /= velocity**2
        self._caps[1:] /= velocity**2

    def _rates(self, slopes: np.ndarray) -> np.ndarray:
        """Return the largest ṡ (k−1,) at which joints of some slopes keep their velocities."""
        still = slopes <= NO_SLOPE
        return np.where(still, np.inf, self.fastest / np.where(still, 1.0, slopes)).min(axis=1)

    def _rest_to_rest(self, alone: np.ndarray) -> np.ndarray:
        """Return the durations of segments at both ends of which the motion rests."""
        curve = self.curve
        distance = np.abs(curve.secants[alone]) * curve.h[alone, None]
        by_velocity = _PEAK_VELOCITY / self._rates(distance)
        by_acceleration = np.zeros_like(distance)
        moved = distance > 0.0
        limits = np.broadcast_to(self.strongest, distance.shape)
        by_acceleration[moved] = np.sqrt(_PEAK_ACCELERATION * distance[moved] / limits[moved])
        durations = np.maximum(by_velocity, by_acceleration.max(axis=1))
        if self.pace is not None:
            paced = _PEAK_VELOCITY * curve.h[alone] / self.pace[alone]
            durations = np.maximum(durations, paced)
        return durations
