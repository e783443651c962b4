"""Objects of the world: their shapes, what moves them, what they are attached to."""

import math
import time

from geometry_msgs.msg import Point, Pose
from moveit_msgs.msg import AttachedCollisionObject, CollisionObject
import numpy as np
import pytest
from rclpy.serialization import serialize_message
from shape_msgs.msg import Mesh, MeshTriangle, Plane, SolidPrimitive
from support.ros.servers import panda_arm, posture_of
from support.ros.worlds import attached, BALL, ball, by_name, CRANE, crane_arm, WorldBench

from ik_service import Box, Cylinder, Sphere
from ik_service.arm.arm import ArmSettings
from ik_service.arm.loader import build_arm
from ik_service.collision import shapes
from ik_service.collision.world import MOST_OBJECTS, World, WorldObject
from ik_service.common.transforms import rigid_transform, rotation_from_rpy
from ik_service.ros.common.cdr import read_message
from ik_service.ros.common.conversions import pose_from_matrix
from ik_service.ros.common.errors import RequestError

QUARTER = {'shoulder': math.pi / 2, 'elbow': 0.0, 'wrist': 0.0, 'slide': 0.0}
STRAIGHT = {**QUARTER, 'shoulder': 0.0}
ADD, REMOVE = CollisionObject.ADD, CollisionObject.REMOVE
APPEND, MOVE = CollisionObject.APPEND, CollisionObject.MOVE


@pytest.fixture
def bench():
    bench = WorldBench(crane_arm())
    bench.measure(**STRAIGHT)
    return bench


def at(x, y=0.0, z=0.0):
    return rigid_transform(position=(x, y, z))


def pose(x, y=0.0, z=0.0):
    return pose_from_matrix(at(x, y, z))


def shapes_of(bench, name):
    return [shape for shape, _ in bench.world.objects[name].shapes]


def places_of(bench, name):
    """Where the shapes are in the frame of the root link."""
    found = bench.world.objects[name]
    return [(found.pose @ T)[:3, 3].round(9).tolist() for _, T in found.shapes]


def test_every_shape_of_an_object(bench):
    message = CollisionObject(id='scene', pose=pose(1.0))
    message.primitives = [
        SolidPrimitive(type=SolidPrimitive.BOX, dimensions=[0.1, 0.2, 0.3]),
        SolidPrimitive(type=SolidPrimitive.SPHERE, dimensions=[0.4]),
        SolidPrimitive(type=SolidPrimitive.CYLINDER, dimensions=[0.5, 0.6]),  # height, radius
        SolidPrimitive(type=SolidPrimitive.CONE, dimensions=[0.7, 0.8]),
    ]
    message.primitive_poses = [pose(0.0), pose(0.1)]  # the others stand at the object
    corners = [Point(x=float(x), y=float(x * x)) for x in range(3)]
    message.meshes = [Mesh(vertices=corners, triangles=[MeshTriangle(vertex_indices=[0, 1, 2])])]
    message.mesh_poses = [pose(0.2)]
    message.planes, message.plane_poses = [Plane(coef=[0.0, 0.0, 2.0, 1.0])], [pose(0.3)]
    bench.receive(message)
    box, sphere, cylinder, cone, mesh, plane = shapes_of(bench, 'scene')
    assert (box, sphere) == (Box((0.1, 0.2, 0.3)), Sphere(0.4))
    assert (cylinder, cone) == (Cylinder(0.6, 0.5), shapes.Cone(0.8, 0.7))
    assert mesh.triangles.tolist() == [[0, 1, 2]]
    assert mesh.vertices[2].tolist() == [2.0, 4.0, 0.0]
    assert plane == shapes.Plane((0.0, 0.0, 1.0, 0.5))
    assert [place[0] for place in places_of(bench, 'scene')] == [1.0, 1.1, 1.0, 1.0, 1.2, 1.3]


def test_shapes_are_appended_where_the_message_says(bench):
    bench.receive(ball('lamp', (1.0, 0.0, 0.0)))
    bench.receive(ball('lamp', (1.0, 1.0, 0.0), operation=APPEND))
    beside = CollisionObject(id='lamp', operation=APPEND, primitives=[BALL])
    beside.primitive_poses = [pose(0.0, 0.0, 2.0)]  # without a pose: in the object's frame
    bench.receive(beside)
    assert places_of(bench, 'lamp') == [[1, 0, 0], [1, 1, 0], [1, 0, 2]]
    bench.receive(ball('new', (3.0, 0.0, 0.0), operation=APPEND))
    assert places_of(bench, 'new') == [[3, 0, 0]]


def test_an_object_is_moved_whole_or_shape_by_shape(bench):
    bench.receive(ball('lamp', (1.0, 0.0, 0.0)), ball('lamp', (1.0, 1.0, 0.0), operation=APPEND))
    bench.receive(CollisionObject(id='lamp', operation=MOVE, pose=pose(2.0)))
    assert places_of(bench, 'lamp') == [[2, 0, 0], [2, 1, 0]]
    bench.receive(ball('lamp', (0.5, 0.0, 0.0), 'lamp', MOVE))  # relative to where it is
    assert places_of(bench, 'lamp') == [[2.5, 0, 0], [2.5, 1, 0]]
    message = CollisionObject(id='lamp', operation=MOVE, pose=pose(0.0))
    message.primitive_poses = [pose(7.0), pose(8.0)]
    bench.receive(message)
    assert places_of(bench, 'lamp') == [[7, 0, 0], [8, 0, 0]]
    message.primitive_poses = [pose(9.0)]
    bench.receive(message)
    assert places_of(bench, 'lamp') == [[7, 0, 0], [8, 0, 0]]
    assert '2 shapes' in bench.warnings[-1]


def test_an_object_of_the_world_is_attached_where_it_is_and_moves_with_the_link(bench):
    lamp = ball('lamp', (2.0, 0.5, 0.0))
    lamp.subframe_names, lamp.subframe_poses = ['foot'], [pose(0.0, 0.0, -1.0)]
    bench.receive(lamp, by_name('lamp', 'hand'))
    assert list(bench.world.attached) == ['lamp']
    assert not bench.world.objects
    bench.measure(**QUARTER)
    np.testing.assert_allclose(bench.at('lamp')[:3, 3], [-0.5, 2.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(bench.at('lamp/foot')[:3, 3], [-0.5, 2.0, -1.0], atol=1e-12)
    bench.receive(by_name('lamp', 'hand', REMOVE))
    assert not bench.world.attached
    assert places_of(bench, 'lamp') == [[-0.5, 2.0, 0.0]]
    bench.measure(**STRAIGHT)
    np.testing.assert_allclose(bench.at('lamp/foot')[:3, 3], [-0.5, 2.0, -1.0], atol=1e-12)
    assert bench.warnings == []


def test_an_object_that_comes_with_its_attachment(bench):
    bench.receive(ball('tray', (9.0, 0.0, 0.0)))
    bench.receive(attached('tray', 'hand', (0.0, 0.2, 0.0), touch_links=['finger']))
    assert not bench.world.objects  # it replaces the one of the world
    held = bench.world.attached['tray']
    assert (held.link, held.touch_links) == ('hand', ('finger',))
    np.testing.assert_array_equal(held.pose, at(0.0, 0.2))
    more = attached('tray', 'hand', (0.0, 0.4, 0.0), touch_links=['fore', 'nail'])
    more.object.operation = APPEND
    bench.receive(more)
    held = bench.world.attached['tray']
    assert [T[:3, 3].tolist() for _, T in held.shapes] == [[0, 0, 0], [0, 0.2, 0]]
    assert held.touch_links == ('finger', 'fore', 'nail')
    assert "'tray': touch_links that the robot does not have: nail" in bench.warnings[0]


def test_all_objects_of_a_link_or_of_the_robot_are_detached_at_once(bench):
    bench.receive(attached('a', 'hand'), attached('b', 'fore'), attached('c', 'hand'))
    bench.receive(by_name('', 'hand', REMOVE))
    assert (list(bench.world.attached), sorted(bench.world.objects)) == (['b'], ['a', 'c'])
    bench.receive(by_name('', '', REMOVE))
    assert not bench.world.attached
    bench.receive(CollisionObject(operation=REMOVE))
    assert not bench.world.objects


def test_another_robot_keeps_the_world_and_loses_what_its_links_do_not_carry(bench):
    bench.receive(ball('lamp'), ball('tower'), attached('a', 'hand'), attached('b', 'upper'))
    other = """
    <robot name="other"><link name="base"/><link name="upper"/><link name="tower"/>
    <joint name="shoulder" type="continuous"><parent link="base"/><child link="upper"/></joint>
    <joint name="up" type="fixed"><parent link="base"/><child link="tower"/></joint></robot>
    """
    arm = build_arm(other, ArmSettings(tip_link='upper'))
    assert bench.known.adopt(arm) == ['a', 'tower']
    assert (list(bench.world.objects), list(bench.world.attached)) == (['lamp'], ['b'])


def test_objects_in_a_frame_of_tf_stay_in_it(bench):
    where = {'map': 5.0}
    moving = WorldBench(crane_arm(), lambda links, frame: (links[0], at(where[frame])))
    moving.receive(ball('lamp', (1.0, 0.0, 0.0), 'map'), ball('cup', (0.0, 0.0, 1.0), 'lamp'))
    assert places_of(moving, 'cup') == [[6, 0, 1]]
    where['map'] = 4.0
    assert moving.known.refresh(moving.measured) == ''
    assert places_of(moving, 'cup') == [[5, 0, 1]]
    np.testing.assert_allclose(moving.at('cup')[:3, 3], [5.0, 0.0, 1.0])


# Hostile messages


def mesh_of(triangles, vertices=3):
    corner = Point(x=1.0)
    triangle = MeshTriangle(vertex_indices=[0, 1, 2])
    return Mesh(vertices=[corner] * vertices, triangles=[triangle] * triangles)


def with_shape(kind, *sizes):
    return ball('bad', shape=SolidPrimitive(type=kind, dimensions=list(sizes)))


def with_mesh(mesh):
    return CollisionObject(id='bad', meshes=[mesh])


def faulty():
    nan, box = math.nan, SolidPrimitive.BOX
    yield CollisionObject(id='bad'), 'shapes'
    yield ball('bad', (nan, 0.0, 0.0)), 'pose.position.x'
    yield ball('bad', frame='moon'), 'moon'
    yield ball('bad', operation=b'\x09'), 'operation'
    yield ball('bad', operation=REMOVE), 'bad'
    yield ball('bad', operation=MOVE), 'bad'
    yield ball('hand'), 'hand'
    yield with_shape(box, 0.1, -0.1, 0.1), 'primitives[0].dimensions'
    yield with_shape(box, 0.1, nan, 0.1), 'primitives[0].dimensions'
    yield with_shape(box, 0.1, 0.1), 'primitives[0].dimensions'
    yield with_shape(SolidPrimitive.SPHERE, 0.0), 'radius'
    yield with_shape(SolidPrimitive.SPHERE, math.inf), 'primitives[0].dimensions'
    yield with_shape(77, 0.1), 'primitives[0].type'
    yield with_mesh(Mesh()), 'meshes[0].vertices'
    yield with_mesh(mesh_of(1, vertices=2)), 'meshes[0].triangles'
    yield with_mesh(Mesh(vertices=[Point(x=nan)] * 3, triangles=mesh_of(1).triangles)), 'vertices'
    yield CollisionObject(id='bad', planes=[Plane(coef=[0.0, 0.0, 0.0, 1.0])]), 'planes[0].coef'
    yield CollisionObject(id='bad', primitive_poses=[Pose()]), 'primitive_poses'
    yield CollisionObject(id='bad', subframe_names=['a'], primitives=[BALL]), 'subframe'
    twice = {'subframe_names': ['a', 'a'], 'subframe_poses': [Pose(), Pose()]}
    yield CollisionObject(id='bad', primitives=[BALL], **twice), "'a' twice"
    yield ball('x' * 2000), 'name'
    yield attached('bad', 'moon'), 'moon'
    yield attached('bad', 'hand', (nan, 0.0, 0.0)), 'pose.position.x'
    yield by_name('bad', 'hand'), 'no shapes'
    yield by_name('bad', 'hand', REMOVE), 'bad'
    yield by_name('tray', 'fore', REMOVE), 'hand'
    yield by_name('tray', 'fore'), "attached to 'hand' already"
    yield AttachedCollisionObject(link_name='hand', object=ball('', operation=MOVE)), 'operation'
    yield ball('tray'), 'attached'
    yield ball('bad', frame='bad'), 'bad'
    yield ball(''), 'name'


@pytest.mark.parametrize(('message', 'word'), [*faulty()])
def test_faulty_messages_change_nothing_and_are_logged_by_name(bench, message, word):
    bench.receive(ball('lamp'), attached('tray', 'hand'))
    before = bench.world
    bench.receive(message)
    assert bench.world is before
    (warning,) = bench.warnings
    assert 'collision_object ' in warning
    assert word in warning


def test_a_huge_mesh_is_refused_without_an_object_for_each_triangle(bench):
    data = bytearray(serialize_message(with_mesh(mesh_of(1))))
    read = read_message(bytes(data), CollisionObject)
    # The bytes of the triangles, many times: a message of 24 MB is as good as one of 120 MB.
    triangle = read.meshes[0].triangles.tobytes()
    place = bytes(data).index(triangle)
    count = 2_000_001
    data[place - 4 : place] = count.to_bytes(4, 'little')
    data[place : place + len(triangle)] = triangle * count
    bench.receive_bytes(CollisionObject, bytes(data))
    assert not bench.world.objects
    assert 'triangles' in bench.warnings[0]
    assert '2000001' in bench.warnings[0]


def test_the_number_of_objects_is_bounded(bench):
    objects = {f'o{i}': WorldObject(f'o{i}', Sphere(0.1)) for i in range(MOST_OBJECTS)}
    bench.known.world = World(objects)
    bench.receive(ball('one more'))
    assert len(bench.world.objects) == MOST_OBJECTS
    assert str(MOST_OBJECTS) in bench.warnings[0]
    assert 'one more' in bench.warnings[0]
    bench.receive(CollisionObject(operation=REMOVE))
    assert not bench.world.objects


def test_a_flood_of_faulty_messages_is_logged_a_few_times(bench):
    began = time.monotonic()
    for number in range(300):
        bench.receive(ball(f'bad {number}', (math.nan, 0.0, 0.0)))
    assert len(bench.warnings) <= 5 + (time.monotonic() - began)
    assert not bench.world.objects


# Frames of objects


T_BOX = rigid_transform(rotation_from_rpy(0.1, -0.2, 0.3), (0.4, 0.1, 0.3))
T_GRASP = rigid_transform(rotation_from_rpy(math.pi, 0.0, 0.0), (0.0, 0.0, 0.1))


@pytest.fixture
def world():
    return WorldBench(panda_arm())


def item(operation=ADD, T=T_BOX, name='box', frame='', **subframes):
    message = CollisionObject(id=name, pose=pose_from_matrix(T), operation=operation)
    message.primitives = [BALL]
    message.header.frame_id = frame
    message.subframe_names = list(subframes)
    message.subframe_poses = [pose_from_matrix(T) for T in subframes.values()]
    return message


def test_a_joint_that_follows_another_need_not_be_measured():
    follows = '<mimic joint="shoulder" multiplier="0.3"/>\n    <limit lower="0" upper="0.5"'
    arm = crane_arm(CRANE.replace('<limit lower="0" upper="0.5"', follows))
    bench = WorldBench(arm)
    bench.measure(shoulder=1.0, elbow=0.0, wrist=0.0)
    bench.receive(ball('x', frame='finger'))
    np.testing.assert_allclose(bench.world.objects['x'].pose, bench.at('finger'), atol=1e-12)
    told = bench.known.settings.posture_of(bench.measured)
    assert arm.postures.by_name(told)['slide'] == 0.3


def test_an_object_that_is_added_again_replaces_the_old_one(world):
    world.receive(item(grasp=T_GRASP))
    world.receive(item(T=T_GRASP, top=T_GRASP))
    np.testing.assert_allclose(world.at('box'), T_GRASP, atol=1e-12)
    with pytest.raises(RequestError):
        world.at('box/grasp')


@pytest.mark.parametrize('name', ['box', ''])
def test_removed_objects_are_no_frames(world, name):
    world.receive(item(grasp=T_GRASP))
    world.receive(item(REMOVE, name=name))
    for frame in ('box', 'box/grasp'):
        with pytest.raises(RequestError):
            world.at(frame)


def test_an_object_stays_where_the_hand_put_it(world):
    arm = world.measured.arm
    before, after = posture_of(arm, 1), posture_of(arm, 2)
    world.measured.update(arm.postures.names, before, now=0.0)
    world.receive(item(frame='panda_hand'))
    world.measured.update(arm.postures.names, after, now=1.0)
    expected = arm.link_poses(before)['panda_hand'] @ T_BOX
    np.testing.assert_allclose(world.at('box'), expected, atol=1e-12)


def test_the_pose_of_the_only_shape_counts_where_the_object_has_none(world):
    message = item(T=np.eye(4))
    message.primitive_poses = [pose_from_matrix(T_BOX)]
    world.receive(message)
    np.testing.assert_allclose(world.at('box'), T_BOX, atol=1e-12)


def test_before_there_is_a_robot_only_the_root_is_known(world):
    measured, world.measured = world.measured, None
    world.receive(item(frame='panda_hand', name='late'))
    world.receive(item())
    world.measured = measured
    np.testing.assert_allclose(world.at('box'), T_BOX, atol=1e-12)
    assert len(world.warnings) == 1
