"""Cuts through capability maps, with the arm in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ik_service.drawing.arm_shape import skeleton
from ik_service.drawing.figures import INK
from ik_service.extras.reach import CapabilityMap

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap, Normalize

NAMES = 'xyz'

_SAME = 1e-3  # share of the spacing by which layers at the same height may differ


class Cuts:
    """
    Layers of the grid of a map: upright ones through the first joint, and a level one.

    :param found: the map, of a grid.
    :param height: of the level one [m]; that of the fullest layer when left out.
    """

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
        self.low = reached.min(axis=0, initial=0.0) - margin
        self.high = reached.max(axis=0, initial=0.0) + margin

    def layer(self, across: int) -> int:
        """
        Return the number of the layer that is shown.

        :param across: the axis that it is perpendicular to, 0 to 2.
        """
        if across < 2:
            return int(np.argmin(np.abs(self.axes[across] - self._first_joint[across])))
        if self._height is not None:
            return int(np.argmin(np.abs(self.axes[2] - self._height)))
        poses, positions = self._poses.sum(axis=(0, 1)), self._seen.sum(axis=(0, 1))
        return int(np.lexsort((positions, poses))[-1])

    def draw(
        self, axes: Axes, values: np.ndarray, across: int, colors: Colormap, norm: Normalize
    ) -> None:
        """
        Draw a layer, and the arm.

        :param axes: where; left empty where the layer is the edge of a flat arm.
        :param values: (P,) the value of each position.
        :param across: the axis that the layer is perpendicular to, 0 to 2.
        :param colors: of the values.
        :param norm: of the values.
        """
        right, up = (i for i in range(3) if i != across)
        layer = self.layer(across)
        seen = np.take(self._seen, layer, axis=across)
        if 1 in seen.shape:
            axes.set_axis_off()
            return
        shown = np.ma.masked_where(~seen, np.take(values.reshape(self.shape), layer, axis=across))
        x, y = self.axes[right], self.axes[up]
        axes.pcolormesh(x, y, shown.T, cmap=colors, norm=norm, shading='nearest', rasterized=True)
        arm = self._arm[:, right], self._arm[:, up]
        axes.plot(*arm, color='white', linewidth=4, solid_joinstyle='round', alpha=0.9)
        axes.plot(*arm, color=INK, linewidth=1.6, solid_joinstyle='round')
        axes.set_aspect('equal')
        axes.locator_params(nbins=5)
        axes.set_xlim(self.low[right], self.high[right])
        axes.set_ylim(self.low[up], self.high[up])
        axes.set_xlabel(f'{NAMES[right]} [m]')
        axes.set_ylabel(f'{NAMES[up]} [m]')

    def place(self, across: int) -> str:
        """
        Return where the layer is, such as ``y = 0.00 m``.

        :param across: the axis that the layer is perpendicular to, 0 to 2.
        """
        return f'{NAMES[across]} = {self.axes[across][self.layer(across)] + 0.0:.2f} m'


def common_height(first: CapabilityMap, second: CapabilityMap) -> float | None:
    """
    Return the height of a level layer that both maps have, and that is full in both.

    :param first: a map of a grid.
    :param second: one whose grid has the same spacing.
    :returns: [m]; None where they have no layer at the same height.
    """
    heights, fullness = [], []
    for found in (first, second):
        axes = found.axes or ()
        shape = tuple(len(axis) for axis in axes)
        poses = found.free.sum(axis=1).reshape(shape).sum(axis=(0, 1))
        positions = found.position_free.reshape(shape).sum(axis=(0, 1))
        # Positions tell where no orientation is reached at all.
        fullness.append(poses / max(poses.max(), 1) + 1e-6 * positions / max(positions.max(), 1))
        heights.append(axes[2])
    near = np.abs(heights[0][:, None] - heights[1]) < _SAME * first.spacing
    rows, columns = np.nonzero(near)
    if not len(rows):
        return None
    return float(heights[0][rows[np.argmax(fullness[0][rows] + fullness[1][columns])]])
