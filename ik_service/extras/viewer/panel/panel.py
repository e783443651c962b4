"""Panel beside the scene: status, live values, plot, sliders and parameters."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import viser
from viser import uplot

from ik_service.extras.viewer.link.node_monitor import ConnectionStatus
from ik_service.extras.viewer.link.remote_parameters import Value
from ik_service.extras.viewer.panel.figures import (
    banner,
    Figures,
    figures_table,
    JointPosition,
    joints_table,
    Level,
    remark_lines,
    StatusText,
    with_notices,
)
from ik_service.extras.viewer.panel.solver_form import SolverForm
from ik_service.extras.viewer.panel.widgets import (
    GripperButtons,
    JointSliders,
    NamedStates,
    on_choice,
    on_click,
    set_properties,
)

SPAN = 20.0  # length of the history [s]

FLOOR = 1e-3
"""Value that smaller errors are shown as [mm] and [°]: a logarithmic axis needs an end."""

CEILING = 1e4  # value that larger errors are shown as, at the upper end of the axis [mm] and [°]

_BELOW = FLOOR / 10.0  # NaN would be drawn
_NUDGE = 1e-6  # [s]


class ErrorHistory:
    """Pose errors of the last seconds, at least ``period`` [s] apart, for a logarithmic plot."""

    def __init__(self, period: float = 0.1) -> None:
        self._period = period
        self._rows: deque[tuple[float, float, float]] = deque()
        self._nudge = 0.0

    def add(self, now: float, position: float, orientation: float) -> bool:
        """Add errors [m] and [rad], NaN without a target, unless too soon; say whether."""
        if self._rows and now - self._rows[-1][0] < self._period:
            return False
        self._rows.append((now, 1e3 * position, float(np.degrees(orientation))))
        while self._rows[0][0] < now - SPAN:
            self._rows.popleft()
        return True

    def series(self, now: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return times before now (K,) [s], -:data:`SPAN` to 0, and errors (K,) [mm], (K,) [°]."""
        # The page lays the axis of time out anew only when its ends change, and before the panel
        # has a width it would have no labels.
        self._nudge = _NUDGE - self._nudge
        start = -SPAN - self._nudge
        rows = [row for row in self._rows if row[0] > now - SPAN]
        if not rows:
            return np.array([start, 0.0]), np.full(2, _BELOW), np.full(2, _BELOW)
        time, position, orientation = np.array(rows).T
        time = np.minimum(time - now, 0.0)
        return (
            np.concatenate([[start, time[0]], time, [0.0]]),
            _drawn(position),
            _drawn(orientation),
        )


def _drawn(errors: np.ndarray) -> np.ndarray:
    """Return errors (K,) as (K + 3,): nothing for NaN and before the first, the last until now."""
    shown = np.where(np.isnan(errors), _BELOW, np.clip(errors, FLOOR, CEILING))
    return np.concatenate([[_BELOW, _BELOW], shown, shown[-1:]])


_INK, _GRID = '#868e96', 'rgba(134,142,150,0.25)'  # to be seen on light and dark pages
_PLOT_HEIGHT, _TIME_AXIS = 130, 30  # [px]
_RESUME = 'Resume demo'  # the button of a demo that is paused
_BANNER_LINES = 2  # lines of text that keep their room when there are fewer

# The element after this one stays at the top when the panel is scrolled, for which nothing around
# it may hide its overflow.
_ALWAYS_SEEN = (
    '<div class="ik-always-seen"></div><style>'
    'div:has(> .ik-always-seen) + div {position: sticky; top: 0; z-index: 5} '
    'div:has(> div > div > div > .ik-always-seen) {overflow: clip !important; min-width: 0}'
    '</style>'
)


@dataclass(frozen=True)
class Actions:
    """Callbacks of the panel, called in threads of the server; joints are by name [rad] or [m]."""

    home: Callable[[], object]
    random_pose: Callable[[], object]
    stop: Callable[[], object]
    go_to_state: Callable[[str], object]
    move_gripper: Callable[[str, str], object]
    move_joints: Callable[[dict[str, float]], object]
    change: Callable[[Mapping[str, Value]], object]
    change_text: Callable[[Mapping[str, str]], object]
    clear_trail: Callable[[], object]
    resume_demo: Callable[[], object]


class Panel:
    """Panel beside the scene, with empty tabs for others to fill. To be used from one thread."""

    def __init__(self, server: viser.ViserServer, actions: Actions) -> None:
        gui = server.gui
        gui.add_html(_ALWAYS_SEEN)
        stop = gui.add_button('Stop', icon=viser.Icon.HAND_STOP, color='red')
        self._banner = gui.add_html('')
        self._world = gui.add_html('', visible=False)
        self._remarks = gui.add_html('', visible=False)
        moves = {'Home': actions.home, 'Random pose': actions.random_pose}
        self._moves = tuple(moves)
        self._go = gui.add_button_group('Go', self._moves)
        self.states = NamedStates(gui, actions.go_to_state)
        below_states = self.states.menu.order + 0.5  # widgets are numbered in steps of 1
        self.grippers = GripperButtons(gui, below_states, actions.move_gripper)
        main = gui.add_folder(None)
        self._figures = gui.add_html('')
        tabs = gui.add_tab_group()
        with tabs.add_tab('Joints') as joints:  # the others need the height of the plot
            self._plot = _add_plot(gui)
            self._joints = gui.add_html('')
        self.path_tab = tabs.add_tab('Path')
        self.hand_tab = tabs.add_tab('By hand')
        self.reach_tab = tabs.add_tab('Reach')
        options = tabs.add_tab('Options')
        with tabs.add_tab('View'):
            self.ghost_switch = gui.add_checkbox('Commanded arm', True)
            self.trail_switch = gui.add_checkbox('Trail of the tip', True)
            clear = gui.add_button('Clear trail')
            self.tip_switch = gui.add_checkbox('Axes of the tip', False)
            self.solid_switch = gui.add_checkbox('Collision shapes', False)
            self.objects_switch = gui.add_checkbox('Objects', True, visible=False)
        self.form = SolverForm(gui, main, options, actions.change, actions.change_text)
        self.sliders = JointSliders(gui, joints, actions.move_joints)
        on_click(stop, actions.stop)
        on_click(clear, actions.clear_trail)
        on_choice(self._go, lambda label: {**moves, _RESUME: actions.resume_demo}[label]())

    def show_status(self, status: ConnectionStatus, contacts: Sequence[str], pause: str) -> None:
        """Show status, pairs in contact and why the demo is paused; enable what needs the node."""
        # In one place of constant height: no button moves away from under the pointer.
        text = with_notices(status, contacts, pause)
        set_properties(self._banner, content=banner(text, _BANNER_LINES))
        set_properties(self._go, options=(*self._moves, _RESUME) if pause else self._moves)
        self.form.enable(status.is_connected)
        self.sliders.enable(status.is_connected)
        self.states.enable(status.is_connected)

    def show_world(self, remarks: Sequence[str]) -> None:
        """Show what is not drawn or not checked of the world."""
        text = StatusText(Level.WAITING, 'The world', '; '.join(remarks))
        set_properties(self._world, content=banner(text), visible=bool(remarks))

    def show_remarks(self, remarks: Sequence[str]) -> None:
        """Show the parts of the robot not used or not drawn as described."""
        set_properties(
            self._remarks, content=remark_lines(remarks) if remarks else '', visible=bool(remarks)
        )

    def show_figures(self, figures: Figures, positions: Sequence[JointPosition]) -> None:
        """Show the live values."""
        set_properties(self._figures, content=figures_table(figures))
        set_properties(self._joints, content=joints_table(positions))

    def show_errors(self, series: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
        """Draw errors over time: (K,) times [s], positions [mm], orientations [°]."""
        self._plot.data = series


def notify(server: viser.ViserServer, title: str, body: str) -> None:
    """Show a message in every page that is open."""
    for client in server.get_clients().values():
        client.add_notification(title, body, color='red', auto_close_seconds=8.0)


def _add_plot(gui: viser.GuiApi) -> viser.GuiUplotHandle:
    axis = uplot.Axis(stroke=_INK, grid={'stroke': _GRID, 'width': 1}, ticks={'show': False})
    time_axis = axis.copy()
    time_axis['size'] = _TIME_AXIS
    return gui.add_uplot(
        ErrorHistory().series(0.0),
        (
            uplot.Series(label='time [s]'),
            uplot.Series(label='position [mm]', stroke='#e8590c', width=2),
            uplot.Series(label='orientation [°]', stroke='#1971c2', width=2),
        ),
        scales={
            # No range: a page opened later would show no labels (viser 1.1); the series span it.
            'x': uplot.Scale(time=False),
            'y': uplot.Scale(distr=3, range=(FLOOR, CEILING)),
        },
        axes=(time_axis, axis),
        height=_PLOT_HEIGHT,
        padding=(12, 8, 0, 0),  # top, right, bottom, left: room for the ends of the labels [px]
    )
