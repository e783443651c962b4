"""
Planar and floating joints as series of joints with one degree of freedom each.

Their order is fixed, so that a joint vector means the same wherever a robot is read:

- planar ``J``: ``J/x``, ``J/y`` (prismatic), ``J/theta`` (continuous). The plane is normal to the
  joint's axis n. Its directions x and y are those of the joint frame turned by the smallest
  rotation that takes z to n: for n = z they are the frame's own, for n = −z they are x and −y.
- floating ``J``: ``J/trans_x``, ``J/trans_y``, ``J/trans_z`` (prismatic, along the joint frame's
  axes), then ``J/rot_z``, ``J/rot_y``, ``J/rot_x`` (continuous), so that the rotation is
  R = Rz(rot_z) Ry(rot_y) Rx(rot_x), URDF's roll, pitch and yaw.

Between them lie virtual links without extent, each named after the joint that carries it:
``J/x_link``, ``J/trans_x_link``, …; the last joint carries the child link itself. All of these
joints are unlimited: URDF gives planar and floating joints no limits per degree of freedom.
"""

from __future__ import annotations

from collections.abc import Container, Sequence

import numpy as np
from numpy.typing import NDArray

from ik_service.common.transforms import rotation_from_z_to
from ik_service.model.joint import Joint, JointType

_X, _Y, _Z = np.eye(3)
PLANAR_PARTS = ('x', 'y', 'theta')  # names of a planar joint's parts, after its own and a slash
FLOATING_PARTS = ('trans_x', 'trans_y', 'trans_z', 'rot_z', 'rot_y', 'rot_x')
"""Names of a floating joint's parts, after its own and a slash."""


def part_names(name: str, joints: Container[str]) -> tuple[str, ...]:
    """Return the joints that a planar or floating joint was expanded into; none for others."""
    for parts in (PLANAR_PARTS, FLOATING_PARTS):
        names = tuple(f'{name}/{part}' for part in parts)
        if all(part in joints for part in names):
            return names
    return ()


def is_inside_joint(link: str, joints: Container[str]) -> bool:
    """Return whether a link is one of the virtual ones between the parts of a joint of these."""
    name, _, part = link.rpartition('/')
    return bool(part) and link.removesuffix('_link') in part_names(name, joints)


def planar_joints(
    name: str,
    parent: str,
    child: str,
    T_parent_joint: NDArray[np.float64],
    normal: NDArray[np.float64],
) -> list[Joint]:
    """
    Return the joints that stand for a planar joint.

    :param T_parent_joint: (4, 4) pose of the joint frame in the parent link's frame [m].
    :param normal: (3,) unit normal of the plane, in the joint frame.
    """
    x, y, _ = rotation_from_z_to(normal).T
    parts = [
        ('x', JointType.PRISMATIC, x),
        ('y', JointType.PRISMATIC, y),
        ('theta', JointType.CONTINUOUS, normal),
    ]
    return _series(name, parent, child, T_parent_joint, parts)


def floating_joints(
    name: str, parent: str, child: str, T_parent_joint: NDArray[np.float64]
) -> list[Joint]:
    """Return the joints that stand for a floating joint at (4, 4) T_parent_joint [m]."""
    parts = [
        ('trans_x', JointType.PRISMATIC, _X),
        ('trans_y', JointType.PRISMATIC, _Y),
        ('trans_z', JointType.PRISMATIC, _Z),
        ('rot_z', JointType.CONTINUOUS, _Z),
        ('rot_y', JointType.CONTINUOUS, _Y),
        ('rot_x', JointType.CONTINUOUS, _X),
    ]
    return _series(name, parent, child, T_parent_joint, parts)


def _series(
    name: str,
    parent: str,
    child: str,
    T_parent_joint: NDArray[np.float64],
    parts: Sequence[tuple[str, JointType, NDArray[np.float64]]],
) -> list[Joint]:
    joints = []
    links = [parent, *(f'{name}/{suffix}_link' for suffix, _, _ in parts[:-1]), child]
    for index, (suffix, kind, axis) in enumerate(parts):
        T = T_parent_joint if index == 0 else np.eye(4)
        joints.append(Joint(f'{name}/{suffix}', kind, links[index], links[index + 1], T, axis))
    return joints
