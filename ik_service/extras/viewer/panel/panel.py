"""Panel beside the scene: status, live values, plot, sliders and parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
import math
import time

import numpy as np
import viser
from viser import uplot

from ik_service.extras.viewer.panel.connection_status import ConnectionStatus
from ik_service.extras.viewer.panel.error_history import CEILING, ErrorHistory, FLOOR
from ik_service.extras.viewer.panel.gripper_buttons import GripperButtons
from ik_service.extras.viewer.panel.measures import JointPosition
from ik_service.extras.viewer.panel.named_states import NamedStates
from ik_service.extras.viewer.panel.panel_html import (
    banner,
    collision_lines,
    Figures,
    figures_table,
    joints_table,
    remark_lines,
)
from ik_service.extras.viewer.panel.parameter_fields import Value
from ik_service.extras.viewer.panel.solver_form import SolverForm
from ik_service.extras.viewer.panel.status_text import Level, StatusText
from ik_service.extras.viewer.panel.widgets import set_value
from ik_service.kinematics.joint_space import sampling_bounds

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


_INK, _GRID = '#868e96', 'rgba(134,142,150,0.25)'  # to be seen on light and dark pages
_PLOT_HEIGHT, _TIME_AXIS = 130, 30  # [px]
_BANNER_LINES = 2

# The element after this one stays at the top when the panel is scrolled, for which nothing around
# it may hide what overflows.
_ALWAYS_SEEN = (
    '<div class="ik-always-seen"></div><style>'
    'div:has(> .ik-always-seen) + div {position: sticky; top: 0; z-index: 5} '
    'div:has(> div > div > div > .ik-always-seen) {overflow: clip !important; min-width: 0}'
    '</style>'
)


@dataclass(frozen=True)
class Actions:
    """
    Callbacks of the panel; all are called in threads of the server.

    :ivar home: sends the arm to the posture that it was in first.
    :ivar random_pose: sends the arm to a random pose within its reach.
    :ivar stop: stops the arm.
    :ivar go_to_state: sends the arm to a named state.
    :ivar move_gripper: opens or closes a hand, by its name.
    :ivar move_joints: sends the arm to joint positions, by name [rad] or [m].
    :ivar change: changes parameters of the node.
    :ivar change_text: changes parameters of the node to texts that were typed.
    :ivar clear_trail: clears the trail of the tip.
    :ivar resume_demo: lets the demo go on.
    """

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
    """
    Panel beside the scene. To be used from one thread.

    :param server: the page's server.
    :param actions: callbacks of its buttons and fields.
    :ivar states: menu of the named states.
    :ivar grippers: buttons of the hands.
    :ivar form: form of the node's parameters.
    :ivar sliders: sliders of the joints.
    :ivar path_tab: empty tab for paths.
    :ivar hand_tab: empty tab for motion by hand.
    :ivar reach_tab: empty tab for maps of the reach.
    :ivar collisions: pairs of bodies in contact; hidden while there are none.
    :ivar objects_switch: checkbox of the objects; hidden while there are none.
    """

    def __init__(self, server: viser.ViserServer, actions: Actions) -> None:
        gui = self._gui = server.gui
        gui.add_html(_ALWAYS_SEEN)
        self._stop = gui.add_button('Stop', icon=viser.Icon.HAND_STOP, color='red')
        self._banner = gui.add_html('')
        self._pause = gui.add_html('', visible=False)
        self._resume = gui.add_button(
            'Resume demo', icon=viser.Icon.PLAYER_PLAY, color='green', visible=False
        )
        self.collisions = gui.add_html('', visible=False)
        self._remarks = gui.add_html('', visible=False)
        self._buttons = gui.add_button_group('Go', ('Home', 'Random pose'))
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
            self._ghost = gui.add_checkbox('Commanded arm', True)
            self._trail = gui.add_checkbox('Trail of the tip', True)
            self._clear = gui.add_button('Clear trail')
            self._tip = gui.add_checkbox('Axes of the tip', False)
            self._solid = gui.add_checkbox('Collision shapes', False)
            self.objects_switch = gui.add_checkbox('Objects', True, visible=False)
        self.form = SolverForm(gui, main, options, actions.change, actions.change_text)
        self.sliders = JointSliders(gui, joints, actions.move_joints)
        self._shown: dict[str, str] = {}
        self._listen(actions)

    @property
    def shows_ghost(self) -> bool:
        """Whether the commanded state is to be shown."""
        return self._ghost.value

    @property
    def shows_trail(self) -> bool:
        """Whether the trail of the tip is to be shown."""
        return self._trail.value

    @property
    def shows_tip(self) -> bool:
        """Whether the axes of the tip are to be shown."""
        return self._tip.value

    @property
    def shows_collision_shapes(self) -> bool:
        """Whether the shapes that collisions are checked with are to be shown."""
        return self._solid.value

    @property
    def shows_objects(self) -> bool:
        """Whether the objects around the arm and on it are to be shown."""
        return self.objects_switch.value

    def show_status(self, status: ConnectionStatus) -> None:
        """
        Show the status of the connection, and enable what needs the node.

        :param status: the status.
        """
        self._put('banner', self._banner, banner(status, _BANNER_LINES))
        self.form.enable(status.is_connected)
        self.sliders.enable(status.is_connected)
        self.states.enable(status.is_connected)
        self.grippers.enable(status.is_connected)

    def show_collisions(self, contacts: Sequence[str], remarks: Sequence[str]) -> None:
        """
        Show which bodies are in contact.

        :param contacts: a text for each pair.
        :param remarks: what is not shown or not checked.
        """
        self._put('collisions', self.collisions, collision_lines(contacts, remarks))
        self.collisions.visible = bool(contacts or remarks)

    def show_pause(self, reason: str) -> None:
        """
        Show why the demo is paused, and how it goes on.

        :param reason: why; empty while it is not.
        """
        text = StatusText(Level.WAITING, 'The demo is paused', reason)
        self._put('pause', self._pause, banner(text) if reason else '')
        for widget in (self._pause, self._resume):
            if widget.visible != bool(reason):
                widget.visible = bool(reason)

    def show_remarks(self, remarks: Sequence[str]) -> None:
        """
        Show what of the robot is not used or not drawn as described.

        :param remarks: sentences.
        """
        self._put('remarks', self._remarks, remark_lines(remarks) if remarks else '')
        self._remarks.visible = bool(remarks)

    def show_figures(self, figures: Figures, positions: Sequence[JointPosition]) -> None:
        """
        Show the live values.

        :param figures: the values.
        :param positions: the joints, their positions and their limits.
        """
        self._put('figures', self._figures, figures_table(figures))
        self._put('joints', self._joints, joints_table(positions))

    def show_errors(self, series: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
        """
        Draw the errors over time.

        :param series: times (K,) [s], position errors (K,) [mm], orientation errors (K,) [°].
        """
        self._plot.data = series

    def _put(self, name: str, widget: viser.GuiHtmlHandle, content: str) -> None:
        if self._shown.get(name) != content:
            self._shown[name] = content
            widget.content = content

    def _listen(self, actions: Actions) -> None:
        moves = {
            'Home': actions.home,
            'Random pose': actions.random_pose,
        }

        @self._buttons.on_click
        async def _(event: viser.GuiEvent[viser.GuiButtonGroupHandle]) -> None:
            moves[event.target.value]()

        @self._stop.on_click
        async def _(_event: viser.GuiEvent[viser.GuiButtonHandle]) -> None:
            actions.stop()

        @self._resume.on_click
        async def _(_event: viser.GuiEvent[viser.GuiButtonHandle]) -> None:
            actions.resume_demo()

        @self._clear.on_click
        async def _(_event: viser.GuiEvent[viser.GuiButtonHandle]) -> None:
            actions.clear_trail()


def notify(server: viser.ViserServer, title: str, body: str) -> None:
    """
    Show a message in every page that is open.

    :param server: the server of the pages.
    :param title: the message in a few words.
    :param body: the message in a sentence.
    """
    for client in server.get_clients().values():
        client.add_notification(title, body, color='red', auto_close_seconds=8.0)


def _add_plot(gui: viser.GuiApi) -> viser.GuiUplotHandle:
    """Add the plot of the errors over time, with a logarithmic axis."""
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
