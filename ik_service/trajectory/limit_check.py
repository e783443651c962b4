"""Check of a trajectory against the limits of joints, at its points and between them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ik_service.exceptions import TrajectoryError
from ik_service.trajectory.joint_trajectory import JointTrajectory
from ik_service.trajectory.segments import time_powers

_ROUNDING = 1e-3
"""Share of a limit, and distance [rad] or [m], by which a point may lie beyond it."""

_BETWEEN = (1e-2, 5e-2, 0.5)
"""
The same between points, for positions [rad] or [m], velocities and accelerations: the polynomials
between the points of a motion that keeps its limits exactly go beyond them.
"""

_STILL = 1e-3
"""Speed at the end of a trajectory that counts as rest, as a share of the velocity limit."""

_SAMPLES = np.linspace(0.0, 1.0, 10)[1:-1]
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

    :param trajectory: the trajectory.
    :param limits: limits of its joints, in its order.
    :param first: number of its first point in messages.
    :raises TrajectoryError: naming the first point, and the joint, where it does not; between two
        points, the later one.
    """
    given = (trajectory.positions, trajectory.velocities, trajectory.accelerations)
    at_points = _Samples(trajectory, limits, first, 0, False)
    at_points.check(given, (_ROUNDING, _ROUNDING, _ROUNDING))
    for i, samples in _between(trajectory):
        _Samples(trajectory, limits, first, i, True).check(samples, _BETWEEN)
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


def _between(trajectory: JointTrajectory) -> Iterator[tuple[int, _Motion]]:
    """Yield the point after each chunk of segments, and (segments, samples, n) of all in it."""
    spans = np.diff(trajectory.times)
    powers = np.stack([time_powers(t) for t in _SAMPLES])  # of a segment of 1 s
    for first in range(0, len(spans), _CHUNK):
        h = spans[first : first + _CHUNK, None, None]
        scaled = trajectory.coefficients[first : first + _CHUNK] * h ** np.arange(6.0)[:, None]
        q, velocity, acceleration = (powers[:, d] @ scaled / h**d for d in range(3))
        yield first + 1, (q, velocity, None if trajectory.velocities is None else acceleration)


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
        place, share, more = allowances
        self._check('position', q, limits.lower, limits.upper, place)
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
        until = f'{self.trajectory.times[i]:.4g} s'
        where = f', between the point before and this one, at {until}' if self.between else ''
        raise TrajectoryError(
            f'the {what} {value:.4g} is beyond the limit {limit:.4g}{where}',
            i + self.first,
            self.trajectory.joint_names[j],
        )
