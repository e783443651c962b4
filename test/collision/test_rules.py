"""Bodies that may touch, padded and scaled links, and what checks make of them."""

import math
import pickle

import numpy as np
import pytest
from support.solids import at, slider, solid

from ik_service import Box, Capsule, CollisionChecker, Cone, Cylinder, Mesh, Plane, Robot, Sphere
from ik_service.collision.rules import AllowedCollisions, LinkPadding, MOST_NAMES
from ik_service.exceptions import ArgumentError, UnknownLinkError

SMALL = Box((0.1, 0.1, 0.1))
B_ON_C = {'to_b': 0.5}


@pytest.fixture
def row():
    return row_of()


SHAPES = ('<box size="0.1 0.1 0.1"/>', '<sphere radius="0.05"/>')


def row_of(geometry=SHAPES[0], srdf=None):
    """Four bodies in a row, 0.5 m apart and 0.05 m to each side: a stands, b, c, d slide."""
    pytest.importorskip('coal', reason='Coal comes with the extra collision')
    return CollisionChecker(Robot.from_urdf(slider(*[solid(geometry)] * 4), srdf=srdf))


def test_entries_count_before_defaults_and_a_default_that_checks_before_one_that_allows():
    matrix = AllowedCollisions.of_matrix(
        ['hand', 'box', 'lid'],
        [[0, 1, 0], [1, 0, 0], [0, 0, 0]],
        ['hand', 'cup', 'wall'],
        [True, True, False],
    )
    assert matrix.allows('hand', 'box') is matrix.allows('box', 'hand') is True
    assert matrix.allows('hand', 'lid') is False  # in spite of the default of the hand
    assert matrix.allows('hand', 'anything') is True
    assert matrix.allows('hand', 'cup') is True
    assert matrix.allows('cup', 'wall') is False
    assert matrix.allows('box', 'anything') is None
    contradicting = AllowedCollisions.of_matrix('ab', [[0, 1], [0, 0]])
    assert contradicting.allows('b', 'a') is True  # the upper entry counts


def test_pairs_without_an_entry_stay_so_when_others_get_one():
    matrix = AllowedCollisions().with_pair('a', 'b', True).with_pair('b', 'c', False)
    assert [matrix.allows(*pair) for pair in ('ab', 'bc', 'ac')] == [True, False, None]
    assert matrix.with_pair('a', 'b', None).allows('a', 'b') is None
    assert matrix.with_default('a', True).allows('a', 'c') is True
    assert matrix.with_default('a', True).with_default('a', None).allows('a', 'c') is None
    left = matrix.with_default('c', True).without(['b', 'unknown'])
    assert (left.names, dict(left.defaults)) == (('a', 'c'), {'c': True})
    assert matrix.without(['unknown']) is matrix


def test_the_whole_matrix_has_the_pairs_of_the_robot_where_nothing_is_said():
    matrix = AllowedCollisions().with_pair('a', 'b', False).with_default('d', False)
    own = np.array([[0, 1, 1, 1], [1, 0, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0]], bool)
    found = matrix.resolved('abcd', own)
    expected = [[1, 0, 1, 0], [0, 1, 0, 0], [1, 0, 1, 0], [0, 0, 0, 1]]
    np.testing.assert_array_equal(found, np.array(expected, bool))
    again = AllowedCollisions.of_matrix('abcd', found, ['d'], [False])
    np.testing.assert_array_equal(again.resolved('abcd', own), found)


@pytest.mark.parametrize(
    ('arguments', 'field'),
    [
        ((['a', 'b'], [[0, 1]]), 'entry_values'),
        ((['a', 'a'], np.zeros((2, 2))), 'entry_names'),
        (([''], np.zeros((1, 1))), 'entry_names'),
        (([], np.zeros((0, 0)), ['a'], []), 'default_entry_values'),
        (([], np.zeros((0, 0)), ['a', 'a'], [True, True]), 'default_entry_names'),
        (([str(i) for i in range(MOST_NAMES + 1)], np.zeros((1, 1))), 'entry_names'),
    ],
)
def test_faulty_matrices_are_refused_by_name(arguments, field):
    with pytest.raises(ArgumentError) as caught:
        AllowedCollisions.of_matrix(*arguments)
    assert caught.value.argument == field


def test_links_may_touch_or_are_checked_in_spite_of_the_pairs_of_the_robot(row):
    assert row.contacts(B_ON_C) == (('b', 'c'),)
    row.allow('b', 'c')
    assert row.contacts(B_ON_C) == ()
    assert row.contacts({'to_b': -0.5}) == ()  # a and b are adjacent
    row.allow('a', 'b', False)
    assert row.contacts({'to_b': -0.5}) == (('a', 'b'),)
    row.allow('b', 'c', None)
    assert row.contacts(B_ON_C) == (('b', 'c'),)


def test_objects_may_touch_some_links_or_all(row):
    row.add('box', Box((1.0, 0.1, 0.1)), at(0.75))
    assert row.contacts({}) == (('b', 'box'), ('c', 'box'))
    row.allow('box', 'b')
    assert row.contacts({}) == (('c', 'box'),)
    row.allow('box')
    assert row.contacts({}) == ()
    assert not row.in_collision({})
    assert not row.for_joints(['to_b', 'to_c', 'to_d']).colliding(np.zeros((3, 3))).any()
    row.allow('box', 'b', False)  # the entry counts before the default
    assert row.contacts({}) == (('b', 'box'),)
    assert row.for_joints(['to_b', 'to_c', 'to_d']).colliding(np.zeros((3, 3))).all()


def test_what_never_moves_may_touch_an_object(row):
    row.add('floor', SMALL, at(0.0))
    assert row.contacts({}) == (('a', 'floor'),)
    assert row.for_joints(['to_b']).colliding([[0.0]]).all()
    row.allow('a', 'floor')
    assert row.contacts({}) == ()
    assert not row.for_joints(['to_b']).colliding([[0.0]]).any()


def test_attached_objects_may_touch_links_objects_and_each_other(row):
    row.attach('tool', SMALL, 'd', pose=at(-0.5))  # in c
    row.attach('lamp', SMALL, 'b', pose=at(0.52))  # in c, too
    row.add('box', SMALL, at(1.04))
    row.allow('c')
    row.allow('c', 'box', True)
    assert row.contacts({}) == (('tool', 'lamp'), ('tool', 'box'), ('lamp', 'box'))
    row.allow('tool', 'lamp')
    row.allow('box')
    assert row.contacts({}) == ()
    row.allow('c', None, None)
    assert {pair[1] for pair in row.contacts({})} == {'tool', 'lamp'}


def test_a_link_that_the_srdf_checks_with_nothing_can_be_checked_with_an_object():
    row = row_of(srdf='<robot name="slider"><disable_default_collisions link="b"/></robot>')
    row.add('box', SMALL, at(0.5))
    assert row.contacts(B_ON_C) == ()
    row.allow('b', 'box', False)
    assert row.contacts({}) == (('b', 'box'),)
    assert row.contacts(B_ON_C) == ()  # b and c still are not


def test_the_rules_belong_to_the_world_and_travel_with_it(row):
    row.add('box', SMALL, at(0.5))
    before = row.world
    row.allow('box', 'b')
    assert row.contacts({}) == ()
    assert row.with_world(before).contacts({}) == (('b', 'box'),)
    assert row.contacts({}) == ()
    other = pickle.loads(pickle.dumps(row))
    assert other.contacts({}) == ()
    row.clear()
    row.add('box', SMALL, at(0.5))
    assert row.contacts({}) == ()  # a matrix names bodies, whether they are there or not
    row.set_world(before)
    assert row.contacts({}) == (('b', 'box'),)


def test_faulty_rules_change_nothing(row):
    row.add('box', SMALL, at(0.5))
    with pytest.raises(ArgumentError):
        row.allow('box', 'box')
    with pytest.raises(ArgumentError):
        row.allow('')
    assert row.contacts({}) == (('b', 'box'),)


def wall(x):
    """A box whose near side is at x."""
    return Box((0.2, 2.0, 2.0)), at(x + 0.1)


def plate(x):
    """A wall of triangles at x."""
    corners = [(x, y, z) for y in (-1.0, 1.0) for z in (-1.0, 1.0)]
    return Mesh(corners, [(0, 1, 2), (1, 3, 2)])


@pytest.mark.parametrize('geometry', SHAPES)
@pytest.mark.parametrize('other', ['wall', 'plate', 'plane', 'ball'])
def test_a_padded_link_is_in_contact_within_the_padding_and_not_beyond(geometry, other):
    checker = row_of(geometry)
    x = 1.5 + 0.05 + 0.1  # 0.1 m from d
    shape, pose = {
        'wall': wall(x),
        'plate': (plate(x), None),
        'plane': (Plane((1.0, 0.0, 0.0, -x)), None),
        'ball': (Sphere(0.2), at(x + 0.2)),
    }[other]
    checker.add('other', shape, pose)
    checker.pad('d', 0.0999)
    assert checker.contacts({}) == ()
    checker.pad('d', 0.1001)
    assert checker.contacts({}) == (('d', 'other'),)
    assert checker.in_collision({})
    (point,) = checker.contact_points({})
    assert point.depth == 0.0
    assert checker.for_joints(['to_d']).colliding([[0.0], [-0.001]]).tolist() == [True, False]
    checker.pad('d', 0.0)
    assert checker.contacts({}) == ()


def test_links_are_checked_against_each_other_without_padding(row):
    row.pad('b', 0.5)
    row.pad('c', scale=20.0)
    assert row.contacts({}) == ()
    assert row.contacts({'to_b': 0.41}) == (('b', 'c'),)


def test_what_a_link_carries_is_padded_like_it(row):
    row.attach('tool', SMALL, 'd', pose=at(-0.3))  # 0.1 m from c
    row.add('ball', Sphere(0.05), at(1.2, 0.2))  # 0.1 m from the tool
    assert row.contacts({}) == ()
    row.pad('d', 0.11)
    assert row.contacts({}) == (('tool', 'ball'),)
    assert row.contacts({'to_d': 0.2, 'to_c': 0.29}) == ()  # 0.01 m from c, which is a link
    row.pad('d', 0.0, 3.1)
    assert row.contacts({}) == (('tool', 'ball'),)
    row.pad('d', 0.0, 1.0)
    assert row.contacts({}) == ()


def test_a_plane_that_a_link_carries_is_padded_and_meets_planes(row):
    row.attach('floor', Plane((0, 0, 1, 1)), 'd')
    row.add('ball', Sphere(0.05), at(z=-0.9))
    assert row.contacts({}) == ()
    row.pad('d', 0.06)
    assert row.contacts({}) == (('floor', 'ball'),)
    row.add('ball', Plane((0, 1, 1, 9)))
    assert row.contacts({}) == (('floor', 'ball'),)
    row.add('ball', Plane((0, 0, 1, 0.9)))
    assert row.contacts({}) == ()


def test_a_scaled_link_is_larger_about_its_own_origin(row):
    row.add('wall', *wall(1.65))
    row.pad('d', scale=2.99)
    assert row.contacts({}) == ()
    row.pad('d', scale=3.01)
    assert row.contacts({}) == (('d', 'wall'),)
    row.pad('d', 0.05, 2.01)  # both
    assert row.contacts({}) == (('d', 'wall'),)
    row.add('wall', *wall(1.53))
    row.pad('d', 0.0, 0.5)
    assert row.contacts({}) == ()
    row.pad('d', scale=0.7)
    assert row.contacts({}) == (('d', 'wall'),)


def test_every_shape_is_scaled():
    mesh = plate(1.0)
    checker = row_of()
    shapes = [SMALL, Sphere(0.1), Cylinder(0.1, 0.2), Cone(0.1, 0.2), Capsule(0.1, 0.2), mesh]
    checker.attach('all', [*shapes, Plane((1.0, 0.0, 0.0, 0.0))], 'd')
    padding = LinkPadding(scale={'d': 2.0})
    scaled = [shape for shape, _ in padding.scaled('d', checker.attached['all'].solid).shapes]
    assert scaled[0].size == (0.2, 0.2, 0.2)
    assert scaled[1] == Sphere(0.2)
    assert (scaled[2], scaled[3], scaled[4]) == (
        Cylinder(0.2, 0.4),
        Cone(0.2, 0.4),
        Capsule(0.2, 0.4),
    )
    np.testing.assert_allclose(scaled[5].vertices[:, 0], 1.0)  # about its middle
    np.testing.assert_allclose(np.ptp(scaled[5].vertices, axis=0), [0.0, 4.0, 4.0])
    assert scaled[6] == Plane((1.0, 0.0, 0.0, 0.0))
    assert padding.scaled('c', checker.attached['all'].solid) is checker.attached['all'].solid


def test_padding_holds_for_an_allowed_pair_as_well(row):
    row.add('wall', *wall(1.65))
    row.pad('d', 0.2)
    row.allow('d', 'wall')
    assert row.contacts({}) == ()
    row.allow('d', 'wall', None)
    assert pickle.loads(pickle.dumps(row)).contacts({}) == (('d', 'wall'),)


@pytest.mark.parametrize('value', [-0.1, math.nan, math.inf, 'much', True, None])
def test_faulty_values_name_the_link_and_change_nothing(value):
    with pytest.raises(ArgumentError, match="padding of 'd'"):
        LinkPadding(padding={'d': value})
    with pytest.raises(ArgumentError, match="scale of 'd'"):
        LinkPadding(scale={'d': 0.0 if value is None else value})


def test_numbers_of_numpy_are_padding_and_scale():
    padding = LinkPadding({'d': np.float32(0.5)}, {'d': np.int64(2)})
    assert padding == LinkPadding({'d': 0.5}, {'d': 2.0})


def test_unknown_links_are_refused():
    with pytest.raises(UnknownLinkError):
        row_of().pad('nowhere', 0.1)
