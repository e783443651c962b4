"""Smooth joint paths, and poses along lines."""

import numpy as np


def wandering_path(chain, seed, points=600, legs=12, share=0.3):
    """
    Joint path (N, n) from posture to posture within the limits.

    On each leg every joint moves by up to a share of its range.
    """
    random = np.random.default_rng(seed)
    lower, upper = np.maximum(chain.lower, -np.pi), np.minimum(chain.upper, np.pi)
    corners = [random.uniform(lower, upper)]
    for _ in range(legs):
        q = corners[-1] + random.uniform(-share, share, chain.n) * (upper - lower)
        q = np.where(q > upper, 2 * upper - q, q)  # what goes over a limit is reflected
        corners.append(np.where(q < lower, 2 * lower - q, q))
    course = np.linspace(0, legs, points)
    leg = np.minimum(course.astype(int), legs - 1)
    share_of_leg = 0.5 - 0.5 * np.cos(np.pi * (course - leg))[:, None]
    corners = np.array(corners)
    return corners[leg] + (corners[leg + 1] - corners[leg]) * share_of_leg


def poses(chain, path):
    """Poses (N, 4, 4) of the tip along a joint path."""
    return np.array([chain.forward(q) for q in path]).reshape(-1, 4, 4)


def line(T, way, points):
    """Poses (N, 4, 4) from T straight along a way (3,) [m]."""
    targets = np.tile(T, (points, 1, 1))
    targets[:, :3, 3] += np.linspace(0, 1, points)[:, None] * way
    return targets
