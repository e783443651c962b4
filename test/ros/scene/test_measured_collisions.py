"""Following without collisions, without a graph: other joints, missing checkers, parameters."""

import time
from unittest import mock

import numpy as np
import pytest

pytest.importorskip('coal', reason='the extra "collision" is not installed')

from ik_service.arm.arm import ArmSettings
from ik_service.arm.group import GroupSettings, SolverSettings
from ik_service.arm.loader import build_arm
from ik_service.arm.measured_state import MeasuredState
from ik_service.exceptions import MissingExtraError, OptionError, TargetRefusedError
from ik_service.motion.settings import FollowerSettings
from ik_service.ros.motion.followers import Followers
from ik_service.ros.motion.intake import NodeContext
from ik_service.ros.requests.frames import Frames
from ik_service.ros.scene import collision_world
from ik_service.ros.scene.collision_world import CollisionWorld
from ik_service.ros.scene.measured_collisions import MeasuredCollisions

SLIDE = """<joint name="{name}" type="prismatic"><parent link="rail"/><child link="{name}_hand"/>
  <axis xyz="1 0 0"/><limit lower="-1" upper="1" velocity="1" effort="1"/></joint>
  <link name="{name}_hand"><collision><origin xyz="{at} 0 0"/>
  <geometry><box size="0.2 0.1 0.1"/></geometry></collision></link>"""
RAIL = (
    '<robot name="rail"><link name="rail"/>'
    + SLIDE.format(name='left', at=-0.6)
    + SLIDE.format(name='right', at=0.6)
    + '</robot>'
)
"""Two hands on one rail, 1 m apart when both joints are at 0."""


def rail():
    """The measured state of the two hands; the default group is the left one."""
    right = GroupSettings(base_link='rail', tip_link='right_hand')
    arm = build_arm(RAIL, ArmSettings(tip_link='left_hand', groups={'right': right}))
    measured = MeasuredState(arm)
    measured.update(['left', 'right'], [0.0, 0.0], 1.0)
    return measured


def prepared(measured):
    world = CollisionWorld(Frames(), lambda: measured)
    world.prepare(measured.arm)
    return world


def followers_of(measured, world, **settings):
    """The followers of the two hands."""
    return Followers(
        measured,
        SolverSettings(),
        FollowerSettings(**settings),
        mock.MagicMock(),
        print,
        NodeContext(time.time_ns, collisions=world),
    )


def test_the_joints_of_other_groups_are_where_they_are_measured():
    measured = rail()
    test = MeasuredCollisions(prepared(measured), measured, measured.arm.group)
    assert test.fault == ''
    assert test.first_contact(np.array([0.95])) is None
    measured.update(['right'], [-0.1], 2.0)
    assert test.first_contact(np.array([0.85])) is None
    assert test.first_contact(np.array([0.95])) == ('left_hand', 'right_hand')
    measured.update(['right'], [0.0], 3.0)
    assert test.first_contact(np.array([0.95])) is None


def test_what_cannot_be_checked_is_refused_and_the_missing_extra_named(monkeypatch):
    def missing(*_, **__):
        raise MissingExtraError('coal', 'collision')

    monkeypatch.setattr(collision_world, 'CollisionChecker', missing)
    measured = rail()
    world = prepared(measured)
    followers = followers_of(measured, world)
    with pytest.raises(OptionError, match=r'follow\.avoid_collisions.*collision') as refused:
        followers.configure(SolverSettings(), FollowerSettings(avoid_collisions=True))
    assert 'coal' in str(refused.value)
    assert not followers.default.follower.settings.avoid_collisions

    followers = followers_of(measured, world, avoid_collisions=True)
    assert 'coal' in followers.collision_fault(FollowerSettings(avoid_collisions=True))
    with pytest.raises(TargetRefusedError, match='coal'):
        followers.default.follower.set_target(np.eye(4))
    assert 'coal' in followers.reports[followers.default].values()['collision']
    followers.configure(SolverSettings(), FollowerSettings(avoid_collisions=True, rate=50.0))
    assert followers.default.follower.settings.rate == 50.0, 'other parameters can be changed'
    followers.configure(SolverSettings(), FollowerSettings())
    followers.default.follower.set_target(np.eye(4))
    assert followers.reports[followers.default].values()['collision'] == 'not avoided'
