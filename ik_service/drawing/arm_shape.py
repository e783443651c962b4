"""Shape of a drawn arm: a line from base to tip, and solids around it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ik_service.common.transforms import inverse_transform
from ik_service.kinematics.chain import KinematicChain
from ik_service.kinematics.link_poses import link_poses
from ik_service.model.joint import JointType

_MANY_JOINTS = 7  # arms of more joints have smaller ones
# Shares of the arm's scale.
_LINK_RADIUS = 0.014
_JOINT_RADIUS = 0.027
_JOINT_HALF_LENGTH = 0.033
_SIDES = 16  # of round shapes


@dataclass(frozen=True)
class JointMark:
    """
    Position and axis of a joint.

    :ivar position: (3,) a point of its axis, in the base frame [m].
    :ivar axis: (3,) unit vector along which or about which it moves, in the base frame.
    :ivar slides: whether it is prismatic.
    """

    position: np.ndarray
    axis: np.ndarray
    slides: bool


@dataclass(frozen=True)
class Skeleton:
    """
    An arm as a line.

    :ivar points: (k, 3) origins of links and joints from base to tip, in the base frame [m].
    :ivar joints: those that move, from base to tip.
    :ivar mount: number of the point at the first of them; nothing moves up to there.
    """

    points: np.ndarray
    joints: tuple[JointMark, ...]
    mount: int

    @property
    def scale(self) -> float:
        """
        Size to which the parts are drawn in proportion [m]: the length, less with many joints.

        An arm without length counts as a metre.
        """
        length = float(np.linalg.norm(np.diff(self.points, axis=0), axis=1).sum()) or 1.0
        return length * min(1.0, _MANY_JOINTS / len(self.joints))


@dataclass(frozen=True)
class Faces:
    """
    Faces of solids.

    :ivar polygons: (4, 3) each, in the base frame [m].
    :ivar normals: (k, 3) unit vectors that point outwards.
    """

    polygons: list[np.ndarray]
    normals: np.ndarray


@dataclass(frozen=True)
class SolidArm:
    """The faces of an arm's links and joints, and of the mount between base and first joint."""

    mount: Faces
    links: Faces
    joints: Faces


def skeleton(chain: KinematicChain, q: np.ndarray) -> Skeleton:
    """Return an arm in a posture (n,) as a line from base to tip."""
    positions = {**chain.locked, **dict(zip(chain.joint_names, map(float, q), strict=True))}
    poses = link_poses(chain.robot, positions)
    T_base_root = inverse_transform(poses[chain.base_link])
    points, mount = [np.zeros(3)], 0
    joints: list[JointMark] = []
    for joint, forward in chain.robot.path(chain.base_link, chain.tip_link):
        T_joint = T_base_root @ poses[joint.parent] @ joint.T_parent_joint
        ends = [T_joint[:3, 3], (T_base_root @ poses[joint.child])[:3, 3]]
        moves = joint.movable and not _is_locked(chain, joint.name)
        if moves and not joints:
            mount = len(points)
        points += ends if forward else [ends[1], ends[0]]
        if not forward:
            points.append((T_base_root @ poses[joint.parent])[:3, 3])
        if moves:
            slides = joint.type is JointType.PRISMATIC
            joints.append(JointMark(ends[0], T_joint[:3, :3] @ joint.axis, slides))
    return Skeleton(np.array(points), tuple(joints), mount)


def _is_locked(chain: KinematicChain, joint: str) -> bool:
    """Whether a joint stands still, being locked or following one that is."""
    return chain.robot.resolve_mimic(joint)[0] in chain.locked


def plane_of(chain: KinematicChain) -> np.ndarray | None:
    """
    Return the plane in which a planar arm moves.

    :returns: (2, 3) unit vectors of the base frame that lie to the right and up in a picture, or
        None when the arm moves in space.
    """
    joints = skeleton(chain, chain.mid_range()).joints
    turning = [joint.axis for joint in joints if not joint.slides]
    if not turning:
        return None
    normal = turning[0]
    if any(abs(abs(axis @ normal) - 1.0) > 1e-6 for axis in turning):
        return None
    if any(joint.slides and abs(joint.axis @ normal) > 1e-6 for joint in joints):
        return None
    # To the right lies x where it can, otherwise y; up is the remaining direction.
    right = np.eye(3)[0 if abs(normal[0]) < 0.9 else 1]
    right = right - (right @ normal) * normal
    right /= np.linalg.norm(right)
    up = np.cross(normal, right)
    return np.stack([right, up if up @ [0.0, 1.0, 1.0] >= 0.0 else -up])


def solid_arm(chain: KinematicChain, q: np.ndarray) -> SolidArm:
    """
    Return an arm as solids: links as tubes, rotary joints as drums, sliding ones as blocks.

    :param q: (n,) joint positions [rad] or [m].
    """
    shape = skeleton(chain, q)
    size = shape.scale
    radius = _LINK_RADIUS * size
    tubes = [_ball(point, radius) for point in shape.points]
    for k, (start, end) in enumerate(pairwise(shape.points), start=1):
        tubes[k] = _joined([tubes[k], *_pieces(start, end, radius)])
    mount = shape.mount + 1
    half = _JOINT_HALF_LENGTH * size
    joints = [
        _cylinder(
            joint.position - half * joint.axis,
            joint.position + half * joint.axis,
            _JOINT_RADIUS * size,
            4 if joint.slides else _SIDES,
        )
        for joint in shape.joints
    ]
    return SolidArm(_joined(tubes[:mount]), _joined(tubes[mount:]), _joined(joints))


def _pieces(start: np.ndarray, end: np.ndarray, radius: float) -> list[Faces]:
    """Return a tube in short pieces: faces are sorted by depth as a whole, so none may be long."""
    length = float(np.linalg.norm(end - start))
    if length < 1e-3 * radius:
        return []
    count = int(np.ceil(length / (3.0 * radius)))
    places = np.linspace(start, end, count + 1)
    return [_cylinder(a, b, radius, _SIDES, ends=False) for a, b in pairwise(places)]


def _cylinder(
    start: np.ndarray, end: np.ndarray, radius: float, sides: int, ends: bool = True
) -> Faces:
    axis = (end - start) / np.linalg.norm(end - start)
    across = np.eye(3)[int(np.argmin(np.abs(axis)))]
    u = np.cross(axis, across)
    u /= np.linalg.norm(u)
    v = np.cross(axis, u)
    corners = np.linspace(0.0, 2.0 * np.pi, sides, endpoint=False)
    rim = radius * (np.outer(np.cos(corners), u) + np.outer(np.sin(corners), v))
    following = np.roll(rim, -1, axis=0)
    polygons = [
        np.stack([start + a, start + b, end + b, end + a])
        for a, b in zip(rim, following, strict=True)
    ]
    normals = rim + following
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    if ends:
        # Four corners each, as all faces have: Matplotlib fills up others with whatever there is.
        fans = [
            np.stack([0 * axis, *rim.take([k, k + 1, k + 2], 0, mode='wrap')])
            for k in range(0, sides, 2)
        ]
        polygons += [place + fan for place in (start, end) for fan in fans]
        normals = np.vstack([normals, *[-axis] * len(fans), *[axis] * len(fans)])
    return Faces(polygons, normals)


def _ball(center: np.ndarray, radius: float) -> Faces:
    around = np.linspace(0.0, 2.0 * np.pi, _SIDES // 2 + 1)
    over = np.linspace(0.0, np.pi, _SIDES // 4 + 1)
    grid = np.stack(
        [
            np.outer(np.sin(over), np.cos(around)),
            np.outer(np.sin(over), np.sin(around)),
            np.outer(np.cos(over), np.ones_like(around)),
        ],
        axis=-1,
    )
    patches = np.stack([grid[:-1, :-1], grid[:-1, 1:], grid[1:, 1:], grid[1:, :-1]], axis=2)
    patches = patches.reshape(-1, 4, 3)
    normals = patches.mean(axis=1)
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    return Faces(list(center + radius * patches), normals)


def _joined(parts: Iterable[Faces]) -> Faces:
    parts = list(parts)
    polygons = [polygon for part in parts for polygon in part.polygons]
    return Faces(polygons, np.vstack([np.empty((0, 3)), *(part.normals for part in parts)]))
