"""A server of scenes without a node, and messages of scenes."""

from __future__ import annotations

from moveit_msgs.msg import (
    AllowedCollisionEntry,
    AllowedCollisionMatrix,
    PlanningScene,
)
from moveit_msgs.srv import ApplyPlanningScene, GetPlanningScene

from ik_service.ros.scene.scene_interfaces import ApplySceneHandler, GetSceneHandler
from support.arm_helpers import FixedClock, Server
from support.collision_helpers import crane_arm, crane_server


class SceneServer:
    """The services of a scene, and of compute_ik, for the crane."""

    def __init__(self, checked=False):
        self.server = crane_server() if checked else Server(crane_arm())
        self.log, self.errors = [], []
        heard = FixedClock(), self.server.frames, self.errors.append, self.log.append
        self.applying = ApplySceneHandler(*heard, self.server.collisions)
        self.getting = GetSceneHandler(*heard, self.server.collisions)
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
