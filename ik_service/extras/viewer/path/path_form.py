"""Tab in which a path is drawn, previewed and executed, and the state that it shows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import viser

from ik_service.extras.viewer.link.path_link import PathSettings
from ik_service.extras.viewer.link.task_queue import Post
from ik_service.extras.viewer.panel.panel_html import banner, Level, StatusText
from ik_service.extras.viewer.panel.widgets import (
    on_choice,
    on_click,
    on_input,
    set_properties,
    set_value,
)
from ik_service.extras.viewer.path.waypoints import NAME

if TYPE_CHECKING:
    from ik_service.extras.viewer.path.paths import Paths

FEWEST_POINTS = 2


@dataclass(frozen=True)
class PathState:
    """
    State of the path and the arm.

    :ivar obstacle: why there is nothing to draw on; empty where the arm is known.
    :ivar failure: why there is no preview; empty where there is one or none was asked for.
    :ivar duration: of the previewed motion [s]; 0 without one.
    :ivar time: that is shown of it [s].
    :ivar fraction: the part of the path that the motion covers, 0 to 1.
    :ivar distance: how far the arm is from the start, in words; empty where it is there.
    :ivar progress: share of the motion that is executed, 0 to 1; None while none is.
    :ivar outcome: how the last execution has ended; None when something was done since.
    """

    has_planner: bool = True
    has_executor: bool = True
    obstacle: str = ''
    points: int = 0
    is_planning: bool = False
    failure: str = ''
    duration: float = 0.0
    time: float = 0.0
    is_playing: bool = False
    fraction: float = 1.0
    reason: str = ''
    distance: str = ''
    is_approaching: bool = False
    progress: float | None = None
    outcome: StatusText | None = None

    @property
    def is_running(self) -> bool:
        """Whether the arm follows the path."""
        return self.progress is not None

    @property
    def has_motion(self) -> bool:
        """Whether there is a preview of this very path."""
        return self.duration > 0.0

    @property
    def can_draw(self) -> bool:
        """Whether waypoints can be changed."""
        return not self.obstacle and not self.is_running

    @property
    def can_preview(self) -> bool:
        """Whether a motion can be computed."""
        return self.can_draw and self.points >= FEWEST_POINTS and self.has_planner

    @property
    def can_go_to_start(self) -> bool:
        """Whether the arm can go to where the motion starts, and is not there."""
        return self.can_draw and self.has_motion and bool(self.distance)

    @property
    def can_execute(self) -> bool:
        """Whether the arm can be sent along the path."""
        waits = self.is_planning or self.is_approaching or self.distance
        return self.can_draw and self.has_motion and self.has_executor and not waits


def path_text(state: PathState) -> StatusText:
    """Return the headline and the detail about a path."""
    if state.obstacle:
        return StatusText(Level.WAITING, 'No arm to draw a path for', state.obstacle)
    if state.progress is not None:
        percent = f'{100.0 * state.progress:.0f} % of {state.duration:.1f} s'
        return StatusText(Level.GOOD, 'The arm goes along the path', percent)
    missing = _missing(state)
    if missing:
        return StatusText(Level.BAD, 'Not offered by the IK node', missing)
    if state.is_planning:
        return StatusText(Level.WAITING, 'Computing the motion')
    if state.failure:
        return StatusText(Level.BAD, 'No motion along this path', state.failure)
    if state.is_approaching:
        detail = 'the preview is computed anew when it is there'
        return StatusText(Level.WAITING, 'The arm goes to the start', detail)
    if state.outcome is not None:
        return state.outcome
    return _motion_text(state) if state.has_motion else _drawing_text(state.points)


def _missing(state: PathState) -> str:
    offered = {
        'service compute_cartesian_path': state.has_planner,
        'action execute_trajectory': state.has_executor,
    }
    names = [f'the {name}' for name, is_there in offered.items() if not is_there]
    if not names:
        return ''
    verb = 'is' if len(names) == 1 else 'are'
    return (
        f'{" and ".join(names)} {verb} not on the graph: a node that has just started may still '
        'compile its kernels, and an older one has none'
    )


def _motion_text(state: PathState) -> StatusText:
    if state.distance:
        return StatusText(Level.WAITING, 'The arm is not where the path starts', state.distance)
    if state.fraction < 1.0:
        headline = f'The path ends after {percentage(state.fraction)}'
        return StatusText(Level.WAITING, headline, state.reason)
    return StatusText(Level.GOOD, 'Ready to execute', f'{state.duration:.1f} s for the whole path')


def _drawing_text(points: int) -> StatusText:
    if points >= FEWEST_POINTS:
        return StatusText(Level.GOOD, f'{points} waypoints', 'the preview shows the motion')
    texts = ('move the gizmo to where the path starts, and add a waypoint', 'one more is needed')
    return StatusText(Level.WAITING, 'Draw a path', texts[points])


def percentage(share: float) -> str:
    """Return a share that is less than the whole in percent, never rounded up to the whole."""
    return f'{min(int(100.0 * share), 99)} %'


_SPEED, _STEP = 100.0, 5.0  # [mm/s], [mm]
_LEAST_DURATION = 0.1  # range of the slider while there is nothing to preview [s]


class PathForm:
    """Tab of the path. To be used from one thread."""

    def __init__(
        self, gui: viser.GuiApi, container: viser.GuiTabHandle, post: Post, paths: Paths
    ) -> None:
        with container:
            self._text = gui.add_html('')
            self._add = gui.add_button(
                'Add waypoint',
                icon=viser.Icon.MAP_PIN_PLUS,
                hint='Where the gizmo is; a straight line leads to it',
            )
            self._edit = gui.add_button_group(
                'Path',
                ('Circle', 'Undo', 'Clear'),
                hint='Circle: through the last three waypoints, once around',
            )
            self._save = gui.add_button('Save waypoints', icon=viser.Icon.DOWNLOAD)
            self._load = gui.add_upload_button(
                'Load waypoints', icon=viser.Icon.UPLOAD, mime_type='application/json'
            )
            self._speed = gui.add_number('Speed [mm/s]', _SPEED, min=0.0, max=5e3, step=10.0)
            self._step = gui.add_number('Step [mm]', _STEP, min=0.1, max=100.0, step=0.5)
            self._collisions = gui.add_checkbox('Avoid collisions', True)
            self._preview = gui.add_button('Preview', icon=viser.Icon.EYE)
            self._time = gui.add_slider('Time [s]', 0.0, _LEAST_DURATION, 0.01, 0.0, visible=False)
            self._play = gui.add_button('Play', icon=viser.Icon.PLAYER_PLAY, visible=False)
            self._go = gui.add_button('Go to the start', icon=viser.Icon.FLAG, visible=False)
            self._execute = gui.add_button(
                'Execute', icon=viser.Icon.PLAYER_TRACK_NEXT, color='green', disabled=True
            )
            self._progress = gui.add_progress_bar(0.0, visible=False)
            self._cancel = gui.add_button(
                'Cancel', icon=viser.Icon.HAND_STOP, color='red', visible=False
            )
        self._listen(post, paths)

    @property
    def settings(self) -> PathSettings:
        """Settings of the path that are chosen."""
        return PathSettings(
            max_step=self._step.value * 1e-3,
            speed=self._speed.value * 1e-3,
            avoid_collisions=self._collisions.value,
        )

    def show(self, state: PathState) -> None:
        """Show a state."""
        set_properties(self._text, content=banner(path_text(state)))
        set_properties(self._add, disabled=not state.can_draw)
        set_properties(self._load, disabled=not state.can_draw)
        set_properties(self._save, disabled=not state.points)
        set_properties(self._preview, disabled=not state.can_preview)
        duration = round(max(state.duration, _LEAST_DURATION), 2)
        set_properties(self._time, visible=state.has_motion, max=duration)
        set_value(self._time, min(round(state.time, 2), duration))
        label = 'Pause' if state.is_playing else 'Play'
        set_properties(self._play, visible=state.has_motion, label=label)
        set_properties(self._go, visible=state.can_go_to_start)
        part = '' if state.fraction >= 1.0 else f' the first {percentage(state.fraction)}'
        set_properties(self._execute, disabled=not state.can_execute, label=f'Execute{part}')
        set_properties(self._cancel, visible=state.is_running)
        set_properties(self._progress, visible=state.is_running)
        if state.progress is not None:
            set_properties(self._progress, value=float(round(100.0 * state.progress)))

    def _listen(self, post: Post, paths: Paths) -> None:
        for button, action in (
            (self._add, paths.add),
            (self._preview, paths.preview),
            (self._play, paths.play),
            (self._go, paths.go_to_start),
            (self._execute, paths.execute),
            (self._cancel, paths.stop),
        ):
            on_click(button, partial(post, action))
        edits = {'Circle': paths.close_circle, 'Undo': paths.undo, 'Clear': paths.clear}
        on_choice(self._edit, lambda label: post(edits[label]))
        on_input(self._time, partial(post, paths.seek))

        @self._save.on_click
        async def _(event: viser.GuiEvent[viser.GuiButtonHandle]) -> None:
            client = event.client
            if client is not None:
                post(paths.save, lambda text: client.send_file_download(NAME, text.encode()))

        @self._load.on_upload
        async def _(event: viser.GuiEvent[viser.GuiUploadButtonHandle]) -> None:
            post(paths.load, event.target.value.content)
