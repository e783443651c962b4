"""Sliders of the joints, which follow the arm until somebody moves one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
import math
import time

import viser

from ik_service.extras.viewer.panel.measures import JointPosition
from ik_service.extras.viewer.panel.widgets import set_value
from ik_service.kinematics.search_range import sampling_bounds

HOLD_TIME = 3.0
"""Time that the sliders keep their positions after somebody has moved one [s]."""

OnMove = Callable[[dict[str, float]], object]


class JointSliders:
    """
    Sliders for the joints of a chain. To be used from one thread.

    :param gui: the page's GUI.
    :param container: the tab that holds them.
    :param on_move: called, in a thread of the server, with the position [rad] or [m] by name of a
        joint whose slider somebody has moved.
    :ivar sliders: the sliders by joint [°] or [mm].
    """

    def __init__(self, gui: viser.GuiApi, container: viser.GuiTabHandle, on_move: OnMove) -> None:
        self._gui, self._container, self._on_move = gui, container, on_move
        self.sliders: dict[str, viser.GuiSliderHandle] = {}
        self._factors: dict[str, float] = {}  # units of a slider per radian or metre
        self._held_until = -math.inf

    def build(self, positions: Sequence[JointPosition]) -> None:
        """
        Replace the sliders by those of other joints.

        :param positions: the joints, their positions and their limits.
        """
        for slider in self.sliders.values():
            slider.remove()
        self.sliders = {}
        self._factors = {joint.name: _factor(joint) for joint in positions}
        with self._container:
            for joint in positions:
                self.sliders[joint.name] = self._add(joint)

    def show(self, positions: Mapping[str, float], now: float) -> None:
        """
        Show positions, and keep them for :data:`HOLD_TIME`.

        :param positions: positions by joint [rad] or [m]; joints without a slider do not matter.
        :param now: on the monotonic clock [s].
        """
        self.hold(now)
        for name, position in positions.items():
            if name in self.sliders:
                self._put(name, position)

    def hold(self, now: float) -> None:
        """
        Keep their positions for :data:`HOLD_TIME`.

        :param now: on the monotonic clock [s].
        """
        self._held_until = now + HOLD_TIME

    def is_held(self, now: float) -> bool:
        """
        Whether they show positions that somebody has set, and not the arm's.

        :param now: on the monotonic clock [s].
        """
        return now < self._held_until

    def release(self) -> None:
        """Follow the arm again."""
        self._held_until = -math.inf

    def follow(self, positions: Sequence[JointPosition], now: float) -> None:
        """
        Show the positions of the joints, unless the sliders are held.

        :param positions: one for each slider.
        :param now: on the monotonic clock [s].
        """
        if self.is_held(now):
            return
        for joint in positions:
            self._put(joint.name, joint.value)

    def enable(self, enabled: bool) -> None:
        """
        Enable or disable the sliders.

        :param enabled: whether they can be moved.
        """
        for slider in self.sliders.values():
            if slider.disabled == enabled:
                slider.disabled = not enabled

    def _put(self, name: str, position: float) -> None:
        slider = self.sliders[name]
        value = min(max(position * self._factors[name], slider.min), slider.max)
        set_value(slider, round(value, 1))

    def _add(self, joint: JointPosition) -> viser.GuiSliderHandle:
        factor = _factor(joint)
        widest = 1.0 if joint.unit == 'm' else math.pi  # where the limits are no limits
        bounds = sampling_bounds(joint.lower, joint.upper, widest)
        lower, upper = (factor * float(bound) for bound in bounds)
        label = f'{joint.name} [{"mm" if joint.unit == "m" else "°"}]'
        low, high = _tenths(lower, math.ceil), _tenths(upper, math.floor)
        start = min(max(round(factor * joint.value, 1), low), high)
        slider = self._gui.add_slider(label, low, max(low, high), 0.1, start)

        @slider.on_update
        async def _(event: viser.GuiEvent) -> None:
            if event.client_id is not None:  # a person, and not this program
                self.hold(time.monotonic())  # before the arm's positions overwrite this one
                self._on_move({joint.name: slider.value / factor})

        return slider


def _factor(joint: JointPosition) -> float:
    """Return the units of a joint's slider per radian or metre."""
    return 1e3 if joint.unit == 'm' else math.degrees(1.0)


def _tenths(value: float, towards: Callable[[float], int]) -> float:
    """Return a limit rounded to tenths, into the range."""
    return towards(round(10.0 * value, 6)) / 10.0
