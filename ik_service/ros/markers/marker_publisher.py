"""Publishing the markers of what the arm is doing, when something of it has changed."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace

from builtin_interfaces.msg import Time
from geometry_msgs.msg import Point
import numpy as np
from rclpy.node import Node
from rclpy.publisher import Publisher
from visualization_msgs.msg import MarkerArray

from ik_service.common.ticker import Ticker
from ik_service.ros.common.qos import MARKERS_QOS
from ik_service.ros.following.following import Following
from ik_service.ros.markers.arm_markers import marker_array, no_markers, point, Scene
from ik_service.solvers.result import IkResult

TRAIL_LENGTH = 400
"""Points of the trail, at most."""

_RATE = 25.0  # how often to look whether something has changed [Hz]
_SPACING = 0.004  # of the trail's points, of the size of the arm
_TOPIC = 'markers'


class MarkerPublisher:
    """
    Publishes ``markers`` while it is switched on.

    It looks in a thread of its own whether there is news: a look takes less time than what an
    executor does about a timer.

    :param node: the node that publishes.
    :param following: returns the arm in use; None before there is one.
    :param on_error: told of what a look raised; the next one comes all the same.
    """

    def __init__(
        self,
        node: Node,
        following: Callable[[], Following | None],
        on_error: Callable[[Exception], None],
    ) -> None:
        self._node = node
        self._following = following
        self._publisher: Publisher | None = None
        self._shown: Following | None = None
        self._subscribers = 0
        self._on = False
        self._on_error = on_error
        self._looking = ExitStack()

    def switch(self, on: bool) -> None:
        """
        Begin or end publishing; the markers are deleted at the end.

        :param on: whether to publish.
        """
        if on == self._on:
            return
        self._on = on
        if on:
            if self._publisher is None:
                self._publisher = self._node.create_publisher(MarkerArray, _TOPIC, MARKERS_QOS)
            self._shown = None
            self._subscribers = 0
            self._looking.enter_context(Ticker(self._look, _RATE, self._on_error))
            return
        self._looking.close()
        if self._shown is not None:
            frame = self._shown.measured.arm.chain.base_link
            self._publisher.publish(no_markers(frame, self._now()))

    def _look(self, _now: float) -> None:
        """Publish when there is news, or somebody who has not got it yet."""
        following = self._following()
        if following is None:
            return
        if following is not self._shown:
            self._begin(following)
        news = self._take_in(following)
        subscribers = self._publisher.get_subscription_count()
        if subscribers and (news or subscribers > self._subscribers):
            self._publisher.publish(marker_array(self._scene(following), self._now()))
        self._subscribers = subscribers

    def _begin(self, following: Following) -> None:
        """Start with an arm whose markers nobody has."""
        self._shown = following
        self._subscribers = 0
        self._target: tuple[np.ndarray, IkResult] | None = None
        self._trail = Trail(_SPACING * _scene(following).size)

    def _take_in(self, following: Following) -> bool:
        """Look at the arm and its target; return whether something is new."""
        target = following.follower.target
        before, self._target = self._target, target
        moved = False
        joints = following.measured.joints()
        if joints is not None:
            moved = self._trail.add(following.measured.arm.chain.forward(joints[0])[:3, 3])
        if target is None or before is None:
            return moved or target is not before
        return moved or any(old is not new for old, new in zip(before, target, strict=True))

    def _scene(self, following: Following) -> Scene:
        scene = replace(_scene(following), trail=self._trail.points)
        if self._target is None:
            return scene
        T_base_target, result = self._target
        chain = following.measured.arm.chain
        nearest = None if result.success else chain.forward(result.q)
        return replace(scene, target=T_base_target, nearest=nearest)

    def _now(self) -> Time:
        return self._node.get_clock().now().to_msg()


def _scene(following: Following) -> Scene:
    """Return what is there without any motion."""
    chain = following.measured.arm.chain
    return Scene(chain.base_link, chain.arrays.reach)


class Trail:
    """
    Where the tip has been.

    :param spacing: distance from the newest point at which there is another one [m].
    :ivar points: the positions, the oldest first; at most :data:`TRAIL_LENGTH`.
    """

    def __init__(self, spacing: float) -> None:
        self.points: deque[Point] = deque(maxlen=TRAIL_LENGTH)
        self._spacing = spacing
        self._newest: np.ndarray | None = None

    def add(self, position: np.ndarray) -> bool:
        """
        Take in where the tip is.

        :param position: (3,) [m].
        :returns: whether that makes another point.
        """
        if self._newest is not None:
            step = position - self._newest
            if step @ step < self._spacing * self._spacing:
                return False
        self._newest = position.copy()
        self.points.append(point(position))
        return True
