"""Padded and scaled links, against distances that are known."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
from support.solid_arms import at, slider, solid

from ik_service import Box, Capsule, CollisionChecker, Cone, Cylinder, Mesh, Plane, Robot, Sphere
from ik_service.collision.link_padding import LinkPadding
from ik_service.exceptions import ArgumentError, UnknownLinkError

SMALL = Box((0.1, 0.1, 0.1))
SHAPES = ('<box size="0.1 0.1 0.1"/>', '<sphere radius="0.05"/>')


def row(geometry=SHAPES[0]):
    """Four bodies in a row, 0.5 m apart and 0.05 m to each side."""
    pytest.importorskip('coal', reason='Coal comes with the extra collision')
    return CollisionChecker(Robot.from_urdf(slider(*[solid(geometry)] * 4)))


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
    checker = row(geometry)
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


def test_links_are_checked_against_each_other_without_padding():
    checker = row()
    checker.pad('b', 0.5)
    checker.pad('c', scale=20.0)
    assert checker.contacts({}) == ()
    assert checker.contacts({'to_b': 0.41}) == (('b', 'c'),)


def test_what_a_link_carries_is_padded_like_it():
    checker = row()
    checker.attach('tool', SMALL, 'd', pose=at(-0.3))  # 0.1 m from c
    checker.add('ball', Sphere(0.05), at(1.2, 0.2))  # 0.1 m from the tool
    assert checker.contacts({}) == ()
    checker.pad('d', 0.11)
    assert checker.contacts({}) == (('tool', 'ball'),)
    assert checker.contacts({'to_d': 0.2, 'to_c': 0.29}) == ()  # 0.01 m from c, which is a link
    checker.pad('d', 0.0, 3.1)
    assert checker.contacts({}) == (('tool', 'ball'),)
    checker.pad('d', 0.0, 1.0)
    assert checker.contacts({}) == ()


def test_a_scaled_link_is_larger_about_its_own_origin():
    checker = row()
    checker.add('wall', *wall(1.65))
    checker.pad('d', scale=2.99)
    assert checker.contacts({}) == ()
    checker.pad('d', scale=3.01)
    assert checker.contacts({}) == (('d', 'wall'),)
    checker.pad('d', 0.05, 2.01)  # both
    assert checker.contacts({}) == (('d', 'wall'),)
    checker.add('wall', *wall(1.53))
    checker.pad('d', 0.0, 0.5)
    assert checker.contacts({}) == ()
    checker.pad('d', scale=0.7)
    assert checker.contacts({}) == (('d', 'wall'),)


def test_every_shape_is_scaled():
    mesh = plate(1.0)
    checker = row()
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


def test_padding_holds_for_an_allowed_pair_as_well():
    checker = row()
    checker.add('wall', *wall(1.65))
    checker.pad('d', 0.2)
    checker.allow('d', 'wall')
    assert checker.contacts({}) == ()
    checker.allow('d', 'wall', None)
    assert pickle.loads(pickle.dumps(checker)).contacts({}) == (('d', 'wall'),)


@pytest.mark.parametrize('value', [-0.1, math.nan, math.inf, 'much', None])
def test_faulty_values_name_the_link_and_change_nothing(value):
    with pytest.raises(ArgumentError, match="padding of 'd'"):
        LinkPadding(padding={'d': value})
    with pytest.raises(ArgumentError, match="scale of 'd'"):
        LinkPadding(scale={'d': 0.0 if value is None else value})


def test_unknown_links_are_refused():
    with pytest.raises(UnknownLinkError):
        row().pad('nowhere', 0.1)
