"""
Polynomials between the points of a trajectory, as ros2_control interpolates.

The rule is that of joint_trajectory_controller (``Trajectory::interpolate_between_points``):
linear from positions, cubic from positions and velocities, quintic from positions, velocities and
accelerations at both ends of a segment.
"""

from __future__ import annotations

import numpy as np


def segment_coefficients(
    times: np.ndarray,
    positions: np.ndarray,
    velocities: np.ndarray | None,
    accelerations: np.ndarray | None,
) -> np.ndarray:
    """
    Return the polynomials of the time since the start of each segment.

    :param times: (k,) times of the points [s].
    :param positions: (k, n) positions [rad] or [m].
    :param velocities: (k, n) velocities [rad/s] or [m/s]; None for none.
    :param accelerations: (k, n) accelerations [rad/s²] or [m/s²]; None for none.
    :returns: (k−1, 6, n) coefficients of τ⁰ to τ⁵.
    """
    h = np.diff(times)[:, None]
    start, ahead = positions[:-1], np.diff(positions, axis=0)
    c = np.zeros((len(h), 6, positions.shape[1]))
    c[:, 0] = start
    if velocities is None:
        c[:, 1] = ahead / h
        return c
    v0, v1 = velocities[:-1], velocities[1:]
    c[:, 1] = v0
    if accelerations is None:
        c[:, 2] = (3.0 * ahead / h - 2.0 * v0 - v1) / h
        c[:, 3] = (v0 + v1 - 2.0 * ahead / h) / h**2
        return c
    a0, a1 = accelerations[:-1], accelerations[1:]
    c[:, 2] = 0.5 * a0
    # What is left after the parabola of the start: in position, velocity × h, acceleration × h².
    p = ahead - v0 * h - 0.5 * a0 * h**2
    v = (v1 - v0 - a0 * h) * h
    a = (a1 - a0) * h**2
    c[:, 3] = (10.0 * p - 4.0 * v + 0.5 * a) / h**3
    c[:, 4] = (-15.0 * p + 7.0 * v - a) / h**4
    c[:, 5] = (6.0 * p - 3.0 * v + 0.5 * a) / h**5
    return c


def time_powers(t: float) -> np.ndarray:
    """
    Return the rows (3, 6) whose product with coefficients is position, velocity, acceleration.

    :param t: time since the start of the segment [s].
    """
    t2, t3 = t * t, t * t * t
    return np.array(
        [
            [1.0, t, t2, t3, t2 * t2, t2 * t3],
            [0.0, 1.0, 2.0 * t, 3.0 * t2, 4.0 * t3, 5.0 * t2 * t2],
            [0.0, 0.0, 2.0, 6.0 * t, 12.0 * t2, 20.0 * t3],
        ]
    )
