"""Markers of the known world and of collisions, and their publication by the node."""

import math
from types import SimpleNamespace

from builtin_interfaces.msg import Time
from moveit_msgs.msg import AttachedCollisionObject, CollisionObject
import numpy as np
import pytest
from sensor_msgs.msg import JointState
from support.ros.cells import READY
from support.ros.nodes import Arm, LATCHED
from support.ros.worlds import attached, ball
from visualization_msgs.msg import Marker, MarkerArray

from ik_service.arm.arm import Arm as RobotArm
from ik_service.arm.arm import ArmSettings
from ik_service.arm.measured_state import MeasuredState
from ik_service.collision.shapes import Box, Capsule, Cone, Cylinder, Mesh, Plane, Sphere
from ik_service.collision.world import AttachedObject, World, WorldObject
from ik_service.common.transforms import rigid_transform, transform_from_xyz_rpy
from ik_service.model.geometry.link_geometry import CollisionGeometry, MeshFile
from ik_service.robot import Robot
from ik_service.ros.common.conversions import matrix_from_pose
from ik_service.ros.markers import world_markers
from ik_service.ros.markers.world_markers import (
    ATTACHED,
    CONTACTS,
    fill_marker,
    LINKS,
    OBJECTS,
    PLATE,
    REMARKS,
    TriangleBudget,
    world_marker_array,
    WorldMarkerPublisher,
    WorldScene,
)
from ik_service.ros.scene.collision_world import CollisionWorld
from ik_service.ros.scene.frames import Frames

STAMP = Time(sec=3, nanosec=4)
SHELF = WorldObject(
    'shelf',
    [(Box((1, 1, 0.02)), rigid_transform(None, (0, 0, 0.5))), Sphere(0.1)],
    rigid_transform(None, (1, 2, 3)),
)
TOOL = AttachedObject('tool', Box((0.1, 0.1, 0.3)), 'hand', (), rigid_transform(None, (0, 0, 0.2)))
WORLD = World({'shelf': SHELF, 'floor': WorldObject('floor', Plane((0, 0, 1, 0)))}, {'tool': TOOL})
FOREARM = CollisionGeometry('forearm', Sphere(0.1), np.eye(4))


def by_namespace(scene):
    array = world_marker_array(scene, STAMP)
    assert array.markers[0].action == Marker.DELETEALL
    found = {}
    for marker in array.markers[1:]:
        assert marker.action == Marker.ADD
        assert marker.frame_locked
        assert marker.header.stamp == STAMP
        assert marker.id == len(found.setdefault(marker.ns, []))
        found[marker.ns].append(marker)
    return found


def rgb(marker):
    return marker.color.r, marker.color.g, marker.color.b


def test_objects_are_in_the_frame_of_the_root_and_attached_ones_in_that_of_their_link():
    shown = by_namespace(WorldScene('base', WORLD))
    assert set(shown) == {OBJECTS, ATTACHED}
    board, ball, floor = shown[OBJECTS]
    assert {marker.header.frame_id for marker in shown[OBJECTS]} == {'base'}
    np.testing.assert_allclose(matrix_from_pose(board.pose)[:3, 3], [1, 2, 3.5])
    np.testing.assert_allclose(matrix_from_pose(ball.pose)[:3, 3], [1, 2, 3])
    assert floor.color.a < board.color.a == 1.0
    (tool,) = shown[ATTACHED]
    assert tool.header.frame_id == 'hand'
    assert tool.pose.position.z == 0.2


def test_bodies_in_contact_are_red_and_named():
    contacts = [('forearm', 'shelf'), ('forearm', 'tool'), ('tool', 'shelf')]
    shown = by_namespace(WorldScene('base', WORLD, contacts, [FOREARM]))
    (link,) = shown[LINKS]
    assert link.header.frame_id == 'forearm'
    assert link.color.a < 1.0
    assert link.scale.x > 0.2  # a little more than the link, whose surface would hide it
    red = rgb(link)
    assert [rgb(marker) == red for marker in shown[OBJECTS]] == [True, True, False]
    assert rgb(shown[ATTACHED][0]) == red
    assert [marker.text for marker in shown[CONTACTS]] == [
        'forearm with shelf',
        'forearm with tool',
        'tool with shelf',
    ]
    first, second, third = shown[CONTACTS]
    assert [marker.header.frame_id for marker in shown[CONTACTS]] == ['forearm', 'forearm', 'hand']
    assert second.pose.position.z > first.pose.position.z + first.scale.z  # one above the other
    assert third.pose.position.z > 0.2


def test_what_is_too_much_is_left_out_and_said(monkeypatch):
    for name, value in (('MOST_SHAPES', 3), ('MOST_TRIANGLES', 1), ('MOST_CONTACTS', 1)):
        monkeypatch.setattr(world_markers, name, value)
    slab = Mesh([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], [[0, 1, 2], [0, 2, 3]])
    names = [f'slab_{i}' for i in range(5)]
    world = World({name: WorldObject(name, slab) for name in names})
    contacts = [('forearm', 'slab_4'), ('forearm', 'slab_3')]
    shown = by_namespace(WorldScene('base', world, contacts, [FOREARM], ['not checked: x']))
    assert len(shown[LINKS]) == len(shown[CONTACTS]) == 1
    assert [rgb(marker) for marker in shown[OBJECTS]] == 2 * [rgb(shown[LINKS][0])]
    assert [marker.text for marker in shown[REMARKS]] == [
        'not checked: x',
        '3 of 6 shapes are shown',
        'shown as boxes, for their many triangles: slab_3, slab_4',
    ]


def test_colours_of_the_scene_are_those_of_the_markers_unless_they_collide():
    world = WORLD.with_colors({'shelf': (0.1, 0.2, 0.3, 0.5), 'tool': (0.4, 0.5, 0.6, 0.0)})
    shown = by_namespace(WorldScene('base', world))
    assert [rgb(marker) for marker in shown[OBJECTS][:2]] == [pytest.approx((0.1, 0.2, 0.3))] * 2
    assert shown[OBJECTS][0].color.a == pytest.approx(0.5)
    assert rgb(shown[ATTACHED][0]) == pytest.approx((0.4, 0.5, 0.6))
    assert shown[ATTACHED][0].color.a > 0.0  # nothing that counts is invisible
    before = by_namespace(WorldScene('base', WORLD))
    assert shown[OBJECTS][2].color == before[OBJECTS][2].color  # the floor has none
    colliding = by_namespace(WorldScene('base', world, [('tool', 'shelf')]))
    assert rgb(colliding[OBJECTS][0]) == rgb(colliding[ATTACHED][0]) != rgb(shown[OBJECTS][0])


T = transform_from_xyz_rpy((0.1, 0.2, 0.3), (0.4, 0.5, 0.6))
SLAB = Mesh([[0, 0, 1], [2, 0, 1], [2, 4, 1], [0, 4, 1]], [[0, 1, 2], [0, 2, 3]])


def filled(shape, triangles=1000):
    marker = Marker()
    return marker, fill_marker(marker, shape, T, TriangleBudget(triangles))


def size(marker):
    return [marker.scale.x, marker.scale.y, marker.scale.z]


@pytest.mark.parametrize(
    ('shape', 'kind', 'expected'),
    [
        (Box((1.0, 2.0, 3.0)), Marker.CUBE, [1, 2, 3]),
        (Sphere(0.5), Marker.SPHERE, [1, 1, 1]),
        (Cylinder(0.5, 3.0), Marker.CYLINDER, [1, 1, 3]),
        (Box((1.0, 0.0, 3.0)), Marker.CUBE, [1, 1e-6, 3]),  # viewers refuse 0
        (MeshFile('package://a/b.stl', (1, -1, 2)), Marker.MESH_RESOURCE, [1, -1, 2]),
    ],
)
def test_solids_have_their_full_sizes_and_their_pose(shape, kind, expected):
    marker, is_exact = filled(shape)
    assert (marker.type, size(marker), is_exact) == (kind, expected, True)
    np.testing.assert_allclose(matrix_from_pose(marker.pose), T, atol=1e-12)
    assert marker.mesh_resource == getattr(shape, 'filename', '')


def test_a_cone_is_closed_faces_outwards_and_has_its_tip_up():
    marker, _ = filled(Cone(0.5, 2.0))
    corners = np.array([(p.x, p.y, p.z) for p in marker.points]).reshape(-1, 3, 3)
    np.testing.assert_allclose(corners.reshape(-1, 3).min(axis=0)[2], -1.0)
    np.testing.assert_array_equal(corners.reshape(-1, 3)[corners[..., 2].argmax()], [0, 0, 1])
    edges = {(tuple(t[i]), tuple(t[(i + 1) % 3])) for t in corners for i in range(3)}
    assert len(edges) == 3 * len(corners)
    assert all((end, start) in edges for start, end in edges)
    volume = np.einsum('ij,ij->i', corners[:, 0], np.cross(corners[:, 1], corners[:, 2])).sum() / 6
    assert volume == pytest.approx(math.pi * 0.5**2 * 2.0 / 3.0, rel=0.02)
    np.testing.assert_allclose(matrix_from_pose(marker.pose), T, atol=1e-12)


def test_a_capsule_is_drawn_as_triangles_while_there_are_any_left():
    shape = Capsule(0.5, 2.0)
    marker, is_exact = filled(shape)
    corners = np.array([(p.x, p.y, p.z) for p in marker.points])
    assert (marker.type, is_exact) == (Marker.TRIANGLE_LIST, True)
    np.testing.assert_allclose(np.ptp(corners, axis=0), [1, 1, 3], atol=1e-12)
    marker, is_exact = filled(shape, 10)
    assert (marker.type, is_exact) == (Marker.CUBE, False)
    np.testing.assert_allclose(size(marker), [1, 1, 3], atol=1e-12)


@pytest.mark.parametrize('plane', [(0, 0, 1, -2), (0, 0, -3, 1), (1, 2, -2, 5), (1, 0, 0, 0)])
def test_the_plate_of_a_plane_lies_in_it_and_nearest_to_the_origin(plane):
    marker, _ = filled(Plane(plane))
    assert (marker.type, size(marker)) == (Marker.CUBE, list(PLATE))
    T_plate = np.linalg.inv(T) @ matrix_from_pose(marker.pose)
    normal = np.array(plane[:3])
    for x, y in ((0, 0), (1, 1), (-1, 1)):
        point = (T_plate @ [x, y, 0, 1])[:3]
        assert normal @ point + plane[3] == pytest.approx(0, abs=1e-9)
    np.testing.assert_allclose(np.cross(T_plate[:3, 3], normal), 0, atol=1e-9)


def test_a_mesh_uses_up_the_budget_and_then_becomes_its_box():
    budget, first, second = TriangleBudget(3), Marker(), Marker()
    assert fill_marker(first, SLAB, T, budget)
    assert first.type == Marker.TRIANGLE_LIST
    np.testing.assert_array_equal(
        [(p.x, p.y, p.z) for p in first.points], SLAB.vertices[SLAB.triangles].reshape(-1, 3)
    )
    assert not fill_marker(second, SLAB, T, budget)
    assert second.type == Marker.CUBE
    assert len(second.points) == 0
    np.testing.assert_allclose(size(second)[:2], [2, 4])
    assert 0.0 < size(second)[2] < 1e-3  # viewers refuse 0
    np.testing.assert_allclose(matrix_from_pose(second.pose)[:, 3], T @ [1, 2, 1, 1])


ASIDE = (1.5, *READY[1:])


def shown(array):
    """The markers of an array by namespace."""
    found = {}
    for marker in array.markers:
        if marker.action == Marker.ADD:
            found.setdefault(marker.ns, []).append(marker)
    return found


def texts(array):
    return [marker.text for marker in shown(array).get('contacts', [])]


def elbow(arm, q):
    posture = arm.rest.copy()
    posture[arm.indices] = q
    return arm.link_poses(arm.postures.complete(posture))['panda_link4']


def test_objects_and_collisions_are_published_as_they_come_and_go(shared_bench, panda_node, arm):
    pytest.importorskip('coal', reason="Coal comes with the extra 'collision'")
    bench = shared_bench
    moving = Arm(bench, arm.chain.joint_names, READY)
    world = bench.record(MarkerArray, 'world_markers', LATCHED, publishers=1)
    world.wait(lambda array: not shown(array))

    objects = bench.publisher(CollisionObject, 'collision_object')

    def after(act, argument, wanted):
        """The first array that is wanted after something was done."""
        count = len(world)
        act(argument)
        return world.wait(wanted, since=count)

    far, on_elbow = (2.0, 0.0, 0.5), elbow(arm, READY)[:3, 3]
    free = after(objects.publish, ball('far', far), lambda array: 'objects' in shown(array))
    (marker,) = shown(free)['objects']
    assert (marker.header.frame_id, marker.scale.x) == ('panda_link0', 0.2)
    np.testing.assert_allclose(
        matrix_from_pose(marker.pose), rigid_transform(position=far), atol=1e-9
    )

    hit = after(objects.publish, ball('near', on_elbow), texts)
    assert 'panda_link4 with near' in texts(hit)
    assert 'panda_link4' in {marker.header.frame_id for marker in shown(hit)['colliding_links']}
    colors = [(m.color.r, m.color.g, m.color.b) for m in shown(hit)['objects']]
    assert colors[0] == (marker.color.r, marker.color.g, marker.color.b) != colors[1]

    aside = after(moving.obey, JointState(position=ASIDE), lambda array: not texts(array))
    assert set(shown(aside)) == {'objects'}
    after(moving.obey, JointState(position=READY), texts)
    near = CollisionObject(id='near', operation=CollisionObject.REMOVE)
    gone = after(objects.publish, near, lambda array: not texts(array))
    assert len(shown(gone)['objects']) == 1
    assert 'colliding_links' not in shown(gone)
    objects.publish(CollisionObject(operation=CollisionObject.REMOVE))  # all there are
    moving.vanish()


def test_attached_objects_are_in_the_frame_of_their_link_and_late_subscribers_get_all(
    shared_bench, panda_node, arm
):
    bench = shared_bench
    resting = Arm(bench, arm.chain.joint_names, READY)
    place, topic = (0.0, 0.0, 0.3), 'attached_collision_object'
    bench.publisher(AttachedCollisionObject, topic).publish(attached('tool', 'panda_hand', place))
    for qos in (LATCHED, 10):  # the second as RViz by default: without what was published before
        world = bench.record(MarkerArray, 'world_markers', qos, publishers=1)
        (marker,) = shown(world.wait(lambda array: 'attached' in shown(array)))['attached']
        assert marker.header.frame_id == 'panda_hand'
        np.testing.assert_allclose(matrix_from_pose(marker.pose)[:3, 3], place, atol=1e-9)
    resting.vanish()


ROBOT = """<robot name="two">
  <link name="a"/>
  <link name="b"><collision><geometry><mesh filename="b.stl" scale="2 2 2"/></geometry></collision>
  </link>
  <joint name="j" type="prismatic"><parent link="a"/><child link="b"/><origin xyz="5 0 0"/>
    <axis xyz="1 0 0"/><limit lower="-9" upper="1" effort="1" velocity="1"/></joint>
</robot>"""


class Node:
    """Keeps what is published."""

    def __init__(self):
        self.published = []

    def create_publisher(self, *_):
        return SimpleNamespace(publish=self.published.append)

    def get_clock(self):
        return SimpleNamespace(now=lambda: SimpleNamespace(to_msg=Time))


def test_it_publishes_changes_only_and_to_somebody_and_names_meshes_by_their_files(tmp_path):
    pytest.importorskip('coal', reason="Coal comes with the extra 'collision'")
    urdf, mesh = tmp_path / 'two.urdf', tmp_path / 'b.stl'
    urdf.write_text(ROBOT)
    facet = 'facet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\nendloop'
    mesh.write_text(f'solid a\n{facet}\nendfacet\nendsolid a\n')
    robot = Robot.from_urdf(urdf)
    measured = MeasuredState(RobotArm(robot, ArmSettings()))
    collisions = CollisionWorld(Frames(), lambda: measured)
    collisions.prepare(measured.arm)
    box = WorldObject('box', Box((0.1, 0.1, 0.1)), rigid_transform(None, (0.3, 0.3, 0.0)))
    collisions.known.world = World({'box': box})
    node = Node()
    publisher = WorldMarkerPublisher(node, collisions)

    def published(*, at=None, anew=False):
        """How many arrays are published after two looks at the joint's position [m]."""
        if at is not None:
            measured.update(['j'], [at], 0.0)
        before = len(node.published)
        publisher.update(measured, anew)
        publisher.update(measured, anew=False)
        return len(node.published) - before

    assert published(at=0.0) == 1
    assert published(at=0.5) == 0  # the markers are the same
    assert published(anew=True) == 1
    assert published(at=-5.0) == 1
    found = shown(node.published[-1])
    assert texts(node.published[-1]) == ['b with box']
    (surface,) = found['colliding_links']
    assert surface.header.frame_id == 'b'
    assert (surface.type, surface.mesh_resource) == (Marker.MESH_RESOURCE, mesh.as_uri())
    assert surface.scale.x == pytest.approx(2.0, rel=0.05)
    assert published(at=0.0) == 1
    assert set(shown(node.published[-1])) == {'objects'}
