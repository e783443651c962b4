"""Poses per second of the batch call, on one thread and on as many as there are cores."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
import os
from time import perf_counter

import numpy as np
from records import Row
from robots import BenchRobot, MAIN
from timing import measure_robots, quartiles

import ik_service as iks


def main() -> None:
    """Measure and save."""
    measure_robots(
        'batch',
        __doc__,
        measure,
        one_core=False,
        count=(20_000, 'targets in a batch'),
        repeats=9,
        chains=','.join(MAIN),
        seed=(1, 'of the random targets'),
    )


def measure(robot: BenchRobot, count: int, repeats: int, seed: int) -> list[Row]:
    """Rows of the table for one robot, the numbers of threads in turn."""
    chain = robot.chain
    rng = np.random.default_rng(seed)
    postures = rng.uniform(chain.lower, chain.upper, (count, chain.n))
    targets = np.array([chain.forward(q) for q in postures])
    cores = len(os.sched_getaffinity(0))
    calls = {
        '1': lambda: iks.solve_ik_batch(chain, targets, threads=1),
        f'{cores}': lambda: iks.solve_ik_batch(chain, targets, threads=cores),
        f'{cores}, each a batch of its own': lambda: _side_by_side(chain, targets, cores),
    }
    seconds = {name: [] for name in calls}
    failures = int((~iks.solve_ik_batch(chain, targets).success).sum())
    for _ in range(repeats):
        for name, call in calls.items():
            began = perf_counter()
            call()
            seconds[name].append(perf_counter() - began)
    return [
        {
            'threads': name,
            'poses_per_second': count / float(np.median(times)),
            **quartiles('times_one_thread', np.divide(seconds['1'], times)),
            'failures': failures,
        }
        for name, times in seconds.items()
    ]


def _side_by_side(chain: iks.KinematicChain, targets: np.ndarray, threads: int) -> None:
    """Solve batches on one thread each at the same time, which shows the machine's own limit."""
    with ThreadPoolExecutor(threads) as pool:
        shares = np.array_split(targets, threads)
        list(pool.map(lambda share: iks.solve_ik_batch(chain, share, threads=1), shares))


if __name__ == '__main__':
    main()
