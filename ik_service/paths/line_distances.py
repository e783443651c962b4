"""Distances of a motion from the straight lines that it is meant to go along."""

from __future__ import annotations

import numpy as np

from ik_service.kinematics.chain import KinematicChain, tip_poses
from ik_service.paths.trajectory.joint_trajectory import JointTrajectory

PARTS = tuple(k / 8.0 for k in range(1, 8))
"""Parts of the way from one row to the next at which distances are taken."""


def distance_beside_lines(
    chain: KinematicChain, trajectory: JointTrajectory, T_tip_point: np.ndarray
) -> float:
    """
    Return how far a point of the tip is from the lines between the points of a trajectory.

    :param chain: the chain.
    :param trajectory: the trajectory, which its polynomials lead from point to point.
    :param T_tip_point: (4, 4) the point, in the frame of the tip [m].
    :returns: the largest distance found at seven places between any two points [m].
    """
    if len(trajectory) < 2:
        return 0.0
    ends = (tip_poses(chain, trajectory.positions) @ T_tip_point)[:, :3, 3]
    powers = np.arange(trajectory.coefficients.shape[1])
    scaled = trajectory.coefficients * np.power.outer(np.diff(trajectory.times), powers)[..., None]
    largest = 0.0
    for part in PARTS:
        q = np.tensordot(np.power(part, powers), scaled, (0, 1))
        there = (tip_poses(chain, q) @ T_tip_point)[:, :3, 3]
        largest = max(largest, float(distances_from_lines(ends, there).max()))
    return largest


def distances_from_lines(points: np.ndarray, there: np.ndarray) -> np.ndarray:
    """
    Return how far points are from the lines around them.

    :param points: (k, 3) ends of the lines [m].
    :param there: (k−1, 3) a point for each line [m].
    :returns: (k−1,) distance from the line, or from the one before or after it [m].
    """
    way, lines = np.diff(points, axis=0), np.arange(len(there))
    square = np.maximum(np.square(way).sum(axis=1), 1e-24)
    nearest = np.full(len(there), np.inf)
    for neighbour in (-1, 0, 1):
        line = np.clip(lines + neighbour, 0, len(there) - 1)
        off = there - points[line]
        part = np.clip((off * way[line]).sum(axis=1) / square[line], 0.0, 1.0)
        off -= part[:, None] * way[line]
        nearest = np.minimum(nearest, np.linalg.norm(off, axis=1))
    return nearest
