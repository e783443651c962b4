"""Publication of a cloud of reachable positions as markers, for RViz and Foxglove."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from builtin_interfaces.msg import Time
import numpy as np
import rclpy
from std_msgs.msg import ColorRGBA, Header
from visualization_msgs.msg import Marker, MarkerArray

from ik_service.ros.common.qos import MARKERS_QOS
from ik_service.ros.common.runtime import begin_ros
from ik_service.ros.markers.marker_messages import point

SHELL, INSIDE = 'shell', 'inside'
"""Namespaces of the markers: the outermost positions, and all others."""

TOPIC = 'reachable_shell'

_SHARE = 0.35  # diameter of a ball, as a share of the distance between positions


@contextmanager
def published_cloud(
    frame_id: str, points: np.ndarray, colors: np.ndarray, on_shell: np.ndarray, spacing: float
) -> Iterator[str]:
    """
    Publish a cloud for the time of a ``with`` block, also to later subscribers.

    :param frame_id: frame of the points.
    :param points: (N, 3) [m].
    :param colors: (N, 4) red, green, blue and opacity, 0 to 1.
    :param on_shell: (N,) mask of those that lie on the outside.
    :param spacing: distance between neighbours [m].
    :returns: the topic's full name.
    """
    context = rclpy.context.Context()
    begin_ros([], context)
    try:
        node = rclpy.create_node('ik_study', context=context)
        publisher = node.create_publisher(MarkerArray, TOPIC, MARKERS_QOS)
        stamp = node.get_clock().now().to_msg()
        publisher.publish(cloud(frame_id, stamp, points, colors, on_shell, spacing))
        yield publisher.topic_name
        node.destroy_node()
    finally:
        context.try_shutdown()


def cloud(
    frame_id: str,
    stamp: Time,
    points: np.ndarray,
    colors: np.ndarray,
    on_shell: np.ndarray,
    spacing: float,
) -> MarkerArray:
    """Return a cloud as markers; the arguments are those of :func:`published_cloud`."""
    header = Header(frame_id=frame_id, stamp=stamp)
    parts = ((SHELL, on_shell), (INSIDE, ~on_shell))
    return MarkerArray(
        markers=[
            _balls(header, namespace, points[chosen], colors[chosen], _SHARE * spacing)
            for namespace, chosen in parts
        ]
    )


def _balls(
    header: Header, namespace: str, points: np.ndarray, colors: np.ndarray, side: float
) -> Marker:
    marker = Marker(header=header, ns=namespace, type=Marker.SPHERE_LIST, frame_locked=True)
    if not len(points):
        marker.action = Marker.DELETE
        return marker
    marker.pose.orientation.w = 1.0
    marker.scale.x = marker.scale.y = marker.scale.z = side
    marker.points = [point(position) for position in points]
    marker.colors = [ColorRGBA(r=r, g=g, b=b, a=a) for r, g, b, a in colors.tolist()]
    return marker
