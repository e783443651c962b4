"""Verification of all results with Pinocchio's forward kinematics, and problems made with it."""

from __future__ import annotations

from dataclasses import dataclass
import math

import numpy as np
import pinocchio as pin
from robots import BenchRobot

TOLERANCE = 1e-5  # largest error in each of the six components of the twist [m] or [rad]

LIMIT_SLACK = 1e-6
"""Distance beyond a joint limit that still counts as within [rad] or [m], for single floats."""


@dataclass(frozen=True)
class Problems:
    """Reachable targets (N, 4, 4) T_base_tip, their joint vectors (N, n), and seeds (N, n)."""

    truth: np.ndarray
    targets: np.ndarray
    seeds: np.ndarray

    def __len__(self) -> int:
        return len(self.targets)

    def part(self, rows: slice) -> Problems:
        """Some of the problems."""
        return Problems(self.truth[rows], self.targets[rows], self.seeds[rows])

    def share(self, share: float) -> Problems:
        """The first of them, at least one."""
        return self.part(slice(0, max(1, round(share * len(self)))))


class Verifier:
    """Chain in Pinocchio, made from the URDF without this project's code."""

    def __init__(self, robot: BenchRobot) -> None:
        chain = robot.chain
        path = chain.robot.path(chain.base_link, chain.tip_link)
        # Only where it matters: Pinocchio refuses some robots with mimic joints off the path.
        mimics = any(joint.mimic for joint, _ in path)
        self.model = pin.buildModelFromXML(robot.urdf, mimics)
        self._data = self.model.createData()
        self._base = self.model.getFrameId(robot.base_link)
        self._tip = self.model.getFrameId(robot.tip_link)
        self._joints = [
            self.model.joints[self.model.getJointId(name)] for name in chain.joint_names
        ]
        self._neutral = pin.neutral(self.model)
        self.lower, self.upper = chain.lower, chain.upper

    def forward(self, q: np.ndarray) -> pin.SE3:
        """Pose of the tip in the base frame."""
        configuration = self._neutral.copy()
        for joint, value in zip(self._joints, q, strict=True):
            i = joint.idx_q
            if joint.nq == 2:  # a continuous joint
                configuration[i : i + 2] = math.cos(value), math.sin(value)
            else:
                configuration[i] = value
        pin.forwardKinematics(self.model, self._data, configuration)
        base = pin.updateFramePlacement(self.model, self._data, self._base).copy()
        return base.actInv(pin.updateFramePlacement(self.model, self._data, self._tip))

    def poses(self, q: np.ndarray) -> np.ndarray:
        """Poses of many joint vectors, (N, 4, 4)."""
        return np.array([self.forward(row).homogeneous for row in q]).reshape(-1, 4, 4)

    def errors(self, q: np.ndarray, target: np.ndarray) -> tuple[float, float, float]:
        """Distance [m], angle [rad], and the largest component of the twist in the tip frame."""
        error = pin.SE3(target).actInv(self.forward(q))
        turn = pin.log3(error.rotation)
        distance, angle = np.linalg.norm(error.translation), np.linalg.norm(turn)
        largest = max(np.abs(error.translation).max(), np.abs(turn).max())
        return float(distance), float(angle), float(largest)

    def accepts(self, q: np.ndarray | None, target: np.ndarray) -> bool:
        """Whether a joint vector puts the tip at the target, within the joint limits."""
        if q is None or not np.isfinite(q).all():
            return False
        inside = np.all((q >= self.lower - LIMIT_SLACK) & (q <= self.upper + LIMIT_SLACK))
        return bool(inside) and self.errors(q, target)[2] <= TOLERANCE

    def postures(self, count: int, seed: int) -> np.ndarray:
        """Joint vectors drawn uniformly within the limits, (count, n); ±π where there are none."""
        lower = np.where(np.isfinite(self.lower), self.lower, -math.pi)
        upper = np.where(np.isfinite(self.upper), self.upper, math.pi)
        return np.random.default_rng(seed).uniform(lower, upper, (count, len(lower)))

    def problems(self, robot: BenchRobot, count: int, seed: int) -> Problems:
        """Reachable targets; every search starts in the middle of the limits."""
        truth = self.postures(count, seed)
        seeds = np.tile(robot.chain.mid_range(), (count, 1))
        return Problems(truth, self.poses(truth), seeds)
