"""Tab of the reach: maps are loaded, checked against the arm and drawn; places of a base."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
import json
import math
import os
from pathlib import Path

import numpy as np
import viser

from ik_service.common.files import read_regular
from ik_service.common.quaternions import quaternion_wxyz_from_rotation
from ik_service.common.quoting import counted, truncate
from ik_service.exceptions import ArgumentError
from ik_service.extras.viewer.link.task_queue import Post, Reader, TaskQueue
from ik_service.extras.viewer.panel.figures import banner, framed, Level, StatusText
from ik_service.extras.viewer.panel.panel import Panel
from ik_service.extras.viewer.panel.widgets import (
    bounded,
    on_click,
    on_input,
    set_properties,
    set_value,
)
from ik_service.extras.viewer.reach_map import (
    Cut,
    difference,
    drawn,
    FINENESSES,
    Look,
    OwnSurvey,
    place_text,
    Quantity,
    ReachMap,
    read_map,
    viridis,
)
from ik_service.extras.viewer.robot_display import PageTarget, RobotDisplay
from ik_service.extras.viewer.scene.scene import set_pose
from ik_service.kinematics.chain import KinematicChain
from ik_service.kinematics.pose_error import check_transforms

LONGEST = 64 * 2**20  # longest file that is read [byte]
MOST_PLACES = 20  # places that are shown, at most; the best ones

_FARTHEST = 1e6  # bound of a plausible coordinate [m]


@dataclass(frozen=True)
class Places:
    """Best T_world_base (k, 4, 4) [m], shares (k,) of the poses T_world_tip (K, 4, 4) reached."""

    ends: tuple[str, str]
    T_world_base: np.ndarray
    shares: np.ndarray
    T_world_tip: np.ndarray


def read_places(path: str | os.PathLike[str]) -> Places:
    """Read the first places of a file of ``ik_place --output``; ArgumentError if it is none."""
    found = Path(path).expanduser()
    try:
        content = json.loads(read_regular(found, LONGEST))
        places, robot = content['places'][:MOST_PLACES], content['robot']
        read = Places(
            (str(robot['base_link']), str(robot['tip_link'])),
            _transforms([place['T_world_base'] for place in places]),
            np.array([float(place['share']) for place in places]),
            _transforms(content['poses']['T_world_tip']),
        )
    except OSError as error:
        raise ArgumentError(str(found), f'cannot be read: {error.strerror or error}') from error
    except (KeyError, TypeError, RecursionError) as error:
        reason = 'it has to be JSON with robot, places and poses'
        raise ArgumentError(str(found), f'is no file of ik_place: {reason}') from error
    except ValueError as error:
        raise ArgumentError(str(found), f'is no file of ik_place: {error}') from error
    if not len(read.shares) or not ((read.shares >= 0.0) & (read.shares <= 1.0)).all():
        raise ArgumentError(str(found), 'is no file of ik_place: it has no places with shares')
    if not len(read.T_world_tip):
        raise ArgumentError(str(found), 'is no file of ik_place: it has no poses')
    return read


def _transforms(values: object) -> np.ndarray:
    T = check_transforms(np.array(values, dtype=float).reshape(-1, 4, 4), 'T_world')
    if np.abs(T).max(initial=0.0) > _FARTHEST:
        raise ValueError('a coordinate is implausible')
    return T


_PLACE, _POSE = 0.18, 0.06  # length of the axes of a place and of a pose [m]


_HINT = 'On the machine of the viewer: the JSON of ik_place, whose world is the root of the robot'


class Placements:
    """Part of the tab of the reach. To be used from the thread of the task queue."""

    def __init__(
        self, server: viser.ViserServer, container: viser.GuiTabHandle, tasks: TaskQueue
    ) -> None:
        self._reader, self._scene = Reader(tasks), server.scene
        self._root: viser.FrameHandle | None = None
        self._chain: KinematicChain | None = None
        self._places: Places | None = None
        gui = server.gui
        with container:
            self._path = gui.add_text('Places', '', hint=_HINT)
            self._button = gui.add_button('Show places', icon=viser.Icon.MAP_PINS)
            self._text = gui.add_html('', visible=False)
        on_click(self._button, lambda: tasks.post(self.load, self._path.value))

    def show(self, chain: KinematicChain) -> None:
        """Take another arm."""
        self._chain = chain
        if self._places is not None:
            self._take(self._places)

    def load(self, path: str) -> None:
        """Load the places of a file instead of those before; an empty path removes them."""
        self._take(None)
        self._reader.drop()
        if path.strip():
            self._reader.start(lambda: read_places(path.strip()), self._take, self._refuse)

    def _take(self, places: Places | None) -> None:
        self._places, chain = places, self._chain
        if self._root is not None:
            self._root.remove()
            self._root = None
        self._text.visible = False
        if places is None or chain is None:
            return
        ends = chain.base_link, chain.tip_link
        if places.ends != ends:
            there, here = (' to '.join(map(truncate, links)) for links in (places.ends, ends))
            self._refuse(f'the places are for another arm: from {there}, and here from {here}')
            return
        self._draw(places)
        found = counted(len(places.shares), 'place')
        poses = counted(len(places.T_world_tip), 'pose')
        detail = f'the best one reaches {100.0 * places.shares[0]:.0f} % of {poses}'
        self._say(StatusText(Level.GOOD, f'{found} for the base', detail))

    def _draw(self, places: Places) -> None:
        """Draw the frames where the base may stand, and of the poses that are to be reached."""
        self._root = self._scene.add_frame('/places', show_axes=False)
        self._add_axes('/places/poses', places.T_world_tip, _POSE)
        self._add_axes('/places/bases', places.T_world_base, _PLACE)
        for i, (T, share) in enumerate(zip(places.T_world_base, places.shares, strict=True), 1):
            text = f'{i}: {min(int(100.0 * share), 100)} %'
            self._scene.add_label(f'/places/{i}', text, position=T[:3, 3], anchor='bottom-left')

    def _add_axes(self, name: str, T: np.ndarray, length: float) -> None:
        self._scene.add_batched_axes(
            name,
            np.array([quaternion_wxyz_from_rotation(R) for R in T[:, :3, :3]]),
            T[:, :3, 3],
            axes_length=length,
            axes_radius=0.04 * length,
        )

    def _refuse(self, reason: str) -> None:
        self._say(StatusText(Level.BAD, 'No places are shown', reason))

    def _say(self, text: StatusText) -> None:
        self._text.content, self._text.visible = banner(text), True


_CUTS = {cut.value: cut for cut in Cut}
_STEPS = 100  # of the threshold
_POINT_SIZE, _LARGEST_POINT = 10.0, 100.0  # [mm]
_OFFSET_STEP = 0.005  # [m]


class ReachForm:
    """Tab of the reach, with the path of the first map or none. To be used from one thread."""

    def __init__(
        self, gui: viser.GuiApi, container: viser.GuiTabHandle, post: Post, reach: Reach, path: str
    ) -> None:
        self._quantities: Sequence[Quantity] = ()
        with container:
            self._text = gui.add_html('')
            self._here = gui.add_html('', visible=False)
            self._key = gui.add_html('', visible=False)
            self._show = gui.add_checkbox('Show the map', True, visible=False)
            self._color = gui.add_dropdown('Colour', ('–',), visible=False)
            self._least = gui.add_slider('At least', 0.0, 1.0, 0.01, 0.0, visible=False)
            # Cut open towards the camera, so that the arm is in sight.
            self._cut = gui.add_dropdown(
                'Cut', tuple(_CUTS), initial_value=Cut.ABOVE_Y.value, visible=False
            )
            self._offset = gui.add_slider('Plane at [m]', -1.0, 1.0, 0.01, 0.0, visible=False)
            self._size = gui.add_slider(
                'Point size [mm]', 1.0, _LARGEST_POINT, 0.5, _POINT_SIZE, visible=False
            )
            self._progress = gui.add_progress_bar(0.0, visible=False)
            hint = 'From coarse, in half a minute, to fine, in a quarter of an hour'
            self._fineness = gui.add_dropdown('Fineness', tuple(FINENESSES), hint=hint)
            self._make = gui.add_button('Make a map of this arm', icon=viser.Icon.RADAR_2)
            hint = 'On the machine of the viewer: the reach.zarr of ik_study reach'
            self._path = gui.add_text('Map', path, hint=hint)
            self._load = gui.add_button('Load', icon=viser.Icon.FOLDER_OPEN)
        self._listen(post, reach)

    @property
    def is_shown(self) -> bool:
        """Whether the map is to be shown."""
        return bool(self._show.value)

    @property
    def look(self) -> Look:
        """Part of the map that is drawn, and its colours."""
        names = [quantity.name for quantity in self._quantities]
        name = self._color.value
        return Look(
            names.index(name) if name in names else 0,
            bounded(self._least),
            _CUTS.get(self._cut.value, Cut.NONE),
            bounded(self._offset),
        )

    @property
    def point_size(self) -> float:
        """Diameter of a point [m]."""
        return 1e-3 * bounded(self._size)

    def offer(self, quantities: Sequence[Quantity], points: np.ndarray, spacing: float) -> None:
        """Offer quantities of positions (N, 3) [m] with a spacing, 0 without a grid."""
        self._quantities = quantities
        for widget in self._controls:
            set_properties(widget, visible=bool(quantities))
        set_properties(self._here, visible=False)
        if not quantities:
            return
        self._color.options = tuple(quantity.name for quantity in quantities)
        set_value(self._color, quantities[0].name)
        # Of the whole map, so that the plane can be turned without leaving it.
        low, high = math.floor(1e3 * points.min()) / 1e3, math.ceil(1e3 * points.max()) / 1e3
        step = spacing or _OFFSET_STEP
        set_properties(self._offset, min=low, max=max(high, low + step), step=step)
        set_value(self._offset, min(max(self._offset.value, low), high))
        size = 200.0 * spacing or _POINT_SIZE
        least = min(1.0, 10.0 ** math.floor(math.log10(size)))
        step = 0.5 * least
        most = max(_LARGEST_POINT, step * math.ceil(5.0 * size / step))
        set_properties(self._size, min=least, max=most, step=step)
        set_value(self._size, step * round(size / step))
        self.adjust()

    def switch(self, is_shown: bool) -> None:
        """Show or hide the map."""
        set_value(self._show, is_shown)

    def adjust(self) -> None:
        """Give the threshold the range of the chosen quantity, and show only meaningful inputs."""
        quantity = self._quantities[self.look.quantity]
        unit = f' [{quantity.unit}]' if quantity.unit else ''
        label = f'At least{unit}'
        if self._least.label != label or self._least.max != quantity.highest:
            set_value(self._least, 0.0)
            highest = quantity.highest
            step, precision = highest / _STEPS, max(quantity.digits, 0)
            set_properties(self._least, label=label, max=highest, step=step, precision=precision)
        set_properties(self._offset, visible=self.look.cut is not Cut.NONE)

    def show(self, text: StatusText) -> None:
        """Show the state of the tab."""
        set_properties(self._text, content=banner(text))

    def show_progress(self, share: float | None) -> None:
        """Show how much of a map is made, 0 to 1; None while none is made."""
        set_properties(self._progress, visible=share is not None)
        if share is not None:
            set_properties(self._progress, value=float(round(100.0 * share)))

    def show_key(self, content: str) -> None:
        """Show the legend."""
        set_properties(self._key, content=content)

    def show_here(self, content: str) -> None:
        """Show HTML about the map at the position of the target; empty for nothing."""
        set_properties(self._here, visible=bool(content), content=framed(content))

    @property
    def _controls(self) -> tuple[object, ...]:
        looks = (self._key, self._show, self._color, self._least, self._cut)
        return (*looks, self._size, self._offset)

    def _listen(self, post: Post, reach: Reach) -> None:
        on_click(self._load, lambda: post(reach.load, self._path.value))
        on_click(self._make, lambda: post(reach.make, self._fineness.value))
        for widget in (self._show, self._color, self._least, self._cut, self._offset, self._size):
            on_input(widget, lambda value: post(reach.change))


_STOPS = 9  # colours of the bar, between which browsers blend


def color_bar(quantity: Quantity) -> str:
    """Return a bar with the colours of a quantity, and numbers with the unit below."""
    colors = ','.join(map(_css, viridis(np.linspace(0.0, 1.0, _STOPS))))
    ends = (quantity.text(share * quantity.highest) for share in (0.0, 0.5, 1.0))
    numbers = ''.join(f'<span>{escape(text)}</span>' for text in ends)
    return framed(
        f'<div>{escape(quantity.name)}</div>'
        f'<div style="height:0.75em;border-radius:3px;'
        f'background:linear-gradient(90deg,{colors})"></div>'
        f'<div style="display:flex;justify-content:space-between">{numbers}</div>'
    )


def _css(color: np.ndarray) -> str:
    return 'rgb({},{},{})'.format(*color.tolist())


_PERIOD = 0.2  # shortest time between two clouds: one may have millions of points [s]
_NO_MAP = StatusText(
    Level.WAITING, 'No map of the reach', 'make one below, or load one of ik_study reach'
)
_MAKING = StatusText(Level.WAITING, 'Making a map of this arm', 'in the background')
_NO_ARM = StatusText(Level.WAITING, 'The map waits for its arm', 'no robot is shown yet')


class Reach:
    """
    Tab of the reach and its point cloud. To be used from the thread of the task queue.

    :param tasks: delivers the data read, and the events of the tab.
    :param log: called with the reason why a map is not shown.
    :param path: of the map that is loaded first; empty for none.
    :param makes: whether a map is made when the arm is first viewed, where no path is given.
    """

    def __init__(
        self,
        server: viser.ViserServer,
        panel: Panel,
        tasks: TaskQueue,
        log: Callable[[str], object],
        path: str = '',
        makes: bool = False,
    ) -> None:
        self._log, self._tasks = log, tasks
        self._form = ReachForm(server.gui, panel.reach_tab, tasks.post, self, path)
        self._scene = server.scene
        self._root = server.scene.add_frame('/reach', show_axes=False)
        self._points: viser.PointCloudHandle | None = None
        self._placements = Placements(server, panel.reach_tab, tasks)
        self._reader = Reader(tasks)
        self._chain: KinematicChain | None = None
        self._map: ReachMap | None = None
        self._is_own = False  # whether the map is known to be of the arm that is shown
        self._is_changed, self._drawn_at = False, -math.inf
        self._place: np.ndarray | None = None
        self._survey: OwnSurvey | None = None
        self._makes = makes and not path
        self._is_unasked = False  # whether nobody has asked for the map: it is there, not in sight
        self._form.show(_NO_MAP)
        if path:
            self.load(path)

    def show(self, chain: KinematicChain) -> None:
        """Take another arm."""
        self._placements.show(chain)
        self._chain = chain
        if self._survey is not None:  # of the arm before
            makes = self._is_unasked
            self.load('')
            self._makes = makes
        found = self._map
        if found is not None:
            self._drop_map()
            self._start(lambda: found)

    def load(self, path: str) -> None:
        """Load a map instead of the one that is shown."""
        self._makes = self._is_unasked = False
        self._drop_survey()
        self._drop_map()
        self._map = None
        if not path.strip():
            self._reader.drop()
            self._form.show(_NO_MAP)
            return
        self._form.show(StatusText(Level.WAITING, 'Reading the map', path.strip()))
        self._start(lambda: read_map(path.strip()))

    def make(self, fineness: str) -> None:
        """Make a map of the arm that is shown, in the background, instead of the present one."""
        chain = self._chain
        self._makes = self._is_unasked = False
        self._drop_survey()
        if chain is None:
            self._form.show(_NO_ARM)
            return
        self._drop_map()
        self._map = None
        survey = OwnSurvey(
            chain,
            FINENESSES[fineness],
            lambda share: self._tasks.post(self._show_progress, survey, share),
        )
        self._survey = survey
        self._form.show(_MAKING)
        self._form.show_progress(0.0)
        self._start(survey.run)

    def draw(self, now: float, display: RobotDisplay, target: PageTarget) -> None:
        """Draw pending changes, and the values of the map at the gizmo, which is at the target."""
        set_pose(self._root, display.root_from_base())
        if self._makes and self._chain is not None:
            self.make(next(iter(FINENESSES)))
            self._is_unasked = True
        if self._map is None or not self._is_own:
            return
        if self._is_changed and now - self._drawn_at >= _PERIOD:
            self._is_changed, self._drawn_at = False, now
            self._draw_cloud(self._map)
        T_base_tip = display.tip_pose() if target.pose is None else target.pose
        place = None if T_base_tip is None else T_base_tip[:3, 3]
        if place is not None and (self._place is None or (place != self._place).any()):
            self._place = place
            self._form.show_here(f'<b>At the gizmo:</b> {escape(place_text(self._map, place))}')

    # Reading

    def _start(self, read: Callable[[], ReachMap]) -> None:
        """Read a map, and compare its arm with the one that is shown."""
        chain = self._chain

        def read_and_check() -> tuple[ReachMap, KinematicChain | None, str]:
            found = read()
            return found, chain, '' if chain is None else difference(found, chain)

        self._reader.start(read_and_check, self._take_map, self._refuse)

    def _take_map(self, result: tuple[ReachMap, KinematicChain | None, str]) -> None:
        found, chain, reason = result
        self._drop_survey()
        self._map = found
        if chain is not self._chain:  # another arm came meanwhile
            self._start(lambda: found)
        elif chain is None:
            self._form.show(_NO_ARM)
        elif reason:
            self._refuse(reason)
        else:
            self._is_own = self._is_changed = True
            self._form.offer(found.quantities, found.points, found.spacing)
            self._form.switch(not self._is_unasked)
            self._form.show(_summary(found))

    def _refuse(self, reason: str) -> None:
        self._drop_survey()
        self._form.show(StatusText(Level.BAD, 'The map is not shown', reason))
        self._log(f'the map of the reach is not shown: {reason}')

    def _show_progress(self, survey: OwnSurvey, share: float) -> None:
        if survey is self._survey:
            self._form.show_progress(share)

    def _drop_survey(self) -> None:
        if self._survey is not None:
            self._survey.drop()
            self._survey = None
            self._form.show_progress(None)

    # Drawing

    def change(self) -> None:
        """Redraw the chosen quantity."""
        if self._map is not None and self._is_own:
            self._form.adjust()
            self._is_changed = True

    def _drop_map(self) -> None:
        self._is_own, self._place = False, None
        self._clear()
        self._form.offer((), np.empty((0, 3)), 0.0)

    def _draw_cloud(self, found: ReachMap) -> None:
        form, look = self._form, self._form.look
        form.show_key(color_bar(found.quantities[look.quantity]))
        points, colors = drawn(found, look)
        if not form.is_shown or not len(points):
            self._clear()
            return
        # A node of the same name replaces the other one in one message, so that no page ever has
        # points without colours.
        self._points = self._scene.add_point_cloud(
            '/reach/points',
            points,
            colors,
            point_size=form.point_size,
            point_shape='circle',
            precision='float32',
        )

    def _clear(self) -> None:
        if self._points is not None:
            self._points.remove()
            self._points = None


def _summary(found: ReachMap) -> StatusText:
    reached, spacing = int(found.is_reached.sum()), 1e3 * found.spacing
    grid = f', {spacing:.3g} mm apart' if spacing else ''
    detail = f'{reached:,} positions{grid}, from {found.base_link} to {found.tip_link}'
    return StatusText(Level.GOOD, found.path.name, detail)
