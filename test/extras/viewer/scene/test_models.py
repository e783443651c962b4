"""Arms and objects in the scene of the page."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip('viser', reason="viser comes with the extra 'viewer'")

from ik_service.common.transforms import rigid_transform
from ik_service.extras.viewer.scene.meshes import Mesh
from ik_service.extras.viewer.scene.models import ArmModel, GHOST, WorldModel
from ik_service.extras.viewer.scene.parts import Part
from ik_service.extras.viewer.scene.scene import Trail
from ik_service.model.geometry.solids import Box, Cylinder, Sphere

TRIANGLE = Mesh(np.eye(3, dtype=np.float32), np.array([[0, 1, 2]], dtype=np.uint32))


@pytest.fixture
def scene(server):
    return server.scene


def parts():
    geometries = (Box((1.0, 2.0, 3.0)), Cylinder(0.1, 0.4), Sphere(0.2), TRIANGLE)
    links = ('base', 'base', 'arm/upper', 'arm/upper')
    return [
        Part(link, geometry, np.eye(4), (1.0, 0.5, 0.0))
        for link, geometry in zip(links, geometries, strict=True)
    ]


def at(x, angle=0.0):
    T = np.eye(4)
    T[0, 3] = x
    T[:2, :2] = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
    return T


def test_parts_move_with_their_links(scene):
    arm = ArmModel(scene, '/arm', ['base', 'bare', 'arm/upper'], parts())
    assert not arm.visible
    arm.visible = True
    arm.place({'base': at(1.0), 'bare': at(2.0), 'arm/upper': at(3.0, np.pi / 2)})
    assert scene.get_handle_by_name('/arm').visible
    upper = scene.get_handle_by_name('/arm/1')
    assert upper.position.tolist() == [3.0, 0.0, 0.0]
    assert np.allclose(np.abs(upper.wxyz), [np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5)])
    assert scene.get_handle_by_name('/arm/0/1').radius == 0.1


def test_a_ghost_shows_only_where_it_differs(scene):
    ghost = ArmModel(scene, '/ghost', ['base', 'arm/upper'], parts(), GHOST)
    here = {'base': at(0.0), 'arm/upper': at(1.0)}
    ghost.place({**here, 'arm/upper': at(1.0, 0.1)}, beside=here)
    assert not scene.get_handle_by_name('/ghost/0').visible
    assert scene.get_handle_by_name('/ghost/1').visible
    assert scene.get_handle_by_name('/ghost/0/0').opacity == GHOST.opacity


def test_it_can_be_removed_and_added_again(scene):
    ArmModel(scene, '/arm', ['base'], parts()[:1]).remove()
    assert scene.get_handle_by_name('/arm/0') is None
    ArmModel(scene, '/arm', ['base'], parts()[:1]).place({'base': at(5.0)})
    assert scene.get_handle_by_name('/arm/0').position[0] == 5.0


def test_a_robot_without_visible_parts(scene):
    ArmModel(scene, '/arm', ['base'], []).place({'base': at(0.0)})


def test_links_are_highlighted_and_get_their_colours_back(scene):
    arm = ArmModel(scene, '/arm', ['base', 'arm/upper'], parts())
    base, upper = scene.get_handle_by_name('/arm/0/0'), scene.get_handle_by_name('/arm/1/2')
    own = upper.color
    arm.highlight(frozenset({'arm/upper', 'bare'}))
    assert upper.color != own
    assert base.color == own
    arm.highlight(frozenset({'base'}))
    assert upper.color == own
    assert base.color != own


POSES = {'base': np.eye(4), 'arm/hand': rigid_transform(None, (0, 0, 1))}
GREEN, RED = (0.0, 1.0, 0.0), (1.0, 0.0, 0.0)


def part(link, geometry, x=0.0, color=GREEN):
    return Part(link, geometry, rigid_transform(None, (x, 0, 0)), color)


def test_attached_parts_move_with_their_links(scene):
    world = WorldModel(scene, '/world')
    world.show([part('base', Box((1, 2, 3)), 1.0), part('arm/hand', Sphere(0.1), 2.0)], POSES)
    box, ball = (scene.get_handle_by_name(f'/world/{i}') for i in range(2))
    assert ball.position.tolist() == [2.0, 0.0, 1.0]
    world.place({**POSES, 'arm/hand': rigid_transform(None, (0, 0, 4))})
    assert ball.position.tolist() == [2.0, 0.0, 4.0]
    assert box.position.tolist() == [1.0, 0.0, 0.0]
    assert world.visible
    world.visible = False
    assert not scene.get_handle_by_name('/world').visible


def test_colours_and_poses_change_in_place_and_shapes_are_exchanged(scene):
    world = WorldModel(scene, '/world')
    parts = [part('base', TRIANGLE), part('base', Box((1, 2, 3))), part('base', Sphere(0.1))]
    world.show(parts, POSES)
    nodes = [scene.get_handle_by_name(f'/world/{i}') for i in range(3)]
    moved = part('base', Mesh(TRIANGLE.vertices.copy(), TRIANGLE.faces), 5.0, RED)
    world.show([moved, part('base', Sphere(0.2))], POSES)
    assert scene.get_handle_by_name('/world/0') is nodes[0]
    assert nodes[0].color == (255, 0, 0)
    assert nodes[0].position.tolist() == [5.0, 0.0, 0.0]
    assert scene.get_handle_by_name('/world/1').radius == 0.2
    assert scene.get_handle_by_name('/world/2') is None
    world.show([replace(moved, opacity=0.5)], POSES)
    assert scene.get_handle_by_name('/world/0').opacity == 0.5
    world.remove()
    assert scene.get_handle_by_name('/world') is None


def test_parts_of_links_that_the_robot_does_not_have_are_not_shown(scene):
    world = WorldModel(scene, '/world')
    world.show([part('nowhere', Sphere(0.1)), part('base', Sphere(0.2))], POSES)
    assert scene.get_handle_by_name('/world/0').radius == 0.2
    assert scene.get_handle_by_name('/world/1') is None
    world.place(POSES)


def test_segments_have_a_least_length_and_the_oldest_are_dropped():
    trail = Trail(length=3, step=0.09)
    assert trail.segments().shape == (0, 2, 3)
    assert trail.add(np.zeros(3))
    assert not trail.add(np.array([0.05, 0.0, 0.0]))
    for x in (0.1, 0.2, 0.3, 0.4):
        assert trail.add(np.array([x, 0.0, 0.0]))
    segments = trail.segments()
    assert np.allclose(segments[:, :, 0], [[0.1, 0.2], [0.2, 0.3], [0.3, 0.4]])
    colors = trail.colors((200, 0, 0), (100, 0, 0))
    assert colors.shape == segments.shape
    assert colors[0, 0, 0] == 100
    assert colors[-1, -1, 0] == 200
    trail.clear()
    assert len(trail.segments()) == 0
