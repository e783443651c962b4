"""The same chain in Pinocchio, as an independent reference."""

import numpy as np
import pytest


class PinocchioChain:
    """Pose and Jacobian of a chain's tip relative to its base, by Pinocchio's algorithms."""

    def __init__(self, chain, urdf):
        """Build from URDF text, for a chain of the same robot."""
        self._pin = pytest.importorskip('pinocchio')
        path = chain.robot.path(chain.base_link, chain.tip_link)
        # Only where it matters: Pinocchio refuses some robots with mimic joints off the path.
        mimics = any(joint.mimic for joint, _ in path)
        self._model = self._pin.buildModelFromXML(urdf, mimics)
        self._data = self._model.createData()
        self._base = self._model.getFrameId(chain.base_link)
        self._tip = self._model.getFrameId(chain.tip_link)
        ids = [self._model.getJointId(name) for name in chain.joint_names]
        self._joints = [self._model.joints[i] for i in ids]
        self._columns = [joint.idx_v for joint in self._joints]

    def configuration(self, q):
        configuration = self._pin.neutral(self._model)
        for joint, value in zip(self._joints, q, strict=True):
            i = joint.idx_q
            if joint.nq == 2:  # continuous
                configuration[i : i + 2] = np.cos(value), np.sin(value)
            else:
                configuration[i] = value
        return configuration

    def forward_and_jacobian(self, q):
        """T_base_tip and the (6, n) Jacobian, linear first, in the base frame."""
        pin, model, data = self._pin, self._model, self._data
        pin.computeJointJacobians(model, data, self.configuration(q))
        pin.updateFramePlacements(model, data)
        base, tip = data.oMf[self._base], data.oMf[self._tip]
        J_base, J_tip = self._frame_jacobian(self._base), self._frame_jacobian(self._tip)
        # The base moves as well where the path runs up through it.
        arm = tip.translation - base.translation
        linear = J_tip[:3] - J_base[:3] - np.cross(J_base[3:].T, arm).T
        angular = J_tip[3:] - J_base[3:]
        R = base.rotation.T
        return base.actInv(tip).homogeneous, np.vstack([R @ linear, R @ angular])

    def _frame_jacobian(self, frame):
        aligned = self._pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        J = self._pin.getFrameJacobian(self._model, self._data, frame, aligned)
        return J.reshape(6, self._model.nv)[:, self._columns]
