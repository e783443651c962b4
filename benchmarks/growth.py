"""Time of one iteration against the number of joints, on generated chains, on one core."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from records import options, progress, read_csv, RESULTS, save
from robots import random_chain
from timing import use_one_core

import ik_service as iks

JOINTS = (3, 6, 7, 15, 30, 60)
FIGURE = Path(__file__).resolve().parents[1] / 'docs' / 'figures' / 'growth.png'


def main() -> None:
    """Measure, save and plot."""
    args = options(__doc__, count=(50, 'problems for each chain'), repeats=5, seed=1)
    use_one_core()
    rows = measure(args.count, args.repeats, args.seed)
    save('growth', rows, count=args.count, repeats=args.repeats, seed=args.seed)
    plot()


def measure(count: int, repeats: int, seed: int) -> list[dict[str, object]]:
    """Rows of the table: all methods on all chains in turn, the median of the repeats."""
    chains = {n: random_chain(n) for n in JOINTS}
    targets = {n: reachable(chain, count, seed) for n, chain in chains.items()}
    solvers = {
        (n, name): iks.Solver(chain, name)
        for n, chain in chains.items()
        for name in iks.solver_names()
    }
    progress('growth: compiling')
    for solver in solvers.values():
        solver.warm_up()
    times = {key: [] for key in solvers}
    solved = {}
    for repeat in range(repeats):
        progress(f'growth: {repeat + 1} of {repeats}')
        for (n, name), solver in solvers.items():
            results = [solver.solve(T) for T in targets[n]]
            seconds = sum(result.solve_time for result in results)
            iterations = sum(result.iterations for result in results)
            times[n, name].append(1e9 * seconds / iterations)
            solved[n, name] = sum(result.success for result in results)
    return [
        {
            'solver': name,
            'joints': n,
            'ns_per_iteration': float(np.median(times[n, name])),
            'ns_per_iteration_and_joint': float(np.median(times[n, name])) / n,
            'success_percent': 100.0 * solved[n, name] / count,
        }
        for n, name in solvers
    ]


def reachable(chain: iks.KinematicChain, count: int, seed: int) -> list[np.ndarray]:
    """Targets that a chain reaches."""
    postures = np.random.default_rng(seed).uniform(chain.lower, chain.upper, (count, chain.n))
    return [chain.forward(q) for q in postures]


def plot() -> None:
    """Draw the results that lie on disk."""
    import matplotlib as mpl

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
    figure.savefig(FIGURE, dpi=120)


if __name__ == '__main__':
    main()
