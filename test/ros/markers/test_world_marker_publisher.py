"""Publication of the known world and of collisions by the node."""

from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip('coal', reason="Coal comes with the extra 'collision'")

from builtin_interfaces.msg import Time
from moveit_msgs.msg import AttachedCollisionObject, CollisionObject
from sensor_msgs.msg import JointState
from shape_msgs.msg import SolidPrimitive
from support.ros.cells import READY
from support.ros.nodes import Arm, LATCHED, start_panda
from visualization_msgs.msg import Marker, MarkerArray

from ik_service.arm.arm import Arm as RobotArm
from ik_service.arm.arm import ArmSettings
from ik_service.arm.measured_state import MeasuredState
from ik_service.collision.shapes import Box
from ik_service.collision.world import World, WorldObject
from ik_service.common.transforms import rigid_transform
from ik_service.robot import Robot
from ik_service.ros.common.conversions import matrix_from_pose, pose_from_matrix
from ik_service.ros.markers.world_markers import WorldMarkerPublisher
from ik_service.ros.requests.frames import Frames
from ik_service.ros.scene.collision_world import CollisionWorld

ASIDE = (1.5, *READY[1:])


def ball(name, radius, T, frame=''):
    message = CollisionObject(id=name, pose=pose_from_matrix(T), operation=CollisionObject.ADD)
    message.header.frame_id = frame
    message.primitives = [SolidPrimitive(type=SolidPrimitive.SPHERE, dimensions=[radius])]
    return message


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


def test_objects_and_collisions_are_published_as_they_come_and_go(bench, arm):
    start_panda(bench)
    moving = Arm(bench, arm.chain.joint_names, READY)
    world = bench.record(MarkerArray, 'world_markers', LATCHED, publishers=1)
    world.wait(lambda array: not shown(array))

    objects = bench.publisher(CollisionObject, 'collision_object')

    def after(act, argument, wanted):
        """The first array that is wanted after something was done."""
        count = len(world)
        act(argument)
        return world.wait(wanted, since=count)

    far, on_elbow = rigid_transform(None, (2.0, 0.0, 0.5)), elbow(arm, READY)
    free = after(objects.publish, ball('far', 0.1, far), lambda array: 'objects' in shown(array))
    (marker,) = shown(free)['objects']
    assert (marker.header.frame_id, marker.scale.x) == ('panda_link0', 0.2)
    np.testing.assert_allclose(matrix_from_pose(marker.pose), far, atol=1e-9)

    hit = after(objects.publish, ball('near', 0.05, on_elbow), texts)
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


def test_attached_objects_are_in_the_frame_of_their_link_and_late_subscribers_get_all(bench, arm):
    start_panda(bench)
    Arm(bench, arm.chain.joint_names, READY)
    attached = bench.publisher(AttachedCollisionObject, 'attached_collision_object')
    T = rigid_transform(None, (0.0, 0.0, 0.3))
    attached.publish(
        AttachedCollisionObject(link_name='panda_hand', object=ball('tool', 0.04, T, 'panda_hand'))
    )
    for qos in (LATCHED, 10):  # the second as RViz by default: without what was published before
        world = bench.record(MarkerArray, 'world_markers', qos, publishers=1)
        (marker,) = shown(world.wait(lambda array: 'attached' in shown(array)))['attached']
        assert marker.header.frame_id == 'panda_hand'
        np.testing.assert_allclose(matrix_from_pose(marker.pose), T, atol=1e-9)


ROBOT = """<robot name="two">
  <link name="a"/>
  <link name="b"><collision><geometry><mesh filename="b.stl" scale="2 2 2"/></geometry></collision>
  </link>
  <joint name="j" type="prismatic"><parent link="a"/><child link="b"/><origin xyz="5 0 0"/>
    <axis xyz="1 0 0"/><limit lower="-9" upper="1" effort="1" velocity="1"/></joint>
</robot>"""


def test_what_cannot_be_checked_is_said_once_there_are_objects(bench, tmp_path):
    urdf = tmp_path / 'two.urdf'
    urdf.write_text(ROBOT)
    bench.start('ik_service.ros.node.main', urdf=str(urdf))
    world = bench.record(MarkerArray, 'world_markers', LATCHED, publishers=1)
    world.wait(lambda array: not shown(array))
    objects = bench.publisher(CollisionObject, 'collision_object')
    objects.publish(ball('far', 0.1, np.eye(4)))
    (remark,) = shown(world.wait(lambda array: 'objects' in shown(array)))['remarks']
    assert remark.text.startswith('collisions are not checked: ')
    assert 'b.stl' in remark.text


class Node:
    """Keeps what is published."""

    def __init__(self):
        self.published = []

    def create_publisher(self, *_):
        return SimpleNamespace(publish=self.published.append)

    def get_clock(self):
        return SimpleNamespace(now=lambda: SimpleNamespace(to_msg=Time))


def test_it_publishes_changes_only_and_to_somebody_and_names_meshes_by_their_files(tmp_path):
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
