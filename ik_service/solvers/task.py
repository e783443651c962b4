"""Target of a tip with tolerances: where a point of it may be, and how it may be turned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
import math
from typing import get_args

import numpy as np
from numpy.typing import ArrayLike

from ik_service.common.arguments import real_array
from ik_service.common.quaternions import quaternion_xyzw_from_rotation
from ik_service.common.quoting import safe_repr
from ik_service.exceptions import ArgumentError
from ik_service.kinematics.joint_space import frozen
from ik_service.kinematics.pose_error import check_transform
from ik_service.kinematics.tree import Tip
from ik_service.model.geometry.solids import lengths, Region

PARAMETERIZATIONS = ('rotation_vector', 'euler_xyz')
"""Angles that tolerances of the orientation can be about, in the order of their numbers."""
BLOCK_ROWS = 11  # rows of four numbers in which a kernel takes the target of a tip
_GIMBAL_LOCK = 1e-9  # a cosine of the middle angle below this leaves only a sum of the others


@dataclass(frozen=True, eq=False)
class Task:
    """
    Target of a tip, with tolerances.

    With R = R_targetᵀ R_tip, the angles of the orientation are the components of its rotation
    vector, or for 'euler_xyz' a, b and c of R = Rx(a) Ry(b) Rz(c), where the one of two triples
    counts that fits better. Each has to be within its tolerance; where all of these are 0, the
    angle of R is the error. This is the meaning of MoveIt's ``OrientationConstraint``, and region
    and point are those of its ``PositionConstraint``.

    :ivar target: (4, 4) T_base_target; in the frame of the first link for a pair of links.
    :ivar region: where the point may be; None for the target's origin alone.
    :ivar region_pose: (4, 4) T_base_region; None for the target.
    :ivar point: (3,) the point of the tip's frame that has to be in the region [m].
    :ivar orientation_tolerances: (3,) about x, y and z of the target [rad]; from π on, inf
        included, an axis is free.
    :ivar parameterization: 'rotation_vector' or 'euler_xyz'.
    :raises ArgumentError: naming the field that cannot be.
    """

    target: np.ndarray
    region: Region | None = None
    region_pose: np.ndarray | None = None
    point: tuple[float, float, float] = (0.0, 0.0, 0.0)
    orientation_tolerances: tuple[float, float, float] = (0.0, 0.0, 0.0)
    parameterization: str = 'rotation_vector'

    def __post_init__(self) -> None:
        self._set('target', frozen(check_transform(self.target, 'target')))
        if self.region is not None and not isinstance(self.region, get_args(Region)):
            raise ArgumentError(
                'region', f'has to be a Box, Sphere or Cylinder, not {safe_repr(self.region)}'
            )
        if self.region_pose is not None:
            if self.region is None:
                raise ArgumentError('region_pose', 'has to come with a region')
            self._set('region_pose', frozen(check_transform(self.region_pose, 'region_pose')))
        point = real_array(self.point, 'point')
        if point.shape != (3,) or not np.isfinite(point).all():
            raise ArgumentError(
                'point', f'has to be 3 finite numbers, not {safe_repr(self.point)}'
            )
        self._set('point', tuple(point.tolist()))
        angles = lengths(self.orientation_tolerances, 'orientation_tolerances', 3)
        self._set('orientation_tolerances', angles)
        if self.parameterization not in PARAMETERIZATIONS:
            raise ArgumentError(
                'parameterization',
                f'has to be one of {", ".join(PARAMETERIZATIONS)}, '
                f'not {safe_repr(self.parameterization)}',
            )

    def violation(self, T_base_tip: ArrayLike) -> tuple[float, float]:
        """
        Return how far a pose of the tip is outside the tolerances.

        :param T_base_tip: (4, 4) pose of the tip.
        :returns: distance of the point from the region [m], and the norm of the vector by which
            the angles exceed their tolerances [rad]; 0 and 0 within them.
        :raises ArgumentError: when it is not a rigid transform.
        """
        T = check_transform(T_base_tip, 'T_base_tip')
        return self._distance(T), self._angle(T[:3, :3])

    @cached_property
    def block(self) -> np.ndarray:
        """The task as kernels take it: (11, 4), target, pose of the region, and 12 numbers."""
        region, numbers = self.region, np.zeros(12)
        if region is not None:
            numbers[:4] = region.number, *region.extents
        numbers[4:7] = self.point
        numbers[7] = PARAMETERIZATIONS.index(self.parameterization)
        numbers[8:11] = [math.inf if t >= math.pi else t for t in self.orientation_tolerances]
        return frozen(np.concatenate([self.target, self._region_frame, numbers.reshape(3, 4)]))

    @property
    def _region_frame(self) -> np.ndarray:
        return self.target if self.region_pose is None else self.region_pose

    def _distance(self, T: np.ndarray) -> float:
        """Return the distance of the point from the region [m]."""
        T_region = self._region_frame
        point = T_region[:3, :3].T @ (T[:3, :3] @ self.point + T[:3, 3] - T_region[:3, 3])
        return math.hypot(*(point if self.region is None else self.region.excess(point)))

    def _angle(self, R_base_tip: np.ndarray) -> float:
        """Return the norm of the vector by which the angles exceed their tolerances [rad]."""
        R = self.target[:3, :3].T @ R_base_tip
        limit = np.array([math.inf if t >= math.pi else t for t in self.orientation_tolerances])
        triples = [_rotation_vector(R)]
        if self.parameterization == 'euler_xyz' and limit.any():
            triples = _euler_xyz(R)
        return min(float(np.linalg.norm(np.maximum(abs(t) - limit, 0.0))) for t in triples)

    def _set(self, field: str, value: object) -> None:
        object.__setattr__(self, field, value)


def _rotation_vector(R: np.ndarray) -> np.ndarray:
    """Return the rotation vector (3,) of a rotation, at most π long [rad]."""
    x, y, z, w = quaternion_xyzw_from_rotation(R)
    length = math.hypot(x, y, z)
    angle = 2.0 * math.atan2(length, w)
    return np.array([x, y, z]) * (angle / length if length > 0.0 else 2.0)


def _euler_xyz(R: np.ndarray) -> list[np.ndarray]:
    """Return two triples a, b, c [rad] with R = Rx(a) Ry(b) Rz(c)."""
    cosine = math.hypot(R[0, 0], R[0, 1])
    b = math.atan2(R[0, 2], cosine)
    if cosine < _GIMBAL_LOCK:  # only a sum or a difference of a and c counts
        angle = math.atan2(R[2, 1], R[1, 1])
        return [np.array([angle, b, 0.0]), np.array([0.0, b, math.copysign(angle, angle * b)])]
    a, c = math.atan2(-R[1, 2], R[2, 2]), math.atan2(-R[0, 1], R[0, 0])
    other = math.copysign(math.pi, b) - b
    turned = math.atan2(R[1, 2], -R[2, 2]), other, math.atan2(R[0, 1], -R[0, 0])
    return [np.array([a, b, c]), np.array(turned)]


Target = ArrayLike | Task | Mapping[Tip, ArrayLike | Task]
"""
Target of a solve: a pose (4, 4) or a task; for a tree a mapping of every tip to one of these.
"""
Targets = ArrayLike | Sequence[ArrayLike | Task]
BatchTargets = Targets | Mapping[Tip, Targets]
"""Targets of a batch: rows of poses or tasks; for a tree a mapping of every tip to such rows."""
