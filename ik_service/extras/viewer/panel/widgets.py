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


def on_click(button: viser.GuiButtonHandle, action: Callable[[], object]) -> None:
    """Call a function, in a thread of the server, when a button is clicked."""

    @button.on_click
    async def _(_event: viser.GuiEvent[viser.GuiButtonHandle]) -> None:
        action()


def on_choice(group: viser.GuiButtonGroupHandle, action: Callable[[str], object]) -> None:
    """Call a function, in a thread of the server, with the label of a button that is clicked."""

    @group.on_click
    async def _(event: viser.GuiEvent[viser.GuiButtonGroupHandle]) -> None:
        action(event.target.value)


def on_input(widget: Any, action: Callable[[Any], object]) -> None:  # noqa: ANN401 (any input)
    """Call a function, in a thread of the server, with a value that a person has put in."""

    @widget.on_update
    async def _(event: viser.GuiEvent) -> None:
        if event.client_id is not None:
            action(widget.value)
