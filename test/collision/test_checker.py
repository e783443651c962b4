"""The collision checker: postures, contacts, objects, attached objects."""

from concurrent.futures import ThreadPoolExecutor
import pickle
import sys

import numpy as np
import pytest
from support.chains import arm_path
from support.solids import at, BOX, slider, solid

import ik_service as iks
from ik_service import Box, CollisionChecker, Cylinder, Robot, Sphere
from ik_service.collision.world import AttachedObject, World, WorldObject
from ik_service.exceptions import (
    ArgumentError,
    CollisionObjectError,
    MissingExtraError,
    UnknownJointError,
    UnknownLinkError,
    UnknownObjectError,
)

pytest.importorskip('coal', reason='Coal comes with the extra collision')

SMALL = Box((0.1, 0.1, 0.1))
FAR = at(0, 5)


def row(count=4):
    """Cubes of 0.1 m in a row, 0.5 m apart: a stands, b, c, d slide along the row."""
    return CollisionChecker(Robot.from_urdf(slider(*[solid()] * count)))


def test_bodies_are_named_in_the_order_of_links_attached_objects_and_objects():
    checker = row()
    checker.add('box', SMALL, at(1.05))
    checker.attach('tool', SMALL, 'd', pose=at(-0.5))
    assert checker.contacts({}) == (('c', 'tool'), ('c', 'box'), ('tool', 'box'))
    assert checker.contacts({'to_b': 0.5, 'to_d': 1.0}) == (('b', 'c'), ('b', 'box'), ('c', 'box'))
    assert checker.in_collision({})
    assert not checker.in_collision({'to_c': 0.3, 'to_d': 3.0})


def test_neighbours_are_not_checked():
    checker = row()
    reasons = {frozenset(('a', other)): 'adjacent' for other in 'bcd'}
    assert dict(checker.disabled_pairs) == reasons
    assert not checker.in_collision({'to_b': -0.5})
    assert checker.contacts({'to_b': 0.45, 'to_d': -0.45}) == (('b', 'c'), ('b', 'd'), ('c', 'd'))


def test_contact_points_tell_where_and_how_deep():
    checker = row(2)
    checker.add('ball', Sphere(0.1), at(0.64))
    (point,) = checker.contact_points({})
    assert (point.body_a, point.kind_a, point.body_b, point.kind_b) == (
        'b',
        'link',
        'ball',
        'object',
    )
    np.testing.assert_allclose(point.normal, [1, 0, 0], atol=1e-6)
    assert point.depth == pytest.approx(0.01, abs=1e-6)
    assert 0.54 - 1e-6 <= point.position[0] <= 0.55 + 1e-6
    checker.attach('ball', None, 'b')
    assert checker.contact_points({}) == ()
    checker.add('wall', Box((0.1, 9, 9)), at(0.5 + 0.64 - 0.1))
    kinds = [(point.kind_a, point.kind_b) for point in checker.contact_points({'to_b': 0.5})]
    assert kinds == [('link', 'object'), ('attached', 'object')]


def test_positions_are_taken_in_every_form():
    robot = Robot.from_urdf(arm_path('panda'))
    checker = CollisionChecker(robot)
    chain = robot.chain()
    assert checker.joint_names == (*chain.joint_names, 'panda_finger_joint1')
    folded = np.array([0.0, 1.7, 0.0, -3.0, 0.0, 0.1, 0.0])
    contacts = checker.contacts(folded)
    assert contacts
    by_name = dict(zip(chain.joint_names, folded, strict=True))
    with_fingers = dict.fromkeys(robot.movable_joint_names, 0.0) | by_name
    for q in (
        folded.tolist(),
        np.append(folded, 0.0),
        by_name,
        with_fingers,
        [*with_fingers.values()],
    ):
        assert checker.contacts(q) == contacts
        assert checker.in_collision(q)
    for q in ([0.0] * 3, np.zeros((1, 7)), [np.nan] * 7, {'panda_joint1': np.inf}, 'abc', None):
        with pytest.raises(ArgumentError):
            checker.in_collision(q)
    with pytest.raises(UnknownJointError):
        checker.in_collision({'panda_joint77': 0.0})
    with pytest.raises(ArgumentError, match='panda_joint3 is nan'):
        checker.in_collision(np.array([0, 0, np.nan, 0, 0, 0, 0]))


def test_joints_left_out_are_where_the_posture_has_them():
    checker = row()
    test = checker.for_joints(['to_c'])
    assert test.first_contact(np.array([0.45])) == ('c', 'd')
    assert test.first_contact([-0.45]) == ('b', 'c')
    away = checker.for_joints(['to_c'], others={'to_d': 3.0})
    assert away.first_contact([0.45]) is None
    assert (
        checker.for_joints(['to_c'], others=np.array([0.0, 0.0, 3.0])).first_contact([0.45])
        is None
    )
    checker.posture = {'to_b': 3.0}
    assert test.first_contact([-0.45]) is None
    assert test.first_contact([0.45]) == ('c', 'd')
    assert checker.posture == {'to_b': 3.0, 'to_c': 0.0, 'to_d': 0.0}
    swapped = checker.for_joints(['to_d', 'to_b'])
    assert swapped.first_contact([-0.45, 1.0]) == ('c', 'd')
    for names, error in ((['to_c', 'to_c'], ArgumentError), (['other'], UnknownJointError)):
        with pytest.raises(error):
            checker.for_joints(names)
    for q in ([0.0, 0.0], [np.nan], np.array([np.inf]), ['x'], None):
        with pytest.raises(ArgumentError):
            test.first_contact(q)


def test_many_postures_give_what_single_ones_give_on_any_number_of_threads():
    checker = CollisionChecker(Robot.from_urdf(arm_path('ur5e')))
    checker.add('table', Box((2.0, 2.0, 0.1)), at(0, 0, -0.2))
    checker.attach('tool', Cylinder(0.05, 0.3), 'tool0', pose=at(0, 0, 0.2))
    test = checker.for_joints(checker.joint_names)
    Q = np.random.default_rng(1).uniform(-3, 3, (400, 6))
    expected = [test.first_contact(q) is not None for q in Q]
    assert 0 < sum(expected) < len(Q)
    for threads in (1, 2, 5):
        assert test.colliding(Q, threads).tolist() == expected
    assert test.colliding(np.empty((0, 6))).tolist() == []
    assert checker.statistics.count == 4 * len(Q)
    assert 0.0 < checker.statistics.mean <= checker.statistics.longest
    Q[3, 2] = np.nan
    for wrong in (Q, Q[:, :5], Q[0], 'x'):
        with pytest.raises(ArgumentError):
            test.colliding(wrong)
    with pytest.raises(ArgumentError):
        test.colliding(Q[:1], threads=0)


def test_attached_objects_move_with_their_link_and_may_touch_what_they_are_told():
    checker = row()
    checker.attach('tool', SMALL, 'b', pose=at(0.3))
    assert checker.contacts({'to_b': 0.15}) == (('c', 'tool'),)
    checker.attach('tool', SMALL, 'b', ('c', 'no_such_link'), pose=at(0.3))
    assert checker.contacts({'to_b': 0.15}) == ()
    checker.move('tool', at(0.8))
    assert checker.contacts({'to_b': 0.15}) == (('d', 'tool'),)
    checker.attach('other', SMALL, 'b', pose=at(0.8))
    checker.attach('third', SMALL, 'c', pose=at(0, 0.3))
    checker.attach('fourth', SMALL, 'd', pose=at(-0.5, 0.3))
    assert checker.contacts({}) == (('third', 'fourth'),)
    checker.clear()
    assert not checker.attached


def test_an_object_is_taken_along_and_put_down():
    checker = row(2)
    checker.add('cup', SMALL, at(0.5, 0.2))
    checker.attach('cup', None, 'b')
    assert not checker.objects
    np.testing.assert_allclose(checker.attached['cup'].pose, at(0, 0.2))
    checker.detach('cup', q={'to_b': 1.0})
    assert not checker.attached
    np.testing.assert_allclose(checker.objects['cup'].pose, at(1.5, 0.2))
    checker.attach('cup', None, 'b', q={'to_b': 1.0})
    np.testing.assert_allclose(checker.attached['cup'].pose, at(0, 0.2), atol=1e-12)
    for change in (
        lambda: checker.attach('none', None, 'b'),
        lambda: checker.detach('none'),
        lambda: checker.move('none', FAR),
        lambda: checker.remove('none'),
    ):
        with pytest.raises(UnknownObjectError, match='unknown object'):
            change()


def test_shapes_are_appended_in_the_frame_of_the_object():
    checker = row(2)
    checker.add('pair', SMALL, at(3.0))
    checker.add('pair', [(SMALL, at(1.0))], append=True)
    checker.add('pair', SMALL, at(3.0, 2.0), append=True)
    poses = [T[:3, 3].tolist() for _, T in checker.objects['pair'].shapes]
    assert poses == [[0, 0, 0], [1, 0, 0], [0, 2, 0]]
    assert checker.contacts({'to_b': 3.5}) == (('b', 'pair'),)
    checker.add('pair', SMALL, FAR)
    assert len(checker.objects['pair'].shapes) == 1


def test_what_never_moves_collides_as_well():
    checker = row(2)
    checker.add('floor', Box((9.0, 9.0, 0.02)), at(0, 0, -0.055))
    assert checker.contacts({}) == (('a', 'floor'), ('b', 'floor'))
    test = checker.for_joints(['to_b'])
    assert test.first_contact([0.0]) == ('a', 'floor')
    assert test.colliding([[0.0], [1.0]]).tolist() == [True, True]
    moving = test.of_motion()
    assert moving.first_contact([0.0]) == ('b', 'floor')
    checker.add('floor', Box((0.05, 0.05, 0.02)), at(0, 0, -0.055))
    assert test.contacts([0.0]) == (('a', 'floor'),)
    assert moving.contacts([0.0]) == moving.contact_points([0.0]) == ()
    assert moving.colliding([[0.0], [1.0]]).tolist() == [False, False]
    assert moving.lines().free(np.array([[0.0], [1.0]]), 0.01)[0]
    assert not test.lines().free(np.array([[0.0], [1.0]]), 0.01)[0]
    checker.move('floor', at(0, 0, -0.061))
    assert checker.contacts({}) == ()


def test_a_snapshot_stays_as_it_is():
    checker = row(2)
    checker.add('wall', SMALL, at(0.5))
    before = checker.world
    free = checker.with_world(World())
    assert free.contacts({}) == ()
    assert checker.contacts({}) == (('b', 'wall'),)
    checker.clear()
    assert (*before.objects,) == ('wall',)
    checker.set_world(before)
    assert checker.contacts({}) == (('b', 'wall'),)
    with pytest.raises(TypeError):
        before.objects['wall'] = None
    with pytest.raises(ValueError, match='read-only'):
        before.objects['wall'].pose[0, 3] = 1.0
    with pytest.raises(UnknownLinkError):
        checker.set_world(World().with_attached(AttachedObject('tool', SMALL, 'nowhere')))
    with pytest.raises(CollisionObjectError, match='link'):
        checker.set_world(World().with_object(WorldObject('b', SMALL)))
    assert checker.world is before


def test_threads_check_while_the_world_changes():
    checker = row(3)
    test = checker.for_joints(['to_b'])

    def change():
        for _ in range(200):
            checker.add('wall', SMALL, at(3.5))
            checker.attach('tool', SMALL, 'b', pose=at(0, 0.3))
            checker.remove('wall')
            checker.detach('tool')

    with ThreadPoolExecutor(4) as pool:
        changing = pool.submit(change)
        found = set(pool.map(lambda _: test.first_contact([3.0]), range(2000)))
        changing.result()
    assert found <= {None, ('b', 'wall')}


def test_a_robot_without_geometry_meets_the_world_with_what_it_carries():
    checker = CollisionChecker(Robot.from_urdf(slider('', '')))
    assert not checker.has_geometry
    checker.add('wall', SMALL, at(0.5))
    assert not checker.in_collision({})
    checker.attach('tool', SMALL, 'b')
    assert checker.contacts({}) == (('tool', 'wall'),)


def test_without_coal_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, 'coal', None)
    with pytest.raises(MissingExtraError, match=r'coal is not installed.*\[collision\]'):
        row(2)


def test_arguments_are_checked():
    robot = Robot.from_urdf(slider(solid(BOX)))
    with pytest.raises(ArgumentError, match='robot'):
        CollisionChecker('urdf/panda.urdf')
    with pytest.raises(ArgumentError, match='missing_meshes'):
        CollisionChecker(robot, missing_meshes='maybe')


def test_a_checker_can_be_pickled_with_its_world_and_posture():
    robot = Robot.from_urdf(arm_path('panda'))
    checker = CollisionChecker(robot)
    ready = robot.chain().joint_vector(robot.group_states('panda_arm')['ready'])
    checker.add('box', [(iks.Box((0.1, 0.2, 0.3)), np.eye(4))], at(0.5, 0.0, 0.5))
    checker.attach('rod', iks.Cylinder(0.02, 0.4), 'panda_hand', ('panda_leftfinger',))
    checker.posture = {'panda_finger_joint1': 0.03}
    contacts = checker.contacts(ready)
    assert contacts
    other = pickle.loads(pickle.dumps(checker))
    assert other.contacts(ready) == contacts
    assert other.posture == checker.posture
    checker.clear()
    assert [*other.objects, *other.attached] == ['box', 'rod']
