"""Failures, time and searches of the default method on every chain, on one core."""

from __future__ import annotations

import numpy as np
from records import options, progress, save
from robots import BenchRobot, shared_robots
from timing import times_row, use_one_core
from verifier import Verifier

import ik_service as iks

# Solve rate [%] and mean time [ms] of TRAC-IK in Speed mode: the table in the README of TRAC-IK
# 1.5.1 (Beeson and Ames, TRACLabs), of the protocol that is repeated here.
TRAC_IK = {
    'ABB IRB120': (99.96, 0.24),
    'ABB Yumi single arm': (99.70, 0.42),
    'Baxter arm': (99.83, 0.37),
    'Franka Panda': (99.88, 0.37),
    'KUKA LBR iiwa 14 R820': (99.92, 0.28),
    'Motoman CSDA10F torso/1-arm': (99.96, 0.32),
    'Motoman MH180': (99.99, 0.18),
    'PR2 arm': (99.96, 0.31),
    'Schunk LWA4D': (100.00, 0.23),
    'UR5': (99.17, 0.37),
    'UR10': (99.33, 0.36),
}


def main() -> None:
    """Measure and save."""
    args = options(
        __doc__,
        count=(10_000, 'problems for each chain'),
        chains=('', 'names, separated by commas; else all'),
        seed=1,
        save_as=('chains', 'name of the table'),
    )
    use_one_core()
    wanted = args.chains.split(',')
    rows = []
    for robot in shared_robots():
        if args.chains and robot.name not in wanted:
            continue
        progress(f'chains: {robot.name}')
        rows.append(measure(robot, args.count, args.seed))
    save(args.save_as, rows, count=args.count, seed=args.seed)


def measure(robot: BenchRobot, count: int, seed: int) -> dict[str, object]:
    """One row of the table; times are those of the compiled solver."""
    verifier = Verifier(robot)
    problems = verifier.problems(robot, count, seed)
    solver = iks.Solver(robot.chain)
    solver.warm_up()
    failures, seconds, searches = 0, np.empty(count), np.empty(count)
    for k, (T, start) in enumerate(zip(problems.targets, problems.seeds, strict=True)):
        result = solver.solve(T, start)
        seconds[k], searches[k] = result.solve_time, result.searches
        failures += not (result.success and verifier.accepts(result.q, T))
    rate, milliseconds = TRAC_IK.get(robot.table_row, ('', ''))
    return {
        'chain': robot.name,
        'joints': robot.chain.n,
        'problems': count,
        'failures': failures,
        **times_row(seconds),
        'max_us': 1e6 * seconds.max(),
        'mean_searches': searches.mean(),
        'max_searches': int(searches.max()),
        'trac_ik_percent': rate,
        'trac_ik_us': 1000.0 * milliseconds if milliseconds else '',
    }


if __name__ == '__main__':
    main()
