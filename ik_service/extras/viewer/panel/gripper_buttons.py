"""Buttons that open and close the hands of a robot."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import viser

from ik_service.common.quoting import truncate

OnChoose = Callable[[str, str], object]


class GripperButtons:
    """
    A row of buttons for each hand. To be used from one thread.

    :param gui: the page's GUI.
    :param order: where the rows stand among the widgets of the page.
    :param on_choose: called, in a thread of the server, with the name of a hand and the button.
    """

    def __init__(self, gui: viser.GuiApi, order: float, on_choose: OnChoose) -> None:
        self._gui, self._order, self._on_choose = gui, order, on_choose
        self._rows: list[viser.GuiButtonGroupHandle] = []

    def build(self, hands: Mapping[str, Sequence[str]]) -> None:
        """
        Replace the buttons.

        :param hands: what the buttons of each hand say, by its name.
        """
        for row in self._rows:
            row.remove()
        self._rows = [self._add(name, choices) for name, choices in hands.items()]

    def enable(self, enabled: bool) -> None:
        """
        Enable or disable the buttons.

        :param enabled: whether the hands can be moved.
        """
        for row in self._rows:
            if row.disabled == enabled:
                row.disabled = not enabled

    def _add(self, name: str, choices: Sequence[str]) -> viser.GuiButtonGroupHandle:
        row = self._gui.add_button_group(truncate(name), choices, order=self._order)
        choose = partial(self._on_choose, name)

        @row.on_click
        async def _(event: viser.GuiEvent[viser.GuiButtonGroupHandle]) -> None:
            choose(event.target.value)

        return row
