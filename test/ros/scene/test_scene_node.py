"""Scenes of the node: its services and topics, in the order in which clients use them."""

import numpy as np
import pytest

pytest.importorskip('coal', reason='needs the extra collision')

from moveit_msgs.msg import CollisionObject, PlanningScene
from moveit_msgs.srv import ApplyPlanningScene, GetPlanningScene
from support.harness import until
from support.ros.cells import READY
from support.ros.nodes import Arm, ask, LATCHED, start_panda
from support.ros.servers import ik_request, panda_arm, posture_of, solved, TIP
from support.ros.worlds import ball, by_name, diff, matrix

from ik_service.common.transforms import rigid_transform
from ik_service.ros.requests.errors import ErrorCode


class Client:
    """Calls of the scene's services, as clients make them."""

    def __init__(self, bench):
        self.bench = bench

    def apply(self, scene):
        request = ApplyPlanningScene.Request(scene=scene)
        return self.bench.call(ApplyPlanningScene, 'apply_planning_scene', request).success

    def get(self):
        request = GetPlanningScene.Request()
        return self.bench.call(GetPlanningScene, 'get_planning_scene', request).scene


def test_a_scene_that_is_applied_is_in_force_and_can_be_got_and_shown(bench):
    node = start_panda(bench)
    client, arm = Client(bench), panda_arm()
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
    node.wait_for('apply_planning_scene: the scene is not taken: world.octomap', 10.0)
    assert client.get().world.collision_objects == []


def test_scenes_on_the_topic_count_and_are_shown_to_who_listens(bench):
    start_panda(bench)
    client = Client(bench)
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
    publisher.publish(diff(attached=[by_name('lamp', 'panda_hand')]))
    scenes.wait(lambda scene: len(scene.robot_state.attached_collision_objects) == 1)
    publisher.publish(diff(CollisionObject(id='lamp', operation=CollisionObject.REMOVE)))
    until(lambda: len(client.get().robot_state.attached_collision_objects) == 1, 5.0, 'the scene')


def test_a_request_in_the_frame_of_an_object(bench):
    start_panda(bench)
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
