"""Poses per second of the batch call, on one thread and on as many as there are cores."""

from __future__ import annotations

import argparse
import os

from measure import quartiles
import numpy as np
from records import progress, save
from robots import BenchRobot, chosen_robots, MAIN

import ik_service as iks


def main() -> None:
    """Measure and save."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--count', type=int, default=20_000, help='targets in a batch')
    parser.add_argument('--repeats', type=int, default=9)
    parser.add_argument('--chains', default=','.join(MAIN), help='names, separated by commas')
    parser.add_argument('--seed', type=int, default=1, help='of the random targets')
    args = parser.parse_args()
    rows = []
    for robot in chosen_robots(args.chains):
        progress(f'batch: {robot.name}')
        rows += measure(robot, args.count, args.repeats, args.seed)
    save('batch', rows, count=args.count, repeats=args.repeats, seed=args.seed)


def measure(robot: BenchRobot, count: int, repeats: int, seed: int) -> list[dict[str, object]]:
    """Rows of the table for one robot, the numbers of threads in turn."""
    chain = robot.chain
    rng = np.random.default_rng(seed)
    postures = rng.uniform(chain.lower, chain.upper, (count, chain.n))
    targets = np.array([chain.forward(q) for q in postures])
    rates = {1: [], len(os.sched_getaffinity(0)): []}
    iks.solve_ik_batch(chain, targets[:100])
    failures = 0
    for _ in range(repeats):
        for threads, found in rates.items():
            result = iks.solve_ik_batch(chain, targets, threads=threads)
            found.append(count / result.solve_time)
            failures = int((~result.success).sum())
    return [
        {
            'chain': robot.name,
            'threads': threads,
            'poses_per_second': float(np.median(found)),
            **quartiles('times_one_thread', np.divide(found, rates[1])),
            'failures': failures,
        }
        for threads, found in rates.items()
    ]


if __name__ == '__main__':
    main()
