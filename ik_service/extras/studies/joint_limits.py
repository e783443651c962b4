"""
Strategies for joint limits, and the cost of each.

All methods with all strategies on the same poses, and the penalty with weights over many orders
of magnitude: too light, and the answer lies beyond a limit; too heavy, and the penalty's curvature
drowns that of the error, so that steps along the limit become as short as those across it.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ik_service.drawing import figures
from ik_service.extras.studies.arms import add_count, load_arm, MOST_POSES
from ik_service.extras.studies.tables import write_summary
from ik_service.kinematics.chain import KinematicChain
from ik_service.solvers.options import IkOptions, JOINT_LIMIT_STRATEGIES
from ik_service.solvers.registry import solver_names
from ik_service.solvers.solver import Solver

if TYPE_CHECKING:
    from matplotlib.axes import Axes


SUMMARY = 'the strategies for joint limits with every method, and the weight of a penalty'

_ARM = 'panda'
_RANDOM_SEED = 5  # of the poses
# Methods for which the penalty's weight is varied, and the weights.
_WEIGHTED = ('levenberg_marquardt', 'pseudoinverse', 'bfgs', 'conjugate_gradient')
_PENALTY_WEIGHTS = tuple(10.0**k for k in range(-4, 7))


@dataclass(frozen=True)
class Record:
    """Results of a method with a strategy; shares [%], the weight NaN without a penalty."""

    method: str
    strategy: str
    penalty_weight: float
    poses: int
    success_percent: float
    within_limits_percent: float
    mean_iterations: float
    mean_searches: float
    mean_time: float


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options of this study."""
    add_count(parser, '--poses', MOST_POSES, 300, 'poses to solve')


def run(arguments: Namespace) -> list[Path]:
    """Solve ``poses`` with each method and strategy."""
    folder: Path = arguments.output
    chain = load_arm(_ARM)
    targets = [chain.forward(q) for q in chain.random_postures(arguments.poses, _RANDOM_SEED)]
    records = [
        measure(chain, targets, method, strategy)
        for method in solver_names()
        for strategy in JOINT_LIMIT_STRATEGIES
    ]
    weighted = [
        measure(chain, targets, method, 'penalty', weight)
        for method in _WEIGHTED
        for weight in _PENALTY_WEIGHTS
    ]
    _draw(folder / 'joint-limits.png', records, weighted)
    return [
        folder / 'joint-limits.png',
        write_summary(folder / 'joint-limits.csv', map(asdict, records)),
        write_summary(folder / 'joint-limits-penalty.csv', map(asdict, weighted)),
    ]


def measure(
    chain: KinematicChain,
    targets: list[np.ndarray],
    method: str,
    strategy: str,
    weight: float | None = None,
) -> Record:
    """Solve T_base_tip from the middle of the limits."""
    shown = np.nan if weight is None else weight
    options = IkOptions(joint_limits=strategy)
    if weight is not None:
        options = replace(options, penalty_weight=weight)
    solver = Solver(chain, method, options)
    solver.warm_up()
    results = [solver.solve(target) for target in targets]
    q = np.array([result.q for result in results])
    within = np.all((chain.lower <= q) & (q <= chain.upper), axis=1)
    return Record(
        method,
        strategy,
        shown,
        len(targets),
        success_percent=100.0 * float(np.mean([result.success for result in results])),
        within_limits_percent=100.0 * float(within.mean()),
        mean_iterations=float(np.mean([result.iterations for result in results])),
        mean_searches=float(np.mean([result.searches for result in results])),
        mean_time=float(np.mean([result.solve_time for result in results])),
    )


def _draw(path: Path, records: list[Record], weighted: list[Record]) -> None:
    with figures.sheet(path, 13, 5.4) as figure:
        parts = figure.subplot_mosaic([['success', 'weights'], ['effort', 'weights']])
        for name, quantity in (('success', 'success_percent'), ('effort', 'mean_iterations')):
            _draw_strategies(parts[name], records, quantity)
        parts['success'].set_title(f'{_ARM}: poses reached [%]')
        parts['success'].set_ylim(0, 104)
        parts['success'].tick_params(labelbottom=False)
        parts['effort'].set_title('Iterations, mean over all searches')
        parts['effort'].set_yscale('log')
        figure.legend(
            *parts['success'].get_legend_handles_labels(),
            loc='outside lower left',
            ncols=len(JOINT_LIMIT_STRATEGIES),
        )
        _draw_weights(parts['weights'], weighted)


def _draw_strategies(axes: Axes, records: list[Record], quantity: str) -> None:
    methods = list(dict.fromkeys(record.method for record in records))
    width = 0.8 / len(JOINT_LIMIT_STRATEGIES)
    for number, strategy in enumerate(JOINT_LIMIT_STRATEGIES):
        own = [record for record in records if record.strategy == strategy]
        places = np.arange(len(methods)) + (number - 2) * width
        values = [getattr(record, quantity) for record in own]
        axes.bar(places, values, 0.9 * width, color=figures.PALETTE[number], label=strategy)
    labels = [figures.method_label(name).replace(' ', '\n') for name in methods]
    axes.set_xticks(range(len(methods)), labels, fontsize='small')
    axes.grid(axis='x', visible=False)


def _draw_weights(axes: Axes, weighted: list[Record]) -> None:
    for method in _WEIGHTED:
        own = [record for record in weighted if record.method == method]
        axes.plot(
            [record.penalty_weight for record in own],
            [record.mean_iterations for record in own],
            'o-',
            markersize=4,
            color=figures.method_color(method),
            label=figures.method_label(method),
        )
    axes.set(xscale='log', yscale='log', xlabel='weight of the penalty')
    axes.set_title('Penalty: iterations over its weight')
    axes.legend(loc='best')
