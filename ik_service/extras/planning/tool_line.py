"""Motions on which the tip moves along a straight line."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ik_service.extras.planning.goal_postures import Goal, LinkGoal
from ik_service.extras.planning.motion_check import MotionCheck
from ik_service.extras.planning.rounding import Timing
from ik_service.kinematics.chain import KinematicChain
from ik_service.paths.cartesian_path import cartesian_path, CartesianSettings
from ik_service.paths.jumps import JumpThresholds
from ik_service.paths.search.options import PathOptions
from ik_service.paths.trajectory.joint_trajectory import JointTrajectory
from ik_service.solvers.collision_test import Bodies
from ik_service.solvers.task import Task

_STEP = 0.01  # from row to row [m]
_SAME_POSTURE = 1e-3  # difference from a goal's joints that is none [rad] or [m]


@dataclass(frozen=True)
class ToolLine:
    """
    Straight line of the tip.

    :ivar trajectory: the timed motion; None where there is none to the end.
    :ivar rows: (k, n) the rows that were found [rad] or [m].
    :ivar reason: why it does not reach the end, in words.
    :ivar bodies: two bodies that are in the way.
    """

    trajectory: JointTrajectory | None
    rows: np.ndarray
    reason: str = ''
    bodies: Bodies | None = None


def tool_line(
    chain: KinematicChain,
    start: np.ndarray,
    goal: Goal,
    check: MotionCheck,
    timing: Timing,
    timeout: float,
) -> ToolLine:
    """
    Return the motion on which the tip moves straight to a goal.

    :param chain: the chain.
    :param start: (n,) the start [rad] or [m].
    :param goal: the goal; of a joint vector the pose, and at the end its joints.
    :param check: check of motions.
    :param timing: limits with which it is timed.
    :param timeout: time for the search [s].
    """
    posture = goal if isinstance(goal, np.ndarray) and goal.shape == (chain.n,) else None
    target = chain.forward(posture) if posture is not None else _pose_of(chain, goal)
    if target is None:
        return ToolLine(None, start[None], 'the straight line of the tip needs a pose as its goal')
    settings = CartesianSettings(
        _STEP,
        JumpThresholds(),
        PathOptions(timeout=max(timeout, 1e-3)),
        np.eye(4),
        timing.limits.velocity,
    )
    path = cartesian_path(chain, start, target[None], settings, check.test)
    if path.progress < 1.0:
        where = f'it ends after {path.fraction:.1%} of the straight line of the tip'
        return ToolLine(None, path.q, f'{where}: {path.reason}', path.bodies)
    away = 0.0 if posture is None else float(np.abs(path.q[-1] - posture).max())
    if away > _SAME_POSTURE:
        reason = f'the straight line of the tip ends {away:.3g} away from the goal, in its joints'
        return ToolLine(None, path.q, reason)
    trajectory = timing.timed(chain, path.q, path.poses)
    if check.first_fault(trajectory) is not None:
        return ToolLine(None, path.q, 'the straight line of the tip is not free')
    return ToolLine(trajectory, path.q)


def _pose_of(chain: KinematicChain, goal: Goal) -> np.ndarray | None:
    """Return the pose (4, 4) of the tip that a goal asks for; None where it is no pose."""
    if isinstance(goal, LinkGoal):
        first = goal.targets[0]
        if isinstance(first, Task) or goal.chain.joint_names != chain.joint_names:
            return None
        q = chain.mid_range()
        return first @ np.linalg.inv(goal.chain.forward(q)) @ chain.forward(q)
    return goal.target if isinstance(goal, Task) else goal
