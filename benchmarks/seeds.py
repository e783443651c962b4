"""
Learned starting postures: saved iterations, searches and time, and the cost of the training.

Every search starts in the middle of the limits, or at the guess of a table of 1e3, 1e4 or 1e5
postures. Needs the extra "learn"; times are those of the processor, the least of the repeats.
``benchmarks/results/seeds.csv`` and ``docs/figures/seeds.csv`` are written.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import asdict
from importlib import metadata
from pathlib import Path
from tempfile import TemporaryDirectory
import time

import numpy as np
from records import progress, RESULTS, save
from robots import all_robots, BenchRobot
from timing import use_one_core
from verifier import Verifier

import ik_service as iks
from ik_service.common.resources import urdf_path
from ik_service.extras.learning.program import mean_guess_time, measure_effort
from ik_service.extras.learning.table_file import load_table, train_table

DOCUMENTED = RESULTS.parents[1] / 'docs' / 'figures' / 'seeds.csv'
CHAINS = ('panda', 'ur5e', 'iiwa14', 'planar_6r')
_TASKS = {'pose': {}, 'position': {'task_weights': (1.0, 1.0, 1.0, 0.0, 0.0, 0.0)}}
_QUICK = {'count': 100, 'repeats': 1, 'tables': (1000,)}
_WHOLE = {'count': 1000, 'repeats': 3, 'tables': (1000, 10_000, 100_000)}


def main() -> None:
    """Measure and save."""
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    parser.add_argument('--quick', action='store_true', help='does everything work? Not saved')
    parser.add_argument('--chains', default=','.join(CHAINS), help='names, separated by commas')
    parser.add_argument('--solvers', default=','.join(iks.solver_names()), help='likewise')
    parser.add_argument('--seed', type=int, default=1, help='of the random problems')
    args = parser.parse_args()
    use_one_core()
    extent = _QUICK if args.quick else _WHOLE
    rows = []
    for robot in _robots(args.chains.split(',')):
        rows += measure(robot, args.solvers.split(','), extent, args.seed)
    if args.quick:
        progress(f'{len(rows)} rows; the first: {rows[0]}')
        return
    scipy = metadata.version('scipy')
    save(
        'seeds',
        rows,
        count=extent['count'],
        repeats=extent['repeats'],
        seed=args.seed,
        scipy=scipy,
    )
    DOCUMENTED.write_bytes((RESULTS / 'seeds.csv').read_bytes())


def _robots(names: list[str]) -> Iterator[BenchRobot]:
    there = all_robots()
    there['planar_6r'] = BenchRobot('planar_6r', urdf_path('planar_6r'), 'base_link', 'tool0')
    for name in names:
        if name in there:
            yield there[name]
        else:
            print(f'skipped {name}: no such robot among {", ".join(there)}')


def measure(
    robot: BenchRobot, solvers: list[str], extent: dict[str, object], seed: int
) -> list[dict[str, object]]:
    """Rows of the table for one robot."""
    targets = Verifier(robot).problems(robot, extent['count'], seed).targets
    rows = []
    with TemporaryDirectory() as folder:
        for start, options, cost in _starts(robot, extent, Path(folder)):
            progress(f'seeds: {robot.name}, {start}')
            for task, weights in _TASKS.items():
                if options:
                    guess = load_table(robot.chain, options['seed_file'], **weights)
                    cost['guess_us'] = 1e6 * mean_guess_time(guess, targets)
                for name in solvers if task == 'pose' else solvers[:1]:
                    solver = iks.Solver(robot.chain, name, iks.IkOptions(**options, **weights))
                    row = _row(solver, targets, extent['repeats'])
                    rows.append(
                        {
                            'chain': robot.name, 'task': task, 'solver': name, 'start': start,
                            **row, **cost,
                        }
                    )  # fmt: skip
    return rows


def _starts(
    robot: BenchRobot, extent: dict[str, object], folder: Path
) -> Iterator[tuple[str, dict[str, str], dict[str, object]]]:
    """Starts of the searches: name, solver options, and cost of the training."""
    yield 'middle', {}, {'guess_us': 0.0, 'training_s': 0.0, 'file_kb': 0.0}
    train_table(robot.chain, 100, folder / 'small.npz')  # compiles, or loads the compiled code
    for samples in extent['tables']:
        path = folder / f'{samples}.npz'
        began = time.thread_time()
        train_table(robot.chain, samples, path)
        cost = {'training_s': time.thread_time() - began, 'file_kb': path.stat().st_size / 1e3}
        options = {'seed_source': 'table', 'seed_file': str(path)}
        yield f'table {samples}', options, {'guess_us': 0.0, **cost}


def _row(solver: iks.Solver, targets: np.ndarray, repeats: int) -> dict[str, object]:
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
