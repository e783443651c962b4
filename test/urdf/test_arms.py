"""Properties of every arm of the project: bodies, primitives, colours, inertias."""

import numpy as np
import pytest
from support.chains import arm_path
from urdf_parser_py import urdf

from ik_service import Robot

ARMS = ('panda', 'ur5e', 'planar_6r', 'upper_body')
BENT = ('shoulder_pitch', 'shoulder_roll', 'elbow')
NATURAL_POSTURES = [
    ('panda', (0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785, 0.02, 0.02)),
    ('ur5e', (0.0, -1.57, 1.57, -1.57, -1.57, 0.0)),
    ('planar_6r', (0.6, -0.4, 0.5, -0.7, -0.6, 0.5)),
    ('upper_body', {}),
    ('upper_body', {f'{side}_{name}': 0.6 for side in ('left', 'right') for name in BENT}),
]


@pytest.fixture(params=ARMS)
def arm(request):
    return request.param


@pytest.fixture
def description(arm):
    return urdf.URDF.from_xml_file(str(arm_path(arm)))


def test_file_is_named_after_its_robot(arm, description):
    assert description.name == arm


def test_bodies_have_visual_and_collision(description):
    moved = {joint.child for joint in description.joints if joint.type != 'fixed'}
    bodies = [link for link in description.links if link.name in moved or link.inertial]
    assert len(bodies) >= 6
    for link in bodies:
        assert link.visuals, f'{link.name} cannot be seen'
        assert link.collisions, f'{link.name} cannot collide'


def test_geometry_is_primitive_and_has_a_size(description):
    primitives = (urdf.Box, urdf.Cylinder, urdf.Sphere)
    for link in description.links:
        for element in (*link.visuals, *link.collisions):
            assert isinstance(element.geometry, primitives), link.name
            sizes = np.hstack([np.ravel(value) for value in vars(element.geometry).values()])
            assert np.all(sizes > 0), link.name
            assert np.all(sizes < 0.6), f'{link.name}: larger than any part of these arms'


def test_visuals_use_colours_that_are_defined(description):
    defined = {material.name for material in description.materials if material.color}
    used = {visual.material.name for link in description.links for visual in link.visuals}
    assert used == defined


def test_inertias_are_physical(description):
    for link in description.links:
        if link.inertial is None:
            continue
        smallest, middle, largest = np.linalg.eigvalsh(link.inertial.inertia.to_matrix())
        assert link.inertial.mass > 0, link.name
        assert smallest > 0, link.name
        assert smallest + middle >= largest, f'{link.name}: no body has this tensor'


@pytest.mark.parametrize(('arm', 'posture'), NATURAL_POSTURES)
def test_no_link_collides_at_a_natural_posture(arm, posture):
    pin = pytest.importorskip('pinocchio')
    model = pin.buildModelFromUrdf(str(arm_path(arm)))
    geometry = pin.buildGeomFromUrdf(model, str(arm_path(arm)), pin.GeometryType.COLLISION)
    geometry.addAllCollisionPairs()
    parts = geometry.geometryObjects
    for i, j in [(pair.first, pair.second) for pair in geometry.collisionPairs]:
        a, b = parts[i].parentJoint, parts[j].parentJoint
        # Neighbours overlap at the joint between them, by design.
        if a == b or model.parents[a] == b or model.parents[b] == a:
            geometry.removeCollisionPair(pin.CollisionPair(i, j))
    data, geometry_data = model.createData(), geometry.createData()
    if not isinstance(posture, dict):
        names = Robot.from_urdf(arm_path(arm)).movable_joint_names
        posture = dict(zip(names, posture, strict=True))
    q = np.zeros(model.nq)
    for name, value in posture.items():
        q[model.joints[model.getJointId(name)].idx_q] = value
    pin.computeCollisions(model, data, geometry, geometry_data, q, False)
    assert len(geometry.collisionPairs) > 40
    collisions = [
        (parts[pair.first].name, parts[pair.second].name)
        for pair, result in zip(
            geometry.collisionPairs, geometry_data.collisionResults, strict=True
        )
        if result.isCollision()
    ]
    assert collisions == []
