"""Time of one iteration against the number of joints, on generated chains, on one core."""

from __future__ import annotations

import argparse
from pathlib import Path

from kinematics import snake
from measure import use_one_core
import numpy as np
from records import progress, read_csv, RESULTS, save

import ik_service as iks

JOINTS = (3, 6, 7, 15, 30, 60)
FIGURE = Path(__file__).resolve().parents[1] / 'docs' / 'figures' / 'growth.png'


def main() -> None:
    """Measure, save and plot."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--count', type=int, default=50, help='problems for each chain')
    parser.add_argument('--repeats', type=int, default=5)
    parser.add_argument('--seed', type=int, default=1, help='of the random problems')
    args = parser.parse_args()
    use_one_core()
    rows = []
    for n in JOINTS:
        progress(f'growth: {n} joints')
        rows += measure(n, args.count, args.repeats, args.seed)
    save('growth', rows, count=args.count, repeats=args.repeats, seed=args.seed)
    plot()


def measure(n: int, count: int, repeats: int, seed: int) -> list[dict[str, object]]:
    """Rows of the table for chains of n joints: all methods in turn, the median of the repeats."""
    chain = snake(n)
    postures = np.random.default_rng(seed).uniform(chain.lower, chain.upper, (count, n))
    targets = [chain.forward(q) for q in postures]
    solvers = [iks.Solver(chain, name) for name in iks.solver_names()]
    per_iteration = {solver.name: [] for solver in solvers}
    solved = dict.fromkeys(per_iteration, 0)
    for solver in solvers:
        solver.warm_up()
    for _ in range(repeats):
        for solver in solvers:
            results = [solver.solve(T) for T in targets]
            seconds = sum(result.solve_time for result in results)
            iterations = sum(result.iterations for result in results)
            per_iteration[solver.name].append(1e9 * seconds / iterations)
            solved[solver.name] = sum(result.success for result in results)
    return [
        {
            'solver': name,
            'joints': n,
            'ns_per_iteration': float(np.median(times)),
            'ns_per_iteration_and_joint': float(np.median(times)) / n,
            'success_percent': 100.0 * solved[name] / count,
        }
        for name, times in per_iteration.items()
    ]


def plot() -> None:
    """Draw the results that lie on disk; says so where Matplotlib is absent."""
    try:
        import matplotlib as mpl
    except ImportError:
        progress('no picture: Matplotlib is not installed')
        return
    mpl.use('Agg')
    from matplotlib import pyplot as plt

    rows = read_csv(RESULTS / 'growth.csv')
    figure, axes = plt.subplots(figsize=(7, 4), layout='constrained')
    for solver in dict.fromkeys(row['solver'] for row in rows):
        own = [row for row in rows if row['solver'] == solver]
        n = [int(row['joints']) for row in own]
        axes.plot(n, [float(row['ns_per_iteration']) / 1e3 for row in own], 'o-', label=solver)
    axes.set(
        xlabel='joints', ylabel='time of an iteration [µs]', xlim=(0, None), ylim=(0, None),
        title='Generated chains, one core',
    )  # fmt: skip
    axes.grid(alpha=0.3)
    axes.legend()
    FIGURE.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(FIGURE, dpi=120)


if __name__ == '__main__':
    main()
