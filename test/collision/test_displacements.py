"""How far points of a robot move between postures: never less than they do."""

import numpy as np
import pytest
from support.chains import arm, arm_path
from support.solid_arms import at, hinge, slider, solid

import ik_service as iks

pytest.importorskip('coal', reason='Coal comes with the extra collision')


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
