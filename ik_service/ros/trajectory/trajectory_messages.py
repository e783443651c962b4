"""Trajectories and tolerances from messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
import math

from control_msgs.action import FollowJointTrajectory
from control_msgs.msg import JointTolerance
import numpy as np
from trajectory_msgs.msg import JointTrajectory as JointTrajectoryMessage
from trajectory_msgs.msg import JointTrajectoryPoint

from ik_service.common.quoting import quote
from ik_service.exceptions import TrajectoryError
from ik_service.model.part_names import listed
from ik_service.ros.trajectory.goal_outcome import GoalEnd, GoalRefusedError
from ik_service.trajectory.joint_trajectory import JointTrajectory


def trajectory_from(message: JointTrajectoryMessage) -> JointTrajectory:
    """
    Return the trajectory of a message.

    :param message: the message; its stamp is not looked at.
    :raises TrajectoryError: it is none, or gives efforts; names the point and the joint.
    """
    points, names = message.points, message.joint_names
    if not points:
        raise TrajectoryError('has no points')
    if any(point.effort for point in points):
        i = next(i for i, point in enumerate(points) if point.effort)
        raise TrajectoryError('gives efforts, which nothing here can command', i)
    times = [p.time_from_start.sec + 1e-9 * p.time_from_start.nanosec for p in points]
    positions = _column(points, 'positions', names, times)
    velocities = _column(points, 'velocities', names, times)
    accelerations = _column(points, 'accelerations', names, times)
    if positions is None:
        raise TrajectoryError('has no positions', 0)
    return JointTrajectory(tuple(names), np.array(times), positions, velocities, accelerations)


def _column(
    points: Sequence[JointTrajectoryPoint], field: str, names: Sequence[str], times: list[float]
) -> np.ndarray | None:
    """Return a field of all points (k, n); None where all are empty."""
    rows = [getattr(point, field) for point in points]
    lengths = np.fromiter(map(len, rows), dtype=int, count=len(rows))
    if not lengths.any():
        return None
    wrong = np.flatnonzero(lengths != len(names))
    if len(wrong):
        i = int(wrong[0])
        hint = '' if lengths[i] else '; either all points give them, or none'
        raise TrajectoryError(
            f'has {lengths[i]} {field} for {len(names)} joints, at {times[i]:.4g} s{hint}', i
        )
    return np.array(rows, dtype=np.float64).reshape(len(rows), len(names))


@dataclass(frozen=True)
class RequestedTolerances:
    """
    Tolerances that a goal asks for, by name of the joint: inf for any distance.

    :ivar path: on the way [rad] or [m].
    :ivar goal: at the end [rad] or [m].
    :ivar goal_time: time to arrive after the end [s]; 0 for the default.
    """

    path: Mapping[str, float]
    goal: Mapping[str, float]
    goal_time: float = 0.0


def tolerances_from(
    tolerances: Sequence[JointTolerance], field: str, joint_names: Sequence[str]
) -> Mapping[str, float]:
    """
    Return the tolerances of positions: by control_msgs, 0 is the default, and −1 any distance.

    :param tolerances: what the goal asks for.
    :param field: the goal's field, for messages.
    :param joint_names: the joints of the trajectory.
    :returns: those that are given, by name of the joint; inf for any distance.
    :raises GoalRefusedError: for another joint, illegal, or for what is not measured.
    """
    found: dict[str, float] = {}
    named: set[str] = set()
    for tolerance in tolerances:
        name, what = tolerance.name, f'{field} of joint {quote(tolerance.name)}'
        if name not in joint_names:
            raise GoalRefusedError(
                GoalEnd.INVALID,
                f'{what}: the trajectory has no such joint, but {listed(joint_names)}',
            )
        if name in named:
            raise GoalRefusedError(GoalEnd.INVALID, f'{what}: named twice')
        named.add(name)
        if tolerance.velocity > 0.0 or tolerance.acceleration > 0.0:
            raise GoalRefusedError(
                GoalEnd.INVALID,
                f'{what}: only positions are compared; velocity and acceleration have to be 0 '
                'or -1',
            )
        value = tolerance.position
        if not math.isfinite(value) or (value < 0.0 and value != -1.0):
            raise GoalRefusedError(
                GoalEnd.INVALID,
                f'{what}: {value}; above 0, 0 (the default) or -1 (any distance) is right',
            )
        if value:
            found[name] = math.inf if value == -1.0 else value
    return found


@dataclass(frozen=True)
class TrajectoryRequest:
    """
    Trajectory that a goal of an action asks for.

    :ivar goal: the goal, as a controller takes it.
    :ivar trajectory: what it says.
    :ivar tolerances: how far the arm may be away from it.
    """

    goal: FollowJointTrajectory.Goal
    trajectory: JointTrajectory
    tolerances: RequestedTolerances = RequestedTolerances({}, {})

    @property
    def stamp(self) -> int:
        """When it shall begin, in the node's time [ns]; 0 for now."""
        stamp = self.goal.trajectory.header.stamp
        return stamp.sec * 1_000_000_000 + stamp.nanosec
