"""Poses along straight lines: even steps, the shorter turn, and a bound on their number."""

from __future__ import annotations

import numpy as np
import pytest

from ik_service.common.transforms import rigid_transform, rotation_about_axis
from ik_service.exceptions import ArgumentError
from ik_service.kinematics.pose_error import pose_error
from ik_service.paths.cartesian_path import MOST_POSES, straight_lines


def test_steps_are_even_and_within_both_bounds():
    axis = np.array([0.0, 0.6, 0.8])
    end = rigid_transform(rotation_about_axis(axis, -2.0), (0.1, 0.2, 0.0))
    far = rigid_transform(end[:3, :3], (0.1, 0.2, 0.5))
    lines = straight_lines(np.eye(4), [end, far], 0.05)
    steps = np.array(
        [pose_error(a, b) for a, b in zip(lines.poses[:-1], lines.poses[1:], strict=True)]
    )
    turns = np.linalg.norm(steps[:, 3:], axis=1)
    assert turns.max() <= 3.5 * 0.05
    assert np.linalg.norm(steps[:, :3], axis=1).max() <= 0.05 + 1e-12
    first = int(np.flatnonzero(lines.progress == 1.0)[0])
    np.testing.assert_allclose(steps[:first], np.tile(steps[0], (first, 1)), atol=1e-12)
    np.testing.assert_allclose(steps[0, 3:] / turns[0], -axis, atol=1e-9)
    np.testing.assert_array_equal(lines.poses[[first, -1]], [end, far])
    np.testing.assert_allclose(np.diff(lines.progress[: first + 1]), 1.0 / first)
    assert lines.progress[-1] == 2.0


def test_too_many_poses_are_refused_with_their_number():
    with pytest.raises(ArgumentError, match=f'at most {MOST_POSES}'):
        straight_lines(np.eye(4), [rigid_transform(position=(1.0, 0.0, 0.0))], 1e-300)
    far = rigid_transform(position=(1.7e308, -1.7e308, 0.0))
    with pytest.raises(ArgumentError, match='makes inf poses'):
        straight_lines(np.eye(4), [far], 0.01)
    with pytest.raises(ArgumentError, match='max_step'):
        straight_lines(np.eye(4), [np.eye(4)], 0.0)


def test_way_points_that_equal_the_one_before_add_no_pose_and_are_passed():
    start, end = np.eye(4), rigid_transform(np.eye(3), (0.1, 0.0, 0.0))
    once = straight_lines(start, [end], 0.01)
    often = straight_lines(start, [start, end, end, end], 0.01)
    np.testing.assert_array_equal(often.poses, once.poses)
    assert (often.progress[0], often.progress[-1]) == (1.0, 4.0)
    assert (np.diff(often.progress) > 0.0).all()
    still = straight_lines(start, [start, start], 0.01)
    assert (len(still.poses), still.progress[-1]) == (1, 2.0)
