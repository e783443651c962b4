"""Closed loop of follower and simulated arm, which holds a pose and follows a circle."""

from __future__ import annotations

from dataclasses import dataclass
import math
from typing import Any

import numpy as np

from ik_service.exceptions import ArgumentError
from ik_service.kinematics.chain import KinematicChain
from ik_service.kinematics.pose_error import pose_error
from ik_service.motion.settings import FollowerState
from ik_service.motion.target_follower import TargetFollower
from ik_service.sim.simulated_arm import SimulatedArm
from ik_service.solvers.solver import Solver

_PATIENCE = 20.0  # to arrive [s]
_SETTLING = 1.5  # between arrival and measuring [s]
_MEASURING = 0.5  # [s]


@dataclass(frozen=True)
class Circle:
    """
    A horizontal circle that starts and ends in a pose and keeps its orientation.

    :ivar T_base_start: (4, 4) the pose; the centre lies at its −y side, in the base frame.
    :ivar radius: [m].
    :ivar duration: of one turn, at constant speed [s].
    """

    T_base_start: np.ndarray
    radius: float
    duration: float

    def pose(self, time: float) -> np.ndarray:
        """
        Return the target on the circle, (4, 4) T_base_target.

        :param time: since the start [s].
        """
        angle = 2.0 * math.pi * time / self.duration
        T = self.T_base_start.copy()
        T[0, 3] += self.radius * math.sin(angle)
        T[1, 3] += self.radius * (math.cos(angle) - 1.0)
        return T


@dataclass(frozen=True)
class Track:
    """
    Targets, tip positions and errors at K moments.

    :ivar time: (K,) [s].
    :ivar target: (K, 3) where the tip should be [m], in the base frame.
    :ivar tip: (K, 3) where it was [m].
    :ivar position_error: (K,) distance of the two [m].
    :ivar orientation_error: (K,) angle between the two [rad].
    :ivar command_error: (K,) distance of the tip that was commanded from its target [m].
    """

    time: np.ndarray
    target: np.ndarray
    tip: np.ndarray
    position_error: np.ndarray
    orientation_error: np.ndarray
    command_error: np.ndarray


class ClosedLoop:
    """
    Follower and simulated arm, as in ``ik_node`` and ``ik_sim``, without ROS between them.

    The target is published, the command computed, and the arm advanced in the same tick.

    :param chain: the arm.
    :param start: (n,) where it starts [rad] or [m].
    :param engine: name of the simulation engine.
    :param gravity_compensation: share of the weight that the drives compensate, 0 to 1.
    :param settings: of the follower.
    """

    def __init__(
        self,
        chain: KinematicChain,
        start: np.ndarray,
        engine: str,
        gravity_compensation: float = 1.0,
        **settings: float,
    ) -> None:
        self._chain = chain
        self._arm = SimulatedArm(
            chain.robot,
            dict(zip(chain.joint_names, np.asarray(start).tolist(), strict=True)),
            engine=engine,
            gravity_compensation=gravity_compensation,
        )
        self._places = [self._arm.joint_names.index(name) for name in chain.joint_names]
        chosen: dict[str, Any] = dict(settings)  # two of them are truth values
        self._follower = TargetFollower(Solver(chain), **chosen)
        self._period = 1.0 / self._follower.settings.rate
        self._ticks = 0
        self._measure()

    def hold(self, T_base_target: np.ndarray) -> Track:
        """
        Go to a pose, and measure how it is held there, over half a second.

        :param T_base_target: (4, 4).
        :raises ArgumentError: the follower does not arrive there.
        """
        self._tick(T_base_target)
        for _ in range(round(_PATIENCE / self._period)):
            if self._follower.state is FollowerState.REACHED:
                break
            self._tick(T_base_target)
        else:
            raise ArgumentError('target', f'not reached: {self._follower.state.value}')
        for _ in range(round(_SETTLING / self._period)):
            self._tick(T_base_target)
        rows = [self._tick(T_base_target) for _ in range(round(_MEASURING / self._period))]
        return self._track(rows, [T_base_target] * len(rows))

    def follow(self, circle: Circle) -> Track:
        """
        Follow a circle from where the arm is, with a target in every tick.

        :param circle: it starts where the arm is.
        """
        count = round(circle.duration / self._period)
        rows = [self._tick(circle.pose(k * self._period)) for k in range(count)]
        # A tick ends a period after its target was published.
        return self._track(rows, [circle.pose((k + 1) * self._period) for k in range(count)])

    def _tick(self, T_base_target: np.ndarray) -> tuple[np.ndarray, float]:
        """Return where the arm is after a tick (n,), and how far the command is from a target."""
        self._follower.set_target(T_base_target)
        command = self._follower.tick(self._ticks * self._period)
        distance = math.nan
        if command is not None:
            self._arm.command(
                self._chain.joint_names, command.q.tolist(), command.velocity.tolist()
            )
            commanded = self._chain.forward(command.q)
            distance = float(np.linalg.norm((commanded - T_base_target)[:3, 3]))
        self._arm.step(self._period)
        self._ticks += 1
        return self._measure(), distance

    def _measure(self) -> np.ndarray:
        q = self._arm.positions[self._places]
        self._follower.set_measured(q, self._ticks * self._period)
        return q

    def _track(self, rows: list[tuple[np.ndarray, float]], targets: list[np.ndarray]) -> Track:
        poses = [self._chain.forward(q) for q, _ in rows]
        errors = np.array(
            [pose_error(T, target) for T, target in zip(poses, targets, strict=True)]
        )
        return Track(
            self._period * np.arange(1, len(rows) + 1),
            np.array([target[:3, 3] for target in targets]),
            np.array([T[:3, 3] for T in poses]),
            np.linalg.norm(errors[:, :3], axis=1),
            np.linalg.norm(errors[:, 3:], axis=1),
            np.array([distance for _, distance in rows]),
        )
