"""Tab with the buttons that move the arm by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import viser

from ik_service.extras.viewer.panel.panel_html import banner
from ik_service.extras.viewer.panel.status_text import StatusText
from ik_service.extras.viewer.teleop.held_motion import HOLD_RATE
from ik_service.extras.viewer.teleop.motion import AXES

BASE, TOOL = 'base', 'tool'
_SLOW = 20  # share of the largest speed at first [%]

# Two buttons in a row instead of one, those beside this element; without it they are below.
_PAIRS = (
    '<style>div:has(> div > .ik-pairs) > div:has(> button) '
    '{display: inline-block; width: calc(50% - 1.25em); margin-right: 0}</style>'
)


@dataclass(frozen=True)
class HandButton:
    """
    Button for a motion.

    :ivar sign: 1 or −1.
    :ivar axis: 0 to 2 along x, y, z; 3 to 5 about them.
    :ivar joint: name of the joint that moves instead; empty for an axis.
    """

    sign: int
    axis: int = 0
    joint: str = ''

    @property
    def label(self) -> str:
        """What the button says."""
        turn = '↻ ' if self.axis >= 3 else ''
        return f'{"+" if self.sign > 0 else "−"} {self.joint or turn + AXES[self.axis % 3]}'


@dataclass(frozen=True)
class HandActions:
    """
    Callbacks of the tab, called in a thread of the server with the number of the page.

    :ivar hold: called again and again while a button is held.
    :ivar click: called when it is released, or clicked by the keyboard.
    """

    hold: Callable[[int, HandButton], object]
    click: Callable[[int, HandButton], object]


class HandForm:
    """
    Tab of the motion by hand. To be used from one thread.

    :param gui: the page's GUI.
    :param container: the tab.
    :param actions: callbacks of its buttons.
    """

    def __init__(
        self, gui: viser.GuiApi, container: viser.GuiTabHandle, actions: HandActions
    ) -> None:
        self._gui, self._actions = gui, actions
        self._shown = ''
        self._joint_buttons: list[viser.GuiButtonHandle] = []
        with container:
            self._text = gui.add_html('')
            self._speed = gui.add_slider('Speed [%]', 1, 100, 1, _SLOW)
            self._frame = gui.add_dropdown('Axes of the', (BASE, TOOL))
            self._axes = gui.add_folder('Tip')
            self._joints = gui.add_folder('Joints', expand_by_default=False)
        for folder in (self._axes, self._joints):
            with folder:
                gui.add_html(f'<div class="ik-pairs">{_PAIRS}</div>')
        with self._axes:
            self._axis_buttons = [
                self._add(HandButton(sign, axis)) for axis in range(6) for sign in (-1, 1)
            ]

    @property
    def share(self) -> float:
        """Share of the largest speed that is wanted, 0 to 1."""
        return self._speed.value / 100.0

    @property
    def is_tool_frame(self) -> bool:
        """Whether the axes are the tool's, and not the base's."""
        return self._frame.value == TOOL

    def build(self, joints: Sequence[str]) -> None:
        """
        Replace the buttons of the joints.

        :param joints: names of the joints.
        """
        for button in self._joint_buttons:
            button.remove()
        with self._joints:
            self._joint_buttons = [
                self._add(HandButton(sign, joint=joint)) for joint in joints for sign in (-1, 1)
            ]

    def show(self, text: StatusText, can_turn: bool, can_jog: bool) -> None:
        """
        Show a state.

        :param text: about it.
        :param can_turn: whether the tip can be moved.
        :param can_jog: whether single joints can be.
        """
        content = banner(text)
        if self._shown != content:
            self._shown = self._text.content = content
        for buttons, enabled in ((self._axis_buttons, can_turn), (self._joint_buttons, can_jog)):
            for button in buttons:
                if button.disabled == enabled:
                    button.disabled = not enabled

    def _add(self, what: HandButton) -> viser.GuiButtonHandle:
        button = self._gui.add_button(what.label, disabled=True)
        actions = self._actions

        async def on_hold(event: viser.GuiEvent[viser.GuiButtonHandle]) -> None:
            if event.client_id is not None:
                actions.hold(event.client_id, what)

        if hasattr(button, 'on_hold'):  # older versions of viser tell of clicks only
            button.on_hold(on_hold, callback_hz=HOLD_RATE)

        @button.on_click
        async def _(event: viser.GuiEvent[viser.GuiButtonHandle]) -> None:
            if event.client_id is not None:
                actions.click(event.client_id, what)

        return button
