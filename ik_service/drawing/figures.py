"""
Style of the figures, and the file that they are written to.

Matplotlib is imported when a figure is made, not with this module: listing the studies and
computing their numbers need none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TYPE_CHECKING
import warnings

from ik_service.common.files import whole_file
from ik_service.common.quoting import shorten
from ik_service.common.resources import extra_module
from ik_service.solvers.registry import solver_names

if TYPE_CHECKING:
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

INK, FAINT, BORDER, GRID = '#24292f', '#6e7781', '#d0d7de', '#eaeef2'
# Told apart also by readers who see fewer colours, and on paper without any.
PALETTE = ('#0072b2', '#e69f00', '#009e73', '#d55e00', '#7b52c7', '#d6679f', '#555555')
ACCENT = '#e8590c'  # the target, and the path of the tip
DPI = 120

_LONGEST_NAME = 40  # characters of a name that a figure has room for

_STYLE: dict[Any, Any] = {
    'figure.dpi': DPI,
    'figure.facecolor': 'white',
    'figure.constrained_layout.use': True,
    'figure.constrained_layout.h_pad': 0.08,
    'figure.constrained_layout.w_pad': 0.08,
    'figure.titlesize': 13,
    'font.size': 10,
    'text.color': INK,
    'axes.labelcolor': INK,
    'axes.titlelocation': 'left',
    'axes.titlesize': 11,
    'axes.titlepad': 10,
    'axes.labelsize': 10,
    'axes.edgecolor': BORDER,
    'axes.spines.top': False,
    'axes.spines.right': False,
    'axes.grid': True,
    'axes.axisbelow': True,
    'grid.color': GRID,
    'xtick.color': INK,
    'ytick.color': INK,
    'xtick.labelsize': 9,
    'ytick.labelsize': 9,
    'xtick.major.size': 0,
    'ytick.major.size': 0,
    'xtick.minor.size': 0,
    'ytick.minor.size': 0,
    'lines.linewidth': 1.8,
    'lines.solid_capstyle': 'round',
    'legend.frameon': False,
    'legend.fontsize': 9,
}


def check_installed() -> None:
    """Check that Matplotlib is installed, before anything is computed for a figure."""
    extra_module('matplotlib', 'plot')


@contextmanager
def sheet(path: Path, width: float, height: float) -> Iterator[Figure]:
    """
    Draw a figure: the style holds inside the ``with`` block, and the file is written at its end.

    :param path: the PNG file.
    :param width: [inches], of ``DPI`` pixels each.
    :param height: [inches].
    :returns: the empty figure; its layout is constrained.
    :raises MissingExtraError: Matplotlib is not installed.
    """
    check_installed()
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context(_STYLE):
        figure = Figure(figsize=(width, height))
        yield figure
        with whole_file(path) as part, warnings.catch_warnings():
            warnings.filterwarnings('ignore', 'Glyph .* missing')  # of a name; a box is drawn
            figure.savefig(part, metadata={'Software': None})


def drawn_name(name: str, among: Iterable[str] = ()) -> str:
    """Return a name, of several, as text of a figure: short, and with plain dollars."""
    return shorten(name, _LONGEST_NAME, among).replace('$', r'\$')


def method_color(name: str) -> str:
    """Return the colour of a solver, the same in all figures."""
    return PALETTE[solver_names().index(name) % len(PALETTE)]


def method_label(name: str) -> str:
    """Return the name of a solver with spaces in place of underscores."""
    return name.replace('_', ' ')


def plain_numbers(axis: Axis) -> None:
    """Write the ticks of a logarithmic axis as 0.1, 0.2, 0.5, 1 rather than as powers of 10."""
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter(StrMethodFormatter('{x:g}'))
    axis.set_minor_formatter(NullFormatter())
