"""Each check of scenes passes on a right server and fails on one with its defect."""

from __future__ import annotations

import copy

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')
pytest.importorskip('coal', reason='needs the extra collision')

from moveit_msgs.msg import AllowedCollisionMatrix
from moveit_msgs.srv import ApplyPlanningScene
from support.ros.faulty_server import assert_only_failing, checks_of, panda_subject

from ik_service.extras.conformance.check import Verdict
from ik_service.extras.conformance.run import run_checks

SCENES = checks_of('scenes')


def deaf(apply, request):
    """Success without anything done."""
    return ApplyPlanningScene.Response(success=True)


def piecemeal(apply, request):
    """A scene is taken object by object."""
    success = True
    for each in request.scene.world.collision_objects:
        part = copy.deepcopy(request)
        part.scene.world.collision_objects = [each]
        success &= apply(part).success
    return ApplyPlanningScene.Response(success=success)


def without_matrix(apply, request):
    request.scene.allowed_collision_matrix = AllowedCollisionMatrix()
    return apply(request)


class Renaming:
    """The scene has another name each time."""

    def __init__(self):
        self._count = 0

    def __call__(self, get, request):
        answer, self._count = get(request), self._count + 1
        answer.scene.name = f'scene {self._count}'
        return answer


def as_asked(answer, request):
    return answer(request)


CASES = {
    'a right server': (as_asked, as_asked, ''),
    'nothing is applied': (deaf, as_asked, 'scene-at-once scene-whole'),
    'half of a scene is applied': (piecemeal, as_asked, 'scene-whole'),
    'the matrix is ignored': (without_matrix, as_asked, 'scene-allowed'),
    'what is got is different each time': (as_asked, Renaming(), 'scene-round-trip'),
}


@pytest.mark.parametrize('case', CASES)
def test_the_checks_of_a_defect_fail_and_others_pass(ros_context, case):
    on_apply, on_get, fails = CASES[case]
    with panda_subject(ros_context, count=20, change_world=True) as (server, subject):
        server.serve_scenes(on_apply, on_get)
        assert_only_failing([*run_checks(SCENES, subject)], fails)


@pytest.mark.parametrize('change', [True, False])
def test_scenes_are_not_supported_where_there_are_none_or_nothing_may_change(ros_context, change):
    with panda_subject(ros_context, 10.0, count=20, change_world=change) as (_, subject):
        outcomes = [*run_checks(SCENES, subject)]
    assert {o.verdict for o in outcomes} == {Verdict.NOT_SUPPORTED}
