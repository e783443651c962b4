"""Postures that meet the goals of a motion plan."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

import numpy as np
from numpy.typing import ArrayLike

from ik_service.common.arguments import real_array
from ik_service.common.quoting import safe_repr
from ik_service.exceptions import ArgumentError
from ik_service.kinematics.chain import KinematicChain
from ik_service.kinematics.pose_error import check_transform
from ik_service.solvers.options import IkOptions
from ik_service.solvers.solver import Solver
from ik_service.solvers.task import Task

ROUNDS = (12, 48)
"""Searches for postures of a pose; the second number where the first finds none that will do."""
MORE_ROUNDS = (200,)
"""Searches for more of them, where there is no motion to those."""
_KEPT = 8  # postures that are goals at once, for each twelve searches, at most
_SAME = 1e-3  # postures closer than this count as one [rad] or [m]
_BEYOND = 1e-6  # by which a goal may lie beyond a limit [rad] or [m]


@dataclass(frozen=True, eq=False)
class LinkGoal:
    """
    Goal of another link than the tip, or within narrower joint limits.

    :ivar chain: the chain to the link, whose joints are some of those that move, or all.
    :ivar targets: poses (4, 4) T_base_link or tasks; those after the first one count where none
        of the postures of those before will do.
    :ivar others: (n,) posture in which the other joints that move are then [rad] or [m]; None for
        that of the start.
    :ivar anywhere: all joints that move, within the limits for the other ones where no posture
        with ``others`` will do; None where there is none but ``others``.
    """

    chain: KinematicChain
    targets: tuple[np.ndarray | Task, ...]
    others: np.ndarray | None = None
    anywhere: KinematicChain | None = None


Goal = np.ndarray | Task | LinkGoal
"""A joint vector (n,), a pose (4, 4) T_base_tip, a task, or a goal of another link."""
Goals = ArrayLike | Task | LinkGoal | Sequence[ArrayLike | Task | LinkGoal]


def checked_goals(chain: KinematicChain, goals: Goals) -> list[Goal]:
    """
    Return the goals as a list; raises ArgumentError for none.

    Numbers in the shape (4, 4) are a pose; of a chain of four joints, lists of them are four joint
    vectors.
    """
    several: Iterable[object]
    if isinstance(goals, (Task, LinkGoal)) or _is_one(chain, goals):
        several = [goals]
    elif isinstance(goals, Iterable) and getattr(goals, 'ndim', 1) > 0:
        several = list(goals)
    else:
        raise ArgumentError(
            'goals', f'have to be joint vectors, poses or tasks, not {safe_repr(goals)}'
        )
    checked = [_checked(chain, goal, f'goals[{i}]') for i, goal in enumerate(several)]
    if not checked:
        raise ArgumentError('goals', 'are none; there has to be one at least')
    return checked


def _is_one(chain: KinematicChain, goals: object) -> bool:
    """Return whether numbers are a single goal, and not several."""
    try:
        shape = real_array(goals, 'goals').shape  # type: ignore[arg-type]  # of whatever they are
    except ArgumentError:  # others than numbers are among them
        return False
    pose = shape == (4, 4) and (isinstance(goals, np.ndarray) or chain.n != 4)
    return pose or (len(shape) == 1 and shape != (0,))


def _checked(chain: KinematicChain, goal: object, name: str) -> Goal:
    if isinstance(goal, (Task, LinkGoal)):
        return goal
    values = real_array(goal, name)  # type: ignore[arg-type]  # checked there
    if values.shape == (4, 4):
        return check_transform(values, name)
    if values.shape == (chain.n,):
        return chain.check_q(values, name)
    raise ArgumentError(
        name,
        f'has to be ({chain.n},) joint positions, a (4, 4) pose or a Task, not {safe_repr(goal)}',
    )


class GoalPostures:
    """Postures of a goal, continuous joints on the turn next to ``start`` (n,) [rad] or [m]."""

    def __init__(self, chain: KinematicChain, start: np.ndarray, random_seed: int) -> None:
        self._chain, self._start = chain, start
        self._random = np.random.default_rng(random_seed)

    def prepare(self, goals: Sequence[Goal]) -> None:
        """Compile or load the kernels for the searches of some goals."""
        for goal in goals:
            if isinstance(goal, (LinkGoal, Task)) or goal.ndim == 2:
                for chain, target in self._targets(goal):
                    _solver(chain).solve(target, chain.mid_range())

    def of(
        self,
        goal: Goal,
        allowed: Callable[[np.ndarray], bool],
        stopped: Callable[[], bool],
        rounds: Sequence[int],
    ) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Return postures that meet a goal and are allowed, and all found that meet it."""
        if isinstance(goal, np.ndarray) and goal.shape == (self._chain.n,):
            q = self._near(goal)
            if ((q < self._chain.lower - _BEYOND) | (q > self._chain.upper + _BEYOND)).any():
                return [], []
            q = np.clip(q, self._chain.lower, self._chain.upper)
            return ([q], [q]) if allowed(q) else ([], [q])
        found: list[np.ndarray] = []
        others = goal.others if isinstance(goal, LinkGoal) else None
        posture = self._start if others is None else others
        anywhere = goal.anywhere if isinstance(goal, LinkGoal) else None
        spreads = (None,) if anywhere is None else (None, anywhere)
        for drawn, (chain, target) in product(spreads, self._targets(goal)):
            usable: list[np.ndarray] = []
            for searches in rounds:
                for q in self._solutions(chain, target, posture, drawn, searches, stopped):
                    if all(np.abs(q - other).max() > _SAME for other in found):
                        found.append(q)
                        usable += [q] if allowed(q) else []
                    if len(usable) >= _KEPT * rounds[0] // ROUNDS[0]:
                        break
                if usable or stopped():
                    return usable, found
        return [], found

    def _targets(self, goal: Goal) -> list[tuple[KinematicChain, np.ndarray | Task]]:
        """Return the targets to be tried in turn, each with the chain that meets it."""
        if isinstance(goal, LinkGoal):
            return [(goal.chain, target) for target in goal.targets]
        return [(self._chain, goal)]

    def _solutions(
        self,
        chain: KinematicChain,
        target: np.ndarray | Task,
        posture: np.ndarray,
        drawn: KinematicChain | None,
        searches: int,
        stopped: Callable[[], bool],
    ) -> Iterable[np.ndarray]:
        """Yield solutions from the start and random postures; other joints as given, or drawn."""
        columns = [self._chain.joint_names.index(name) for name in chain.joint_names]
        lower, upper = chain.sampling_bounds()
        solver = _solver(chain)
        for number in range(searches):
            if stopped():
                return
            seed = self._random.uniform(lower, upper) if number else self._start[columns]
            result = solver.solve(target, seed)
            if result.success:
                random = None if drawn is None else self._random.uniform(*drawn.sampling_bounds())
                q = posture.copy() if random is None else random
                q[columns] = result.q
                yield self._near(q)

    def _near(self, q: np.ndarray) -> np.ndarray:
        return next_to(self._chain, q, self._start)


def next_to(chain: KinematicChain, q: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return a posture (n,) with its unlimited joints on the turns next to another one [rad]."""
    turn = np.where(np.isinf(chain.lower) & np.isinf(chain.upper), chain.arrays.turn, 0.0)
    return np.asarray(q - turn * np.round((q - other) / np.where(turn > 0.0, turn, 1.0)))


@lru_cache(maxsize=64)
def _solver(chain: KinematicChain) -> Solver:
    return Solver(chain, options=IkOptions(max_searches=1))
