"""
Kernels of the timing: slopes along a path, its fastest speed profile, and the motion between rows.

The speed profile comes from a backward and a forward pass over the rows in the plane of the path
parameter s and x = ṡ², in which limits of velocity and acceleration are linear: Bobrow, Dubowsky
and Gibson, "Time-optimal control of robotic manipulators along specified paths", International
Journal of Robotics Research 4(3), 1985; by reachability as in Pham and Pham, "A new approach to
time-optimal path parameterization based on reachability analysis", IEEE Transactions on Robotics
34(3), 2018. Here the limits hold at both ends of every step ("interpolation scheme", ibid. IV-A).

A path of k rows is given by ``h`` (k−1,), the lengths of its segments, ``secants`` (k−1, n), the
differences of the rows by these, and ``start`` and ``end`` (k−1, n), the slopes at both ends of
each segment; ``accelerations`` (k−1, n) are the limits in each, inf for none.
"""

from __future__ import annotations

import math

from ik_service.jit.compile import inner_kernel, kernel

# Coefficient of a linear limit below which it bounds x alone.
_NONE = 1e-12
_MOST_CUTS = 100
_LONG = 3.0  # times the next segment: a segment too long for the cubic of that one
# Parts of a segment at whose ends velocities are sampled.
_SAMPLES = 32


@kernel
def spline_slopes(h, secants, ends, held, start, end, factors):
    """
    Write the slopes at both ends of every segment: cubic splines between some rows.

    Each spline has continuous second derivatives, and third ones at its second and last but one
    row (de Boor, "A Practical Guide to Splines", 1978, ch. IV: "not-a-knot"). Where the segment at
    an end is much longer than the next one, whose cubic must not be drawn out so far, the second
    derivative is 0 at that end instead ("natural").

    :param ends: (k,) bool: rows at which one spline ends and the next begins; first and last.
    :param held: (k,) bool: those of them whose slopes stand in ``start`` and ``end`` already.
    :param factors: (k,) scratch.
    """
    first = 0
    for row in range(1, ends.shape[0]):
        if ends[row]:
            _one_spline(h, secants, first, row, held, start, end, factors)
            first = row


@inner_kernel
def _one_spline(h, secants, first, last, held, start, end, factors):
    """Write the slopes of the segments ``first`` to ``last − 1``."""
    n = secants.shape[1]
    free = not (held[first] or held[last])
    if last - first == 1:
        for i in range(n):
            if free:
                start[first, i] = end[first, i] = secants[first, i]
            elif not held[last]:
                end[first, i] = 1.5 * secants[first, i] - 0.5 * start[first, i]
            elif not held[first]:
                start[first, i] = 1.5 * secants[first, i] - 0.5 * end[first, i]
        return
    if last - first == 2 and free:
        left, right = h[first], h[first + 1]
        for i in range(n):
            one, two = secants[first, i], secants[first + 1, i]
            middle = (right * one + left * two) / (left + right)
            start[first, i] = 2.0 * one - middle
            end[first, i] = start[first + 1, i] = middle
            end[first + 1, i] = 2.0 * two - middle
        return
    # The tridiagonal system of the slopes, which stand in ``start`` until it is solved.
    left, right = h[first], h[first + 1]
    natural = left > _LONG * right
    factors[first] = 0.5 if natural else (left + right) / right
    if held[first]:
        factors[first] = 0.0
    for i in range(0 if held[first] else n):
        one, two = secants[first, i], secants[first + 1, i]
        drawn_out = (left + 2.0 * (left + right)) * right * one + left * left * two
        start[first, i] = 1.5 * one if natural else drawn_out / ((left + right) * right)
    for row in range(first + 1, last):
        before, after = h[row - 1], h[row]
        pivot = 2.0 * (before + after) - after * factors[row - 1]
        factors[row] = before / pivot
        for i in range(n):
            wanted = 3.0 * (after * secants[row - 1, i] + before * secants[row, i])
            start[row, i] = (wanted - after * start[row - 1, i]) / pivot
    if not held[last]:
        _write_last_slope(h, secants, last, start, end, factors)
    for row in range(last - 1, first - 1, -1):
        for i in range(n):
            start[row, i] -= factors[row] * end[row, i]
            if row > first:
                end[row - 1, i] = start[row, i]


@inner_kernel
def _write_last_slope(h, secants, last, start, end, factors):
    """Write the slopes at the last row, from those of the elimination at the row before."""
    before, after = h[last - 2], h[last - 1]
    natural = after > _LONG * before
    share = 0.5 if natural else (before + after) / before
    pivot = 1.0 - share * factors[last - 1]
    for i in range(secants.shape[1]):
        one, two = secants[last - 2, i], secants[last - 1, i]
        drawn_out = after * after * one + (2.0 * (before + after) + after) * before * two
        wanted = 1.5 * two if natural else drawn_out / ((before + after) * before)
        end[last - 1, i] = (wanted - share * start[last - 1, i]) / pivot


@kernel
def speed_profile(h, secants, start, end, accelerations, caps, rests, profile):
    """
    Write the largest x = ṡ² at every row from which the limits can be kept up to the end.

    :param caps: (k,) upper bounds of x, such as those of the velocities.
    :param rests: (k,) bool: rows at which x is 0; first and last.
    :param profile: (k,) out.
    """
    last = h.shape[0]
    profile[last] = 0.0
    for j in range(last - 1, -1, -1):
        profile[j] = 0.0
        if not rests[j]:
            profile[j] = _largest(
                h, secants, start, end, accelerations, j, caps[j], profile[j + 1]
            )
    for j in range(last):
        if rests[j + 1]:
            continue
        x, ahead = profile[j], profile[j + 1]
        _, low, _, high = _bounds(h, secants, start, end, accelerations, j, x, ahead)
        reached = x + 2.0 * h[j] * max(low, high)
        profile[j + 1] = min(max(reached, 0.0), ahead)


@inner_kernel
def _largest(h, secants, start, end, accelerations, j, cap, ahead):
    """
    Return the largest x at the start of a segment from which its end is reached within the limits.

    The interval of s̈ that is left at x is the more narrow the larger x is, by lines; where it is
    empty, the two lines that bound it meet at a better x.
    """
    x = cap
    for i in range(start.shape[1]):
        limit = accelerations[j, i]
        if not limit < math.inf:
            continue
        bend, after = _bends(h, secants, start, end, j, i)
        if abs(start[j, i]) <= _NONE and abs(bend) * x > limit:
            x = limit / abs(bend)
        if abs(end[j, i] + 2.0 * h[j] * after) <= _NONE and abs(after) * x > limit:
            x = limit / abs(after)
    for _ in range(_MOST_CUTS):
        slope_low, low, slope_high, high = _bounds(
            h, secants, start, end, accelerations, j, x, ahead
        )
        if not low > high:
            break
        x = max(0.0, x - (low - high) / (slope_low - slope_high))
        x *= 1.0 - 1e-12
    return x


@inner_kernel
def _bends(h, secants, start, end, j, i):
    """Return the second derivatives of a joint at the start and at the end of a segment."""
    first = (6.0 * secants[j, i] - 4.0 * start[j, i] - 2.0 * end[j, i]) / h[j]
    last = (-6.0 * secants[j, i] + 2.0 * start[j, i] + 4.0 * end[j, i]) / h[j]
    return first, last


@inner_kernel
def _bounds(h, secants, start, end, accelerations, j, x, ahead):
    """
    Return the interval of s̈ in a segment: slope over x and value of its lower and upper end.

    Of a joint, |q' s̈ + q'' x| stays within its limit at the start, and the same at the end, where
    x has become x + 2 h s̈; and that is not above the bound that can be kept from there.
    """
    step = 2.0 * h[j]
    slope_low, low = -1.0 / step, -x / step
    slope_high, high = -1.0 / step, (ahead - x) / step
    for i in range(start.shape[1]):
        limit = accelerations[j, i]
        if not limit < math.inf:
            continue
        bend, after = _bends(h, secants, start, end, j, i)
        for side in range(2):
            factor = start[j, i] if side == 0 else end[j, i] + step * after
            bent = bend if side == 0 else after
            if abs(factor) <= _NONE:
                continue
            slope = -bent / factor
            room = limit / abs(factor)
            if slope * x - room > low:
                slope_low, low = slope, slope * x - room
            if slope * x + room < high:
                slope_high, high = slope, slope * x + room
    return slope_low, low, slope_high, high


@kernel
def segment_excess(times, q, velocities, accelerations, fastest, strongest, excess):
    """
    Write by how much the motion between rows exceeds the limits, quintic as clients take it.

    :param times: (k,) [s].
    :param q: (k, n) positions [rad] or [m].
    :param velocities: (k, n) [rad/s] or [m/s].
    :param accelerations: (k, n) [rad/s²] or [m/s²].
    :param fastest: (n,) limits of velocity.
    :param strongest: (n,) limits of acceleration; inf for none.
    :param excess: (k−1, 2) out: largest share of a limit of velocity, and of acceleration.
    """
    for j in range(times.shape[0] - 1):
        excess[j, 0] = excess[j, 1] = 0.0
        h = times[j + 1] - times[j]
        for i in range(q.shape[1]):
            if not fastest[i] > 0.0:
                continue
            v, a = velocities[j, i] * h, accelerations[j, i] * h * h
            # Residual after the parabola of the start.
            p = q[j + 1, i] - q[j, i] - v - 0.5 * a
            dv = velocities[j + 1, i] * h - v - a
            da = accelerations[j + 1, i] * h * h - a
            cubic = 10.0 * p - 4.0 * dv + 0.5 * da
            quartic = -15.0 * p + 7.0 * dv - da
            quintic = 6.0 * p - 3.0 * dv + 0.5 * da
            b, c, d = 6.0 * cubic, 12.0 * quartic, 20.0 * quintic
            excess[j, 0] = max(excess[j, 0], _largest_speed(v, a, b, c, d) / (h * fastest[i]))
            largest = _largest_cubic(a, b, c, d)
            excess[j, 1] = max(excess[j, 1], largest / (h * h * strongest[i]))


@inner_kernel
def _largest_speed(v, a, b, c, d):
    """Return the largest |speed| for t from 0 to 1: v, accelerated by a + b t + c t² + d t³."""
    largest, before = abs(v), a
    for sample in range(1, _SAMPLES + 1):
        t = sample / _SAMPLES
        acceleration = a + t * (b + t * (c + t * d))
        if acceleration * before < 0.0:  # an extremum since the last sample, by the secant
            u = t - acceleration / (acceleration - before) / _SAMPLES
            largest = max(largest, abs(v + u * (a + u * (b / 2 + u * (c / 3 + u * d / 4)))))
        largest = max(largest, abs(v + t * (a + t * (b / 2 + t * (c / 3 + t * d / 4)))))
        before = acceleration
    return largest


@inner_kernel
def _largest_cubic(a, b, c, d):
    """Return the largest |a + b t + c t² + d t³| for t from 0 to 1."""
    largest = max(abs(a), abs(a + b + c + d))
    root = c * c - 3.0 * b * d
    if root >= 0.0:
        # In the form that divides by the sum that loses no digits.
        sum_ = -(c + math.copysign(math.sqrt(root), c))
        for t in (sum_ / (3.0 * d) if d != 0.0 else -1.0, b / sum_ if sum_ != 0.0 else -1.0):
            if 0.0 < t < 1.0:
                largest = max(largest, abs(a + t * (b + t * (c + t * d))))
    return largest
