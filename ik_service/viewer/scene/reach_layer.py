"""Point cloud of the reachable positions, which can be shown and hidden."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import viser

from ik_service.common.transforms import quaternion_wxyz_from_rotation
from ik_service.exceptions import IkServiceError
from ik_service.viewer.panel.panel import Panel
from ik_service.viewer.scene.colormap import viridis
from ik_service.viewer.scene.reach_file import ReachFile, read_reach

_POINT_SIZE = 0.2  # in distances between positions: small enough to see the arm inside
_SINGLE_POINT_SIZE = 0.02  # where there is no distance [m]


class ReachLayer:
    """
    Point cloud of a file of ``ik_study reach``. To be used from one thread.

    :param server: the page's server.
    :param panel: has the checkbox for it, and shows why it is missing.
    :param path: the file; empty for none.
    :param log: called with why it is missing.
    """

    def __init__(
        self, server: viser.ViserServer, panel: Panel, path: str, log: Callable[[str], object]
    ) -> None:
        self._server, self._panel, self._log = server, panel, log
        self._cloud: viser.PointCloudHandle | None = None
        self._T_root_base = np.eye(4)
        self._file: ReachFile | None = None
        self._logged = ''
        if path:
            try:
                self._file = read_reach(Path(path))
            except IkServiceError as error:
                self._report(str(error))

    def set_base_link(self, base_link: str) -> None:
        """
        Offer the cloud if it is about an arm with this base, and hide it otherwise.

        :param base_link: base link of the chain.
        """
        file = self._file
        if file is None:
            return
        if file.base_link != base_link:
            self._panel.offer_reach('')
            self._report(f'{file.path}: its base link is {file.base_link}, not {base_link}')
            return
        self._report('')
        self._panel.offer_reach(file.tip_link)
        if self._cloud is None:
            self._cloud = self._server.scene.add_point_cloud(
                '/reach',
                file.points.astype(np.float32),
                viridis(file.fraction),
                point_size=_POINT_SIZE * file.spacing or _SINGLE_POINT_SIZE,
                point_shape='circle',
                precision='float32',
                visible=False,
            )

    def draw(self, T_root_base: np.ndarray) -> None:
        """
        Draw the cloud if it is to be shown.

        :param T_root_base: (4, 4) pose of the base link [m].
        """
        cloud = self._cloud
        if cloud is None:
            return
        if not np.array_equal(T_root_base, self._T_root_base):
            self._T_root_base = T_root_base
            cloud.wxyz = quaternion_wxyz_from_rotation(T_root_base[:3, :3])
            cloud.position = T_root_base[:3, 3]
        if cloud.visible != self._panel.shows_reach:
            cloud.visible = self._panel.shows_reach

    def _report(self, reason: str) -> None:
        text = f'the reachable positions are not shown: {reason}' if reason else ''
        self._panel.show_note(text)
        if text and text != self._logged:
            self._logged = text
            self._log(text)
