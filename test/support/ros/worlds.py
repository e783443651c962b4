"""A crane that can reach its targets past an obstacle, and its scene without a node."""

from dataclasses import replace
from types import SimpleNamespace

from moveit_msgs.msg import (
    AllowedCollisionEntry,
    AllowedCollisionMatrix,
    AttachedCollisionObject,
    CollisionObject,
    PlanningScene,
)
from moveit_msgs.srv import ApplyPlanningScene, GetPlanningScene
import numpy as np
from rclpy.serialization import serialize_message
from shape_msgs.msg import SolidPrimitive
from support.ros.servers import IN_PLANE, Server

from ik_service.arm.arm import ArmSettings
from ik_service.arm.loader import build_arm
from ik_service.arm.measured_state import MeasuredState
from ik_service.common.transforms import rigid_transform
from ik_service.ros.capabilities.scene import ApplySceneHandler, GetSceneHandler, WorldTopics
from ik_service.ros.common.conversions import pose_from_matrix
from ik_service.ros.requests.frame_resolver import FrameResolver
from ik_service.ros.scene.frames import Frames
from ik_service.ros.scene.known_world import KnownWorld

# A planar arm with two elbow positions for most targets, and a finger beside its chain.
CRANE = """
<robot name="crane">
  <link name="base"><collision><geometry><box size="0.2 0.2 0.2"/></geometry></collision></link>
  <link name="upper"><collision><origin xyz="0.5 0 0"/>
    <geometry><box size="0.9 0.1 0.1"/></geometry></collision></link>
  <link name="fore"><collision><origin xyz="0.5 0 0"/>
    <geometry><box size="0.9 0.1 0.1"/></geometry></collision></link>
  <link name="hand"><collision><geometry><sphere radius="0.06"/></geometry></collision></link>
  <link name="tool"/>
  <link name="finger"><collision><geometry><sphere radius="0.02"/></geometry></collision></link>
  <joint name="shoulder" type="revolute">
    <parent link="base"/><child link="upper"/><axis xyz="0 0 1"/>
    <limit lower="-3" upper="3" velocity="1" effort="1"/>
  </joint>
  <joint name="elbow" type="revolute">
    <parent link="upper"/><child link="fore"/><axis xyz="0 0 1"/><origin xyz="1 0 0"/>
    <limit lower="-2.6" upper="2.6" velocity="1" effort="1"/>
  </joint>
  <joint name="wrist" type="continuous">
    <parent link="fore"/><child link="hand"/><axis xyz="0 0 1"/><origin xyz="1 0 0"/>
    <limit velocity="1" effort="1"/>
  </joint>
  <joint name="flange" type="fixed">
    <parent link="hand"/><child link="tool"/><origin xyz="0.2 0 0"/>
  </joint>
  <joint name="slide" type="prismatic">
    <parent link="hand"/><child link="finger"/><axis xyz="0 1 0"/><origin xyz="0.1 0 0"/>
    <limit lower="0" upper="0.5" velocity="1" effort="1"/>
  </joint>
</robot>
"""
T_TOOL = rigid_transform(position=(1.4, 0.0, 0.0))  # the elbow is then at (0.6, ±0.8)
LEFT, RIGHT = (0.6, 0.8, 0.0), (0.6, -0.8, 0.0)
LEFT_SEED = {'shoulder': 0.9, 'elbow': -1.8, 'wrist': 0.9}
BALL = SolidPrimitive(type=SolidPrimitive.SPHERE, dimensions=[0.1])


def crane_arm(urdf=CRANE, **settings):
    return build_arm(urdf, ArmSettings(base_link='base', tip_link='tool', **settings))


def crane_server(urdf=CRANE):
    server = Server(crane_arm(urdf), task_weights=IN_PLANE)
    server.check_collisions()
    return server


def ball(name, position=(0.0, 0.0, 0.0), frame='', operation=CollisionObject.ADD, shape=BALL):
    pose = pose_from_matrix(rigid_transform(position=position))
    message = CollisionObject(id=name, operation=operation, pose=pose, primitives=[shape])
    message.header.frame_id = frame
    return message


def box(name, position, size, **fields):
    """An object that is a box."""
    shape = SolidPrimitive(type=SolidPrimitive.BOX, dimensions=[float(x) for x in size])
    return ball(name, tuple(map(float, position)), shape=shape, **fields)


def attached(name, link, position=(0.0, 0.0, 0.0), touch_links=(), shape=BALL):
    message = AttachedCollisionObject(link_name=link, touch_links=list(touch_links))
    message.object = ball(name, position, link, shape=shape)
    return message


def by_name(name, link, operation=CollisionObject.ADD):
    """Attach an object of the world, or detach one."""
    return AttachedCollisionObject(
        link_name=link, object=CollisionObject(id=name, operation=operation)
    )


def put(server, *messages):
    for message in messages:
        change = (
            server.collisions.known.attach
            if isinstance(message, AttachedCollisionObject)
            else server.collisions.known.change
        )
        change(message, server.measured)


class WorldBench:
    """A known world without a node: the bytes of messages are handed over directly."""

    def __init__(self, arm, tf=None):
        self.measured = MeasuredState(arm)
        self.frames, self.warnings, self.errors = Frames(tf), [], []
        self.known = KnownWorld(self.frames)
        self._callbacks = {}
        logger = SimpleNamespace(warning=self.warnings.append)
        node = SimpleNamespace(get_logger=lambda: logger, create_subscription=self._subscribe)
        WorldTopics(node, self.known, lambda: self.measured, self.errors.append)

    def _subscribe(self, kind, topic, callback, *_, raw, callback_group, event_callbacks):
        assert raw
        self._callbacks[kind] = callback

    @property
    def world(self):
        return self.known.world

    def receive(self, *messages):
        for message in messages:
            self.receive_bytes(type(message), serialize_message(message))

    def receive_bytes(self, kind, data):
        self._callbacks[kind](data, {})
        assert self.errors == []

    def measure(self, **joints):
        self.measured.update(list(joints), list(joints.values()), now=0.0)

    def at(self, frame):
        """T_root_frame, with the robot as it is measured."""
        arm = self.measured.arm
        resolver = FrameResolver(self.measured, self.measured.posture(), self.frames)
        return resolver.in_base(arm.root_link, frame, np.eye(4))


class SceneServer:
    """The services of a scene, and of compute_ik, for the crane."""

    def __init__(self, checked=False):
        self.server = crane_server() if checked else Server(crane_arm())
        self.log, self.errors = [], []
        context = replace(
            self.server.context, on_error=self.errors.append, on_refused=self.log.append
        )
        self.applying, self.getting = ApplySceneHandler(context), GetSceneHandler(context)
        self.applying.measured = self.getting.measured = self.server.measured

    @property
    def world(self):
        return self.server.collisions.known.world

    def apply(self, scene):
        request = ApplyPlanningScene.Request(scene=scene)
        success = self.applying.handle(request, ApplyPlanningScene.Response()).success
        assert self.errors == []
        return success

    def get(self, components=0):
        request = GetPlanningScene.Request()
        request.components.components = components
        scene = self.getting.handle(request, GetPlanningScene.Response()).scene
        assert self.errors == []
        return scene

    def put(self, *objects, attached=(), **fields):
        """Apply a difference with objects, which has to succeed."""
        assert self.apply(diff(*objects, attached=attached, **fields)), self.log

    def contacts(self, **joints):
        checker = self.server.collisions.checker(self.server.arm)
        return checker.contacts(joints)


def diff(*objects, attached=(), **fields):
    """A scene that changes only what is given."""
    scene = PlanningScene(is_diff=True, **fields)
    scene.robot_state.is_diff = True
    scene.world.collision_objects = list(objects)
    scene.robot_state.attached_collision_objects = list(attached)
    return scene


def matrix(names, *allowed, defaults=None):
    """A matrix of names in which some pairs may touch."""
    names = list(names)
    pairs = {frozenset(pair) for pair in allowed}
    rows = [[frozenset((a, b)) in pairs and a != b for b in names] for a in names]
    return AllowedCollisionMatrix(
        entry_names=names,
        entry_values=[AllowedCollisionEntry(enabled=row) for row in rows],
        default_entry_names=list(defaults or {}),
        default_entry_values=list((defaults or {}).values()),
    )
