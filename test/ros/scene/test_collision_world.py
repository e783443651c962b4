"""The checker of a node: there or not and why, with the world as it is, and for followers."""

import math
import sys
from unittest import mock

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import Point
from moveit_msgs.msg import AttachedCollisionObject, CollisionObject
from moveit_msgs.srv import GetStateValidity
import numpy as np
import pytest

pytest.importorskip('coal', reason='needs the extra collision')

from shape_msgs.msg import Mesh, MeshTriangle
from support.harness import until
from support.motion.rigs import Others
from support.ros.nodes import ask, NODE, status
from support.ros.servers import ik_request, solved, with_seed
from support.ros.worlds import (
    attached,
    ball,
    by_name,
    CRANE,
    crane_arm,
    LEFT,
    LEFT_SEED,
    RIGHT,
    T_TOOL,
)
from support.solids import folding_arm_xml

from ik_service.arm.arm import ArmSettings
from ik_service.arm.group import GroupSettings, SolverSettings
from ik_service.arm.loader import build_arm
from ik_service.arm.measured_state import MeasuredState
from ik_service.common.transforms import rigid_transform
from ik_service.exceptions import (
    ArgumentError,
    CollisionObjectError,
    MissingExtraError,
    OptionError,
    TargetRefusedError,
)
from ik_service.motion.settings import FollowerSettings
from ik_service.ros.common.errors import ErrorCode
from ik_service.ros.common.motion_clock import MotionClock
from ik_service.ros.motion.followers import Followers
from ik_service.ros.scene import collision_world
from ik_service.ros.scene.collision_world import CollisionWorld, MeasuredCollisions
from ik_service.ros.scene.frames import Frames

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


IN_PLANE = {'solver.task_weights': [1.0, 1.0, 0.0, 0.0, 0.0, 1.0]}


def start(bench, **parameters):
    given = {'tip_link': 'tool', **IN_PLANE, **parameters}
    return bench.start(NODE, **given)


def publish(bench, *messages):
    for message in messages:
        kind = type(message)
        topic = 'attached_' * (kind is AttachedCollisionObject) + 'collision_object'
        bench.publisher(kind, topic, 1000).publish(message)


def request(**fields):
    message = ik_request(T_TOOL, avoid_collisions=True, **fields)
    message.ik_request.robot_state.is_diff = True
    return with_seed(message, LEFT_SEED, LEFT_SEED.values())


def check(bench, **joints):
    message = GetStateValidity.Request()
    positions = {**STRAIGHT, **joints}
    message.robot_state.joint_state.name = list(positions)
    message.robot_state.joint_state.position = list(positions.values())
    message.robot_state.is_diff = True
    return bench.call(GetStateValidity, 'check_state_validity', message)


def bodies(answer):
    return {(c.contact_body_1, c.contact_body_2) for c in answer.contacts}


def until_bodies(bench, expected, **joints):
    return until(lambda: bodies(check(bench, **joints)) == expected, what=f'{expected}')


def test_a_scene_as_clients_of_moveit_send_it(bench):
    node = start(bench, robot_description=CRANE)
    diagnostics = bench.record(DiagnosticArray, 'diagnostics')
    assert check(bench).valid
    publish(bench, ball('lamp', LEFT, 'base'), ball('post', (2.2, 0.38, 0.0)))
    publish(bench, ball('tray', (2.2, 0.2, 0.0)))
    status(diagnostics, 'collisions', objects='3')  # the next message goes another way
    publish(bench, by_name('tray', 'tool'))
    until_bodies(bench, {('tray', 'post')})
    publish(
        bench,
        CollisionObject(id='post', operation=CollisionObject.MOVE, pose=ball('', RIGHT).pose),
    )
    until_bodies(bench, set())
    answer = ask(bench, request())
    assert answer.error_code.val == ErrorCode.GOAL_IN_COLLISION
    publish(bench, CollisionObject(id='lamp', operation=CollisionObject.REMOVE))
    until(lambda: ask(bench, request()).error_code.val == ErrorCode.SUCCESS)
    assert solved(ask(bench, request()))['elbow'] < 0.0
    status(diagnostics, 'collisions', objects='1', attached_objects='1', unchecked_links='none')
    publish(bench, by_name('tray', 'tool', CollisionObject.REMOVE))
    until_bodies(bench, set())
    status(diagnostics, 'collisions', objects='2', attached_objects='0')
    node.check()


def test_a_storm_of_objects_large_and_faulty_ones_among_them(bench):
    node = start(bench, robot_description=CRANE)
    corners = [Point(x=0.01 * i, y=5.0, z=0.001 * (i % 7)) for i in range(300)]
    triangles = [
        MeshTriangle(vertex_indices=[i % 298, i % 298 + 1, i % 298 + 2]) for i in range(900)
    ]
    large = CollisionObject(id='mesh', meshes=[Mesh(vertices=corners, triangles=triangles)])
    for number in range(200):
        publish(bench, ball(f'bad {number}', (math.nan, 0.0, 0.0)))
        publish(bench, ball(f'far {number % 50}', (5.0, 0.1 * number, 0.0)))
        publish(bench, attached(f'held {number}', 'nowhere'))
        if number % 40 == 0:
            publish(bench, large)
            assert ask(bench, request()).error_code.val == ErrorCode.SUCCESS
    publish(bench, ball('last', (0.5, 0.1, 0.0)))
    until_bodies(bench, {('upper', 'last')})
    diagnostics = bench.record(DiagnosticArray, 'diagnostics')
    status(diagnostics, 'collisions', objects='52', attached_objects='0')
    node.check()
    assert 'Traceback' not in node.output
    assert node.output.count(' ignored: ') < 60


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
        mock.MagicMock(clock=MotionClock(), monitor=Others(), channel=lambda *_: None),
        Frames(),
        world,
        print,
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


def test_loads_count_in_how_far_a_joint_moves_the_arm():
    measured = MeasuredState(crane_arm())
    world = prepared(measured)
    test = MeasuredCollisions(world, measured, measured.arm.group)
    bare = test.levers()
    world.known.attach(attached('rod', 'hand', (3.0, 0.0, 0.0)), measured)
    assert (test.levers() > bare + 2.0).all()


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
