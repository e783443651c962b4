"""Where a path ends, and why."""

from __future__ import annotations

import math

import numpy as np

from ik_service.kinematics.pose_error import pose_error
from ik_service.solvers.characteristic_length import characteristic_length
from ik_service.solvers.choices import LimitStrategy
from ik_service.solvers.path.problem import PathProblem
from ik_service.solvers.path.result import PathEnd, PathStatus
from ik_service.solvers.task import BLOCK_ROWS

# A joint motion that is larger than so many times the motion of the tip is one near a singular
# posture.
_GAIN = 3.0
# Candidates that are asked, at most, and what counts as beyond a limit [rad] or [m].
_ASKED = 200
_BEYOND = 1e-6
# Searches for the nearest solution of a target, and how far around the candidates before it they
# begin [rad] or [m].
_SEARCHES = 8
_SCATTER = 0.3


def ending_at(problem: PathProblem, row: int, last: np.ndarray) -> PathEnd:
    """
    Return why no way leads to a target.

    :param problem: the path to be found.
    :param row: number of the target.
    :param last: (k, n) the joint vectors before it, from which there is none [rad] or [m].
    """
    if not len(last):
        return _out_of_reach(problem, row, problem.chain.middle) or PathEnd(
            PathStatus.COLLISION, row
        )
    answers = [_asked(problem, row, step) for step in _continued(problem, row, last[:_ASKED])]
    kinds = [(answer.status, answer.joint is None) for answer in answers]
    # The first of the most frequent ones: the candidates come in a fixed order.
    answer = answers[kinds.index(max(kinds, key=kinds.count))]
    lost = answer.status is PathStatus.SINGULARITY and answer.joint is None
    return (_out_of_reach(problem, row, last[0]) or _apart(problem, row, last)) if lost else answer


def _out_of_reach(problem: PathProblem, row: int, seed: np.ndarray) -> PathEnd | None:
    """Return how far a target is out of reach; None where it is not."""
    _, solved, errors = problem.solved(row, seed[None])
    if solved[0]:
        return None
    position_error, orientation_error = errors[0].tolist()
    return PathEnd(
        PathStatus.UNREACHABLE,
        row,
        position_error=position_error,
        orientation_error=orientation_error,
    )


def _apart(problem: PathProblem, row: int, last: np.ndarray) -> PathEnd:
    """Return how far the nearest solution of a target is that searches from near by find."""
    random = np.random.default_rng(problem.solver.options.random_seed)
    before = np.array([last[k % len(last)] for k in range(_SEARCHES)])
    scatter = random.uniform(-_SCATTER, _SCATTER, before.shape)
    scatter[: len(last)] = 0.0
    q, solved, _ = problem.solved(row, before + scatter)
    motions = np.abs(q - before[: len(q)])[solved]
    if not len(motions):
        return PathEnd(PathStatus.SINGULARITY, row)
    return _jump(problem, row, motions[int(np.argmin(motions.max(axis=1)))])


def _jump(problem: PathProblem, row: int, motions: np.ndarray) -> PathEnd:
    """Return the end before a step in which joints would move so far (n,) [rad] or [m]."""
    most = int(np.argmax(motions))
    motion, name = float(motions[most]), problem.chain.joint_names[most]
    near_singular = motion <= problem.max_step or motion > _GAIN * _tip_motion(problem, row)
    kind = PathStatus.SINGULARITY if near_singular else PathStatus.TOO_FAR
    return PathEnd(kind, row, name, motion=motion)


def _continued(
    problem: PathProblem, row: int, last: np.ndarray
) -> list[tuple[np.ndarray, np.ndarray | None]]:
    """Return each joint vector with the one that it leads to without limits, None for none."""
    after = np.array(last, order='C')
    targets = np.repeat(problem.targets[row : row + 1], len(after), axis=0)
    reached = problem.project(after, targets, math.pi, int(LimitStrategy.IGNORE))
    return [(q, p if there else None) for q, p, there in zip(last, after, reached, strict=True)]


def _asked(problem: PathProblem, row: int, step: tuple[np.ndarray, np.ndarray | None]) -> PathEnd:
    """Return what keeps one joint vector from the target."""
    before, after = step
    chain = problem.chain
    if after is None:
        return PathEnd(PathStatus.SINGULARITY, row)
    motion = np.abs(after - before)
    if motion.max() > problem.max_step:
        return _jump(problem, row, motion)
    beyond = np.maximum(chain.lower - after, after - chain.upper)
    worst = int(np.argmax(beyond))
    if problem.limited and beyond[worst] > _BEYOND:
        limits = chain.upper if after[worst] > chain.upper[worst] else chain.lower
        name = chain.joint_names[worst]
        redundant = problem.redundancy > 0
        return PathEnd(
            PathStatus.LIMIT, row, name, limit=float(limits[worst]), redundant=redundant
        )
    fine = np.ones(1, bool)
    problem.refuse_colliding(after[None], fine)
    if not fine[0]:
        return PathEnd(PathStatus.COLLISION, row, bodies=problem.contact(after))
    return _jump(problem, row, motion)


def _tip_motion(problem: PathProblem, row: int) -> float:
    """Return how far the target is from the one before, a characteristic length as a radian."""
    if row == 0:
        return math.inf
    length = characteristic_length(problem.chain, problem.solver.options)
    now, before = problem.targets[row], problem.targets[row - 1]
    largest = 0.0
    for first in range(0, len(now), BLOCK_ROWS):
        error = pose_error(before[first : first + 4], now[first : first + 4])
        largest = max(
            largest, float(np.linalg.norm(error[:3]) / length + np.linalg.norm(error[3:]))
        )
    return largest
