"""Poses of frames at one posture of an arm, in which objects of the world are given."""

from __future__ import annotations

import numpy as np

from ik_service.arm.arm import Arm
from ik_service.common.transforms import inverse_transform
from ik_service.exceptions import ArgumentError, UnknownLinkError
from ik_service.ros.requests.frames import Frames


class Placing:
    """
    Poses of frames in those of links.

    :param arm: the arm; None before there is one, when only the root link's frame is known.
    :param posture: (m,) its full posture [rad] or [m].
    :param frames: frames besides the links.
    """

    def __init__(self, arm: Arm | None, posture: np.ndarray, frames: Frames) -> None:
        self._arm = arm
        self._posture = posture
        self._frames = frames

    def in_root(self, frame_id: str, T: np.ndarray) -> np.ndarray:
        """
        Return a pose that is given in some frame in that of the root link.

        :param frame_id: the frame: empty for the root link, a link, an object, or one of tf.
        :param T: (4, 4) T_frame_pose [m].
        :returns: (4, 4) T_root_pose [m].
        :raises RequestError: there is no such frame.
        :raises ArgumentError: there is no arm yet.
        """
        return T if not frame_id.lstrip('/') else self.in_link('', frame_id, T)

    def in_link(self, link: str, frame_id: str, T: np.ndarray) -> np.ndarray:
        """
        Return a pose that is given in some frame in that of a link.

        :param link: the link; empty for the root link.
        :param frame_id: the frame, and T, the pose in it: as for :meth:`in_root`.
        :returns: (4, 4) T_link_pose [m].
        :raises RequestError: there is no such frame.
        :raises UnknownLinkError: there is no such link.
        :raises ArgumentError: there is no arm yet.
        """
        if self._arm is None:
            raise ArgumentError('frame_id', 'cannot be looked up, as there is no robot yet')
        near, T_near_frame = self._frames.locate(self._arm, frame_id.lstrip('/'))
        return self._between(link or self._arm.root_link, near) @ T_near_frame @ T

    def from_root(self, link: str, T: np.ndarray) -> np.ndarray:
        """
        Return a pose that is given in the frame of the root link in that of a link.

        :param link: the link.
        :param T: (4, 4) T_root_pose [m].
        :returns: (4, 4) T_link_pose [m].
        :raises UnknownLinkError: there is no such link.
        :raises ArgumentError: there is no arm yet.
        """
        return self.in_link(link, '', T)

    def check_link(self, link: str) -> None:
        """
        Refuse a link that there is not.

        :param link: its name.
        :raises UnknownLinkError: there is no such link.
        :raises ArgumentError: there is no arm yet.
        """
        if self._arm is None:
            raise ArgumentError('link_name', 'cannot be looked up, as there is no robot yet')
        if not self._arm.has_link(link):
            raise UnknownLinkError(link, self._arm.robot.links)

    def check_name(self, name: str) -> None:
        """
        Refuse a name of an object that is that of a link.

        :param name: the name.
        :raises ArgumentError: it is the name of a link.
        """
        if self._arm is not None and self._arm.has_link(name):
            raise ArgumentError('id', 'is the name of a link of the robot')

    def _between(self, link: str, other: str) -> np.ndarray:
        """Return (4, 4) T_link_other, without rounding where the two are one rigid body."""
        assert self._arm is not None
        frames = self._arm.link_frames
        fixed = frames.beside(link).get(other)
        if fixed is not None:
            return fixed
        T_root_link = frames.root_from_link(link, self._posture)
        return inverse_transform(T_root_link) @ frames.root_from_link(other, self._posture)
