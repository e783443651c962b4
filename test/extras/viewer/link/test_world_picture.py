"""The world on the page, read from markers."""

from __future__ import annotations

import math

import numpy as np
import pytest

pytest.importorskip('viser', reason="viser comes with the extra 'viewer'")
pytest.importorskip('visualization_msgs.msg', reason='visualization_msgs is not installed')

from builtin_interfaces.msg import Time
from visualization_msgs.msg import Marker, MarkerArray

from ik_service.collision import shapes
from ik_service.collision.world import AttachedObject, World, WorldObject
from ik_service.common.transforms import transform_from_xyz_rpy
from ik_service.exceptions import IkServiceError
from ik_service.extras.viewer.link.world_picture import MOST_MARKERS, read_world_picture
from ik_service.model.geometry.link_geometry import CollisionGeometry
from ik_service.model.geometry.solids import Box, Cylinder, Sphere
from ik_service.ros.markers.world_markers import world_marker_array, WorldScene

T = transform_from_xyz_rpy((0.1, 0.2, 0.3), (0.4, 0.5, 0.6))


def test_what_the_node_sends_is_what_the_page_shows():
    mesh = shapes.Mesh(np.eye(3), [[0, 1, 2]])
    pile = [shapes.Box((1, 2, 3)), shapes.Sphere(0.5), shapes.Cylinder(0.2, 3.0), mesh]
    world = World(
        {'pile': WorldObject('pile', pile, T), 'p': WorldObject('p', shapes.Plane((0, 0, 1, 0)))},
        {'tool': AttachedObject('tool', shapes.Cone(0.1, 0.2), 'hand', (), T)},
    )
    links = [CollisionGeometry('arm/upper', Sphere(0.1), np.eye(4))]
    contacts = [('arm/upper', 'pile')]
    scene = WorldScene('base', world, contacts, links, ['a remark'])
    picture = read_world_picture(world_marker_array(scene, Time()))
    assert picture.colliding_links == {'arm/upper'}
    assert (picture.contacts, picture.remarks) == (('arm/upper with pile',), ('a remark',))
    tool, box, ball, rod, triangle, floor = picture.parts
    assert [part.link for part in picture.parts] == ['hand', *5 * ['base']]
    assert [box.geometry, ball.geometry, rod.geometry] == [
        Box((1, 2, 3)),
        Sphere(0.5),
        Cylinder(0.2, 3.0),
    ]
    np.testing.assert_array_equal(triangle.geometry.vertices, np.eye(3))
    assert tool.geometry.faces.max() == len(tool.geometry.vertices) - 1
    assert floor.opacity < 1.0
    assert box.opacity is None
    assert box.color == ball.color != tool.color
    for part in (tool, box, rod, triangle):
        np.testing.assert_allclose(part.T_link_geometry, T, atol=1e-12)


def marker(**fields):
    made = Marker(ns='objects', id=7, type=Marker.CUBE)
    made.scale.x = made.scale.y = made.scale.z = made.pose.orientation.w = 1.0
    for name, value in fields.items():
        setattr(made, name, value)
    return made


def triangles(*numbers):
    from geometry_msgs.msg import Point

    points = [Point(x=number) for number in numbers]
    return marker(type=Marker.TRIANGLE_LIST, points=points)


def resized(x):
    made = marker()
    made.scale.x = x
    return made


def turned(w):
    made = marker()
    made.pose.orientation.w = w
    return made


@pytest.mark.parametrize(
    ('bad', 'complaint'),
    [
        (marker(type=Marker.ARROW), 'marker 7 of objects: type 0 is not known'),
        (resized(0.0), 'no size'),
        (resized(math.nan), 'no size'),
        (turned(0.0), 'zero quaternion'),
        (turned(math.inf), 'finite'),
        (triangles(0.0, 1.0), '2 points make no triangles'),
        (triangles(0.0, 1.0, math.nan), 'no triangles'),
        (triangles(), '0 points'),
    ],
)
def test_a_faulty_marker_is_refused(bad, complaint):
    with pytest.raises(IkServiceError, match=complaint):
        read_world_picture(MarkerArray(markers=[marker(), bad]))


def test_foreign_and_further_markers_are_ignored():
    foreign = [marker(ns='trail', type=Marker.LINE_STRIP), marker(action=Marker.DELETE)]
    many = [marker()] * (MOST_MARKERS + 1)
    picture = read_world_picture(MarkerArray(markers=[*foreign, *many]))
    assert len(picture.parts) == MOST_MARKERS - len(foreign)
