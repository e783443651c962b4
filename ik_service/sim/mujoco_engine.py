"""Engine with mass, gravity and limited efforts, by MuJoCo."""

from __future__ import annotations

import math

import mujoco
import numpy as np

from ik_service.exceptions import SimulationError
from ik_service.model.robot_model import RobotModel
from ik_service.sim.first_order_engine import FirstOrderEngine
from ik_service.sim.mujoco_model import build, collected_warnings, TIME_STEP

SMOOTHING = 0.005
"""Time constant of the accelerations that are fed forward [s]."""

_SMOOTHING_SHARE = -math.expm1(-TIME_STEP / SMOOTHING)


class MujocoEngine:
    """
    Joints with mass, see :class:`~ik_service.sim.engine.Engine`.

    The set-points of the drives move as the joints of a
    :class:`~ik_service.sim.first_order_engine.FirstOrderEngine` would, with the same time
    constant. A position-velocity servo, with gains from :mod:`ik_service.sim.mujoco_model`, makes
    each joint follow its set-point:

        speed  = q̇_set + kp/kd (q_set − q), within the velocity limit
        effort = kd (speed − q̇) + M(q) q̈_set + share · gravity(q), within the effort limit

    The last two terms are what controllers of real arms feed forward. The inertia M q̈_set is
    that of the links and rotors; q̈_set is smoothed over :data:`SMOOTHING`, as the speeds of
    set-points change in leaps from command to command. Both are exact here, as no model of a
    real arm is. With a share below 1 the arm sags by (1 − share) · gravity / kp. Coriolis forces
    and friction are not compensated. Nothing touches anything.

    :param robot: the robot.
    :param position: (m,) where the joints start [rad] or [m].
    :param time_constant: time constant of the set-points [s].
    :param gravity_compensation: the share, 0 to 1.
    :raises SimulationError: MuJoCo refuses the description, or the robot has a planar or
        floating joint.
    :raises UrdfError: a mass or a size in the description is not a number.
    :raises ArgumentError: the time constant is negative or not finite.
    """

    def __init__(
        self,
        robot: RobotModel,
        position: np.ndarray,
        time_constant: float,
        gravity_compensation: float = 1.0,
    ) -> None:
        self._arm = build(robot, gravity_compensation)
        self._data = mujoco.MjData(self._arm.model)
        self._pull = self._arm.gains.stiffness / self._arm.gains.damping
        self._set_points = FirstOrderEngine(position, self._arm.limits, time_constant)
        self._blocked = np.zeros(len(position), dtype=bool)
        self.remarks = self._arm.remarks
        self.reset(position)

    @property
    def position(self) -> np.ndarray:
        """Positions of the joints (m,) [rad] or [m]."""
        return self._data.qpos[self._arm.places]

    @property
    def velocity(self) -> np.ndarray:
        """Velocities of the joints (m,) [rad/s] or [m/s]."""
        return self._data.qvel[self._arm.places]

    @property
    def effort(self) -> np.ndarray:
        """Efforts of the drives, gravity compensation included (m,) [Nm] or [N]."""
        return self._data.qfrc_actuator[self._arm.places]

    def reset(self, position: np.ndarray) -> None:
        """
        Put the joints at rest at a position.

        :param position: (m,) [rad] or [m].
        """
        data, arm = self._data, self._arm
        mujoco.mj_resetData(arm.model, data)
        data.qpos[:] = arm.spread @ position + arm.offset
        self._remainder = 0.0
        self._set_points.reset(position)
        self._smoothed = np.zeros(len(position))  # velocities of the set-points
        self.block(self._blocked)
        mujoco.mj_forward(arm.model, data)

    def block(self, blocked: np.ndarray) -> None:
        """
        Put on the brakes of some joints, and release the others.

        :param blocked: (m,) mask of the joints whose brakes are put on.
        """
        self._blocked = np.array(blocked, dtype=bool)
        brakes = slice(self._arm.first_brake, None)
        put_on = self._blocked & (self._data.eq_active[brakes] == 0)
        self._arm.model.eq_data[brakes, 0][put_on] = self.position[put_on]
        self._data.eq_active[brakes] = self._blocked

    def step(self, target: np.ndarray, speed: np.ndarray, dt: float) -> None:
        """
        Advance the simulated time by whole steps of the physics; the rest is kept for the next.

        :param target: (m,) commanded positions, within the limits [rad] or [m].
        :param speed: (m,) how fast these move [rad/s] or [m/s]; 0 for a target that rests.
        :param dt: length of the step [s], above 0.
        :raises SimulationError: the simulation became unstable; the joints rest where they were.
        """
        self._remainder += dt
        before = self.position
        with collected_warnings() as warnings:
            while self._remainder >= TIME_STEP:
                self._remainder -= TIME_STEP
                self._step_once(target, speed)
        if warnings or not np.isfinite(self._data.qpos).all():
            self.reset(before)
            reason = f' ({warnings[0]})' if warnings else ''
            raise SimulationError(f'the simulation became unstable; the arm was stopped{reason}')

    def _step_once(self, target: np.ndarray, speed: np.ndarray) -> None:
        set_points, gains, limits = self._set_points, self._arm.gains, self._arm.limits
        set_points.step(target, speed, TIME_STEP)
        position = self.position
        # Further away nothing is gained, and a joint that was held back would be flung after it.
        ahead = np.clip(set_points.position - position, -gains.lead, gains.lead)
        set_points.position = position + ahead
        wanted = set_points.velocity + self._pull * ahead
        speed = np.clip(wanted, -limits.velocity, limits.velocity)
        self._data.ctrl[:] = speed + self._inertial_effort() / gains.damping
        mujoco.mj_step(self._arm.model, self._data)

    def _inertial_effort(self) -> np.ndarray:
        """Return the efforts (m,) that give the joints the accelerations of their set-points."""
        arm, change = self._arm, self._set_points.velocity - self._smoothed
        self._smoothed = self._smoothed + change * _SMOOTHING_SHARE
        effort = np.zeros(arm.model.nv)
        mujoco.mj_mulM(arm.model, self._data, effort, arm.spread @ (change / SMOOTHING))
        return arm.spread.T @ effort
