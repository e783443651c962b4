"""Places for the base of the arm: a file of ``ik_place`` is loaded and drawn."""

from __future__ import annotations

from dataclasses import dataclass
import json
import os
from pathlib import Path

import numpy as np
import viser

from ik_service.common.quaternions import quaternion_wxyz_from_rotation
from ik_service.common.regular_file import read_regular
from ik_service.exceptions import ArgumentError
from ik_service.extras.viewer.link.task_queue import Reader, TaskQueue
from ik_service.extras.viewer.panel.panel_html import banner, Level, StatusText
from ik_service.extras.viewer.panel.widgets import on_click
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
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise ArgumentError(str(found), f'is no file of ik_place: {error}') from error
    if not len(read.shares) or not ((read.shares >= 0.0) & (read.shares <= 1.0)).all():
        raise ArgumentError(str(found), 'is no file of ik_place: it has no places with shares')
    return read


def _transforms(values: object) -> np.ndarray:
    """Return rigid transforms (N, 4, 4)."""
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
            there, here = (' to '.join(links) for links in (places.ends, ends))
            self._refuse(f'the places are for another arm: from {there}, and here from {here}')
            return
        self._draw(places)
        count, poses = len(places.shares), len(places.T_world_tip)
        detail = f'the best one reaches {100.0 * places.shares[0]:.0f} % of {poses} poses'
        noun = 'place' if count == 1 else 'places'
        self._say(StatusText(Level.GOOD, f'{count} {noun} for the base', detail))

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
