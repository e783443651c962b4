"""Tab in which a path is drawn, previewed and executed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import viser

from ik_service.extras.viewer.link.path_link import PathSettings
from ik_service.extras.viewer.panel.panel_html import banner
from ik_service.extras.viewer.panel.widgets import call_on_click, set_properties, set_value
from ik_service.extras.viewer.path.path_state import path_text, PathState, percentage
from ik_service.extras.viewer.path.way_points_file import NAME

_SPEED, _STEP = 100.0, 5.0  # [mm/s], [mm]
_LEAST_DURATION = 0.1  # range of the slider while there is nothing to preview [s]


@dataclass(frozen=True)
class PathActions:
    """
    Callbacks of the tab; all are called in threads of the server.

    :ivar add: adds a way point where the gizmo is.
    :ivar circle: makes the last three way points a circle.
    :ivar undo: takes the last of these steps back.
    :ivar clear: removes all way points.
    :ivar save: sends the way points as a file; called with a function that takes its text.
    :ivar load: takes the way points of the content of a file.
    :ivar preview: computes the motion along the path.
    :ivar seek: shows the arm at a time of that motion [s].
    :ivar play: lets the shown arm run along the path, or stops that.
    :ivar go_to_start: sends the arm to the first way point.
    :ivar execute: sends the arm along the path.
    :ivar cancel: stops the execution.
    """

    add: Callable[[], object]
    circle: Callable[[], object]
    undo: Callable[[], object]
    clear: Callable[[], object]
    save: Callable[[Callable[[str], object]], object]
    load: Callable[[bytes], object]
    preview: Callable[[], object]
    seek: Callable[[float], object]
    play: Callable[[], object]
    go_to_start: Callable[[], object]
    execute: Callable[[], object]
    cancel: Callable[[], object]


class PathForm:
    """
    Tab of the path. To be used from one thread.

    :param gui: the page's GUI.
    :param container: the tab.
    :param actions: callbacks of its buttons.
    """

    def __init__(
        self, gui: viser.GuiApi, container: viser.GuiTabHandle, actions: PathActions
    ) -> None:
        self._shown = ''
        with container:
            self._text = gui.add_html('')
            self._add = gui.add_button(
                'Add way point',
                icon=viser.Icon.MAP_PIN_PLUS,
                hint='Where the gizmo is; a straight line leads to it',
            )
            self._edit = gui.add_button_group(
                'Path',
                ('Circle', 'Undo', 'Clear'),
                hint='Circle: through the last three way points, once around',
            )
            self._save = gui.add_button('Save way points', icon=viser.Icon.DOWNLOAD)
            self._load = gui.add_upload_button(
                'Load way points', icon=viser.Icon.UPLOAD, mime_type='application/json'
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
        self._listen(actions)

    @property
    def settings(self) -> PathSettings:
        """Settings of the path that are chosen."""
        return PathSettings(
            max_step=self._step.value * 1e-3,
            speed=self._speed.value * 1e-3,
            avoid_collisions=self._collisions.value,
        )

    def show(self, state: PathState) -> None:
        """
        Show a state.

        :param state: the state.
        """
        text = path_text(state)
        content = banner(text)
        if self._shown != content:
            self._shown = self._text.content = content
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

    def _listen(self, actions: PathActions) -> None:
        for button, action in (
            (self._add, actions.add),
            (self._preview, actions.preview),
            (self._play, actions.play),
            (self._go, actions.go_to_start),
            (self._execute, actions.execute),
            (self._cancel, actions.cancel),
        ):
            call_on_click(button, action)
        edits = {'Circle': actions.circle, 'Undo': actions.undo, 'Clear': actions.clear}

        @self._edit.on_click
        async def _(event: viser.GuiEvent[viser.GuiButtonGroupHandle]) -> None:
            edits[event.target.value]()

        @self._save.on_click
        async def _(event: viser.GuiEvent[viser.GuiButtonHandle]) -> None:
            client = event.client
            if client is not None:
                actions.save(lambda text: client.send_file_download(NAME, text.encode()))

        @self._load.on_upload
        async def _(event: viser.GuiEvent[viser.GuiUploadButtonHandle]) -> None:
            actions.load(event.target.value.content)

        @self._time.on_update
        async def _(event: viser.GuiEvent[viser.GuiSliderHandle[float]]) -> None:
            if event.client_id is not None:  # a person, and not this program
                actions.seek(event.target.value)
