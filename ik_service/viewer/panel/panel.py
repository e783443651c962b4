"""The panel beside the scene."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import viser
from viser import uplot

from ik_service.viewer.panel.error_history import ErrorHistory, FLOOR, SPAN
from ik_service.viewer.panel.joint_sliders import JointSliders
from ik_service.viewer.panel.measures import JointPosition
from ik_service.viewer.panel.panel_html import banner, Figures, figures_table, joints_table, note
from ik_service.viewer.panel.parameter_fields import Value
from ik_service.viewer.panel.connection_status import ConnectionStatus
from ik_service.viewer.panel.solver_form import SolverForm

_INK, _GRID = '#868e96', '#e9ecef'
_PLOT_HEIGHT = 190


@dataclass(frozen=True)
class Actions:
    """
    What people can ask for; all are called in threads of the server.

    :ivar home: to go home.
    :ivar random_pose: to go to a random pose that can be reached.
    :ivar stop: to stop.
    :ivar move_joints: to go where the tip is at these joint positions [rad] or [m].
    :ivar change: to change parameters of the node.
    :ivar change_text: to change parameters to what was typed.
    """

    home: Callable[[], object]
    random_pose: Callable[[], object]
    stop: Callable[[], object]
    move_joints: Callable[[dict[str, float]], object]
    change: Callable[[Mapping[str, Value]], object]
    change_text: Callable[[Mapping[str, str]], object]


class Panel:
    """
    The panel. To be used from one thread.

    :ivar form: the node's parameters.
    :ivar sliders: those of the joints.
    :param server: the page's server.
    :param actions: what people can ask for.
    """

    def __init__(self, server: viser.ViserServer, actions: Actions) -> None:
        gui = self._gui = server.gui
        self._banner = gui.add_html('')
        self._note = gui.add_html('', visible=False)
        self._buttons = gui.add_button_group('Go', ('Home', 'Random pose', 'Stop'))
        main = gui.add_folder(None)
        self._figures = gui.add_html('')
        self._plot = gui.add_uplot(*_empty_plot(), **_plot_settings())
        tabs = gui.add_tab_group()
        with tabs.add_tab('Joints') as joints:
            self._joints = gui.add_html('')
        options = tabs.add_tab('Solver options')
        with tabs.add_tab('View'):
            self._ghost = gui.add_checkbox('Ghost of the commands', True)
            self._trail = gui.add_checkbox('Trail of the tip', True)
            self._clear = gui.add_button('Clear the trail')
            self._reach = gui.add_checkbox('Reach', True, visible=False)
        self.form = SolverForm(gui, main, options, actions.change, actions.change_text)
        self.sliders = JointSliders(gui, joints, actions.move_joints)
        self._shown: dict[str, str] = {}
        self._listen(actions)

    @property
    def shows_ghost(self) -> bool:
        """Whether people want to see the commanded state."""
        return self._ghost.value

    @property
    def shows_trail(self) -> bool:
        """Whether people want to see the way of the tip."""
        return self._trail.value

    @property
    def shows_reach(self) -> bool:
        """Whether people want to see the reachable positions, and there are some to see."""
        return self._reach.visible and self._reach.value

    def offer_reach(self, link: str) -> None:
        """Offer to show the positions that a link can reach; empty when none are known."""
        self._reach.label = f'Reach of {link}'
        self._reach.visible = bool(link)

    def on_clear(self, clear: Callable[[], object]) -> None:
        """Say what clears the trail; it is called in a thread of the server."""

        @self._clear.on_click
        async def _(_event: viser.GuiEvent) -> None:
            clear()

    def show_presence(self, connection_status: ConnectionStatus) -> None:
        """Show whether node and arm are there."""
        self._put('banner', self._banner, banner(connection_status))
        self.form.enable(connection_status.node_is_there)
        self.sliders.enable(connection_status.node_is_there)

    def show_note(self, text: str) -> None:
        """Say below the banner what is not as it was wanted; empty when all is."""
        self._put('note', self._note, note(text))
        self._note.visible = bool(text)

    def show_figures(self, figures: Figures, places: Sequence[JointPosition]) -> None:
        """Show the live numbers."""
        self._put('figures', self._figures, figures_table(figures))
        self._put('joints', self._joints, joints_table(places))

    def show_errors(self, series: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
        """Draw the errors over time: (K,) [s], [mm] and [°]."""
        self._plot.data = series

    def _put(self, name: str, widget: viser.GuiHtmlHandle, content: str) -> None:
        if self._shown.get(name) != content:
            self._shown[name] = content
            widget.content = content

    def _listen(self, actions: Actions) -> None:
        wanted = {
            'Home': actions.home,
            'Random pose': actions.random_pose,
            'Stop': actions.stop,
        }

        @self._buttons.on_click
        async def _(event: viser.GuiEvent) -> None:
            wanted[event.target.value]()


def notify(server: viser.ViserServer, title: str, body: str) -> None:
    """Show a message in every page that is open."""
    for client in server.get_clients().values():
        client.add_notification(title, body, color='red', auto_close_seconds=8.0)


def _empty_plot() -> tuple[tuple[np.ndarray, ...], tuple[uplot.Series, ...]]:
    data = ErrorHistory().series(0.0)
    series = (
        uplot.Series(label='s'),
        uplot.Series(label='position [mm]', stroke='#e8590c', width=2),
        uplot.Series(label='orientation [°]', stroke='#1971c2', width=2),
    )
    return data, series


def _plot_settings() -> dict[str, object]:
    axis = uplot.Axis(stroke=_INK, grid={'stroke': _GRID, 'width': 1}, ticks={'show': False})
    return {
        'scales': {
            'x': uplot.Scale(time=False, range=(-SPAN, 0.0)),
            'y': uplot.Scale(distr=3, range=(FLOOR, 1e3)),
        },
        'axes': (axis, axis),
        'height': _PLOT_HEIGHT,
    }
