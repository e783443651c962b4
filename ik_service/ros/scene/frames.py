"""Frames besides the links of the robot: registered ones, those of virtual joints and of tf."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from ik_service.arm.arm import Arm
from ik_service.common.quoting import meant, quote
from ik_service.common.transforms import inverse_transform
from ik_service.exceptions import ArgumentError, NoTransformError
from ik_service.ros.common.errors import ErrorCode, RequestError
from ik_service.ros.scene.robot_states import virtual_frames

TfLookup = Callable[[Sequence[str], str], tuple[str, np.ndarray]]
"""
Of the robot's links, root first, and a frame: a link and (4, 4) T_link_frame, as tf knows it now.

Raises :class:`~ik_service.exceptions.NoTransformError` where tf knows no transform between them.
"""

MOST_REGISTERED = 20_000  # frames that may be registered

_LONGEST_FRAME = 1000  # characters of a frame that is looked up
NOT_GIVEN: Mapping[str, np.ndarray] = {}  # no positions of virtual joints


class Frames:
    """
    Frames besides the links of the robot: registered ones and those of tf.

    Any thread may look them up. Changes are made to a :meth:`draft`, by one thread, and count from
    :meth:`take` on.

    :param tf: looks up frames in tf; None without tf.
    :ivar fixed: (4, 4) T_root_frame [m] of frames that count where tf knows none of that name.
    """

    def __init__(self, tf: TfLookup | None = None) -> None:
        self._tf = tf
        self._registered: dict[str, tuple[str, np.ndarray]] = {}
        self.fixed: Mapping[str, np.ndarray] = {}

    def draft(self) -> Frames:
        """Return a copy whose changes do not count here."""
        draft = Frames(self._tf)
        draft._registered, draft.fixed = dict(self._registered), self.fixed
        return draft

    def take(self, draft: Frames) -> None:
        """Take the frames of a draft; raises ArgumentError for more than there may be."""
        if len(draft._registered) > max(MOST_REGISTERED, len(self._registered)):
            raise ArgumentError('name', f'{MOST_REGISTERED} frames are registered already')
        self._registered, self.fixed = draft._registered, draft.fixed

    def update(
        self, added: Mapping[str, tuple[str, np.ndarray]], removed: Iterable[str] = ()
    ) -> None:
        """
        Register frames of a draft, such as those of an object of the world, and remove others.

        :param added: parent (a link, another frame, or empty for the root link) and (4, 4) pose
            there [m], by name; a link of that name hides the frame.
        :param removed: names of frames that go before that, if they are there.
        :raises ArgumentError: a name is empty or too long, a frame would be above itself, or a
            matrix is not finite; the draft is of no use then.
        """
        for name in removed:
            self._registered.pop(name, None)
        for name, (parent, T_parent_frame) in added.items():
            frames, T, at = self._registered, np.array(T_parent_frame, float), parent.lstrip('/')
            if not 0 < len(name) <= _LONGEST_FRAME or name.startswith('/'):
                raise ArgumentError('name', f'{quote(name)} is not a valid frame name')
            if T.shape != (4, 4) or not np.isfinite(T).all():
                raise ArgumentError('T_parent_frame', 'has to be a finite (4, 4) matrix')
            T.setflags(write=False)
            above = at
            while above in frames and above != name:
                above = frames[above][0]
            if above == name:
                raise ArgumentError('parent', f'frame {quote(name)} would lie above itself')
            frames[name] = at, T

    def foot(self, arm: Arm, frame: str) -> tuple[str, np.ndarray]:
        """
        Return the last ancestor of a frame: a link, or a frame that is not registered.

        :param frame: name of the frame without a leading slash; empty for the root link.
        :returns: the link or frame, and (4, 4) T_foot_frame [m].
        """
        T_above_frame = np.eye(4)
        registered, at = self._registered, frame or arm.root_link
        while not arm.has_link(at) and at in registered:
            at, T_parent_above = registered[at]
            T_above_frame = T_parent_above @ T_above_frame
            at = at or arm.root_link
        return at, T_above_frame

    def locate(
        self, arm: Arm, frame: str, virtual: Mapping[str, np.ndarray] = NOT_GIVEN
    ) -> tuple[str, np.ndarray]:
        """
        Return the pose of a frame relative to a link of the robot.

        :param frame: name of the frame without a leading slash; empty for the root link.
        :param virtual: (4, 4) T_frame_root [m] by the parent frames of virtual joints whose
            positions a request gives; another one's are those of tf, or else the identity.
        :returns: a link, and (4, 4) T_link_frame [m].
        :raises RequestError: FRAME_TRANSFORM_FAILURE, naming the frame.
        """
        foot, T_foot_frame = self.foot(arm, frame)
        if arm.has_link(foot):
            return foot, T_foot_frame
        if foot in virtual:
            return arm.root_link, inverse_transform(virtual[foot]) @ T_foot_frame
        link, T_link_foot = self._beyond(arm, foot)
        return link, T_link_foot @ T_foot_frame

    def _beyond(self, arm: Arm, frame: str) -> tuple[str, np.ndarray]:
        fixed = self.fixed.get(frame)
        if fixed is None and frame in virtual_frames(arm.robot):
            fixed = np.eye(4)
        if self._tf is None or len(frame) > _LONGEST_FRAME:
            if fixed is not None:
                return arm.root_link, fixed
            hint = 'tf is not in use' if self._tf is None else 'that is not a valid frame name'
            raise self._no_frame(arm, frame, hint)
        links = (arm.root_link, *(link for link in arm.robot.links if link != arm.root_link))
        try:
            return self._tf(links, frame)
        except NoTransformError as error:
            if fixed is not None:
                return arm.root_link, fixed
            reason = f'tf has no transform from {arm.root_link!r}: {error.reason}'
            raise self._no_frame(arm, frame, reason) from error

    def _no_frame(self, arm: Arm, frame: str, reason: str) -> RequestError:
        is_no_link = f'frame {quote(frame)} is no link of {arm.robot.name!r}'
        return RequestError(
            ErrorCode.FRAME_TRANSFORM_FAILURE,
            f'{is_no_link}{meant(frame, [*arm.robot.links, *self._registered])}, and {reason}',
        )
