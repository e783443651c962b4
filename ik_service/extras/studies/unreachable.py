"""
Targets outside the reach: the iterations of each method, and the result of a solve.

One target lies 20 cm beyond the stretched arm; the other is a place that the arm can reach, but
with the tool turned as it cannot be there. By itself, a method that does not damp or shorten its
steps never comes to rest, for there is no pose at which its step is zero. A solve returns
the closest pose found all the same.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from dataclasses import dataclass
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
from ik_service.extras.studies.tables import series, write_csv, write_summary
from ik_service.kinematics.chain import KinematicChain
from ik_service.solvers.registry import solver_names
from ik_service.solvers.result import IkResult
from ik_service.solvers.solver import Solver

if TYPE_CHECKING:
    from matplotlib.axes import Axes


SUMMARY = 'targets outside the reach: error and joint motion over iterations, and the answer'

_ARM = 'panda'
_SEED = (0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785)  # the Panda's ready posture [rad]
_STRETCHED = (0.3, 0.9, 0.0, -0.46697, 0.0, 1.8, 0.785)  # the Panda with a straight elbow [rad]
_SHOULDER = (0.0, 0.0, 0.333)  # of the Panda, in the frame of its base [m]
_BEYOND = 0.2  # [m]
_REPEATS = 20  # of the solves that are timed: the fastest counts
TOO_FAR, TURNED = '20 cm too far', 'tool turned the wrong way'


@dataclass(frozen=True)
class Attempt:
    """Iterations to a TOO_FAR or TURNED target, and the fastest of some default solves [s]."""

    target: str
    method: str
    search: Search
    answer: IkResult
    solve_time: float


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options of this study."""
    add_count(parser, '--iterations', MOST_ITERATIONS, 100, 'of each method')


def run(arguments: Namespace) -> list[Path]:
    """Solve for the targets with every method, ``iterations`` steps; draw errors and motions."""
    folder: Path = arguments.output
    chain = load_arm(_ARM)
    attempts = [
        attempt(chain, name, target, method, arguments.iterations)
        for name, target in targets(chain).items()
        for method in solver_names()
    ]
    curves = [
        row
        for item in attempts
        for row in series(
            {'target': item.target, 'method': item.method},
            'iteration',
            position_error=item.search.position_error,
            orientation_error=item.search.orientation_error,
            max_joint_step=item.search.joint_motion,
        )
    ]
    _draw(folder / 'unreachable.png', attempts)
    return [
        folder / 'unreachable.png',
        write_csv(folder / 'unreachable.csv', curves),
        write_summary(folder / 'unreachable-answers.csv', map(_answer, attempts)),
    ]


def targets(chain: KinematicChain) -> dict[str, np.ndarray]:
    """Return the targets, (4, 4) T_base_tip, by name."""
    far = chain.forward(_STRETCHED)
    away = far[:3, 3] - _SHOULDER
    far[:3, 3] += _BEYOND * away / np.linalg.norm(away)
    turned = chain.forward(_STRETCHED)
    turned[:3, :3] = turned[:3, :3] @ np.diag([1.0, -1.0, -1.0])  # half a turn about its x axis
    return {TOO_FAR: far, TURNED: turned}


def attempt(
    chain: KinematicChain, name: str, target: np.ndarray, method: str, iterations: int
) -> Attempt:
    """Solve for a target T_base_tip (4, 4) with a method."""
    search = SingleSearch(chain, method, iterations).run(target, np.array(_SEED))
    solver = Solver(chain, method)
    answers = [solver.solve(target, _SEED) for _ in range(_REPEATS)]
    fastest = min(answer.solve_time for answer in answers)
    return Attempt(name, method, search, answers[0], fastest)


def _answer(item: Attempt) -> dict[str, object]:
    return {
        'target': item.target,
        'method': item.method,
        'status': item.answer.status.name,
        'position_error': item.answer.position_error,
        'orientation_error': item.answer.orientation_error,
        'iterations': item.answer.iterations,
        'searches': item.answer.searches,
        'solve_time': item.solve_time,
    }


def _draw(path: Path, attempts: list[Attempt]) -> None:
    names = list(dict.fromkeys(item.target for item in attempts))
    with figures.sheet(path, 13, 8) as figure:
        for part, name in zip(
            figure.subfigures(len(names), 1, squeeze=False).ravel(), names, strict=True
        ):
            part.suptitle(f'Target: {name}', x=0.012, ha='left')
            left, middle, right = part.subplots(1, 3)
            own = [item for item in attempts if item.target == name]
            for item in own:
                style = {'color': figures.method_color(item.method), 'linewidth': 1.5}
                # As the solvers weigh it: metres and radians side by side.
                cost = np.hypot(item.search.position_error, item.search.orientation_error)
                left.plot(cost, **style)
                middle.plot(np.maximum(item.search.joint_motion[1:], 1e-8), **style)
            left.set(yscale='log', xlabel='iteration')
            figures.plain_numbers(left.yaxis)
            left.set_title('Error √(d² + φ²), d in m, φ in rad')
            middle.set(yscale='log', xlabel='iteration')
            middle.set_title('Largest motion of a joint [rad]')
            _draw_answers(right, own)


def _draw_answers(axes: Axes, attempts: list[Attempt]) -> None:
    for place, item in enumerate(attempts):
        answer = item.answer
        color = figures.method_color(item.method)
        axes.barh(place, 1e3 * item.solve_time, color=color, height=0.36)
        text = (
            f'{figures.method_label(item.method)}: {100 * answer.position_error:.1f} cm and '
            f'{math.degrees(answer.orientation_error):.1f}° away'
        )
        axes.text(
            0.0, place - 0.2, text, va='bottom', transform=axes.get_yaxis_transform(), fontsize=9
        )
    axes.set_ylim(len(attempts) - 0.4, -0.8)
    axes.set_yticks([])
    axes.grid(axis='y', visible=False)
    axes.set_xscale('log')
    axes.set_xlim(left=0.1)
    figures.plain_numbers(axes.xaxis)
    axes.set_title('What a solve returns, and its time [ms]')
