"""Joint paths that keep clear of collisions."""

import numpy as np
import pytest
from support.chains import arm
from support.joint_paths import line

import ik_service as iks

HOME = np.array([0.0, -0.4, 0.1, -2.0, 0.0, 1.8, 0.8])


@pytest.fixture
def panda():
    return arm('panda')


@pytest.fixture
def straight(panda):
    """Line of 30 cm that the arm can follow from its home."""
    return line(panda.forward(HOME), (0.0, 0.3, 0.0), 100)


class Keepout:
    """Stand-in for a collision test: what lies where the first joint is beyond an angle."""

    def __init__(self, angle):
        self.angle = angle

    def colliding(self, Q, threads=1):
        return Q[:, 0] > self.angle

    def first_contact(self, q):
        return ('arm', 'wall') if q[0] > self.angle else None

    def for_joints(self, joint_names, others=None):
        assert joint_names == arm('panda').joint_names
        return self


def test_collisions_are_avoided(panda, straight):
    through = iks.solve_path(panda, straight, HOME)
    angle = 0.5 * through.q[:, 0].max()
    around = iks.solve_path(panda, straight, HOME, collisions=Keepout(angle))
    assert around.success, around.reason
    assert around.largest_step <= 0.1
    assert around.q[:, 0].max() <= angle


def test_collision_in_the_way(panda, straight):
    path = iks.solve_path(panda, straight, HOME, collisions=Keepout(-0.3))
    assert path.reached == 0
    assert path.status is iks.PathStatus.COLLISION
    assert path.end.bodies == ('arm', 'wall')


def test_an_elbow_gives_way_to_a_ball(panda, straight):
    pytest.importorskip('coal', reason='the extra collision is not installed')
    robot = panda.robot
    checker = iks.CollisionChecker(robot)
    through = iks.solve_path(panda, straight, HOME, collisions=checker)
    assert through.success, through.reason
    elbow = robot.chain('panda_link0', 'panda_link4')
    T = np.eye(4)
    T[:3, 3] = elbow.forward(through.q[50][:4])[:3, 3]
    checker.add('ball', iks.Sphere(0.02), T)
    test = checker.for_joints(panda.joint_names)
    assert test.colliding(through.q).any()
    around = iks.solve_path(panda, straight, collisions=checker)
    assert around.success, around.reason
    assert not test.colliding(around.q).any()
    checker.remove('ball')
    checker.add('wall', iks.Box((0.02, 2.0, 2.0)), panda.forward(HOME))
    blocked = iks.solve_path(panda, straight, HOME, collisions=checker)
    assert blocked.status is iks.PathStatus.COLLISION
    assert 'wall' in blocked.end.bodies
