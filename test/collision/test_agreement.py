"""Verdicts of the checker, beside Pinocchio's own and beside Coal on every pair."""

from itertools import combinations

import numpy as np
import pytest
from support.chains import arm_path
from support.solids import at, cube, solid, write_stl

from ik_service import Box, Capsule, CollisionChecker, Cone, Cylinder, Mesh, Plane, Robot, Sphere
from ik_service.collision.checked_robot import random_postures
from ik_service.collision.shapes import coal_place, coal_shape
from ik_service.common.transforms import rigid_transform, rotation_about_axis


class PinocchioCollisions:
    """Pinocchio's verdict on postures of a checker's robot, on the pairs that it checks."""

    def __init__(self, checker, path):
        """Build from the file of a URDF."""
        pin = self._pin = pytest.importorskip('pinocchio')
        self._checker = checker
        self._model = pin.buildModelFromUrdf(str(path))
        self._data = self._model.createData()
        self._geometry = pin.buildGeomFromUrdf(self._model, str(path), pin.COLLISION)
        parts = self._geometry.geometryObjects
        links = [self._model.frames[part.parentFrame].name for part in parts]
        self.links = set(links)
        for i, a in enumerate(links):
            for j, b in enumerate(links[:i]):
                moving = parts[i].parentJoint != parts[j].parentJoint
                if moving and frozenset((a, b)) not in checker.disabled_pairs:
                    self._geometry.addCollisionPair(pin.CollisionPair(j, i))

    def collides(self, q):
        """Whether anything collides at the positions of all independent joints."""
        # With new data each time: what it keeps from the last posture makes it miss collisions
        # (Pinocchio 4.1 with Coal 3.0.3: 19 % of the postures of urdf/upper_body.urdf).
        data = self._geometry.createData()
        posture = self._configuration(q)
        pin = self._pin
        return pin.computeCollisions(self._model, self._data, self._geometry, data, posture, True)

    def _configuration(self, q):
        positions = dict(zip(self._checker.joint_names, q, strict=True))
        posture = self._pin.neutral(self._model)
        for name, joint in zip(self._model.names, self._model.joints, strict=True):
            if name == 'universe':
                continue
            source, multiplier, offset = self._checker.robot.resolve_mimic(name)
            value = multiplier * positions[source] + offset
            turns = (np.cos(value), np.sin(value)) if joint.nq == 2 else (value,)
            posture[joint.idx_q : joint.idx_q + joint.nq] = turns
        return posture


coal = pytest.importorskip('coal', reason='Coal comes with the extra collision')


def postures(checker, count):
    """Random postures, other ones than those that the pairs were chosen by."""
    found = random_postures(checker, count)
    return found + np.random.default_rng(2).normal(0.0, 1e-2, found.shape)


@pytest.mark.parametrize('arm', ['panda', 'ur5e', 'upper_body', 'planar_6r'])
def test_pinocchio_has_the_same_verdict(arm):
    checker = CollisionChecker(Robot.from_urdf(arm_path(arm)))
    reference = PinocchioCollisions(checker, arm_path(arm))
    assert reference.links
    Q = postures(checker, 300)
    test = checker.for_joints(checker.joint_names)
    expected = [reference.collides(q) for q in Q]
    assert 0 < sum(expected) < len(Q)
    assert test.colliding(Q).tolist() == expected
    assert [test.first_contact(q) is not None for q in Q] == expected
    assert [bool(test.contacts(q)) for q in Q] == expected
    assert [bool(test.contact_points(q)) for q in Q] == expected


def random_pose(rng, spread):
    axis = rng.normal(size=3)
    rotation = rotation_about_axis(axis / np.linalg.norm(axis), rng.uniform(0, np.pi))
    return rigid_transform(rotation, rng.uniform(-spread, spread, 3))


def random_shapes(rng):
    long, short = rng.uniform(0.2, 0.6), rng.uniform(0.02, 0.1)
    vertices, triangles = cube(0.3)
    blob = rng.normal(size=(60, 3)) * rng.uniform(0.05, 0.2)
    return [
        Box((long, short, rng.uniform(0.02, 0.6))),
        Box((short, short, short)),
        Sphere(short),
        Cylinder(short, long),
        Cylinder(long / 2, short),
        Capsule(short, long),
        Capsule(long / 2, short),
        Cone(short, long),
        Cone(long / 2, short),
        Plane((*rng.normal(size=3), rng.uniform(-0.2, 0.2))),
        Mesh(vertices * [1.0, 0.2, 0.5], triangles),
        Mesh(blob, rng.integers(0, 60, (40, 3))),
    ]


@pytest.mark.parametrize('seed', range(12))
def test_objects_of_all_shapes_collide_where_coal_says_so(seed):
    rng = np.random.default_rng(seed)
    checker = CollisionChecker(Robot.from_urdf('<robot name="r"><link name="base"/></robot>'))
    shapes = random_shapes(rng)
    poses = [random_pose(rng, 0.4) for _ in shapes]
    request, result = coal.CollisionRequest(), coal.CollisionResult()
    request.enable_contact = False
    found = set()
    for (a, T_a), (b, T_b) in combinations(zip(shapes, poses, strict=True), 2):
        checker.clear()
        checker.attach('carried', a, 'base', pose=T_a)
        checker.add('other', b, T_b)
        places = coal_place(T_a), coal_place(T_b)
        result.clear()
        expected = coal.collide(
            coal_shape(a), places[0], coal_shape(b), places[1], request, result
        )
        assert checker.in_collision({}) == bool(expected), (a, b)
        found.add(bool(expected))
    assert found == {True, False}


@pytest.mark.parametrize('seed', range(4))
def test_attached_shapes_and_links_of_all_shapes_collide_where_coal_says_so(seed):
    rng = np.random.default_rng(100 + seed)
    text = (
        f'<robot name="r"><link name="base">{solid("""<cylinder radius="0.1" length="0.3"/>""")}'
        f'{solid("""<box size="0.4 0.1 0.05"/>""", "0.1 0.1 0")}'
        f'{solid("""<capsule radius="0.04" length="0.3"/>""", "0 -0.2 0", "0.4 0 0")}'
        '</link><link name="arm"/>'
        '<joint name="j" type="continuous"><parent link="base"/><child link="arm"/>'
        '<axis xyz="0.6 0 0.8"/></joint></robot>'
    )
    checker = CollisionChecker(Robot.from_urdf(text))
    request, result = coal.CollisionRequest(), coal.CollisionResult()
    request.enable_contact = False
    tilted = rigid_transform(rotation_about_axis([1.0, 0.0, 0.0], 0.4), [0.0, -0.2, 0.0])
    links = [
        *((Cylinder(0.1, 0.3), at()), (Box((0.4, 0.1, 0.05)), at(0.1, 0.1))),
        (Capsule(0.04, 0.3), tilted),
    ]
    for shape in random_shapes(rng):
        for angle in rng.uniform(-3, 3, 6):
            T = random_pose(rng, 0.3)
            checker.attach('tool', shape, 'arm', pose=T)
            turn = rigid_transform(rotation_about_axis([0.6, 0.0, 0.8], angle))
            place = coal_place(turn @ T)
            expected = 0
            for link, T_link in links:
                result.clear()
                expected += coal.collide(
                    coal_shape(link), coal_place(T_link), coal_shape(shape), place, request, result
                )
            assert checker.in_collision([angle]) == bool(expected), shape


def test_meshes_of_links_collide_as_in_pinocchio(tmp_path):
    rng = np.random.default_rng(3)
    for name in ('one', 'two', 'three'):
        write_stl(tmp_path / f'{name}.stl', rng.normal(size=(90, 3)), rng.integers(0, 90, (60, 3)))
    links, joints = '', ''
    for i, name in enumerate(('one', 'two', 'three', 'one')):
        mesh = f'<mesh filename="file://{tmp_path}/{name}.stl" scale="0.1 0.08 -0.12"/>'
        links += f'<link name="l{i}">{solid(mesh, "0 0 0.1", "0.3 0.2 0.1")}</link>'
        if i:
            joints += (
                f'<joint name="j{i}" type="revolute"><parent link="l{i - 1}"/>'
                f'<child link="l{i}"/><origin xyz="0.1 0 0.2" rpy="0.5 0 0.2"/><axis xyz="0 1 0"/>'
                '<limit lower="-3" upper="3" velocity="1" effort="1"/></joint>'
            )
    path = tmp_path / 'arm.urdf'
    path.write_text(f'<robot name="r">{links}{joints}</robot>')
    checker = CollisionChecker(Robot.from_urdf(path))
    reference = PinocchioCollisions(checker, path)
    Q = postures(checker, 300)
    expected = [reference.collides(q) for q in Q]
    assert 0 < sum(expected) < len(Q)
    assert checker.for_joints(checker.joint_names).colliding(Q).tolist() == expected
