"""Poses along lines, and smooth trajectories between two postures."""

import numpy as np

import ik_service as iks

PATIENT = iks.PathOptions(timeout=600.0)
"""Options for a path that has to be found on a busy machine, too."""

HOME = np.array([0.0, -0.4, 0.1, -2.0, 0.0, 1.8, 0.8])
"""A posture of the panda away from limits and singular ones [rad]."""


class Keepout:
    """
    Stand-in for a collision test.

    :param collides: whether something collides at postures (N, n), (N,).
    """

    def __init__(self, collides):
        self._collides = collides

    def colliding(self, Q, threads=1):
        return self._collides(Q)

    def first_contact(self, q):
        return ('arm', 'wall') if self._collides(q[None])[0] else None

    def for_joints(self, joint_names, others=None):
        return self


def wave(rows, seed, even=True):
    """A smooth path (rows, 7) of all joints of the panda, with rows at even or random places."""
    rng = np.random.default_rng(seed)
    t = np.linspace(0.0, 1.0, rows) if even else np.sort(rng.uniform(0.0, 1.0, rows))
    phase = 2 * np.pi * t[:, None] * rng.uniform(0.2, 2.0, 7) + rng.uniform(0.0, 6.0, 7)
    return HOME + 0.4 * np.sin(phase)


def kinked(chain, seed, rows=60):
    """A path on which joints run onto their limits, rest there, bounce off and leave."""
    rng = np.random.default_rng(seed)
    phase = np.linspace(0.0, 1.0, rows)[:, None] * rng.uniform(2.0, 9.0, chain.n)
    middle, half = 0.5 * (chain.upper + chain.lower), 0.5 * (chain.upper - chain.lower)
    reach = rng.uniform(0.9, 1.3, chain.n)  # beyond the limits, on which it is cut off
    q = middle + half * reach * np.sin(phase + rng.uniform(0.0, 6.0, chain.n))
    return np.clip(q, chain.lower, chain.upper)


def instants(trajectory, count=60):
    """Positions and three derivatives (count, k−1, n) at and between the points."""
    c, h = trajectory.coefficients, np.diff(trajectory.times)[:, None]
    t = np.linspace(0.0, 1.0, count)[:, None, None] * h
    values = []
    for _ in range(4):
        values.append(sum(c[:, i] * t**i for i in range(c.shape[1])))
        c = c[:, 1:] * np.arange(1.0, c.shape[1])[:, None]
    return values


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
