"""The known world, and postures tested in it."""

import math

import numpy as np
import pytest
from support.chains import arm, arm_path
from support.solids import at, cube, hinge, slider, solid

import ik_service as iks
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
        (lambda: Box((0.0, 1.0, 0.0)), 'shapes[0].size'),
        (lambda: Box((1.0, np.inf, 1.0)), 'shapes[0].size'),
        (lambda: Sphere(0.0), 'shapes[0].radius'),
        (lambda: Cylinder(0.0, 1.0), 'shapes[0].radius'),
        (lambda: Cone(np.inf, 1.0), 'shapes[0].radius'),
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
    'plate',
    [Box((0.4, 0.4, 0.0)), Cylinder(0.2, 0.0), Cone(0.2, 0.0), Capsule(0.2, 0.0)],
)
def test_plates_are_obstacles(checker, plate):
    checker.add('plate', plate, at(0.5, 9))
    for x, touches in ((0.0, True), (0.29, True), (0.31, False)):
        checker.attach('ball', Sphere(0.1), 'b', pose=at(x, 9))
        assert checker.in_collision({}) == touches


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
        (lambda: Plane((0, 0, 1e-320, 1)), 'coefficients'),
        (lambda: Plane((0, 0, 1, -2e6)), 'coefficients'),
        (lambda: Plane((0, 0, 1)), 'coefficients'),
        (lambda: Mesh(VERTICES, []), 'triangles'),
        (lambda: Mesh(VERTICES, [(0, 1, 1)]), 'triangles'),
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


def test_triangles_without_area_are_left_out():
    """Coal finds contacts of them far away."""
    corners = np.vstack([VERTICES, VERTICES[:2].mean(axis=0)])
    flat = [(0, 0, 1), (2, 2, 2), (0, 1, len(VERTICES))]
    np.testing.assert_array_equal(Mesh(corners, [*TRIANGLES, *flat]).triangles, TRIANGLES)


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


BALL = solid('<sphere radius="0.05"/>')
SHAPES = {
    'box': Box((0.2, 0.3, 0.1)),
    'sphere': Sphere(0.1),
    'capsule': Capsule(0.05, 0.3),
    'cylinder': Cylinder(0.1, 0.3),
    'cone': Cone(0.1, 0.3),
    'plane': Plane((1.0, 0.2, 0.3, 0.0)),
    'mesh': Mesh([(0, 0, 0), (0.2, 0, 0), (0, 0.2, 0), (0, 0, 0.2)],
                 [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]),
}  # fmt: skip


def rows_of(test, corners, step):
    """Postures of a line or a parabola but the first, no farther apart than a step."""
    motion = np.abs(np.diff(corners, axis=0)).sum(axis=0) @ test.levers()
    t = np.linspace(0.0, 1.0, max(math.ceil(motion / step), 1) + 1)[1:, None]
    if len(corners) == 2:
        return corners[0] + t * (corners[1] - corners[0])
    return (1 - t) ** 2 * corners[0] + 2 * t * (1 - t) * corners[1] + t**2 * corners[2]


def verdicts(test, lines, step):
    """Verdicts on lines, which are those on their postures."""
    found = []
    for corners in lines:
        rows = rows_of(test, corners, step)
        expected = not test.colliding(rows).any()
        free, looked = test.lines().free(corners, step)
        assert free == expected
        assert looked == len(rows) if free else 1 <= looked <= len(rows)
        found.append(free)
    return found


@pytest.mark.parametrize(('geometry', 'padding'), [(BALL, 0.04), (solid(), 0.0)])
@pytest.mark.parametrize('name', SHAPES)
def test_every_shape_is_met_where_its_postures_collide(name, geometry, padding):
    checker = CollisionChecker(Robot.from_urdf(slider('', geometry)))
    checker.pad('b', padding)
    rng = np.random.default_rng(3)
    found = []
    for _ in range(60):
        T = at(*rng.uniform(-0.2, 0.2, 3))
        T[:3, :3] = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        T[:3, 2] *= np.linalg.det(T[:3, :3])
        checker.add(name, SHAPES[name], T)
        found += verdicts(checker.for_joints(['to_b']), rng.uniform(-1.2, 0.2, (4, 2, 1)), 0.02)
        checker.remove(name)
    assert 0.1 < np.mean(found) < 0.9


@pytest.mark.parametrize('corners', [2, 3])
@pytest.mark.parametrize('arm', ['panda', 'ur5e'])
def test_arms_meet_themselves_and_objects_where_their_postures_collide(arm, corners):
    checker = CollisionChecker(Robot.from_urdf(arm_path(arm)))
    rng = np.random.default_rng(7)
    for number, shape in enumerate(SHAPES.values()):
        if not isinstance(shape, Plane):
            checker.add(f'object_{number}', shape, at(*rng.uniform(-0.5, 0.5, 3)))
    test = checker.for_joints(checker.robot.chain().joint_names)
    middle = rng.uniform(-2.5, 2.5, (80, 1, len(test.joint_names)))
    lines = middle + rng.normal(0.0, 0.2, (80, corners, len(test.joint_names)))
    assert 0.05 < np.mean(verdicts(test, lines, 0.03)) < 0.95


def test_what_may_touch_is_no_obstacle_on_a_line():
    checker = CollisionChecker(Robot.from_urdf(slider('', BALL)))
    checker.add('box', Box((0.1, 0.1, 0.1)), at(0.5))
    ends = np.array([[-1.0], [1.0]])
    free, looked = checker.for_joints(['to_b']).lines().free(ends, 0.02)
    assert not free
    assert looked < 10
    checker.allow('b', 'box')
    assert checker.for_joints(['to_b']).lines().free(ends, 0.02) == (True, 100)
    checker.add('other', Box((0.1, 0.1, 0.1)), at(0.5))
    assert not checker.for_joints(['to_b']).lines().free(ends, 0.02)[0]


@pytest.mark.parametrize('name', SHAPES)
@pytest.mark.parametrize('arm', ['panda', 'ur5e'])
def test_postures_that_follow_each_other_closely_have_the_verdicts_of_each_alone(arm, name):
    checker = CollisionChecker(Robot.from_urdf(arm_path(arm)))
    rng = np.random.default_rng(11)
    for number in range(4):
        checker.add(f'object_{number}', SHAPES[name], at(*rng.uniform(-0.8, 0.8, 3)))
    chain = checker.robot.chain()
    checker.attach('held', SHAPES[name], chain.tip_link, pose=at(0.0, 0.0, 0.3))
    test = checker.for_joints(chain.joint_names)
    found = []
    for count in (*range(1, 8), *range(20, 60, 5)):
        a, b = rng.uniform(-1.5, 1.5, (2, chain.n))
        rows = a + np.linspace(0.0, rng.uniform(0.001, 0.004), count)[:, None] * count * (b - a)
        step = test.displacements(rows).max(initial=0.0)
        assert step <= 0.05 or name == 'plane'
        alone = test.colliding(rows)
        assert test.colliding(rows, step=step).tolist() == alone.tolist()
        found += alone.tolist()
    assert name == 'plane' or 0.0 < np.mean(found) < 1.0


def test_a_slide_moves_by_its_length():
    checker = iks.CollisionChecker(iks.Robot.from_urdf(slider(solid(), solid())))
    test = checker.for_joints(['to_b'])
    assert test.displacements([[0.0], [0.3], [-0.2]]) == pytest.approx([0.3, 0.5])
    assert test.levers() == pytest.approx([1.0])


def test_a_turn_moves_what_is_farthest_from_its_axis():
    ball = solid('<sphere radius="0.1"/>', '1 0 0')
    robot = f'<robot name="r"><link name="a"/><link name="b">{ball}</link>{hinge("j", "a", "b")}'
    test = iks.CollisionChecker(iks.Robot.from_urdf(robot + '</robot>')).for_joints(['j'])
    chord = 2.0 * np.sin(0.25)
    assert test.displacements([[0.0], [0.5]]) == pytest.approx([1.1 * chord])
    assert test.levers() == pytest.approx([1.1])


def test_strokes_and_joints_that_follow_add_to_levers():
    links = f'<link name="a"/><link name="b"/><link name="c">{BALL}</link>'
    slide = hinge('k', 'b', 'c', kind='prismatic', limits='lower="-2" upper="1"')
    follower = hinge('k', 'b', 'c', '1 0 0').replace(
        '<axis', '<mimic joint="j" multiplier="2"/><axis'
    )
    for second, names, levers in ((slide, 'jk', [2.05, 1.0]), (follower, 'j', [1.05 + 2 * 0.05])):
        text = f'<robot name="r">{links}{hinge("j", "a", "b")}{second}</robot>'
        test = iks.CollisionChecker(iks.Robot.from_urdf(text)).for_joints([*names])
        assert test.levers() == pytest.approx(levers)


def test_no_corner_of_what_is_carried_moves_farther():
    chain = arm('panda')
    checker = iks.CollisionChecker(iks.Robot.from_urdf(arm_path('panda')))
    size = np.array([0.1, 0.2, 0.8])
    checker.attach('rod', iks.Box(tuple(size)), 'panda_hand_tcp', pose=at(0.0, 0.1, 0.3))
    test = checker.for_joints(chain.joint_names)
    signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    corners = np.c_[0.5 * signs * size + [0.0, 0.1, 0.3], np.ones(8)]
    rng = np.random.default_rng(5)
    for scale in (0.01, 0.1, 1.0):
        rows = rng.uniform(chain.lower, chain.upper) + scale * rng.normal(size=(20, 7))
        points = np.array([corners @ chain.forward(q).T for q in rows])[:, :, :3]
        moved = np.linalg.norm(np.diff(points, axis=0), axis=2).max(axis=1)
        assert (moved <= test.displacements(rows) + 1e-12).all()
        assert (moved <= np.abs(np.diff(rows, axis=0)) @ test.levers() + 1e-12).all()


def test_a_snapshot_stays_as_the_world_was():
    checker = iks.CollisionChecker(iks.Robot.from_urdf(slider(solid(), solid())))
    test = checker.for_joints(['to_b'])
    before = test.snapshot()
    checker.add('box', iks.Box((0.1, 0.1, 0.1)), at(0.5))
    assert test.first_contact([0.0]) == ('b', 'box')
    assert before.first_contact([0.0]) is None
    assert not before.colliding([[0.0]]).any()
    assert not test.lines().free(np.array([[2.0], [0.0]]), 0.1)[0]
    assert test.lines().free(np.array([[2.0], [1.0]]), 0.1)[0]
    assert before.lines().free(np.array([[2.0], [0.0]]), 0.1)[0]


@pytest.mark.parametrize('height', [0.1, 0.05, -0.1, 0.0])
def test_boxes_that_are_aligned_collide(height):
    """Coal misses some of these unless it is asked for the contact."""
    text = """<robot name="lift">
      <link name="a"/>
      <link name="b"><collision><geometry><box size="0.2 0.2 0.2"/></geometry></collision></link>
      <joint name="lift" type="prismatic"><parent link="a"/><child link="b"/>
        <axis xyz="0 0 1"/><limit lower="-1" upper="1" velocity="1" effort="1"/></joint>
    </robot>"""
    checker = iks.CollisionChecker(iks.Robot.from_urdf(text))
    checker.add('box', iks.Box((0.2, 0.2, 0.2)), np.eye(4))
    assert checker.in_collision(np.array([height]))
