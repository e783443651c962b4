"""Poses along lines, and smooth trajectories between two postures."""

from __future__ import annotations

import numpy as np

import ik_service as iks


def line(T, way, points):
    """Poses (N, 4, 4) from T straight along a way (3,) [m]."""
    targets = np.tile(T, (points, 1, 1))
    targets[:, :3, 3] += np.linspace(0, 1, points)[:, None] * way
    return targets


def smooth_motion(begin, end, seconds, points=40):
    """Times (k,), positions, velocities, accelerations (k, n) of a quintic from rest to rest."""
    times = np.linspace(0.0, seconds, points)
    w, way = times[:, None] / seconds, np.asarray(end) - begin
    return (
        times,
        begin + (10 * w**3 - 15 * w**4 + 6 * w**5) * way,
        (30 * w**2 - 60 * w**3 + 30 * w**4) * way / seconds,
        (60 * w - 180 * w**2 + 120 * w**3) * way / seconds**2,
    )


def smooth_trajectory(names, begin, end, seconds, points=40):
    """A trajectory along the straight line between two postures, from rest to rest."""
    return iks.JointTrajectory(tuple(names), *smooth_motion(begin, end, seconds, points))


def distance_from_line(q, begin, end):
    """How far postures (N, n) are from the straight line between two [rad]."""
    way, away = np.asarray(end) - begin, np.atleast_2d(q) - begin
    along = np.clip(away @ way / (way @ way), 0.0, 1.0)
    return np.abs(away - along[:, None] * way).max(axis=1)
