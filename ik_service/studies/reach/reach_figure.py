"""Figure of a reachability survey: the points in space, and cuts through them."""

from __future__ import annotations

from pathlib import Path
from typing import cast, TYPE_CHECKING

import numpy as np

from ik_service.kinematics.chain import KinematicChain
from ik_service.studies.drawing.arm_shape import skeleton
from ik_service.studies.drawing.figures import BORDER, check_installed, FAINT, INK, sheet
from ik_service.studies.reach.survey import Reachability

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize
    from matplotlib.layout_engine import ConstrainedLayoutEngine
    from mpl_toolkits.mplot3d.axes3d import Axes3D

_COLORS = 'viridis'
_ELEVATION, _AZIMUTH = 24.0, -52.0  # of the view [°]
_POINT_AREA = 30.0  # of a point where there are 20 positions in a row [points of print²]
_NAMES = 'xyz'


def draw_reach(path: Path, chain: KinematicChain, reach: Reachability) -> Path:
    """
    Draw a survey and write the picture.

    :param path: the PNG file.
    :param chain: the arm.
    :param reach: the survey.
    :returns: the path.
    :raises MissingExtraError: Matplotlib is not installed.
    """
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    colors = ScalarMappable(Normalize(0.0, reach.orientations), _COLORS)
    arm = skeleton(chain, chain.mid_range()).points
    with sheet(path, 13.0, 4.6) as figure:
        # Room for what 3-D axes write beside themselves.
        cast('ConstrainedLayoutEngine', figure.get_layout_engine()).set(wspace=0.06)
        places = figure.add_gridspec(1, 3, width_ratios=(1.35, 1.0, 1.0))
        space = figure.add_subplot(places[0], projection='3d')
        _draw_cloud(space, reach, colors)
        cuts = [figure.add_subplot(places[1]), figure.add_subplot(places[2])]
        _draw_cut(cuts[0], reach, 1, arm, colors)
        _draw_cut(cuts[1], reach, 2, arm, colors)
        bar = figure.colorbar(colors, ax=cuts, shrink=0.75, pad=0.02)
        bar.set_label(f'orientations reached, of {reach.orientations}', color=INK)
        bar.outline.set_visible(False)
        figure.suptitle(
            f'{chain.robot.name}: where {chain.tip_link} can get, in the frame {chain.base_link}',
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


def _draw_cloud(axes: Axes3D, reach: Reachability, colors: ScalarMappable) -> None:
    """Draw the points in space, without the quarter that would hide the inside."""
    from matplotlib.ticker import MaxNLocator

    points, share = reach.points, reach.share
    middle = np.array([axis.mean() for axis in reach.axes])
    hiding = (points[:, 0] > middle[0]) & (points[:, 1] < middle[1])
    title = 'all positions that are reached'
    if np.ptp(points, axis=0).min() > 0.0:  # a flat arm hides nothing
        points, share = points[~hiding], share[~hiding]
        title += ', but for one quarter'
    axes.scatter(
        *points.T,
        c=colors.to_rgba(share * reach.orientations),
        s=_POINT_AREA * (20 / max(map(len, reach.axes))) ** 2,
        linewidths=0,
        depthshade=False,
    )
    axes.view_init(elev=_ELEVATION, azim=_AZIMUTH)
    margin = reach.spacing.max()
    low, high = points.min(axis=0) - margin, points.max(axis=0) + margin
    axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), zlim=(low[2], high[2]))
    axes.set_box_aspect(np.maximum(high - low, 0.2 * (high - low).max()), zoom=1.2)
    axes.set_title(title)
    for name, axis in zip(_NAMES, (axes.xaxis, axes.yaxis, axes.zaxis), strict=True):
        axis.set_pane_color((1.0, 1.0, 1.0, 1.0))
        axis.line.set_color(BORDER)
        axis.set_major_locator(MaxNLocator(4))
        axis.labelpad = -4
        axis.set_label_text(f'{name} [m]', color=FAINT, fontsize=8)
        axis.set_tick_params(labelsize=7, colors=FAINT, pad=-1)


def _draw_cut(
    axes: Axes, reach: Reachability, across: int, arm: np.ndarray, colors: ScalarMappable
) -> None:
    """Draw the layer across an axis that shows most of what is reached, and the arm."""
    right, up = (i for i in range(3) if i != across)
    layer = _fullest_layer(reach, across)
    seen = np.take(reach.position, layer, axis=across)
    count = np.ma.masked_where(~seen, np.take(reach.count, layer, axis=across))
    if 1 in count.shape:
        axes.set_axis_off()  # the arm is flat, and this is its edge
        return
    x, y = reach.axes[right], reach.axes[up]
    norm = cast('Normalize', colors.norm)  # made above
    axes.pcolormesh(x, y, count.T, cmap=colors.cmap, norm=norm, shading='nearest')
    axes.plot(
        arm[:, right], arm[:, up], color='white', linewidth=4, solid_joinstyle='round', alpha=0.9
    )
    axes.plot(arm[:, right], arm[:, up], color=INK, linewidth=1.6, solid_joinstyle='round')
    axes.set_aspect('equal')
    axes.set_xlabel(f'{_NAMES[right]} [m]')
    axes.set_ylabel(f'{_NAMES[up]} [m]')
    axes.set_title(f'cut at {_NAMES[across]} = {reach.axes[across][layer]:.2f} m, with the arm')


def _fullest_layer(reach: Reachability, across: int) -> int:
    """Return the layer with the most reached poses; with the most positions where none is."""
    others = tuple(i for i in range(3) if i != across)
    poses, positions = reach.count.sum(axis=others), reach.position.sum(axis=others)
    return int(np.lexsort((positions, poses))[-1])
