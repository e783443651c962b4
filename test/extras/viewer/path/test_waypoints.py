import math

import numpy as np
import pytest

from ik_service.common.transforms import rigid_transform, rotation_about_axis
from ik_service.extras.viewer.path.waypoints import (
    circle_poses,
    MOST_POINTS,
    WaypointError,
    Waypoints,
)

CENTER = np.array([0.4, 0.1, 0.3])


def on_rim(angle, radius=0.2, tilt=0.7):
    """A pose on a circle in a tilted plane, turned by half of its angle."""
    plane = rotation_about_axis((1.0, 0.0, 0.0), tilt)
    position = CENTER + plane @ (radius * np.array([math.cos(angle), math.sin(angle), 0.0]))
    return rigid_transform(rotation_about_axis((0.0, 0.0, 1.0), angle / 2), position)


def drawn(*poses):
    points = Waypoints()
    for pose in poses:
        points.add(pose)
    return points


@pytest.mark.parametrize('angles', [(0.0, 1.0, 2.0), (0.5, 3.0, 5.5), (2.0, 1.0, -3.5)])
def test_a_circle_goes_once_around_through_its_three_points_in_their_order(angles):
    points = [on_rim(angle) for angle in angles]
    poses = circle_poses(*points)
    rim = poses[:, :3, 3] - CENTER
    np.testing.assert_allclose(np.linalg.norm(rim, axis=1), 0.2, atol=1e-9)
    passed = [int(np.argmin(np.abs(poses - T).max(axis=(1, 2)))) for T in points]
    assert passed[0] == 0 < passed[1] < passed[2] < len(poses) - 1
    np.testing.assert_allclose(poses[passed], points, atol=1e-9)
    np.testing.assert_allclose(poses[-1], poses[0], atol=1e-9)
    middle = (rim[1:] + rim[:-1]) / 2  # of the chords
    assert 0.2 - np.linalg.norm(middle, axis=1).min() < 2.1e-4


def test_a_small_circle_and_a_huge_one_have_bounded_numbers_of_chords():
    for radius in (1e-3, 50.0):
        poses = circle_poses(*(on_rim(angle, radius) for angle in (0.0, 2.0, 4.0)))
        assert 36 <= len(poses) <= 364


def test_points_on_one_line_make_no_circle():
    line = [rigid_transform(None, (x, 0.0, 0.0)) for x in (0.0, 0.1, 0.3)]
    points = drawn(*line)
    before = points.drawing
    with pytest.raises(WaypointError, match='on one line'):
        points.close_circle()
    with pytest.raises(WaypointError, match='on one line'):
        circle_poses(line[0], line[1], line[0])
    assert points.drawing is before


def test_lines_and_circles_follow_each_other():
    rim = [on_rim(angle) for angle in (0.0, 1.0, 2.0)]
    start, end = rigid_transform(None, (0.0, 0.0, 0.5)), rigid_transform(None, (0.0, 0.3, 0.5))
    points = drawn(start, *rim)
    points.close_circle()
    points.add(end)
    corners = points.corners()
    np.testing.assert_array_equal(corners[[0, 1, -1]], [start, rim[0], end])
    np.testing.assert_allclose(corners[-2], rim[0], atol=1e-9)  # from there the line goes on
    with pytest.raises(WaypointError, match='after the last circle'):
        points.close_circle()


def test_each_step_can_be_undone_also_clearing():
    rim = [on_rim(angle) for angle in (0.0, 1.0, 2.0)]
    points = drawn(*rim)
    points.close_circle()
    drawings = [points.drawing]
    points.clear()
    assert len(points) == 0
    points.undo()
    assert points.drawing is drawings[0]
    points.undo()
    assert not points.drawing.circles
    for left in (2, 1, 0, 0):
        points.undo()
        assert len(points) == left
    assert points.corners().shape == (0, 4, 4)


def test_a_point_where_the_last_one_is_is_refused():
    points = drawn(on_rim(0.0))
    with pytest.raises(WaypointError, match='waypoint 1 is here already'):
        points.add(on_rim(1e-5))
    assert len(points) == 1


def test_the_number_of_points_is_bounded():
    points = drawn(*(on_rim(0.01 * i) for i in range(MOST_POINTS)))
    with pytest.raises(WaypointError, match=f'{MOST_POINTS} waypoints at most'):
        points.add(on_rim(-1.0))
