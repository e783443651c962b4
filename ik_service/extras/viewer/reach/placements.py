"""Places for the base of the arm in the page: a file of ``ik_place`` is loaded and drawn."""

from __future__ import annotations

import numpy as np
import viser

from ik_service.common.transforms import quaternion_wxyz_from_rotation
from ik_service.extras.viewer.link.task_queue import TaskQueue
from ik_service.extras.viewer.panel.panel_html import banner
from ik_service.extras.viewer.panel.status_text import Level, StatusText
from ik_service.extras.viewer.panel.widgets import call_on_click
from ik_service.extras.viewer.reach.places_file import Places, read_places
from ik_service.extras.viewer.reach.reader import Reader
from ik_service.kinematics.chain import KinematicChain

_PLACE, _POSE = 0.18, 0.06  # length of the axes of a place and of a pose [m]


class PlacesScene:
    """
    Frames where the base may stand, and of the poses that are to be reached.

    To be used from one thread.

    :param scene: the scene of the page.
    """

    def __init__(self, scene: viser.SceneApi) -> None:
        self._scene = scene
        self._root: viser.FrameHandle | None = None

    def show(self, places: Places | None) -> None:
        """
        Show places instead of those before.

        :param places: the places; None for none.
        """
        if self._root is not None:
            self._root.remove()
            self._root = None
        if places is None:
            return
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


_HINT = 'On the machine of the viewer: the JSON of ik_place, whose world is the root of the robot'


class Placements:
    """
    Part of the tab of the reach. To be used from the thread of the task queue.

    :param server: the page's server.
    :param container: the tab.
    :param tasks: brings what was read, and what is done in the tab.
    """

    def __init__(
        self, server: viser.ViserServer, container: viser.GuiTabHandle, tasks: TaskQueue
    ) -> None:
        self._reader, self._scene = Reader(tasks), PlacesScene(server.scene)
        self._chain: KinematicChain | None = None
        self._places: Places | None = None
        gui = server.gui
        with container:
            self._path = gui.add_text('Places', '', hint=_HINT)
            self._button = gui.add_button('Show places', icon=viser.Icon.MAP_PINS)
            self._text = gui.add_html('', visible=False)
        call_on_click(self._button, lambda: tasks.post(self.load, self._path.value))

    def show(self, chain: KinematicChain) -> None:
        """
        Take another arm.

        :param chain: its chain.
        """
        self._chain = chain
        if self._places is not None:
            self._take(self._places)

    def load(self, path: str) -> None:
        """
        Load places instead of those before, or remove them.

        :param path: the file; empty to remove them.
        """
        self._take(None)
        self._reader.drop()
        if path.strip():
            self._reader.start(lambda: read_places(path.strip()), self._take, self._refuse)

    def _take(self, places: Places | None) -> None:
        self._places, chain = places, self._chain
        self._scene.show(None)
        self._text.visible = False
        if places is None or chain is None:
            return
        ends = chain.base_link, chain.tip_link
        if places.ends != ends:
            there, here = (' to '.join(links) for links in (places.ends, ends))
            self._refuse(f'the places are for another arm: from {there}, and here from {here}')
            return
        self._scene.show(places)
        count, poses = len(places.shares), len(places.T_world_tip)
        detail = f'the best one reaches {100.0 * places.shares[0]:.0f} % of {poses} poses'
        noun = 'place' if count == 1 else 'places'
        self._say(StatusText(Level.GOOD, f'{count} {noun} for the base', detail))

    def _refuse(self, reason: str) -> None:
        self._say(StatusText(Level.BAD, 'No places are shown', reason))

    def _say(self, text: StatusText) -> None:
        self._text.content, self._text.visible = banner(text), True
