"""Sliders for the joints: they follow the arm until somebody moves one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
import math

import viser

from ik_service.viewer.panel.measures import JointPosition

HOLD = 3.0
"""How long the sliders stay where they were put, before they follow the arm again [s]."""

Moved = Callable[[dict[str, float]], object]


class JointSliders:
    """
    A slider for every joint of a chain. To be used from one thread.

    :param gui: the page's GUI.
    :param container: where they go.
    :param on_move: called, in a thread of the server, with the positions of all joints [rad] or
        [m] when somebody has moved one.
    """

    def __init__(self, gui: viser.GuiApi, container: viser.GuiTabHandle, on_move: Moved) -> None:
        self._gui, self._container, self._on_move = gui, container, on_move
        self._sliders: dict[str, tuple[viser.GuiSliderHandle, float]] = {}
        self._held_until = -math.inf

    def build(self, places: Sequence[JointPosition]) -> None:
        """Make sliders for other joints."""
        for slider, _ in self._sliders.values():
            slider.remove()
        self._sliders = {}
        with self._container:
            for place in places:
                self._sliders[place.name] = self._make(place)

    def hold(self, now: float) -> None:
        """Leave them where they are for a while."""
        self._held_until = now + HOLD

    def is_held(self, now: float) -> bool:
        """Whether they show what somebody has set, and not the arm."""
        return now < self._held_until

    def release(self) -> None:
        """Let them follow the arm again."""
        self._held_until = -math.inf

    def follow(self, places: Sequence[JointPosition], now: float) -> None:
        """Show where the joints are."""
        if self.is_held(now):
            return
        for place in places:
            slider, factor = self._sliders[place.name]
            value = min(max(place.value * factor, slider.min), slider.max)
            slider.value = round(value, 1)

    def enable(self, enabled: bool) -> None:
        """Let people move them, or not."""
        for slider, _ in self._sliders.values():
            if slider.disabled == enabled:
                slider.disabled = not enabled

    def _make(self, place: JointPosition) -> tuple[viser.GuiSliderHandle, float]:
        """Return a slider and what it shows for a radian or a metre."""
        factor = 1e3 if place.unit == 'm' else math.degrees(1.0)
        widest = 1.0 if place.unit == 'm' else math.pi  # where the limits are no limits
        lower = factor * (place.lower if math.isfinite(place.lower) else -widest)
        upper = factor * (place.upper if math.isfinite(place.upper) else widest)
        label = f'{place.name} [{"mm" if place.unit == "m" else "°"}]'
        low, high = _tenths(lower, math.ceil), _tenths(upper, math.floor)
        start = min(max(round(factor * place.value, 1), low), high)
        slider = self._gui.add_slider(label, low, max(low, high), 0.1, start)

        @slider.on_update
        async def _(event: viser.GuiEvent) -> None:
            if event.client_id is not None:  # a person, and not this program
                self._on_move({n: s.value / f for n, (s, f) in self._sliders.items()})

        return slider, factor


def _tenths(value: float, towards: Callable[[float], int]) -> float:
    """Return a limit, rounded into the range to what a slider can show."""
    return towards(round(10.0 * value, 6)) / 10.0
