"""Figures of ``ik_solve``: errors and joints over the iterations or the path, and the arm."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TYPE_CHECKING

import numpy as np

from ik_service.cli.formatting import time_text
from ik_service.cli.solve.options import ArmRequest
from ik_service.cli.solve.outcome import SolverOutcome
from ik_service.cli.solve.output import deviation_text, effort_text, largest_step
from ik_service.cli.solve.request import PathRequest, Request
from ik_service.drawing import arm_figure
from ik_service.drawing.arm_shape import skeleton
from ik_service.drawing.figures import (
    ACCENT,
    BORDER,
    drawn_name,
    FAINT,
    GRID,
    INK,
    method_color,
    method_label,
    PALETTE,
    sheet,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import SubFigure

    from ik_service.paths.search.result import PathResult


_CURVE = PALETTE[0]
_RESULT: dict[str, Any] = {
    'marker': 'o',
    'markersize': 9,
    'markerfacecolor': 'none',
    'markeredgewidth': 2.0,
    'zorder': 4,
}  # mark of the iteration that the result comes from
_FEW = 40  # points of a curve that are marked
_MOST_JOINTS, _COLUMN = 16, 8  # joints that are drawn, and in one column
_MOST_SEARCHES = 12  # that are drawn one after the other; more lie upon each other
_MARGIN = 0.08  # around limits, of the range


class _Error(NamedTuple):
    field: str
    title: str
    scale: float
    tolerance: float

    def of(self, outcome: SolverOutcome) -> np.ndarray:
        """Return the errors (k,) for a logarithmic axis, in its unit: neither 0 nor infinity."""
        values = getattr(outcome.trace, self.field)
        return _finite(self.scale * np.maximum(values, 1e-7 * self.tolerance))


def draw_errors(panel: SubFigure, request: Request, outcome: SolverOutcome) -> None:
    """Draw the errors over the iterations, with the tolerances."""
    grid = _error_axes(panel, request)
    row = _result_row(request, outcome)
    first = min(r[0] for r in _searches(outcome) if row in r) if _stacked(outcome) else 0
    for axes, error in grid:
        values = error.of(outcome)
        _draw_searches(axes, request, outcome, values)
        axes.plot(row - first, values[row], color=ACCENT, **_RESULT)
        _mark_restarts(axes, outcome, named=axes is grid[0][0])
        _whole_iterations(axes)
    grid[-1][0].set_xlabel(_iteration_text(outcome))


def draw_all_errors(
    panel: SubFigure, request: Request, outcomes: Sequence[SolverOutcome], colors: Sequence[str]
) -> None:
    """Draw the errors over the iterations of several solvers, with the tolerances."""
    grid = _error_axes(panel, request)
    for axes, error in grid:
        for outcome, color in zip(outcomes, colors, strict=True):
            values, row = error.of(outcome), _result_row(request, outcome)
            width, alpha = (0.6, 0.35) if _stacked(outcome) else (1.6, 1.0)
            for rows in _searches(outcome):
                axes.plot(rows + 1, values[rows], color=color, linewidth=width, alpha=alpha)
            axes.plot(row + 1, values[row], color=color, **_RESULT)
        axes.set_xscale('log')
    grid[-1][0].set_xlabel('iteration + 1, over all searches')


def _error_axes(panel: SubFigure, request: Request) -> list[tuple[Axes, _Error]]:
    """Return axes for each error that matters, with its tolerance."""
    options = request.options
    errors = []
    if request.has_position:
        errors.append(
            _Error('position_error', 'Position error [mm]', 1e3, options.position_tolerance)
        )
    if request.has_orientation:
        scale = 180.0 / np.pi
        tolerance = options.orientation_tolerance
        errors.append(_Error('orientation_error', 'Orientation error [°]', scale, tolerance))
    grid = panel.subplots(len(errors), 1, sharex=True, squeeze=False)[:, 0]
    for axes, error in zip(grid, errors, strict=True):
        tolerance = error.scale * error.tolerance
        axes.set_yscale('log')
        axes.axhline(tolerance, color=INK, linewidth=1.0, linestyle=(0, (4, 3)), zorder=1)
        axes.annotate(
            'tolerance', (0.0, tolerance), (4, 3), xycoords=('axes fraction', 'data'),
            textcoords='offset points', fontsize=8, color=INK,
        )  # fmt: skip
        axes.set_title(error.title)
    return list(zip(grid, errors, strict=True))


def draw_joints(panel: SubFigure, request: Request, outcome: SolverOutcome) -> None:
    """Draw the joints over the iterations, each between its limits."""
    chain, trace = request.chain, outcome.trace
    ends = chain.search_limits()
    for axes, i, scale in joint_grid(panel, request, trace.q, _COLUMN, 'between their limits'):
        _draw_searches(axes, request, outcome, _finite(scale * trace.q[:, i]))
        _mark_restarts(axes, outcome)
        draw_limits(axes, scale * ends[0][i], scale * ends[1][i])
        axes.grid(axis='y', visible=False)
        _whole_iterations(axes)
    panel.supxlabel(_iteration_text(outcome), fontsize=10)


def joint_grid(
    panel: SubFigure, request: ArmRequest, q: np.ndarray, column: int, title: str
) -> Iterator[tuple[Axes, int, float]]:
    """
    Yield axes for those joints that move most, with their names and units.

    :param q: (k, n) [rad] or [m].
    :param column: how many joints are drawn in one column.
    :param title: of the panel, after "Joints".
    :returns: the axes, the number of the joint, and the factor to its unit, [°] or [m].
    """
    names, slides = request.chain.joint_names, request.slides
    moves = np.ptp(np.nan_to_num(q), axis=0) if len(q) else np.zeros(len(names))
    shown = sorted(np.argsort(-moves, kind='stable')[:_MOST_JOINTS])
    columns = 1 if len(shown) <= column else 2
    rows = -(-len(shown) // columns)
    grid = panel.subplots(rows, columns, sharex=True, squeeze=False).ravel(order='F')
    for axes, i in zip(grid, shown, strict=False):
        yield axes, int(i), 1.0 if slides[i] else 180.0 / np.pi
        axes.set_title(
            f'{drawn_name(names[i], names)} [{"m" if slides[i] else "°"}]', fontsize=8, pad=2
        )
        axes.tick_params(labelsize=7)
    for axes in grid[len(shown) :]:
        axes.set_visible(False)
    for axes in (grid[rows - 1], grid[len(shown) - 1]):
        axes.tick_params(labelbottom=True)
    left_out = len(names) - len(shown)
    more = f'; {left_out} that move less are left out' if left_out else ''
    panel.suptitle(f'Joints {title}{more}', fontsize=11, x=0.02, ha='left')


def draw_postures(
    panel: SubFigure, request: Request, outcomes: Sequence[SolverOutcome], colors: Sequence[str]
) -> None:
    """Draw the joint values of each solver's outcome, between their limits."""
    chain = request.chain
    axes = panel.subplots()
    known = np.vstack([outcomes[0].trace.q[0], *(outcome.result.q for outcome in outcomes)])
    bounded = np.isfinite(chain.search_limits())
    lower = np.where(bounded[0], chain.lower, known.min(axis=0) - 0.1)
    upper = np.where(bounded[1], chain.upper, known.max(axis=0) + 0.1)
    span = np.where(upper > lower, upper - lower, 1.0)
    heights = np.arange(chain.n)
    axes.barh(heights, 1.0, 0.74, color=GRID, zorder=0)
    shares = (known - lower) / span
    axes.plot(shares[0], heights, '|', color=INK, markersize=20, markeredgewidth=1.5)
    lanes = np.linspace(-0.27, 0.27, len(outcomes)) if len(outcomes) > 1 else [0.0]
    for share, color, lane, outcome in zip(shares[1:], colors, lanes, outcomes, strict=True):
        filled = color if outcome.result.success else 'white'
        axes.plot(
            share, heights + lane, 'o', color=color, markersize=5, markerfacecolor=filled,
            label=method_label(outcome.solver),
        )  # fmt: skip
    names = [
        drawn_name(name, chain.joint_names) + ('' if limits else '\n(no limits)')
        for name, limits in zip(chain.joint_names, np.logical_and(*bounded), strict=True)
    ]
    axes.set_yticks(heights, names, fontsize=8)
    axes.set_xticks([0.0, 0.5, 1.0], ['lower\nlimit', 'middle', 'upper\nlimit'])
    axes.set_title('Answers between the limits')
    axes.set_xlabel('|  seed      ●  solved      ○  not solved')
    axes.invert_yaxis()
    axes.grid(visible=False)
    axes.spines[['left', 'bottom']].set_visible(False)


def _searches(outcome: SolverOutcome) -> list[np.ndarray]:
    numbers = outcome.trace.search
    return np.split(np.arange(len(numbers)), np.flatnonzero(np.diff(numbers)) + 1)


def _stacked(outcome: SolverOutcome) -> bool:
    """Whether the searches lie upon each other, because they are too many for one line."""
    return len(_searches(outcome)) > _MOST_SEARCHES


def _iteration_text(outcome: SolverOutcome) -> str:
    if not _stacked(outcome):
        return 'iteration, over all searches'
    return (
        f'iteration of its search; {len(_searches(outcome))} searches, that of the answer in blue'
    )


def _draw_searches(
    axes: Axes, request: Request, outcome: SolverOutcome, values: np.ndarray
) -> None:
    """Draw a curve over the iterations of each search: one after the other, or stacked."""
    row = _result_row(request, outcome)
    marker = '.' if len(values) <= _FEW else None
    for rows in _searches(outcome):
        if not _stacked(outcome):
            axes.plot(rows, values[rows], color=_CURVE, marker=marker)
        elif row in rows:
            axes.plot(rows - rows[0], values[rows], color=_CURVE, linewidth=2.2, zorder=3)
        else:
            axes.plot(rows - rows[0], values[rows], color=BORDER, linewidth=0.7)


def _mark_restarts(axes: Axes, outcome: SolverOutcome, named: bool = False) -> None:
    if _stacked(outcome):
        return
    for number, rows in enumerate(_searches(outcome)):
        approach = outcome.trace.search[rows[0]] == outcome.approach
        if number > 0:
            axes.axvline(rows[0] - 0.5, color=BORDER, linewidth=1.0, zorder=0)
        if named and (approach or number == 1):
            axes.annotate(
                'final approach' if approach else 'restart', (rows[0] - 0.5, 1.0), (2, -2),
                xycoords=('data', 'axes fraction'), textcoords='offset points', va='top',
                fontsize=8, color=FAINT, rotation=90,
            )  # fmt: skip


def _result_row(request: Request, outcome: SolverOutcome) -> int:
    """Return the row of the trace that the result comes from, full turns aside."""
    difference = outcome.trace.q - outcome.result.q
    turn = request.chain.arrays.turn
    turns = np.where(turn > 0.0, np.round(difference / np.where(turn > 0.0, turn, 1.0)), 0.0)
    distance = np.abs(difference - turns * turn).max(axis=1)
    return int(np.argmin(np.nan_to_num(distance, nan=np.inf)))


def _finite(values: np.ndarray) -> np.ndarray:
    """Values with gaps where a method diverged."""
    return np.where(np.isfinite(values), values, np.nan)


def draw_limits(axes: Axes, lower: float, upper: float) -> None:
    """Draw the limits that are finite as dashed lines, and shade the range beyond."""
    low, high = axes.dataLim.intervaly
    bounds = [bound for bound in (lower, upper) if np.isfinite(bound)]
    low, high = min([low, *bounds]), max([high, *bounds])
    margin = _MARGIN * (high - low) or 1.0
    axes.set_ylim(low - margin, high + margin)
    for bound, end in ((lower, low - margin), (upper, high + margin)):
        if np.isfinite(bound):
            axes.axhspan(bound, end, color=GRID, linewidth=0, zorder=0)
            axes.axhline(bound, color=FAINT, linewidth=0.8, linestyle=(0, (4, 3)), zorder=1)


def _whole_iterations(axes: Axes) -> None:
    from matplotlib.ticker import MaxNLocator

    axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))


_SIZE = (14.0, 7.0)  # [inches]
_BEFORE, _BEFORE_ALPHA = FAINT, 0.35  # color and opacity of the arm before
_TRIAD = 0.16  # length of the target's axes, of the arm's scale
_FARTHEST = 1.0  # from the arm at which a target is still shown, of the arm's scale


class Posture(NamedTuple):
    """
    A posture to draw.

    :ivar q: (n,) joint positions [rad] or [m].
    :ivar alpha: 1 for a solid arm, less for a paler one.
    """

    q: np.ndarray
    color: str
    alpha: float
    name: str


def draw(path: Path, request: Request, outcomes: Sequence[SolverOutcome]) -> None:
    """Draw the errors and the joints over the iterations, and the arm."""
    colors = [PALETTE[0]] if len(outcomes) == 1 else [method_color(a.solver) for a in outcomes]
    with sheet(path, *_SIZE) as figure:
        left, middle, right = figure.subfigures(1, 3, squeeze=False, width_ratios=(1.0, 1.0, 1.2))[
            0
        ]
        figure.suptitle(_title(request, outcomes), x=0.012, ha='left')
        if len(request.solvers) == 1:
            draw_errors(left, request, outcomes[0])
            draw_joints(middle, request, outcomes[0])
        else:
            draw_all_errors(left, request, outcomes, colors)
            draw_postures(middle, request, outcomes, colors)
        _draw_arms(right, request, outcomes, colors)


def _title(request: Request, outcomes: Sequence[SolverOutcome]) -> str:
    arm = f'{drawn_name(request.chain.robot.name)}, {drawn_name(request.chain.tip_link)}'
    if len(request.solvers) > 1:
        solved = sum(outcome.result.success for outcome in outcomes)
        return f'{arm}: solved by {solved} of {len(outcomes)} methods'
    (outcome,) = outcomes
    result = outcome.result
    weights = request.options.task_weights
    off = deviation_text(weights, result.position_error, result.orientation_error)
    verdict = 'solved' if result.success else f'{result.status.name}, off by {off}'
    effort = effort_text(result.iterations, result.searches)
    time = time_text(result.solve_time)
    return f'{arm}: {verdict}; {effort}, {time}, {method_label(outcome.solver)}'


def _draw_arms(
    panel: SubFigure, request: Request, outcomes: Sequence[SolverOutcome], colors: Sequence[str]
) -> None:
    postures = [Posture(outcomes[0].trace.q[0], _BEFORE, _BEFORE_ALPHA, 'before')]
    for outcome, color in zip(outcomes, colors, strict=True):
        name = method_label(outcome.solver) if len(request.solvers) > 1 else 'after'
        postures.append(Posture(outcome.result.q, color, 1.0, name))
    points = np.vstack([skeleton(request.chain, posture.q).points for posture in postures])
    scale = skeleton(request.chain, postures[0].q).scale
    target = request.T_base_target[:3, 3]
    near = np.linalg.norm(points - target, axis=1).min() < _FARTHEST * scale
    if near:
        points = np.vstack([points, target + _TRIAD * scale * np.vstack([np.eye(3), -np.eye(3)])])
    view = arm_figure.ArmView(panel, request.chain, points, target)
    for posture in postures:
        view.draw_shadow(posture.q)
    for q, color, alpha, name in postures:
        view.draw_arm(q, color=color, alpha=alpha, label=name)
    if near:
        view.draw_target(request.T_base_target, _TRIAD * scale, request.has_orientation)
    note = '' if near else ' (the target is far outside)'
    panel.suptitle(f'The arm{note}', fontsize=11, x=0.02, ha='left')
    panel.legend(
        *view.axes.get_legend_handles_labels(),
        loc='outside lower center',
        ncols=3,
        fontsize=8,
        columnspacing=1.2,
    )


_PATH_COLUMN = 4  # joints in one column
# Share of a joint's limits or of its motion that is added around its curve.
_SPARE = 0.15
# Range that an axis shows at least, so that noise stays noise [° or m].
_LEAST = 0.01
_MOST_POINTS = 4000  # of a curve; more cannot be distinguished


def draw_path(file: Path, request: PathRequest, path: PathResult) -> None:
    """Draw the joints over the path, the largest step at each pose, and the arm."""
    with sheet(file, *_SIZE) as figure:
        joints, right = figure.subfigures(1, 2, squeeze=False, width_ratios=(1.55, 1.0))[0]
        upper, lower = right.subfigures(2, 1, squeeze=False, height_ratios=(1.9, 1.0))[:, 0]
        figure.suptitle(_path_title(request, path), x=0.012, ha='left')
        _draw_joints(joints, request, path)
        _draw_arm(upper, request, path)
        _draw_steps(lower, request, path)


def _path_title(request: PathRequest, path: PathResult) -> str:
    arm = f'{drawn_name(request.chain.robot.name)}, {drawn_name(request.chain.tip_link)}'
    end = f'{path.reached} of {len(path.q)} poses in {time_text(path.solve_time)}'
    return f'{arm}: {end}' if path.success else f'{arm}: {end}\n{path.end.text}'


def _course(request: PathRequest, path: PathResult) -> tuple[np.ndarray, str]:
    """Return where the poses lie on the horizontal axis, and its label."""
    times = request.targets.times
    return (np.arange(len(path.q)), 'pose') if times is None else (times, 'time [s]')


def _draw_joints(panel: SubFigure, request: PathRequest, path: PathResult) -> None:
    title = 'and limits where they are near'
    for axes, i, scale in joint_grid(panel, request, path.q[: path.reached], _PATH_COLUMN, title):
        _draw_joint(axes, request, path, i, scale)
    panel.supxlabel(_course(request, path)[1], fontsize=10)


def _draw_joint(
    axes: Axes, request: PathRequest, path: PathResult, joint: int, scale: float
) -> None:
    """Draw a joint, with those of its limits that it comes near to."""
    rows = np.unique(np.linspace(0, path.reached - 1, min(path.reached, _MOST_POINTS)).astype(int))
    values = scale * path.q[rows, joint]
    _show_course(axes, request, path)
    if not len(values):
        axes.set_yticks([])
        return
    course = _course(request, path)[0][rows]
    axes.plot(course, values, color=_CURVE, marker='.' if len(rows) < 3 else None)
    low, high = values.min(), values.max()
    spare = max(_SPARE * (high - low), _LEAST)
    lower, upper = (scale * ends[joint] for ends in request.chain.search_limits())
    near = max(high - low, _SPARE * (upper - lower) if np.isfinite(upper - lower) else 0.0)
    axes.set_ylim(low - spare, high + spare)
    axes.dataLim.intervaly = (low - spare, high + spare)
    draw_limits(
        axes, lower if low - lower < near else -np.inf, upper if upper - high < near else np.inf
    )


def _show_course(axes: Axes, request: PathRequest, path: PathResult) -> None:
    """Show the course of all poses, and where the path ends early."""
    course, _ = _course(request, path)
    if len(course) > 1:
        spare = 0.02 * (course[-1] - course[0])
        axes.set_xlim(course[0] - spare, course[-1] + spare)
    if not path.success:
        axes.axvline(course[path.reached], color=ACCENT, linewidth=1.2)


def _draw_steps(panel: SubFigure, request: PathRequest, path: PathResult) -> None:
    axes = panel.subplots()
    course, label = _course(request, path)
    course = course[1 : path.reached]
    steps = np.abs(np.diff(path.q[: path.reached], axis=0)).max(axis=1, initial=0.0)
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
    name = drawn_name(request.chain.joint_names[joint])
    axes.annotate(
        f'{steps[row]:.3g}, {name}', (course[row], steps[row]),
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
