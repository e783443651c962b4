"""Publication of the markers by the node."""

from __future__ import annotations

import time

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')
pytest.importorskip('visualization_msgs.msg', reason='visualization_msgs is not installed')

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped
from support.arm_helpers import panda_arm, posture_of
from support.node_helpers import Arm, LATCHED, start_panda, status, target
from visualization_msgs.msg import Marker, MarkerArray

from ik_service.ros.common.conversions import matrix_from_pose
from ik_service.ros.markers.arm_marker_publisher import Trail, TRAIL_LENGTH


@pytest.fixture(scope='module')
def arm():
    return panda_arm()


def shown(array):
    return {f'{m.ns}/{m.id}': m for m in array.markers if m.action == Marker.ADD}


def test_the_markers_show_target_and_trail(bench, arm):
    start_panda(bench, publish_markers=True, velocity_scaling=1.0, hold=True)
    diagnostics = bench.record(DiagnosticArray, 'diagnostics', publishers=1)
    chain, q = arm.chain, posture_of(arm, 1)[arm.indices]
    Arm(bench, chain.joint_names, q)
    status(diagnostics, 'following', joints_without_a_joint_state='none')
    markers = bench.record(MarkerArray, 'markers', LATCHED, publishers=1)
    first = markers.wait()
    assert set(shown(first)) == {'reach/0'}
    assert all(marker.header.frame_id == chain.base_link for marker in first.markers)
    assert all(marker.header.stamp.sec > 0 for marker in first.markers)

    T = chain.forward(np.clip(q + 0.3, chain.lower, chain.upper))
    targets = bench.publisher(PoseStamped, 'target_pose')
    targets.publish(target(T, chain.base_link))
    status(diagnostics, 'following', state='REACHED')
    there = markers.wait(lambda array: len(shown(array).get('trail/0', Marker()).points) > 4)
    assert set(shown(there)) == {'reach/0', 'target/0', 'trail/0'}
    np.testing.assert_allclose(matrix_from_pose(shown(there)['target/0'].pose), T, atol=1e-9)
    time.sleep(0.2)
    points = [[p.x, p.y, p.z] for p in shown(markers.messages[-1])['trail/0'].points]
    np.testing.assert_allclose(points[0], chain.forward(q)[:3, 3], atol=0.01)
    np.testing.assert_allclose(points[-1], T[:3, 3], atol=0.01)

    count = len(markers)  # the arm rests, though its state comes fifty times a second
    time.sleep(0.5)
    assert len(markers) == count

    T[:3, 3] = 0.0, 0.0, 3.0
    targets.publish(target(T, chain.base_link))
    far = shown(markers.wait(lambda array: 'nearest/0' in shown(array)))
    assert {'nearest/0', 'nearest/1', 'nearest/2', 'target/0'} <= set(far)
    nearest = matrix_from_pose(far['nearest/0'].pose)[:3, 3]
    center, radius = chain.arrays.reach[:3], chain.arrays.reach[3]
    assert 0.5 * radius < np.linalg.norm(nearest - center) <= radius


def test_late_subscribers_get_all_markers_and_switching_off_deletes_them(bench, arm):
    start_panda(bench)
    Arm(bench, arm.chain.joint_names, posture_of(arm, 1)[arm.indices])
    assert bench.node.count_publishers('markers') == 0
    (result,) = bench.set_parameters('ik_service', publish_markers=True)
    assert result.successful
    early = bench.record(MarkerArray, 'markers', publishers=1)
    early.wait(shown)
    time.sleep(0.2)
    # A viewer that does not ask for what was published before it came, as RViz by default.
    late = bench.record(MarkerArray, 'markers', qos=10, publishers=1)
    assert set(shown(late.wait(shown))) == {'reach/0'}
    (result,) = bench.set_parameters('ik_service', publish_markers=False)
    assert result.successful
    last = late.wait(lambda array: not shown(array))
    assert {(m.ns, m.id) for m in last.markers} >= {('target', 0), ('trail', 0), ('reach', 0)}
    assert all(marker.action == Marker.DELETE for marker in last.markers)


def test_a_trail_is_bounded_and_ignores_small_motion():
    trail = Trail(spacing=0.01)
    assert trail.add(np.zeros(3))
    assert not trail.add(np.array([0.009, 0.0, 0.0]))
    assert trail.add(np.array([0.0, 0.011, 0.0]))
    for i in range(2 * TRAIL_LENGTH):
        trail.add(np.array([0.1 * i, 0.0, 0.0]))
    assert len(trail.points) == TRAIL_LENGTH
    assert trail.points[-1].x == pytest.approx(0.1 * (2 * TRAIL_LENGTH - 1))
    assert trail.points[0].x == pytest.approx(0.1 * TRAIL_LENGTH)
