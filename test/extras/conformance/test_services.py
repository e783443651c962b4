"""Each check of lines, scenes, plans and motions fails on a server with its defect alone."""

from contextlib import contextmanager
import copy
from statistics import median

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')
pytest.importorskip('coal', reason='needs the extra collision')
pytest.importorskip('ompl', reason='needs the extra plan')

from builtin_interfaces.msg import Duration
from moveit_msgs.msg import AllowedCollisionMatrix, Constraints
from moveit_msgs.srv import (
    ApplyPlanningScene,
    GetCartesianPath,
    GetMotionPlan,
    QueryPlannerInterfaces,
)
from support.ros.cells import NAMES, READY
from support.ros.faulty_server import assert_only_failing, checks_of, MovingArm, panda_subject

from ik_service.extras.conformance.check import Verdict
from ik_service.extras.conformance.checks import collisions
from ik_service.extras.conformance.main import run_checks
from ik_service.ros.common.errors import ErrorCode

pytestmark = pytest.mark.dds


def as_asked(answer, request):
    return answer(request)


def changed(trajectory_of, change, changed_part):
    """A defect that changes right answers with a trajectory, or a part of them."""

    def defect(plan, request):
        answer = plan(request)
        if trajectory_of(answer).points:
            change(changed_part(answer))
        return answer

    return defect


def changed_path(change):
    """A defect that changes answers of compute_cartesian_path."""
    return changed(lambda answer: answer.solution.joint_trajectory, change, lambda answer: answer)


def changed_plan(change):
    """A defect that changes the trajectories of plans."""

    def trajectory_of(answer):
        return answer.motion_plan_response.trajectory.joint_trajectory

    return changed(trajectory_of, change, trajectory_of)


def asked_otherwise(change):
    """A defect that understands another request of a plan than the one that is made."""

    def defect(plan, request):
        request = copy.deepcopy(request)
        change(request.motion_plan_request)
        return plan(request)

    return defect


def off_the_line(answer):
    middle = len(answer.solution.joint_trajectory.points) // 2
    answer.solution.joint_trajectory.points[middle].positions[0] += 0.05


def single(answer):
    del answer.solution.joint_trajectory.points[1:]


def timeless(answer):
    for point in answer.solution.joint_trajectory.points:
        point.time_from_start = Duration()


def boastful(answer):
    answer.fraction = 1.0


def found(plan, request):
    """Everything is a success, as far as it can be."""
    answer = plan(request)
    answer.error_code.val = ErrorCode.SUCCESS
    return answer


LINES = {
    'a right server': (as_asked, ''),
    'a point beside the line': (changed_path(off_the_line), 'line-short'),
    'only one point': (changed_path(single), 'line-short'),
    'no times': (changed_path(timeless), 'line-timing'),
    'always a fraction of 1': (changed_path(boastful), 'line-out-of-reach'),
    'no error codes': (found, 'line-step line-group line-frame'),
}


def without_effect(apply, request):
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


SCENES = {
    'a right server': (as_asked, as_asked, ''),
    'nothing is applied': (without_effect, as_asked, 'scene-at-once scene-whole'),
    'half of a scene is applied': (piecemeal, as_asked, 'scene-whole'),
    'the matrix is ignored': (without_matrix, as_asked, 'scene-allowed'),
    'what is got is different each time': (as_asked, Renaming(), 'scene-round-trip'),
}


def short(trajectory):
    trajectory.points = trajectory.points[: len(trajectory.points) // 2]


def empty(trajectory):
    trajectory.points = []


def uneven(trajectory):
    trajectory.points[-1].positions.pop()


def bent(trajectory):
    """The elbow is folded into the base on the way."""
    for point in trajectory.points[1:-1]:
        point.positions = [0.8, -0.8, -2.7, -3.0, 1.8, 3.4, 0.6]


def unbound(trajectory):
    trajectory.points[len(trajectory.points) // 2].positions[3] = 0.5


def too_fast(trajectory):
    for point in trajectory.points:
        point.velocities = [10.0 * value for value in point.velocities]


def full_speed(request):
    request.max_velocity_scaling_factor = request.max_acceleration_scaling_factor = 1.0


def aside(request):
    for goal in request.goal_constraints:
        for position in goal.position_constraints:
            position.constraint_region.primitive_poses[0].position.z += 0.01


def unconstrained(request):
    request.path_constraints = Constraints()


def planned_nothing(plan, request):
    """Whatever cannot be planned is a SUCCESS without a trajectory."""
    answer = plan(request)
    answer.motion_plan_response.error_code.val = ErrorCode.SUCCESS
    return answer


def as_moveit(plan, request):
    """Whatever cannot be planned is a FAILURE."""
    answer = plan(request)
    if answer.motion_plan_response.error_code.val != ErrorCode.SUCCESS:
        answer.motion_plan_response.error_code.val = ErrorCode.FAILURE
    return answer


def blind(plan, request):
    """What collides is planned to as well: to the start."""
    answer = plan(request)
    collides = ErrorCode.GOAL_IN_COLLISION, ErrorCode.START_STATE_IN_COLLISION
    if answer.motion_plan_response.error_code.val not in collides:
        return answer
    response = GetMotionPlan.Response()
    response.motion_plan_response.error_code.val = ErrorCode.SUCCESS
    return response


def nameless(planners, request):
    return QueryPlannerInterfaces.Response()


REFUSED = (
    'plan-out-of-reach plan-goal-collides plan-start-collides plan-start-constraint plan-group '
    'plan-no-goal plan-pipeline plan-world plan-not-a-number'
)
PLANS = {
    'a right server': (as_asked, as_asked, ''),
    'no planners are listed': (as_asked, nameless, 'plan-planners'),
    'half of each trajectory': (
        changed_plan(short), as_asked,
        'plan-joints plan-timing plan-scaling plan-pose plan-planner',
    ),
    'trajectories without points': (
        changed_plan(empty), as_asked,
        'plan-joints plan-valid plan-timing plan-scaling plan-pose plan-planner plan-world',
    ),
    'a point that lacks a position': (
        changed_plan(uneven), as_asked, 'plan-joints plan-valid plan-pose plan-planner',
    ),
    'a point that collides': (changed_plan(bent), as_asked, 'plan-valid'),
    'a point outside the limits': (changed_plan(unbound), as_asked, 'plan-joints plan-valid'),
    'velocities that are too high': (changed_plan(too_fast), as_asked, 'plan-timing plan-scaling'),
    'scaling factors are ignored': (asked_otherwise(full_speed), as_asked, 'plan-scaling'),
    'poses are somewhere else': (asked_otherwise(aside), as_asked, 'plan-pose'),
    'path constraints are ignored': (
        asked_otherwise(unconstrained), as_asked, 'plan-start-constraint',
    ),
    'errors are successes': (planned_nothing, as_asked, REFUSED),
    "MoveIt's codes": (as_moveit, as_asked, 'plan-start-collides plan-group plan-no-goal'),
    'collisions are ignored': (
        blind, as_asked, 'plan-goal-collides plan-start-collides plan-world',
    ),
}  # fmt: skip


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


QUICK = 'move-there', 'move-pipeline', 'line-short', 'line-timing', 'line-step'
MOTIONS = {
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

CASES = {
    'straight lines': LINES,
    'scenes': SCENES,
    'plans': PLANS,
    'motions': {defect.__name__: (defect, fails) for defect, fails in MOTIONS.items()},
}
"""By section and by what is wrong: the defects, and the checks that have to fail."""


@contextmanager
def serving(section, server, subject, defects):
    """Serve what the checks of a section ask for."""
    if section == 'straight lines':
        server.plan_paths(*defects)
        subject.connection.wait_for(GetCartesianPath, 'compute_cartesian_path')
    if section == 'scenes':
        server.serve_scenes(*defects)
    if section == 'plans':
        server.serve_scenes()
        server.serve_plans(*defects)
    if section == 'motions':
        server.serve_plans()
        with server.moving_arm(START, *defects):
            yield
    else:
        yield


@pytest.mark.parametrize(
    ('section', 'case'), [(section, case) for section in CASES for case in CASES[section]]
)
def test_the_checks_of_a_defect_fail_and_others_pass(ros_context, monkeypatch, section, case):
    *defects, fails = CASES[section][case]
    monkeypatch.setattr(collisions, '_POSTURES', 60)  # of which four collide
    checks = checks_of(section)
    if section in ('motions', 'straight lines') and fails:  # others take long
        checks = [c for c in checks if c.name in (*fails.split(), *QUICK)]
    settings = {'move': True} if section == 'motions' else {'count': 8, 'change_world': True}
    with (
        panda_subject(ros_context, **settings) as (server, subject),
        serving(section, server, subject, defects),
    ):
        outcomes = [*run_checks(checks, subject)]
    assert_only_failing(outcomes, fails)


@pytest.mark.parametrize('section', CASES)
def test_every_check_fails_on_some_server(section):
    failing = {name for *_, fails in CASES[section].values() for name in fails.split()}
    assert failing == {check.name for check in checks_of(section)}


def test_what_fails_with_moveit_is_what_its_source_is_expected_to_fail():
    *_, fails = PLANS["MoveIt's codes"]
    assert {check.name for check in checks_of('plans') if check.moveit} == {*fails.split()}


@pytest.mark.parametrize('may_change', [True, False])
def test_what_is_not_served_is_not_judged(ros_context, may_change):
    settings = {'count': 20, 'change_world': may_change, 'move': may_change}
    checks = [check for section in CASES for check in checks_of(section)]
    with panda_subject(ros_context, 0.1, **settings) as (_, subject):
        outcomes = [*run_checks(checks, subject)]
    assert {o.verdict for o in outcomes} == {Verdict.NOT_SUPPORTED}
    motions = [o for o in outcomes if o.check.section == 'motions']
    assert all(('joint state' if may_change else '--move') in o.note for o in motions)
    assert median(o.seconds for o in motions) < 0.1  # only the first waits for joint states
    assert all(len(o.note) < 60 for o in motions[1:])
