"""Path of joints between two links, and its constants for the kernels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
import math
import sys
from typing import NamedTuple

import numpy as np

from ik_service.common.quoting import safe_repr
from ik_service.common.transforms import (
    inverse_transform,
    rigid_transform,
    rotation_about_axis,
    rotation_from_z_to,
)
from ik_service.exceptions import ChainError, FaultyJointError, UnknownJointError
from ik_service.model.joint import Joint, JointType
from ik_service.model.robot_model import RobotModel

_LARGEST = sys.float_info.max


class ChainArrays(NamedTuple):
    """
    Constants of a chain as arrays: m joints on the path, moved by n variables.

    Frames are written as 12 numbers: the x, y and z axes, then the origin.

    :ivar base: (12,) the frame in which the first joint moves, in the base frame.
    :ivar joints: (m, 8) for each joint its angle offset [rad], the translation to the next joint
        (3) [m], the cosine and sine of the rotation about x to the next joint, and how far it
        turns [rad] and slides [m] per unit of its variable.
    :ivar variables: (m,) index of the variable that moves each joint.
    :ivar tip: (2,) cosine and sine of the last rotation about z, to the tip frame.
    :ivar lower: (n,) lower limits of the variables.
    :ivar upper: (n,) upper limits.
    :ivar turn: (n,) 2π for variables whose full turns do not change any pose, else 0.
    :ivar reach: (4,) a point of the base frame and the distance from it that the tip cannot
        exceed [m].
    """

    base: np.ndarray
    joints: np.ndarray
    variables: np.ndarray
    tip: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    turn: np.ndarray
    reach: np.ndarray


@dataclass(frozen=True)
class JointMotion:
    """
    Moving joint of a path: a rotation about, or a translation along, z of its own frame.

    :ivar variable: name of the joint whose position moves it: itself, or the one it mimics.
    :ivar scale: motion per unit of the variable; negative where the path runs from child to
        parent or the mimic multiplier is negative.
    :ivar T_before: (4, 4) constant transform from the previous motion's frame (or from the base).
    """

    joint: Joint
    variable: str
    scale: float
    T_before: np.ndarray

    @property
    def turns(self) -> bool:
        """Whether the joint rotates; otherwise it slides."""
        return self.joint.type is not JointType.PRISMATIC


@dataclass(frozen=True)
class JointPath:
    """
    Moving joints between two links, with constant transforms between them.

    :ivar motions: the moving joints, base to tip.
    :ivar T_after: (4, 4) constant transform from the last motion's frame to the tip.
    """

    motions: tuple[JointMotion, ...]
    T_after: np.ndarray


def joint_path(
    robot: RobotModel, base_link: str, tip_link: str, locked: Mapping[str, float]
) -> JointPath:
    """
    Return the path between two links, every moving joint on it as a motion about its own z axis.

    Fixed and locked joints, origins, offsets and the turn that brings z onto the joint's axis all
    end up in the constant transforms between the motions.

    :param base_link: link where the path starts.
    :param tip_link: link where it ends.
    :param locked: positions of joints that do not move [rad] or [m].
    :raises UnknownLinkError: naming the link.
    :raises UnknownJointError: when a locked joint does not exist.
    :raises ChainError: when a locked joint cannot be locked there.
    :raises FaultyJointError: when the description of a joint between them is faulty.
    """
    check_locked(robot, locked)
    motions: list[JointMotion] = []
    T = np.eye(4)
    for joint, forward in robot.path(base_link, tip_link):
        if joint.fault:
            raise FaultyJointError(base_link, tip_link, joint.name, joint.fault)
        if forward:
            T = T @ joint.T_parent_joint
        if joint.movable:
            source, multiplier, offset = robot.resolve_mimic(joint.name)
            sign = 1.0 if forward else -1.0
            source_joint = robot.joints[source]
            if source in locked or not source_joint.movable:
                offset += multiplier * locked.get(source, 0.0)
                T = T @ joint_motion(joint, sign * offset)
            else:
                T_align = rigid_transform(rotation_from_z_to(joint.axis))
                T = T @ joint_motion(joint, sign * offset) @ T_align
                motions.append(JointMotion(joint, source, sign * multiplier, T))
                T = T_align.T  # a pure rotation
        if not forward:
            T = T @ inverse_transform(joint.T_parent_joint)
    return JointPath(tuple(motions), T)


def check_locked(robot: RobotModel, locked: Mapping[str, float]) -> None:
    """
    Refuse joints that cannot be locked at the value given.

    :param locked: positions of joints that do not move [rad] or [m], by name.
    :raises UnknownJointError: when there is no such movable joint.
    :raises ChainError: when it follows another joint, or the value lies outside its limits.
    """
    movable = [name for name, joint in robot.joints.items() if joint.movable]
    for name, value in locked.items():
        if name not in robot.joints or not robot.joints[name].movable:
            raise UnknownJointError(name, movable)
        joint = robot.joints[name]
        if joint.mimic is not None:
            source = robot.resolve_mimic(name)[0]
            raise ChainError(
                f'joint {name!r} cannot be locked because it follows {source!r}; lock that one'
            )
        lower, upper = joint.limits.lower, joint.limits.upper
        if not (lower <= value <= upper and abs(value) <= _LARGEST):
            raise ChainError(
                f'joint {name!r} cannot be locked at {safe_repr(value)}, outside its limits '
                f'{lower:g} … {upper:g}'
            )


def joint_constants(path: JointPath, variables: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """
    Return the constants of the joints, each constant rotation split into z-x-z Euler angles.

    :returns: the (m, 8) array of :class:`ChainArrays`, and the
        (2,) cosine and sine of the last rotation about z.
    """
    count = len(path.motions)
    joints = np.zeros((count, 8))
    following = [motion.T_before for motion in path.motions[1:]] + [path.T_after]
    psi = 0.0
    for k, (motion, T) in enumerate(zip(path.motions, following, strict=True)):
        phi, cos_alpha, sin_alpha, next_psi = _split_zxz(T[:3, :3])
        c, s = math.cos(phi), math.sin(phi)
        x, y, z = T[:3, 3]
        joints[k, 0] = psi + phi
        joints[k, 1:4] = c * x + s * y, c * y - s * x, z
        joints[k, 4:6] = cos_alpha, sin_alpha
        joints[k, 6 if motion.turns else 7] = motion.scale
        psi = next_psi
    return joints, np.array([math.cos(psi), math.sin(psi)])


def kernel_frame_angles(path: JointPath) -> np.ndarray:
    """
    Return the angles about the joints' axes from the kernels' frames to those of the path.

    :returns: (m,) for each joint, from the frame in which it moves in the kernels, to the frame in
        which :class:`JointMotion` has it move [rad].
    """
    angles = [_split_zxz(motion.T_before[:3, :3])[3] for motion in path.motions[1:]]
    return np.array([0.0, *angles])


def _split_zxz(R: np.ndarray) -> tuple[float, float, float, float]:
    """Return φ, cos α, sin α and ψ with R = Rz(φ) Rx(α) Rz(ψ)."""
    sin_alpha = math.hypot(R[0, 2], R[1, 2])
    phi = math.atan2(R[0, 2], -R[1, 2]) if sin_alpha > 0.0 else 0.0
    c, s = math.cos(phi), math.sin(phi)
    # The first row of Rz(−φ) R is that of Rz(ψ): well-defined even where α is nearly zero.
    psi = math.atan2(-(c * R[0, 1] + s * R[1, 1]), c * R[0, 0] + s * R[1, 0])
    norm = math.hypot(sin_alpha, R[2, 2])
    return phi, R[2, 2] / norm, sin_alpha / norm, psi


def joint_motion(joint: Joint, value: float) -> np.ndarray:
    """Return the transform (4, 4) of a joint that moves by a value [rad] or [m]."""
    if joint.type is JointType.PRISMATIC:
        return rigid_transform(position=value * joint.axis)
    return rigid_transform(rotation_about_axis(joint.axis, value))


def reach(
    joints: np.ndarray,
    path: JointPath,
    names: tuple[str, ...],
    lower: np.ndarray,
    upper: np.ndarray,
) -> float:
    """
    Return the distance from the first joint that the tip cannot exceed: all links in one line.

    :param joints: (m, 8) from :func:`joint_constants`.
    :param path: the path, of m motions.
    :param names: names of the n variables.
    :param lower: (n,) lower limits of the variables [rad] or [m].
    :param upper: (n,) upper limits.
    :returns: the distance [m].
    """
    distance = 0.0
    for k, motion in enumerate(path.motions):
        i = names.index(motion.variable)
        # As Python's numbers, of which too large ones become infinite without a warning.
        slide = float(joints[k, 7])
        ends = [slide * float(lower[i]), slide * float(upper[i])] if slide else [0.0]
        distance += max(
            math.hypot(joints[k, 1], joints[k, 2], float(joints[k, 3]) + end) for end in ends
        )
    return distance
