"""Success, iterations and time of all methods on the same random poses."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ik_service.drawing import figures
from ik_service.drawing.arm_shape import skeleton
from ik_service.extras.studies.arms import (
    add_count,
    ARMS,
    load_arm,
    MOST_POSES,
    Search,
    SingleSearch,
)
from ik_service.extras.studies.tables import series, write_csv, write_summary
from ik_service.kinematics.chain import KinematicChain
from ik_service.solvers.options import IkOptions
from ik_service.solvers.registry import solver_names
from ik_service.solvers.solver import Solver

if TYPE_CHECKING:
    from matplotlib.axes import Axes


SUMMARY = 'all methods on the same random poses: success, iterations, searches, time'

_RANDOM_SEED = 4  # of the poses
# Of every solve, which always takes the same steps: the fastest is the one that was not disturbed.
_REPEATS = 3

_ARM = 'planar_6r'
_SEED = (0.9, -0.5, -0.3, -0.4, -0.5, -0.3)  # bent, far from the limits [rad]
_TARGET = (-0.08, 0.36)  # in the frame of the base [m]
_OPTIONS = IkOptions(task_weights=(1.0, 1.0, 0.0, 0.0, 0.0, 0.0), joint_limits='ignore')
_ITERATIONS = 300  # of a search, at most
_POSTURES = 10  # drawn, of the iterations
_SHOWN = 40  # iterations of the curves


@dataclass(frozen=True)
class Record:
    """Results (N,) of a method on poses of an arm; time in the compiled solver [s]."""

    arm: str
    method: str
    success: np.ndarray
    iterations: np.ndarray
    searches: np.ndarray
    time: np.ndarray


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options of this study."""
    add_count(parser, '--poses', MOST_POSES, 1000, 'poses of each arm')


def run(arguments: Namespace) -> list[Path]:
    """Solve ``poses`` with each method, with its defaults, from the middle of the limits."""
    folder: Path = arguments.output
    records = [
        measure(arm, chain, method, targets)
        for arm, chain, targets in problems(arguments.poses)
        for method in solver_names()
    ]
    _draw(folder / 'convergence.png', records)
    rows = [{'arm': item.arm, 'method': item.method, **summary(item)} for item in records]
    return [
        folder / 'convergence.png',
        write_summary(folder / 'convergence.csv', rows),
        *draw_methods(folder),
    ]


def problems(poses: int) -> Iterator[tuple[str, KinematicChain, list[np.ndarray]]]:
    """Yield the arms with their names and random reachable poses, always the same."""
    for arm in ARMS:
        chain = load_arm(arm)
        yield arm, chain, [chain.forward(q) for q in chain.random_postures(poses, _RANDOM_SEED)]


def measure(
    arm: str,
    chain: KinematicChain,
    method: str,
    targets: list[np.ndarray],
    options: IkOptions | None = None,
) -> Record:
    """Solve all targets, T_base_tip (4, 4) each, with a method and its options."""
    solver = Solver(chain, method, options)
    solver.warm_up()
    results = [solver.solve(target) for target in targets]
    times = [[result.solve_time for result in results]]
    times += [[solver.solve(target).solve_time for target in targets] for _ in range(_REPEATS - 1)]
    return Record(
        arm,
        method,
        success=np.array([result.success for result in results]),
        iterations=np.array([result.iterations for result in results]),
        searches=np.array([result.searches for result in results]),
        time=np.min(times, axis=0),
    )


def summary(record: Record) -> dict[str, float]:
    """Return number of poses, shares [%], iterations, searches and times [s] of a record."""
    return {
        'poses': len(record.success),
        'success_percent': 100.0 * record.success.mean(),
        'first_search_percent': 100.0 * (record.success & (record.searches == 1)).mean(),
        'mean_iterations': record.iterations.mean(),
        'median_iterations': float(np.median(record.iterations)),
        'mean_searches': record.searches.mean(),
        'mean_time': record.time.mean(),
        'median_time': float(np.median(record.time)),
    }


def _draw(path: Path, records: list[Record]) -> None:
    with figures.sheet(path, 13, 7.6) as figure:
        grid = figure.subplots(2, len(ARMS), sharex='row', sharey='row')
        for number, arm in enumerate(ARMS):
            for record in [record for record in records if record.arm == arm]:
                label = figures.method_label(record.method)
                draw_share(grid[0, number], record, 'iterations', label=label)
                draw_share(grid[1, number], record, 'time', scale=1e6)
            grid[0, number].set(xlabel='iterations, over all searches')
            grid[0, number].set_title(f'{arm}: poses reached [%]')
            grid[1, number].set(xlabel='time [µs]')
        handles, labels = grid[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, loc='outside lower center', ncols=len(labels))


def draw_share(
    axes: Axes,
    record: Record,
    quantity: str,
    scale: float = 1.0,
    label: str | None = None,
    linestyle: str = '-',
) -> None:
    """Draw the share of the poses that is reached within an effort, over the effort."""
    effort = np.maximum(np.sort(scale * getattr(record, quantity)[record.success]), 1e-9)
    share = 100.0 * np.arange(1, len(effort) + 1) / len(record.success)
    color = figures.method_color(record.method)
    axes.step(effort, share, where='post', color=color, label=label, linestyle=linestyle)
    axes.set(xscale='log', ylim=(0, 102))


def draw_methods(folder: Path) -> list[Path]:
    """Draw ``method-<name>.png`` of every solver, and write ``method-paths.csv``."""
    chain = load_arm(_ARM)
    target = np.eye(4)
    target[:2, 3] = _TARGET
    searches = {
        name: SingleSearch(chain, name, _ITERATIONS, _OPTIONS).run(target, np.array(_SEED))
        for name in solver_names()
    }
    paths = [_draw_method(folder / f'method-{name}.png', name, searches) for name in searches]
    rows = [
        row
        for name, search in searches.items()
        for row in series(
            {'method': name},
            'iteration',
            position_error=search.position_error,
            max_joint_step=search.joint_motion,
        )
    ]
    return [*paths, write_csv(folder / 'method-paths.csv', rows)]


def _draw_method(path: Path, name: str, searches: dict[str, Search]) -> Path:
    color = figures.method_color(name)
    with figures.sheet(path, 9.0, 3.3) as figure:
        arm, error, motion = figure.subplots(1, 3, width_ratios=(1.1, 1, 1))
        _draw_arm(arm, searches[name], color)
        for other, search in searches.items():
            own = other == name
            style = {
                'color': color if own else figures.BORDER,
                'linewidth': 2.0 if own else 1.0,
                'zorder': 3 if own else 1,
            }
            steps = np.arange(min(len(search.q), _SHOWN + 1))
            error.plot(steps, 1e3 * search.position_error[steps], **style)
            motion.plot(steps[1:], search.joint_motion[steps[1:]], **style)
        error.set_title('Distance [mm]')
        motion.set_title('Largest motion of a joint [rad]')
        for axes in (error, motion):
            axes.set(yscale='log', xlabel='iteration', xlim=(0, _SHOWN))
        error.set_ylim(bottom=1e-3)
        motion.set_ylim(bottom=1e-6)
    return path


def _draw_arm(axes: Axes, search: Search, color: str) -> None:
    chain = load_arm(_ARM)
    last = len(search.q) - 1
    for number in sorted({0, *range(min(_POSTURES, last)), last}):
        points = skeleton(chain, search.q[number]).points
        first, final = number == 0, number == last
        axes.plot(
            points[:, 0],
            points[:, 1],
            'o-' if first or final else '-',
            color=figures.FAINT if first else color,
            alpha=1.0 if first or final else 0.35,
            linewidth=2.2 if first or final else 1.1,
            markersize=3.5,
            zorder=3 if final else 2,
        )
    axes.plot(*_TARGET, 'o', color=figures.ACCENT, markersize=8, markeredgecolor='white', zorder=4)
    axes.set_aspect('equal', adjustable='datalim')
    axes.set_title(f'The way to the target, {last} iterations')
    axes.tick_params(labelbottom=False, labelleft=False)
