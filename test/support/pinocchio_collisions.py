"""Self-collisions by Pinocchio's own reading and checking of a URDF, as a reference."""

import numpy as np
import pytest


class PinocchioCollisions:
    """Pinocchio's verdict on postures of a checker's robot, on the pairs that it checks."""

    def __init__(self, checker, path):
        """Build from the file of a URDF."""
        pin = self._pin = pytest.importorskip('pinocchio')
        self._checker = checker
        self._model = pin.buildModelFromUrdf(str(path))
        self._data = self._model.createData()
        self._geometry = pin.buildGeomFromUrdf(self._model, str(path), pin.COLLISION)
        parts = self._geometry.geometryObjects
        links = [self._model.frames[part.parentFrame].name for part in parts]
        self.links = set(links)
        for i, a in enumerate(links):
            for j, b in enumerate(links[:i]):
                moving = parts[i].parentJoint != parts[j].parentJoint
                if moving and frozenset((a, b)) not in checker.disabled_pairs:
                    self._geometry.addCollisionPair(pin.CollisionPair(j, i))

    def collides(self, q):
        """Whether anything collides at the positions of all independent joints."""
        # With new data each time: what it keeps from the last posture makes it miss collisions
        # (Pinocchio 4.1 with Coal 3.0.3: 19 % of the postures of urdf/upper_body.urdf).
        data = self._geometry.createData()
        posture = self._configuration(q)
        pin = self._pin
        return pin.computeCollisions(self._model, self._data, self._geometry, data, posture, True)

    def _configuration(self, q):
        positions = dict(zip(self._checker.joint_names, q, strict=True))
        posture = self._pin.neutral(self._model)
        for name, joint in zip(self._model.names, self._model.joints, strict=True):
            if name == 'universe':
                continue
            source, multiplier, offset = self._checker.robot.resolve_mimic(name)
            value = multiplier * positions[source] + offset
            turns = (np.cos(value), np.sin(value)) if joint.nq == 2 else (value,)
            posture[joint.idx_q : joint.idx_q + joint.nq] = turns
        return posture
