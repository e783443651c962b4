"""Figure of ``ik_solve --plot``: errors and joints over the iterations, and the arm."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, TYPE_CHECKING

import numpy as np

from ik_service.cli.solve.outcome import Outcome
from ik_service.cli.solve.plot_curves import (
    draw_all_errors,
    draw_errors,
    draw_joints,
    draw_postures,
)
from ik_service.cli.solve.request import Request
from ik_service.cli.solve.text_output import deviation_text, effort_text, time_text
from ik_service.drawing import arm_figure
from ik_service.drawing.arm_shape import plane_of, skeleton
from ik_service.drawing.figures import FAINT, method_color, method_label, PALETTE, sheet

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import SubFigure
    from mpl_toolkits.mplot3d import Axes3D

_SIZE = (14.0, 7.0)  # [inches]
_BEFORE, _BEFORE_ALPHA = FAINT, 0.35
_TRIAD = 0.16  # length of the target's axes, of the arm's scale
_FARTHEST = 1.0  # from the arm at which a target is still shown, of the arm's scale


class Posture(NamedTuple):
    """
    A posture to draw.

    :ivar q: (n,) joint positions [rad] or [m].
    :ivar color: of the arm.
    :ivar alpha: 1 for a solid arm, less for a paler one.
    :ivar name: in the legend.
    """

    q: np.ndarray
    color: str
    alpha: float
    name: str


def draw(path: Path, request: Request, outcomes: Sequence[Outcome]) -> None:
    """
    Draw the errors and the joints over the iterations, and the arm.

    :param path: the PNG file.
    :param request: what was requested.
    :param outcomes: of one solver, or of several to compare.
    :raises OSError: the file cannot be written.
    """
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


def _title(request: Request, outcomes: Sequence[Outcome]) -> str:
    arm = f'{request.chain.robot.name}, {request.chain.tip_link}'
    if len(request.solvers) > 1:
        solved = sum(outcome.result.success for outcome in outcomes)
        return f'{arm}: solved by {solved} of {len(outcomes)} methods'
    (outcome,) = outcomes
    result = outcome.result
    off = deviation_text(request, result.position_error, result.orientation_error)
    verdict = 'solved' if result.success else f'{result.status.name}, off by {off}'
    effort = effort_text(result.iterations, result.searches)
    time = time_text(result.solve_time)
    return f'{arm}: {verdict}; {effort}, {time}, {method_label(outcome.solver)}'


def _draw_arms(
    panel: SubFigure, request: Request, outcomes: Sequence[Outcome], colors: Sequence[str]
) -> None:
    """Draw the arm where the search started, and where it ended, with the target."""
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
    plane = plane_of(request.chain)
    if plane is None:
        axes = _draw_in_space(panel, request, postures, points, scale, near)
    else:
        axes = _draw_in_plane(panel, request, postures, points, scale, near, plane)
    note = '' if near else ' (the target is far outside)'
    panel.suptitle(f'The arm{note}', fontsize=11, x=0.02, ha='left')
    panel.legend(
        *axes.get_legend_handles_labels(),
        loc='outside lower center',
        ncols=3,
        fontsize=8,
        columnspacing=1.2,
    )


def _draw_in_space(
    panel: SubFigure,
    request: Request,
    postures: Sequence[Posture],
    points: np.ndarray,
    scale: float,
    near: bool,
) -> Axes3D:
    axes = panel.add_subplot(projection='3d')
    chain, T = request.chain, request.T_base_target
    ground = arm_figure.show_space(axes, points, T[:3, 3])
    for posture in postures:
        arm_figure.draw_shadow(axes, chain, posture.q, ground)
    for q, color, alpha, name in postures:
        arm_figure.draw_arm(axes, chain, q, color=color, alpha=alpha, label=name)
    if near:
        arm_figure.draw_target(axes, T, _TRIAD * scale, request.has_orientation)
    return axes


def _draw_in_plane(
    panel: SubFigure,
    request: Request,
    postures: Sequence[Posture],
    points: np.ndarray,
    scale: float,
    near: bool,
    plane: np.ndarray,
) -> Axes:
    axes = panel.add_subplot()
    chain, T = request.chain, request.T_base_target
    arm_figure.show_plane(axes, plane, points)
    for q, color, alpha, name in postures:
        arm_figure.draw_planar_arm(
            axes, chain, q, plane=plane, color=color, alpha=alpha, label=name
        )
    if near:
        arm_figure.draw_planar_target(axes, plane, T, _TRIAD * scale, request.has_orientation)
    return axes
