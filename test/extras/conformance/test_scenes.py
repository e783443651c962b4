"""Each check of scenes passes on a right server and fails on one with its defect."""

from __future__ import annotations

import copy

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')
pytest.importorskip('coal', reason='needs the extra collision')

from moveit_msgs.msg import AllowedCollisionMatrix
from moveit_msgs.srv import ApplyPlanningScene
from support.arm_helpers import TIP
from support.chains import arm_path
from support.faulty_server import faulty_server

from ik_service import Robot
from ik_service.extras.conformance.arm import TestedArm
from ik_service.extras.conformance.check import Verdict
from ik_service.extras.conformance.run import CHECKS, run_checks
from ik_service.extras.conformance.subject import Settings, Subject

SCENES = [check for check in CHECKS if check.section == 'scenes']


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
def test_the_checks_of_a_defect_fail_and_others_pass(ros_context, panda_model, case):
    on_apply, on_get, fails = CASES[case]
    with faulty_server(ros_context, panda_model, 60.0) as (server, connection):
        server.serve_scenes(on_apply, on_get)
        arm = TestedArm.of(Robot.from_urdf(arm_path('panda')), '', '', TIP)
        subject = Subject(arm, connection, Settings(count=20, change_world=True), '')
        outcomes = [*run_checks(SCENES, subject)]
    failed = {o.check.name for o in outcomes if o.verdict is Verdict.FAIL}
    assert failed == {*fails.split()}, [(o.check.name, o.note) for o in outcomes]
    assert all(o.verdict in (Verdict.PASS, Verdict.FAIL) for o in outcomes)


def test_scenes_are_not_supported_where_there_are_none_or_nothing_may_change(
    ros_context, panda_model
):
    with faulty_server(ros_context, panda_model, 10.0) as (_, connection):
        arm = TestedArm.of(Robot.from_urdf(arm_path('panda')), '', '', TIP)
        for change in (True, False):
            subject = Subject(arm, connection, Settings(count=20, change_world=change), '')
            outcomes = [*run_checks(SCENES, subject)]
            assert {o.verdict for o in outcomes} == {Verdict.NOT_SUPPORTED}
