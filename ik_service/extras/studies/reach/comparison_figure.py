"""Figure of two capability maps side by side."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ik_service.drawing.figures import INK, PALETTE, sheet
from ik_service.extras.reach import CapabilityMap, MapComparison
from ik_service.extras.studies.reach.cuts import common_height, Cuts
from ik_service.extras.studies.reach.reach_figure import draw_shares
from ik_service.extras.studies.reach.report import arm_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLORS = 'viridis'


def draw_comparison(
    path: Path, first: CapabilityMap, second: CapabilityMap, comparison: MapComparison
) -> Path:
    """
    Draw two maps side by side, with the same colours and scale, and write the picture.

    :param path: the PNG file.
    :param first: the first map.
    :param second: the second.
    :param comparison: of the two.
    :returns: the path.
    :raises MissingExtraError: Matplotlib is not installed.
    """
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    names = arm_names(first, second)
    with sheet(path, 13.0, 8.4) as figure:
        places = figure.add_gridspec(2, 3, width_ratios=(1.0, 1.0, 0.9))
        shown = [[figure.add_subplot(places[row, column]) for row in (0, 1)] for column in (0, 1)]
        height = common_height(first, second)
        for axes, found, name in zip(shown, (first, second), names, strict=True):
            _draw_cuts(axes, Cuts(found, height), found, comparison, name)
        figures = [figure.add_subplot(places[row, 2]) for row in (0, 1)]
        shares = [comparison.share[i][comparison.free[i]] for i in (0, 1)]
        draw_shares(figures[0], shares, [first.cell, second.cell], names)
        _draw_means(figures[1], comparison, names)
        colors = ScalarMappable(Normalize(0.0, 1.0), _COLORS)
        bar = figure.colorbar(colors, ax=[*shown[0], *shown[1]], shrink=0.6, pad=0.02)
        bar.set_label('share of orientations', color=INK)
        bar.outline.set_visible(False)
        figure.suptitle(
            f'{names[0]} and {names[1]}: of what either reaches, both reach '
            f'{comparison.overlap:.0%}',
            x=0.01,
            ha='left',
        )
    return path


def _draw_cuts(
    axes: list[Axes], cuts: Cuts, found: CapabilityMap, comparison: MapComparison, name: str
) -> None:
    """Draw an upright and a level cut of a map, as far as the larger of the two arms gets."""
    from matplotlib import colormaps
    from matplotlib.colors import Normalize

    reached = comparison.positions[comparison.free[0] | comparison.free[1]]
    low, high = reached.min(axis=0), reached.max(axis=0)
    margin = comparison.spacing
    for place, across in zip(axes, (1, 2), strict=True):
        share = found.free.mean(axis=1)
        cuts.draw(place, share, across, colormaps[_COLORS], Normalize(0.0, 1.0))
        right, up = (i for i in range(3) if i != across)
        place.set_xlim(low[right] - margin, high[right] + margin)
        place.set_ylim(low[up] - margin, high[up] + margin)
        place.set_title(f'{name}, {cuts.place(across)}')


def _draw_means(axes: Axes, comparison: MapComparison, names: tuple[str, str]) -> None:
    """Draw each mean of the second arm as a share of the larger of both, over what they share."""
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
