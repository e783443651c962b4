"""Tree of frames: ways between them, stamps, changes of parents, and bounds."""

from __future__ import annotations

import math
import threading
import time

import numpy as np
import pytest

from ik_service.common import transform_tree
from ik_service.common.quaternions import quaternion_xyzw_from_rotation
from ik_service.common.transform_tree import TransformTree
from ik_service.common.transforms import inverse_transform, rigid_transform, rotation_from_rpy
from ik_service.exceptions import ArgumentError, NoTransformError

STILL = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)
SECOND = 1_000_000_000


def random_pose(rng):
    R = rotation_from_rpy(*rng.uniform(-3, 3, 3))
    p = rng.uniform(-1, 1, 3)
    return (*p.tolist(), *quaternion_xyzw_from_rotation(R)), rigid_transform(R, p)


def shifted(x):
    return (x, *STILL[1:])


def test_ways_up_down_and_across():
    rng = np.random.default_rng(1)
    tree = TransformTree()
    T = {'root': np.eye(4)}
    for parent, child in [('root', 'a'), ('a', 'b'), ('b', 'c'), ('root', 'x'), ('x', 'y')]:
        pose, T_parent_child = random_pose(rng)
        T[child] = T[parent] @ T_parent_child
        tree.set_static(parent, child, pose)
    for target in T:
        for source in T:
            found, stamp = tree.look_up(target, source)
            np.testing.assert_allclose(found, inverse_transform(T[target]) @ T[source], atol=1e-14)
            assert stamp is None


def test_the_stamp_is_that_of_the_oldest_transform_on_the_way():
    tree = TransformTree()
    tree.set_moving('map', 'odom', STILL, 3 * SECOND, 5 * SECOND)
    tree.set_moving('odom', 'base', STILL, 5 * SECOND, 5 * SECOND)
    tree.set_static('base', 'camera', STILL)
    tree.set_moving('map', 'other', STILL, SECOND, 5 * SECOND)
    assert tree.look_up('base', 'map')[1] == 3 * SECOND
    assert tree.look_up('camera', 'odom')[1] == 5 * SECOND
    assert tree.look_up('camera', 'base')[1] is None
    assert tree.look_up('camera', 'camera')[1] is None


def test_only_newer_transforms_count_and_equal_ones():
    tree = TransformTree()
    for stamp, x in [(4 * SECOND, 1.0), (3 * SECOND, 2.0), (4 * SECOND, 3.0)]:
        tree.set_moving('map', 'base', shifted(x), stamp, 5 * SECOND)
    T, stamp = tree.look_up('map', 'base')
    assert (T[0, 3], stamp) == (3.0, 4 * SECOND)


def test_a_clock_that_was_set_back_is_followed():
    tree = TransformTree()
    tree.set_moving('map', 'base', shifted(1.0), 1000 * SECOND, 1000 * SECOND)
    tree.set_moving('map', 'base', shifted(2.0), SECOND, 2 * SECOND)
    assert tree.look_up('map', 'base')[0][0, 3] == 2.0


def test_a_transform_without_a_stamp_counts_from_its_arrival():
    tree = TransformTree()
    tree.set_moving('map', 'base', STILL, 0, 7 * SECOND)
    assert tree.look_up('map', 'base')[1] == 7 * SECOND


def test_frames_change_their_parents_and_kinds():
    tree = TransformTree()
    tree.set_static('map', 'box', shifted(1.0))
    tree.set_static('map', 'hand', shifted(5.0))
    tree.set_moving('hand', 'box', shifted(0.1), SECOND, SECOND)
    assert tree.look_up('map', 'box')[0][0, 3] == 5.1
    tree.set_static('map', 'box', shifted(2.0))
    assert tree.look_up('map', 'box')[0][0, 3] == 2.0


def test_circles_are_told_and_can_be_broken():
    tree = TransformTree()
    for parent, child in [('a', 'b'), ('b', 'c'), ('c', 'a')]:
        tree.set_static(parent, child, STILL)
    with pytest.raises(NoTransformError, match='circle'):
        tree.look_up('a', 'b')
    tree.set_static('map', 'a', STILL)
    tree.look_up('map', 'c')


def test_unknown_and_unconnected_frames_are_named():
    tree = TransformTree()
    tree.set_static('a', 'b', STILL)
    tree.set_static('x', 'y', STILL)
    with pytest.raises(NoTransformError, match="no transform names 'moon'"):
        tree.look_up('b', 'moon')
    with pytest.raises(NoTransformError, match="nothing connects 'y' with 'b'"):
        tree.look_up('b', 'y')


def test_leading_slashes_are_left_out():
    tree = TransformTree()
    tree.set_static('/map', '/base', STILL)
    tree.look_up('map', 'base')


@pytest.mark.parametrize(
    ('parent', 'child', 'pose'),
    [
        ('map', 'base', (math.nan, *STILL[1:])),
        ('map', 'base', (*STILL[:6], math.inf)),
        ('map', 'base', (*STILL[:6], 0.0)),
        ('map', 'base', (*STILL[:6], 1.02)),
        ('map', 'map', STILL),
        ('map', '/map', STILL),
        ('', 'base', STILL),
        ('map', '/', STILL),
        ('map', 'x' * 1001, STILL),
    ],
)
def test_bad_transforms_are_refused(parent, child, pose):
    tree = TransformTree()
    with pytest.raises(ArgumentError):
        tree.set_static(parent, child, pose)
    with pytest.raises(ArgumentError):
        tree.set_moving(parent, child, pose, SECOND, SECOND)
    assert not tree.knows(child)


def test_nearly_unit_quaternions_are_normalised():
    tree = TransformTree()
    tree.set_static('a', 'b', (0.0, 0.0, 0.0, 0.6 * 1.009, 0.0, 0.0, 0.8 * 1.009))
    R = tree.look_up('a', 'b')[0][:3, :3]
    np.testing.assert_allclose(R @ R.T, np.eye(3), atol=1e-15)


def test_the_number_of_frames_is_bounded(monkeypatch):
    monkeypatch.setattr(transform_tree, 'MOST_FRAMES', 10)
    tree = TransformTree()
    for i in range(11):
        tree.set_moving('map', f'f{i}', STILL, SECOND, SECOND)
        tree.set_moving('map', 'base', STILL, SECOND + i, SECOND)  # has news, so it stays
    assert not tree.knows('f0')
    assert not tree.knows('f1')
    assert all(tree.knows(frame) for frame in ('f10', 'f5', 'base'))
    for i in range(10):
        tree.set_static('map', f's{i}', STILL)
    with pytest.raises(ArgumentError, match='kept already'):
        tree.set_static('map', 's10', STILL)
    tree.set_static('map', 's9', shifted(1.0))


def test_a_long_way_is_found():
    tree = TransformTree()
    for i in range(2000):
        tree.set_static(f'f{i}', f'f{i + 1}', shifted(0.001))
    assert tree.look_up('f0', 'f1000')[0][0, 3] == pytest.approx(1.0)
    with pytest.raises(NoTransformError, match='more than 1000 frames'):
        tree.look_up('f0', 'f2000')


def test_frames_that_no_transform_names_any_more_are_forgotten():
    tree = TransformTree()
    for parent in ('a', 'b', 'c'):
        tree.set_static(parent, 'box', STILL)
    assert [tree.knows(frame) for frame in ('a', 'b', 'c', 'box')] == [False, False, True, True]
    tree.set_moving('d', 'box', STILL, SECOND, SECOND)
    assert not tree.knows('c')


def test_a_failure_takes_no_longer_with_many_frames():
    tree = TransformTree()
    for i in range(transform_tree.MOST_FRAMES - 1):
        tree.set_static('map', f'f{i}', STILL)
    tree.set_static('robot', 'hand', STILL)
    began = time.thread_time()
    for _ in range(1000):
        with pytest.raises(NoTransformError):
            tree.look_up('hand', 'f7')
    assert time.thread_time() - began < 0.5


def test_looking_up_while_frames_change():
    tree = TransformTree()
    tree.set_static('map', 'hand', shifted(1.0))
    ended = threading.Event()

    def change():
        for i in range(20_000):
            tree.set_moving('map' if i % 2 else 'hand', 'box', STILL, SECOND + i, SECOND + i)
        ended.set()

    thread = threading.Thread(target=change)
    tree.set_moving('hand', 'box', STILL, SECOND, SECOND)
    thread.start()
    while not ended.is_set():
        assert tree.look_up('map', 'box')[0][0, 3] in (0.0, 1.0)
    thread.join()
