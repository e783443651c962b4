"""Postures that meet the goals of a motion plan."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from ik_service.common.quoting import safe_repr
from ik_service.common.real_arrays import real_array
from ik_service.exceptions import ArgumentError
from ik_service.kinematics.chain import KinematicChain
from ik_service.kinematics.pose_error import check_transform
from ik_service.solvers.options import IkOptions
from ik_service.solvers.solver import Solver
from ik_service.solvers.task import Task

ROUNDS = (12, 48)
"""Searches for postures of a pose; the second number where the first finds none that will do."""
KEPT = 8
"""Postures that are goals at once, at most: the nearest to the start."""
_SAME = 1e-3
_BEYOND = 1e-6  # by which a goal may lie beyond a limit [rad] or [m]

Goal = np.ndarray | Task
"""A joint vector (n,), a pose (4, 4) T_base_tip, or a task."""
Goals = ArrayLike | Task | Sequence[ArrayLike | Task]


def checked_goals(chain: KinematicChain, goals: Goals) -> list[Goal]:
    """
    Return the alternatives that a caller gives as goals.

    :param chain: the chain.
    :param goals: one goal, or several: joint vectors, poses, tasks; an array (4, 4) is a pose.
    :raises ArgumentError: one is none of these, not finite, or there is none.
    """
    several: Iterable[object]
    if isinstance(goals, Task) or (isinstance(goals, np.ndarray) and goals.shape == (4, 4)):
        several = [goals]
    elif isinstance(goals, Iterable):
        several = list(goals)
        if several and all(isinstance(each, (int, float, np.floating)) for each in several):
            several = [several]
    else:
        raise ArgumentError(
            'goals', f'have to be joint vectors, poses or tasks, not {safe_repr(goals)}'
        )
    checked = [_checked(chain, goal, f'goals[{i}]') for i, goal in enumerate(several)]
    if not checked:
        raise ArgumentError('goals', 'are none; there has to be one at least')
    return checked


def _checked(chain: KinematicChain, goal: object, name: str) -> Goal:
    if isinstance(goal, Task):
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


def _kind(goal: Goal) -> object:
    return type(goal), goal.ndim if isinstance(goal, np.ndarray) else goal.parameterization


class GoalPostures:
    """
    Postures that meet a goal, in an order that the seed decides.

    :param chain: the chain, whose limits they keep.
    :param start: (n,) the start [rad] or [m]; continuous joints are on the turn next to it.
    :param random_seed: of the searches.
    """

    def __init__(self, chain: KinematicChain, start: np.ndarray, random_seed: int) -> None:
        self._chain, self._start = chain, start
        self._random = np.random.default_rng(random_seed)

    @cached_property
    def _prepared(self) -> Solver:
        return Solver(self._chain, options=IkOptions(max_searches=1))

    def prepare(self, goals: Sequence[Goal]) -> None:
        """
        Compile what the searches for some goals need, or load it.

        :param goals: the goals.
        """
        for goal in {_kind(goal): goal for goal in goals}.values():
            if isinstance(goal, Task) or goal.ndim == 2:
                self._prepared.solve(goal, self._start)

    def of(
        self, goal: Goal, allowed: Callable[[np.ndarray], bool], stopped: Callable[[], bool]
    ) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """
        Return postures that meet a goal and may be used, and those that meet it only.

        :param goal: the goal.
        :param allowed: returns whether a posture may be used.
        :param stopped: returns whether the time is over.
        """
        if isinstance(goal, np.ndarray) and goal.shape == (self._chain.n,):
            q = self._near(goal)
            if ((q < self._chain.lower - _BEYOND) | (q > self._chain.upper + _BEYOND)).any():
                return [], []
            q = np.clip(q, self._chain.lower, self._chain.upper)
            return ([q], [q]) if allowed(q) else ([], [q])
        usable: list[np.ndarray] = []
        found: list[np.ndarray] = []
        for searches in ROUNDS:
            for q in self._solutions(goal, searches, stopped):
                if all(np.abs(q - other).max() > _SAME for other in found):
                    found.append(q)
                    if allowed(q):
                        usable.append(q)
                if len(usable) >= KEPT:
                    break
            if usable or stopped():
                break
        return usable, found

    def _solutions(
        self, goal: Goal, searches: int, stopped: Callable[[], bool]
    ) -> Iterable[np.ndarray]:
        """Yield solutions of a pose or a task from the start, and from random postures."""
        lower, upper = self._chain.sampling_bounds()
        for number in range(searches):
            if stopped():
                return
            seed = self._random.uniform(lower, upper) if number else self._start
            result = self._prepared.solve(goal, seed)
            if result.success:
                yield self._near(result.q)

    def _near(self, q: np.ndarray) -> np.ndarray:
        """Return a posture with its unlimited joints on the turn next to the start."""
        chain = self._chain
        turn = np.where(np.isinf(chain.lower) & np.isinf(chain.upper), chain.arrays.turn, 0.0)
        away = np.round((q - self._start) / np.where(turn > 0.0, turn, 1.0))
        return np.asarray(q - turn * away)
