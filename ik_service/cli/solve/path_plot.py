"""Figure of ``ik_solve --path --plot``: the joints over the path, its steps, and the arm."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ik_service.cli.formatting import time_text
from ik_service.cli.solve.path_text import largest_step
from ik_service.cli.solve.plot import draw_limits, joint_grid
from ik_service.cli.solve.request import PathRequest
from ik_service.drawing import arm_figure
from ik_service.drawing.arm_shape import skeleton
from ik_service.drawing.figures import ACCENT, FAINT, INK, PALETTE, sheet

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import SubFigure

    from ik_service.paths.search.result import PathResult

_SIZE = (14.0, 7.0)  # [inches]
_CURVE = PALETTE[0]
_COLUMN = 4  # joints in one column
# Share of a joint's limits or of its motion that is added around its curve.
_SPARE = 0.15
# Range that an axis shows at least, so that noise stays noise [° or m].
_LEAST = 0.01
_MOST_POINTS = 4000  # of a curve; more cannot be distinguished


def draw_path(file: Path, request: PathRequest, path: PathResult) -> None:
    """
    Draw the joints over the path, the largest step at each pose, and the arm.

    :raises OSError: the file cannot be written.
    """
    with sheet(file, *_SIZE) as figure:
        joints, right = figure.subfigures(1, 2, squeeze=False, width_ratios=(1.55, 1.0))[0]
        upper, lower = right.subfigures(2, 1, squeeze=False, height_ratios=(1.9, 1.0))[:, 0]
        figure.suptitle(_title(request, path), x=0.012, ha='left')
        _draw_joints(joints, request, path)
        _draw_arm(upper, request, path)
        _draw_steps(lower, request, path)


def _title(request: PathRequest, path: PathResult) -> str:
    arm = f'{request.chain.robot.name}, {request.chain.tip_link}'
    end = f'{path.reached} of {len(path.q)} poses in {time_text(path.solve_time)}'
    return f'{arm}: {end}' if path.success else f'{arm}: {end}\n{path.end.text}'


def _course(request: PathRequest, path: PathResult) -> tuple[np.ndarray, np.ndarray, str]:
    """Return which rows are drawn, where they lie on the horizontal axis, and its label."""
    rows = np.unique(np.linspace(0, path.reached - 1, min(path.reached, _MOST_POINTS)).astype(int))
    times = request.targets.times
    return (rows, rows, 'pose') if times is None else (rows, times[rows], 'time [s]')


def _draw_joints(panel: SubFigure, request: PathRequest, path: PathResult) -> None:
    title = 'and limits where they are near'
    for axes, i, scale in joint_grid(panel, request, path.q[: path.reached], _COLUMN, title):
        _draw_joint(axes, request, path, i, scale)
    panel.supxlabel(_course(request, path)[2], fontsize=10)


def _draw_joint(
    axes: Axes, request: PathRequest, path: PathResult, joint: int, scale: float
) -> None:
    """Draw a joint, with those of its limits that it comes near to."""
    rows, course, _ = _course(request, path)
    values = scale * path.q[rows, joint]
    _show_course(axes, request, path)
    if not len(values):
        axes.set_yticks([])
        return
    axes.plot(course, values, color=_CURVE, marker='.' if len(rows) < 3 else None)
    low, high = values.min(), values.max()
    spare = max(_SPARE * (high - low), _LEAST)
    lower, upper = (scale * ends[joint] for ends in request.chain.search_limits())
    near = max(high - low, _SPARE * (upper - lower) if np.isfinite(upper - lower) else 0.0)
    axes.set_ylim(low - spare, high + spare)
    axes.dataLim.intervaly = (low - spare, high + spare)
    draw_limits(
        axes,
        lower if low - lower < near else -np.inf,
        upper if upper - high < near else np.inf,
    )


def _show_course(axes: Axes, request: PathRequest, path: PathResult) -> None:
    """Show the course of all poses, and where the path ends early."""
    times = request.targets.times
    course = np.arange(len(path.q)) if times is None else times
    if len(course) > 1:
        spare = 0.02 * (course[-1] - course[0])
        axes.set_xlim(course[0] - spare, course[-1] + spare)
    if not path.success:
        axes.axvline(course[path.reached], color=ACCENT, linewidth=1.2)


def _draw_steps(panel: SubFigure, request: PathRequest, path: PathResult) -> None:
    """Draw how far a joint moves at most from one pose to the next."""
    axes = panel.subplots()
    _, _, label = _course(request, path)
    times = request.targets.times
    steps = np.abs(np.diff(path.q[: path.reached], axis=0)).max(axis=1, initial=0.0)
    course = np.arange(1, path.reached) if times is None else times[1 : path.reached]
    bound = request.options.max_step
    axes.set_title('Largest step of a joint [rad or m]')
    axes.set_xlabel(label)
    axes.axhline(bound, color=INK, linewidth=1.0, linestyle=(0, (4, 3)))
    axes.annotate(
        f'limit {bound:g}', (0.0, bound), (4, -11), xycoords=('axes fraction', 'data'),
        textcoords='offset points', fontsize=8, color=INK,
    )  # fmt: skip
    axes.set_ylim(0.0, 1.08 * bound)
    _show_course(axes, request, path)
    if not len(steps):
        return
    axes.fill_between(course, steps, color=_CURVE, alpha=0.18, linewidth=0)
    axes.plot(course, steps, color=_CURVE, linewidth=1.2)
    row, joint = largest_step(path)
    axes.plot(course[row], steps[row], 'o', color=ACCENT, markersize=6)
    right = row > 0.7 * len(steps)
    axes.annotate(
        f'{steps[row]:.3g}, {request.chain.joint_names[joint]}', (course[row], steps[row]),
        (-6 if right else 6, 5), textcoords='offset points', fontsize=8, color=ACCENT,
        ha='right' if right else 'left',
    )  # fmt: skip


def _draw_arm(panel: SubFigure, request: PathRequest, path: PathResult) -> None:
    """Draw the arm at the first pose and at the last one reached, and the path of its tip."""
    chain, positions = request.chain, request.targets.poses[:, :3, 3]
    q = path.q[: path.reached]
    drawn = [q[0], q[-1]] if len(q) else [chain.middle]
    points = np.vstack([*(skeleton(chain, each).points for each in drawn), positions])
    view = arm_figure.ArmView(panel, chain, points, positions.mean(axis=0))
    view.draw_shadow(drawn[-1])
    for posture, alpha in zip(drawn, (0.35, 1.0)[-len(drawn) :], strict=True):
        view.draw_arm(posture, alpha=alpha)
    done = max(path.reached, 1)
    view.draw_line(positions[done - 1 :], color=FAINT, linestyle=':', linewidth=1.4)
    view.draw_line(positions[:done], color=ACCENT, linewidth=2.0, zorder=5)
    text = 'The arm at its last pose, pale at its first; the path of its tip'
    panel.suptitle(text, fontsize=11, x=0.02, ha='left')
