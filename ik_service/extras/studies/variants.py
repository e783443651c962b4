"""
Accelerated and classical variants of the methods that have both.

The classical variants are the methods of the textbooks. On a pose they converge slowly: distances
and rotations have different scales, and neither a step along the transpose nor a cycle over the
joints uses the last one's result. The accelerated variants weigh both alike, and learn from the
steps before.
"""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ik_service.drawing import figures
from ik_service.extras.studies.arms import ARMS, load_arm, Search, SingleSearch
from ik_service.extras.studies.convergence import (
    add_arguments,
    draw_share,
    measure,
    problems,
    Record,
    summary,
)
from ik_service.extras.studies.tables import write_summary
from ik_service.kinematics.chain import KinematicChain
from ik_service.solvers.options import IkOptions, VARIANTS
from ik_service.solvers.registry import solver_names, solver_spec

if TYPE_CHECKING:
    from matplotlib.axes import Axes


__all__ = ['SUMMARY', 'add_arguments', 'run']

SUMMARY = 'accelerated and classical variants of transpose and ccd: success, iterations, time'

# A pose that both variants reach in one search from the middle of the limits.
_ARM = 'panda'
_GOAL = (0.7, 0.1, 0.2, -1.7, 0.3, 2.0, 0.6)  # the posture whose pose is the target [rad]
_ITERATIONS = 5000  # of a search, at most
_STYLES = {'accelerated': '-', 'classical': ':'}

Runs = dict[tuple[str, str, str], Record]
Searches = dict[tuple[str, str], Search]


def methods() -> tuple[str, ...]:
    """Return the names of the methods that have variants."""
    return tuple(name for name in solver_names() if solver_spec(name).variants)


def run(arguments: Namespace) -> list[Path]:
    """Solve ``poses`` with each variant of each method, from the middle of the limits."""
    folder: Path = arguments.output
    runs: Runs = {
        (arm, name, variant): measure(arm, chain, name, targets, IkOptions(variant=variant))
        for arm, chain, targets in problems(arguments.poses)
        for name in methods()
        for variant in VARIANTS
    }
    searches = {
        (name, variant): single_search(load_arm(_ARM), name, variant)
        for name in methods()
        for variant in VARIANTS
    }
    _draw(folder / 'variants.png', runs, searches)
    rows = []
    for (arm, name, variant), record in runs.items():
        steps = len(searches[name, variant].q) - 1 if arm == _ARM else np.nan
        labels = {'arm': arm, 'method': name, 'variant': variant}
        rows.append({**labels, **summary(record), 'single_search_iterations': steps})
    return [folder / 'variants.png', write_summary(folder / 'variants.csv', rows)]


def single_search(chain: KinematicChain, method: str, variant: str) -> Search:
    """Search once for a pose of the Panda with a variant of a method, without giving up."""
    search = SingleSearch(chain, method, _ITERATIONS, IkOptions(variant=variant))
    return search.run(chain.forward(_GOAL), chain.mid_range())


def _draw(path: Path, runs: Runs, searches: Searches) -> None:
    with figures.sheet(path, 14, 6.4) as figure:
        grid = figure.subplots(len(methods()), len(ARMS) + 1, sharex='col')
        for row, name in zip(grid, methods(), strict=True):
            for axes, arm in zip(row, ARMS, strict=False):
                for variant in VARIANTS:
                    record, style = runs[arm, name, variant], _STYLES[variant]
                    draw_share(axes, record, 'iterations', label=variant, linestyle=style)
                axes.set_title(f'{figures.method_label(name)}, {arm}: poses reached [%]')
            _draw_search(row[-1], name, searches)
        for axes in grid[-1]:
            axes.set(xlabel='iterations')
        grid[0, 0].legend(loc='lower right')


def _draw_search(axes: Axes, name: str, searches: Searches) -> None:
    for variant in VARIANTS:
        error = searches[name, variant].position_error
        axes.plot(
            np.arange(1, len(error)),
            1e3 * error[1:],
            color=figures.method_color(name),
            linestyle=_STYLES[variant],
        )
    axes.set(xscale='log', yscale='log')
    axes.set_title(f'{figures.method_label(name)}, one search: distance [mm]')
