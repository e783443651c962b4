"""Assignment of a widget's value."""

from __future__ import annotations

from typing import Any

import viser


def set_value(widget: viser.GuiInputHandle[Any], value: object) -> None:
    """
    Set the value of a widget in all pages.

    :param widget: the widget.
    :param value: a value of its type.
    """
    # viser has a method between getter and setter of this property, and mypy sees no setter then.
    widget.value = value  # type: ignore[misc]
