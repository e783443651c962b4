"""Goals of trajectory actions: the trajectories that they ask for, and the codes of their ends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
import math

from control_msgs.action import FollowJointTrajectory
from control_msgs.msg import JointTolerance
import numpy as np
from trajectory_msgs.msg import JointTrajectory as JointTrajectoryMessage
from trajectory_msgs.msg import JointTrajectoryPoint

from ik_service.common.quoting import listed, quote
from ik_service.exceptions import IkServiceError, TrajectoryError
from ik_service.motion.playback import TrajectoryEnd, TrajectoryOutcome
from ik_service.paths.trajectory.joint_trajectory import JointTrajectory
from ik_service.ros.common.errors import ErrorCode

_RESULT = FollowJointTrajectory.Result
_CODES = {
    TrajectoryEnd.REACHED: (_RESULT.SUCCESSFUL, ErrorCode.SUCCESS),
    TrajectoryEnd.CANCELED: (_RESULT.SUCCESSFUL, ErrorCode.PREEMPTED),
    TrajectoryEnd.INVALID: (_RESULT.INVALID_GOAL, ErrorCode.INVALID_MOTION_PLAN),
    TrajectoryEnd.INVALID_JOINTS: (_RESULT.INVALID_JOINTS, ErrorCode.INVALID_MOTION_PLAN),
    TrajectoryEnd.OLD_STAMP: (_RESULT.OLD_HEADER_TIMESTAMP, ErrorCode.INVALID_MOTION_PLAN),
    TrajectoryEnd.OFF_PATH: (_RESULT.PATH_TOLERANCE_VIOLATED, ErrorCode.CONTROL_FAILED),
    TrajectoryEnd.OFF_GOAL: (_RESULT.GOAL_TOLERANCE_VIOLATED, ErrorCode.CONTROL_FAILED),
    TrajectoryEnd.REFUSED: (_RESULT.INVALID_GOAL, ErrorCode.CONTROL_FAILED),
    TrajectoryEnd.STOPPED: (_RESULT.INVALID_GOAL, ErrorCode.CONTROL_FAILED),
    TrajectoryEnd.PREEMPTED: (_RESULT.INVALID_GOAL, ErrorCode.PREEMPTED),
}
CONTROL_CODES = {end: code for end, (code, _) in _CODES.items()}
"""
Codes of control_msgs/FollowJointTrajectory, which has none for a stop or a refusal: it is the one
with which joint_trajectory_controller aborts a goal that another one has replaced.
"""

_ENDS = {code: end for end, code in reversed(CONTROL_CODES.items())}  # the first of each code

MOVEIT_CODES = {end: code for end, (_, code) in _CODES.items()}
"""Codes of moveit_msgs/MoveItErrorCodes."""


def outcome_of(code: int, text: str) -> TrajectoryOutcome:
    """Return the outcome of a goal from the result of a controller."""
    end = _ENDS.get(code, TrajectoryEnd.STOPPED)
    return TrajectoryOutcome(end, text or f'{end.value} (error code {code})')


CANCELED_EARLY = TrajectoryOutcome(TrajectoryEnd.CANCELED, 'it was canceled before it began')
"""Outcome of a goal that was canceled before anything moved."""


def preempted(reason: str) -> TrajectoryOutcome:
    """Return the outcome of a goal that a stop of all motion has ended."""
    return TrajectoryOutcome(TrajectoryEnd.PREEMPTED, reason)


class GoalRefusedError(IkServiceError):
    """Goal that is refused before anything moves, with its outcome."""

    def __init__(self, end: TrajectoryEnd, text: str) -> None:
        super().__init__(text)
        self.outcome = TrajectoryOutcome(end, text)


def trajectory_from(message: JointTrajectoryMessage) -> JointTrajectory:
    """
    Return the trajectory of a message.

    :param message: the message; its stamp is ignored.
    :raises TrajectoryError: it is none, or gives efforts but 0; names the point and the joint.
    """
    points, names = message.points, message.joint_names
    if not points:
        raise TrajectoryError('has no points')
    for i, point in enumerate(points):
        if any(point.effort):
            raise TrajectoryError('contains efforts, which cannot be commanded', i)
    times = [p.time_from_start.sec + 1e-9 * p.time_from_start.nanosec for p in points]
    positions, given = _column(points, 'positions', names, times)
    if not given.all():
        raise TrajectoryError('has no positions', int(np.flatnonzero(~given)[0]))
    velocities, given = _column(points, 'velocities', names, times)
    accelerations, accelerated = _column(points, 'accelerations', names, times)
    if not given.any():
        none = accelerations if accelerated.any() else None
        return JointTrajectory(tuple(names), np.array(times), positions, None, none)
    steps = np.diff(times)
    if not given.all() and (steps > 0.0).all():  # others are refused below
        velocities = np.where(given[:, None], velocities, smooth_slopes(steps, positions))
    whole = accelerations if accelerated.all() else None
    return JointTrajectory(tuple(names), np.array(times), positions, velocities, whole)


def _column(
    points: Sequence[JointTrajectoryPoint], field: str, names: Sequence[str], times: list[float]
) -> tuple[np.ndarray, np.ndarray]:
    """Return a field of all points (k, n), 0 where it is empty, and where it is given (k,)."""
    rows = [getattr(point, field) for point in points]
    lengths = np.fromiter(map(len, rows), dtype=int, count=len(rows))
    wrong = np.flatnonzero((lengths != len(names)) & (lengths > 0))
    if len(wrong):
        i = int(wrong[0])
        raise TrajectoryError(
            f'has {lengths[i]} {field} for {len(names)} joints, at {times[i]:.4g} s', i
        )
    given = lengths > 0
    if given.all():
        return np.array(rows, dtype=np.float64).reshape(len(rows), len(names)), given
    column = np.zeros((len(rows), len(names)))
    for row in np.flatnonzero(given):
        column[row] = rows[row]
    return column, given


def smooth_slopes(steps: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """
    Return velocities (k, n) of a smooth motion from rest to rest that nowhere overshoots.

    They are the weighted harmonic means of the slopes on both sides, and 0 at a turning point
    (F. N. Fritsch and J. Butland, A method for constructing local monotone piecewise cubic
    interpolants, SIAM Journal on Scientific and Statistical Computing 5 (1984), eq. 5).

    :param steps: (k−1,) times between the points [s], above 0.
    :param positions: (k, n) positions [rad] or [m].
    """
    velocities = np.zeros_like(positions)
    if len(positions) < 3:
        return velocities
    slopes = np.diff(positions, axis=0) / steps[:, None]
    before, after = slopes[:-1], slopes[1:]
    share = ((steps[:-1] + 2.0 * steps[1:]) / (3.0 * (steps[:-1] + steps[1:])))[:, None]
    same = before * after > 0.0
    sums = np.where(same, share * after + (1.0 - share) * before, 1.0)
    velocities[1:-1] = np.where(same, before * after / sums, 0.0)
    return velocities


@dataclass(frozen=True)
class RequestedTolerances:
    """
    Tolerances that a goal asks for, by name of the joint: inf for any distance.

    :ivar path: along the path [rad] or [m].
    :ivar goal: at the end [rad] or [m].
    :ivar goal_time: time to arrive after the end [s]; 0 for the default.
    :ivar path_velocity: difference of velocities along the path [rad/s] or [m/s].
    :ivar goal_velocity: velocity at the end [rad/s] or [m/s].
    """

    path: Mapping[str, float]
    goal: Mapping[str, float]
    goal_time: float = 0.0
    path_velocity: Mapping[str, float] = field(default_factory=dict)
    goal_velocity: Mapping[str, float] = field(default_factory=dict)


def tolerances_from(
    tolerances: Sequence[JointTolerance], part: str, joint_names: Sequence[str]
) -> tuple[Mapping[str, float], Mapping[str, float]]:
    """
    Return tolerances: by control_msgs, 0 is the default, and −1 any distance.

    Those of accelerations are only checked, as nothing measures them.

    :returns: those of positions and those of velocities that are given, by name of the joint; inf
        for any distance.
    :raises GoalRefusedError: for another joint, named twice, or illegal.
    """
    positions: dict[str, float] = {}
    velocities: dict[str, float] = {}
    named: set[str] = set()
    for tolerance in tolerances:
        name, what = tolerance.name, f'{part} of joint {quote(tolerance.name)}'
        if name not in joint_names:
            raise GoalRefusedError(
                TrajectoryEnd.INVALID,
                f'{what}: the trajectory has no such joint, but {listed(joint_names)}',
            )
        if name in named:
            raise GoalRefusedError(TrajectoryEnd.INVALID, f'{what}: named twice')
        named.add(name)
        for quantity, found in (
            ('position', positions),
            ('velocity', velocities),
            ('acceleration', {}),
        ):
            value = getattr(tolerance, quantity)
            if not math.isfinite(value) or (value < 0.0 and value != -1.0):
                raise GoalRefusedError(
                    TrajectoryEnd.INVALID,
                    f'{what}: {quantity} {value}; above 0, 0 (the default) or -1 (any distance) '
                    'is right',
                )
            if value:
                found[name] = math.inf if value == -1.0 else value
    return positions, velocities


@dataclass(frozen=True)
class TrajectoryRequest:
    """
    Trajectory that a goal of an action asks for.

    :ivar goal: the goal, as a controller takes it.
    :ivar tolerances: how far the arm may be away from it.
    :ivar asked_at: when it was asked for, on the monotonic clock [s]; a later stop refuses it.
    """

    goal: FollowJointTrajectory.Goal
    trajectory: JointTrajectory
    tolerances: RequestedTolerances = RequestedTolerances({}, {})
    asked_at: float = math.inf

    @property
    def stamp(self) -> int:
        """When it shall begin, in the node's time [ns]; 0 for now."""
        stamp = self.goal.trajectory.header.stamp
        return stamp.sec * 1_000_000_000 + stamp.nanosec
