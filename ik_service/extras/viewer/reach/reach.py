"""Reach of the arm in the page: maps are loaded, checked against the arm, and drawn."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
import math

import numpy as np
import viser

from ik_service.extras.viewer.link.target import Target
from ik_service.extras.viewer.link.task_queue import Reader, TaskQueue
from ik_service.extras.viewer.panel.panel import Panel
from ik_service.extras.viewer.panel.panel_html import framed, Level, StatusText
from ik_service.extras.viewer.reach.placements import Placements
from ik_service.extras.viewer.reach.reach_form import ReachForm
from ik_service.extras.viewer.reach.reach_map import (
    difference,
    FINENESSES,
    OwnSurvey,
    Quantity,
    ReachMap,
    read_map,
)
from ik_service.extras.viewer.reach.selection import (
    COLORS,
    compare,
    Comparison,
    drawn,
    place_text,
    viridis,
)
from ik_service.extras.viewer.robot_display import RobotDisplay
from ik_service.extras.viewer.scene.models import set_pose
from ik_service.kinematics.chain import KinematicChain

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


def arms_key(comparison: Comparison, least: float) -> str:
    """
    Return the colours of a comparison, with the volume of each.

    :param least: share of the orientations from which on a place counts as reached [%].
    """
    one, other = comparison.names
    texts = (f'only {one}', f'only {other}', 'both')
    volumes = comparison.volumes(least)
    rows = ''.join(
        f'<tr><td style="padding-right:0.5em"><div style="width:0.75em;height:0.75em;'
        f'border-radius:50%;background:{_css(color)}"></div></td><td>{escape(text)}</td>'
        f'<td style="text-align:right;padding-left:0.75em;white-space:nowrap">'
        f'<b>{volume:.3f} m³</b></td></tr>'
        for color, text, volume in zip(COLORS, texts, volumes, strict=True)
    )
    return framed(f'<table>{rows}</table>')


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
        self._comparison: Comparison | None = None
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
        """
        Make a map of the arm that is shown, in the background, instead of the one that is shown.

        :param fineness: one of :data:`~ik_service.extras.viewer.reach.reach_map.FINENESSES`.
        """
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

    def compare(self, path: str) -> None:
        """
        Load a map to compare with, or remove it.

        :param path: its file or folder; empty to remove it.
        """
        found = self._map
        if found is None or not self._is_own:
            return
        if not path.strip():
            self._reader.drop()
            self._take_comparison(None)
            return
        self._form.show(StatusText(Level.WAITING, 'Reading the other map', path.strip()))
        self._reader.start(
            lambda: compare(found, read_map(path.strip())),
            self._take_comparison,
            lambda reason: self._form.show(
                StatusText(Level.BAD, 'The maps are not compared', reason)
            ),
        )

    def draw(self, now: float, display: RobotDisplay, target: Target) -> None:
        """
        Draw pending changes, and show the values of the map at the gizmo.

        :param target: the target; without one the gizmo is at the tip.
        """
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

    def _take_comparison(self, found: Comparison | None) -> None:
        self._comparison = found
        self._form.offer_comparison(found is not None)
        if self._map is not None:
            self._form.show(_summary(self._map))
        self._is_changed = True

    def _refuse(self, reason: str) -> None:
        self._drop_survey()
        self._form.show(StatusText(Level.BAD, 'The map is not shown', reason))
        self._log(f'the map of the reach is not shown: {reason}')

    def _show_progress(self, survey: OwnSurvey, share: float) -> None:
        if survey is self._survey:
            self._form.show_progress(share)

    def _drop_survey(self) -> None:
        """End the running survey, if there is one."""
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
        """Draw nothing of the map any more."""
        self._is_own, self._comparison, self._place = False, None, None
        self._clear()
        self._form.offer((), np.empty((0, 3)), 0.0)

    def _draw_cloud(self, found: ReachMap) -> None:
        form, look = self._form, self._form.look
        if self._comparison is not None and form.compares:
            form.show_key(arms_key(self._comparison, look.least))
            points, colors = self._comparison.drawn(look)
        else:
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
    grid = f', {spacing:.0f} mm apart' if spacing else ''
    detail = f'{reached:,} positions{grid}, from {found.base_link} to {found.tip_link}'
    return StatusText(Level.GOOD, found.path.name, detail)
