"""A robot prepared for collision checks, without any world."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
import threading
from types import MappingProxyType

import numpy as np

from ik_service.collision.pair_rules import given_pairs, home_contacts, known_pairs
from ik_service.collision.rigid_bodies import RigidBodies
from ik_service.collision.robot_parts import robot_parts
from ik_service.collision.scene_arrays import robot_arrays
from ik_service.collision.workspace import Workspace
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
    :ivar solids: by link its collision geometry, in its frame.
    :ivar unchecked_links: links that the SRDF checks with nothing.
    :ivar left_out: by link why something of it is left out.
    :ivar disabled_pairs: pairs of links that are not checked, with the reason.
    :ivar pairs: indices of the parts that are checked with each other.
    :ivar arrays: all of that for the kernels.
    :ivar home_contacts: pairs of links that collide at home, where no SRDF disables any pairs.
    :ivar rest: (m,) the independent joints at 0, or at the limit next to 0.
    :ivar home: (m,) the joints of the default chain in the middle of their limits, the others at
        rest. At 0 many an arm is folded, or touches itself.
    """

    def __init__(self, robot: Robot, skip_faulty: bool) -> None:
        self.robot = robot
        self.chain_joints, middle = _chain_joints(robot)
        names = (*self.chain_joints, *robot.independent_joint_names)
        self.joint_names = tuple(dict.fromkeys(names))
        self.movable_joints = robot.movable_joint_names
        self.bodies = RigidBodies(robot, self.joint_names)
        self.parts, self.left_out, self.solids = robot_parts(robot, self.bodies, skip_faulty)
        self.unchecked_links = frozenset(robot.semantics.unchecked_links)
        self.rest = _rest(robot, self.joint_names)
        self.home = np.concatenate([middle, self.rest[len(middle) :]])
        self._threads = threading.local()
        given = given_pairs(robot.semantics, robot.links)
        pairs = known_pairs(self) if given is None else given
        self.disabled_pairs: Mapping[frozenset[str], str] = MappingProxyType(dict(pairs))
        self.pairs = tuple(
            (i, j)
            for i, j in self.loose_pairs()
            if frozenset((self.parts[i].owner, self.parts[j].owner)) not in self.disabled_pairs
        )
        self.arrays = robot_arrays(self.bodies.arrays, self.parts, self.pairs)
        self.home_contacts = home_contacts(self) if given is None else ()

    @property
    def workspace(self) -> Workspace:
        """The memory of this thread."""
        threads = self._threads
        try:
            return threads.workspace
        except AttributeError:
            threads.workspace = Workspace(self.joint_names, self.bodies.count)
            return threads.workspace

    def loose_pairs(self) -> list[tuple[int, int]]:
        """Return the pairs of parts of different rigid bodies."""
        pairs = combinations(range(len(self.parts)), 2)
        return [(i, j) for i, j in pairs if self.parts[i].body != self.parts[j].body]


def _chain_joints(robot: Robot) -> tuple[tuple[str, ...], np.ndarray]:
    """Return the variables of the default chain, and the middle of their limits."""
    try:
        chain = robot.chain()
    except ChainError:
        return (), np.empty(0)
    return chain.joint_names, chain.mid_range()


def _rest(robot: Robot, names: tuple[str, ...]) -> np.ndarray:
    limits = [robot.joints[name].limits for name in names]
    rest = np.array([min(max(0.0, limit.lower), limit.upper) for limit in limits])
    rest.setflags(write=False)
    return rest
