"""Solving for several poses at once, and for poses under constraints."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
import time

import numpy as np

from ik_service.arm.group import ArmGroup, PreparedSolver, SolverSettings
from ik_service.arm.link_constraints import AttachedTo, Bound, combinations, loosened, tasks_beside
from ik_service.exceptions import ConstraintError
from ik_service.kinematics.chain import KinematicChain
from ik_service.kinematics.tree import Tip
from ik_service.solvers.collision_test import CollisionTest
from ik_service.solvers.result import IkResult
from ik_service.solvers.solver import Solver
from ik_service.solvers.task import Task

Goal = np.ndarray | Task
Goals = Mapping[Tip, Goal]
Narrow = Callable[[PreparedSolver], Solver]
"""Returns a solver for the joint limits that joint constraints leave."""
TestOf = Callable[[Sequence[str]], CollisionTest | None]
"""Returns the collision test of some joints; None where collisions are not checked."""


@dataclass(frozen=True)
class TaskResult:
    """
    Result of a solve for several poses or under constraints.

    :ivar prepared: chain or tree, and where its joints stand in a full posture.
    :ivar result: the solver's result.
    :ivar loosened: whether the poses themselves were not reached, but the tolerances hold.
    """

    prepared: PreparedSolver
    result: IkResult
    loosened: bool = False


def solve_tasks(
    attached_to: AttachedTo,
    group: ArmGroup,
    settings: SolverSettings,
    poses: Mapping[Tip, np.ndarray],
    bounds: Sequence[Bound],
    posture: np.ndarray,
    narrow: Narrow,
    timeout: float,
    collisions: TestOf = lambda joint_names: None,
) -> TaskResult:
    """
    Place several links together, or one under constraints.

    The poses themselves come first. Where they cannot be reached and constraints on their links
    loosen them, any pose within the tolerances counts. All constraints hold in every solution.

    :param attached_to: returns the links that are rigidly attached to one.
    :param group: the group whose joints move.
    :param settings: name and options of the solver.
    :param poses: (4, 4) T_base_tip by tip; of a pair of links, the pose in the frame of the first.
    :param bounds: constraints on the pose of links.
    :param posture: (m,) full posture [rad] or [m], the seed.
    :param narrow: narrows the joint limits.
    :param timeout: time for all searches [s]; that for compiling and preparing does not count.
    :param collisions: returns the collision test of some joints; None for none.
    :returns: the first solution, or else the attempt that came closest.
    :raises ConstraintError: constraints contradict each other or a pose, or are not supported.
    :raises ChainError: a link is not one of the group's, or no joint moves it.
    """
    attempts, left = _attempts(attached_to, poses, bounds), timeout
    best: TaskResult | None = None
    for number, (goals, is_loosened) in enumerate(attempts):
        if best is not None and left <= 0.0:
            break
        prepared = _prepared(group, settings, goals)
        solver = narrow(prepared)
        began = time.monotonic()
        share = max(left, 1e-6) / (len(attempts) - number)
        test = collisions(solver.chain.joint_names)
        result = _solve(solver, goals, posture[prepared.indices], share, test)
        left -= time.monotonic() - began
        if result.success or best is None or _error(result) < _error(best.result):
            best = TaskResult(prepared, result, is_loosened)
        if result.success:
            break
    assert best is not None  # there is at least one attempt
    return best


def moving_only(solver: Solver, moving: Container[str], q: np.ndarray) -> Solver:
    """
    Return a solver in which only some joints move.

    :param moving: names of the joints that move.
    :param q: (n,) where the others stay [rad] or [m], or at the limit nearest to that.
    """
    chain = solver.chain
    still = np.array([name not in moving for name in chain.joint_names])
    if not still.any():
        return solver
    lower, upper = chain.lower.copy(), chain.upper.copy()
    lower[still] = upper[still] = np.clip(q, lower, upper)[still]
    return Solver(chain.with_limits(lower, upper), solver.name, solver.options)


def _attempts(
    attached_to: AttachedTo, poses: Mapping[Tip, np.ndarray], bounds: Sequence[Bound]
) -> list[tuple[Goals, bool]]:
    """Return the goals to try in turn, and whether they are loosened."""
    links = [tip if isinstance(tip, str) else tip[1] for tip in poses]
    placed = frozenset().union(*(attached_to(link) for link in links))
    beside = tasks_beside(bounds, placed, attached_to)
    attempts: list[tuple[Goals, bool]] = [({**poses, **tasks}, False) for tasks in beside]
    choices = [_loosened(attached_to, tip, T, bounds) for tip, T in poses.items()]
    goals = [goal for alternatives in choices for tasks in alternatives for goal in tasks.values()]
    if any(isinstance(goal, Task) for goal in goals):
        attempts += [(goals, True) for goals in combinations([*choices, beside])]
    return attempts


def _loosened(
    attached_to: AttachedTo, tip: Tip, T: np.ndarray, bounds: Sequence[Bound]
) -> Sequence[Goals]:
    if isinstance(tip, str):
        return loosened(tip, T, bounds, attached_to) or [{tip: T}]
    attached = attached_to(tip[1])
    for bound in bounds:
        if bound.link in attached:
            raise ConstraintError(
                f'{bound.field} is for {bound.link!r}, whose pose is asked for in the frame of '
                f'{tip[0]!r}, which moves with it; that is not supported together'
            )
    return [{tip: T}]


def _prepared(group: ArmGroup, settings: SolverSettings, goals: Goals) -> PreparedSolver:
    """Return the chain of a single pose, which is solved faster, or the tree for all else."""
    (tip, goal), *more = goals.items()
    if not more and isinstance(tip, str) and not isinstance(goal, Task):
        return group.chain_solvers[tip, settings]
    return group.tree_solvers[tuple(goals), settings]


def _solve(
    solver: Solver, goals: Goals, seed: np.ndarray, timeout: float, test: CollisionTest | None
) -> IkResult:
    one = isinstance(solver.chain, KinematicChain)
    target = next(iter(goals.values())) if one else goals
    return solver.solve(target, seed, timeout=timeout, collisions=test)


def _error(result: IkResult) -> float:
    """Return the size of a pose error, with 1 m as bad as 1 rad."""
    return result.position_error + result.orientation_error
