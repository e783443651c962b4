"""Pairs of bodies that a robot itself lets touch, as a table."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from ik_service.collision.checker import CollisionChecker
from ik_service.collision.pair_rules import given_pairs
from ik_service.collision.rigid_bodies import RigidBodies
from ik_service.robot import Robot


def own_pairs(robot: Robot, names: Sequence[str], checker: CollisionChecker | None) -> np.ndarray:
    """
    Return which pairs of bodies are not checked where no matrix says anything about them.

    :param robot: the robot.
    :param names: n names of links and of others.
    :param checker: its checker; without one the pairs of the SRDF count.
    :returns: (n, n) bool; True on the diagonal and for links that no joint moves against each
        other.
    """
    semantics = robot.semantics
    pairs = checker.disabled_pairs if checker else given_pairs(semantics, robot.links) or {}
    body_of = RigidBodies(robot, robot.independent_joint_names).body_of
    table = np.eye(len(names), dtype=bool)
    for i, name in enumerate(names):
        if name in semantics.unchecked_links:
            table[i, :] = table[:, i] = True
    for i, j in combinations(range(len(names)), 2):
        a, b = names[i], names[j]
        if a in body_of and b in body_of:
            same = body_of[a] == body_of[b]
            table[i, j] = table[j, i] = same or frozenset((a, b)) in pairs
    return table
