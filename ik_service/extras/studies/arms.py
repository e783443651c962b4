"""Arms of the studies, and single searches of a method: without restarts and giving up."""

from __future__ import annotations

from argparse import ArgumentParser
from dataclasses import dataclass, replace
from functools import lru_cache
import math
from typing import cast

import numpy as np

from ik_service.common.arguments import at_least
from ik_service.common.resources import urdf_path
from ik_service.kinematics.chain import KinematicChain
from ik_service.robot import Robot
from ik_service.solvers.loop.problem import Problem, views
from ik_service.solvers.options import IkOptions
from ik_service.solvers.result import IkStatus, IkTrace
from ik_service.solvers.solver import Solver

# Base and tip of each.
ARMS = {
    'planar_6r': ('base_link', 'tool0'),
    'panda': ('panda_link0', 'panda_hand_tcp'),
    'ur5e': ('base_link', 'tool0'),
}


@lru_cache
def load_arm(name: str) -> KinematicChain:
    """Return the chain of one of :data:`ARMS`, from its base to its tool."""
    return Robot.from_urdf(urdf_path(name)).chain(*ARMS[name])


def manipulability(chain: KinematicChain, q: np.ndarray, rows: slice = slice(None)) -> float:
    """Return Yoshikawa's measure √det(J Jᵀ) at q (n,): 0 if singular (Yoshikawa 1985, eq. 9)."""
    J = chain.jacobian(q)[rows]
    return math.sqrt(max(0.0, float(np.linalg.det(J @ J.T))))


def add_count(parser: ArgumentParser, name: str, most: int, default: int, text: str) -> None:
    """Add an option of a whole number from 1 to the most; the text describes it."""
    help_text = f'{text} (default: %(default)s)'
    parser.add_argument(name, type=at_least(1, most), default=default, help=help_text)


_PATIENCE = 600.0  # so long that a busy machine does not cut a search short [s]
_NEVER = 10**9  # iterations after which a search without progress would be given up


@dataclass(frozen=True)
class Search:
    """
    Iterations of one search; row 0 is its start.

    :ivar q: (k, n) joint vectors [rad] or [m].
    :ivar step: (k, n) the step to each row.
    :ivar position_error: (k,) [m].
    :ivar orientation_error: (k,) [rad].
    """

    q: np.ndarray
    step: np.ndarray
    position_error: np.ndarray
    orientation_error: np.ndarray

    @property
    def joint_motion(self) -> np.ndarray:
        """(k,) Largest change of a joint in each step [rad] or [m]."""
        return abs(self.step).max(axis=1)


MOST_POSES = 1_000_000  # of a study: hours
MOST_ITERATIONS = 100_000  # of a recorded search: seconds, which Ctrl-C does not interrupt


class SingleSearch:
    """
    Method prepared for a chain, whose iterations are recorded one by one.

    The loop is that of every solve, but without its rule to give up a search that makes no
    progress and without restarts, which would both hide the behaviour of the method.
    """

    def __init__(
        self, chain: KinematicChain, solver: str, iterations: int, options: IkOptions | None = None
    ) -> None:
        """Prepare a method for at most so many iterations."""
        chosen = replace(
            options or IkOptions(),
            max_iterations=iterations,
            max_searches=1,
            timeout=_PATIENCE,
            record_trace=True,
        )
        self._solver = _Untiring(chain, solver, chosen)

    def run(self, target: np.ndarray, seed: np.ndarray) -> Search:
        """Iterations from a seed (n,); only the seed for a target beyond the chain's length."""
        result = self._solver.solve(target, seed)
        trace = cast(IkTrace, result.trace)  # asked for above
        own = trace.search == 0
        if result.status is IkStatus.UNREACHABLE:
            # Without a search, number 0 is that of the approach to the closest pose.
            own = np.arange(1)
        return Search(
            trace.q[own], trace.step[own], trace.position_error[own], trace.orientation_error[own]
        )


class _Untiring(Solver):
    """Solver whose searches end only with success or with their iterations."""

    def problem(self, guessed: bool = False) -> Problem:
        problem = super().problem(guessed)
        _, settings, _ = views(problem)
        settings.patience[0] = _NEVER
        return problem
