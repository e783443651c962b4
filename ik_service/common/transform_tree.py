"""Tree of named frames with the newest transform of each, as the messages of tf bring them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
import math
import threading

import numpy as np

from ik_service.common.quaternions import (
    normalized_quaternion,
    transform_from_xyz_quaternion_xyzw,
    UNIT_TOLERANCE,
)
from ik_service.common.quoting import quote
from ik_service.common.transforms import inverse_transform
from ik_service.exceptions import ArgumentError, NoTransformError

MOST_FRAMES = 10_000
"""Static and moving frames that are kept; of more, those longest without news are dropped."""

DEEPEST = 1000  # frames above each other that are followed, as in tf2
LONGEST_NAME = 1000  # characters of a frame's name, at most

_CLOCK_STEP = 100_000_000  # how far a stamp may be ahead before its clock was set back [ns]

Pose = tuple[float, float, float, float, float, float, float]
"""Position x, y, z [m], then the quaternion x, y, z, w."""


@dataclass(frozen=True)
class _Edge:
    """
    Newest transform of a frame: its parent, T_parent_child as a pose, stamp [ns] or None.

    :ivar since: from when its age counts [ns]: its stamp, or its arrival if that is earlier.
    """

    parent: str
    pose: Pose
    stamp: int | None
    since: int | None


class TransformTree:
    """
    Newest transform of each frame to its parent. Safe to share between threads.

    There is no history and no interpolation: a look-up returns the latest. Static transforms
    never grow old. A frame may change its parent.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._static: dict[str, _Edge] = {}
        self._moving: dict[str, _Edge] = {}  # the one that waits longest for news comes first
        self._named: Counter[str] = Counter()  # how many transforms name a frame

    def set_static(self, parent: str, child: str, pose: Pose) -> None:
        """
        Set a transform that does not change.

        :param parent: name of the parent frame; the leading slash of ROS 1 is left out.
        :param child: name of the frame.
        :param pose: the pose of the child in the parent's frame.
        :raises ArgumentError: a name is empty or too long, both are the same, there are
            :data:`MOST_FRAMES` already, or the pose is none.
        """
        parent, child = _names(parent, child)
        edge = _Edge(parent, _checked(pose, child), None, None)
        with self._lock:
            if child not in self._static and len(self._static) >= MOST_FRAMES:
                raise ArgumentError(
                    'transform', f'of frame {quote(child)}: {MOST_FRAMES} are kept already'
                )
            self._forget(child)
            self._static[child] = edge
            self._named.update((edge.parent, child))

    def set_moving(self, parent: str, child: str, pose: Pose, stamp: int, now: int) -> None:
        """
        Set a transform that changes with time; one that is older than the one known is ignored.

        :param parent: name of the parent frame; the leading slash of ROS 1 is left out.
        :param child: name of the frame.
        :param pose: the pose of the child in the parent's frame.
        :param stamp: its time [ns]; without one (0) it counts from its arrival.
        :param now: time of its arrival on the same clock [ns].
        :raises ArgumentError: as for :meth:`set_static`.
        """
        parent, child = _names(parent, child)
        stamp = stamp if stamp > 0 else now
        edge = _Edge(parent, _checked(pose, child), stamp, min(stamp, now))
        with self._lock:
            known = self._moving.get(child)
            if known is not None and _is_older(stamp, known.stamp or 0, now):
                return
            self._forget(child)
            if len(self._moving) >= MOST_FRAMES:
                self._forget(next(iter(self._moving)))
            self._moving[child] = edge
            self._named.update((edge.parent, child))

    def look_up(self, target: str, source: str) -> tuple[np.ndarray, int | None]:
        """
        Return the pose of one frame in another.

        :param target: the frame in which the pose is wanted.
        :param source: the frame whose pose is wanted.
        :returns: (4, 4) T_target_source [m], and the stamp [ns] of the oldest transform on the
            path, where one from the future counts from its arrival; None when all are static.
        :raises NoTransformError: a frame is unknown, nothing connects them, or they lie on a
            circle.
        """
        with self._lock:
            if target == source:
                return np.eye(4), None
            above_target, above_source = self._path_to_root(target), self._path_to_root(source)
        ends = [target, *(edge.parent for edge in above_target)]
        starts = [source, *(edge.parent for edge in above_source)]
        height = {frame: i for i, frame in enumerate(ends)}
        shared = next((i for i, frame in enumerate(starts) if frame in height), None)
        if shared is None:
            raise NoTransformError(target, source, self._why_not(target, source))
        down, up = above_target[: height[starts[shared]]], above_source[:shared]
        stamps = [edge.since for edge in (*up, *down) if edge.since is not None]
        T = inverse_transform(_product(down)) @ _product(up)
        return T, min(stamps) if stamps else None

    def knows(self, frame: str) -> bool:
        """Return whether any transform names a frame."""
        return frame in self._named

    def _forget(self, child: str) -> None:
        edge = self._static.pop(child, None) or self._moving.pop(child, None)
        if edge is None:
            return
        for name in (child, edge.parent):
            self._named[name] -= 1
            if not self._named[name]:
                del self._named[name]

    def _path_to_root(self, frame: str) -> list[_Edge]:
        """Return the edges from a frame up to the root of its tree."""
        edges: list[_Edge] = []
        seen = {frame}
        at = frame
        while (edge := self._static.get(at) or self._moving.get(at)) is not None:
            edges.append(edge)
            at = edge.parent
            if len(edges) > DEEPEST:
                reason = f'more than {DEEPEST} frames lie above {quote(frame)}'
                raise NoTransformError(frame, at, reason)
            if at in seen:
                raise NoTransformError(frame, at, f'the frames above {quote(at)} form a circle')
            seen.add(at)
        return edges

    def _why_not(self, target: str, source: str) -> str:
        unknown = [quote(frame) for frame in (source, target) if not self.knows(frame)]
        if unknown:
            return f'no transform names {" or ".join(unknown)}'
        return f'nothing connects {quote(source)} with {quote(target)}'


def _is_older(stamp: int, known: int, now: int) -> bool:
    # One from the future is not kept: its clock was set, or a simulation has begun again.
    return stamp < known and not (known > now + _CLOCK_STEP >= stamp)


def _names(parent: str, child: str) -> tuple[str, str]:
    parent, child = parent.lstrip('/'), child.lstrip('/')
    for name, what in ((parent, 'frame_id'), (child, 'child_frame_id')):
        if not name or len(name) > LONGEST_NAME:
            raise ArgumentError(what, f'{quote(name)} is not a valid frame name')
    if parent == child:
        raise ArgumentError('child_frame_id', f'frame {quote(child)} is its own parent')
    return parent, child


def _checked(pose: Pose, child: str) -> Pose:
    """Return a pose with a unit quaternion."""
    if not all(map(math.isfinite, pose)):
        raise ArgumentError('transform', f'of frame {quote(child)} is not finite')
    quaternion, norm = normalized_quaternion(pose[3:])
    if not abs(norm - 1.0) <= UNIT_TOLERANCE:
        raise ArgumentError(
            'transform', f'of frame {quote(child)} has a quaternion of norm {norm:.6g}, not 1'
        )
    return (*pose[:3], *quaternion)


def _product(edges: list[_Edge]) -> np.ndarray:
    """Return the pose (4, 4) of the lowest frame of a path up in the highest one."""
    T = np.eye(4)
    for edge in edges:
        T = transform_from_xyz_quaternion_xyzw(*edge.pose) @ T
    return T
