"""Engine with mass, gravity and limited efforts, by MuJoCo."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
import math
from typing import TYPE_CHECKING

import mujoco
import numpy as np

from ik_service.common.quoting import listed
from ik_service.exceptions import SimulationError
from ik_service.kinematics.joint_space import sampling_bounds, search_limits
from ik_service.model.geometry.inertias import (
    complete_inertias,
    CompletedInertias,
    DENSITY,
    NOMINAL_MASS,
)
from ik_service.model.joint import JointType
from ik_service.model.robot_model import RobotModel
from ik_service.sim.engine import DriveLimits, FirstOrderEngine

if TYPE_CHECKING:
    from mujoco import MjModel, MjSpec


FULL_EFFORT_TIME = 0.01  # lag at top speed from which on the full effort is used [s]
ROTOR_TIME = 0.01  # time that a rotor without a load needs to top speed at full effort [s]
FRICTION_SHARE = 0.01  # share of the effort that friction takes at top speed

_STARTING_TIME = 0.1  # to top speed, for drives of unknown strength [s]
_RESERVE = 2.0  # of drives of unknown strength, against gravity


@dataclass(frozen=True)
class ServoGains:
    """
    Servos and drives of m joints; (m,) each, per radian or metre.

    :ivar stiffness: kp [Nm/rad] or [N/m].
    :ivar damping: kd [Nm s/rad] or [N s/m].
    :ivar rotor: inertia of the rotor, seen at the joint [kg m²] or [kg].
    :ivar friction: viscous, of the gear [Nm s/rad] or [N s/m].
    :ivar effort: the most that the drive exerts [Nm] or [N].
    :ivar lead: distance from where the joint is at which the full effort is used [rad] or [m].
    """

    stiffness: np.ndarray
    damping: np.ndarray
    rotor: np.ndarray
    friction: np.ndarray
    effort: np.ndarray
    lead: np.ndarray

    @classmethod
    def derive(cls, effort: np.ndarray, speed: np.ndarray, inertia: np.ndarray) -> ServoGains:
        """
        Derive the gains, by the rules at the top of this module.

        :param effort: (m,) effort limits, above 0 and finite [Nm] or [N].
        :param speed: (m,) velocity limits, above 0 and finite [rad/s] or [m/s].
        :param inertia: (m,) the largest inertia of the links about the joints [kg m²] or [kg].
        """
        lead = speed * FULL_EFFORT_TIME
        stiffness = effort / lead
        rotor = effort * ROTOR_TIME / speed
        damping = 2.0 * np.sqrt(stiffness * (inertia + rotor))
        friction = FRICTION_SHARE * effort / speed
        return cls(stiffness, damping, rotor, friction, effort, lead)


def sufficient_effort(speed: np.ndarray, inertia: np.ndarray, gravity: np.ndarray) -> np.ndarray:
    """
    Return an effort for drives of which the URDF does not say how strong they are.

    :param speed: (m,) velocity limits [rad/s] or [m/s].
    :param inertia: (m,) the largest inertia about the joints [kg m²] or [kg].
    :param gravity: (m,) the largest effort that holds them against gravity [Nm] or [N].
    """
    return _RESERVE * gravity + inertia * speed / _STARTING_TIME


TIME_STEP = 0.001  # length of a step of the physics, and of the servos [s]

_FALLBACK_SPEED = 1.0  # of a joint without a velocity limit [rad/s]
_FALLBACK_LINEAR_SPEED = 0.1  # [m/s]
_POSTURES = 64  # in which the loads of the drives are evaluated
_STIFF = [2.0 * TIME_STEP, 1.0]  # time constant and damping ratio of gears and brakes
_FIRM = [0.99, 0.999, 0.001, 0.5, 2.0]  # their impedance, see MuJoCo's solimp


@dataclass(frozen=True)
class MujocoArm:
    """
    Compiled model of a robot with m independent joints and k movable ones.

    :ivar model: the model: actuator i is the velocity servo of independent joint i, and equality
        constraint ``first_brake`` + i holds it.
    :ivar limits: limits of the drives, with all speeds and efforts finite.
    :ivar gains: their servos.
    :ivar places: (m,) index of each independent joint among the model's degrees of freedom.
    :ivar spread: (k, m) and
    :ivar offset: (k,): all degrees of freedom are ``spread`` times the independent ones plus
        ``offset``; this is where mimic joints are.
    :ivar remarks: assumptions made, a sentence each.
    """

    model: MjModel
    limits: DriveLimits
    gains: ServoGains
    places: np.ndarray
    spread: np.ndarray
    offset: np.ndarray
    remarks: tuple[str, ...]

    @property
    def first_brake(self) -> int:
        """Index of the first brake among the equality constraints of the model."""
        return self.model.neq - len(self.limits.names)


def build(robot: RobotModel, gravity_compensation: float) -> MujocoArm:
    """
    Build the model of a robot.

    :param gravity_compensation: share of the weight that the drives compensate, 0 to 1.
    :raises SimulationError: MuJoCo refuses the description, or the robot has a planar or
        floating joint.
    :raises UrdfError: a mass or a size in the description is not a number.
    """
    completed = complete_inertias(robot)
    limits = DriveLimits.of(robot)
    with collected_warnings() as warnings:
        spec = _read(completed.text)
        names = [joint.name for joint in spec.joints]
        _check_joints(robot, names)
        _set_options(spec, gravity_compensation)
        _set_ranges(spec, robot)
        spread, offset = _coupling(robot, names, limits.names)
        bare = _compile(spec)
        inertia, gravity = _loads(bare, limits, spread, offset)
        limits, remarks = _completed(robot, limits, inertia, gravity)
        gains = ServoGains.derive(limits.effort, limits.velocity, inertia)
        _add_drives(spec, limits.names, gains)
        model = _compile(spec)
    places = np.array([names.index(name) for name in limits.names], dtype=np.intp)
    said = (*_inertia_remarks(completed), *remarks, *dict.fromkeys(warnings))
    return MujocoArm(model, limits, gains, places, spread, offset, said)


@contextmanager
def collected_warnings() -> Iterator[list[str]]:
    """Collect MuJoCo's warnings, which would otherwise go to a file in the working folder."""
    warnings: list[str] = []
    before = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(lambda text: warnings.append(f'MuJoCo: {text}'))
    try:
        yield warnings
    finally:
        mujoco.set_mju_user_warning(before)


def _read(text: str) -> MjSpec:
    try:
        return mujoco.MjSpec.from_string(text)
    except ValueError as error:
        raise _refusal(error) from error


def _compile(spec: MjSpec) -> MjModel:
    try:
        return spec.compile()
    except ValueError as error:
        raise _refusal(error) from error


def _refusal(error: ValueError) -> SimulationError:
    reason = '; '.join(line for line in map(str.strip, str(error).splitlines()) if line)
    return SimulationError(f'MuJoCo refuses the robot description: {reason}')


def _check_joints(robot: RobotModel, names: Iterable[str]) -> None:
    """Refuse joints that MuJoCo does not read as of one degree of freedom each."""
    missing = sorted(set(robot.movable_joint_names) ^ set(names))
    if missing:
        raise SimulationError(
            'the engine mujoco cannot simulate planar and floating joints; take first_order for '
            f'a robot with {listed(missing)}'
        )


def _set_options(spec: MjSpec, gravity_compensation: float) -> None:
    disabled = mujoco.mjtDisableBit
    spec.option.timestep = TIME_STEP
    # It takes the servos' damping into account implicitly, which keeps light joints stable.
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    # There is nothing to touch: the shapes, which may overlap, are there for their mass only.
    spec.option.disableflags = disabled.mjDSBL_CONTACT | disabled.mjDSBL_AUTORESET
    for geom in spec.geoms:
        geom.density = DENSITY
    for body in spec.bodies:
        body.gravcomp = gravity_compensation


def _set_ranges(spec: MjSpec, robot: RobotModel) -> None:
    for joint in spec.joints:
        description = robot.joints[joint.name]
        limit = description.limits
        # The motion of a mimic joint is set by the joint that it follows.
        free = description.mimic or np.isinf(search_limits(limit.lower, limit.upper)).any()
        limited = not free and limit.lower < limit.upper
        joint.limited = mujoco.mjtLimited(int(limited))
        joint.range = [limit.lower, limit.upper] if limited else [0.0, 0.0]
        joint.actfrclimited = mujoco.mjtLimited.mjLIMITED_FALSE
    for equality in spec.equalities:
        equality.solref, equality.solimp = _STIFF, _FIRM


def _coupling(
    robot: RobotModel, names: list[str], independent: tuple[str, ...]
) -> tuple[np.ndarray, np.ndarray]:
    """Return how all degrees of freedom follow from the independent ones."""
    spread, offset = np.zeros((len(names), len(independent))), np.zeros(len(names))
    for row, name in enumerate(names):
        source, multiplier, offset[row] = robot.resolve_mimic(name)
        spread[row, independent.index(source)] = multiplier
    return spread, offset


def _loads(
    model: MjModel, limits: DriveLimits, spread: np.ndarray, offset: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the largest loads in many fixed postures: (m,) inertia, (m,) gravity's effort."""
    data = mujoco.MjData(model)
    lower, upper = sampling_bounds(limits.lower, limits.upper)
    inertia, gravity = np.zeros(len(lower)), np.zeros(len(lower))
    column = np.zeros(model.nv)
    postures = np.random.default_rng(0).uniform(lower, upper, (_POSTURES, len(lower)))
    for q in postures:
        data.qpos[:] = spread @ q + offset
        mujoco.mj_forward(model, data)
        for joint, way in enumerate(spread.T):
            mujoco.mj_mulM(model, data, column, np.ascontiguousarray(way))
            inertia[joint] = max(inertia[joint], way @ column)
        gravity = np.maximum(gravity, np.abs(spread.T @ data.qfrc_bias))
    return inertia, gravity


def _completed(
    robot: RobotModel, limits: DriveLimits, inertia: np.ndarray, gravity: np.ndarray
) -> tuple[DriveLimits, list[str]]:
    """Fill in speeds and efforts that the URDF does not give; say so, and name those too weak."""
    kinds = [robot.joints[name].type for name in limits.names]
    fallback = np.where(
        [kind is JointType.PRISMATIC for kind in kinds], _FALLBACK_LINEAR_SPEED, _FALLBACK_SPEED
    )
    known = np.isfinite(limits.velocity) & (limits.velocity > 0.0)
    speed = np.where(known, limits.velocity, fallback)
    unknown = ~np.isfinite(limits.effort) | (limits.effort <= 0.0)
    effort = np.where(unknown, sufficient_effort(speed, inertia, gravity), limits.effort)
    remarks = []
    if unknown.any():
        remarks.append(
            f'no effort limit, so strong enough to hold themselves: {_chosen(limits, unknown)}'
        )
    weak = effort < gravity
    if weak.any():
        remarks.append(
            'the effort limit is too low to hold the arm in every posture, it may sink: '
            + _chosen(limits, weak)
        )
    completed = DriveLimits(limits.names, limits.lower, limits.upper, speed, effort)
    return completed, remarks


def _chosen(limits: DriveLimits, mask: np.ndarray) -> str:
    return listed(name for name, chosen in zip(limits.names, mask, strict=True) if chosen)


def _add_drives(spec: MjSpec, names: Iterable[str], gains: ServoGains) -> None:
    joints = {joint.name: joint for joint in spec.joints}
    for i, name in enumerate(names):
        joint = joints[name]
        joint.armature = gains.rotor[i]
        joint.damping = [max(joint.damping[0], gains.friction[i]), 0.0, 0.0]
        joint.actgravcomp = True
        joint.actfrclimited = mujoco.mjtLimited.mjLIMITED_TRUE
        joint.actfrcrange = [-gains.effort[i], gains.effort[i]]
        servo = spec.add_actuator(target=name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
        servo.gaintype, servo.biastype = mujoco.mjtGain.mjGAIN_FIXED, mujoco.mjtBias.mjBIAS_AFFINE
        servo.gainprm[0], servo.biasprm[2] = gains.damping[i], -gains.damping[i]
    for name in names:
        brake = spec.add_equality(
            name1=name, type=mujoco.mjtEq.mjEQ_JOINT, objtype=mujoco.mjtObj.mjOBJ_JOINT
        )
        brake.active = False
        brake.solref, brake.solimp = _STIFF, _FIRM


def _inertia_remarks(completed: CompletedInertias) -> Iterator[str]:
    for links, what in (
        (completed.shaped, f'no inertia, so that of their shapes at {DENSITY:g} kg/m³'),
        (completed.corrected, 'an inertia that no body can have, made the same in all directions'),
        (completed.nominal, f'neither inertia nor shape, so {NOMINAL_MASS:g} kg'),
    ):
        if links:
            yield f'{what}: {listed(links)}'


SMOOTHING = 0.005  # time constant of the accelerations that are fed forward [s]

_SMOOTHING_SHARE = -math.expm1(-TIME_STEP / SMOOTHING)


class MujocoEngine:
    """
    Joints with mass, see :class:`~ik_service.sim.engine.Engine`.

    The set-points of the drives move as the joints of a
    :class:`~ik_service.sim.engine.FirstOrderEngine` would, with the same time
    constant. A position-velocity servo, with gains from :mod:`ik_service.sim.mujoco_engine`, makes
    each joint follow its set-point:

        speed  = q̇_set + kp/kd (q_set − q), within the velocity limit
        effort = kd (speed − q̇) + M(q) q̈_set + share · gravity(q), within the effort limit

    The last two terms are the feed-forward of controllers of real arms. The inertia M q̈_set is
    that of the links and rotors; q̈_set is smoothed over :data:`SMOOTHING`, as the speeds of
    set-points change in leaps from command to command. Both are exact here, as no model of a
    real arm is. With a share below 1 the arm sags by (1 − share) · gravity / kp. Coriolis forces
    and friction are not compensated. Nothing touches anything.

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
        """Put the joints at rest at a position."""
        data, arm = self._data, self._arm
        mujoco.mj_resetData(arm.model, data)
        data.qpos[:] = arm.spread @ position + arm.offset
        self._remainder = 0.0
        self._set_points.reset(position)
        self._smoothed = np.zeros(len(position))  # velocities of the set-points
        self.block(self._blocked)
        mujoco.mj_forward(arm.model, data)

    def block(self, blocked: np.ndarray) -> None:
        """Put on the brakes of some joints, and release the others."""
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
