"""Scenes that are asked for: all components, applied again unchanged, and over real DDS."""

import math

from builtin_interfaces.msg import Time
from geometry_msgs.msg import Point
from moveit_msgs.msg import CollisionObject, LinkPadding, ObjectColor, PlanningScene
from moveit_msgs.msg import PlanningSceneComponents as Components
from moveit_msgs.srv import ApplyPlanningScene, GetPlanningScene
import numpy as np
import pytest
from shape_msgs.msg import Mesh, MeshTriangle, Plane, SolidPrimitive
from std_msgs.msg import ColorRGBA
from support.harness import until
from support.ros.cells import READY
from support.ros.nodes import Arm, ask, LATCHED
from support.ros.servers import ik_request, panda_arm, posture_of, solved, TIP
from support.ros.worlds import (
    attached,
    ball,
    by_name,
    crane_arm,
    diff,
    matrix,
    SceneServer,
    WorldBench,
)

from ik_service.common.transforms import rigid_transform, rotation_from_rpy
from ik_service.ros.capabilities.scene import known_scene
from ik_service.ros.common.conversions import pose_from_matrix
from ik_service.ros.common.errors import ErrorCode
from ik_service.ros.scene.collision_world import CollisionWorld

T_ODD = rigid_transform(rotation_from_rpy(0.3, -1.2, 2.0), (0.123, 4.5, -0.67))


@pytest.fixture
def scenes():
    return SceneServer()


def every_shape(name, T=T_ODD):
    message = CollisionObject(id=name, pose=pose_from_matrix(T))
    message.primitives = [
        SolidPrimitive(type=SolidPrimitive.BOX, dimensions=[0.1, 0.2, 0.3]),
        SolidPrimitive(type=SolidPrimitive.SPHERE, dimensions=[0.4]),
        SolidPrimitive(type=SolidPrimitive.CYLINDER, dimensions=[0.5, 0.6]),
        SolidPrimitive(type=SolidPrimitive.CONE, dimensions=[0.7, 0.8]),
    ]
    message.primitive_poses = [pose_from_matrix(T_ODD)] * 4
    corners = [Point(x=float(x), y=float(x * x)) for x in range(3)]
    message.meshes = [Mesh(vertices=corners, triangles=[MeshTriangle(vertex_indices=[0, 1, 2])])]
    message.mesh_poses = [pose_from_matrix(T_ODD)]
    message.planes, message.plane_poses = [Plane(coef=[0.0, 0.0, 1.0, 0.5])], [ball('').pose]
    message.subframe_names, message.subframe_poses = ['tip'], [pose_from_matrix(T_ODD)]
    message.type.key, message.type.db = 'mug', '{"type": "kitchen"}'
    return message


def fill(scenes):
    held = attached('held', 'hand', touch_links=['finger'])
    held.object = every_shape('held')
    held.object.header.frame_id = 'hand'
    moved = ball('moved', (1.0, 0.0, 0.0))
    back = CollisionObject(id='moved', operation=CollisionObject.MOVE)  # to the root, its shape
    back.primitive_poses = [pose_from_matrix(T_ODD)]  # elsewhere in it
    scenes.put(
        every_shape('odd'),
        moved,
        back,
        attached=[held],
        name='kitchen',
        allowed_collision_matrix=matrix(
            ['odd', 'hand', 'later'], ('odd', 'hand'), defaults={'held': True, 'wall': False}
        ),
        link_padding=[LinkPadding(link_name='fore', padding=0.05)],
        object_colors=[ObjectColor(id='odd', color=ColorRGBA(r=0.25, g=0.5, b=1.0, a=0.75))],
    )


def test_what_was_got_can_be_applied_again_and_changes_nothing(scenes):
    fill(scenes)
    before, told = scenes.world, scenes.get()
    frames = [scenes.server.frames.foot(scenes.server.arm, f) for f in ('odd/tip', 'held/tip')]
    assert not told.is_diff
    assert scenes.apply(told)
    after = scenes.world
    assert after.objects.keys() == before.objects.keys()
    assert all(after.objects[name] is before.objects[name] for name in before.objects)
    assert after.attached['held'] is before.attached['held']
    assert (after.padding, dict(after.colors)) == (before.padding, dict(before.colors))
    for (foot, T), name in zip(frames, ('odd/tip', 'held/tip'), strict=True):
        again = scenes.server.frames.foot(scenes.server.arm, name)
        assert again[0] == foot
        np.testing.assert_allclose(again[1], T, atol=1e-12)
    assert scenes.get() == told
    assert scenes.log == []
    told.is_diff = True  # as a difference it changes nothing either
    assert scenes.apply(told)
    told.is_diff = False
    assert scenes.get() == told


def test_every_shape_is_told_with_its_pose(scenes):
    scenes.put(every_shape('odd'))
    (told,) = scenes.get().world.collision_objects
    assert told.header.frame_id == 'base'
    assert (told.type.key, told.operation) == ('mug', CollisionObject.ADD)
    sent = every_shape('odd')
    assert (told.primitives, told.meshes, told.planes) == (
        sent.primitives,
        sent.meshes,
        sent.planes,
    )
    for a, b in zip(told.primitive_poses, sent.primitive_poses, strict=True):
        assert math.dist(
            (a.position.x, a.position.y, a.position.z), (b.position.x, b.position.y, b.position.z)
        ) == pytest.approx(0.0, abs=1e-12)
        assert a.orientation.w == pytest.approx(b.orientation.w)


def filled(scene):
    """The names of the fields that are not empty."""
    found = {
        name.lstrip('_')
        for name in ('name', 'robot_model_name', 'link_padding', 'link_scale', 'object_colors')
        if getattr(scene, name)
    }
    state, world = scene.robot_state, scene.world
    found |= {'joints'} if state.joint_state.name else set()
    found |= {'attached'} if state.attached_collision_objects else set()
    found |= {'matrix'} if scene.allowed_collision_matrix.entry_names else set()
    found |= {'objects'} if world.collision_objects else set()
    found |= {'shapes'} if any(each.primitives for each in world.collision_objects) else set()
    return found


@pytest.mark.parametrize(
    ('component', 'wanted'),
    [
        (Components.SCENE_SETTINGS, {'name', 'robot_model_name'}),
        (Components.ROBOT_STATE, {'joints'}),
        (Components.ROBOT_STATE_ATTACHED_OBJECTS, {'joints', 'attached'}),
        (Components.WORLD_OBJECT_NAMES, {'objects'}),
        (Components.WORLD_OBJECT_GEOMETRY, {'objects', 'shapes'}),
        (Components.OCTOMAP, set()),
        (Components.TRANSFORMS, set()),
        (Components.ALLOWED_COLLISION_MATRIX, {'matrix'}),
        (Components.LINK_PADDING_AND_SCALING, {'link_padding', 'link_scale'}),
        (Components.OBJECT_COLORS, {'object_colors'}),
    ],
)
def test_a_component_alone(scenes, component, wanted):
    fill(scenes)
    assert filled(scenes.get(component)) == wanted


def test_names_without_shapes_cannot_be_applied_and_so_drop_no_obstacle(scenes):
    fill(scenes)
    before = scenes.world
    assert not scenes.apply(scenes.get(Components.WORLD_OBJECT_NAMES))
    assert scenes.world is before


def test_the_matrix_has_the_pairs_of_the_robot_and_of_the_scene(scenes):
    fill(scenes)
    told = scenes.get().allowed_collision_matrix
    index = {name: i for i, name in enumerate(told.entry_names)}
    assert list(index) == ['base', 'upper', 'fore', 'hand', 'finger', 'odd', 'later']
    assert told.entry_values[index['hand']].enabled[index['odd']]
    assert not told.entry_values[index['hand']].enabled[index['later']]
    assert dict(zip(told.default_entry_names, told.default_entry_values, strict=True)) == {
        'held': True,
        'wall': False,
    }


def test_the_pairs_that_the_checker_leaves_out_are_allowed():
    told = SceneServer(checked=True).get().allowed_collision_matrix
    index = {name: i for i, name in enumerate(told.entry_names)}
    assert told.entry_values[index['upper']].enabled[index['fore']]  # neighbours
    assert not told.entry_values[index['upper']].enabled[index['hand']]


def test_padding_and_scale_are_told_of_every_link_with_geometry(scenes):
    scenes.put(link_padding=[LinkPadding(link_name='fore', padding=0.05)])
    told = scenes.get()
    assert {each.link_name: each.padding for each in told.link_padding} == {
        'base': 0.0, 'upper': 0.0, 'fore': 0.05, 'hand': 0.0, 'finger': 0.0,
    }  # fmt: skip
    assert {each.scale for each in told.link_scale} == {1.0}


def test_an_object_in_a_frame_of_tf_is_told_in_it_and_stays_there():
    where = {'map': 5.0}
    bench = WorldBench(
        crane_arm(),
        lambda links, frame: (links[0], rigid_transform(position=(where[frame], 0, 0))),
    )
    bench.receive(diff(ball('lamp', (1.0, 0.0, 0.0), 'map')))
    collisions = CollisionWorld(bench.frames, lambda: bench.measured)
    collisions.known = bench.known
    told = known_scene(collisions, bench.measured).message(0, Time())
    (lamp,) = told.world.collision_objects
    assert (lamp.header.frame_id, lamp.pose.position.x) == ('map', 1.0)
    bench.receive(told)
    where['map'] = 7.0
    assert bench.known.refresh(bench.measured) == ''
    assert bench.world.objects['lamp'].pose[0, 3] == 8.0


def test_the_topic_takes_scenes_as_bytes():
    bench = WorldBench(crane_arm())
    scene = diff(ball('lamp'), allowed_collision_matrix=matrix(['lamp', 'hand'], ('lamp', 'hand')))
    bench.receive(scene)
    assert bench.world.allowed.allows('lamp', 'hand') is True
    scene.name = 'kitchen'
    scene.world.octomap.octomap.data = [1, 2]
    bench.receive(scene)
    (warning,) = bench.warnings
    assert warning.startswith("planning_scene 'kitchen' ignored: world.octomap")


class Client:
    """Calls of the scene's services, as clients make them."""

    def __init__(self, bench):
        self.bench = bench
        everything = CollisionObject(operation=CollisionObject.REMOVE)
        nothing = by_name('', '', CollisionObject.REMOVE)
        assert self.apply(diff(attached=[nothing]))
        assert self.apply(diff(everything))

    def apply(self, scene):
        request = ApplyPlanningScene.Request(scene=scene)
        return self.bench.call(ApplyPlanningScene, 'apply_planning_scene', request).success

    def get(self):
        request = GetPlanningScene.Request()
        return self.bench.call(GetPlanningScene, 'get_planning_scene', request).scene


@pytest.fixture
def client(shared_bench, panda_node):
    pytest.importorskip('coal', reason='needs the extra collision')
    return Client(shared_bench)


def test_a_scene_that_is_applied_is_in_force_and_can_be_got_and_shown(client, panda_node):
    bench, arm = client.bench, panda_arm()
    tip = arm.link_poses(posture_of(arm, 1))[TIP]
    request = ik_request(tip, avoid_collisions=True)
    solved(ask(bench, request))
    wall = ball('wall', tip[:3, 3])
    assert client.apply(diff(wall))
    assert ask(bench, request).error_code.val == ErrorCode.GOAL_IN_COLLISION

    scene = client.get()  # as pymoveit2 allows an object
    allowed = scene.allowed_collision_matrix
    names = [*allowed.entry_names, 'wall']
    pairs = [
        (a, b)
        for a, row in zip(allowed.entry_names, allowed.entry_values, strict=True)
        for b, value in zip(allowed.entry_names, row.enabled, strict=True)
        if value
    ]
    scene.allowed_collision_matrix = matrix(names, *pairs, *((name, 'wall') for name in names))
    assert not scene.is_diff
    assert client.apply(scene)
    solved(ask(bench, request))

    scene = client.get()  # and clears the world
    assert [each.id for each in scene.world.collision_objects] == ['wall']
    scene.world.collision_objects = []
    assert client.apply(scene)
    assert client.get().world.collision_objects == []

    scene = diff(wall)
    scene.world.octomap.octomap.data = [1]
    assert not client.apply(scene)
    panda_node.wait_for('apply_planning_scene: the scene is not taken: world.octomap', 60.0)
    assert client.get().world.collision_objects == []


def test_scenes_on_the_topic_count_and_are_shown_to_who_listens(client):
    bench = client.bench
    moving = Arm(bench, panda_arm().chain.joint_names, READY)
    scenes = bench.record(PlanningScene, 'monitored_planning_scene', LATCHED, publishers=1)
    first = scenes.wait(lambda scene: not scene.is_diff)
    assert first.robot_model_name == 'panda'
    publisher = bench.publisher(PlanningScene, 'planning_scene')
    publisher.publish(diff(ball('lamp', (2.0, 0.0, 0.0))))

    def lamps(scene):
        return [each.id for each in scene.world.collision_objects] == ['lamp']

    shown = scenes.wait(lamps)
    assert not shown.is_diff
    assert [each.id for each in client.get().world.collision_objects] == ['lamp']
    count = len(scenes)
    moving.q[0] = 0.5
    moved = scenes.wait(
        lambda scene: scene.is_diff and 0.5 in scene.robot_state.joint_state.position, since=count
    )
    assert moved.robot_state.is_diff
    late = bench.record(PlanningScene, 'monitored_planning_scene', LATCHED)
    late.wait(lambda scene: not scene.is_diff and lamps(scene))
    count = len(scenes)
    moving.q[0] = 0.6
    scenes.wait(lambda scene: scene.is_diff, since=count)
    bench.node.destroy_subscription([*bench.node.subscriptions][-1])  # as one that begins anew
    again = bench.record(PlanningScene, 'monitored_planning_scene', LATCHED)
    again.wait(lambda scene: not scene.is_diff and lamps(scene))
    publisher.publish(diff(attached=[by_name('lamp', 'panda_hand')]))
    scenes.wait(lambda scene: len(scene.robot_state.attached_collision_objects) == 1)
    publisher.publish(diff(CollisionObject(id='lamp', operation=CollisionObject.REMOVE)))
    until(lambda: len(client.get().robot_state.attached_collision_objects) == 1, what='the scene')
    moving.vanish()


def test_a_request_in_the_frame_of_an_object(client):
    bench = client.bench
    arm, place = panda_arm(), (0.4, 0.1, 0.3)
    tip = arm.link_poses(posture_of(arm, 1))[TIP]
    publisher = bench.publisher(CollisionObject, 'collision_object')
    request = ik_request(np.linalg.inv(rigid_transform(position=place)) @ tip, 'box')

    def answered():
        publisher.publish(ball('box', place))
        answer = ask(bench, request)
        return answer.error_code.val == ErrorCode.SUCCESS and answer

    found = solved(until(answered, what='the object'))
    reached = arm.link_poses(np.array([found[name] for name in arm.postures.names]))[TIP]
    np.testing.assert_allclose(reached, tip, atol=1e-4)
