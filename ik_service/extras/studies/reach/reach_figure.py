"""Figure of a capability map: the positions in space, and cuts through what is known of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import cast, TYPE_CHECKING

import numpy as np

from ik_service.drawing.figures import BORDER, check_installed, FAINT, INK, PALETTE, sheet
from ik_service.extras.reach import CapabilityMap
from ik_service.extras.studies.reach.cuts import Cuts, NAMES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine
    from mpl_toolkits.mplot3d.axes3d import Axes3D

_COLORS = 'viridis'
_QUANTITY_COLORS, _LOST_COLORS = 'cividis', 'magma_r'
_ELEVATION, _AZIMUTH = 24.0, -52.0  # of the view [°]
_POINT_AREA = 30.0  # of a point where there are 20 positions in a row [points of print²]


def draw_reach(path: Path, found: CapabilityMap) -> Path:
    """
    Draw a capability map and write the picture.

    :param path: the PNG file.
    :param found: the map, of a grid.
    :returns: the path.
    :raises MissingExtraError: Matplotlib is not installed.
    """
    share = found.free.mean(axis=1)
    cuts = Cuts(found)
    with sheet(path, 13.0, 8.4) as figure:
        # Room for what 3-D axes write beside themselves.
        cast('ConstrainedLayoutEngine', figure.get_layout_engine()).set(wspace=0.06, hspace=0.06)
        places = figure.add_gridspec(2, 3, width_ratios=(1.15, 1.0, 1.0))
        colors = _colors(_COLORS, 0.0, 1.0)
        space = cast('Axes3D', figure.add_subplot(places[0, 0], projection='3d'))
        _draw_cloud(space, found, share, colors)
        upright, level = figure.add_subplot(places[0, 1]), figure.add_subplot(places[0, 2])
        for axes, across in ((upright, 1), (level, 2)):
            _draw_cut(axes, cuts, share, across, colors, f'at {cuts.place(across)}')
        _bar(figure, colors, [upright, level], f'share of {len(found.rotations)} orientations')
        across = 2 if cuts.shape[2] == 1 else 1  # the other one is the edge of a flat arm
        below = [figure.add_subplot(places[1, i]) for i in range(3)]
        _draw_quantities(figure, below[:2], found, cuts, across)
        if found.collisions:
            lost = _colors(_LOST_COLORS, 0.0, float((found.share - share).max()) or 1.0)
            title = f'lost to self-collision, {cuts.place(across)}'
            _draw_cut(below[2], cuts, found.share - share, across, lost, title)
            _bar(figure, lost, below[2], 'share of orientations')
        else:
            draw_shares(below[2], [share[found.position_free]], [found.cell])
        figure.suptitle(
            f'{found.spec.build().chain.robot.name}: where {found.tip_link} can get, in the frame '
            f'{found.base_link}' + (', free of self-collision' if found.collisions else ''),
            x=0.01,
            ha='left',
        )
    return path


def share_colors(share: np.ndarray) -> np.ndarray:
    """
    Return the colours of shares of the orientations, as in the picture.

    :param share: (N,) 0 to 1.
    :returns: (N, 4) red, green, blue and opacity, 0 to 1.
    :raises MissingExtraError: Matplotlib is not installed.
    """
    check_installed()
    from matplotlib import colormaps

    return colormaps[_COLORS](share)


def draw_shares(
    axes: Axes, shares: Sequence[np.ndarray], cells: Sequence[float], labels: Sequence[str] = ()
) -> None:
    """
    Draw what volume is reached with at least so many orientations.

    :param axes: where.
    :param shares: for each arm the share of the orientations at each position it reaches, (N,).
    :param cells: for each the volume of a position [m³]; 0 to count the positions instead.
    :param labels: their names; none without a legend.
    """
    solid = min(cells) > 0.0
    for number, (share, cell) in enumerate(zip(shares, cells, strict=True)):
        steps, counts = np.unique(share, return_counts=True)
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


def _bar(figure: Figure, colors: ScalarMappable, axes: Axes | list[Axes], label: str) -> None:
    bar = figure.colorbar(colors, ax=axes, shrink=0.8, pad=0.02)
    bar.set_label(label, color=INK)
    bar.outline.set_visible(False)


def _draw_cut(
    axes: Axes, cuts: Cuts, values: np.ndarray, across: int, colors: ScalarMappable, title: str
) -> None:
    cuts.draw(axes, values, across, colors.cmap, cast('Normalize', colors.norm))  # made above
    axes.set_title(title)


def _draw_quantities(
    figure: Figure, axes: list[Axes], found: CapabilityMap, cuts: Cuts, across: int
) -> None:
    """Draw manipulability and distance from the limits."""
    for place, values, title, label in (
        (axes[0], found.manipulability, 'manipulability', 'in metres and radians'),
        (axes[1], found.limit_distance, 'distance from limits', "share of the joint's range"),
    ):
        known = values[np.isfinite(values)]  # nothing where no position is reached
        highest = max(float(known.max()), 1e-9) if len(known) else 1.0
        colors = _colors(_QUANTITY_COLORS, 0.0, highest)
        _draw_cut(place, cuts, values, across, colors, f'{title}, {cuts.place(across)}')
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
    """Set view, limits and labels of axes in space."""
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
