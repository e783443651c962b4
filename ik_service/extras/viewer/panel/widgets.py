"""Assignment to widgets, and calls that they make."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import viser


def set_value(widget: viser.GuiInputHandle[Any], value: object) -> None:
    """Set the value of a widget in all pages."""
    # viser has a method between getter and setter of this property, and mypy sees no setter then.
    widget.value = value  # type: ignore[misc]


def set_properties(widget: object, **properties: object) -> None:
    """Set properties of a widget where they differ, since each assignment is sent to the pages."""
    for name, value in properties.items():
        if getattr(widget, name) != value:
            setattr(widget, name, value)


def call_on_click(button: viser.GuiButtonHandle, action: Callable[[], object]) -> None:
    """
    Call a function when a button is clicked.

    :param action: the function; called in a thread of the server.
    """

    @button.on_click
    async def _(_event: viser.GuiEvent[viser.GuiButtonHandle]) -> None:
        action()
