"""
Publication of the markers of the arm's motion, whenever one of them has changed.

Every array is complete: it deletes the markers that are absent, so that a viewer that has missed
the arrays before shows the same as all others.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
import math

from builtin_interfaces.msg import Time
from geometry_msgs.msg import Point, Vector3
import numpy as np
from rclpy.node import Node
from rclpy.publisher import Publisher
from std_msgs.msg import Header
from visualization_msgs.msg import Marker, MarkerArray

from ik_service.common.periodic_calls import PeriodicCall, PeriodicCalls
from ik_service.ros.common.conversions import pose_from_matrix
from ik_service.ros.common.publishers import listener_ids
from ik_service.ros.common.qos import MARKERS_QOS
from ik_service.ros.markers.marker_messages import color_message, locked_marker, point
from ik_service.ros.motion.follower_interface import FollowerInterface
from ik_service.solvers.result import IkResult

TARGET, NEAREST, TRAIL, REACH = 'target', 'nearest', 'trail', 'reach'
"""Namespaces of the markers, which viewers show and hide one by one."""

_SMALLEST, _LARGEST = 0.2, 5.0  # sizes of arms between which markers grow with the arm [m]
# Of the size of the arm.
_AXIS = 0.09
_WIDTH = 0.006
_BALL = 0.03
_TRAIL_WIDTH = 0.004

_AXIS_COLORS = ((0.90, 0.15, 0.15), (0.15, 0.75, 0.20), (0.20, 0.40, 0.95))  # of x, y and z
_SHORTFALL = (1.0, 0.60, 0.10)  # colour of markers of a target that is not reached
_TRAIL_COLOR = (0.10, 0.75, 0.95)  # blue
_REACH_COLOR = (0.55, 0.60, 0.70)  # grey


@dataclass(frozen=True)
class MarkerScene:
    """
    Contents of the markers, in the frame of the chain's base.

    :ivar frame_id: name of that frame.
    :ivar reach: (4,) centre and radius of the sphere that the tip cannot leave [m]; its radius
        sets how large all is drawn.
    :ivar target: (4, 4) T_base_target; None when none is followed.
    :ivar nearest: (4, 4) the nearest pose that can be reached; None when that is the target.
    :ivar trail: past positions of the tip, the oldest first [m].
    """

    frame_id: str
    reach: np.ndarray
    target: np.ndarray | None = None
    nearest: np.ndarray | None = None
    trail: Sequence[Point] = ()

    @property
    def size(self) -> float:
        """Size of the arm for drawing [m]; 1 where the reach is unlimited."""
        radius = float(self.reach[3])
        return min(max(radius, _SMALLEST), _LARGEST) if math.isfinite(radius) else 1.0


def marker_array(scene: MarkerScene, stamp: Time) -> MarkerArray:
    """Return the markers of a scene."""
    header = Header(frame_id=scene.frame_id, stamp=stamp)
    markers = [
        *_target(header, scene),
        *_nearest(header, scene),
        _trail(header, scene),
        _reach(header, scene),
    ]
    return MarkerArray(markers=markers)


def no_markers(frame_id: str, stamp: Time) -> MarkerArray:
    """Return an array that deletes all markers, in the frame of the chain's base."""
    array = marker_array(MarkerScene(frame_id, np.zeros(4)), stamp)
    for marker in array.markers:
        marker.action = Marker.DELETE
    return array


def _target(header: Header, scene: MarkerScene) -> list[Marker]:
    axes = locked_marker(header, TARGET, 0, Marker.LINE_LIST)
    if scene.target is None:
        return [_deleted(axes)]
    return [_as_axes(axes, scene.target, scene.size, 1.0)]


def _nearest(header: Header, scene: MarkerScene) -> list[Marker]:
    axes = locked_marker(header, NEAREST, 0, Marker.LINE_LIST)
    ball = locked_marker(header, NEAREST, 1, Marker.SPHERE)
    gap = locked_marker(header, NEAREST, 2, Marker.LINE_LIST)
    if scene.nearest is None or scene.target is None:
        return [_deleted(marker) for marker in (axes, ball, gap)]
    _as_axes(axes, scene.nearest, scene.size, 0.6)
    ball.pose = axes.pose
    ball.scale = _cube(_BALL * scene.size)
    ball.color = color_message(_SHORTFALL, 0.6)
    gap.scale.x = 0.5 * _WIDTH * scene.size
    gap.color = color_message(_SHORTFALL, 0.8)
    gap.points = [point(scene.nearest[:3, 3]), point(scene.target[:3, 3])]
    return [axes, ball, gap]


def _trail(header: Header, scene: MarkerScene) -> Marker:
    line = locked_marker(header, TRAIL, 0, Marker.LINE_STRIP)
    if len(scene.trail) < 2:
        return _deleted(line)
    line.scale.x = _TRAIL_WIDTH * scene.size
    line.color = color_message(_TRAIL_COLOR, 0.9)
    line.points = list(scene.trail)
    return line


def _reach(header: Header, scene: MarkerScene) -> Marker:
    shell = locked_marker(header, REACH, 0, Marker.SPHERE)
    radius = float(scene.reach[3])
    if not 0.0 < radius < math.inf:
        return _deleted(shell)
    shell.pose.position = point(scene.reach[:3])
    shell.scale = _cube(2.0 * radius)
    shell.color = color_message(_REACH_COLOR, 0.08)
    return shell


def _deleted(marker: Marker) -> Marker:
    marker.action = Marker.DELETE
    return marker


def _as_axes(marker: Marker, T: np.ndarray, size: float, alpha: float) -> Marker:
    """Make a marker the axes of a frame, x red, y green, z blue."""
    marker.pose = pose_from_matrix(T)
    marker.scale.x = _WIDTH * size
    for axis, rgb in zip(np.eye(3), _AXIS_COLORS, strict=True):
        marker.points += [Point(), point(_AXIS * size * axis)]
        marker.colors += 2 * [color_message(rgb, alpha)]
    return marker


def _cube(side: float) -> Vector3:
    return Vector3(x=side, y=side, z=side)


TRAIL_LENGTH = 400  # largest number of points of the trail

_FARTHEST = 1e6  # coordinate of a target, as viewers end at numbers beyond those of 32 bits [m]
_RATE = 25.0  # of the checks whether something has changed [Hz]
_SPACING = 0.004  # of the trail's points, as a share of the arm's size
_TOPIC = 'markers'


class ArmMarkerPublisher:
    """
    Publisher of ``markers`` while it is switched on.

    It checks for changes in a thread: a check takes less time than an executor's overhead for a
    timer.

    :param on_error: called with the exception of a check; the next one comes all the same.
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
        self._listeners = frozenset[bytes]()
        self._on = False
        self._on_error = on_error
        self._checking = ExitStack()

    def switch(self, on: bool) -> None:
        """Begin or end publishing; the markers are deleted at the end."""
        if on == self._on:
            return
        self._on = on
        if on:
            if self._publisher is None:
                self._publisher = self._node.create_publisher(MarkerArray, _TOPIC, MARKERS_QOS)
            self._shown = None
            self._listeners = frozenset()
            checking = PeriodicCall(self._check, _RATE, self._on_error, thread=self._checks)
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
        listeners = listener_ids(self._node, publisher)
        if listeners and (changed or not listeners <= self._listeners):
            publisher.publish(marker_array(self._scene(following), self._now()))
        self._listeners = listeners

    def _begin(self, following: FollowerInterface) -> None:
        """Start with an arm whose markers have not been published."""
        self._shown = following
        self._listeners = frozenset()
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
        T = T_base_target.copy()
        T[:3, 3] = T[:3, 3].clip(-_FARTHEST, _FARTHEST)
        return replace(scene, target=T, nearest=nearest)

    def _now(self) -> Time:
        return self._node.get_clock().now().to_msg()


def _scene(following: FollowerInterface) -> MarkerScene:
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
        """Add a position of the tip (3,) [m], unless it is too near the last; return whether."""
        if self._newest is not None:
            step = position - self._newest
            if step @ step < self._spacing * self._spacing:
                return False
        self._newest = position.copy()
        self.points.append(point(position))
        return True
