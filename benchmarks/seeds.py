"""
Learned starting postures: saved iterations, searches and time, and the cost of the training.

Every search starts in the middle of the limits, or at the guess of a table of 1e3, 1e4 or 1e5
postures. Needs the extra "learn"; times are those of the processor, the least of the repeats.
``benchmarks/results/seeds.csv`` and ``docs/figures/seeds.csv`` are written.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from shutil import copyfile
from tempfile import TemporaryDirectory
import time

import numpy as np
from records import RESULTS, Row
from robots import BenchRobot
from timing import measure_robots
from verifier import Verifier

import ik_service as iks
from ik_service.common.resources import urdf_path
from ik_service.extras.learning.program import mean_guess_time, measure_effort
from ik_service.extras.learning.table_file import load_table, train_table

DOCUMENTED = RESULTS.parents[1] / 'docs' / 'figures' / 'seeds.csv'
_TASKS = {'pose': {}, 'position': {'task_weights': (1.0, 1.0, 1.0, 0.0, 0.0, 0.0)}}


def main() -> None:
    """Measure and save."""
    planar = BenchRobot('planar_6r', urdf_path('planar_6r'), 'base_link', 'tool0')
    measure_robots(
        'seeds',
        __doc__,
        measure,
        [planar],
        count=(1000, 'random problems for each arm'),
        repeats=(3, 'of each measurement'),
        tables=('1000,10000,100000', 'postures of each table'),
        solvers=(','.join(iks.solver_names()), 'names, separated by commas'),
        chains=('panda,ur5e,iiwa14', 'names, beside planar_6r'),
        seed=(1, 'of the random problems'),
    )
    copyfile(RESULTS / 'seeds.csv', DOCUMENTED)


def measure(
    robot: BenchRobot, count: int, repeats: int, tables: str, solvers: str, seed: int
) -> list[Row]:
    """Rows of the table for one robot."""
    targets = Verifier(robot).problems(robot, count, seed).targets
    names = solvers.split(',')
    rows = []
    with TemporaryDirectory() as folder:
        for start, options, cost in _starts(robot, tables, Path(folder)):
            for task, weights in _TASKS.items():
                if options:
                    guess = load_table(robot.chain, options['seed_file'], **weights)
                    cost['guess_us'] = 1e6 * mean_guess_time(guess, targets)
                for name in names if task == 'pose' else names[:1]:
                    solver = iks.Solver(robot.chain, name, iks.IkOptions(**options, **weights))
                    row = _row(solver, targets, repeats)
                    rows.append({'task': task, 'solver': name, 'start': start, **row, **cost})
    return rows


def _starts(
    robot: BenchRobot, tables: str, folder: Path
) -> Iterator[tuple[str, dict[str, str], Row]]:
    """Starts of the searches: name, solver options, and cost of the training."""
    yield 'middle', {}, {'guess_us': 0.0, 'training_s': 0.0, 'file_kb': 0.0}
    train_table(robot.chain, 100, folder / 'small.npz')  # compiles, or loads the compiled code
    for samples in map(int, tables.split(',')):
        path = folder / f'{samples}.npz'
        began = time.thread_time()
        train_table(robot.chain, samples, path)
        cost = {'training_s': time.thread_time() - began, 'file_kb': path.stat().st_size / 1e3}
        options = {'seed_source': 'table', 'seed_file': str(path)}
        yield f'table {samples}', options, {'guess_us': 0.0, **cost}


def _row(solver: iks.Solver, targets: np.ndarray, repeats: int) -> Row:
    """Columns of the table for one solver and start."""
    efforts = [measure_effort(solver, targets) for _ in range(repeats)]
    row = asdict(min(efforts, key=lambda one: one.call_time))
    return {
        'problems': len(targets),
        'iterations': row['iterations'],
        'searches': row['searches'],
        'first_search_percent': 100.0 * row['first_search'],
        'solved_percent': 100.0 * row['solved'],
        'call_us': 1e6 * row['call_time'],
    }


if __name__ == '__main__':
    main()
