"""Tab in which maps of the reach are loaded, coloured and cut."""

from __future__ import annotations

from collections.abc import Sequence
import math
from typing import TYPE_CHECKING

import numpy as np
import viser

from ik_service.extras.viewer.link.task_queue import Post
from ik_service.extras.viewer.panel.panel_html import banner, framed, StatusText
from ik_service.extras.viewer.panel.widgets import on_click, on_input, set_properties, set_value
from ik_service.extras.viewer.reach.reach_map import FINENESSES, Quantity
from ik_service.extras.viewer.reach.selection import Cut, Look

if TYPE_CHECKING:
    from ik_service.extras.viewer.reach.reach import Reach

ARMS = 'which arm reaches'
"""Colouring by a comparison, where there is one."""

_CUTS = {cut.value: cut for cut in Cut}
_STEPS = 100  # of the threshold
_POINT_SIZE, _LARGEST_POINT = 10.0, 100.0  # [mm]
_OFFSET_STEP = 0.005  # [m]


class ReachForm:
    """
    Tab of the reach. To be used from one thread.

    :param path: of the map that is loaded first; empty for none.
    """

    def __init__(
        self,
        gui: viser.GuiApi,
        container: viser.GuiTabHandle,
        post: Post,
        reach: Reach,
        path: str,
    ) -> None:
        self._quantities: Sequence[Quantity] = ()
        self._can_compare = False
        with container:
            self._text = gui.add_html('')
            self._here = gui.add_html('', visible=False)
            self._key = gui.add_html('', visible=False)
            self._show = gui.add_checkbox('Show the map', True, visible=False)
            self._color = gui.add_dropdown('Colour', (ARMS,), visible=False)
            self._least = gui.add_slider('At least', 0.0, 1.0, 0.01, 0.0, visible=False)
            # Cut open towards the camera, so that the arm is in sight.
            self._cut = gui.add_dropdown(
                'Cut', tuple(_CUTS), initial_value=Cut.ABOVE_Y.value, visible=False
            )
            self._offset = gui.add_slider('Plane at [m]', -1.0, 1.0, 0.01, 0.0, visible=False)
            self._size = gui.add_slider(
                'Point size [mm]', 1.0, _LARGEST_POINT, 0.5, _POINT_SIZE, visible=False
            )
            self._progress = gui.add_progress_bar(0.0, visible=False)
            hint = 'From coarse, in half a minute, to fine, in a quarter of an hour'
            self._fineness = gui.add_dropdown('Fineness', tuple(FINENESSES), hint=hint)
            self._make = gui.add_button('Make a map of this arm', icon=viser.Icon.RADAR_2)
            hint = 'On the machine of the viewer: the reach.zarr or reach.npz of ik_study reach'
            self._path = gui.add_text('Map', path, hint=hint)
            self._load = gui.add_button('Load', icon=viser.Icon.FOLDER_OPEN)
            hint = 'Another map; both bases are put at the same place'
            self._other = gui.add_text('Compare with', '', hint=hint, visible=False)
            self._compare = gui.add_button('Compare', icon=viser.Icon.GIT_COMPARE, visible=False)
        self._listen(post, reach)

    @property
    def is_shown(self) -> bool:
        """Whether the map is to be shown."""
        return bool(self._show.value)

    @property
    def compares(self) -> bool:
        """Whether the colours are those of a comparison."""
        return self._can_compare and self._color.value == ARMS

    @property
    def look(self) -> Look:
        """Part of the map that is drawn, and its colours."""
        names = [quantity.name for quantity in self._quantities]
        name = self._color.value
        return Look(
            names.index(name) if name in names else 0,
            self._least.value,
            _CUTS.get(self._cut.value, Cut.NONE),
            self._offset.value,
        )

    @property
    def point_size(self) -> float:
        """Diameter of a point [m]."""
        return 1e-3 * min(max(self._size.value, 1.0), _LARGEST_POINT)

    def offer(self, quantities: Sequence[Quantity], points: np.ndarray, spacing: float) -> None:
        """
        Offer the quantities of a map.

        :param quantities: known quantities; empty to offer none.
        :param points: (N, 3) its positions [m].
        :param spacing: distance of neighbours [m]; 0 without a grid.
        """
        self._quantities = quantities
        self._can_compare = False
        for widget in self._controls:
            set_properties(widget, visible=bool(quantities))
        set_properties(self._here, visible=False)
        if not quantities:
            return
        self._color.options = tuple(quantity.name for quantity in quantities)
        set_value(self._color, quantities[0].name)
        # Of the whole map, so that the plane can be turned without leaving it.
        low, high = math.floor(1e3 * points.min()) / 1e3, math.ceil(1e3 * points.max()) / 1e3
        step = spacing or _OFFSET_STEP
        set_properties(self._offset, min=low, max=max(high, low + step), step=step)
        set_value(self._offset, min(max(self._offset.value, low), high))
        size = min(max(200.0 * spacing, 1.0), _LARGEST_POINT) if spacing else _POINT_SIZE
        set_value(self._size, round(2.0 * size) / 2.0)
        self.adjust()

    def switch(self, is_shown: bool) -> None:
        """Show or hide the map."""
        set_value(self._show, is_shown)

    def offer_comparison(self, is_there: bool) -> None:
        """Offer to colour by a comparison, and choose that."""
        self._can_compare = is_there
        names = tuple(quantity.name for quantity in self._quantities)
        self._color.options = (ARMS, *names) if is_there else names
        set_value(self._color, self._color.options[0])
        self.adjust()

    def adjust(self) -> None:
        """Give the threshold the range of the chosen quantity, and show only meaningful inputs."""
        quantity = self._quantities[self.look.quantity]
        unit = f' [{quantity.unit}]' if quantity.unit else ''
        label = f'At least{unit}'
        if self._least.label != label or self._least.max != quantity.highest:
            set_value(self._least, 0.0)
            highest = quantity.highest
            step, precision = highest / _STEPS, max(quantity.digits, 0)
            set_properties(self._least, label=label, max=highest, step=step, precision=precision)
        set_properties(self._offset, visible=self.look.cut is not Cut.NONE)

    def show(self, text: StatusText) -> None:
        """Show the state of the tab."""
        set_properties(self._text, content=banner(text))

    def show_progress(self, share: float | None) -> None:
        """
        Show how much of a map is made.

        :param share: 0 to 1; None while none is made.
        """
        set_properties(self._progress, visible=share is not None)
        if share is not None:
            set_properties(self._progress, value=float(round(100.0 * share)))

    def show_key(self, content: str) -> None:
        """Show the legend."""
        set_properties(self._key, content=content)

    def show_here(self, content: str) -> None:
        """
        Show the values of the map at the position of the target.

        :param content: HTML; empty for nothing.
        """
        set_properties(self._here, visible=bool(content), content=framed(content))

    @property
    def _controls(self) -> tuple[object, ...]:
        looks = (self._key, self._show, self._color, self._least, self._cut, self._size)
        return (*looks, self._offset, self._other, self._compare)

    def _listen(self, post: Post, reach: Reach) -> None:
        on_click(self._load, lambda: post(reach.load, self._path.value))
        on_click(self._make, lambda: post(reach.make, self._fineness.value))
        on_click(self._compare, lambda: post(reach.compare, self._other.value))
        for widget in (self._show, self._color, self._least, self._cut, self._offset, self._size):
            on_input(widget, lambda value: post(reach.change))
