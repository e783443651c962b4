"""The checker of a node's arm: there or not and why, and with the world as it is."""

from __future__ import annotations

import sys

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')
pytest.importorskip('coal', reason='needs the extra collision')

from moveit_msgs.msg import CollisionObject
from shape_msgs.msg import Mesh
from support.collision_helpers import ball, CRANE, crane_arm
from support.solid_arms import folding_arm_xml

from ik_service.arm.arm import ArmSettings, MeasuredState
from ik_service.arm.loader import build_arm
from ik_service.common.transforms import rigid_transform
from ik_service.exceptions import ArgumentError, CollisionObjectError
from ik_service.ros.requests.frames import Frames
from ik_service.ros.scene import collision_world
from ik_service.ros.scene.collision_world import CollisionWorld

STRAIGHT = {'shoulder': 0.0, 'elbow': 0.0, 'wrist': 0.0, 'slide': 0.0}
AT_UPPER = (0.5, 0.1, 0.0)


class Around:
    """A collision world whose arm and parameter can be changed."""

    def __init__(self, frames=None):
        self.measured, self.required, self.warnings, self.infos = None, True, [], []
        self.world = CollisionWorld(
            frames or Frames(),
            lambda: self.measured,
            lambda: self.required,
            self.warnings.append,
            self.infos.append,
        )

    def use(self, arm):
        self.world.prepare(arm)
        self.world.adopt(arm)
        self.measured = MeasuredState(arm)

    def put(self, *messages):
        for message in messages:
            self.world.known.change(message, self.measured)


@pytest.fixture
def around():
    return Around()


def test_there_is_no_checker_before_there_is_an_arm(around):
    assert around.world.checker() is None
    assert 'no robot' in around.world.fault
    around.measured = MeasuredState(crane_arm())
    assert around.world.checker() is None
    assert 'not ready' in around.world.fault


def test_the_checker_sees_objects_that_came_before_the_arm_and_after_it(around):
    around.put(ball('early', AT_UPPER))
    around.use(crane_arm())
    test = around.world.checker().for_joints(tuple(STRAIGHT))
    assert test.first_contact(np.zeros(4)) == ('upper', 'early')
    around.put(CollisionObject(id='early', operation=CollisionObject.REMOVE))
    around.world.checker()
    assert test.first_contact(np.zeros(4)) is None
    assert around.world.fault == ''
    assert around.world.report()['objects'] == '0'


def test_what_is_left_out_and_what_collides_at_home_is_told_once_by_names(around):
    around.use(build_arm(folding_arm_xml(), ArmSettings()))
    around.world.checker()
    adjacent = 'adjacent: inner – post, inner – outer'
    assert around.infos == [
        f'collisions: links that are not checked with each other are {adjacent}'
    ]
    (warning,) = around.warnings
    assert 'post with outer' in warning
    assert '<disable_collisions link1="post" link2="outer" reason="Default"/>' in warning
    report = around.world.report()
    assert report['unchecked pairs'] == adjacent
    assert report['pairs that collide at home'] == 'post – outer'


def test_an_arm_that_is_not_yet_in_use_has_a_checker_of_its_own(around):
    old, new = crane_arm(), crane_arm(CRANE.replace('upper', 'boom'))
    around.use(old)
    around.world.prepare(new)
    around.put(ball('lamp', AT_UPPER))
    assert around.world.checker().contacts(STRAIGHT) == (('upper', 'lamp'),)
    assert around.world.checker(new).contacts(STRAIGHT) == (('boom', 'lamp'),)


def test_what_stands_in_a_frame_of_tf_is_checked_where_that_is_now(monkeypatch):
    monkeypatch.setattr(collision_world, '_REFRESH_PERIOD', 0.0)
    x = [9.0]
    around = Around(
        Frames(lambda links, frame: (links[0], rigid_transform(position=(x[0], 0, 0))))
    )
    around.use(crane_arm())
    around.put(ball('lamp', AT_UPPER, 'map'))
    assert not around.world.checker().in_collision(STRAIGHT)
    x[0] = 0.0
    assert around.world.checker().in_collision(STRAIGHT)


def test_without_the_extra_the_world_is_known_and_the_reason_named(around, monkeypatch):
    monkeypatch.setitem(sys.modules, 'coal', None)
    around.use(crane_arm())
    around.put(ball('lamp', AT_UPPER))
    assert list(around.world.known.world.objects) == ['lamp']
    assert around.world.checker() is None
    assert 'coal' in around.world.fault
    assert 'coal' in around.warnings[0]
    around.required = False
    assert around.world.checker() is None


def test_an_object_that_cannot_be_built_is_refused(around, monkeypatch):
    around.use(crane_arm())

    def fail(*_):
        raise RuntimeError('out of cheese')

    monkeypatch.setattr('ik_service.collision.part.coal_shape', fail)
    with pytest.raises(CollisionObjectError, match='out of cheese'):
        around.put(ball('lamp', AT_UPPER))
    assert not around.world.known.world.objects
    with pytest.raises(ArgumentError):
        around.put(CollisionObject(id='mesh', meshes=[Mesh()]))
