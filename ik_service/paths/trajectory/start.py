"""Start of a trajectory at the place where an arm is."""

from __future__ import annotations

import numpy as np

from ik_service.exceptions import TrajectoryError
from ik_service.paths.trajectory.joint_trajectory import JointTrajectory


def starting_from(
    trajectory: JointTrajectory,
    place: np.ndarray,
    turns: np.ndarray,
    tolerance: np.ndarray,
    velocity: np.ndarray | None = None,
) -> JointTrajectory:
    """
    Return a trajectory that starts where an arm is, or near.

    One whose first point has a later time than 0 gets a point more, at the place. One that begins
    at the time 0 has to begin there within a tolerance, and stays as it is, unless the arm moves.

    :param trajectory: the trajectory.
    :param place: (n,) where the arm is [rad] or [m], in the trajectory's order of joints.
    :param turns: (n,) full turn of each joint that may turn without end [rad], otherwise 0; such
        joints are put on the turn on which the arm is.
    :param tolerance: (n,) how far the first point may lie away [rad] or [m].
    :param velocity: (n,) how fast the arm moves [rad/s] or [m/s], which is the velocity of the
        first point then; None at rest.
    :raises TrajectoryError: it lies farther away; names the joint.
    """
    away = trajectory.positions[0] - place
    shift = turns * np.round(away / np.where(turns > 0.0, turns, 1.0))
    positions = trajectory.positions - shift if shift.any() else trajectory.positions
    names, times = trajectory.joint_names, trajectory.times
    velocities, accelerations = trajectory.velocities, trajectory.accelerations
    if times[0] > 0.0:
        times = np.concatenate([[0.0], times])
        positions = np.vstack([place, positions])
        still = np.zeros(len(names))
        first = still if velocity is None else velocity
        velocities = None if velocities is None else np.vstack([first, velocities])
        accelerations = None if accelerations is None else np.vstack([still, accelerations])
    else:
        far = np.flatnonzero(np.abs(positions[0] - place) > tolerance)
        if len(far):
            j = int(far[0])
            raise TrajectoryError(
                f'starts at {positions[0, j]:.4f}, but the joint is at {place[j]:.4f}; '
                f'{tolerance[j]:.4g} away is allowed (or a first point at a later time than 0)',
                0,
                names[j],
            )
        if velocity is not None and velocities is not None:
            positions, velocities = positions.copy(), velocities.copy()
            positions[0], velocities[0] = place, velocity
    return JointTrajectory(names, times, positions, velocities, accelerations)
