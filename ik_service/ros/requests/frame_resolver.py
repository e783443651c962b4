"""
Poses in the frames that a request names.

A link as a frame is where the arm is measured to be, as in MoveIt, and not where the seed of a
request puts it: T_root_target comes from the frame at the measured posture, and then T_base_target
from the base at the seed's posture, as the base of a chain may lie behind joints that the seed
sets.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ik_service.arm.measured_state import MeasuredState
from ik_service.common.quoting import quote
from ik_service.common.transforms import inverse_transform
from ik_service.ros.scene.frames import Frames, NOT_GIVEN


class FrameResolver:
    """
    Poses in the frames that one request names. Cheap to make.

    :param seed: (m,) full posture that the request starts from [rad] or [m], with its mimic
        joints where they belong.
    :param virtual: as for :meth:`Frames.locate`.
    :ivar notes: remarks for the client about frames that are not measured.
    """

    def __init__(
        self,
        measured: MeasuredState,
        seed: np.ndarray,
        frames: Frames,
        virtual: Mapping[str, np.ndarray] = NOT_GIVEN,
    ) -> None:
        self.notes: list[str] = []
        self._measured = measured
        self._arm = measured.arm
        self._seed = seed
        self._frames = frames
        self._virtual = virtual
        self._posture: np.ndarray | None = None

    def in_base(self, base_link: str, frame_id: str, T: np.ndarray) -> np.ndarray:
        """
        Return a pose that is given in some frame in the frame of a base link.

        :param frame_id: empty for the robot's root link; a link; a registered frame, that of a
            virtual joint or of tf. The leading slash that frames had in ROS 1 is left out.
        :param T: (4, 4) T_frame_pose [m].
        :returns: (4, 4) T_base_pose [m].
        :raises RequestError: FRAME_TRANSFORM_FAILURE, naming the frame.
        """
        T_base_frame = self.base_from_frame(base_link, frame_id)
        return T if T_base_frame is None else T_base_frame @ T

    def base_from_frame(self, base_link: str, frame_id: str) -> np.ndarray | None:
        """
        Return the pose of a frame in the frame of a base link.

        :param base_link: the base link of the chain; this and the frame as for :meth:`in_base`.
        :returns: (4, 4) T_base_frame [m]; None for the base itself.
        :raises RequestError: FRAME_TRANSFORM_FAILURE, naming the frame.
        """
        links = self._arm.link_frames
        frame = frame_id.lstrip('/') or self._arm.root_link
        fixed = links.beside(base_link).get(frame)
        if fixed is not None and (
            links.stands_still(base_link) or self._stands_as_measured(base_link)
        ):
            return None if frame == base_link else fixed
        T_root_base = links.root_from_link(base_link, self._seed)
        return inverse_transform(T_root_base) @ self._root_from_frame(frame)

    def frame_from_root(self, frame_id: str) -> np.ndarray:
        """
        Return the pose of the robot's root link in some frame.

        :param frame_id: the frame, as for :meth:`in_base`.
        :returns: (4, 4) T_frame_root [m].
        :raises RequestError: FRAME_TRANSFORM_FAILURE, naming the frame.
        """
        return inverse_transform(self._root_from_frame(frame_id.lstrip('/')))

    def _root_from_frame(self, frame: str) -> np.ndarray:
        link, T_link_frame = self._frames.locate(self._arm, frame, self._virtual)
        moving = self._arm.link_frames.moving(link)
        if len(self._measured.unmeasured(moving)):
            note = f'frame {quote(frame)} is where the request puts it, as it is not measured'
            if note not in self.notes:
                self.notes.append(note)
        return self._arm.link_frames.root_from_link(link, self._frame_posture()) @ T_link_frame

    def _stands_as_measured(self, base_link: str) -> bool:
        """Return whether the seed leaves the base link where it is measured to be."""
        above = self._arm.link_frames.moving(base_link)
        return np.array_equal(self._frame_posture()[above], self._seed[above])

    def _frame_posture(self) -> np.ndarray:
        """Return the measured full posture, in which joints not measured are those of the seed."""
        if self._posture is None:
            posture = self._measured.posture()
            missing = self._measured.unmeasured(np.arange(len(posture)))
            posture[missing] = self._seed[missing]
            self._posture = self._arm.postures.complete(posture)
        return self._posture
