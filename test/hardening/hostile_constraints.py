"""Random position and orientation constraints, valid ones and others, repeatable by their seed."""

from __future__ import annotations

import math

from geometry_msgs.msg import Pose
from moveit_msgs.msg import OrientationConstraint, PositionConstraint
import numpy as np
from shape_msgs.msg import Mesh, SolidPrimitive
from support.chains import rotation, transform

from ik_service.ros.common.conversions import pose_from_matrix

_ANGLES = (0.0, 0.05, 0.3, 1.0, 3.0, math.pi, 7.0, math.inf)
_SIZES = (0.02, 0.1, 0.3, 1.0)
_SHAPES = {
    SolidPrimitive.BOX: 3,
    SolidPrimitive.SPHERE: 1,
    SolidPrimitive.CYLINDER: 2,
    SolidPrimitive.CONE: 2,
}


class HostileConstraints:
    """
    Maker of constraints, most of which the goal itself meets.

    :param generator: of random numbers.
    :param number: returns a hostile number.
    :param frames: frames that constraints may be given in; empty for the base.
    """

    def __init__(self, generator, number, frames=('',)):
        self._rng, self._number, self._frames = generator, number, frames

    def position(self, link, T):
        """A region about where a link is at the goal."""
        made = PositionConstraint(link_name=link, weight=1.0)
        offset = self._rng.uniform(-0.1, 0.1, 3) if self._rng.random() < 0.5 else np.zeros(3)
        made.target_point_offset.x, made.target_point_offset.y, made.target_point_offset.z = offset
        made.header.frame_id = self._one_of(self._frames)
        region = made.constraint_region
        for _ in range(self._one_of((1, 1, 1, 2, 3))):
            shape, pose = self._shape(T[:3, :3] @ offset + T[:3, 3])
            region.primitives.append(shape)
            region.primitive_poses.append(pose)
        self._spoil_position(made)
        return made

    def orientation(self, link, T):
        """Tolerances about how a link is turned at the goal, or nearly so."""
        axis, angle = self._rng.normal(size=3), self._one_of((0.0, 0.0, 0.02, 0.2, 2.0))
        made = OrientationConstraint(link_name=link, weight=1.0)
        made.orientation = pose_from_matrix(
            transform(T[:3, :3] @ rotation(axis, angle))
        ).orientation
        made.header.frame_id = self._one_of(self._frames)
        made.parameterization = self._one_of((0, 1))
        for axis in 'xyz':
            setattr(made, f'absolute_{axis}_axis_tolerance', self._one_of(_ANGLES))
        if self._rng.random() < 0.15:
            axis = self._one_of('xyz')
            setattr(made, f'absolute_{axis}_axis_tolerance', self._number())
        if self._rng.random() < 0.1:
            setattr(made.orientation, self._one_of('xyzw'), self._number())
        if self._rng.random() < 0.05:
            made.parameterization = self._one_of((2, 255))
        return made

    def _shape(self, point):
        """A shape that holds a point, most of the time, turned at random."""
        kind = self._one_of((1, 1, 2, 2, 3, 3, 4) if self._rng.random() < 0.1 else (1, 2, 3))
        size = self._one_of(_SIZES)
        R = rotation(self._rng.normal(size=3), self._rng.uniform(-3, 3))
        away = self._rng.normal(size=3) * size * self._one_of((0.0, 0.1, 0.1, 2.0))
        shape = SolidPrimitive(type=kind, dimensions=[size] * _SHAPES[kind])
        return shape, pose_from_matrix(transform(R, point + away))

    def _spoil_position(self, made):
        kind, region = self._rng.integers(24), made.constraint_region
        if kind == 0:
            region.primitives[0].dimensions = [self._number()] * 3
        elif kind == 1:
            region.primitives[0].dimensions = []
        elif kind == 2:
            region.primitive_poses = [Pose()] * 3
        elif kind == 3:
            made.target_point_offset.y = self._number()
        elif kind == 4:
            region.meshes = [Mesh()]
        elif kind == 5:
            setattr(region.primitive_poses[0].position, self._one_of('xyz'), self._number())
        elif kind == 6:
            setattr(region.primitive_poses[0].orientation, self._one_of('xyzw'), self._number())

    def _one_of(self, values):
        return values[int(self._rng.integers(len(values)))]
