"""Jumps in a joint path, by the thresholds that clients give."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ik_service.kinematics.joint_space import JointSpace
from ik_service.model.joint import JointType

_LEAST_ROWS = 10  # of which the mean says something, as with MoveIt


@dataclass(frozen=True)
class JumpThresholds:
    """
    Thresholds above which a step from one row of a path to the next counts as a jump; 0 for none.

    :ivar relative: of a step, the sum over all joints, as a multiple of the mean step.
    :ivar revolute: of a turning joint [rad].
    :ivar prismatic: of a sliding joint [m].
    """

    relative: float = 0.0
    revolute: float = 0.0
    prismatic: float = 0.0

    def bounds(self, chain: JointSpace) -> np.ndarray:
        """
        Return the largest step of every joint (n,) [rad] or [m]; inf for any.

        :param chain: the chain.
        """
        kinds = [chain.robot.joints[name].type for name in chain.joint_names]
        slides = np.array([kind is JointType.PRISMATIC for kind in kinds])
        bounds = np.where(slides, self.prismatic, self.revolute)
        return np.where(bounds > 0.0, bounds, np.inf)


@dataclass(frozen=True)
class Jump:
    """
    Step of a path above a threshold.

    :ivar row: the row that it leads to.
    :ivar joint: the joint that moves most.
    :ivar motion: by how much [rad] or [m].
    :ivar threshold: name of the threshold, as clients know it.
    """

    row: int
    joint: str
    motion: float
    threshold: str

    @property
    def text(self) -> str:
        """The jump in words."""
        return f'{self.joint} would have to move by {self.motion:.3g}, above {self.threshold}'


def first_jump(chain: JointSpace, q: np.ndarray, thresholds: JumpThresholds) -> Jump | None:
    """
    Return the first jump of a path; None where there is none.

    :param chain: the chain.
    :param q: (N, n) rows [rad] or [m].
    :param thresholds: the thresholds.
    """
    steps = np.abs(np.diff(q, axis=0))
    above = steps > thresholds.bounds(chain)
    jumps = above.any(axis=1)
    if thresholds.relative > 0.0 and len(q) >= _LEAST_ROWS:
        size = steps.sum(axis=1)
        jumps |= size > thresholds.relative * size.mean()
    if not jumps.any():
        return None
    row = int(np.argmax(jumps))
    absolute = bool(above[row].any())
    joint = int(np.argmax(np.where(above[row], steps[row], 0.0) if absolute else steps[row]))
    name, motion = chain.joint_names[joint], float(steps[row, joint])
    if not absolute:
        return Jump(row + 1, name, motion, 'jump_threshold times the mean step')
    slides = chain.robot.joints[name].type is JointType.PRISMATIC
    return Jump(row + 1, name, motion, f'{"prismatic" if slides else "revolute"}_jump_threshold')
