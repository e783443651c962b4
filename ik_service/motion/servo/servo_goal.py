"""Status of servoing, with the codes of MoveIt Servo."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
import math

import numpy as np

from ik_service.common.arguments import check_kind
from ik_service.kinematics.chain import KinematicChain
from ik_service.kinematics.pose_error import frame_error, frame_of
from ik_service.motion.goal import MotionGoal, REST, Step, Tick
from ik_service.motion.servo.commands import (
    JointCommand,
    PoseCommand,
    ServoCommand,
    ServoSettings,
    TwistCommand,
)
from ik_service.motion.servo.servo_kernels import APPROACHING, HALTED, LEAVING
from ik_service.motion.servo.velocity_solver import VelocitySolver
from ik_service.motion.settings import FollowerState


class ServoCode(IntEnum):
    """Codes of ``moveit_msgs/msg/ServoStatus``."""

    INVALID = -1
    NO_WARNING = 0
    DECELERATE_FOR_APPROACHING_SINGULARITY = 1
    HALT_FOR_SINGULARITY = 2
    DECELERATE_FOR_LEAVING_SINGULARITY = 3
    DECELERATE_FOR_COLLISION = 4
    HALT_FOR_COLLISION = 5
    JOINT_BOUND = 6


@dataclass(frozen=True)
class ServoStatus:
    """
    Reason for which the arm does not follow a command in full.

    :ivar message: a sentence.
    """

    code: ServoCode = ServoCode.NO_WARNING
    message: str = 'no warnings'


NO_WARNING = ServoStatus()

NEAR_SINGULARITY = ServoStatus(
    ServoCode.DECELERATE_FOR_APPROACHING_SINGULARITY,
    'close to a singularity: motion towards it slows down',
)
AT_SINGULARITY = ServoStatus(
    ServoCode.HALT_FOR_SINGULARITY, 'at a singularity: the component towards it is removed'
)
LEAVING_SINGULARITY = ServoStatus(
    ServoCode.DECELERATE_FOR_LEAVING_SINGULARITY,
    'leaving a singularity, as fast as the joints can',
)


_APPROACH = 5.0  # speed towards a pose, in its distance a second [1/s]
_ARRIVED = 1e-6  # distance from a pose that counts as none [m, rad]


class ServoGoal(MotionGoal):
    """
    Commands of somebody who drives the arm by hand.

    :meth:`command` may be called from any thread at any time; everything else as the follower
    does it.

    :param settings: margins and thresholds; the scales have gone into the commands.
    :ivar status: the reason for which the arm does not follow the last command in full.
    :ivar condition: condition number of the Jacobian when a twist was last followed.
    :ivar end: the reason for its end; None while it is followed.
    :raises OptionError: there are neither one nor n margins.
    :raises ArgumentError: chain or settings are of another type.
    """

    kind = 'servo'

    def __init__(self, chain: KinematicChain, settings: ServoSettings) -> None:
        check_kind(chain, KinematicChain, 'chain')
        check_kind(settings, ServoSettings, 'settings')
        self.status = NO_WARNING
        self.end: str | None = None
        self._chain = chain
        self._solver = VelocitySolver(chain, settings)
        self._order: tuple[ServoCommand, float] | None = None
        self._tried: tuple[ServoCommand, float] | None = None
        self._moving = False
        self._error = np.zeros(6)

    @property
    def condition(self) -> float:
        """Condition number of the Jacobian when a twist was last followed."""
        return self._solver.condition

    def command(self, command: ServoCommand | None, until: float = np.inf) -> None:
        """Follow a command, None to come to rest, until some time on the monotonic clock [s]."""
        self._order = None if command is None else (command, until)

    def step(self, tick: Tick) -> Step:
        """Return the joint velocities of this tick."""
        order, obstacle = self._order, self.obstacle
        if order is not self._tried:  # it may lead away from the obstacle of the last one
            self._tried, self.obstacle = order, ''
        if order is None or tick.now > order[1]:
            return self._rest()
        velocity = self._velocity(order[0], tick)
        if velocity is None:
            return self._rest()
        resting = not tick.velocity.any()
        self._moving = not resting or bool(velocity.any())
        self.status = self._status(obstacle, resting)
        return Step(velocity=velocity) if self._moving else REST

    def state(self, commanded: np.ndarray | None, resting: bool) -> FollowerState:
        """Return that the arm is driven by hand."""
        return FollowerState.SERVO

    @property
    def busy(self) -> bool:
        """Whether a command moves the arm, or is going to."""
        return self._moving or self._order is not self._tried

    def ended(self, reason: str) -> None:
        """Record the reason for its end."""
        self.end = reason

    def _rest(self) -> Step:
        self._moving, self.status = False, NO_WARNING
        return REST

    def _velocity(self, command: ServoCommand, tick: Tick) -> np.ndarray | None:
        """Return the joint velocities (n,) for a command; None for rest."""
        if command.is_zero:
            return None
        if isinstance(command, JointCommand):
            return self._solver.for_joints(command.velocity, tick.q, tick.limits, tick.dt)
        twist = self._twist(command, tick.q)
        if twist is None:
            return None
        return self._solver.for_twist(twist, tick.q, tick.limits, tick.dt, tick.leading[1])

    def _twist(self, command: TwistCommand | PoseCommand, q: np.ndarray) -> np.ndarray | None:
        """Return the twist (6,) in the base frame; None at the pose to go to."""
        if isinstance(command, PoseCommand):
            return self._twist_towards(command, q)
        twist = command.twist
        if command.turns:
            R = self._chain.forward(q)[:3, :3]
            twist = np.concatenate([R @ twist[:3], R @ twist[3:]])
        return twist

    def _twist_towards(self, command: PoseCommand, q: np.ndarray) -> np.ndarray | None:
        """Return the twist (6,) that leads straight to a pose; None at the pose."""
        frame_error(frame_of(self._chain.forward(q)), command.frame, self._error)
        linear = math.hypot(*self._error[:3])
        angular = math.hypot(*self._error[3:])
        if max(linear, angular) < _ARRIVED:
            return None
        rates = [_APPROACH]
        rates += [command.linear / linear] if linear else []
        rates += [command.rotational / angular] if angular else []
        return self._error * min(rates)

    def _status(self, obstacle: str, resting: bool) -> ServoStatus:
        solver = self._solver
        if obstacle:
            moving = ServoCode.DECELERATE_FOR_COLLISION
            return ServoStatus(ServoCode.HALT_FOR_COLLISION if resting else moving, obstacle)
        if solver.slowed_by >= 0:
            name = self._chain.joint_names[solver.slowed_by]
            return ServoStatus(ServoCode.JOINT_BOUND, f'{name} is close to its limit')
        for flag, found in _SINGULARITIES:
            if solver.flags & flag:
                return found
        return NO_WARNING


_SINGULARITIES = (
    (HALTED, AT_SINGULARITY),
    (APPROACHING, NEAR_SINGULARITY),
    (LEAVING, LEAVING_SINGULARITY),
)

ServoAim = ServoGoal  # former name, which programs of users import
