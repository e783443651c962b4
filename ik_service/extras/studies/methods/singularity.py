"""
Straight lines through the singular, stretched pose of an arm, with each method.

Where an arm is stretched, no joint motion moves its tip outwards, and close to it a small motion
of the tip takes a large motion of the joints. The tip goes out along a straight line and comes
back on it. The planar arm stops where it is stretched; the Panda is led 2 cm farther than it
reaches. At each waypoint a method makes a few iterations from where it stands, as a controller
with a fixed rate would, and the result is used as it is. For comparison, the default solver with
everything that a solve does besides.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ik_service.drawing import figures
from ik_service.extras.studies.methods.line_following import follow, LineRun, LINES, WHOLE_SOLVE
from ik_service.extras.studies.tables import write_csv
from ik_service.solvers.registry import solver_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SUMMARY = 'each method through the stretched pose: joint motion, distance, manipulability'

_FLOOR = 1e-6  # smallest value drawn on an axis of logarithms: the solvers' tolerance is above it


def add_arguments(parser: ArgumentParser) -> None:
    """
    Add the options of this study.

    :param parser: of its command line.
    """
    parser.add_argument(
        '--iterations', type=int, default=5, help='of a method a waypoint (default: %(default)s)'
    )


def run(arguments: Namespace) -> list[Path]:
    """
    Follow the lines with each method, and draw what the joints do.

    :param arguments: ``output``, ``iterations``.
    :returns: the files written.
    """
    folder: Path = arguments.output
    runs = [
        follow(line, method, arguments.iterations)
        for line in LINES
        for method in (*solver_names(), WHOLE_SOLVE)
    ]
    for item in runs:
        print(
            f'  {item.arm:10} {item.method:34} largest joint step {item.joint_step.max():9.3g} '
            f'rad, largest distance {1e3 * item.position_error.max():8.3g} mm'
        )
    _draw(folder / 'singularity.png', runs)
    return [
        folder / 'singularity.png',
        _write(folder / 'singularity.csv', runs),
        _write_summary(folder / 'singularity-summary.csv', runs),
    ]


def _write(path: Path, runs: list[LineRun]) -> Path:
    columns = (
        'arm', 'method', 'waypoint', 'depth', 'position_error', 'orientation_error',
        'max_joint_step', 'manipulability',
    )  # fmt: skip
    rows = [
        (item.arm, item.method, number + 1, *values)
        for item in runs
        for number, values in enumerate(
            zip(
                item.depth, item.position_error, item.orientation_error, item.joint_step,
                item.manipulability, strict=True,
            )
        )
    ]  # fmt: skip
    return write_csv(path, columns, rows)


def _write_summary(path: Path, runs: list[LineRun]) -> Path:
    columns = (
        'arm', 'method', 'largest_joint_step', 'largest_position_error', 'final_position_error',
        'least_manipulability',
    )  # fmt: skip
    rows = [
        (
            item.arm, item.method, item.joint_step.max(), item.position_error.max(),
            item.position_error[-1], item.manipulability.min(),
        )
        for item in runs
    ]  # fmt: skip
    return write_csv(path, columns, rows)


def _draw(path: Path, runs: list[LineRun]) -> None:
    with figures.sheet(path, 13, 9.4) as figure:
        grid = figure.subplots(3, 2, sharex='col', height_ratios=(1.3, 1.3, 1))
        for column, line in zip(grid.T, LINES, strict=True):
            own = [item for item in runs if item.arm == line.arm]
            for item in own:
                _draw_run(column, item)
            column[0].set_title(f'{line.arm}: largest motion of a joint in a step [rad]')
            column[1].set_title('Distance of the tip from its waypoint [mm]')
            column[2].set_title('Manipulability')
            column[0].set(yscale='log')
            column[1].set(yscale='log')
            column[2].set(xlabel='waypoint')
            for axes in column:
                _mark_stretched(axes, own[0])
        handles, labels = grid[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, loc='outside lower center', ncols=min(len(labels), 5))


def _draw_run(column: np.ndarray, item: LineRun) -> None:
    whole = item.method == WHOLE_SOLVE
    style = {
        'color': figures.INK if whole else figures.method_color(item.method),
        'linestyle': (0, (4, 2)) if whole else '-',
        'linewidth': 1.2 if whole else 1.6,
        'label': figures.method_label(item.method),
    }
    number = 1 + np.arange(len(item.depth))
    column[0].plot(number, np.maximum(item.joint_step, _FLOOR), **style)
    column[1].plot(number, np.maximum(1e3 * item.position_error, 1e3 * _FLOOR), **style)
    column[2].plot(number, item.manipulability, **style)


def _mark_stretched(axes: Axes, item: LineRun) -> None:
    """Shade where the waypoints lie at the end of the reach or beyond it."""
    beyond = 1 + np.flatnonzero(item.depth <= 1e-12)
    axes.axvspan(beyond[0] - 0.5, beyond[-1] + 0.5, color=figures.BORDER, alpha=0.6, zorder=0)
