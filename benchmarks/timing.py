"""Timing of solvers in turns on one core, and the columns of the tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
import os
import sys
from time import perf_counter

import numpy as np
from peers import Adapter
from records import options, progress, Row, save
from robots import BenchRobot, chosen_robots
from verifier import Problems, Verifier

_THREADS = ('OMP_NUM_THREADS', 'OPENBLAS_NUM_THREADS', 'MKL_NUM_THREADS')


def use_one_core() -> None:
    """Run this program on one core, with no threads of BLAS: starts it again when need be."""
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    if any(os.environ.get(name) != '1' for name in _THREADS):
        environment = {**os.environ, **dict.fromkeys(_THREADS, '1')}
        os.execve(sys.executable, sys.orig_argv, environment)


def measure_robots(
    part: str,
    description: str,
    measure: Callable[..., list[Row]],
    more: Sequence[BenchRobot] = (),
    one_core: bool = True,
    **defaults: object,
) -> None:
    """
    Measure robots one after the other, and save the rows of a part.

    :param measure: returns the rows of a robot, from the robot and the options but ``chains``.
    :param more: robots that are measured before those that the option ``chains`` names.
    :param defaults: of the options, as for :func:`records.options`.
    """
    settings = vars(options(description, **defaults))
    names = settings.pop('chains')
    if one_core:
        use_one_core()
    rows: list[Row] = []
    for robot in [*more, *chosen_robots(names)]:
        progress(f'{part}: {robot.name}')
        rows += [{'chain': robot.name, **row} for row in measure(robot, **settings)]
    save(part, rows, **settings)


@dataclass
class Score:
    """Results of a solver: time of each solve, whether accepted, mean time of each round [s]."""

    seconds: list[float] = field(default_factory=list)
    solved: list[bool] = field(default_factory=list)
    rounds: list[float] = field(default_factory=list)

    def row(self, reference: Score | None = None) -> Row:
        """
        Columns of a table.

        :param reference: the score with which this one is compared, round by round: the same
            problems, a moment apart.
        """
        row = {
            'problems': len(self.seconds),
            **times_row(self.seconds),
            'success_percent': 100.0 * np.mean(self.solved),
        }
        if reference is not None:
            row.update(quartiles('times_ours', np.divide(self.rounds, reference.rounds)))
        return row


def times_row(seconds: Sequence[float] | np.ndarray) -> Row:
    """Mean, median and 99th percentile of times as columns of a table [µs]."""
    times = np.array(seconds) * 1e6
    return {
        'mean_us': float(times.mean()),
        'median_us': float(np.median(times)),
        'p99_us': float(np.percentile(times, 99)),
    }


def quartiles(name: str, values: np.ndarray) -> dict[str, float]:
    """Median and quartiles as columns of a table."""
    low, middle, high = np.percentile(values, (25, 50, 75))
    return {name: middle, f'{name}_q1': low, f'{name}_q3': high}


def run_round(adapter: Adapter, verifier: Verifier, problems: Problems, score: Score) -> None:
    """Solve a solver's share of some problems, and verify the answers afterwards."""
    problems = problems.share(adapter.share)
    targets = [adapter.prepare(T) for T in problems.targets]
    answers, times = [], []
    for target, seed in zip(targets, problems.seeds, strict=True):
        began = perf_counter()
        answer = adapter.solve(target, seed)
        times.append(perf_counter() - began)
        answers.append(answer)
    score.seconds += times
    score.rounds.append(float(np.mean(times)))
    score.solved += [
        verifier.accepts(q, T) for q, T in zip(answers, problems.targets, strict=True)
    ]


def rounds_of(count: int, size: int) -> Iterable[slice]:
    """Slices of so many rows each."""
    return (slice(first, min(first + size, count)) for first in range(0, count, size))
