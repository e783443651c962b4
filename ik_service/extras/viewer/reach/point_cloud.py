"""Point cloud in the scene, in the frame of the arm's base."""

from __future__ import annotations

import numpy as np
import viser

from ik_service.common.transforms import quaternion_wxyz_from_rotation


class PointCloud:
    """
    Point cloud that is replaced as a whole. To be used from one thread.

    :param scene: the scene of the page.
    :param name: path of its node.
    """

    def __init__(self, scene: viser.SceneApi, name: str) -> None:
        self._scene, self._name = scene, name
        self._node: viser.PointCloudHandle | None = None
        self._T_root_base = np.eye(4)

    def show(self, points: np.ndarray, colors: np.ndarray, point_size: float) -> None:
        """
        Replace the points.

        :param points: (N, 3) in the frame of the base [m]; none to show nothing.
        :param colors: (N, 3) red, green and blue, 0 to 255.
        :param point_size: diameter of a point [m].
        """
        if not len(points):
            self.clear()
            return
        # A node of the same name replaces the other one in one message, so that no page ever has
        # points without colours.
        self._node = self._scene.add_point_cloud(
            self._name,
            points,
            colors,
            point_size=point_size,
            point_shape='circle',
            precision='float32',
        )
        self._put_at(self._T_root_base)

    def clear(self) -> None:
        """Show nothing."""
        if self._node is not None:
            self._node.remove()
            self._node = None

    def move(self, T_root_base: np.ndarray) -> None:
        """
        Draw the points where the base of the arm is.

        :param T_root_base: (4, 4) [m].
        """
        if not np.array_equal(T_root_base, self._T_root_base):
            self._put_at(T_root_base)

    def _put_at(self, T_root_base: np.ndarray) -> None:
        self._T_root_base = T_root_base
        if self._node is not None:
            self._node.wxyz = np.array(quaternion_wxyz_from_rotation(T_root_base[:3, :3]))
            self._node.position = T_root_base[:3, 3]
