"""Collisions as Pinocchio finds them, which shares no code with the package."""

from __future__ import annotations

from collections.abc import Collection, Mapping
import math
from pathlib import Path

import coal
import numpy as np
import pinocchio as pin

import ik_service as iks

Shape = iks.Box | iks.Cylinder | iks.Sphere


class PinocchioCollisions:
    """
    Collisions of a robot by Pinocchio's own reading of its URDF.

    :param allowed: pairs of links that may touch; those that do not move against each other may.
    :param objects: shapes around the robot with their poses (4, 4) [m], by name.
    """

    def __init__(
        self,
        urdf: Path,
        allowed: Collection[frozenset[str]],
        objects: Mapping[str, tuple[Shape, np.ndarray]],
    ) -> None:
        self._model = pin.buildModelFromUrdf(str(urdf))
        self._geometry = pin.buildGeomFromUrdf(
            self._model, str(urdf), pin.COLLISION, package_dirs=[str(urdf.parent)]
        )
        for name, (shape, T) in objects.items():
            self._geometry.addGeometryObject(
                pin.GeometryObject(name, 0, 0, pin.SE3(T), _solid(shape))
            )
        parts = self._geometry.geometryObjects
        bodies = [self._model.frames[part.parentFrame].name for part in parts]
        for i, j in np.transpose(np.triu_indices(len(parts), 1)).tolist():
            moving = parts[i].parentJoint != parts[j].parentJoint
            if moving and frozenset((bodies[i], bodies[j])) not in allowed:
                self._geometry.addCollisionPair(pin.CollisionPair(i, j))
        self._kept = self._model.createData(), self._geometry.createData()

    def configuration(self, positions: Mapping[str, float]) -> np.ndarray:
        """Return Pinocchio's vector of positions by joint [rad, m]; its others are neutral."""
        model, vector = self._model, pin.neutral(self._model)
        for name in filter(model.existJointName, positions):
            joint, value = model.joints[model.getJointId(name)], positions[name]
            turns = (math.cos(value), math.sin(value)) if joint.nq == 2 else (value,)
            vector[joint.idx_q : joint.idx_q + joint.nq] = turns
        return vector

    def collides(self, configuration: np.ndarray) -> bool:
        """Whether anything collides, with the same data each time, which can err."""
        return self._collides(configuration, *self._kept)

    def collides_anew(self, configuration: np.ndarray) -> bool:
        """Whether anything collides, with new data: the posture before can decide a close call."""
        return self._collides(configuration, self._model.createData(), self._geometry.createData())

    def _collides(self, q: np.ndarray, data: pin.Data, found: pin.GeometryData) -> bool:
        return pin.computeCollisions(self._model, data, self._geometry, found, q, True)


def _solid(shape: Shape) -> coal.CollisionGeometry:
    if isinstance(shape, iks.Box):
        return coal.Box(*shape.size)
    if isinstance(shape, iks.Cylinder):
        return coal.Cylinder(shape.radius, shape.height)
    return coal.Sphere(shape.radius)
