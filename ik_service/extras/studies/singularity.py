"""Straight lines through stretched poses, followed by single searches or whole solves."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ik_service.drawing import figures
from ik_service.extras.studies.arms import (
    add_count,
    load_arm,
    manipulability,
    MOST_ITERATIONS,
    SingleSearch,
)
from ik_service.extras.studies.tables import series, write_csv, write_summary
from ik_service.kinematics.chain import KinematicChain
from ik_service.kinematics.link_poses import link_poses
from ik_service.kinematics.pose_error import pose_error
from ik_service.solvers.options import IkOptions
from ik_service.solvers.registry import DEFAULT_SOLVER, solver_names
from ik_service.solvers.solver import Solver

if TYPE_CHECKING:
    from matplotlib.axes import Axes


WHOLE_SOLVE = f'{DEFAULT_SOLVER}, whole solve'
SPACING = 1 / 300  # of the waypoints [m]

SUMMARY = 'each method through the stretched pose: joint motion, distance, manipulability'

_FLOOR = 1e-6  # smallest value drawn on an axis of logarithms: the solvers' tolerance is above it


@dataclass(frozen=True)
class Line:
    """
    A straight line through a stretched pose.

    :ivar rows: rows of the Jacobian that the task has.
    :ivar seed: (n,) from where the first waypoint is solved.
    :ivar stretched: (n,) the stretched posture.
    :ivar links: the line runs away from the first link's origin, through the second's.
    :ivar start: distance of its ends from the stretched pose [m].
    :ivar beyond: how far it leads beyond that [m].
    """

    arm: str
    weights: tuple[float, ...]
    rows: slice
    seed: tuple[float, ...]
    stretched: tuple[float, ...]
    links: tuple[str, str]
    start: float
    beyond: float


LINES = (
    Line(
        arm='planar_6r',
        weights=(1.0, 1.0, 1.0, 0.0, 0.0, 0.0),
        rows=slice(0, 2),
        seed=(0.4, -0.5, -0.3, 0.9, -0.2, -0.6),
        stretched=(0.0,) * 6,
        links=('base_link', 'tool0'),
        start=0.2,
        beyond=0.0,
    ),
    # Its elbow is stretched where shoulder and wrist are farthest from each other, which is at
    # −(atan(82.5 / 316) + atan(82.5 / 384)) rather than at 0.
    Line(
        arm='panda',
        weights=(1.0,) * 6,
        rows=slice(0, 6),
        seed=(0.0, 0.3, 0.0, -1.2, 0.0, 1.6, 0.785),
        stretched=(0.0, 0.9, 0.0, -0.46697, 0.0, 1.8, 0.785),
        links=('panda_link2', 'panda_link6'),
        start=0.2,
        beyond=0.02,
    ),
)


@dataclass(frozen=True)
class LineRun:
    """
    Errors and motions of a method along a line of K waypoints.

    :ivar method: name of the solver, or WHOLE_SOLVE.
    :ivar depth: (K,) distance of each waypoint from the stretched pose, negative beyond it [m].
    :ivar position_error: (K,) [m].
    :ivar orientation_error: (K,) [rad].
    :ivar joint_step: (K,) largest motion of a joint since the waypoint before [rad].
    :ivar manipulability: (K,) of the posture at each waypoint.
    """

    arm: str
    method: str
    depth: np.ndarray
    position_error: np.ndarray
    orientation_error: np.ndarray
    joint_step: np.ndarray
    manipulability: np.ndarray


def follow(line: Line, method: str, iterations: int) -> LineRun:
    """Follow a line with one of :func:`~ik_service.solver_names`, or WHOLE_SOLVE."""
    chain = load_arm(line.arm)
    depth, targets = waypoints(chain, line)
    options = IkOptions(task_weights=line.weights, joint_limits='ignore')
    solver, search = Solver(chain, options=options), None
    if method != WHOLE_SOLVE:
        search = SingleSearch(chain, method, iterations, options)
    q = solver.solve(targets[0], line.seed).q
    rows = []
    for target in targets[1:]:
        before = q
        q = search.run(target, q).q[-1] if search else solver.solve(target, q).q
        error = np.sqrt(line.weights) * pose_error(chain.forward(q), target)
        distance, rotation = np.linalg.norm(error[:3]), np.linalg.norm(error[3:])
        step = abs(q - before).max()
        rows.append((distance, rotation, step, manipulability(chain, q, line.rows)))
    return LineRun(line.arm, method, depth[1:], *np.array(rows).T)


def waypoints(chain: KinematicChain, line: Line) -> tuple[np.ndarray, list[np.ndarray]]:
    """Distances (K,) from the stretched pose [m], negative beyond, and the targets T_base_tip."""
    count = round((line.start + line.beyond) / SPACING) + 1
    out = np.linspace(line.start, -line.beyond, count)
    depth = np.concatenate([out, out[-2::-1]])
    stretched = dict(zip(chain.joint_names, line.stretched, strict=True))
    poses = link_poses(chain.robot, stretched)
    near, far = (poses[name][:3, 3] for name in line.links)
    direction = (far - near) / np.linalg.norm(far - near)
    targets = [chain.forward(line.stretched) for _ in depth]
    for target, value in zip(targets, depth, strict=True):
        target[:3, 3] -= value * direction
    return depth, targets


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options of this study."""
    add_count(parser, '--iterations', MOST_ITERATIONS, 5, 'of a method a waypoint')


def run(arguments: Namespace) -> list[Path]:
    """Follow the lines with each method, by ``iterations`` a waypoint; draw the joint motions."""
    folder: Path = arguments.output
    runs = [
        follow(line, method, arguments.iterations)
        for line in LINES
        for method in (*solver_names(), WHOLE_SOLVE)
    ]
    curves = [
        row
        for item in runs
        for row in series(
            {'arm': item.arm, 'method': item.method},
            'waypoint',
            1,
            depth=item.depth,
            position_error=item.position_error,
            orientation_error=item.orientation_error,
            max_joint_step=item.joint_step,
            manipulability=item.manipulability,
        )
    ]
    _draw(folder / 'singularity.png', runs)
    return [
        folder / 'singularity.png',
        write_csv(folder / 'singularity.csv', curves),
        write_summary(folder / 'singularity-summary.csv', map(_summary, runs)),
    ]


def _summary(item: LineRun) -> dict[str, object]:
    return {
        'arm': item.arm,
        'method': item.method,
        'largest_joint_step': item.joint_step.max(),
        'largest_position_error': item.position_error.max(),
        'final_position_error': item.position_error[-1],
        'least_manipulability': item.manipulability.min(),
    }


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
