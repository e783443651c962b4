"""
Curve through the rows of a joint path: its parameter, its slopes, and the rows of rest.

It does not leave the position limits between the rows. Where a joint comes to its limit and stays
there, the path has a kink, over which a spline swings beyond the limit. At the rows beside it the
spline is parted: its slope there becomes a mean of the secants before and after, with such a
weight that no joint can overshoot. The weight is the same for all joints, so that the tip stays on
its line: it moves along it by each secant.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ik_service.jit.entry import entry_point
from ik_service.kinematics.chain import KinematicChain
from ik_service.kinematics.joint_space import JointSpace
from ik_service.kinematics.pose_error import frame_error, frame_of
from ik_service.paths.timing.timing_kernels import spline_slopes
from ik_service.paths.trajectory.limit_check import leaves_range

# Distance of two rows below which they are one, and of a whole path below which it is none: the
# time that it takes at full speed [s]. Rounding of closer rows would be accelerations.
_SAME, _NOTHING = 1e-6, 1e-12
_FASTEST = 1e3  # above which a speed is as good as none, and rows are not told apart [1/s]
_LEAST_ROWS = 7  # for corners to be distinguished from a curve
# How far a cubic spline leaves a corner, as a share of the change of direction in a row.
_ROUNDING = 0.1
# Radians of a tolerance for each of its metres.
_TURN = 10.0
# Where between two rows splines are compared with lines, the share of the tolerance that they may
# use of it (the rest is for the joint motion between rows), and how often at most.
_SAMPLES = np.linspace(0.1, 0.9, 9)
_ROOM = 0.9
_BLUNT = 0.1  # share of it that is no corner
_ROUNDS = 20


@dataclass(frozen=True)
class JointCurve:
    """
    Cubic splines through the rows of a joint path, from one row of rest to the next.

    The parameter s is the time that the joints would take at full speed, by the root of the sum of
    squares, so that its derivative is about 1 and radians and metres do not matter.

    :ivar q: (k, n) the rows [rad] or [m], without those that equal the one before.
    :ivar rows: (k,) their numbers among all rows, or those of the rows before them.
    :ivar h: (k−1,) length of the segments [s].
    :ivar secants: (k−1, n) differences of the rows, by the lengths.
    :ivar rests: (k,) bool: where the motion rests: both ends, and corners.
    :ivar start: (k−1, n) derivative at the start of each segment.
    :ivar end: (k−1, n) derivative at its end.
    :ivar weights: (k,) as :func:`slopes` takes them.
    """

    q: np.ndarray
    rows: np.ndarray
    h: np.ndarray
    secants: np.ndarray
    rests: np.ndarray
    start: np.ndarray
    end: np.ndarray
    weights: np.ndarray


def joint_curve(
    chain: KinematicChain,
    q: np.ndarray,
    speeds: np.ndarray,
    targets: np.ndarray | None,
    tolerance: float,
) -> JointCurve:
    """
    Return the curve through the rows of a joint path.

    :param q: (N, n) the rows [rad] or [m].
    :param speeds: (n,) largest speeds; 0 for a joint that does not move.
    :param targets: (N, 4, 4) poses from each of which the tip moves straight to the next; None
        where the rows belong to a smooth curve.
    :param tolerance: how far the tip may leave the corners of the path [m], and ten times as much
        in [rad]; where it would, the motion rests.
    """
    unit = np.where(speeds > 0.0, np.minimum(speeds, _FASTEST), 1.0)
    rows = _distinct(q, unit)
    kept = np.ascontiguousarray(q[rows])
    steps = np.diff(kept, axis=0)
    h = np.sqrt(np.square(steps / unit).sum(axis=1))
    rests = np.zeros(len(kept), bool)
    rests[[0, -1]] = True
    if len(kept) > 2:
        s = np.concatenate([[0.0], np.cumsum(h)])
        if targets is None:
            rests[1:-1] |= _kinks(chain, kept, s, tolerance)
        else:
            rests[1:-1] |= corners(targets[rows], h, tolerance)
    secants = steps / h[:, None]
    start, end = slopes(h, secants, rests)
    return JointCurve(kept, rows, h, secants, rests, start, end, np.full(len(kept), np.nan))


def parted(curve: JointCurve, counts: np.ndarray) -> JointCurve:
    """Return the same curve with further rows, at which the segments end in (k−1,) parts."""
    whole = np.repeat(np.arange(len(counts)), counts)
    number = np.arange(len(whole)) - np.repeat(np.cumsum(counts) - counts, counts)
    length, secants = curve.h[whole, None], curve.secants[whole]
    first, last = curve.start[whole] - secants, secants - curve.end[whole]
    u = (number / counts[whole])[:, None]
    v = 1.0 - u
    q = curve.q[whole] + length * u * (secants + v * (v * first + u * last))
    q, h = np.vstack([q, curve.q[-1:]]), curve.h[whole] / counts[whole]
    start = secants + v * (v - 2.0 * u) * first + u * (2.0 * v - u) * last
    end = np.vstack([start[1:], curve.end[-1:]])
    end[number == counts[whole] - 1] = curve.end
    given = np.append(number == 0, True)
    rests, weights = np.zeros(len(q), bool), np.full(len(q), np.nan)
    rests[given], weights[given] = curve.rests, curve.weights
    rows = np.append(curve.rows[whole], curve.rows[-1:])
    return JointCurve(q, rows, h, np.diff(q, axis=0) / h[:, None], rests, start, end, weights)


def slopes(
    h: np.ndarray, secants: np.ndarray, rests: np.ndarray, weights: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """
    Return the slopes of the splines at both ends of every segment.

    :param h: (k−1,) lengths of the segments.
    :param secants: (k−1, m) differences of the rows, by the lengths.
    :param rests: (k,) bool: rows at which one spline ends and the next begins.
    :param weights: (k,) of the secant before a row in its slope, the rest of which is that after
        it; at a row of rest, each side has its own secant. NaN, or None for all, where the slope
        is that of the spline.
    :returns: (k−1, m) at the start, and (k−1, m) at the end.
    """
    start, end = np.empty_like(secants), np.empty_like(secants)
    held = np.zeros(len(rests), bool) if weights is None else np.isfinite(weights)
    if weights is not None:
        alone = held & rests
        start[alone[:-1]], end[alone[1:]] = secants[alone[:-1]], secants[alone[1:]]
        rows = np.flatnonzero(held & ~rests)
        share = weights[rows, None]
        start[rows] = share * secants[rows - 1] + (1.0 - share) * secants[rows]
        end[rows - 1] = start[rows]
    arguments = h, secants, rests | held, held, start, end, np.empty(len(rests))
    entry_point(spline_slopes, *arguments)(*arguments)
    return start, end


def corners(targets: np.ndarray, h: np.ndarray, tolerance: float) -> np.ndarray:
    """
    Return at which poses a path of straight lines turns by too much to be rounded.

    The splines through the poses, over the parameter of the joints, are compared with the lines;
    where one leaves them, the sharpest corners become ends of splines, until none does. It depends
    on the parameter too: where the joints need longer for a row before a corner than for one
    after it, the corner is left by much more than with even rows.

    :param targets: (k, 4, 4) poses [m], no two successive ones equal.
    :param h: (k−1,) length of the segments between them [s].
    :param tolerance: how far a spline may leave the lines [m].
    :returns: (k−2,) bool, of the poses between the first and the last.
    """
    frames = np.array([frame_of(T) for T in targets])
    twists = np.empty((len(targets) - 1, 6))
    for row, twist in enumerate(twists):
        frame_error(frames[row], frames[row + 1], twist)
    twists[:, 3:] /= _TURN
    secants = twists / h[:, None]
    rests = np.zeros(len(targets), bool)
    rests[[0, -1]] = True
    sharpness = np.pad(_sharpness(h, secants), 1)
    for number in range(_ROUNDS):
        start, end = slopes(h, secants, rests)
        far = _leaving(twists, h[:, None] * start, h[:, None] * end, _ROOM * tolerance)
        beside = (np.append(far, False) | np.insert(far, 0, False)) & ~rests
        beside &= sharpness > _BLUNT * tolerance
        if not beside.any():
            break
        if number < _ROUNDS - 1:
            among = np.pad(np.where(beside, sharpness, -1.0), 1, constant_values=-1.0)
            beside &= sharpness >= np.maximum(among[:-2], among[2:])
        rests |= beside
    return rests[1:-1]


def _sharpness(h: np.ndarray, secants: np.ndarray) -> np.ndarray:
    """Return about how far a spline would leave each row (k−2,) of lines for its corner alone."""
    before, after = secants[:-1], secants[1:]
    products = (before * after).sum(axis=1)
    squares = np.square(before).sum(axis=1), np.square(after).sum(axis=1)
    # |a| |b| sin / the smaller one: the part of the larger one across the other.
    across = np.sqrt(np.maximum(squares[0] * squares[1] - np.square(products), 0.0))
    across /= np.sqrt(np.maximum(np.minimum(*squares), 1e-30))
    turned = np.sqrt(np.square(after - before).sum(axis=1))
    change = np.where(products > 0.0, across, turned)
    sharpness = change * np.square(np.maximum(h[1:], h[:-1])) / (h[1:] + h[:-1])
    return np.asarray(_ROUNDING * sharpness)


def _leaving(
    twists: np.ndarray, start: np.ndarray, end: np.ndarray, tolerance: float
) -> np.ndarray:
    """
    Return which cubics leave straight lines by more than a tolerance, (k,) bool.

    The lines of the neighbours count as well: a cubic that continues one straight leaves none. All
    are (k, 6), translation before scaled rotation; ``start`` and ``end`` are the derivatives of
    each cubic over a parameter from 0 to 1.
    """
    swings = start - twists, twists - end
    most = sum(np.sqrt(np.square(swing).sum(axis=1)) for swing in swings) * (4.0 / 27.0)
    leaving = most > tolerance
    rows = np.flatnonzero(leaving)
    t = _SAMPLES[:, None, None]
    off = t * (1.0 - t) * ((1.0 - t) * swings[0][rows] + t * swings[1][rows])
    before, after = np.maximum(rows - 1, 0), np.minimum(rows + 1, len(twists) - 1)
    away = np.zeros(len(rows))
    for part in (slice(0, 3), slice(3, 6)):
        line, at = twists[rows, part], t * twists[rows, part] + off[:, :, part]
        nearest = _from_lines(at, line)
        for other, shift in ((before, twists[before, part]), (after, -line)):
            distance = _from_lines(at + shift, twists[other, part])
            nearest = np.where(other == rows, nearest, np.minimum(nearest, distance))
        away = np.maximum(away, nearest.max(axis=0))
    leaving[rows] = away > tolerance
    return leaving


def _from_lines(points: np.ndarray, lines: np.ndarray) -> np.ndarray:
    """Return the distance of points (s, k, 3) from k lines (k, 3) that begin at the origin."""
    along = (points * lines).sum(axis=-1) / np.maximum(np.square(lines).sum(axis=-1), 1e-30)
    away = points - np.clip(along, 0.0, 1.0)[..., None] * lines
    return np.asarray(np.sqrt(np.square(away).sum(axis=-1)))


def _distinct(q: np.ndarray, unit: np.ndarray) -> np.ndarray:
    """Return the numbers of the rows that differ from the one kept before."""
    scaled = q / unit
    steps = np.sqrt(np.square(np.diff(scaled, axis=0)).sum(axis=1))
    if not ((steps > 0.0) & (steps <= _SAME)).any():
        return np.concatenate([[0], 1 + np.flatnonzero(steps)])
    rows = apart(scaled, _SAME)
    short = len(rows) == 2 and np.linalg.norm(scaled[-1] - scaled[0]) <= _NOTHING
    return rows[:1] if short else rows


def apart(rows: np.ndarray, closest: float) -> np.ndarray:
    """
    Return the numbers of rows that are not too close together, with the first and the last one.

    :param rows: (N, n) the rows; a last one that equals the last one kept is left out.
    :param closest: the least distance, but that of the last row from the first one.
    """
    kept = [0]
    for number, row in enumerate(rows):
        if np.linalg.norm(row - rows[kept[-1]]) > closest:
            kept.append(number)
    last = len(rows) - 1
    while kept[-1] not in (0, last) and np.linalg.norm(rows[last] - rows[kept[-1]]) <= closest:
        kept.pop()
    if (rows[last] != rows[kept[-1]]).any():
        kept.append(last)
    return np.array(kept)


def _kinks(chain: KinematicChain, q: np.ndarray, s: np.ndarray, tolerance: float) -> np.ndarray:
    """
    Return the inner rows (k−2,) at which a path has a corner: they do not fit their neighbours.

    Rows of a smooth curve, however coarse, lie all on the same side of the cubics through their
    neighbours; at a corner the rows beside it lie on the other side, and by less. The second row
    and the last but one have too few neighbours to tell.
    """
    kinks = np.zeros(len(q) - 2, bool)
    if len(q) < _LEAST_ROWS:
        return kinks
    away = _deviations(q, s)
    size = np.sqrt(np.square(away).sum(axis=1))
    if size.max() <= 0.01 * tolerance:
        return kinks
    beside = np.pad(size, 1)
    turning = np.pad((away[1:] * away[:-1]).sum(axis=1) < 0.0, 1, constant_values=True)
    outstanding = turning[:-1] & turning[1:]
    outstanding &= size >= np.maximum(beside[:-2], beside[2:])
    # A row that deviates by Δ h / 3 from the cubic is missed by Δ h / 10 by the spline.
    for row in np.flatnonzero(outstanding & (size > 0.01 * tolerance)):
        twist = 3.0 * _ROUNDING * (chain.jacobian(q[row + 2]) @ away[row])
        turned = np.linalg.norm(twist[3:]) / _TURN
        kinks[row + 1] = max(np.linalg.norm(twist[:3]), turned) > tolerance
    return kinks


def _deviations(q: np.ndarray, s: np.ndarray) -> np.ndarray:
    """Return (k−4, n): rows less the cubic through the two rows on either side of each."""
    count = len(q)
    rows = {o: slice(2 + o, count - 2 + o) for o in (-2, -1, 0, 1, 2)}
    away = q[rows[0]].copy()
    for o in (-2, -1, 1, 2):
        weight = np.ones(count - 4)
        for other in (-2, -1, 1, 2):
            if other != o:
                weight *= s[rows[0]] - s[rows[other]]
                weight /= s[rows[o]] - s[rows[other]]
        away -= weight[:, None] * q[rows[o]]
    return away


ROUNDING = 1e-10  # excess over a limit that counts as on it [rad] or [m]

_BESIDE = 1e-6  # how far beyond a limit rows may lie that are meant to be within
# Slope of a joint towards its limit, by the distance and the length of a segment: up to 2.5 a
# polynomial of degree 5 cannot overshoot for its slope alone, also where the pace changes.
_STEEPEST = 2.0
_PATIENCE = 4  # rounds before the motion rests more widely around points still beyond the limits

Bounds = tuple[np.ndarray, np.ndarray]
"""(n,) lower and upper limits of positions [rad] or [m]; ±inf for none."""


def bounds_of_rows(chain: JointSpace, q: np.ndarray) -> Bounds:
    """Return the position limits that a path (N, n) keeps: none where its rows are beyond them."""
    least, largest = q.min(axis=0), q.max(axis=0)
    lower = np.where(least < chain.lower - _BESIDE, -np.inf, np.minimum(chain.lower, least))
    upper = np.where(largest > chain.upper + _BESIDE, np.inf, np.maximum(chain.upper, largest))
    return lower, upper


def within_limits(curve: JointCurve, bounds: Bounds) -> JointCurve:
    """Return a curve through the same rows that keeps position limits, which its rows do."""
    number = 0
    while (beyond := _beyond_limits(curve, bounds) & ~(curve.rests[:-1] & curve.rests[1:])).any():
        curve = eased(curve, beyond, bounds, number)
        number += 1
    return curve


def resting(curve: JointCurve, segments: np.ndarray) -> JointCurve:
    """Return a curve that rests at both ends of some segments (k−1,), too: they are straight."""
    rests = curve.rests | _rows_of(segments)
    start, end = slopes(curve.h, curve.secants, rests, curve.weights)
    return replace(curve, rests=rests, start=start, end=end)


def eased(curve: JointCurve, beyond: np.ndarray, bounds: Bounds, number: int = 0) -> JointCurve:
    """
    Return a curve that is parted, or rests, at the rows of some segments.

    It rests where one weight does not suit all joints, and at both ends of segments that were
    parted there before; between two such rests a curve is straight. In later rounds it rests
    in ever more segments around them, so that there are few rounds.

    :param beyond: (k−1,) bool: the segments in which it leaves the limits.
    :param bounds: the limits.
    :param number: of the round, from 0.
    """
    parted = np.isfinite(curve.weights)
    again = beyond & parted[:-1] & parted[1:]
    if number >= _PATIENCE:
        again = _widened(beyond, 2 ** (number - _PATIENCE + 1))
    rests = curve.rests | _rows_of(again)
    weights, suits = _weights(curve, bounds)
    fresh = _rows_of(beyond | again) & ~parted
    weights = np.where(fresh, weights, curve.weights)
    rests |= fresh & ~suits
    start, end = slopes(curve.h, curve.secants, rests, weights)
    return replace(curve, rests=rests, start=start, end=end, weights=weights)


def _widened(segments: np.ndarray, width: int) -> np.ndarray:
    """Return some segments (k−1,) and as many beside each of them on either side."""
    sums = np.cumsum(np.pad(segments, (1, 0)))
    numbers, most = np.arange(len(segments)), len(segments)
    ends = np.minimum(numbers + width + 1, most)
    return np.asarray(sums[ends] > sums[np.maximum(numbers - width, 0)])


def _rows_of(segments: np.ndarray) -> np.ndarray:
    """Return which rows (k,) are ends of some segments (k−1,)."""
    return np.asarray(np.append(segments, False) | np.insert(segments, 0, False))


def _beyond_limits(curve: JointCurve, bounds: Bounds) -> np.ndarray:
    """Return the segments (k−1,) in which a curve leaves the limits."""
    h, coefficients = curve.h[:, None], np.zeros((len(curve.h), 6, curve.q.shape[1]))
    coefficients[:, 0], coefficients[:, 1] = curve.q[:-1], h * curve.start
    coefficients[:, 2] = h * (3.0 * curve.secants - 2.0 * curve.start - curve.end)
    coefficients[:, 3] = h * (curve.start + curve.end - 2.0 * curve.secants)
    return np.asarray(leaves_range(coefficients, *bounds, ROUNDING).any(axis=1))


def _weights(curve: JointCurve, bounds: Bounds) -> tuple[np.ndarray, np.ndarray]:
    """
    Return the weight of the secant before each row (k,), and where it suits all joints (k,) bool.

    It is the one nearest to that of the parabola through the row and its neighbours for which no
    joint moves so fast towards a limit that it would be overshot before the next row, nor so fast
    away from it that it would have been before.
    """
    h, secants = curve.h[:, None], curve.secants
    before, after = secants[:-1], secants[1:]
    least, largest = _slope_range(curve, bounds)
    change = before - after
    flat = np.abs(change) * h[1:] <= ROUNDING
    divisor = np.where(flat, 1.0, change)
    ends = (least - after) / divisor, (largest - after) / divisor
    low = np.where(flat, 0.0, np.minimum(*ends)).max(axis=1).clip(0.0, 1.0)
    high = np.where(flat, 1.0, np.maximum(*ends)).min(axis=1).clip(0.0, 1.0)
    parabola = curve.h[1:] / (curve.h[1:] + curve.h[:-1])
    weights, suits = np.full(len(curve.q), 0.5), np.ones(len(curve.q), bool)
    weights[1:-1] = np.clip(parabola, low, np.maximum(low, high))
    suits[1:-1] = low <= high
    return weights, suits


def _slope_range(curve: JointCurve, bounds: Bounds) -> tuple[np.ndarray, np.ndarray]:
    """Return the least and largest slopes (k−2, n) at the inner rows that overshoot no limit."""
    h, q = curve.h[:, None], curve.q[1:-1]
    below = _STEEPEST * np.maximum(q - bounds[0], 0.0) + ROUNDING
    above = _STEEPEST * np.maximum(bounds[1] - q, 0.0) + ROUNDING
    least = -np.minimum(above / h[:-1], below / h[1:])
    largest = np.minimum(above / h[1:], below / h[:-1])
    return least, largest
