"""Menu of the named states of the arm, and its choices."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice

import viser

from ik_service.arm.arm import Arm
from ik_service.common.quoting import truncate
from ik_service.extras.viewer.panel.widgets import set_value

NONE = '–'
"""Choice that stands for no state: something else was asked for."""

MID_RANGE = 'home (mid-range)'
"""Choice that stands for the middle of the joint limits, where no state is called home."""

_MOST_CHOICES = 200  # an SRDF may hold any number, and each page shows them all


def state_choices(arm: Arm) -> dict[str, Mapping[str, float]]:
    """
    Return the states to choose from: those of the default group, and one to go home.

    :param arm: the arm.
    :returns: positions [rad] or [m] by joint of the arm's chain, by what is shown.
    """
    states = arm.states(arm.group)
    some = islice(states.items(), _MOST_CHOICES)
    choices = {truncate(name): positions for name, positions in some}
    if not any(name.lower() == 'home' for name in states):
        rest = arm.rest[arm.indices].tolist()
        choices[MID_RANGE] = dict(zip(arm.chain.joint_names, rest, strict=True))
    return choices


def home_state(arm: Arm) -> Mapping[str, float] | None:
    """
    Return the named state that is home: the one called so, else ``ready``; None without them.

    :param arm: the arm.
    :returns: positions by joint [rad] or [m].
    """
    states = {name.lower(): positions for name, positions in arm.states(arm.group).items()}
    return states.get('home') or states.get('ready')


class NamedStates:
    """
    Menu of named states. To be used from one thread.

    It shows the state that was asked for last, so the same one can be chosen again later. It is
    only written to when that changes: what somebody chooses stays to be seen while the choice is
    on its way to :meth:`follow`.

    :param gui: the page's GUI.
    :param on_choose: called, in a thread of the server, with the name of the state that somebody
        has chosen.
    :ivar menu: the menu.
    """

    def __init__(self, gui: viser.GuiApi, on_choose: Callable[[str], object]) -> None:
        self._followed: str | None = None  # what the menu was last made to show
        hint = 'The joints go to the positions of this state'
        self.menu = gui.add_dropdown('Named state', (NONE,), hint=hint, disabled=True)

        @self.menu.on_update
        async def _(event: viser.GuiEvent) -> None:
            if event.client_id is None:  # this program, and not a person
                return
            if self.menu.value in self.menu.options[1:]:
                on_choose(self.menu.value)
            else:
                self.refresh()

    def offer(self, names: Sequence[str]) -> None:
        """
        Replace the choices.

        :param names: what is shown of each state.
        """
        self.refresh()
        set_value(self.menu, NONE)
        self.menu.options = (NONE, *(name for name in names if name != NONE))

    def refresh(self) -> None:
        """Let :meth:`follow` replace what somebody has chosen; from any thread."""
        self._followed = None

    def follow(self, state: str) -> None:
        """
        Show a state if it is another than the last time.

        :param state: the state; empty for none.
        """
        shown = state if state in self.menu.options else NONE
        if shown != self._followed:
            self._followed = shown
            # A value that crossed the choice on its way may be all that a page shows, and viser
            # sends none that it has already; of two in one go, only the second gets there.
            if self.menu.value == shown:
                set_value(self.menu, NONE)
            set_value(self.menu, shown)

    def enable(self, enabled: bool) -> None:
        """
        Enable or disable the menu; without states it stays disabled.

        :param enabled: whether a state can be chosen.
        """
        disabled = not enabled or len(self.menu.options) == 1
        if self.menu.disabled != disabled:
            self.menu.disabled = disabled
