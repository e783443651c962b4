"""Markers of the arm and of its target."""

import math

from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped
import numpy as np
import pytest
from support.ros.cells import until_silent
from support.ros.nodes import Arm, LATCHED, status, target
from support.ros.servers import posture_of
from visualization_msgs.msg import Marker, MarkerArray

from ik_service.ros.common.conversions import matrix_from_pose
from ik_service.ros.markers.arm_marker_publisher import (
    marker_array,
    MarkerScene,
    NEAREST,
    no_markers,
    REACH,
    TARGET,
    TRAIL,
    Trail,
    TRAIL_LENGTH,
)
from ik_service.ros.markers.marker_messages import point

REACH_OF_ARM = np.array([0.1, 0.2, 0.3, 1.5])
STAMP = Time(sec=3, nanosec=4)
KEYS = {(TARGET, 0), (NEAREST, 0), (NEAREST, 1), (NEAREST, 2), (TRAIL, 0), (REACH, 0)}


def at(x, y, z):
    T = np.eye(4)
    T[:3, :3] = [[0, -1, 0], [1, 0, 0], [0, 0, 1]]
    T[:3, 3] = x, y, z
    return T


def shown(array):
    return {(m.ns, m.id): m for m in array.markers if m.action == Marker.ADD}


def deleted(array):
    return {(m.ns, m.id) for m in array.markers if m.action == Marker.DELETE}


def numbers(p):
    return [p.x, p.y, p.z]


def test_every_array_holds_or_deletes_every_marker():
    full = MarkerScene('base', REACH_OF_ARM, at(1, 0, 0), at(0.9, 0, 0), [point(np.ones(3))] * 2)
    for scene, there in (
        (full, KEYS),
        (MarkerScene('base', REACH_OF_ARM), {(REACH, 0)}),
        (MarkerScene('base', REACH_OF_ARM, target=at(1, 0, 0)), {(REACH, 0), (TARGET, 0)}),
    ):
        array = marker_array(scene, STAMP)
        assert set(shown(array)) == there
        assert deleted(array) == KEYS - there
    assert deleted(no_markers('base', STAMP)) == KEYS


def test_all_are_stamped_and_stay_in_the_frame_of_the_base():
    for marker in marker_array(MarkerScene('base', REACH_OF_ARM), STAMP).markers:
        assert marker.header.frame_id == 'base'
        assert marker.header.stamp == STAMP
        assert marker.frame_locked
        assert marker.lifetime.sec == marker.lifetime.nanosec == 0


def test_markers_can_be_drawn():
    # RViz refuses colours without opacity, scales of zero and lines of too few or odd points.
    scene = MarkerScene('base', REACH_OF_ARM, at(1, 0, 0), at(0.9, 0, 0), [point(np.ones(3))] * 3)
    for marker in shown(marker_array(scene, STAMP)).values():
        orientation = marker.pose.orientation
        assert np.linalg.norm([*numbers(orientation), orientation.w]) == pytest.approx(1.0)
        colors = marker.colors or [marker.color]
        assert all(color.a > 0.0 for color in colors)
        assert marker.scale.x > 0.0
        if marker.type == Marker.LINE_LIST:
            assert len(marker.points) % 2 == 0
            assert len(marker.points) >= 2
            assert len(marker.colors) in (0, len(marker.points))
        if marker.type == Marker.SPHERE:
            assert marker.scale.x == marker.scale.y == marker.scale.z


def test_positions_of_target_and_nearest_pose():
    target, nearest = at(1.0, 2.0, 3.0), at(0.9, 2.0, 3.0)
    markers = shown(marker_array(MarkerScene('base', REACH_OF_ARM, target, nearest), STAMP))
    np.testing.assert_allclose(matrix_from_pose(markers[TARGET, 0].pose), target, atol=1e-12)
    np.testing.assert_allclose(matrix_from_pose(markers[NEAREST, 0].pose), nearest, atol=1e-12)
    assert markers[NEAREST, 1].pose.position == markers[NEAREST, 0].pose.position
    assert [numbers(p) for p in markers[NEAREST, 2].points] == [[0.9, 2.0, 3.0], [1.0, 2.0, 3.0]]


def test_the_shell_is_the_sphere_that_the_tip_cannot_leave():
    shell = shown(marker_array(MarkerScene('base', REACH_OF_ARM), STAMP))[REACH, 0]
    assert numbers(shell.pose.position) == [0.1, 0.2, 0.3]
    assert shell.scale.x == 3.0
    assert shell.color.a < 0.2  # the arm stands inside it


@pytest.mark.parametrize('radius', [0.0, np.inf])
def test_there_is_no_shell_of_an_unlimited_reach(radius):
    array = marker_array(MarkerScene('base', np.array([0, 0, 0, radius]), at(1, 0, 0)), STAMP)
    assert (REACH, 0) in deleted(array)
    assert 0.0 < shown(array)[TARGET, 0].scale.x < 0.1


def test_late_subscribers_get_all_markers_and_switching_off_deletes_them(
    shared_bench, panda_node, arm
):
    bench = shared_bench
    resting = Arm(bench, arm.chain.joint_names, posture_of(arm, 1)[arm.indices])
    assert bench.node.count_publishers('markers') == 0
    bench.configure('ik_service', publish_markers=True)
    early = bench.record(MarkerArray, 'markers', publishers=1)
    early.wait(shown)
    # A viewer that does not ask for what was published before it came, as RViz by default.
    late = bench.record(MarkerArray, 'markers', qos=10, publishers=1)
    assert set(shown(late.wait(shown))) == {('reach', 0)}
    bench.node.destroy_subscription([*bench.node.subscriptions][-1])  # as one that begins anew
    late = bench.record(MarkerArray, 'markers', qos=10, publishers=1)
    assert set(shown(late.wait(shown))) == {('reach', 0)}
    bench.configure('ik_service', publish_markers=False)
    last = late.wait(lambda array: not shown(array))
    assert {(m.ns, m.id) for m in last.markers} >= {('target', 0), ('trail', 0), ('reach', 0)}
    assert all(marker.action == Marker.DELETE for marker in last.markers)
    resting.vanish()


def test_the_markers_show_target_and_trail(shared_bench, panda_node, arm):
    bench = shared_bench
    settings = {'publish_markers': True, 'velocity_scaling': 1.0, 'hold': True}
    bench.configure('ik_service', **settings)
    diagnostics = bench.record(DiagnosticArray, 'diagnostics', publishers=1)
    chain, q = arm.chain, posture_of(arm, 1)[arm.indices]
    Arm(bench, chain.joint_names, q)
    status(diagnostics, 'following', joints_without_a_joint_state='none')
    markers = bench.record(MarkerArray, 'markers', LATCHED, publishers=1)
    first = markers.wait()
    assert set(shown(first)) == {('reach', 0)}
    assert all(marker.header.frame_id == chain.base_link for marker in first.markers)
    assert all(marker.header.stamp.sec > 0 for marker in first.markers)

    T = chain.forward(np.clip(q + 0.3, chain.lower, chain.upper))
    targets = bench.publisher(PoseStamped, 'target_pose')
    targets.publish(target(T, chain.base_link))
    status(diagnostics, 'following', state='REACHED')

    def trail(array):
        return [numbers(p) for p in shown(array).get(('trail', 0), Marker()).points]

    there = markers.wait(
        lambda array: trail(array) and math.dist(trail(array)[-1], T[:3, 3]) < 0.01
    )
    assert set(shown(there)) == {('reach', 0), ('target', 0), ('trail', 0)}
    np.testing.assert_allclose(matrix_from_pose(shown(there)['target', 0].pose), T, atol=1e-9)
    assert len(trail(there)) > 4
    np.testing.assert_allclose(trail(there)[0], chain.forward(q)[:3, 3], atol=0.01)
    until_silent(markers)  # the arm rests, though its state comes fifty times a second

    T[:3, 3] = 0.0, 0.0, 3.0
    targets.publish(target(T, chain.base_link))
    far = shown(markers.wait(lambda array: ('nearest', 0) in shown(array)))
    assert {('nearest', 0), ('nearest', 1), ('nearest', 2), ('target', 0)} <= set(far)
    nearest = matrix_from_pose(far['nearest', 0].pose)[:3, 3]
    center, radius = chain.arrays.reach[:3], chain.arrays.reach[3]
    assert 0.5 * radius < np.linalg.norm(nearest - center) <= radius

    def height(array):
        return shown(array).get(('target', 0), Marker()).pose.position.z

    T[2, 3] = 1e300
    targets.publish(target(T, chain.base_link))
    farther = markers.wait(lambda array: height(array) > 9.0)
    assert numbers(shown(farther)['nearest', 2].points[1])[2] == 1e6


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
