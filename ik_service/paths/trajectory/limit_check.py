"""
Check of a trajectory against the limits of joints, at its points and between them.

Between points no samples can miss anything: a polynomial lies within the hull of its Bernstein
coefficients, and halves of an interval have coefficients that are the closer to it (Farin, "Curves
and Surfaces for CAGD", 2002, ch. 5).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import comb

import numpy as np

from ik_service.exceptions import TrajectoryError
from ik_service.paths.trajectory.joint_trajectory import JointTrajectory, time_powers

_DEGREE = 5  # of the polynomials between points
_HALVINGS = 16  # by then the coefficients are as close to the polynomial as rounding
# Bernstein coefficients from those of the powers of t, for t from 0 to 1.
_TO_BERNSTEIN = np.array(
    [[comb(j, i) / comb(_DEGREE, i) for i in range(_DEGREE + 1)] for j in range(_DEGREE + 1)]
)


def leaves_range(
    coefficients: np.ndarray, lower: np.ndarray, upper: np.ndarray, tolerance: float
) -> np.ndarray:
    """
    Return which polynomials leave their range for t from 0 to 1, (k, n) bool.

    :param coefficients: (k, 6, n) of the powers of t, the constant first.
    :param lower: (n,) least values, -inf for none.
    :param upper: (n,) largest values, inf for none.
    :param tolerance: by how much they may lie beyond them.
    """
    control = _TO_BERNSTEIN @ coefficients
    leaving = np.zeros((len(control), control.shape[2]), bool)
    for distance in (control - lower, upper - control):
        near = (distance < -tolerance).any(axis=1)
        if not near.any():
            continue
        rows, columns = np.nonzero(near)
        leaving[rows, columns] |= _negative(distance[rows, :, columns] + tolerance)
    return leaving


def _negative(control: np.ndarray) -> np.ndarray:
    """Return which polynomials of Bernstein coefficients (m, 6) are somewhere negative."""
    negative = np.zeros(len(control), bool)
    owners = np.arange(len(control))
    for _ in range(_HALVINGS):
        negative[owners[(control[:, 0] < 0.0) | (control[:, -1] < 0.0)]] = True
        open_ = ~negative[owners] & (control < 0.0).any(axis=1)
        if not open_.any():
            return negative
        control, owners = _halves(control[open_]), np.tile(owners[open_], 2)
    negative[owners[(control < 0.0).any(axis=1)]] = True
    return negative


def _halves(control: np.ndarray) -> np.ndarray:
    """Return the coefficients (2 m, 6) on the first halves, and then on the second ones."""
    first, second = np.empty_like(control), np.empty_like(control)
    for i in range(_DEGREE + 1):
        first[:, i], second[:, _DEGREE - i] = control[:, 0], control[:, -1]
        control = 0.5 * (control[:, 1:] + control[:, :-1])
    return np.concatenate([first, second])


_ROUNDING = 1e-3  # share of a limit of velocity or acceleration by which a point may lie beyond it

POSITION_ALLOWANCE = 1e-3
"""
Distance [rad] or [m] by which a position may lie beyond its limit, at a point and between two:
that of polynomials of others which end at a limit. Commands stay within, all the same.
"""

_BETWEEN = (5e-2, 0.5)
"""
Share of a limit of velocity, and of one of acceleration, by which the motion between two points
may be beyond it: the polynomials between the points of a motion that keeps them exactly go beyond.
"""

_STILL = 1e-3
"""Speed at the end of a trajectory that counts as rest, as a share of the velocity limit."""

_SAMPLES = np.linspace(0.0, 1.0, 10)[1:-1]
_FINE = np.linspace(0.0, 1.0, 1001)  # where a position is beyond its limit, to say by how much
_CHUNK = 4096  # segments that are sampled at a time


@dataclass(frozen=True)
class TrajectoryLimits:
    """
    Limits of n joints; ±inf where there is none.

    :ivar lower: (n,) lower limits [rad] or [m].
    :ivar upper: (n,) upper limits [rad] or [m].
    :ivar velocity: (n,) largest velocities [rad/s] or [m/s]; 0 for a joint that does not move.
    :ivar acceleration: (n,) largest accelerations [rad/s²] or [m/s²].
    """

    lower: np.ndarray
    upper: np.ndarray
    velocity: np.ndarray
    acceleration: np.ndarray


def check_limits(trajectory: JointTrajectory, limits: TrajectoryLimits, first: int = 0) -> None:
    """
    Check that a trajectory stays within limits, and ends at rest.

    Velocities jump at the points of a trajectory that has none of its own; such accelerations are
    not judged.

    :param limits: limits of its joints, in its order.
    :param first: number of its first point in messages.
    :raises TrajectoryError: naming the first point, and the joint, where it does not; between two
        points, the later one.
    """
    given = (trajectory.positions, trajectory.velocities, trajectory.accelerations)
    at_points = _Samples(trajectory, limits, first, 0, False)
    at_points.check(given, (POSITION_ALLOWANCE, _ROUNDING, _ROUNDING))
    for i, samples in _between(trajectory, limits):
        _Samples(trajectory, limits, first, i, True).check(
            samples, (POSITION_ALLOWANCE, *_BETWEEN)
        )
    if trajectory.velocities is None:
        return
    end = np.abs(trajectory.velocities[-1])
    moving = np.flatnonzero(end > _STILL * np.minimum(limits.velocity, 1.0))
    if len(moving):
        j = int(moving[0])
        raise TrajectoryError(
            f'ends with the velocity {trajectory.velocities[-1, j]:.4g}; it has to end at rest',
            len(trajectory) - 1 + first,
            trajectory.joint_names[j],
        )


_Motion = tuple[np.ndarray, np.ndarray | None, np.ndarray | None]


def _between(
    trajectory: JointTrajectory, limits: TrajectoryLimits
) -> Iterator[tuple[int, _Motion]]:
    """Yield the point after each chunk of segments, and (segments, samples, n) of all in it."""
    spans = np.diff(trajectory.times)
    powers = np.stack([time_powers(t) for t in _SAMPLES])  # of a segment of 1 s
    for first in range(0, len(spans), _CHUNK):
        h = spans[first : first + _CHUNK, None, None]
        scaled = trajectory.coefficients[first : first + _CHUNK] * h ** np.arange(6.0)[:, None]
        velocity, acceleration = (powers[:, d] @ scaled / h**d for d in (1, 2))
        judged = None if trajectory.velocities is None else acceleration
        yield first + 1, (_farthest(scaled, limits), velocity, judged)


def _farthest(scaled: np.ndarray, limits: TrajectoryLimits) -> np.ndarray:
    """
    Return positions (k, 2, n): those farthest out in the first segment that leaves the limits.

    Elsewhere they are those at the start; polynomials (k, 6, n) are over a parameter from 0 to 1.
    """
    positions = np.repeat(scaled[:, :1], 2, axis=1)
    beyond = leaves_range(scaled, limits.lower, limits.upper, POSITION_ALLOWANCE)
    if beyond.any():
        segment = int(beyond.any(axis=1).argmax())
        q = (_FINE[:, None] ** np.arange(6.0)) @ scaled[segment]
        positions[segment] = q.min(axis=0), q.max(axis=0)
    return positions


@dataclass(frozen=True)
class _Samples:
    """Samples of a trajectory at points, or before each of them, from the i-th point on."""

    trajectory: JointTrajectory
    limits: TrajectoryLimits
    first: int
    i: int
    between: bool

    def check(self, motion: _Motion, allowances: tuple[float, float, float]) -> None:
        """Raise an error where a motion, (points, n) or (points, samples, n), is beyond limits."""
        limits = self.limits
        q, velocity, acceleration = motion
        distance, share, more = allowances
        self._check('position', q, limits.lower, limits.upper, distance)
        fastest, most = limits.velocity, limits.acceleration
        self._check('velocity', velocity, -fastest, fastest, share * fastest)
        self._check('acceleration', acceleration, -most, most, more * most)

    def _check(
        self,
        what: str,
        values: np.ndarray | None,
        lower: np.ndarray,
        upper: np.ndarray,
        allowance: np.ndarray | float,
    ) -> None:
        if values is None:
            return
        wrong = np.argwhere((values < lower - allowance) | (values > upper + allowance))
        if not len(wrong):
            return
        i, j = self.i + int(wrong[0, 0]), int(wrong[0, -1])
        value = values[tuple(wrong[0])]
        limit = lower[j] if value < lower[j] else upper[j]
        digits = next((d for d in (4, 6, 8) if f'{value:.{d}g}' != f'{limit:.{d}g}'), 10)
        until = f'{self.trajectory.times[i]:.4g} s'
        where = f', between the point before and this one, at {until}' if self.between else ''
        if what == 'velocity' and limit == 0.0:
            where += '; velocity="0" in the robot description, or in joint_limits, holds the joint'
        raise TrajectoryError(
            f'the {what} {value:.{digits}g} is beyond the limit {limit:.{digits}g}{where}',
            i + self.first,
            self.trajectory.joint_names[j],
        )
