"""
All solutions of random poses, on one core: branches found, and time, beside EAIK's.

A branch is a solution within the limits but for full turns of its joints, and counts once it is
verified. Next to singular poses errors can be small where they cannot be zero, so the tolerance is
a fine one. What any of the libraries has found is what each could have found.
"""

from __future__ import annotations

from collections.abc import Callable
import math
from pathlib import Path
import tempfile
from time import perf_counter

import numpy as np
from peers import AbsentPeerError, eaik_solver
from records import Row
from robots import BenchRobot, write_arm
from timing import measure_robots, rounds_of, times_row
from verifier import Verifier

import ik_service as iks
from ik_service.solvers.all_solutions.closed_forms import NO_FORM
from ik_service.solvers.all_solutions.solution_finder import SolutionFinder

# Branches of which no joint differs by more are one [rad].
_SAME = 1e-3
# Largest error of a branch [m] or [rad].
_EXACT = 1e-7
# Of a search, which ends by itself [s].
_SEARCH_TIMEOUT = 60.0
Finder = Callable[[np.ndarray], np.ndarray]


def main() -> None:
    """Measure and save."""
    with tempfile.TemporaryDirectory() as folder:
        measure_robots(
            'all_solutions',
            __doc__,
            measure,
            [skewed_arm(Path(folder) / 'skewed.urdf')],
            count=(1000, 'poses for each chain'),
            chains='ur5,ur5_2pi,abb_irb120,motoman_mh180',
            seed=(1, 'of the random poses'),
        )


def measure(robot: BenchRobot, count: int, seed: int) -> list[Row]:
    """Rows of the table for one robot."""
    finders, absent = _finders(robot)
    return compare(robot, count, seed, finders) + absent


def compare(
    robot: BenchRobot, count: int, seed: int, finders: dict[str, Finder], exact: float = _EXACT
) -> list[Row]:
    """Rows of the table for one robot; finders give joint vectors (k, n) for a pose, by name."""
    verifier = Verifier(robot)
    targets = verifier.problems(robot, count, seed).targets
    times: dict[str, list[float]] = {name: [] for name in finders}
    branches: dict[str, list[np.ndarray]] = {name: [] for name in finders}
    for rows in rounds_of(count, 50):
        for name, find in finders.items():
            answers = []
            for target in targets[rows]:
                began = perf_counter()
                answer = find(target)
                times[name].append(perf_counter() - began)
                answers.append(answer)
            for q, target in zip(answers, targets[rows], strict=True):
                branches[name].append(_verified(verifier, q, target, exact))
    every = [_distinct(np.vstack(found)) for found in zip(*branches.values(), strict=True)]
    return [_row(name, times[name], branches[name], every) for name in finders]


def _row(
    name: str, times: list[float], branches: list[np.ndarray], every: list[np.ndarray]
) -> Row:
    found = sum(
        any(_apart(q, other) < _SAME for other in own)
        for own, whole in zip(branches, every, strict=True)
        for q in whole
    )
    total = sum(map(len, every))
    return {
        'solver': name,
        'poses': len(times),
        **times_row(times),
        'branches': total,
        'missed': total - found,
        'found_percent': 100.0 * found / total,
    }


def _finders(robot: BenchRobot) -> tuple[dict[str, Finder], list[Row]]:
    """Return functions from a pose to joint vectors (k, n), and the rows of absent libraries."""
    finders: dict[str, Finder] = {
        'ours': lambda target: iks.solve_ik_all(robot.chain, target),
        'ours, search only': searching(robot.chain),
    }
    for find in finders.values():
        find(robot.chain.forward(robot.chain.mid_range()))
    try:
        solver = eaik_solver(robot)
    except AbsentPeerError as reason:
        return finders, [{'solver': 'EAIK', 'absent': str(reason)}]
    finders['EAIK'] = lambda target: solver.IK(target).Q
    return finders, []


def searching(chain: iks.KinematicChain, patience: float = 1.0) -> Finder:
    """
    Return a search from random postures, as for chains without closed form or elimination.

    :param chain: the chain.
    :param patience: how many times as many searches have to find nothing new at the end.
    """
    options = iks.IkOptions(timeout=_SEARCH_TIMEOUT)
    finder = SolutionFinder(chain, options, iks.Solver(chain, options=options).problem)
    finder._arm = finder._arm._replace(kind=NO_FORM)
    plan = finder._plan
    finder._plan = plan._replace(patience=int(patience * plan.patience))
    return lambda target: finder.find(target, None, False).q


def _verified(
    verifier: Verifier, answer: np.ndarray, target: np.ndarray, exact: float
) -> np.ndarray:
    """Return the branches within the limits that an answer holds."""
    n = len(verifier.lower)
    answer = np.reshape(answer, (-1, n))
    turn = 2 * math.pi
    # The lowest turn within the limits, whichever the library has chosen.
    answer = answer - turn * np.floor((answer - verifier.lower + 1e-6) / turn)
    accepted = [
        q for q in answer if verifier.accepts(q, target) and verifier.errors(q, target)[2] <= exact
    ]
    return _distinct(np.reshape(accepted, (-1, n)))


def _distinct(branches: np.ndarray) -> np.ndarray:
    """Return branches, each once."""
    kept: list[np.ndarray] = []
    for q in branches:
        if all(_apart(q, other) >= _SAME for other in kept):
            kept.append(q)
    return np.reshape(kept, (-1, branches.shape[1]))


def _apart(q: np.ndarray, other: np.ndarray) -> float:
    """Largest joint difference, but for full turns."""
    return float(np.abs(np.remainder(q - other + math.pi, 2 * math.pi) - math.pi).max())


def skewed_arm(path: Path) -> BenchRobot:
    """Make an arm with a spherical wrist, and the first three axes in no special position."""
    random = np.random.default_rng(4)
    ways = random.uniform(-0.4, 0.4, (7, 3))
    ways[4:6] = 0.0
    turns, axes = random.uniform(-3.0, 3.0, (7, 3)), random.normal(size=(6, 3))
    limits = (-3.14159, 3.14159)
    joints = [(ways[i], turns[i], limits, axes[i]) for i in range(6)]
    tip = ways[6], turns[6]
    return write_arm(path, 'spherical wrist, skewed axes', [*joints, tip])


if __name__ == '__main__':
    main()
