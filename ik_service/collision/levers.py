"""Levers of the joints of a robot: how far any point of it moves for a unit of each."""

from __future__ import annotations

import math

import numpy as np

from ik_service.collision.scene_arrays import RobotArrays


def levers(robot: RobotArrays) -> np.ndarray:
    """
    Return how far any point of a robot moves at most for a unit of each joint, in any posture.

    :param robot: the robot with what it carries; strokes of sliding joints are not counted.
    :returns: (m,) [m/rad], or 1 for a joint that slides; 0 for one that moves no body.
    """
    bodies = len(robot.body_spheres)
    reach = np.zeros(bodies)  # from the origin of each body to the farthest point it carries
    for body, (*centre, radius) in enumerate(robot.body_spheres.tolist()):
        reach[body] = math.hypot(*centre) + max(radius, 0.0)
    for j in reversed(range(bodies - 1)):
        arm = float(np.linalg.norm(robot.before[j, 9:]))
        reach[robot.parents[j]] = max(reach[robot.parents[j]], arm + reach[j + 1])
    sizes = np.zeros(int(robot.variables.max(initial=-1)) + 1)
    for j, variable in enumerate(robot.variables.tolist()):
        turn, slide = np.abs(robot.moves[j]).tolist()
        sizes[variable] = max(sizes[variable], turn * reach[j + 1] + slide)
    return sizes
