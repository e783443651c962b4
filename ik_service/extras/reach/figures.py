"""Figures of capability maps: positions in space, cuts, and two maps side by side."""

from __future__ import annotations

from collections.abc import Sequence
import math
from pathlib import Path
from typing import cast, TYPE_CHECKING

import numpy as np

from ik_service.drawing.arm_shape import skeleton
from ik_service.drawing.figures import (
    BORDER,
    check_installed,
    drawn_name,
    FAINT,
    INK,
    PALETTE,
    sheet,
)
from ik_service.extras.reach import CapabilityMap, MapComparison

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine
    from mpl_toolkits.mplot3d.axes3d import Axes3D


NAMES = 'xyz'

_SAME = 1e-3  # share of the spacing by which layers at the same height may differ

_SHARE_COLORS = 'viridis'
_QUANTITY_COLORS, _LOST_COLORS = 'cividis', 'magma_r'
_ELEVATION, _AZIMUTH = 24.0, -52.0  # of the view [°]
_POINT_AREA = 30.0  # of a point where there are 20 positions in a row [points of print²]


class Cuts:
    """Upright layers through the first joint, and a level one at a height [m], or the fullest."""

    def __init__(self, found: CapabilityMap, height: float | None = None) -> None:
        self._height = height
        self.axes = found.axes or ()
        self.shape = tuple(len(axis) for axis in self.axes)
        self._seen = found.position_free.reshape(self.shape)
        self._poses = found.free.sum(axis=1).reshape(self.shape)
        chain = found.spec.build().chain
        self._first_joint = chain.arrays.reach[:3]
        self._arm = skeleton(chain, chain.mid_range()).points
        shown = found.position_free if found.position_free.any() else slice(None)
        reached = found.positions[shown]
        margin = found.spacing if np.isfinite(found.spacing) else 1.0
        self._digits = max(2, -math.floor(math.log10(margin)))  # of places [m]
        self.low = reached.min(axis=0, initial=0.0) - margin
        self.high = reached.max(axis=0, initial=0.0) + margin

    def layer(self, across: int) -> int:
        """Return the number of the layer shown that is perpendicular to an axis, 0 to 2."""
        if across < 2:
            return int(np.argmin(np.abs(self.axes[across] - self._first_joint[across])))
        if self._height is not None:
            return int(np.argmin(np.abs(self.axes[2] - self._height)))
        poses, positions = self._poses.sum(axis=(0, 1)), self._seen.sum(axis=(0, 1))
        return int(np.lexsort((positions, poses))[-1])

    def draw(
        self, axes: Axes, values: np.ndarray, across: int, colors: ScalarMappable, title: str
    ) -> None:
        """Draw a layer of values (P,) across an axis, 0 to 2, and the arm; or leave it empty."""
        axes.set_title(f'{title} {self.place(across)}')
        right, up = (i for i in range(3) if i != across)
        layer = self.layer(across)
        seen = np.take(self._seen, layer, axis=across)
        if 1 in seen.shape:
            axes.set_axis_off()
            return
        shown = np.ma.masked_where(~seen, np.take(values.reshape(self.shape), layer, axis=across))
        x, y = self.axes[right], self.axes[up]
        norm = cast('Normalize', colors.norm)  # made by _colors
        axes.pcolormesh(
            x, y, shown.T, cmap=colors.cmap, norm=norm, shading='nearest', rasterized=True
        )
        arm = self._arm[:, right], self._arm[:, up]
        axes.plot(*arm, color='white', linewidth=4, solid_joinstyle='round', alpha=0.9)
        axes.plot(*arm, color=INK, linewidth=1.6, solid_joinstyle='round')
        axes.set_aspect('equal')
        axes.locator_params(nbins=5 if self._digits < 3 else 3)  # long labels need more room
        axes.set_xlim(self.low[right], self.high[right])
        axes.set_ylim(self.low[up], self.high[up])
        axes.set_xlabel(f'{NAMES[right]} [m]')
        axes.set_ylabel(f'{NAMES[up]} [m]')

    def place(self, across: int) -> str:
        """Return where the layer perpendicular to an axis is, such as ``y = 0.00 m``."""
        value = round(float(self.axes[across][self.layer(across)]), self._digits) + 0.0
        return f'{NAMES[across]} = {value:.{self._digits}f} m'


def common_height(first: CapabilityMap, second: CapabilityMap) -> float | None:
    """Return the height [m] of a level layer that is full in both maps; None without one."""
    heights, fullness = [], []
    for found in (first, second):
        axes = found.axes or ()
        shape = tuple(len(axis) for axis in axes)
        poses = found.free.sum(axis=1).reshape(shape).sum(axis=(0, 1))
        positions = found.position_free.reshape(shape).sum(axis=(0, 1))
        # Positions show where no orientation is reached at all.
        fullness.append(poses / max(poses.max(), 1) + 1e-6 * positions / max(positions.max(), 1))
        heights.append(axes[2])
    near = np.abs(heights[0][:, None] - heights[1]) < _SAME * first.spacing
    rows, columns = np.nonzero(near)
    if not len(rows):
        return None
    return float(heights[0][rows[np.argmax(fullness[0][rows] + fullness[1][columns])]])


def draw_reach(path: Path, found: CapabilityMap) -> Path:
    """Draw a capability map, and write the picture."""
    share = found.free.mean(axis=1)
    cuts = Cuts(found)
    with sheet(path, 13.0, 8.4) as figure:
        # Room for the labels beside 3-D axes.
        cast('ConstrainedLayoutEngine', figure.get_layout_engine()).set(wspace=0.06, hspace=0.06)
        places = figure.add_gridspec(2, 3, width_ratios=(1.15, 1.0, 1.0))
        colors = _colors(_SHARE_COLORS, 0.0, 1.0)
        space = cast('Axes3D', figure.add_subplot(places[0, 0], projection='3d'))
        _draw_cloud(space, found, share, colors)
        upright, level = figure.add_subplot(places[0, 1]), figure.add_subplot(places[0, 2])
        for axes, across in ((upright, 1), (level, 2)):
            cuts.draw(axes, share, across, colors, 'at')
        _bar(figure, colors, [upright, level], f'share of {len(found.rotations)} orientations')
        across = 2 if cuts.shape[2] == 1 else 1  # the other one is the edge of a flat arm
        below = [figure.add_subplot(places[1, i]) for i in range(3)]
        _draw_quantities(figure, below[:2], found, cuts, across)
        if found.collisions:
            lost = _colors(_LOST_COLORS, 0.0, float((found.share - share).max()) or 1.0)
            cuts.draw(below[2], found.share - share, across, lost, 'lost to self-collision,')
            _bar(figure, lost, below[2], 'share of orientations')
        else:
            draw_shares(below[2], [share[found.position_free]], [found.cell])
        figure.suptitle(
            f'{drawn_name(found.spec.build().chain.robot.name)}: where '
            f'{drawn_name(found.tip_link)} can get, in the frame {drawn_name(found.base_link)}'
            + (', free of self-collision' if found.collisions else ''),
            x=0.01,
            ha='left',
        )
    return path


def share_colors(share: np.ndarray) -> np.ndarray:
    """Return the colours (N, 4), 0 to 1, of shares of the orientations (N,), as in the picture."""
    check_installed()
    from matplotlib import colormaps

    return colormaps[_SHARE_COLORS](share)


def draw_shares(
    axes: Axes, shares: Sequence[np.ndarray], cells: Sequence[float], labels: Sequence[str] = ()
) -> None:
    """Draw the volume reached with at least so many orientations, for each arm's shares (N,)."""
    solid = min(cells) > 0.0
    for number, (share, cell) in enumerate(zip(shares, cells, strict=True)):
        steps, counts = np.unique(np.append(0.0, share), return_counts=True)
        counts[0] -= 1  # of the 0 at which the curve begins
        at_least = np.cumsum(counts[::-1])[::-1] * (cell if solid else 1.0)
        label = labels[number] if labels else None
        axes.step(100.0 * steps, at_least, where='pre', color=PALETTE[number], label=label)
    axes.set_xlim(0.0, 100.0)
    axes.set_ylim(0.0)
    axes.set_xlabel('with at least so many orientations [%]')
    axes.set_ylabel('volume [m³]' if solid else 'positions')
    axes.set_title('reached')
    if labels:
        axes.legend(loc='upper right')


def _colors(name: str, low: float, high: float) -> ScalarMappable:
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    return ScalarMappable(Normalize(low, high), name)


def _bar(
    figure: Figure,
    colors: ScalarMappable,
    axes: Axes | list[Axes],
    label: str,
    shrink: float = 0.8,
) -> None:
    bar = figure.colorbar(colors, ax=axes, shrink=shrink, pad=0.02)
    bar.set_label(label, color=INK)
    bar.outline.set_visible(False)


def _draw_quantities(
    figure: Figure, axes: list[Axes], found: CapabilityMap, cuts: Cuts, across: int
) -> None:
    for place, values, title, label in (
        (axes[0], found.manipulability, 'manipulability', 'in metres and radians'),
        (axes[1], found.limit_distance, 'distance from limits', "share of the joint's range"),
    ):
        known = values[np.isfinite(values)]  # nothing where no position is reached
        highest = max(float(known.max()), 1e-9) if len(known) else 1.0
        colors = _colors(_QUANTITY_COLORS, 0.0, highest)
        cuts.draw(place, values, across, colors, f'{title},')
        _bar(figure, colors, place, label)


def _draw_cloud(
    axes: Axes3D, found: CapabilityMap, share: np.ndarray, colors: ScalarMappable
) -> None:
    """Draw the points in space, without the quarter that would hide the inside."""
    points, share = found.positions[found.position_free], share[found.position_free]
    middle = np.array([axis.mean() for axis in found.axes or ()])
    hiding = (points[:, 0] > middle[0]) & (points[:, 1] < middle[1])
    title = 'all positions that are reached' if len(points) else 'no position is reached'
    if len(points) and np.ptp(points, axis=0).min() > 0.0:  # a flat arm hides nothing
        points, share = points[~hiding], share[~hiding]
        title += ', but for one quarter'
    axes.scatter(
        *points.T,
        c=colors.to_rgba(share),
        s=_POINT_AREA * (20 / max(map(len, found.axes or ()))) ** 2,
        linewidths=0,
        depthshade=False,
    )
    _frame(axes, points if len(points) else found.positions, found.spacing)
    axes.set_title(title)


def _frame(axes: Axes3D, points: np.ndarray, margin: float) -> None:
    from matplotlib.ticker import MaxNLocator

    axes.view_init(elev=_ELEVATION, azim=_AZIMUTH)
    low, high = points.min(axis=0) - margin, points.max(axis=0) + margin
    axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), zlim=(low[2], high[2]))
    axes.set_box_aspect(np.maximum(high - low, 0.2 * (high - low).max()), zoom=1.2)
    for name, axis in zip(NAMES, (axes.xaxis, axes.yaxis, axes.zaxis), strict=True):
        axis.set_pane_color((1.0, 1.0, 1.0, 1.0))
        axis.line.set_color(BORDER)
        axis.set_major_locator(MaxNLocator(4))
        axis.labelpad = -4
        axis.set_label_text(f'{name} [m]', color=FAINT, fontsize=8)
        axis.set_tick_params(labelsize=7, colors=FAINT, pad=-1)


def arm_names(first: CapabilityMap, second: CapabilityMap) -> tuple[str, str]:
    """Return names that tell two arms apart."""
    pair = first, second
    names = [found.spec.build().chain.robot.name for found in pair]
    if names[0] == names[1]:
        names = [f'{name} ({found.tip_link})' for name, found in zip(names, pair, strict=True)]
    if names[0] == names[1]:
        names = [f'{names[0]}, first', f'{names[1]}, second']
    return names[0], names[1]


def draw_comparison(
    path: Path, first: CapabilityMap, second: CapabilityMap, comparison: MapComparison
) -> Path:
    """Draw two maps side by side, with the same colours and scale, and write the picture."""
    one, other = arm_names(first, second)
    names = drawn_name(one), drawn_name(other)
    with sheet(path, 13.0, 8.4) as figure:
        places = figure.add_gridspec(2, 3, width_ratios=(1.0, 1.0, 0.9))
        shown = [[figure.add_subplot(places[row, column]) for row in (0, 1)] for column in (0, 1)]
        height, colors = common_height(first, second), _colors(_SHARE_COLORS, 0.0, 1.0)
        for axes, found, name in zip(shown, (first, second), names, strict=True):
            _draw_both_cuts(axes, Cuts(found, height), found, comparison, colors, name)
        figures = [figure.add_subplot(places[row, 2]) for row in (0, 1)]
        shares = [comparison.share[i][comparison.free[i]] for i in (0, 1)]
        draw_shares(figures[0], shares, [first.cell, second.cell], names)
        _draw_means(figures[1], comparison, names)
        _bar(figure, colors, [*shown[0], *shown[1]], 'share of orientations', 0.6)
        told = f'of what either reaches, both reach {comparison.overlap:.0%}'
        if np.isnan(comparison.overlap):
            told = 'neither reaches a position of the grid'
        figure.suptitle(f'{names[0]} and {names[1]}: {told}', x=0.01, ha='left')
    return path


def _draw_both_cuts(
    axes: list[Axes],
    cuts: Cuts,
    found: CapabilityMap,
    comparison: MapComparison,
    colors: ScalarMappable,
    name: str,
) -> None:
    """Draw an upright and a level cut of a map, as far as the larger of the two arms gets."""
    free = comparison.free[0] | comparison.free[1]
    reached = comparison.positions[free if free.any() else ...]
    low, high = reached.min(axis=0), reached.max(axis=0)
    margin = comparison.spacing
    for place, across in zip(axes, (1, 2), strict=True):
        cuts.draw(place, found.free.mean(axis=1), across, colors, f'{name},')
        right, up = (i for i in range(3) if i != across)
        place.set_xlim(low[right] - margin, high[right] + margin)
        place.set_ylim(low[up] - margin, high[up] + margin)


def _draw_means(axes: Axes, comparison: MapComparison, names: tuple[str, str]) -> None:
    rows = [('volume [m³]', comparison.volumes)]
    rows += [
        (label, tuple(getattr(means, field) for means in comparison.shared_means))
        for field, label in (
            ('share', 'share of\norientations'),
            ('manipulability', 'manipu-\nlability'),
            ('limit_distance', 'distance\nfrom limits'),
        )
    ]
    places = np.arange(len(rows))[::-1]
    for number, name in enumerate(names):
        lengths = [values[number] / max(*values, 1e-12) for _, values in rows]
        at = places + (0.2 if number == 0 else -0.2)
        axes.barh(at, lengths, 0.36, color=PALETTE[number], label=name)
        for place, length, (_, values) in zip(at, lengths, rows, strict=True):
            if np.isfinite(length):
                axes.text(length + 0.02, place, f'{values[number]:.3g}', va='center', fontsize=9)
    axes.set_yticks(places, [label for label, _ in rows])
    axes.set_xlim(0.0, 1.25)
    axes.set_xticks([])
    axes.grid(visible=False)
    axes.set_title('volume, and means where both get')
