"""Publication of the markers of the arm's motion, whenever one of them has changed."""

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

from ik_service.common.periodic_calls import PeriodicCalls
from ik_service.common.periodic_thread import periodic_call
from ik_service.ros.common.qos import MARKERS_QOS
from ik_service.ros.following.follower_interface import FollowerInterface
from ik_service.ros.markers.arm_markers import marker_array, MarkerScene, no_markers
from ik_service.ros.markers.marker_messages import point
from ik_service.solvers.result import IkResult

TRAIL_LENGTH = 400
"""Largest number of points of the trail."""

_RATE = 25.0  # of the checks whether something has changed [Hz]
_SPACING = 0.004  # of the trail's points, as a share of the arm's size
_TOPIC = 'markers'


class ArmMarkerPublisher:
    """
    Publisher of ``markers`` while it is switched on.

    It checks for changes in a thread: a check takes less time than what an executor does about a
    timer.

    :param node: the node that publishes.
    :param following: returns the follower in use; None before there is one.
    :param on_error: called with what a check raised; the next one comes all the same.
    :param checks: thread that checks for several nodes; None for one of its own.
    """

    def __init__(
        self,
        node: Node,
        following: Callable[[], FollowerInterface | None],
        on_error: Callable[[Exception], None],
        checks: PeriodicCalls | None = None,
    ) -> None:
        self._node = node
        self._checks = checks
        self._following = following
        self._publisher: Publisher | None = None
        self._shown: FollowerInterface | None = None
        self._subscribers = 0
        self._on = False
        self._on_error = on_error
        self._checking = ExitStack()

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
            checking = periodic_call(self._checks, self._check, _RATE, self._on_error)
            self._checking.enter_context(checking)
            return
        self._checking.close()
        if self._shown is not None and self._publisher is not None:
            frame = self._shown.measured.arm.chain.base_link
            self._publisher.publish(no_markers(frame, self._now()))

    def _check(self, _now: float) -> None:
        """Publish when something has changed, or there is a new subscriber."""
        following, publisher = self._following(), self._publisher
        if following is None or publisher is None:
            return
        if following is not self._shown:
            self._begin(following)
        changed = self._update(following)
        subscribers = publisher.get_subscription_count()
        if subscribers and (changed or subscribers > self._subscribers):
            publisher.publish(marker_array(self._scene(following), self._now()))
        self._subscribers = subscribers

    def _begin(self, following: FollowerInterface) -> None:
        """Start with an arm whose markers have not been published."""
        self._shown = following
        self._subscribers = 0
        self._target: tuple[np.ndarray, IkResult] | None = None
        self._trail = Trail(_SPACING * _scene(following).size)

    def _update(self, following: FollowerInterface) -> bool:
        """Read the arm and its target; return whether something has changed."""
        target = following.follower.target
        before, self._target = self._target, target
        moved = False
        joints = following.measured.joints()
        if joints is not None:
            moved = self._trail.add(following.measured.arm.chain.forward(joints[0])[:3, 3])
        if target is None or before is None:
            return moved or target is not before
        return moved or any(old is not new for old, new in zip(before, target, strict=True))

    def _scene(self, following: FollowerInterface) -> MarkerScene:
        scene = replace(_scene(following), trail=self._trail.points)
        if self._target is None:
            return scene
        T_base_target, result = self._target
        chain = following.measured.arm.chain
        nearest = None if result.success else chain.forward(result.q)
        return replace(scene, target=T_base_target, nearest=nearest)

    def _now(self) -> Time:
        return self._node.get_clock().now().to_msg()


def _scene(following: FollowerInterface) -> MarkerScene:
    """Return the scene of an arm without a target or a trail."""
    chain = following.measured.arm.chain
    return MarkerScene(chain.base_link, chain.arrays.reach)


class Trail:
    """
    Trail of past positions of the tip.

    :param spacing: distance between two of its points [m].
    :ivar points: the positions, the oldest first; at most :data:`TRAIL_LENGTH`.
    """

    def __init__(self, spacing: float) -> None:
        self.points: deque[Point] = deque(maxlen=TRAIL_LENGTH)
        self._spacing = spacing
        self._newest: np.ndarray | None = None

    def add(self, position: np.ndarray) -> bool:
        """
        Add a position of the tip, unless it is too near to the last one.

        :param position: (3,) [m].
        :returns: whether it was added.
        """
        if self._newest is not None:
            step = position - self._newest
            if step @ step < self._spacing * self._spacing:
                return False
        self._newest = position.copy()
        self.points.append(point(position))
        return True
