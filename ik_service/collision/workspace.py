"""Memory of one thread for checks, and the checks of pairs by Coal."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from ik_service.collision.kernels import body_displacements, near_on_line, near_pairs
from ik_service.collision.part import Part
from ik_service.collision.scene_arrays import (
    empty_buffers,
    line_joints,
    LineJoints,
    robot_arrays,
    RobotArrays,
    still_bodies,
    world_arrays,
    WorldArrays,
)
from ik_service.collision.shapes import CoalContact, CoalPlace, load_coal
from ik_service.exceptions import ArgumentError
from ik_service.jit.entry import entry_point

ALL_PAIRS = 2**62  # number of pairs that is never reached
CoalRequest = Any  # a ``coal.CollisionRequest``

_SPACE = 64  # near pairs that there is space for at first


class Workspace:
    """
    Memory of one thread.

    :param joint_names: names of the robot's independent joints.
    :param bodies: number of its rigid bodies.
    :ivar posture: (m,) positions of these joints [rad] or [m]; they are written here to be
        checked.
    """

    def __init__(self, joint_names: tuple[str, ...], bodies: int) -> None:
        coal = load_coal()
        self._collide = coal.collide
        self._result = coal.CollisionResult()
        # Requests ask for the contact: without it, Coal misses collisions of aligned shapes.
        self._request = coal.CollisionRequest()
        self._with_margin = coal.CollisionRequest()
        self._near_pairs, self._near_on_line, self._displacements = _machine_code()
        self._joint_names = joint_names
        self._bodies = bodies
        self._places: list[CoalPlace] = []
        self._parts, self._space = 0, 0
        self._postures, self._near = np.zeros((1, len(joint_names))), np.zeros(1, bool)
        self.posture = self._postures[0]
        self._grow(1, _SPACE)

    def near_pairs(
        self, robot: RobotArrays, world: WorldArrays, still: bool = False
    ) -> list[list[int]]:
        """
        Return the pairs of parts that are near each other, and write down where these are.

        :param still: whether only parts that never move are checked, against the world alone.
        :returns: pairs of indices: two parts of the robot, or one and P + that of an object.
        :raises ArgumentError: a position is not finite.
        """
        if robot.bodies.shape[0] > self._parts:
            self._grow(robot.bodies.shape[0], self._space)
        count = self._near_pairs(
            robot, world, self._postures, still, ALL_PAIRS, self._buffers, self._near
        )
        if count == 0:
            return []
        if count < 0:
            worst = int(np.argmin(np.isfinite(self.posture)))
            raise ArgumentError('q', f'{self._joint_names[worst]} is {self.posture[worst]}')
        if count > self._space:
            self._grow(self._parts, 2 * count)
            return self.near_pairs(robot, world, still)
        return self._buffers.near[:count].tolist()

    def rows_with_near_pairs(
        self, robot: RobotArrays, world: WorldArrays, postures: np.ndarray
    ) -> np.ndarray:
        """Return in which postures (N, m) something is near, (N,); others are free."""
        if robot.bodies.shape[0] > self._parts:
            self._grow(robot.bodies.shape[0], self._space)
        near = np.zeros(len(postures), bool)
        self._near_pairs(robot, world, postures, False, 1, self._buffers, near)
        return near

    def near_on_line(
        self,
        robot: RobotArrays,
        world: WorldArrays,
        line: LineJoints,
        corners: np.ndarray,
        step: float,
        first: int,
        certain: bool,
    ) -> tuple[int, int]:
        """
        Look for postures of a motion in which something is near; see the kernel.

        The posture is written to :attr:`posture`, and to :meth:`near_pair` a pair that is near.
        """
        if robot.bodies.shape[0] > self._parts:
            self._grow(robot.bodies.shape[0], self._space)
        found: tuple[int, int] = self._near_on_line(
            robot, world, line, corners, step, first, certain, self._postures, self._buffers
        )
        return found

    def near_pair(self) -> list[list[int]]:
        """Return the pair that the last look at a line has found, as :meth:`near_pairs`."""
        return self._buffers.near[:1].tolist()

    def displacements(self, robot: RobotArrays, postures: np.ndarray) -> np.ndarray:
        """
        Return how far any point of a robot is from where it was in the posture before, at most.

        :param robot: the robot with attached objects.
        :param postures: (N, m) positions of all independent joints [rad] or [m].
        :returns: (N−1,) [m].
        """
        moved, before = np.zeros(max(len(postures) - 1, 0)), np.zeros((self._bodies, 12))
        self._displacements(robot, postures, self._buffers, before, moved)
        return moved

    def place(self, i: int) -> CoalPlace:
        """Return where a part of the robot is, by its index, that is near something."""
        place = self._places[i]
        place.setTransform(self._rotations[i], self._origins[i])
        return place

    def collides(self, a: Part, place_a: CoalPlace, b: Part, place_b: CoalPlace) -> bool:
        """Return whether two parts collide, each at its place."""
        result = self._result
        result.clear()
        return self._collide(a.shape, place_a, b.shape, place_b, self._request, result) > 0

    def is_within(self, a: Part, place_a: CoalPlace, b: Part, place_b: CoalPlace) -> bool:
        """Return whether two parts are no farther from each other than the margin of the first."""
        result, request = self._result, self._request_for(a.margin)
        result.clear()
        return self._collide(a.shape, place_a, b.shape, place_b, request, result) > 0

    def contact(
        self, a: Part, place_a: CoalPlace, b: Part, place_b: CoalPlace
    ) -> CoalContact | None:
        """Return where two parts collide, as Coal has it; None where they do not."""
        result = self._result
        result.clear()
        request = self._request_for(a.margin)
        if not self._collide(a.shape, place_a, b.shape, place_b, request, result):
            return None
        return result.getContact(0)

    def _request_for(self, margin: float) -> CoalRequest:
        """Return the request for a margin [m]."""
        self._with_margin.security_margin = margin
        return self._with_margin

    def _grow(self, parts: int, space: int) -> None:
        coal = load_coal()
        self._parts, self._space = parts, space
        self._buffers = empty_buffers(self._bodies, parts, space)
        self._rotations, self._origins = [*self._buffers.rotations], [*self._buffers.origins]
        self._places += [coal.Transform3s() for _ in range(parts - len(self._places))]


@cache
def _machine_code() -> tuple[Any, Any, Any]:
    """Return the machine code of the kernels for the types of all robots and worlds."""
    robot, world = robot_arrays(still_bodies(), (), np.empty((0, 2), np.int64)), world_arrays(())
    buffers, posture, near = empty_buffers(1, 1, 1), np.zeros((1, 0)), np.zeros(1, bool)
    line = line_joints(np.zeros(0, np.int64), np.zeros(0), np.zeros(0))
    corners, before, moved = np.zeros((2, 0)), np.zeros((1, 12)), np.zeros(0)
    return (
        entry_point(near_pairs, robot, world, posture, False, ALL_PAIRS, buffers, near),
        entry_point(near_on_line, robot, world, line, corners, 1.0, 0, True, posture, buffers),
        entry_point(body_displacements, robot, posture, buffers, before, moved),
    )
