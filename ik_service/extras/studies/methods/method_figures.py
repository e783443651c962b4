"""Figure of each method: its iterations on the same arm with the same target."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ik_service.drawing import figures
from ik_service.drawing.arm_shape import skeleton
from ik_service.extras.studies.arms import load_arm
from ik_service.extras.studies.methods.single_search import Search, SingleSearch
from ik_service.extras.studies.tables import write_csv
from ik_service.solvers.options import IkOptions
from ik_service.solvers.registry import solver_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ARM = 'planar_6r'
_SEED = (0.9, -0.5, -0.3, -0.4, -0.5, -0.3)
_TARGET = (-0.08, 0.36)  # in the frame of the base [m]
_OPTIONS = IkOptions(task_weights=(1.0, 1.0, 0.0, 0.0, 0.0, 0.0), joint_limits='ignore')
_ITERATIONS = 300
_POSTURES = 10  # drawn, of the iterations
_SHOWN = 40  # iterations of the curves


def draw_methods(folder: Path) -> list[Path]:
    """
    Draw ``method-<name>.png`` of every solver, and write ``method-paths.csv``.

    :param folder: for the files.
    :returns: the files written.
    """
    chain = load_arm(_ARM)
    target = np.eye(4)
    target[:2, 3] = _TARGET
    searches = {
        name: SingleSearch(chain, name, _ITERATIONS, _OPTIONS).run(target, np.array(_SEED))
        for name in solver_names()
    }
    paths = [_draw(folder / f'method-{name}.png', name, searches) for name in searches]
    columns = ('method', 'iteration', 'position_error', 'max_joint_step')
    rows = [
        (name, number, *values)
        for name, search in searches.items()
        for number, values in enumerate(
            zip(search.position_error, search.joint_motion, strict=True)
        )
    ]
    return [*paths, write_csv(folder / 'method-paths.csv', columns, rows)]


def _draw(path: Path, name: str, searches: dict[str, Search]) -> Path:
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
