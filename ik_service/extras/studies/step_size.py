"""
Fixed step gains of pseudoinverse and transpose: too short is slow, too long diverges.

The posts that introduce the pseudoinverse and the transpose multiply each step by a number h, of
0.01 or "potentially even as low as 0.000000001". Close to the solution the error shrinks by
|1 − h| in a step of the pseudoinverse, so that h = 2 is the end, and with the transpose by
|1 − hσ²| along each axis of J, so that 2/σ² of the largest singular value σ is.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from dataclasses import dataclass, replace
import math
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ik_service.drawing import figures
from ik_service.extras.studies.arms import (
    add_count,
    load_arm,
    MOST_ITERATIONS,
    Search,
    SingleSearch,
)
from ik_service.extras.studies.tables import write_csv, write_summary
from ik_service.kinematics.chain import KinematicChain
from ik_service.solvers.options import IkOptions
from ik_service.solvers.solver import solve_ik

if TYPE_CHECKING:
    from matplotlib.axes import Axes


SUMMARY = 'fixed steps h of pseudoinverse and transpose, from 1e-9 to too large'

_ARM = 'panda'
_SEED = (0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785)  # the Panda's ready posture [rad]
_GOAL = (0.7, 0.1, 0.2, -1.7, 0.3, 2.0, 0.6)  # the posture whose pose is the target [rad]
_POSITION = (1.0, 1.0, 1.0, 0.0, 0.0, 0.0)  # task weights
_TOLERANCE = 1e-5  # [m]
_SHOWN = {
    'pseudoinverse': (1e-9, 1e-3, 1e-2, 0.1, 0.5, 1.0, 1.9, 2.1, 3.0),
    'transpose': (1e-9, 1e-3, 1e-2, 0.1, 0.5, 1.0, 2.0, 4.0, 8.0),
}
_SWEEP = tuple(np.geomspace(1e-3, 10.0, 81))
CONVERGED, SLOW, DIVERGED = 'converged', 'slow', 'diverged'


@dataclass(frozen=True)
class FixedGainRun:
    """Iterations with a fixed gain: CONVERGED, SLOW or DIVERGED, and status of a solve."""

    method: str
    gain: float
    search: Search
    outcome: str
    answer: str

    @property
    def iterations(self) -> int:
        """Steps that were taken."""
        return len(self.search.q) - 1


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options of this study."""
    add_count(parser, '--iterations', MOST_ITERATIONS, 1000, 'steps to take')


def run(arguments: Namespace) -> list[Path]:
    """Iterate with many fixed gains, ``iterations`` steps each, and draw the errors."""
    folder: Path = arguments.output
    chain = load_arm(_ARM)
    bounds = largest_stable_gains(chain)
    gains = {name: sorted({*_SWEEP, *shown}) for name, shown in _SHOWN.items()}
    runs = [
        run_fixed_gain(chain, name, gain, arguments.iterations)
        for name, several in gains.items()
        for gain in several
    ]
    curves = [item for item in runs if item.gain in _SHOWN[item.method]]
    _draw(folder / 'step-size.png', runs, curves, bounds)
    return [
        folder / 'step-size.png',
        write_csv(folder / 'step-size.csv', [row for item in curves for row in _curve(item)]),
        write_summary(
            folder / 'step-size-outcomes.csv',
            [_summary(item, bounds[item.method]) for item in runs],
        ),
    ]


def run_fixed_gain(
    chain: KinematicChain, method: str, gain: float, iterations: int
) -> FixedGainRun:
    """Iterate with a fixed step gain of 'pseudoinverse' or 'transpose'."""
    options = IkOptions(
        step_gain=float(gain),
        task_weights=_POSITION,
        joint_limits='ignore',
        position_tolerance=_TOLERANCE,
    )
    target = chain.forward(_GOAL)
    search = SingleSearch(chain, method, iterations, options).run(target, np.array(_SEED))
    answer = solve_ik(chain, target, _SEED, method, replace(options, max_searches=1))
    return FixedGainRun(method, float(gain), search, _outcome(search), answer.status.name)


def largest_stable_gains(chain: KinematicChain) -> dict[str, float]:
    """Return by method the gain h beyond which steps diverge, from the Jacobian at the goal."""
    reached = SingleSearch(chain, 'pseudoinverse', 100, IkOptions(task_weights=_POSITION)).run(
        chain.forward(_GOAL), np.array(_SEED)
    )
    largest = float(np.linalg.norm(chain.jacobian(reached.q[-1])[:3], 2))
    return {'pseudoinverse': 2.0, 'transpose': 2.0 / largest**2}


def _outcome(search: Search) -> str:
    """Outcome of a search, by the errors of its last tenth against those of the tenth before."""
    error = search.position_error
    if error[-1] <= _TOLERANCE:
        return CONVERGED
    tenth = max(1, len(error) // 10)
    later, earlier = error[-tenth:], error[-2 * tenth : -tenth]
    return SLOW if later.max() < earlier.min() else DIVERGED


def _curve(item: FixedGainRun) -> Iterator[dict[str, object]]:
    for k in _spread(item.iterations):
        yield {
            'method': item.method,
            'step_gain': item.gain,
            'iteration': k,
            'position_error': item.search.position_error[k],
            'max_joint_step': item.search.joint_motion[k],
        }


def _summary(item: FixedGainRun, largest_stable: float) -> dict[str, object]:
    return {
        'method': item.method,
        'step_gain': item.gain,
        'largest_stable': largest_stable,
        'outcome': item.outcome,
        'iterations': item.iterations,
        'position_error': item.search.position_error[-1],
        'largest_joint_step': item.search.joint_motion.max(),
        'answer': item.answer,
    }


def _spread(iterations: int) -> list[int]:
    """All of the first iterations, and ever fewer of the later ones."""
    later = np.geomspace(20, max(iterations, 20), 60).astype(int).tolist()
    return sorted({k for k in (*range(20), *later) if k <= iterations})


def _draw(
    path: Path, runs: list[FixedGainRun], curves: list[FixedGainRun], bounds: dict[str, float]
) -> None:
    with figures.sheet(path, 15, 4.6) as figure:
        left, middle, right = figure.subplots(1, 3, width_ratios=(1, 1, 0.85))
        for axes, name in ((left, 'pseudoinverse'), (middle, 'transpose')):
            _draw_curves(axes, [item for item in curves if item.method == name])
            axes.set_title(f'{figures.method_label(name)}: distance from the target [m]')
        _draw_counts(right, runs, bounds)


def _draw_curves(axes: Axes, curves: list[FixedGainRun]) -> None:
    from matplotlib import colormaps

    for item, shade in zip(curves, np.linspace(0.0, 0.9, len(curves)), strict=True):
        steps = np.array(_spread(item.iterations)[1:])
        diverges = item.outcome == DIVERGED
        axes.plot(
            steps,
            item.search.position_error[steps],
            color=figures.ACCENT if diverges else colormaps['viridis'](shade),
            linewidth=0.9 if diverges else 1.8,
            alpha=0.8 if diverges else 1.0,
            zorder=1 if diverges else 2,
            label=f'h = {item.gain:g}' + (', diverges' if diverges else ''),
        )
    axes.set(xscale='log', yscale='log', xlabel='step', ylim=(_TOLERANCE, 3.0))
    axes.legend(loc='upper left', bbox_to_anchor=(1.0, 1.0))


def _draw_counts(axes: Axes, runs: list[FixedGainRun], bounds: dict[str, float]) -> None:
    for name, bound in bounds.items():
        own = [item for item in runs if item.method == name and item.gain >= _SWEEP[0]]
        color = figures.method_color(name)
        steps = [item.iterations if item.outcome == CONVERGED else math.nan for item in own]
        axes.plot([item.gain for item in own], steps, color=color, label=name)
        axes.axvline(bound, color=color, linestyle=':', linewidth=1.2)
    axes.set(xscale='log', xlabel='h')
    if any(item.outcome == CONVERGED for item in runs):  # else there is nothing to scale
        axes.set_yscale('log')
    axes.set_title('Steps until it is within 10 µm')
    axes.legend(loc='lower left', title='dotted: where steps diverge', alignment='left')
