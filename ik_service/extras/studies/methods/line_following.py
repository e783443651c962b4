"""Straight lines through stretched poses, followed by single searches or whole solves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ik_service.extras.studies.arms import load_arm, manipulability
from ik_service.extras.studies.methods.single_search import SingleSearch
from ik_service.kinematics.chain import KinematicChain
from ik_service.kinematics.link_poses import link_poses
from ik_service.kinematics.pose_error import pose_error
from ik_service.solvers.options import IkOptions
from ik_service.solvers.registry import DEFAULT_SOLVER
from ik_service.solvers.solver import Solver

WHOLE_SOLVE = f'{DEFAULT_SOLVER}, whole solve'
SPACING = 1 / 300  # of the waypoints [m]

# From a posture and a target to the next posture.
Move = Callable[[np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Line:
    """
    A straight line through a stretched pose.

    :ivar arm: name of the arm.
    :ivar weights: the task weights.
    :ivar rows: rows of the Jacobian that the task has.
    :ivar seed: (n,) from where the first waypoint is solved.
    :ivar stretched: (n,) the stretched posture.
    :ivar links: the line runs away from the first link's origin, through the second's.
    :ivar start: distance of its ends from the stretched pose [m].
    :ivar beyond: how far it leads beyond that [m].
    """

    arm: str
    weights: tuple[float, ...]
    rows: slice
    seed: tuple[float, ...]
    stretched: tuple[float, ...]
    links: tuple[str, str]
    start: float
    beyond: float


LINES = (
    Line(
        arm='planar_6r',
        weights=(1.0, 1.0, 1.0, 0.0, 0.0, 0.0),
        rows=slice(0, 2),
        seed=(0.4, -0.5, -0.3, 0.9, -0.2, -0.6),
        stretched=(0.0,) * 6,
        links=('base_link', 'tool0'),
        start=0.2,
        beyond=0.0,
    ),
    # Its elbow is stretched where shoulder and wrist are farthest from each other, which is at
    # −(atan(82.5 / 316) + atan(82.5 / 384)) rather than at 0.
    Line(
        arm='panda',
        weights=(1.0,) * 6,
        rows=slice(0, 6),
        seed=(0.0, 0.3, 0.0, -1.2, 0.0, 1.6, 0.785),
        stretched=(0.0, 0.9, 0.0, -0.46697, 0.0, 1.8, 0.785),
        links=('panda_link2', 'panda_link6'),
        start=0.2,
        beyond=0.02,
    ),
)


@dataclass(frozen=True)
class LineRun:
    """
    Errors and motions of a method along a line of K waypoints.

    :ivar arm: name of the arm.
    :ivar method: name of the solver, or WHOLE_SOLVE.
    :ivar depth: (K,) distance of each waypoint from the stretched pose, negative beyond it [m].
    :ivar position_error: (K,) [m].
    :ivar orientation_error: (K,) [rad].
    :ivar joint_step: (K,) largest motion of a joint since the waypoint before [rad].
    :ivar manipulability: (K,) of the posture at each waypoint.
    """

    arm: str
    method: str
    depth: np.ndarray
    position_error: np.ndarray
    orientation_error: np.ndarray
    joint_step: np.ndarray
    manipulability: np.ndarray


def follow(line: Line, method: str, iterations: int) -> LineRun:
    """
    Follow a line with a method.

    :param line: the line.
    :param method: one of :func:`~ik_service.solver_names`, or WHOLE_SOLVE.
    :param iterations: of the method at each waypoint.
    """
    chain = load_arm(line.arm)
    depth, targets = waypoints(chain, line)
    if method == WHOLE_SOLVE:
        move = _whole_solve(chain, line)
    else:
        move = _own(chain, line, method, iterations)
    q = Solver(chain, options=_ignoring_limits(line)).solve(targets[0], line.seed).q
    rows = []
    for target in targets[1:]:
        before, q = q, move(target, q)
        error = np.sqrt(line.weights) * pose_error(chain.forward(q), target)
        distance, rotation = np.linalg.norm(error[:3]), np.linalg.norm(error[3:])
        step = abs(q - before).max()
        rows.append((distance, rotation, step, manipulability(chain, q, line.rows)))
    return LineRun(line.arm, method, depth[1:], *np.array(rows).T)


def waypoints(chain: KinematicChain, line: Line) -> tuple[np.ndarray, list[np.ndarray]]:
    """
    Return the waypoints of a line, out and back.

    :param chain: the arm's chain.
    :param line: the line.
    :returns: (K,) distances from the stretched pose [m], negative beyond it, and the targets
        (4, 4) T_base_tip, all with the orientation of the stretched pose.
    """
    count = round((line.start + line.beyond) / SPACING) + 1
    out = np.linspace(line.start, -line.beyond, count)
    depth = np.concatenate([out, out[-2::-1]])
    stretched = dict(zip(chain.joint_names, line.stretched, strict=True))
    poses = link_poses(chain.robot, stretched)
    near, far = (poses[name][:3, 3] for name in line.links)
    direction = (far - near) / np.linalg.norm(far - near)
    targets = [chain.forward(line.stretched) for _ in depth]
    for target, value in zip(targets, depth, strict=True):
        target[:3, 3] -= value * direction
    return depth, targets


def _ignoring_limits(line: Line) -> IkOptions:
    return IkOptions(task_weights=line.weights, joint_limits='ignore')


def _own(chain: KinematicChain, line: Line, method: str, iterations: int) -> Move:
    search = SingleSearch(chain, method, iterations, _ignoring_limits(line))
    return lambda target, q: search.run(target, q).q[-1]


def _whole_solve(chain: KinematicChain, line: Line) -> Move:
    solver = Solver(chain, options=_ignoring_limits(line))
    return lambda target, q: solver.solve(target, q).q
