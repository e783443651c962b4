"""Objects that the world refuses, and limits of it; a refusal changes nothing."""

import numpy as np
import pytest
from support.solids import at, cube, slider, solid

from ik_service import Box, Capsule, CollisionChecker, Cone, Cylinder, Mesh, Plane, Robot, Sphere
from ik_service.collision import world
from ik_service.collision.world import AttachedObject, World, WorldObject
from ik_service.exceptions import (
    ArgumentError,
    CollisionObjectError,
    UnknownLinkError,
    UnknownObjectError,
)

pytest.importorskip('coal', reason='Coal comes with the extra collision')

SMALL = Box((0.1, 0.1, 0.1))
VERTICES, TRIANGLES = cube()


def with_entry(value, row=0, column=3):
    T = np.eye(4)
    T[row, column] = value
    return T


@pytest.fixture
def checker():
    checker = CollisionChecker(Robot.from_urdf(slider(solid(), solid())))
    checker.add('old', SMALL, at(5))
    checker.attach('tool', SMALL, 'b', pose=at(0, 5))
    return checker


@pytest.mark.parametrize(
    ('made', 'field'),
    [
        (lambda: Box((0.0, 1.0, 1.0)), 'shapes[0].size'),
        (lambda: Box((1.0, np.inf, 1.0)), 'shapes[0].size'),
        (lambda: Sphere(0.0), 'shapes[0].radius'),
        (lambda: Cylinder(1.0, 0.0), 'shapes[0].height'),
        (lambda: Cone(np.inf, 1.0), 'shapes[0].radius'),
        (lambda: Capsule(0.1, 0.0), 'shapes[0].length'),
        (lambda: Cone(1.0, 0.0), 'shapes[0].height'),
        (lambda: Box((1e7, 1.0, 1.0)), 'shapes[0].size'),
        (lambda: (), 'shapes'),
        (lambda: None, 'shapes'),
        (lambda: 'box', 'shapes'),
        (lambda: 7, 'shapes'),
        (lambda: [SMALL] * 1001, 'shapes'),
        (lambda: [SMALL, None], 'shapes[1]'),
        (lambda: [(SMALL, np.full((4, 4), np.nan))], 'shapes[0].pose'),
        (lambda: [(SMALL, 2.0 * np.eye(4))], 'shapes[0].pose'),
        (lambda: [(SMALL, 'here')], 'shapes[0].pose'),
    ],
)
def test_faulty_shapes_are_refused(checker, made, field):
    before = checker.world
    for change in (
        lambda: checker.add('new', made()),
        lambda: checker.add('old', made()),
        lambda: checker.add('old', made(), append=True),
        lambda: checker.attach('new', made() if made() is not None else 7, 'b'),
    ):
        with pytest.raises(CollisionObjectError) as caught:
            change()
        assert caught.value.field == field
    assert checker.world is before


@pytest.mark.parametrize(
    'pose',
    [
        *(with_entry(np.nan), with_entry(np.inf), with_entry(1e7), with_entry(0.5, 3, 0)),
        *(with_entry(1.5, 0, 0), with_entry(-1.0, 2, 2), np.eye(3), 'here', [[1j] * 4] * 4),
    ],
)
def test_faulty_poses_are_refused(checker, pose):
    before = checker.world
    for change in (
        lambda: checker.add('new', SMALL, pose),
        lambda: checker.attach('new', SMALL, 'b', pose=pose),
        lambda: checker.move('old', pose),
        lambda: checker.move('tool', pose),
    ):
        with pytest.raises(CollisionObjectError, match='pose'):
            change()
    assert checker.world is before


def test_faulty_names_are_refused(checker):
    before = checker.world
    for name in ('a', 'b', 'tool', '', 'x' * 1001, None, 3, ('old',)):
        with pytest.raises(CollisionObjectError, match='name'):
            checker.add(name, SMALL)
    for name in ('a', '', None):
        with pytest.raises(CollisionObjectError, match='name'):
            checker.attach(name, SMALL, 'b')
    for link in ('nowhere', '', None, 3):
        with pytest.raises(UnknownLinkError):
            checker.attach('new', SMALL, link)
    with pytest.raises(CollisionObjectError):
        checker.attach('new', SMALL, 'b', touch_links=(3,))
    for name in (None, ['old'], 'a'):
        with pytest.raises(UnknownObjectError):
            checker.remove(name)
    assert checker.world is before


@pytest.mark.parametrize(
    ('made', 'argument'),
    [
        (lambda: Cone(-1.0, 1.0), 'radius'),
        (lambda: Capsule(1.0, -1.0), 'length'),
        (lambda: Cone(1.0, np.nan), 'height'),
        (lambda: Plane((0, 0, 0, 1)), 'coefficients'),
        (lambda: Plane((0, 0, np.nan, 1)), 'coefficients'),
        (lambda: Plane((0, 0, 1)), 'coefficients'),
        (lambda: Mesh(VERTICES, []), 'triangles'),
        (lambda: Mesh([], TRIANGLES), 'vertices'),
        (lambda: Mesh(VERTICES, TRIANGLES + 1), 'triangles'),
        (lambda: Mesh(VERTICES, TRIANGLES - 1), 'triangles'),
        (lambda: Mesh(VERTICES, TRIANGLES + 0.5), 'triangles'),
        (lambda: Mesh(VERTICES, TRIANGLES[:, :2]), 'triangles'),
        (lambda: Mesh(VERTICES * np.nan, TRIANGLES), 'vertices'),
        (lambda: Mesh(VERTICES * np.inf, TRIANGLES), 'vertices'),
        (lambda: Mesh(VERTICES * 1e9, TRIANGLES), 'vertices'),
        (lambda: Mesh(None, TRIANGLES), 'vertices'),
        (lambda: Mesh('cube', TRIANGLES), 'vertices'),
        # Ten million triangles, which take no memory here, and are not copied.
        (lambda: Mesh(VERTICES, np.broadcast_to(np.int32(0), (10**7, 3))), 'triangles'),
        (lambda: Mesh(VERTICES, range(10**12)), 'triangles'),
    ],
)
def test_shapes_refuse_what_they_cannot_be(made, argument):
    with pytest.raises(ArgumentError) as caught:
        made()
    assert caught.value.argument == argument


def test_a_world_has_limits(checker, monkeypatch):
    monkeypatch.setattr(world, 'MOST_OBJECTS', 3)
    checker.add('third', SMALL, at(6))
    before = checker.world
    with pytest.raises(CollisionObjectError, match='3 objects'):
        checker.add('fourth', SMALL)
    with pytest.raises(CollisionObjectError, match='3 objects'):
        checker.attach('fourth', SMALL, 'b')
    assert checker.world is before
    checker.add('third', SMALL, at(7))
    checker.remove('third')
    checker.add('fourth', SMALL, at(6))


def test_all_meshes_together_have_a_limit(monkeypatch):
    monkeypatch.setattr(world, 'MOST_TRIANGLES', 30)
    mesh = Mesh(VERTICES, TRIANGLES)
    full = (
        World().with_object(WorldObject('a', mesh)).with_attached(AttachedObject('b', mesh, 'l'))
    )
    assert full.triangles == 24
    with pytest.raises(CollisionObjectError, match='triangles'):
        full.with_object(WorldObject('c', mesh))
    assert full.with_object(WorldObject('a', mesh)).triangles == 24
    assert full.without('b').with_object(WorldObject('c', [mesh])).triangles == 24


def test_there_may_be_many_objects(checker):
    checker.clear()
    rng = np.random.default_rng(1)
    for i, place in enumerate(rng.uniform(1.0, 9.0, (world.MOST_OBJECTS, 2))):
        checker.add(f'object {i}', Sphere(0.01), at(*place, z=0.5 * (i % 5) - 1.0))
    with pytest.raises(CollisionObjectError, match='10000 objects'):
        checker.add('one more', SMALL)
    test = checker.for_joints(['to_b'])
    places = np.array([other.pose[:3, 3] for other in checker.objects.values()])
    for x in np.linspace(0.5, 8.5, 30):
        beyond = np.maximum(np.abs(places - [x + 0.5, 0.0, 0.0]) - 0.05, 0.0)
        expected = (np.linalg.norm(beyond, axis=1) < 0.01).any()
        assert (test.first_contact([x]) is not None) == expected


def test_a_large_mesh_is_prepared_in_pieces(checker):
    u, v = np.meshgrid(np.linspace(0, np.pi, 80), np.linspace(0, 2 * np.pi, 81))
    vertices = np.stack([np.sin(u) * np.cos(v), np.sin(u) * np.sin(v), np.cos(u)], -1)
    a = (np.arange(80)[:, None] * 80 + np.arange(79)).ravel()
    ball = Mesh(
        vertices.reshape(-1, 3),
        np.vstack([np.stack([a, a + 1, a + 80], -1), np.stack([a + 1, a + 81, a + 80], -1)]),
    )
    assert len(ball.triangles) > 10_000
    checker.clear()
    checker.add('ball', ball, at(3.0))
    test = checker.for_joints(['to_b'])
    for x in np.linspace(0.5, 5.5, 40):
        away = np.abs(x - 2.5)  # of the middle of the small cube from that of the ball
        touches = 0.95 < away < 1.05
        if abs(away - 0.95) > 2e-3 and abs(away - 1.05) > 2e-3:
            assert (test.first_contact([x]) == ('b', 'ball')) == touches
    checker.attach('ball', None, 'b', q={'to_b': 2.5})
    assert not checker.in_collision({'to_b': 2.5})
    assert checker.contacts({'to_b': 0.5}) == (('a', 'ball'),)
