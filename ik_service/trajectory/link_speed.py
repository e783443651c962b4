"""Speed of the origin of a link along a joint path: :class:`LinkSpeed`."""

from __future__ import annotations

import numpy as np

from ik_service.common.quoting import safe_repr
from ik_service.exceptions import ArgumentError
from ik_service.kinematics.chain import KinematicChain
from ik_service.kinematics.many_postures import tip_speeds
from ik_service.trajectory.joint_curve import JointCurve
from ik_service.trajectory.joint_trajectory import JointTrajectory
from ik_service.trajectory.segments import time_powers

_PLACES = np.linspace(0.0, 1.0, 9)  # of a segment at which its speed is looked at


class LinkSpeed:
    """
    Speed of the origin of a link, as the joints move it.

    :param chain: the chain.
    :param link: the link; None for the tip.
    :raises ArgumentError: the link is moved by a joint that the chain does not move.
    :raises UnknownLinkError: there is no such link.
    """

    def __init__(self, chain: KinematicChain, link: str | None) -> None:
        self._columns: list[int] = []
        robot, link = chain.robot, link or chain.tip_link
        movers = {
            robot.resolve_mimic(joint.name)[0]
            for joint, _ in robot.path(chain.base_link, link)
            if joint.movable
        }
        names = [name for name in chain.joint_names if name in movers - set(chain.locked)]
        others = movers - set(names) - set(chain.locked)
        if names and others:
            raise ArgumentError(
                'link', f'{safe_repr(link)} is moved by {", ".join(sorted(others))}, which the '
                'chain does not move'
            )  # fmt: skip
        if names:
            self._chain = KinematicChain(robot, chain.base_link, link, chain.locked)
            self._columns = [chain.joint_names.index(name) for name in self._chain.joint_names]

    def along(self, curve: JointCurve) -> np.ndarray:
        """
        Return the largest way of the link in every segment of a curve, by its parameter, (k−1,).

        :param curve: the curve.
        """
        largest = np.zeros(len(curve.h))
        swings = curve.start - curve.secants, curve.secants - curve.end
        for u in _PLACES:
            v = 1.0 - u
            q = curve.q[:-1] + curve.h[:, None] * u * (
                curve.secants + v * (v * swings[0] + u * swings[1])
            )
            slope = curve.secants + v * (v - 2.0 * u) * swings[0] + u * (2.0 * v - u) * swings[1]
            np.maximum(largest, self._speeds(q, slope), out=largest)
        return largest

    def of(self, trajectory: JointTrajectory) -> np.ndarray:
        """
        Return the largest speed of the link in every segment of a trajectory, (k−1,) [m/s].

        :param trajectory: the trajectory.
        """
        h = np.diff(trajectory.times)[:, None]
        scaled = trajectory.coefficients * (h ** np.arange(6.0))[:, :, None]  # of 1 s each
        largest = np.zeros(len(scaled))
        for u in _PLACES:
            position, velocity, _ = np.tensordot(time_powers(u), scaled, (1, 1))
            np.maximum(largest, self._speeds(position, velocity / h), out=largest)
        return largest

    def _speeds(self, q: np.ndarray, velocities: np.ndarray) -> np.ndarray:
        """Return the speed of the link at joint vectors and velocities (k, n)."""
        if not self._columns:
            return np.zeros(len(q))
        return tip_speeds(self._chain, q[:, self._columns], velocities[:, self._columns])
