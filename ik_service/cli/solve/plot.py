"""Pictures for ``ik_solve --plot``: how it went, and the arm before and after."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, TYPE_CHECKING

import numpy as np

from ik_service.cli.solve.plot_curves import (
    draw_all_errors,
    draw_errors,
    draw_joints,
    draw_postures,
)
from ik_service.cli.solve.question import Question
from ik_service.cli.solve.run import Answer
from ik_service.cli.solve.text import deviation_text, effort_text, time_text
from ik_service.studies.drawing import arm_figure
from ik_service.studies.drawing.arm_shape import plane_of, skeleton
from ik_service.studies.drawing.figures import FAINT, method_color, method_label, PALETTE, sheet

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


def draw(path: Path, question: Question, answers: Sequence[Answer]) -> None:
    """
    Draw the errors and the joints over the iterations, and the arm.

    :param path: the PNG file.
    :param question: what was asked.
    :param answers: of one solver, or of several to compare.
    :raises OSError: the file cannot be written.
    """
    colors = [PALETTE[0]] if len(answers) == 1 else [method_color(a.solver) for a in answers]
    with sheet(path, *_SIZE) as figure:
        left, middle, right = figure.subfigures(1, 3, width_ratios=(1.0, 1.0, 1.2))
        figure.suptitle(_title(question, answers), x=0.012, ha='left')
        if len(question.solvers) == 1:
            draw_errors(left, question, answers[0])
            draw_joints(middle, question, answers[0])
        else:
            draw_all_errors(left, question, answers, colors)
            draw_postures(middle, question, answers, colors)
        _draw_arms(right, question, answers, colors)


def _title(question: Question, answers: Sequence[Answer]) -> str:
    arm = f'{question.chain.robot.name}, {question.chain.tip_link}'
    if len(question.solvers) > 1:
        solved = sum(answer.result.success for answer in answers)
        return f'{arm}: solved by {solved} of {len(answers)} methods'
    (answer,) = answers
    result = answer.result
    off = deviation_text(question, result.position_error, result.orientation_error)
    verdict = 'solved' if result.success else f'{result.status.name}, off by {off}'
    effort = effort_text(result.iterations, result.searches)
    time = time_text(result.solve_time)
    return f'{arm}: {verdict}; {effort}, {time}, {method_label(answer.solver)}'


def _draw_arms(
    panel: SubFigure, question: Question, answers: Sequence[Answer], colors: Sequence[str]
) -> None:
    """Draw the arm where the search started, and where it ended, with the target."""
    postures = [Posture(answers[0].trace.q[0], _BEFORE, _BEFORE_ALPHA, 'before')]
    for answer, color in zip(answers, colors, strict=True):
        name = method_label(answer.solver) if len(question.solvers) > 1 else 'after'
        postures.append(Posture(answer.result.q, color, 1.0, name))
    points = np.vstack([skeleton(question.chain, posture.q).points for posture in postures])
    scale = skeleton(question.chain, postures[0].q).scale
    target = question.T_base_target[:3, 3]
    near = np.linalg.norm(points - target, axis=1).min() < _FARTHEST * scale
    if near:
        points = np.vstack([points, target + _TRIAD * scale * np.vstack([np.eye(3), -np.eye(3)])])
    plane = plane_of(question.chain)
    if plane is None:
        axes = _draw_in_space(panel, question, postures, points, scale, near)
    else:
        axes = _draw_in_plane(panel, question, postures, points, scale, near, plane)
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
    question: Question,
    postures: Sequence[Posture],
    points: np.ndarray,
    scale: float,
    near: bool,
) -> Axes3D:
    axes = panel.add_subplot(projection='3d')
    chain, T = question.chain, question.T_base_target
    ground = arm_figure.show_space(axes, points, T[:3, 3])
    for posture in postures:
        arm_figure.draw_shadow(axes, chain, posture.q, ground)
    for q, color, alpha, name in postures:
        arm_figure.draw_arm(axes, chain, q, color=color, alpha=alpha, label=name)
    if near:
        arm_figure.draw_target(axes, T, _TRIAD * scale, question.turns)
    return axes


def _draw_in_plane(
    panel: SubFigure,
    question: Question,
    postures: Sequence[Posture],
    points: np.ndarray,
    scale: float,
    near: bool,
    plane: np.ndarray,
) -> Axes:
    axes = panel.add_subplot()
    chain, T = question.chain, question.T_base_target
    arm_figure.show_plane(axes, plane, points)
    for q, color, alpha, name in postures:
        arm_figure.draw_planar_arm(
            axes, chain, q, plane=plane, color=color, alpha=alpha, label=name
        )
    if near:
        arm_figure.draw_planar_target(axes, plane, T, _TRIAD * scale, question.turns)
    return axes
