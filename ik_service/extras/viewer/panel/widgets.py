"""Widgets of the page: sliders of joints, named states, hands; assignments and calls of any."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import islice
import math
import time
from typing import Any

import viser

from ik_service.arm.arm import Arm
from ik_service.common.quoting import truncate
from ik_service.extras.viewer.panel.figures import JointPosition
from ik_service.kinematics.joint_space import sampling_bounds


def set_value(widget: viser.GuiInputHandle[Any], value: object) -> None:
    """Set the value of a widget in all pages."""
    # viser has a method between getter and setter of this property, and mypy sees no setter then.
    widget.value = value  # type: ignore[misc]


def bounded(widget: viser.GuiSliderHandle[Any] | viser.GuiNumberHandle[Any]) -> float:
    """Return the number in a widget within its bounds, which pages need not keep; NaN as least."""
    least = -math.inf if widget.min is None else widget.min
    most = math.inf if widget.max is None else widget.max
    return float(min(max(least, widget.value), most))


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


HOLD_TIME = 3.0  # time that the sliders keep their positions after somebody has moved one [s]


OnMove = Callable[[dict[str, float]], object]


class JointSliders:
    """Sliders by joint [°] or [mm]; ``on_move`` takes [rad] or [m] in a thread of the server."""

    def __init__(self, gui: viser.GuiApi, container: viser.GuiTabHandle, on_move: OnMove) -> None:
        self._gui, self._container, self._on_move = gui, container, on_move
        self.sliders: dict[str, viser.GuiSliderHandle] = {}
        self._factors: dict[str, float] = {}  # units of a slider per radian or metre
        self._held_until = -math.inf

    def build(self, positions: Sequence[JointPosition]) -> None:
        """Replace the sliders by those of other joints."""
        for slider in self.sliders.values():
            slider.remove()
        self.sliders = {}
        self._factors = {joint.name: _factor(joint) for joint in positions}
        with self._container:
            for joint in positions:
                self.sliders[joint.name] = self._add(joint)

    def show(self, positions: Mapping[str, float], now: float) -> None:
        """Show positions [rad] or [m] by joint, and keep them for :data:`HOLD_TIME`."""
        self.hold(now)
        for name, position in positions.items():
            if name in self.sliders:
                self._put(name, position)

    def hold(self, now: float) -> None:
        """Keep their positions for :data:`HOLD_TIME`."""
        self._held_until = now + HOLD_TIME

    def is_held(self, now: float) -> bool:
        """Whether they show positions that somebody has set, and not the arm's."""
        return now < self._held_until

    def release(self) -> None:
        """Follow the arm again."""
        self._held_until = -math.inf

    def follow(self, positions: Sequence[JointPosition], now: float) -> None:
        """Show the positions of the joints, unless the sliders are held."""
        if self.is_held(now):
            return
        for joint in positions:
            self._put(joint.name, joint.value)

    def enable(self, enabled: bool) -> None:
        """Enable or disable the sliders."""
        for slider in self.sliders.values():
            set_properties(slider, disabled=not enabled)

    def _put(self, name: str, position: float) -> None:
        slider = self.sliders[name]
        value = min(max(position * self._factors[name], slider.min), slider.max)
        set_value(slider, round(value, 1) + 0.0)  # no -0

    def _add(self, joint: JointPosition) -> viser.GuiSliderHandle:
        factor = _factor(joint)
        widest = 1.0 if joint.unit == 'm' else math.pi  # where the limits are no limits
        bounds = sampling_bounds(joint.lower, joint.upper, widest)
        lower, upper = (factor * float(bound) for bound in bounds)
        label = f'{joint.name} [{"mm" if joint.unit == "m" else "°"}]'
        low, high = _tenths(lower, math.ceil), _tenths(upper, math.floor)
        start = min(max(round(factor * joint.value, 1), low), high)
        slider = self._gui.add_slider(label, low, max(low, high), 0.1, start)

        def move(value: float) -> None:
            self.hold(time.monotonic())  # before the arm's positions overwrite this one
            self._on_move({joint.name: value / factor})

        on_input(slider, move)
        return slider


def _factor(joint: JointPosition) -> float:
    """Return the units of a joint's slider per radian or metre."""
    return 1e3 if joint.unit == 'm' else math.degrees(1.0)


def _tenths(value: float, towards: Callable[[float], int]) -> float:
    """Return a limit rounded to tenths, into the range."""
    return towards(round(10.0 * value, 6)) / 10.0


NONE = '–'  # choice that stands for no state: something else was asked for

MID_RANGE = 'home (mid-range)'
"""Choice that stands for the middle of the joint limits, where no state is called home."""

_MOST_CHOICES = 200  # an SRDF may hold any number, and each page shows them all


def state_choices(arm: Arm) -> dict[str, Mapping[str, float]]:
    """Return the states to choose from by label: of the default group, home, of other groups."""
    own = arm.states(arm.group)
    states = dict(islice(own.items(), _MOST_CHOICES))
    if not any(name.lower() == 'home' for name in own):
        rest = arm.rest[arm.indices].tolist()
        states[MID_RANGE] = dict(zip(arm.chain.joint_names, rest, strict=True))
    known = {arm.chain.joint_names}
    for name, group in arm.groups.items():
        if group.chain.joint_names in known:  # by another name
            continue
        known.add(group.chain.joint_names)
        for state, positions in arm.states(group).items():
            if len(states) < _MOST_CHOICES and not positions.keys() <= {*arm.chain.joint_names}:
                states[f'{name}: {state}'] = positions
    return {truncate(name): positions for name, positions in states.items()}


def home_state(arm: Arm) -> Mapping[str, float] | None:
    """Return the named state that is home: the one called so, else ``ready``; None without."""
    states = {name.lower(): positions for name, positions in arm.states(arm.group).items()}
    return states.get('home') or states.get('ready')


class NamedStates:
    """
    Menu of named states. To be used from one thread.

    It shows the state that was asked for last, so the same one can be chosen again later. It is
    only written to when that changes: a user's choice stays visible while it is
    passed to :meth:`follow`.

    :param on_choose: called, in a thread of the server, with the name of the state that somebody
        has chosen.
    """

    def __init__(self, gui: viser.GuiApi, on_choose: Callable[[str], object]) -> None:
        self._followed: str | None = None  # state that the menu was last set to
        hint = 'The joints go to the positions of this state'
        self.menu = gui.add_dropdown('Named state', (NONE,), hint=hint, disabled=True)

        def choose(state: str) -> None:
            if state in self.menu.options[1:]:
                on_choose(state)
            else:
                self.refresh()

        on_input(self.menu, choose)

    def offer(self, names: Sequence[str]) -> None:
        """Replace the choices."""
        self.refresh()
        set_value(self.menu, NONE)
        self.menu.options = (NONE, *(name for name in names if name != NONE))

    def refresh(self) -> None:
        """Let :meth:`follow` replace the user's choice; from any thread."""
        self._followed = None

    def follow(self, state: str) -> None:
        """Show a state, empty for none, if it is another than the last time."""
        shown = state if state in self.menu.options else NONE
        if shown != self._followed:
            self._followed = shown
            # A value that crossed the choice in transit may be all that a page shows, and viser
            # sends none that it has already; of two in one go, only the second gets there.
            if self.menu.value == shown:
                set_value(self.menu, NONE)
            set_value(self.menu, shown)

    def enable(self, enabled: bool) -> None:
        """Enable or disable the menu; without states it stays disabled."""
        set_properties(self.menu, disabled=not enabled or len(self.menu.options) == 1)


OnChoose = Callable[[str, str], object]


class GripperButtons:
    """Rows of buttons; ``on_choose`` takes hand and button in a thread of the server."""

    def __init__(self, gui: viser.GuiApi, order: float, on_choose: OnChoose) -> None:
        self._gui, self._order, self._on_choose = gui, order, on_choose
        self._rows: list[viser.GuiButtonGroupHandle] = []

    def build(self, hands: Mapping[str, Sequence[str]]) -> None:
        """Replace the buttons: their labels by the name of each hand."""
        for row in self._rows:
            row.remove()
        self._rows = [self._add(name, choices) for name, choices in hands.items()]

    def _add(self, name: str, choices: Sequence[str]) -> viser.GuiButtonGroupHandle:
        row = self._gui.add_button_group(truncate(name), choices, order=self._order)
        on_choice(row, partial(self._on_choose, name))
        return row
