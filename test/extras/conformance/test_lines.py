"""Checks of compute_cartesian_path: passed by ours, and each failed by some server."""

from __future__ import annotations

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from builtin_interfaces.msg import Duration
from moveit_msgs.msg import MoveItErrorCodes
from moveit_msgs.srv import GetCartesianPath
from support.ros.faulty_server import checks_of, panda_subject

from ik_service.extras.conformance.check import Verdict
from ik_service.extras.conformance.run import run_checks

LINES = checks_of('straight lines')


def verdicts(ros_context, defect=None):
    """The verdicts on a server, by check; without a defect it has no such service."""
    with panda_subject(ros_context, 100.0) as (server, subject):
        if defect is not None:
            server.plan_paths(defect)
            subject.connection.wait_for(GetCartesianPath, 'compute_cartesian_path')
        return {o.check.name: o.verdict for o in run_checks(LINES, subject)}


def failed(found):
    return {name for name, verdict in found.items() if verdict is Verdict.FAIL}


def changed(change):
    def defect(plan, request):
        answer = plan(request)
        if answer.solution.joint_trajectory.points:
            change(answer)
        return answer

    return defect


def beside(answer):
    middle = len(answer.solution.joint_trajectory.points) // 2
    answer.solution.joint_trajectory.points[middle].positions[0] += 0.05


def hasty(answer):
    for point in answer.solution.joint_trajectory.points:
        point.time_from_start = Duration()


def boastful(answer):
    answer.fraction = 1.0


def lenient(plan, request):
    """Everything is a success, as far as it can be."""
    answer = plan(request)
    answer.error_code.val = MoveItErrorCodes.SUCCESS
    return answer


DEFECTS = {
    'none': (lambda plan, request: plan(request), ''),
    'a point beside the line': (changed(beside), 'line-short'),
    'no times': (changed(hasty), 'line-timing'),
    'always a fraction of 1': (changed(boastful), 'line-out-of-reach'),
    'no error codes': (lenient, 'line-step line-group line-frame'),
}


@pytest.mark.parametrize('name', DEFECTS)
def test_defects_are_found(ros_context, name):
    defect, fails = DEFECTS[name]
    assert failed(verdicts(ros_context, defect)) == {*fails.split()}


def test_a_server_without_the_service_is_not_judged(ros_context):
    assert set(verdicts(ros_context).values()) == {Verdict.NOT_SUPPORTED}
