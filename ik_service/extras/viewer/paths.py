"""Paths of the page: drawn by waypoints, previewed, and executed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
import math
import time

import numpy as np
import viser

from ik_service.exceptions import ArgumentError
from ik_service.extras.viewer.link.path_link import Execution, ExecutionEnd, PathLink, PathSettings
from ik_service.extras.viewer.link.task_queue import Newest, Post, TaskQueue
from ik_service.extras.viewer.motions import Motions
from ik_service.extras.viewer.panel.figures import (
    banner,
    joint_units,
    Level,
    quantity_text,
    StatusText,
)
from ik_service.extras.viewer.panel.widgets import (
    bounded,
    on_choice,
    on_click,
    on_input,
    set_properties,
    set_value,
)
from ik_service.extras.viewer.path_scene import PathScene
from ik_service.extras.viewer.preview import PathPlanner, Preview, START_TOLERANCE
from ik_service.extras.viewer.robot_display import PageTarget, RobotDisplay
from ik_service.extras.viewer.waypoints import (
    NAME,
    read_waypoints,
    WaypointError,
    Waypoints,
    waypoints_text,
)

FEWEST_POINTS = 2  # waypoints of a path


@dataclass(frozen=True)
class PathState:
    """
    State of the path and the arm.

    :ivar obstacle: why there is nothing to draw on; empty where the arm is known.
    :ivar failure: why there is no preview; empty where there is one or none was asked for.
    :ivar duration: of the previewed motion [s]; 0 without one.
    :ivar time: that is shown of it [s].
    :ivar fraction: the part of the path that the motion covers, 0 to 1.
    :ivar distance: how far the arm is from the start, in words; empty where it rests there.
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
        is_ready = not self.is_planning and not self.distance
        return self.can_draw and self.has_motion and self.has_executor and is_ready


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


class PreviewPlayback:
    """Shown time of a motion and its duration [s], 0 without one. To be used from one thread."""

    def __init__(self) -> None:
        self.duration = self.time = 0.0
        self.is_playing = False
        self._stepped_at = 0.0

    def load(self, duration: float) -> None:
        """Begin another motion of so many seconds, 0 for none, which stands at its start."""
        self.duration, self.time, self.is_playing = duration, 0.0, False

    def seek(self, time: float) -> None:
        """Stand at a time within the motion [s]."""
        self.time, self.is_playing = min(max(time, 0.0), self.duration), False

    def toggle(self, now: float) -> None:
        """Run on, at the end from the start again, or stand."""
        self.is_playing = not self.is_playing and self.duration > 0.0
        self._stepped_at = now
        if self.is_playing and self.time >= self.duration:
            self.time = 0.0

    def step(self, now: float) -> None:
        """Run on to the present; it stands when it has come to the end."""
        if self.is_playing:
            self.time = min(self.time + now - self._stepped_at, self.duration)
            self._stepped_at = now
            self.is_playing = self.time < self.duration


class PathRun:
    """Executions, one after the other; ``on_end`` takes the end of each. For one thread."""

    def __init__(
        self, executor: PathLink, tasks: TaskQueue, on_end: Callable[[ExecutionEnd], object]
    ) -> None:
        self._executor, self._newest, self._on_end = executor, Newest(tasks), on_end
        self._execution: Execution | None = None
        self._preview: Preview | None = None
        self._time = 0.0

    @property
    def progress(self) -> float | None:
        """Share of the motion up to where the arm is, 0 to 1; None while there is none."""
        return None if self._preview is None else self._time / self._preview.trajectory.duration

    @property
    def is_running(self) -> bool:
        """Whether the arm follows a path."""
        return self._preview is not None

    def start(self, preview: Preview) -> None:
        """Send the arm along a path."""
        self._newest.drop()
        self._preview, self._time = preview, 0.0
        self._execution = self._executor.execute(
            preview.answer.message, self._newest.taking(self._end)
        )

    def cancel(self) -> None:
        """Ask the node to stop the arm; the end follows."""
        if self._execution is not None:
            self._execution.cancel()

    def drop(self) -> None:
        """Forget the execution, as the node has gone."""
        self._newest.drop()
        self._execution = self._preview = None

    def step(self, q: np.ndarray) -> None:
        """Find out how far the arm has come, by its measured positions (n,) [rad] or [m]."""
        if self._preview is not None:
            self._time = self._preview.time_nearest(q, self._time)

    def _end(self, end: ExecutionEnd) -> None:
        self.drop()
        self._on_end(end)


_SHOWN = 30.0  # time that the arm of a preview is shown: it obstructs the view elsewhere [s]
_NO_STATES = 'no joint states have come yet'


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
            max_step=bounded(self._step) * 1e-3,
            speed=bounded(self._speed) * 1e-3,
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


class Paths:
    """
    Path of the page, for one arm after the other. To be used from one thread.

    Only :meth:`execute` and :meth:`go_to_start` move the arm. A preview counts for the waypoints
    and settings that it was made of, and is executed from where it starts.

    :param make_scene: returns the nodes of the path in the scene, for a robot.
    :param tasks: delivers their answers, and the events of the tab.
    """

    def __init__(
        self,
        make_form: Callable[[Post, Paths], PathForm],
        make_scene: Callable[[RobotDisplay], PathScene],
        link: PathLink,
        tasks: TaskQueue,
        target: PageTarget,
        motions: Motions,
        refuse: Callable[[str], object],
    ) -> None:
        self._link, self._target, self._motions = link, target, motions
        self._make_scene, self._refuse = make_scene, refuse
        self._points, self._playback = Waypoints(), PreviewPlayback()
        self._planner = PathPlanner(link, tasks, self._take_preview, self._take_failure)
        self._run = PathRun(link, tasks, self._take_end)
        self._display: RobotDisplay | None = None
        self._scene: PathScene | None = None
        self._preview: Preview | None = None
        self._asked: PathSettings | None = None
        self._failure = ''
        self._previewed_at = -math.inf  # when somebody last asked for the preview, or moved in it
        self._outcome: StatusText | None = None
        self._form = make_form(tasks.post, self)

    @property
    def is_running(self) -> bool:
        """Whether the arm follows the path."""
        return self._run.is_running

    def show(self, display: RobotDisplay) -> None:
        """Take another robot; the path of the one before is forgotten."""
        if self._scene is not None:
            self._scene.remove()
        self._display, self._scene = display, self._make_scene(display)
        self._points.forget()
        self._run.drop()
        self._drop_preview()

    def step(self, now: float) -> None:
        """Send requests that are due, and look where the arm is."""
        is_old = self._asked is not None and self._asked != self._form.settings
        if is_old and not self._run.is_running:  # another page may change them meanwhile
            self._drop_preview()
        self._planner.step()
        self._playback.step(now)
        if self._playback.is_playing:
            self._previewed_at = now
        q = self._q()
        if q is None:
            return
        self._run.step(q)
        if self._run.is_running and not self._link.can_execute():
            self._run.drop()
            self._outcome = StatusText(Level.BAD, 'The IK node has gone', 'on the way')

    def draw(self) -> None:
        """Draw the path and the arm on it."""
        self._form.show(self.state())
        display, scene = self._display, self._scene
        if display is None or scene is None:
            return
        scene.move_base(display.root_from_base())
        is_fresh = time.monotonic() - self._previewed_at < _SHOWN
        is_shown = self._preview is not None and is_fresh and not self._run.is_running
        poses = None
        if is_shown and self._preview is not None:
            poses = display.poses_at(self._preview.at(self._playback.time))
        scene.show_ghost(poses, display.poses)

    def state(self) -> PathState:
        """Return the state of the path."""
        preview, q = self._preview, self._q()
        return PathState(
            has_planner=self._link.can_plan(),
            has_executor=self._link.can_execute(),
            obstacle=_NO_STATES if q is None else '',
            points=len(self._points),
            is_planning=self._planner.is_busy,
            failure=self._failure,
            duration=self._playback.duration,
            time=self._playback.time,
            is_playing=self._playback.is_playing,
            fraction=1.0 if preview is None else preview.fraction,
            reason='' if preview is None else preview.reason,
            distance='' if q is None else self._distance(q),
            progress=self._run.progress,
            outcome=self._outcome,
        )

    # Actions in the tab

    def add(self) -> None:
        """Add a waypoint where the gizmo is."""
        tip = None if self._display is None else self._display.tip_pose()
        T = tip if self._target.pose is None else self._target.pose
        if T is None:
            self._refuse(f'a waypoint cannot be added: {_NO_STATES}')
        else:
            self._edit(lambda: self._points.add(T))

    def close_circle(self) -> None:
        """Make the last three waypoints a circle."""
        self._edit(self._points.close_circle)

    def undo(self) -> None:
        """Take the last step of the drawing back."""
        self._edit(self._points.undo)

    def clear(self) -> None:
        """Remove all waypoints."""
        self._edit(self._points.clear)

    def save(self, send: Callable[[str], object]) -> None:
        """Send the waypoints as a file."""
        if self._display is not None and len(self._points):
            send(waypoints_text(self._points.drawing, *self._ends(self._display)))

    def load(self, content: bytes) -> None:
        """Take the waypoints of a file instead of the present ones."""
        display = self._display
        if display is None:
            self._refuse_in(self.state())
            return
        self._edit(lambda: self._points.replace(read_waypoints(content, *self._ends(display))))

    def preview(self) -> None:
        """Compute the motion along the path."""
        state, q = self.state(), self._q()
        if not state.can_preview or q is None or self._display is None:
            self._refuse_in(state)
            return
        self._drop_preview()
        self._asked = self._form.settings
        chain = self._display.view.arm.chain
        self._planner.ask(chain, self._points.corners(), self._asked, q)

    def seek(self, shown: float) -> None:
        """Show the arm at a time from the start of the motion [s]."""
        self._previewed_at = time.monotonic()
        self._playback.seek(shown)

    def play(self) -> None:
        """Let the shown arm run along the path, or stop that."""
        self._playback.toggle(time.monotonic())

    def go_to_start(self) -> None:
        """Send the arm to the joint positions at which the previewed motion starts."""
        state, preview = self.state(), self._preview
        if not state.can_go_to_start or preview is None:
            self._refuse_in(state)
            return
        self._outcome = None
        self._motions.move_joints(preview.start)

    def execute(self) -> None:
        """Send the arm along the path."""
        state = self.state()
        if not state.can_execute or self._preview is None:
            self._refuse_in(state)
            return
        self._outcome = None
        self._playback.seek(0.0)
        self._motions.drop()  # the gizmo goes with the arm
        self._run.start(self._preview)

    def stop(self) -> None:
        """Stop all that is running."""
        self._run.cancel()
        self._playback.seek(self._playback.time)

    # Responses of the node

    def _take_preview(self, preview: Preview) -> None:
        self._preview = preview
        self._playback.load(preview.trajectory.duration)
        self._previewed_at = time.monotonic()
        if self._scene is not None:
            self._scene.show_preview(preview)

    def _take_failure(self, reason: str) -> None:
        self._failure = reason

    def _take_end(self, end: ExecutionEnd) -> None:
        if end.is_success:
            self._outcome = StatusText(Level.GOOD, 'The arm has gone along the path')
        elif end.is_canceled:
            self._outcome = StatusText(Level.WAITING, 'The execution was cancelled', end.reason)
        else:
            self._outcome = StatusText(Level.BAD, 'The execution has ended early', end.reason)

    def _edit(self, edit: Callable[[], object]) -> None:
        """Change the waypoints, which makes the preview of another path."""
        state = self.state()
        if not state.can_draw:
            self._refuse_in(state)
            return
        try:
            edit()
        except (WaypointError, ArgumentError) as error:
            self._refuse(str(error))
            return
        self._drop_preview()

    def _ends(self, display: RobotDisplay) -> tuple[str, str]:
        """Return the base link and the tip link."""
        chain = display.view.arm.chain
        return chain.base_link, chain.tip_link

    def hide_preview(self) -> None:
        """Hide the arm of the preview until somebody moves in it again."""
        self._previewed_at = -math.inf

    def _drop_preview(self) -> None:
        self._planner.drop()
        self._playback.load(0.0)
        self._preview = self._asked = self._outcome = None
        self._failure = ''
        if self._scene is not None:
            self._scene.show_drawing(self._points.drawing, self._points.corners())
            self._scene.show_preview(None)

    def _refuse_in(self, state: PathState) -> None:
        text = path_text(state)
        self._refuse(': '.join(filter(None, (text.headline, text.detail))))

    def _q(self) -> np.ndarray | None:
        return None if self._display is None else self._display.joints()

    def _distance(self, q: np.ndarray) -> str:
        """Return the distance of the arm from the start, in words; empty where it rests there."""
        if self._preview is None or self._display is None:
            return ''
        joint, distance = self._preview.distance_from_start(q)
        if distance <= START_TOLERANCE:
            return 'it is about to arrive' if self._motions.is_executing else ''
        chain = self._display.view.arm.chain
        unit = joint_units(chain)[chain.joint_names.index(joint)]
        return f'{joint} is {quantity_text(distance, unit)} away from there'
