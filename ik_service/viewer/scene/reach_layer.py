"""The reachable positions in the page: a cloud that can be shown and hidden."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import viser
from viser.transforms import SO3

from ik_service.exceptions import IkServiceError
from ik_service.viewer.panel.panel import Panel
from ik_service.viewer.scene.reach_file import ReachFile, read_reach
from ik_service.viewer.scene.colormap import viridis

_SHARE = 0.2  # of the distance between positions that a point is wide: the arm is seen inside
_ALONE = 0.02  # width of a point that has no neighbours [m]


class ReachLayer:
    """
    The survey of ``ik_study reach`` in the scene. To be used from one thread.

    :param server: the page's server.
    :param panel: has the switch for it, and tells why it is not shown.
    :param path: the file; empty for none.
    :param log: called with why it is not shown.
    """

    def __init__(
        self, server: viser.ViserServer, panel: Panel, path: str, log: Callable[[str], object]
    ) -> None:
        self._server, self._panel, self._log = server, panel, log
        self._cloud: viser.PointCloudHandle | None = None
        self._T_root_base = np.eye(4)
        self._file: ReachFile | None = None
        self._said = ''
        if path:
            try:
                self._file = read_reach(Path(path))
            except IkServiceError as error:
                self._complain(str(error))

    def suit(self, base_link: str) -> None:
        """Show the cloud if it is about an arm with this base, and hide it otherwise."""
        file = self._file
        if file is None:
            return
        if file.base_link != base_link:
            self._panel.offer_reach('')
            self._complain(f'{file.path}: its base link is {file.base_link}, not {base_link}')
            return
        self._complain('')
        self._panel.offer_reach(file.tip_link)
        if self._cloud is None:
            self._cloud = self._server.scene.add_point_cloud(
                '/reach',
                file.points.astype(np.float32),
                viridis(file.share),
                point_size=_SHARE * file.spacing or _ALONE,
                point_shape='circle',
                precision='float32',
                visible=False,
            )

    def draw(self, T_root_base: np.ndarray) -> None:
        """Show it where the base is, (4, 4) in the root's frame, if people want to see it."""
        cloud = self._cloud
        if cloud is None:
            return
        if not np.array_equal(T_root_base, self._T_root_base):
            self._T_root_base = T_root_base
            cloud.wxyz = SO3.from_matrix(T_root_base[:3, :3]).wxyz
            cloud.position = T_root_base[:3, 3]
        if cloud.visible != self._panel.shows_reach:
            cloud.visible = self._panel.shows_reach

    def _complain(self, reason: str) -> None:
        text = f'the reachable positions are not shown: {reason}' if reason else ''
        self._panel.show_note(text)
        if text and text != self._said:
            self._said = text
            self._log(text)
