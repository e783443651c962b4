"""Nodes of the world on the page."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip('viser', reason="viser comes with the extra 'viewer'")

from ik_service.common.transforms import rigid_transform
from ik_service.extras.viewer.scene.meshes import Mesh
from ik_service.extras.viewer.scene.models import WorldModel
from ik_service.extras.viewer.scene.parts import Part
from ik_service.extras.viewer.server import page
from ik_service.model.geometry.link_geometry import Box, Sphere

TRIANGLE = Mesh(np.eye(3, dtype=np.float32), np.array([[0, 1, 2]], dtype=np.uint32))
POSES = {'base': np.eye(4), 'arm/hand': rigid_transform(None, (0, 0, 1))}
GREEN, RED = (0.0, 1.0, 0.0), (1.0, 0.0, 0.0)


def part(link, geometry, x=0.0, color=GREEN):
    return Part(link, geometry, rigid_transform(None, (x, 0, 0)), color)


@pytest.fixture
def scene():
    served = page.serve('127.0.0.1', 0, False)
    yield served.server.scene
    page.close(served)


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
