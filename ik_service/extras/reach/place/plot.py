"""Figure of ``ik_place``: a map of the places, and the arm at the best one."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ik_service.common.transforms import inverse_transform
from ik_service.drawing import arm_figure
from ik_service.drawing.arm_shape import skeleton
from ik_service.drawing.figures import ACCENT, BORDER, drawn_name, FAINT, INK, sheet
from ik_service.extras.reach.place.request import PlaceRequest
from ik_service.extras.reach.place.text import result_text
from ik_service.extras.reach.placement import PlaceSearch

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import SubFigure
    from mpl_toolkits.mplot3d.axes3d import Axes3D

_SIZE = (14.0, 6.6)  # [inches]
_COLORS = 'viridis'
_MARK = 0.05  # side of the square of a place alone, and least space around the map [m]
_ARROW = 0.085  # length of a heading, as a share of the width of the map
_MOST_POSES = 300  # that are drawn
_NEAR = 0.5  # distance of the tip from a pose that is drawn beside the arm [m]
_MOST_ARMS = 3  # postures that are drawn
_SPACE = (-0.08, -0.02, 1.16, 1.04)  # of the arm: 3-D axes leave much room empty
_ZOOM = 0.85  # of the arm, whose labels fit then
_SHAPE = 1.15  # width of the map, divided by its height
_SPARE = 0.06  # around the map, as a share of its width


def draw_places(file: Path, request: PlaceRequest, search: PlaceSearch) -> None:
    """Draw the places by the share of the poses that they reach, and the arm at the best one."""
    with sheet(file, *_SIZE) as figure:
        left, right = figure.subfigures(1, 2, squeeze=False, width_ratios=(1.2, 1.0))[0]
        arm = f'{drawn_name(request.chain.robot.name)}, {drawn_name(request.chain.tip_link)}'
        title = f'{arm}: {result_text(search)}'
        figure.suptitle(title, x=0.012, ha='left')
        _draw_map(left, search, float(request.chain.arrays.reach[3]) or 1.0)
        _draw_arms(right, request, search)


def _draw_map(panel: SubFigure, search: PlaceSearch, reach: float) -> None:
    """Draw the map, for an arm of a reach [m]."""
    from matplotlib.collections import PatchCollection
    from matplotlib.patches import Rectangle

    axes = panel.subplots()
    axes.set_aspect('equal')
    axes.set(xlabel='x in the world [m]', ylabel='y in the world [m]')
    axes.set_title('Share of the poses that a base reaches from there, with its best heading')
    columns, share = _best_of_columns(search)
    mark = min(_MARK, 0.1 * reach)
    _show_box(axes, search, columns[share > 0.0], mark)
    _draw_region(axes, search)
    wide = search.spacing or mark
    squares = [Rectangle(column - wide / 2, wide, wide) for column in columns[share > 0.0]]
    marks = PatchCollection(squares, cmap=_COLORS, clim=(0.0, 1.0), edgecolor='face', lw=1.0)
    marks.set_array(share[share > 0.0])
    axes.add_collection(marks)
    bar = panel.colorbar(marks, ax=axes, pad=0.02)
    bar.set_label('share of the poses', color=INK)
    bar.outline.set_visible(False)
    _draw_poses(axes, search)
    _draw_bases(axes, search)
    panel.legend(loc='outside lower center', ncols=4, handletextpad=0.3, columnspacing=1.2)


def _best_of_columns(search: PlaceSearch) -> tuple[np.ndarray, np.ndarray]:
    """Return x and y of the grid (M, 2) [m], and the best share above each (M,)."""
    columns, inverse = np.unique(search.places[:, :2].round(9), axis=0, return_inverse=True)
    share = np.zeros(len(columns))
    np.maximum.at(share, inverse.ravel(), search.scores.share)
    return columns, share


def _show_box(axes: Axes, search: PlaceSearch, columns: np.ndarray, least: float) -> None:
    """Set limits that hold all poses, and all places from where one is reached."""
    found = [placement.place[:2] for placement in search.placements]
    points = np.vstack([columns, found, search.poses[:, :2, 3]])
    middle = (points.min(axis=0) + points.max(axis=0)) / 2
    sides = np.ptp(points, axis=0)
    sides += 2.0 * max(_SPARE * float(sides.max()), 0.75 * search.spacing, least)
    half = max(sides[0] / _SHAPE, sides[1]) / 2 * np.array([_SHAPE, 1.0])
    (x0, y0), (x1, y1) = middle - half, middle + half
    axes.set(xlim=(x0, x1), ylim=(y0, y1))


def _draw_region(axes: Axes, search: PlaceSearch) -> None:
    (x0, x1), (y0, y1) = search.region.x, search.region.y
    (left, right), (bottom, top) = axes.get_xlim(), axes.get_ylim()
    if not search.region.corners and x0 < left and x1 > right and y0 < bottom and y1 > top:
        return
    corners = search.region.corners or ((x0, y0), (x1, y0), (x1, y1), (x0, y1))
    outline = np.array([*corners, corners[0]])
    axes.plot(*outline.T, color=FAINT, linewidth=1.2, linestyle=(0, (4, 3)), label='region')


def _draw_poses(axes: Axes, search: PlaceSearch) -> None:
    positions, reached = search.poses[:, :2, 3], search.best.reached
    for chosen, color, mark, text in (
        (reached, ACCENT, 'o', 'pose, reached from 1'),
        (~reached, 'white', 'X', 'pose, not reached from 1'),
    ):
        rows = np.flatnonzero(chosen)
        if len(rows):
            axes.plot(
                *positions[_some(rows)].T, mark, markersize=6.5, markerfacecolor=color,
                markeredgecolor=INK, markeredgewidth=0.8, label=text, linestyle='', zorder=4,
            )  # fmt: skip


def _draw_bases(axes: Axes, search: PlaceSearch) -> None:
    length = _ARROW * float(np.ptp(axes.get_xlim()))
    for number, placement in reversed(list(enumerate(search.placements, 1))):
        x, y = placement.T_world_base[:2, 3]
        ahead = length * placement.T_world_base[:2, 0]
        axes.annotate(
            '', (x + ahead[0], y + ahead[1]), (x, y), zorder=5,
            arrowprops={'arrowstyle': '-|>', 'color': INK, 'linewidth': 1.6, 'shrinkA': 0},
        )  # fmt: skip
        label = 'place of the base, with its x axis' if number == 1 else None
        axes.plot(
            x, y, 'o', markersize=15, markerfacecolor='white' if number > 1 else '#ffe08a',
            markeredgecolor=INK, label=label, linestyle='', zorder=6,
        )  # fmt: skip
        axes.text(x, y, str(number), ha='center', va='center', fontsize=9, zorder=7)


def _draw_arms(panel: SubFigure, request: PlaceRequest, search: PlaceSearch) -> None:
    """Draw the arm at the best place, in the frame of its base."""
    best, chain = search.best, request.chain
    T_base_world = inverse_transform(best.T_world_base)
    rows = _some(_near(search))
    poses = T_base_world @ search.poses[rows]
    axes: Axes3D = panel.add_subplot(projection='3d')
    axes.set_in_layout(False)
    axes.set_position(_SPACE)
    drawn = _postures(search)
    points = np.vstack([*(skeleton(chain, q).points for q in drawn), poses[:, :3, 3]])
    ground = arm_figure.show_space(axes, points, poses[:, :3, 3].mean(axis=0))
    sides = np.ptp((axes.get_xlim(), axes.get_ylim(), axes.get_zlim()), axis=1)
    axes.set_box_aspect(sides, zoom=_ZOOM)
    for number, q in enumerate(drawn):
        alpha = 1.0 if number == len(drawn) - 1 else 0.3
        arm_figure.draw_arm(axes, chain, q, alpha=alpha)
    if len(drawn):
        arm_figure.draw_shadow(axes, chain, drawn[-1], ground)
    length = 0.05 * float(np.ptp(points, axis=0).max())
    for number, pose in zip(rows, poses, strict=True):
        if any(request.options.task_weights[3:]):
            arm_figure.draw_frame(axes, pose, length)
        color = ACCENT if best.reached[number] else FAINT
        axes.plot(*pose[:3, 3][:, None], 'o', markersize=4, color=color)
    axes.xaxis.line.set_color(BORDER)
    yaw = math.degrees(best.place[3])
    text = f'The arm at place 1, in the frame of its base (heading {yaw:.1f}°)'
    panel.suptitle(text, fontsize=11, x=0.02, ha='left')


def _near(search: PlaceSearch) -> np.ndarray:
    """Return the numbers of the poses that the best place reaches, or misses by little."""
    near = np.flatnonzero(search.best.reached | (search.best.position_error < _NEAR))
    return near if len(near) else np.array([int(np.argmin(search.best.position_error))])


def _postures(search: PlaceSearch) -> list[np.ndarray]:
    rows = np.flatnonzero(search.best.reached)
    if not len(rows):
        rows = np.array([int(np.argmin(search.best.position_error))])
    chosen = np.unique(np.linspace(0, len(rows) - 1, min(_MOST_ARMS, len(rows))).astype(int))
    return [search.best.q[row] for row in rows[chosen]]


def _some(rows: np.ndarray) -> np.ndarray:
    """Return at most so many as can be distinguished."""
    return rows[np.unique(np.linspace(0, len(rows) - 1, min(len(rows), _MOST_POSES)).astype(int))]
