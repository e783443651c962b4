"""Frames of tf: through tf2_ros where it is installed, else from /tf and /tf_static directly."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
import importlib
import importlib.util
import math
from typing import Any, Protocol

import numpy as np
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

from ik_service.common.fault_logger import FaultLogger
from ik_service.common.quoting import quote, truncate
from ik_service.common.transform_tree import TransformTree
from ik_service.exceptions import ArgumentError, NoTransformError
from ik_service.ros.common.conversions import matrix_from_transform
from ik_service.ros.common.errors import ErrorCode, RequestError

DEFAULT_TIMEOUT = 1.0  # age beyond which a transform is not used [s]

# Best effort, which receives from publishers of either kind.
_TF_QOS = QoSProfile(depth=100, reliability=ReliabilityPolicy.BEST_EFFORT)
TF_STATIC_QOS = QoSProfile(
    depth=100, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL
)
"""Of ``/tf_static``: late subscribers get earlier messages."""

_MOST_LINKS = 1000  # of the robot, from which a transform to a frame is searched
_MOST_AHEAD = 1000  # transforms from the future that are remembered


class TransformSource(Protocol):
    """Source of the latest transforms."""

    def look_up(self, target: str, source: str) -> tuple[np.ndarray, int | None]:
        """
        Return T_target_source (4, 4) [m] and the stamp [ns] of the oldest transform in the chain.

        :param target: the frame in which the pose is wanted.
        :param source: the frame whose pose is wanted.
        :returns: a stamp of None when all transforms are static.
        :raises NoTransformError: nothing connects the frames.
        """
        ...


class TfFrames:
    """
    Lookup of frames that transforms connect with some link of a robot.

    :param now: returns the node's time [ns], which may be simulated.
    :param timeout: returns the age beyond which a transform is not used [s]; 0: none is too old.
    """

    def __init__(
        self,
        source: TransformSource,
        now: Callable[[], int],
        timeout: Callable[[], float] = lambda: DEFAULT_TIMEOUT,
    ) -> None:
        self._timeout = timeout
        self._source = source
        self._now = now
        self._ahead: dict[tuple[str, int], int] = {}  # frames and stamps, and when seen first

    def __call__(self, links: Sequence[str], frame: str) -> tuple[str, np.ndarray]:
        """
        Return the pose of a frame relative to a link of the robot.

        The root link is asked for first. If it has no transform to the frame, or only one that is
        too old, the other links are, such as the hand that carries a camera: the freshest counts.

        :returns: a link, and (4, 4) T_link_frame [m].
        :raises NoTransformError: no transforms connect the frame with the robot.
        :raises RequestError: FRAME_TRANSFORM_FAILURE, when they do, but are too old.
        """
        best: tuple[str, np.ndarray] | None = None
        youngest = math.inf
        failure: NoTransformError | None = None
        timeout = self._timeout() or math.inf
        for link in links[:_MOST_LINKS]:
            try:
                T, stamp = self._source.look_up(link, frame)
            except NoTransformError as error:
                failure = failure or error
                continue
            age = 0.0 if stamp is None else self._age(frame, stamp)
            if age <= timeout:
                return link, T
            if age < youngest:
                youngest, best = age, (link, T)
        if best is None:
            raise failure or NoTransformError('', frame, 'the robot has no link')
        raise RequestError(
            ErrorCode.FRAME_TRANSFORM_FAILURE,
            f'the transform between frame {quote(frame)} and link {quote(best[0])} is '
            f'{youngest:.2f} s old, more than the {timeout:g} s of tf_timeout',
        )

    def _age(self, frame: str, stamp: int) -> float:
        """Return the age of a transform [s]; that of one from the future since it was seen."""
        now = self._now()
        if stamp <= now:
            return 1e-9 * (now - stamp)
        if len(self._ahead) >= _MOST_AHEAD and (frame, stamp) not in self._ahead:
            self._ahead.clear()
        return 1e-9 * (now - self._ahead.setdefault((frame, stamp), now))


def tf_frames(
    node: Node,
    timeout: Callable[[], float] = lambda: DEFAULT_TIMEOUT,
    source: TransformSource | None = None,
) -> TfFrames | None:
    """
    Listen to tf, and return a look-up of its frames.

    :param timeout: as for :class:`TfFrames`.
    :param source: transforms that somebody else listens for; None to listen here.
    :returns: the lookup; None where neither tf2_ros nor tf2_msgs is installed.
    """
    source = source or transform_source(node)
    if source is None:
        return None
    return TfFrames(source, lambda: node.get_clock().now().nanoseconds, timeout)


def transform_source(node: Node) -> TransformSource | None:
    """Listen to tf for several nodes; return None where tf2_ros or tf2_msgs is missing."""
    if importlib.util.find_spec('tf2_ros') is not None:
        return _Tf2Source(node)
    message = tf_message()
    return None if message is None else _TopicSource(node, message)


def tf_message() -> type | None:
    """Return the type of the messages of tf; None where it is not installed."""
    try:
        # A folder of that name, such as its sources, can be imported too, but holds no type.
        return getattr(importlib.import_module('tf2_msgs.msg'), 'TFMessage', None)
    except ImportError:
        return None


class _Tf2Source:
    """Transforms of tf2_ros."""

    def __init__(self, node: Node) -> None:
        self._tf2_ros = importlib.import_module('tf2_ros')
        self._newest = importlib.import_module('rclpy.time').Time()
        self._listener = self._tf2_ros.TransformListener(
            self._tf2_ros.Buffer(), node, spin_thread=False
        )

    def look_up(self, target: str, source: str) -> tuple[np.ndarray, int | None]:
        try:
            # The newest transform, and no waiting: a wait would block the callback.
            found = self._listener.buffer.lookup_transform(target, source, self._newest)
        except (self._tf2_ros.TransformException, ValueError) as error:
            raise NoTransformError(target, source, truncate(str(error))) from error
        stamp = found.header.stamp.sec * 1_000_000_000 + found.header.stamp.nanosec
        T = matrix_from_transform(found.transform, f'tf {target} <- {source}')
        return T, stamp or None  # tf stamps purely static transforms with 0


class _TopicSource(TransformTree):
    """Transforms of the topics of tf."""

    def __init__(self, node: Node, message: type) -> None:
        super().__init__()
        self._clock = node.get_clock()
        self._faults = FaultLogger(lambda text: node.get_logger().warning(text))
        group = MutuallyExclusiveCallbackGroup()  # no solve may hold transforms up
        for topic, static, qos in (('/tf', False, _TF_QOS), ('/tf_static', True, TF_STATIC_QOS)):
            take = partial(self._take, static)
            node.create_subscription(message, topic, take, qos, callback_group=group)

    def _take(self, static: bool, message: Any) -> None:  # noqa: ANN401 - tf2_msgs comes late
        now = self._clock.now().nanoseconds
        for stamped in message.transforms:
            header, child, transform = stamped.header, stamped.child_frame_id, stamped.transform
            at, turn = transform.translation, transform.rotation
            stamp = header.stamp.sec * 1_000_000_000 + header.stamp.nanosec
            pose = (at.x, at.y, at.z, turn.x, turn.y, turn.z, turn.w)
            try:
                if static:
                    self.set_static(header.frame_id, child, pose)
                else:
                    self.set_moving(header.frame_id, child, pose, stamp, now)
            except ArgumentError as error:
                self._faults.report(f'a transform of tf is ignored: {error}')
