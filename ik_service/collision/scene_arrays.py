"""Robot and world as the compiled part of checks takes them."""

from __future__ import annotations

from collections.abc import Sequence, Sized
from typing import NamedTuple

import numpy as np

from ik_service.collision.outline import CYLINDER
from ik_service.collision.part import Part
from ik_service.kinematics.joint_space import frozen

_NO_SPHERE = (0.0, 0.0, 0.0, -1.0)  # center and radius [m] of the sphere around nothing


class BodyArrays(NamedTuple):
    """
    The rigid bodies alone; see :class:`RobotArrays`.

    :ivar parents: (b - 1,).
    :ivar before: (b - 1, 12).
    :ivar variables: (b - 1,).
    :ivar moves: (b - 1, 2).
    """

    parents: np.ndarray
    before: np.ndarray
    variables: np.ndarray
    moves: np.ndarray


class RobotArrays(NamedTuple):
    """
    The robot with attached objects: b rigid bodies, the first of which never moves, with P parts.

    Frames are written as 12 numbers: the x, y and z axes, then the origin; outlines as in
    :mod:`ik_service.collision.outline`.

    :ivar parents: (b - 1,) index of the body that carries each but the first; it comes before it.
    :ivar before: (b - 1, 12) frame in which each of these moves, in the frame of that body.
    :ivar variables: (b - 1,) index of the variable that moves it.
    :ivar moves: (b - 1, 2) how far it turns about z [rad] and slides along z [m] per unit of that.
    :ivar body_spheres: (b, 4) centre in the body's frame and radius of a sphere around all of its
        parts [m]; a radius of −1 where it has none.
    :ivar body_starts: (b + 1,) where the parts of each body begin in ``members``; then P.
    :ivar members: (P,) indices of the parts, body by body.
    :ivar bodies: (P,) the body of each part.
    :ivar meets_world: (P,) 1 where it is checked against the objects of the world, else 0.
    :ivar frames: (P, 12) frame of each part in that of its body.
    :ivar spheres: (P, 4) centre in the body's frame and radius of a sphere around each part [m].
    :ivar outlines: (P, 17) outlines in the body's frame.
    :ivar covers: (k, 4) spheres that cover shapes that no outline fits, in the body's frame [m].
    :ivar cover_starts: (P + 1,) where those of each part begin; then k.
    :ivar groups: (g, 4) two bodies, and where the pairs of their parts begin and end.
    :ivar pairs: (p, 3) pairs of parts that are checked, and where those of the next first part
        begin.
    """

    parents: np.ndarray
    before: np.ndarray
    variables: np.ndarray
    moves: np.ndarray
    body_spheres: np.ndarray
    body_starts: np.ndarray
    members: np.ndarray
    bodies: np.ndarray
    meets_world: np.ndarray
    frames: np.ndarray
    spheres: np.ndarray
    outlines: np.ndarray
    covers: np.ndarray
    cover_starts: np.ndarray
    groups: np.ndarray
    pairs: np.ndarray


class WorldArrays(NamedTuple):
    """
    Objects of the world, of W parts, all in the frame of the robot's root link.

    :ivar spheres: (W, 4) centre and radius of a sphere around each part [m]; inf for a plane.
    :ivar outlines: (W, 17) outlines.
    :ivar covers: (k, 4) spheres that cover shapes that no outline fits [m].
    :ivar cover_starts: (W + 1,) where those of each part begin; then k.
    """

    spheres: np.ndarray
    outlines: np.ndarray
    covers: np.ndarray
    cover_starts: np.ndarray


class LineJoints(NamedTuple):
    """
    Joints that move on a straight line, while the others stay where they are.

    :ivar columns: (n,) where they stand among all independent joints.
    :ivar base: (m,) positions of these [rad] or [m].
    :ivar levers: (n,) how far any point of the robot moves at most for a unit of each [m/rad].
    """

    columns: np.ndarray
    base: np.ndarray
    levers: np.ndarray


class Buffers(NamedTuple):
    """
    Memory of one thread.

    :ivar frames: (b, 12) frames of the bodies.
    :ivar bodies: (b, 4) spheres around them, in the frame of the root link.
    :ivar spheres: (P, 4) spheres around the parts, likewise.
    :ivar outlines: (2, 17) two outlines.
    :ivar box: (2, 3) lower and upper corner of a box around bodies [m].
    :ivar rotations: (P, 3, 3) orientation of the parts that are near something.
    :ivar origins: (P, 3) origins of these [m].
    :ivar near: (k, 2) pairs that are near: two parts of the robot, or one and P + that of an
        object.
    """

    frames: np.ndarray
    bodies: np.ndarray
    spheres: np.ndarray
    outlines: np.ndarray
    box: np.ndarray
    rotations: np.ndarray
    origins: np.ndarray
    near: np.ndarray


def robot_arrays(bodies: BodyArrays, parts: Sequence[Part], pairs: np.ndarray) -> RobotArrays:
    """Return a robot as arrays; pairs: (k, 2) parts that are checked with each other."""
    count = len(bodies.parents) + 1
    nothing = RobotArrays(
        *bodies,
        body_spheres=np.tile(_NO_SPHERE, (count, 1)),
        body_starts=np.zeros(count + 1, np.int64),
        members=np.zeros(0, np.int64),
        bodies=np.zeros(0, np.int64),
        meets_world=np.zeros(0, np.int64),
        frames=np.zeros((0, 12)),
        spheres=np.zeros((0, 4)),
        outlines=np.zeros((0, 17)),
        covers=np.zeros((0, 4)),
        cover_starts=np.zeros(1, np.int64),
        groups=np.zeros((0, 4), np.int64),
        pairs=np.zeros((0, 3), np.int64),
    )
    return with_parts(nothing, parts, pairs)


def with_parts(robot: RobotArrays, parts: Sequence[Part], pairs: np.ndarray) -> RobotArrays:
    """
    Return a robot with further parts.

    :param pairs: (k, 2) indices of parts, those of the robot first, that are checked with each
        other as well.
    """
    bodies = np.append(robot.bodies, np.array([part.body for part in parts], np.int64))
    spheres = np.array([*robot.spheres, *(part.sphere for part in parts)]).reshape(-1, 4)
    around = robot.body_spheres.copy()
    for body in {part.body for part in parts}:
        around[body] = _sphere_around(spheres[bodies == body])
    covers = [part.covers for part in parts]
    groups, grouped = _grouped(pairs, bodies, len(robot.pairs))
    changed = {
        'body_spheres': around,
        'body_starts': np.searchsorted(np.sort(bodies), np.arange(len(around) + 1)),
        'members': np.argsort(bodies, kind='stable'),
        'bodies': bodies,
        'meets_world': [*robot.meets_world, *(int(part.meets_world) for part in parts)],
        'frames': np.array([*robot.frames, *(part.frame for part in parts)]).reshape(-1, 12),
        'spheres': spheres,
        'outlines': np.array([*robot.outlines, *(part.outline for part in parts)]).reshape(-1, 17),
        'covers': np.concatenate([robot.covers, *covers]),
        'cover_starts': [*robot.cover_starts, *(len(robot.covers) + _ends(covers))],
        'groups': np.concatenate([robot.groups, groups]),
        'pairs': np.concatenate([robot.pairs, grouped]),
    }
    return robot._replace(
        **{
            name: frozen(np.asarray(array, getattr(robot, name).dtype))
            for name, array in changed.items()
        }
    )


def grown(robot: RobotArrays, margin: float) -> RobotArrays:
    """Return a robot whose parts hold all that lies within a distance (margin) of them [m]."""
    bodies, spheres, outlines, covers = (
        array.copy() for array in (robot.body_spheres, robot.spheres, robot.outlines, robot.covers)
    )
    bodies[bodies[:, 3] >= 0.0, 3] += margin
    spheres[:, 3] += margin
    covers[:, 3] += margin
    outlines[outlines[:, 16] != CYLINDER, 15] += margin
    outlines[outlines[:, 16] == CYLINDER, 12:15] += margin
    for array in (bodies, spheres, outlines, covers):
        array.setflags(write=False)
    return robot._replace(body_spheres=bodies, spheres=spheres, outlines=outlines, covers=covers)


def _grouped(pairs: np.ndarray, bodies: np.ndarray, first: int) -> tuple[np.ndarray, np.ndarray]:
    """Return groups and pairs as :class:`RobotArrays`, behind the ``first`` pairs there are."""
    rows = bodies[pairs]  # (k, 2)
    _, begins, group = np.unique(
        rows @ [1 + bodies.max(initial=0), 1], return_index=True, return_inverse=True
    )
    begin = begins[group]  # of each pair, the first one of its bodies
    order = np.lexsort((pairs[:, 1], pairs[:, 0], begin))
    found = pairs[order]
    begins = np.flatnonzero(np.diff(begin[order], prepend=-1))
    ends = np.append(begins[1:], len(found))
    groups = np.column_stack([rows[order][begins], first + begins, first + ends[: len(begins)]])
    starts = np.append(np.flatnonzero(np.diff(found[:, 0])) + 1, len(found))
    following = first + starts[np.searchsorted(starts, np.arange(len(found)), 'right')]
    return groups, np.column_stack([found, following])


def _ends(lists: Sequence[Sized]) -> np.ndarray:
    """Return where each of some lists ends once they are joined."""
    return np.cumsum([len(entry) for entry in lists], dtype=np.int64)


def still_bodies() -> BodyArrays:
    """Return the rigid bodies of a robot without joints."""
    indices, frames, moves = np.zeros(0, np.int64), np.zeros((0, 12)), np.zeros((0, 2))
    return BodyArrays(*map(frozen, (indices, frames, indices, moves)))


def world_arrays(parts: Sequence[Part]) -> WorldArrays:
    """Return objects of the world as arrays."""
    covers = [part.covers for part in parts]
    present = [rows for rows in covers if len(rows)]
    return WorldArrays(
        *map(
            frozen,
            (
                np.array([part.sphere for part in parts]).reshape(-1, 4),
                np.array([part.outline for part in parts]).reshape(-1, 17),
                np.concatenate([*present, np.empty((0, 4))]),
                np.array([0, *_ends(covers)]),
            ),
        )
    )


def line_joints(columns: np.ndarray, base: np.ndarray, levers: np.ndarray) -> LineJoints:
    """Return the joints of a line, whose arrays are always of the same types."""
    return LineJoints(*map(frozen, (np.asarray(columns, np.int64), base, levers)))


def empty_buffers(bodies: int, parts: int, pairs: int) -> Buffers:
    """Return memory for one thread, with space for a number of near pairs."""
    return Buffers(
        frames=np.zeros((bodies, 12)),
        bodies=np.zeros((bodies, 4)),
        spheres=np.zeros((parts, 4)),
        outlines=np.zeros((2, 17)),
        box=np.zeros((2, 3)),
        rotations=np.zeros((parts, 3, 3)),
        origins=np.zeros((parts, 3)),
        near=np.zeros((pairs, 2), np.int64),
    )


def _sphere_around(spheres: np.ndarray) -> np.ndarray:
    """Return a sphere around others."""
    centres, radii = spheres[:, :3], spheres[:, 3]
    if np.isinf(radii).any():
        return np.array([0.0, 0.0, 0.0, np.inf])
    low, high = (centres - radii[:, None]).min(axis=0), (centres + radii[:, None]).max(axis=0)
    centre = (low + high) / 2
    return np.append(centre, (np.linalg.norm(centres - centre, axis=1) + radii).max())
