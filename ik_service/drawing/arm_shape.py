"""Shape of a drawn arm: a line from base to tip, and solids around it."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ik_service.common.transforms import inverse_transform, rotation_from_z_to
from ik_service.drawing.revolved_surface import capsule_surface, cylinder_surface
from ik_service.kinematics.chain import KinematicChain
from ik_service.kinematics.link_poses import link_poses
from ik_service.model.joint import JointType

_MANY_JOINTS = 7  # arms of more joints have smaller ones
# Shares of the arm's scale.
_LINK_RADIUS = 0.014
_JOINT_RADIUS = 0.027
_JOINT_LENGTH = 0.066
_SIDES, _RINGS = 16, 2  # of round shapes, and of half balls


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
        moves = joint.movable and chain.robot.resolve_mimic(joint.name)[0] not in chain.locked
        if moves and not joints:
            mount = len(points)
        points += ends if forward else [ends[1], ends[0]]
        if not forward:
            points.append((T_base_root @ poses[joint.parent])[:3, 3])
        if moves:
            slides = joint.type is JointType.PRISMATIC
            joints.append(JointMark(ends[0], T_joint[:3, :3] @ joint.axis, slides))
    return Skeleton(np.array(points), tuple(joints), mount)


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


def solid_arm(chain: KinematicChain, q: np.ndarray) -> dict[str, np.ndarray]:
    """
    Return an arm as solids: links as tubes, rotary joints as drums, sliding ones as blocks.

    :param q: (n,) joint positions [rad] or [m].
    :returns: triangles (k, 3, 3) of ``mount``, ``links`` and ``joints``, facing outwards [m]; the
        mount is between the base and the first joint.
    """
    shape = skeleton(chain, q)
    size = shape.scale
    tubes = [_tube(start, end, _LINK_RADIUS * size) for start, end in pairwise(shape.points)]
    joints = []
    for joint in shape.joints:
        sides = 4 if joint.slides else _SIDES
        drum = cylinder_surface(_JOINT_RADIUS * size, _JOINT_LENGTH * size, sides)
        joints.append(_placed(drum, joint.position, joint.axis))
    parts = {'mount': tubes[: shape.mount], 'links': tubes[shape.mount :], 'joints': joints}
    return {name: np.concatenate(part) for name, part in parts.items()}


def _tube(start: np.ndarray, end: np.ndarray, radius: float) -> np.ndarray:
    """Return the triangles of a tube with round ends."""
    length = float(np.linalg.norm(end - start))
    axis = (end - start) / length if length > 0.0 else np.array([0.0, 0.0, 1.0])
    # In short parts: faces are sorted by depth as a whole, so none may be long.
    parts = max(1, int(np.ceil(length / (3.0 * radius))))
    tube = capsule_surface(radius, length, _SIDES, _RINGS, parts)
    return _placed(tube, 0.5 * (start + end), axis)


def _placed(
    surface: tuple[np.ndarray, np.ndarray], middle: np.ndarray, axis: np.ndarray
) -> np.ndarray:
    vertices, triangles = surface
    return np.asarray((vertices @ rotation_from_z_to(axis).T + middle)[triangles])
