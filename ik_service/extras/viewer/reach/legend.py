"""Legends of the colours in the tab of the reach."""

from __future__ import annotations

from html import escape

import numpy as np

from ik_service.extras.viewer.panel.panel_html import framed
from ik_service.extras.viewer.reach.comparison import COLORS, Comparison
from ik_service.extras.viewer.reach.reach_map import Quantity
from ik_service.extras.viewer.scene.colormap import viridis

_STOPS = 9  # colours of the bar, between which browsers blend


def color_bar(quantity: Quantity) -> str:
    """
    Return a bar with the colours of a quantity, and numbers with the unit below.

    :param quantity: the quantity.
    """
    colors = ','.join(map(_css, viridis(np.linspace(0.0, 1.0, _STOPS))))
    ends = (quantity.text(share * quantity.highest) for share in (0.0, 0.5, 1.0))
    numbers = ''.join(f'<span>{escape(text)}</span>' for text in ends)
    return framed(
        f'<div>{escape(quantity.name)}</div>'
        f'<div style="height:0.75em;border-radius:3px;'
        f'background:linear-gradient(90deg,{colors})"></div>'
        f'<div style="display:flex;justify-content:space-between">{numbers}</div>'
    )


def arms_key(comparison: Comparison, least: float) -> str:
    """
    Return the colours of a comparison, with the volume of each.

    :param comparison: the comparison.
    :param least: share of the orientations from which on a place counts as reached [%].
    """
    one, other = comparison.names
    texts = (f'only {one}', f'only {other}', 'both')
    volumes = comparison.volumes(least)
    rows = ''.join(
        f'<tr><td style="padding-right:0.5em"><div style="width:0.75em;height:0.75em;'
        f'border-radius:50%;background:{_css(color)}"></div></td><td>{escape(text)}</td>'
        f'<td style="text-align:right;padding-left:0.75em;white-space:nowrap">'
        f'<b>{volume:.3f} m³</b></td></tr>'
        for color, text, volume in zip(COLORS, texts, volumes, strict=True)
    )
    return framed(f'<table>{rows}</table>')


def _css(color: np.ndarray) -> str:
    return 'rgb({},{},{})'.format(*color.tolist())
