"""Markers of the positions that an arm reaches."""

from builtin_interfaces.msg import Time
import numpy as np
from support.ros.nodes import LATCHED
from visualization_msgs.msg import Marker, MarkerArray

from ik_service.extras.reach.cloud_publisher import cloud, INSIDE, published_cloud, SHELL

POINTS = np.array([[0.0, 0.0, 1.0], [0.1, 0.0, 1.0], [0.2, 0.0, 1.0]])
COLORS = np.array([[1.0, 0.0, 0.0, 1.0], [0.0, 1.0, 0.0, 1.0], [0.0, 0.0, 1.0, 1.0]])
ON_SHELL = np.array([True, False, True])


def test_shell_and_inside_are_separate_markers():
    array = cloud('base', Time(sec=1), POINTS, COLORS, ON_SHELL, 0.1)
    markers = {marker.ns: marker for marker in array.markers}
    assert set(markers) == {SHELL, INSIDE}
    assert [p.x for p in markers[SHELL].points] == [0.0, 0.2]
    assert [(c.r, c.b) for c in markers[SHELL].colors] == [(1.0, 0.0), (0.0, 1.0)]
    assert [p.x for p in markers[INSIDE].points] == [0.1]
    for marker in array.markers:
        assert marker.header.frame_id == 'base'
        assert marker.header.stamp.sec == 1
        assert 0.0 < marker.scale.x < 0.1


def test_a_part_without_points_is_deleted():
    array = cloud('base', Time(), POINTS, COLORS, np.ones(3, dtype=bool), 0.1)
    actions = {marker.ns: marker.action for marker in array.markers}
    assert actions == {SHELL: Marker.ADD, INSIDE: Marker.DELETE}


def test_late_subscribers_get_the_cloud(bench):
    with published_cloud('base', POINTS, COLORS, ON_SHELL, 0.1) as topic:
        assert topic == '/reachable_shell'
        array = bench.record(MarkerArray, topic, LATCHED, publishers=1).wait()
        assert sum(len(marker.points) for marker in array.markers) == 3
