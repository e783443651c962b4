"""Each check of motions passes on a right server and fails on one with its defect."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')
pytest.importorskip('coal', reason='needs the extra collision')
pytest.importorskip('ompl', reason='needs the extra plan')

from support.ros.cells import NAMES, READY
from support.ros.faulty_server import assert_only_failing, checks_of, MovingArm, panda_subject

from ik_service.extras.conformance.check import Verdict
from ik_service.extras.conformance.run import run_checks
from ik_service.ros.requests.errors import ErrorCode

MOTIONS = checks_of('motions')
START = dict(zip(NAMES, READY.tolist(), strict=True))


def none(arm):
    """A right server."""


def idle(arm):
    """Every motion is a SUCCESS at once, and nothing moves."""
    arm.follow = lambda trajectory, handle: ErrorCode.SUCCESS


def beside(arm):
    """The arm stops 0.05 rad before each goal."""

    def follow(trajectory, handle):
        code = MovingArm.follow(arm, trajectory, handle)
        arm.q[:7] -= 0.05 * np.sign(arm.q[:7] - READY)
        return code

    arm.follow = follow


def eager(arm):
    """It moves with plan_only, too."""

    def planned(goal):
        goal.planning_options.plan_only = False
        return MovingArm.planned(arm, goal)

    arm.planned = planned


def restless(arm):
    """The arm does not stay where it is."""

    def finished(goal, code):
        arm.q[0] += 0.04
        return code

    arm.finished = finished


def lenient(arm):
    """Errors are successes."""
    arm.finished = lambda goal, code: ErrorCode.SUCCESS


def deaf(arm):
    """A cancellation is accepted, and the motion goes on to its end."""

    class Going:
        is_cancel_requested = False

    def follow(trajectory, handle):
        MovingArm.follow(arm, trajectory, Going)
        return ErrorCode.PREEMPTED if handle.is_cancel_requested else ErrorCode.SUCCESS

    arm.follow = follow


def rolling(arm):
    """The arm goes on after its motion was PREEMPTED."""

    def finished(goal, code):
        if code == ErrorCode.PREEMPTED:
            arm.drift = 0.1
        return code

    arm.finished = finished


def unnamed(arm):
    """A cancellation ends with another code."""
    arm.finished = lambda goal, code: (
        ErrorCode.CONTROL_FAILED if code == ErrorCode.PREEMPTED else code
    )


def planless(arm):
    """With plan_only no trajectory comes back."""

    def planned(goal):
        answer = MovingArm.planned(arm, goal)
        if goal.planning_options.plan_only:
            answer.motion_plan_response.trajectory.joint_trajectory.points = []
        return answer

    arm.planned = planned


QUICK = 'move-there', 'move-pipeline'
CASES = {
    none: '',
    idle: 'move-joints move-pose move-cancel',
    beside: 'move-joints move-pose',
    eager: 'move-plan-only',
    planless: 'move-plan-only',
    restless: 'move-plan-only move-there move-joints move-pose move-goal-collides move-pipeline',
    lenient: 'move-goal-collides move-pipeline move-cancel',
    deaf: 'move-cancel',
    rolling: 'move-cancel',
    unnamed: 'move-cancel',
}


@pytest.mark.parametrize('defect', CASES, ids=lambda defect: defect.__name__)
def test_the_checks_of_a_defect_fail_and_others_pass(ros_context, defect):
    fails = {*CASES[defect].split()}
    # A right server passes all; others are asked what fails, and what takes little time.
    checks = [c for c in MOTIONS if not fails or c.name in fails or c.name in QUICK]
    with panda_subject(ros_context, move=True) as (server, subject):
        server.serve_plans()
        with server.moving_arm(START, defect):
            outcomes = [*run_checks(checks, subject)]
    assert_only_failing(outcomes, CASES[defect])


def test_every_check_fails_on_some_server():
    failing = {name for fails in CASES.values() for name in fails.split()}
    assert failing == {check.name for check in MOTIONS}


@pytest.mark.parametrize('move', [True, False])
def test_motions_are_not_supported_where_nothing_moves_or_may_move(ros_context, move):
    with panda_subject(ros_context, 1.0, move=move) as (_, subject):
        outcomes = [*run_checks(MOTIONS, subject)]
    assert {o.verdict for o in outcomes} == {Verdict.NOT_SUPPORTED}
    assert 'joint state' in outcomes[0].note if move else '--move' in outcomes[0].note
