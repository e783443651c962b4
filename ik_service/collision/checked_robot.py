"""A robot prepared for collision checks, without any world."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from ik_service.collision.pair_rules import disabled_pairs, given_pairs
from ik_service.collision.rigid_bodies import RigidBodies
from ik_service.collision.robot_parts import robot_parts
from ik_service.exceptions import ChainError
from ik_service.robot import Robot


class CheckedRobot:
    """
    Robot prepared for collision checks. Immutable.

    :param robot: the robot.
    :param skip_faulty: whether geometry that cannot be used is left out.
    :raises CollisionGeometryError: geometry cannot be used, and must not be left out.
    :ivar robot: the robot.
    :ivar chain_joints: names of the variables of the default chain; empty without one.
    :ivar joint_names: names of all independent joints, those first.
    :ivar movable_joints: names of all movable joints in document order.
    :ivar bodies: the rigid bodies.
    :ivar parts: the collision geometry.
    :ivar left_out: by link why something of it is left out.
    :ivar unchecked_links: links that an SRDF takes out of all checks.
    :ivar disabled_pairs: pairs of links that are not checked, with the reason.
    :ivar pairs: indices of the parts that are checked with each other.
    :ivar rest: (m,) the independent joints at 0, or at the limit next to 0.
    """

    def __init__(self, robot: Robot, skip_faulty: bool) -> None:
        self.robot = robot
        self.chain_joints = _chain_joints(robot)
        others = (name for name in robot.independent_joint_names)
        self.joint_names = tuple(dict.fromkeys((*self.chain_joints, *others)))
        self.movable_joints = robot.movable_joint_names
        self.bodies = RigidBodies(robot, self.joint_names)
        self.parts, self.left_out = robot_parts(robot, self.bodies, skip_faulty)
        self.rest = _rest(robot, self.joint_names)
        self.unchecked_links = frozenset(robot.semantics.unchecked_links)
        given = given_pairs(robot.semantics, robot.links)
        pairs = disabled_pairs(self) if given is None else given
        self.disabled_pairs: Mapping[frozenset[str], str] = MappingProxyType(dict(pairs))
        self.pairs = tuple(
            (i, j)
            for i, j in self.loose_pairs()
            if frozenset((self.parts[i].owner, self.parts[j].owner)) not in self.disabled_pairs
        )

    def loose_pairs(self) -> list[tuple[int, int]]:
        """Return the pairs of parts of different rigid bodies, in the order of the links."""
        order = {link: index for index, link in enumerate(self.robot.links)}
        ranks = [order[part.owner] for part in self.parts]
        pairs = [
            (i, j) if ranks[i] <= ranks[j] else (j, i)
            for j in range(len(self.parts))
            for i in range(j)
            if self.parts[i].body != self.parts[j].body
        ]
        return sorted(pairs, key=lambda pair: (ranks[pair[0]], ranks[pair[1]], pair))


def _chain_joints(robot: Robot) -> tuple[str, ...]:
    try:
        return robot.chain().joint_names
    except ChainError:
        return ()


def _rest(robot: Robot, names: tuple[str, ...]) -> np.ndarray:
    limits = [robot.joints[name].limits for name in names]
    rest = np.array([min(max(0.0, limit.lower), limit.upper) for limit in limits])
    rest.setflags(write=False)
    return rest
