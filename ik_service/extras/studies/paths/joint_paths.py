"""Smooth joint paths from posture to posture, and the poses along them."""

from __future__ import annotations

import math

import numpy as np

from ik_service.kinematics.chain import KinematicChain


def wandering_path(
    chain: KinematicChain, seed: int, points: int, legs: int, share: float = 0.3
) -> np.ndarray:
    """
    Return a joint path from one random posture to the next, at rest in each.

    :param chain: the arm; joints without limits stay within ±π.
    :param seed: of the random postures.
    :param points: number of rows.
    :param legs: number of ways between postures.
    :param share: of its range that a joint moves at most on a leg.
    :returns: (points, n) within the limits [rad] or [m].
    """
    ends = random_postures(chain, seed, legs, share)
    course = np.linspace(0, legs, points)
    leg = np.minimum(course.astype(int), legs - 1)
    done = 0.5 - 0.5 * np.cos(math.pi * (course - leg))[:, None]
    return ends[leg] + (ends[leg + 1] - ends[leg]) * done


def random_postures(chain: KinematicChain, seed: int, legs: int, share: float) -> np.ndarray:
    """
    Return random postures, each not far from the one before.

    :param chain: the arm; joints without limits stay within ±π.
    :param seed: of the random postures.
    :param legs: number of ways between postures.
    :param share: of its range that a joint moves at most on a leg.
    :returns: (legs + 1, n) within the limits [rad] or [m].
    """
    random = np.random.default_rng(seed)
    lower, upper = np.maximum(chain.lower, -math.pi), np.minimum(chain.upper, math.pi)
    corners = [random.uniform(lower, upper)]
    for _ in range(legs):
        q = corners[-1] + random.uniform(-share, share, chain.n) * (upper - lower)
        q = np.where(q > upper, 2 * upper - q, q)  # what goes over a limit is reflected
        corners.append(np.where(q < lower, 2 * lower - q, q))
    return np.array(corners)


def poses_along(chain: KinematicChain, path: np.ndarray) -> np.ndarray:
    """
    Return the poses of the tip along a joint path.

    :param chain: the arm.
    :param path: (k, n) joint vectors [rad] or [m].
    :returns: (k, 4, 4) T_base_tip.
    """
    return np.array([chain.forward(q) for q in path]).reshape(-1, 4, 4)
