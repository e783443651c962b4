"""Curve through the rows of a joint path: its parameter, its slopes, and the rows of rest."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ik_service.kinematics.chain import KinematicChain
from ik_service.kinematics.entry import entry_point
from ik_service.kinematics.pose_error import frame_error, frame_of
from ik_service.trajectory.timing_kernels import spline_slopes

# Distance of two rows below which they are one: the time that it takes at full speed [s].
_SAME = 1e-9
_LEAST_ROWS = 7  # for corners to be told from a curve
# How far a cubic spline leaves a corner, as a share of the change of direction in a row.
_ROUNDING = 0.1
# Metres that count as a radian where directions are compared, and radians of a tolerance for each
# of its metres.
_LEVER = 0.3
_TURN = 10.0


@dataclass(frozen=True)
class JointCurve:
    """
    Cubic splines through the rows of a joint path, from one row of rest to the next.

    The parameter s is the time that the joints would take at full speed, by the root of the sum of
    squares, so that its derivative is about 1 and radians and metres do not matter.

    :ivar q: (k, n) the rows [rad] or [m], without those that equal the one before.
    :ivar rows: (k,) their numbers among all rows.
    :ivar h: (k−1,) length of the segments [s].
    :ivar secants: (k−1, n) differences of the rows, by the lengths.
    :ivar rests: (k,) bool: where the motion rests: both ends, and corners.
    :ivar start: (k−1, n) derivative at the start of each segment.
    :ivar end: (k−1, n) derivative at its end.
    """

    q: np.ndarray
    rows: np.ndarray
    h: np.ndarray
    secants: np.ndarray
    rests: np.ndarray
    start: np.ndarray
    end: np.ndarray


def joint_curve(
    chain: KinematicChain,
    q: np.ndarray,
    speeds: np.ndarray,
    targets: np.ndarray | None,
    tolerance: float,
) -> JointCurve:
    """
    Return the curve through the rows of a joint path.

    :param chain: the chain.
    :param q: (N, n) the rows [rad] or [m].
    :param speeds: (n,) largest speeds; 0 for a joint that does not move.
    :param targets: (N, 4, 4) poses from each of which the tip moves straight to the next; None
        where the rows belong to a smooth curve.
    :param tolerance: how far the tip may leave the corners of the path [m], and ten times as much
        in [rad]; where it would, the motion rests.
    """
    unit = np.where(speeds > 0.0, speeds, 1.0)
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
            rests[1:-1] |= corners(targets[rows], tolerance)
    secants = steps / h[:, None]
    start, end = slopes(h, secants, rests)
    return JointCurve(kept, rows, h, secants, rests, start, end)


def slopes(h: np.ndarray, secants: np.ndarray, rests: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """
    Return the slopes of the splines at both ends of every segment.

    :param h: (k−1,) lengths of the segments.
    :param secants: (k−1, m) differences of the rows, by the lengths.
    :param rests: (k,) bool: rows at which one spline ends and the next begins.
    :returns: (k−1, m) at the start, and (k−1, m) at the end.
    """
    start, end = np.empty_like(secants), np.empty_like(secants)
    arguments = h, secants, rests, start, end, np.empty(len(rests))
    entry_point(spline_slopes, *arguments)(*arguments)
    return start, end


def corners(targets: np.ndarray, tolerance: float) -> np.ndarray:
    """
    Return at which poses a path of straight lines turns by too much to be rounded.

    :param targets: (k, 4, 4) poses [m], no two successive ones equal.
    :param tolerance: how far a spline may leave the lines [m].
    :returns: (k−2,) bool, of the poses between the first and the last.
    """
    frames = np.array([frame_of(T) for T in targets])
    twists = np.empty((len(targets) - 1, 6))
    for row, twist in enumerate(twists):
        frame_error(frames[row], frames[row + 1], twist)
    lengths = np.sqrt(np.square(twists * [1, 1, 1, _LEVER, _LEVER, _LEVER]).sum(axis=1))
    directions = twists / np.maximum(lengths, 1e-12)[:, None]
    change = np.abs(np.diff(directions, axis=0))
    rounding = _ROUNDING * np.minimum(lengths[:-1], lengths[1:])
    away = rounding * np.sqrt(np.square(change[:, :3]).sum(axis=1))
    turned = rounding * np.sqrt(np.square(change[:, 3:]).sum(axis=1))
    return (away > tolerance) | (turned > _TURN * tolerance)


def _distinct(q: np.ndarray, unit: np.ndarray) -> np.ndarray:
    """Return the numbers of the rows that differ from the one before."""
    steps = np.sqrt(np.square(np.diff(q, axis=0) / unit).sum(axis=1))
    return np.concatenate([[0], 1 + np.flatnonzero(steps > _SAME)])


def _kinks(chain: KinematicChain, q: np.ndarray, s: np.ndarray, tolerance: float) -> np.ndarray:
    """
    Return the inner rows (k−2,) at which a path has a corner: they do not fit what is around them.

    Rows of a smooth curve, however coarse, lie all on the same side of the cubics through their
    neighbours; at a corner the rows beside it lie on the other side, and by less. The second row
    and the last but one have too few neighbours to tell.
    """
    kinks = np.zeros(len(q) - 2, bool)
    if len(q) < _LEAST_ROWS:
        return kinks
    away = _deviations(q, s)
    size = np.sqrt(np.square(away).sum(axis=1))
    beside = np.pad(size, 1)
    turning = np.pad((away[1:] * away[:-1]).sum(axis=1) < 0.0, 1, constant_values=True)
    outstanding = turning[:-1] & turning[1:]
    outstanding &= size >= np.maximum(beside[:-2], beside[2:])
    # What deviates by Δ h / 3 from the cubic is left by Δ h / 10 by the spline.
    for row in np.flatnonzero(outstanding & (size > 0.01 * tolerance)):
        twist = 3.0 * _ROUNDING * (chain.jacobian(q[row + 2]) @ away[row])
        turned = np.linalg.norm(twist[3:]) / _TURN
        kinks[row + 1] = max(np.linalg.norm(twist[:3]), turned) > tolerance
    return kinks


def _deviations(q: np.ndarray, s: np.ndarray) -> np.ndarray:
    """Return (k−4, n): rows less the cubic through the two rows on either side of each."""
    count = len(q)
    places = {o: slice(2 + o, count - 2 + o) for o in (-2, -1, 0, 1, 2)}
    away = q[places[0]].copy()
    for o in (-2, -1, 1, 2):
        weight = np.ones(count - 4)
        for other in (-2, -1, 1, 2):
            if other != o:
                weight *= s[places[0]] - s[places[other]]
                weight /= s[places[o]] - s[places[other]]
        away -= weight[:, None] * q[places[o]]
    return away
