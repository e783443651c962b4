"""Bodies that may touch: the matrix, and what checks make of it."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from support.solid_arms import at, slider, solid

from ik_service import Box, CollisionChecker, Robot
from ik_service.collision.allowed_collisions import AllowedCollisions, MOST_NAMES
from ik_service.exceptions import ArgumentError

SMALL = Box((0.1, 0.1, 0.1))
B_ON_C = {'to_b': 0.5}


@pytest.fixture
def row():
    """Cubes of 0.1 m in a row, 0.5 m apart: a stands, b, c, d slide along the row."""
    pytest.importorskip('coal', reason='Coal comes with the extra collision')
    return CollisionChecker(Robot.from_urdf(slider(*[solid()] * 4)))


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


def test_pairs_without_an_entry_stay_so_when_others_get_one():
    matrix = AllowedCollisions().with_pair('a', 'b', True).with_pair('b', 'c', False)
    assert [matrix.allows(*pair) for pair in ('ab', 'bc', 'ac')] == [True, False, None]
    assert matrix.with_pair('a', 'b', None).allows('a', 'b') is None
    assert matrix.with_default('a', True).allows('a', 'c') is True
    assert matrix.with_default('a', True).with_default('a', None).allows('a', 'c') is None
    left = matrix.with_default('c', True).without(['b', 'unknown'])
    assert (left.names, dict(left.defaults)) == (('a', 'c'), {'c': True})
    assert matrix.without(['unknown']) is matrix


def test_of_entries_that_contradict_each_other_the_upper_one_counts():
    matrix = AllowedCollisions.of_matrix('ab', [[0, 1], [0, 0]])
    assert matrix.allows('b', 'a') is True


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
    pytest.importorskip('coal', reason='Coal comes with the extra collision')
    srdf = '<robot name="slider"><disable_default_collisions link="b"/></robot>'
    row = CollisionChecker(Robot.from_urdf(slider(*[solid()] * 4), srdf=srdf))
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
