"""Places for the base of the arm in the scene, as frames."""

from __future__ import annotations

import numpy as np
import viser

from ik_service.common.transforms import quaternion_wxyz_from_rotation
from ik_service.extras.viewer.reach.places_file import Places

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
