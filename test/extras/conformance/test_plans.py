"""Each check of plans passes on a right server and fails on one with its defect."""

from __future__ import annotations

import copy

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')
pytest.importorskip('coal', reason='needs the extra collision')
pytest.importorskip('ompl', reason='needs the extra plan')

from moveit_msgs.msg import Constraints
from moveit_msgs.srv import GetMotionPlan, QueryPlannerInterfaces
from support.ros.faulty_server import assert_only_failing, checks_of, panda_subject

from ik_service.extras.conformance.check import Verdict
from ik_service.extras.conformance.run import run_checks
from ik_service.ros.requests.errors import ErrorCode

PLANS = checks_of('plans')


def as_asked(answer, request):
    return answer(request)


def changed(change):
    """A defect that changes the trajectories of right answers."""

    def defect(plan, request):
        answer = plan(request)
        if answer.motion_plan_response.trajectory.joint_trajectory.points:
            change(answer.motion_plan_response.trajectory.joint_trajectory)
        return answer

    return defect


def asked_otherwise(change):
    """A defect that understands something else than what is asked."""

    def defect(plan, request):
        request = copy.deepcopy(request)
        change(request.motion_plan_request)
        return plan(request)

    return defect


def short(trajectory):
    trajectory.points = trajectory.points[: len(trajectory.points) // 2]


def bent(trajectory):
    """The elbow is folded into the base on the way."""
    for point in trajectory.points[1:-1]:
        point.positions = [0.8, -0.8, -2.7, -3.0, 1.8, 3.4, 0.6]


def unbound(trajectory):
    trajectory.points[len(trajectory.points) // 2].positions[3] = 0.5


def hasty(trajectory):
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


def lenient(plan, request):
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
CASES = {
    'a right server': (as_asked, as_asked, ''),
    'no planners are listed': (as_asked, nameless, 'plan-planners'),
    'half of each trajectory': (
        changed(short), as_asked, 'plan-joints plan-timing plan-scaling plan-pose plan-planner',
    ),
    'a point that collides': (changed(bent), as_asked, 'plan-valid'),
    'a point outside the limits': (changed(unbound), as_asked, 'plan-joints plan-valid'),
    'velocities that are too high': (changed(hasty), as_asked, 'plan-timing plan-scaling'),
    'scaling factors are ignored': (asked_otherwise(full_speed), as_asked, 'plan-scaling'),
    'poses are somewhere else': (asked_otherwise(aside), as_asked, 'plan-pose'),
    'path constraints are ignored': (
        asked_otherwise(unconstrained), as_asked, 'plan-start-constraint',
    ),
    'errors are successes': (lenient, as_asked, REFUSED),
    "MoveIt's codes": (as_moveit, as_asked, 'plan-start-collides plan-group plan-no-goal'),
    'collisions are ignored': (
        blind, as_asked, 'plan-goal-collides plan-start-collides plan-world',
    ),
}  # fmt: skip


@pytest.mark.parametrize('case', CASES)
def test_the_checks_of_a_defect_fail_and_others_pass(ros_context, case):
    on_plan, on_list, fails = CASES[case]
    with panda_subject(ros_context, count=20, change_world=True) as (server, subject):
        server.serve_scenes()
        server.serve_plans(on_plan, on_list)
        assert_only_failing([*run_checks(PLANS, subject)], fails)


def test_every_check_fails_on_some_server():
    failing = {name for _, _, fails in CASES.values() for name in fails.split()}
    assert failing == {check.name for check in PLANS}


def test_what_fails_with_moveit_is_what_its_source_is_expected_to_fail():
    _, _, fails = CASES["MoveIt's codes"]
    assert {check.name for check in PLANS if check.moveit} == {*fails.split()}


def test_plans_are_not_supported_where_there_are_none(ros_context):
    with panda_subject(ros_context, 10.0) as (_, subject):
        outcomes = [*run_checks(PLANS, subject)]
    assert {o.verdict for o in outcomes} == {Verdict.NOT_SUPPORTED}
