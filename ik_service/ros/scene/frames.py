"""Frames besides the links of the robot: registered ones, those of virtual joints and of tf."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
import threading

import numpy as np

from ik_service.arm.arm import Arm
from ik_service.common.quoting import quote
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
    Frames besides the links of the robot: registered ones and those of tf. Thread-safe.

    :param tf: looks up frames in tf; None without tf.
    :ivar fixed: (4, 4) T_root_frame [m] of frames that count where tf knows none of that name; may
        be replaced at any time.
    """

    def __init__(self, tf: TfLookup | None = None) -> None:
        self._tf = tf
        self._lock = threading.Lock()
        self._registered: Mapping[str, tuple[str, np.ndarray]] = {}
        self.fixed: Mapping[str, np.ndarray] = {}

    def draft(self) -> DraftFrames:
        """Return a copy whose changes do not count here."""
        return DraftFrames(self._tf, self._registered, self.fixed)

    def register(self, name: str, parent: str, T_parent_frame: np.ndarray) -> None:
        """
        Register a frame; an old one of the name goes.

        :param name: its name; a link of that name hides it.
        :param parent: its parent: a link, another frame, or empty for the root link.
        :param T_parent_frame: (4, 4) its pose in the parent's frame [m].
        :raises ArgumentError: the name is empty or too long, the frame would be above itself, the
            matrix is not finite, or there are :data:`MOST_REGISTERED` already.
        """
        self.update({name: (parent, T_parent_frame)})

    def update(
        self, added: Mapping[str, tuple[str, np.ndarray]], removed: Iterable[str] = ()
    ) -> None:
        """
        Register frames, such as those of an object of the world, and remove others; or neither.

        :param added: parent and (4, 4) pose by name, as for :meth:`register`, each parent before
            its children.
        :param removed: names of frames that go before that, if they are there.
        :raises ArgumentError: as :meth:`register` does; then nothing has changed.
        """
        with self._lock:
            frames = dict(self._registered)
            for name in removed:
                frames.pop(name, None)
            for name, (parent, T_parent_frame) in added.items():
                frames[name] = _checked(frames, name, parent.lstrip('/'), T_parent_frame)
            if len(frames) > max(MOST_REGISTERED, len(self._registered)):
                raise ArgumentError('name', f'{MOST_REGISTERED} frames are registered already')
            self._registered = frames

    def remove(self, name: str) -> None:
        """Remove a registered frame, if it is there."""
        self.update({}, [name])

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
        """Locate a frame that is neither a link nor registered."""
        fixed = self.fixed.get(frame)
        if fixed is None and frame in virtual_frames(arm.robot):
            fixed = np.eye(4)
        if self._tf is None or len(frame) > _LONGEST_FRAME:
            if fixed is not None:
                return arm.root_link, fixed
            hint = 'tf is not in use' if self._tf is None else 'that is not a valid frame name'
            raise _no_frame(arm, frame, hint)
        links = (arm.root_link, *(link for link in arm.robot.links if link != arm.root_link))
        try:
            return self._tf(links, frame)
        except NoTransformError as error:
            if fixed is not None:
                return arm.root_link, fixed
            reason = f'tf has no transform from {arm.root_link!r}: {error.reason}'
            raise _no_frame(arm, frame, reason) from error


class DraftFrames(Frames):
    """
    Frames under change by one thread, which are thrown away afterwards.

    :param tf: looks up frames in tf; None without tf.
    :param registered: parent and (4, 4) pose by name.
    :param fixed: (4, 4) T_root_frame [m] of fixed frames.
    """

    def __init__(
        self,
        tf: TfLookup | None,
        registered: Mapping[str, tuple[str, np.ndarray]],
        fixed: Mapping[str, np.ndarray],
    ) -> None:
        super().__init__(tf)
        self._open = dict(registered)
        self._registered, self.fixed = self._open, fixed

    def update(
        self, added: Mapping[str, tuple[str, np.ndarray]], removed: Iterable[str] = ()
    ) -> None:
        """Register frames and remove others, without a copy of all."""
        for name in removed:
            self._open.pop(name, None)
        for name, (parent, T_parent_frame) in added.items():
            self._open[name] = _checked(self._open, name, parent.lstrip('/'), T_parent_frame)


def _checked(
    frames: Mapping[str, tuple[str, np.ndarray]], name: str, parent: str, T: np.ndarray
) -> tuple[str, np.ndarray]:
    """Return parent and pose of a new frame."""
    T_parent_frame = np.array(T, dtype=np.float64)
    if not 0 < len(name) <= _LONGEST_FRAME or name.startswith('/'):
        raise ArgumentError('name', f'{quote(name)} is not a valid frame name')
    if T_parent_frame.shape != (4, 4) or not np.isfinite(T_parent_frame).all():
        raise ArgumentError('T_parent_frame', 'has to be a finite (4, 4) matrix')
    T_parent_frame.setflags(write=False)
    at = parent
    while at in frames and at != name:
        at = frames[at][0]
    if at == name:
        raise ArgumentError('parent', f'frame {quote(name)} would lie above itself')
    return parent, T_parent_frame


def _no_frame(arm: Arm, frame: str, reason: str) -> RequestError:
    return RequestError(
        ErrorCode.FRAME_TRANSFORM_FAILURE,
        f'frame {quote(frame)} is no link of {arm.robot.name!r}, and {reason}',
    )
