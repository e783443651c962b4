"""
Curves through the rows of a joint path that do not leave the position limits between them.

Where a joint comes to its limit and stays there, the path has a kink, over which a spline swings
beyond the limit. At the rows beside such a place the spline is parted: its slope there becomes a
mean of the secants before and after, with such a weight that no joint can overshoot. The weight
is the same for all joints, so that the tip stays on its line: it moves along it by each secant.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ik_service.kinematics.joint_space import JointSpace
from ik_service.paths.timing.joint_curve import JointCurve, slopes
from ik_service.paths.trajectory.value_ranges import leaves_range

ROUNDING = 1e-10
"""Excess over a limit that counts as on it [rad] or [m]."""

_BESIDE = 1e-6  # how far beyond a limit rows may lie that are meant to be within
# Slope of a joint towards its limit, by the distance and the length of a segment: up to 2.5 a
# polynomial of degree 5 cannot overshoot for its slope alone, also where the pace changes.
_STEEPEST = 2.0
_PATIENCE = 4  # rounds before the motion rests more widely around what still leaves the limits

Bounds = tuple[np.ndarray, np.ndarray]
"""(n,) lower and upper limits of positions [rad] or [m]; ±inf for none."""


def bounds_of_rows(chain: JointSpace, q: np.ndarray) -> Bounds:
    """
    Return the position limits that a path keeps: none for a joint whose rows are beyond them.

    :param chain: the chain.
    :param q: (N, n) the rows [rad] or [m].
    """
    least, largest = q.min(axis=0), q.max(axis=0)
    lower = np.where(least < chain.lower - _BESIDE, -np.inf, np.minimum(chain.lower, least))
    upper = np.where(largest > chain.upper + _BESIDE, np.inf, np.maximum(chain.upper, largest))
    return lower, upper


def within_limits(curve: JointCurve, bounds: Bounds) -> JointCurve:
    """
    Return a curve through the same rows that keeps position limits; the same one if it does.

    :param curve: the curve, whose rows are within the limits.
    :param bounds: the limits.
    """
    number = 0
    while (beyond := _leaving(curve, bounds) & ~(curve.rests[:-1] & curve.rests[1:])).any():
        curve = eased(curve, beyond, bounds, number)
        number += 1
    return curve


def eased(curve: JointCurve, beyond: np.ndarray, bounds: Bounds, number: int = 0) -> JointCurve:
    """
    Return a curve that is parted, or rests, at the rows of some segments.

    It rests where one weight does not suit all joints, and at both ends of segments that were
    parted there before; between two such rests a curve is straight. In later rounds it rests
    in ever more segments around them, so that there are few rounds.

    :param curve: the curve.
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


def _leaving(curve: JointCurve, bounds: Bounds) -> np.ndarray:
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
