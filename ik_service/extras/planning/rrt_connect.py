"""
RRT-Connect by OMPL: a search for a joint path from a start to one of several goals.

J. Kuffner, S. LaValle: RRT-Connect: An efficient approach to single-query path planning.
ICRA 2000.
"""

from __future__ import annotations

import atexit
from collections.abc import Callable
from contextlib import ExitStack
from functools import cache
import gc
from struct import Struct
import threading
from typing import Any

import numpy as np

from ik_service.common.resources import extra_module
from ik_service.exceptions import MissingExtraError
from ik_service.extras.planning.shortening import LineTest

RANGE = 1.2
"""Length of a branch that the trees grow by, at most: the largest difference of scaled joints."""

# OMPL takes the seeds of its generators from one of its own, which all threads share.
_lock = threading.Lock()


def rrt_connect(
    bounds: tuple[np.ndarray, np.ndarray],
    start: np.ndarray,
    goals: np.ndarray,
    line_is_free: LineTest,
    seed: int,
    stopped: Callable[[int], bool],
) -> np.ndarray | None:
    """
    Return the corners (m, n) of a path to a goal, the same for the same arguments, or None.

    Start (n,) and goals (k, n) are within the finite bounds (n,) [rad] or [m]; ``stopped`` takes
    the number of the iteration.
    """
    lower, upper = bounds
    moving = np.flatnonzero(upper - lower > 1e-9)
    if not len(moving):
        return None
    n = len(moving)
    moved, ends = np.empty((2, n)), np.array([start, start])
    write = Struct(f'{2 * n}d').pack_into  # quicker than NumPy from lists

    def is_free(a: Any, b: Any) -> bool:  # noqa: ANN401 - OMPL has no types
        write(moved.data, 0, *a[0:n], *b[0:n])
        if n == len(start):
            return line_is_free(moved)
        ends[:, moving] = moved
        return line_is_free(ends)

    iteration = 0

    def ended() -> bool:
        nonlocal iteration
        iteration += 1
        if iteration == 1:  # by now all generators have their seeds
            seeding.close()
        return stopped(iteration)

    with ExitStack() as seeding:
        seeding.enter_context(_lock)
        ompl = load_ompl()
        ompl.util.RNG.setSeed(seed % 2**31 + 1)
        space = ompl.base.RealVectorStateSpace(n)
        limits = ompl.base.RealVectorBounds(n)
        for i, j in enumerate(moving.tolist()):
            limits.setLow(i, float(lower[j]))
            limits.setHigh(i, float(upper[j]))
        space.setBounds(limits)
        information = ompl.base.SpaceInformation(space)
        validator = _validator()(information, is_free)
        information.setMotionValidator(validator)
        information.setStateValidityChecker(lambda state: True)
        information.setup()
        problem = ompl.base.ProblemDefinition(information)
        state = information.allocState()
        targets = ompl.base.GoalStates(information)
        for goal in goals:
            state[0:n] = goal[moving].tolist()
            targets.addState(state)
        state[0:n] = start[moving].tolist()
        problem.addStartState(state)

        problem.setGoal(targets)
        planner = ompl.geometric.RRTConnect(information)
        planner.setRange(RANGE)
        planner.setProblemDefinition(problem)
        planner.setup()
        planner.solve(ompl.base.PlannerTerminationCondition(ended))
        if not problem.hasExactSolution():
            return None
        corners = [state[0:n] for state in problem.getSolutionPath().getStates()]
    path = np.tile(start, (len(corners), 1))
    path[1:, moving] = corners[1:]
    return path


@cache
def load_ompl() -> Any:  # noqa: ANN401 - a module without types
    """Return the module of OMPL, made silent; MissingExtraError if it is not installed."""
    ompl = extra_module('ompl', 'plan')
    for part in ('base', 'geometric', 'util'):
        extra_module(f'ompl.{part}', 'plan', 'ompl')
    ompl.util.setLogLevel(ompl.util.LogLevel.LOG_NONE)
    atexit.unregister(gc.freeze)  # of programs: OMPL's bindings print what is left at the end
    atexit.unregister(gc.unfreeze)
    atexit.register(gc.unfreeze)
    return ompl


def planning_fault() -> str:
    """Return why motions cannot be planned, in a sentence; empty where they can."""
    try:
        load_ompl()
    except MissingExtraError as error:
        return f'no: {error}'
    return ''


@cache
def _validator() -> Any:  # noqa: ANN401 - a class of OMPL's
    """Return OMPL's class for tests of motions, with one of ours."""

    class Validator(load_ompl().base.MotionValidator):  # type: ignore[misc]
        def __init__(self, information: object, is_free: Callable[[Any, Any], bool]) -> None:
            super().__init__(information)
            self._is_free = is_free

        def checkMotion(self, a: object, b: object) -> bool:  # noqa: N802 - OMPL's name
            return self._is_free(a, b)

    return Validator
