"""
The experiment of Šoch and Lórencz: a stretched planar arm follows an ellipse, a step a waypoint.

M. Šoch, R. Lórencz, Solving Inverse Kinematics – A New Approach to the Extended Jacobian
Technique, section 3: segments of 90, 60, 90, 150, 150 and 90 points, the base at [−230, 0], all
joints at 0, so that the tip lies at [400, 0], a singular posture; an ellipse with a = 400 and
b = 50 about the origin. The paper leaves the number of waypoints open: 100 here. The arm is
``planar_6r``, whose millimetres are the paper's points, in the frame of its link ``world``.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any, TYPE_CHECKING

import numpy as np

from ik_service.common.resources import urdf_path
from ik_service.drawing import figures
from ik_service.drawing.arm_shape import skeleton
from ik_service.extras.studies.arms import SingleSearch
from ik_service.extras.studies.tables import series, write_csv, write_summary
from ik_service.kinematics.chain import KinematicChain
from ik_service.robot import Robot
from ik_service.solvers.methods.extended_jacobian.basic_elements import extended_matrix
from ik_service.solvers.options import IkOptions

if TYPE_CHECKING:
    from matplotlib.axes import Axes


INVERSION, EXTENDED = 'pseudoinverse', 'extended_jacobian'
WEIGHTS = (1.0, 0.1, 1e-3, 1e-6)  # of the rows that extend the Jacobian
POINT = 1e-3  # a point of the paper [m]
SEMI_AXES = (400.0, 50.0)  # [points]
STEPS = 100  # waypoints on the ellipse, as in the paper

_PLANE = (1.0, 1.0, 0.0, 0.0, 0.0, 0.0)  # the paper's task: x and y
_NEVER_REACHED = 1e-300  # a tolerance with which no waypoint counts as reached before its step [m]

SUMMARY = 'the paper’s ellipse: Jacobian inversion and extended Jacobian from a singular pose'

_MORE_WEIGHTS = tuple(10.0**k for k in range(1, -11, -1))
FIRST = 8  # steps of which the poses are drawn
# Largest distance in the first steps with which the arm has left the singular start [points]: an
# arm that stays there is 55 points away after 8 steps.
_RECOVERED = 40.0
_COLORS = ('#e69f00', '#0072b2', '#009e73', '#7b52c7', '#6e7781')  # of inversion, then by w


@dataclass(frozen=True)
class Run:
    """
    Postures and errors of a method along the ellipse.

    :ivar method: INVERSION or EXTENDED.
    :ivar weight: of the rows that extend the Jacobian; NaN for INVERSION.
    :ivar q: (STEPS + 1, 6) postures, the first at the start [rad].
    :ivar distance: (STEPS,) of the tip from its waypoint after each step [points].
    :ivar joint_step: (STEPS,) largest motion of a joint in each step [rad].
    :ivar rank: (STEPS,) of the matrix that was inverted for each step.
    :ivar condition: (STEPS,) its condition number; infinite where it is singular.
    """

    method: str
    weight: float
    q: np.ndarray
    distance: np.ndarray
    joint_step: np.ndarray
    rank: np.ndarray
    condition: np.ndarray


@lru_cache
def arm() -> KinematicChain:
    """Return the paper's arm, in the frame of the ellipse's centre."""
    return Robot.from_urdf(urdf_path('planar_6r')).chain('world', 'tool0')


def ellipse(angle: np.ndarray) -> np.ndarray:
    """Return points of the ellipse (..., 2) [points] at angles (...) [rad]."""
    a, b = SEMI_AXES
    return np.stack([a * np.cos(angle), b * np.sin(angle)], axis=-1)


def waypoints() -> np.ndarray:
    """Return the waypoints (STEPS, 2) [points]; the last is where the arm starts."""
    return ellipse(2.0 * np.pi * np.arange(1, STEPS + 1) / STEPS)


def follow(method: str, weight: float = float('nan')) -> Run:
    """Take one undamped step of INVERSION or EXTENDED towards each waypoint, without limits."""
    chain = arm()
    options = IkOptions(
        task_weights=_PLANE, joint_limits='ignore', position_tolerance=_NEVER_REACHED
    )
    if method == EXTENDED:
        options = replace(options, element_weight=weight)
    search = SingleSearch(chain, method, 1, options)
    q = [np.zeros(chain.n)]
    T = np.eye(4)
    for waypoint in waypoints():
        T[:2, 3] = POINT * waypoint
        q.append(search.run(T, q[-1]).q[-1])
    matrices = [matrix(chain, row, method, weight) for row in q[:-1]]
    return Run(
        method,
        weight,
        q=np.array(q),
        distance=np.linalg.norm(tips(np.array(q[1:])) - waypoints(), axis=1),
        joint_step=abs(np.diff(q, axis=0)).max(axis=1),
        rank=np.array([np.linalg.matrix_rank(M) for M in matrices]),
        condition=np.array([np.linalg.cond(M) for M in matrices]),
    )


def matrix(chain: KinematicChain, q: np.ndarray, method: str, weight: float) -> np.ndarray:
    """Return the matrix that a method inverts at q (6,): (2, 6), or (12, 6) if extended."""
    if method == INVERSION:
        return chain.jacobian(q)[:2]
    return extended_matrix(chain, q, IkOptions(task_weights=_PLANE, element_weight=weight))


def tips(q: np.ndarray) -> np.ndarray:
    """Return positions of the tip (N, 2) [points] in postures (N, 6) [rad]."""
    chain = arm()
    return np.array([chain.forward(row)[:2, 3] for row in q]) / POINT


def distances(weight: float, steps: int, precision: type[np.floating]) -> np.ndarray:
    """Distances (steps,) from the paper's waypoints [points]; NaN once its matrix is singular."""
    chain = arm()
    q = np.zeros(chain.n, precision)
    answer = np.full(steps, np.nan)
    for step, waypoint in enumerate(waypoints()[:steps]):
        A = matrix(chain, q.astype(float), EXTENDED, weight).astype(precision)
        b = np.zeros(len(A), precision)
        b[-2:] = POINT * (waypoint - tips(q[None])[0])
        try:
            q = q + np.linalg.solve(A.T @ A, A.T @ b)
        except np.linalg.LinAlgError:
            break
        answer[step] = np.linalg.norm(tips(q[None])[0] - waypoint)
    return answer


def run(arguments: Namespace) -> list[Path]:
    """Follow the ellipse with inversion and with the extended Jacobian, for several weights w."""
    folder: Path = arguments.output
    runs = [follow(INVERSION), *(follow(EXTENDED, weight) for weight in WEIGHTS)]
    sweep = [follow(EXTENDED, weight) for weight in _MORE_WEIGHTS]
    first = {
        'band': [item.distance[:FIRST] for item in sweep],
        'double': [distances(weight, FIRST, np.float64) for weight in _MORE_WEIGHTS],
        'single': [distances(weight, FIRST, np.float32) for weight in _MORE_WEIGHTS],
    }
    collinear = collinear_postures()
    # With which weights the arm leaves the singular start: by the solver's own elimination of a
    # band, and by normal equations in double and single precision.
    recovery = [
        {'precision': precision, 'element_weight': weight, 'first_distance': values.max()}
        | {'recovers': bool(values.max() < _RECOVERED)}
        for precision, several in first.items()
        for weight, values in zip(_MORE_WEIGHTS, several, strict=True)
    ]
    _draw(folder / 'soch-lorencz.png', runs, sweep, first)
    _draw_poses(folder / 'soch-lorencz-poses.png', *runs[:2])
    return [
        folder / 'soch-lorencz.png',
        folder / 'soch-lorencz-poses.png',
        write_csv(folder / 'soch_lorencz.csv', [row for item in runs for row in _curve(item)]),
        write_summary(folder / 'soch_lorencz_summary.csv', map(_summary, (runs[0], *sweep))),
        write_csv(
            folder / 'soch_lorencz_collinear.csv',
            [{'folds': folds, 'smallest_singular_value': value} for folds, value in collinear],
        ),
        write_csv(folder / 'soch_lorencz_recovery.csv', recovery),
    ]


def collinear_postures() -> list[tuple[str, float]]:
    """Folded joints such as ``-+---`` of collinear postures, and smallest singular values."""
    chain = arm()
    answer = []
    for folds in product((False, True), repeat=chain.n - 1):
        q = np.pi * np.array([False, *folds])
        smallest = float(np.linalg.norm(matrix(chain, q, EXTENDED, 1.0), -2)) / POINT
        answer.append((''.join('+' if fold else '-' for fold in folds), smallest))
    return answer


def _label(item: Run) -> str:
    return 'inversion' if item.method == INVERSION else f'extended, w = {item.weight:g}'


def _curve(item: Run) -> Iterator[dict[str, object]]:
    return series(
        {'method': item.method, 'element_weight': item.weight},
        'step',
        1,
        distance=item.distance,
        max_joint_step=item.joint_step,
        rank=item.rank,
        condition_number=item.condition,
    )


def _summary(item: Run) -> dict[str, object]:
    return {
        'method': item.method,
        'element_weight': item.weight,
        'largest_distance': item.distance.max(),
        'mean_distance': item.distance.mean(),
        'median_distance': np.median(item.distance),
        'largest_joint_step': item.joint_step.max(),
        'first_distance': item.distance[:FIRST].max(),
        'first_joint_step': item.joint_step[:FIRST].max(),
        'smallest_rank': item.rank.min(),
        'largest_condition_number': item.condition.max(),
    }


def _draw(
    path: Path, runs: list[Run], sweep: list[Run], first: dict[str, list[np.ndarray]]
) -> None:
    number = 1 + np.arange(STEPS)
    with figures.sheet(path, 13, 8.6) as figure:
        parts = figure.subplot_mosaic(
            [['distance', 'motion'], ['condition', 'weights'], ['rank', 'weights']],
            height_ratios=(3, 2.2, 0.9),
        )
        distance, motion, condition, rank, weights = (
            parts[name] for name in ('distance', 'motion', 'condition', 'rank', 'weights')
        )
        for item, color in zip(runs, _COLORS, strict=True):
            style: dict[str, Any] = {'color': color, 'label': _label(item), 'linewidth': 1.5}
            distance.plot(number, item.distance, **style)
            motion.plot(number, item.joint_step, **style)
            condition.plot(number, item.condition, **style)
            rank.step(number, item.rank, where='mid', **style)
        distance.set_title('Distance of the tip from its waypoint [points]   (the paper’s Fig. 4)')
        distance.set(yscale='log', xlabel='step', ylim=(1e-2, 2e3))
        motion.set_title('Largest motion of a joint in a step [rad]')
        motion.set(yscale='log', xlabel='step')
        condition.set_title('Condition number of the matrix that is inverted')
        condition.set(yscale='log')
        condition.tick_params(labelbottom=False)
        rank.set_title('Its rank')
        rank.set(ylim=(0, 7), yticks=(1, 2, 6), xlabel='step')
        _draw_weights(weights, sweep, first, runs[0])
        figure.legend(*distance.get_legend_handles_labels(), loc='outside lower center', ncols=5)


def _draw_weights(
    axes: Axes, sweep: list[Run], first: dict[str, list[np.ndarray]], inversion: Run
) -> None:
    w = [item.weight for item in sweep]
    blue, green, red = (figures.PALETTE[number] for number in (0, 2, 3))
    start = f'largest, first {FIRST} steps'
    for quantity, color, text in (
        (lambda item: item.distance.max(), blue, 'largest'),
        (lambda item: item.distance.mean(), red, 'mean'),
        (lambda item: item.distance[:FIRST].max(), green, start),
    ):
        axes.plot(w, [quantity(item) for item in sweep], 'o-', color=color, label=text)
        axes.axhline(quantity(inversion), color=color, linestyle=':', linewidth=1.2)
    style: dict[str, Any] = {'color': green, 'markerfacecolor': 'white', 'linewidth': 1.2}
    for precision, line in (('double', 'D-.'), ('single', 's--')):
        worst = [values.max() for values in first[precision]]
        axes.plot(w, worst, line, label=f'by normal equations, {precision}', **style)
    axes.set(xscale='log', yscale='log', xlabel='w', ylim=(0.5, 2e3))
    axes.invert_xaxis()
    axes.set_title('w → 0: distance [points]; dotted: inversion')
    axes.legend(loc='lower center', ncols=2)


def _draw_poses(path: Path, inversion: Run, extended: Run) -> None:
    with figures.sheet(path, 13, 4.9) as figure:
        first, second, third = figure.subplots(1, 3)
        for axes, item, name in ((first, inversion, 'Fig. 5'), (second, extended, 'Fig. 6')):
            _draw_first_poses(axes, item)
            axes.set_title(f'{_label(item)}   (the paper’s {name})')
            axes.set(xlim=(-480, 430), ylim=(-360, 360))
            axes.set_aspect('equal')
        _draw_first_poses(third, extended)
        third.set(xlim=(-30, 415), ylim=(-55, 40))
        third.set_title(f'{_label(extended)}, heights stretched')
        handles, labels = first.get_legend_handles_labels()
        figure.legend(handles, labels, loc='outside lower center', ncols=len(labels))


def _draw_first_poses(axes: Axes, item: Run) -> None:
    from matplotlib import colormaps

    axes.plot(*ellipse(np.linspace(0.0, 2.0 * np.pi, 200)).T, color=figures.BORDER, linewidth=1.2)
    goals = waypoints()[:FIRST]
    for number, q in enumerate(item.q[: FIRST + 1]):
        points = skeleton(arm(), q).points[1:, :2] / POINT  # the first is the ellipse's centre
        color = figures.INK if number == 0 else colormaps['viridis'](number / (FIRST + 1))
        axes.plot(
            *points.T, '.-', color=color, linewidth=1.3, markersize=5, label=f'step {number}'
        )
    axes.plot(*goals.T, 'x', color=figures.ACCENT, markersize=5, markeredgewidth=1.2)
    axes.set(xlabel='x [points]')
