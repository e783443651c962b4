"""Answers of plan_kinematic_path and query_planner_interface, without a node."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')
pytest.importorskip('ompl', reason='OMPL comes with the extra plan')
pytest.importorskip('coal', reason='Coal comes with the extra collision')

from moveit_msgs.msg import Constraints, MotionPlanRequest, RobotState
from moveit_msgs.srv import GetMotionPlan, QueryPlannerInterfaces
from shape_msgs.msg import SolidPrimitive
from support.ros.cells import NAMES, READY
from support.ros.plans import (
    box,
    gone,
    joint_constraints,
    joint_goal,
    LEFT,
    plan_request,
    planned_rows,
    pose_goal,
    POST,
    RIGHT,
    upright,
)
from support.ros.servers import panda_arm, Server
from support.ros.worlds import attached, put
from support.solids import at

from ik_service.extras.planning.ros.capability import PlanHandler, PlannersHandler
from ik_service.extras.planning.ros.request_planner import RequestPlanner
from ik_service.motion.settings import FollowerSettings
from ik_service.ros.common.errors import ErrorCode

DOWN = np.diag([1.0, -1.0, -1.0, 1.0])


class Planning(Server):
    """The handler of plan_kinematic_path on the Panda, beside those of the others."""

    def __init__(self):
        super().__init__(panda_arm())
        self.check_collisions()
        self.planner = RequestPlanner(
            self.settings, FollowerSettings(), self.frames, self.collisions
        )
        self.plans = PlanHandler(self.context, self.planner)
        self.plans.measured = self.measured

    def answer(self, *goals, **fields):
        fields.setdefault('start', LEFT)
        request = goals[0] if goals and isinstance(goals[0], MotionPlanRequest) else None
        request = request or plan_request(*goals, **fields)
        wanted = GetMotionPlan.Request(motion_plan_request=request)
        answer = self.plans.handle(wanted, GetMotionPlan.Response()).motion_plan_response
        assert not self.errors, self.errors
        return answer

    def planned(self, *goals, **fields):
        return self.refused(ErrorCode.SUCCESS, '', *goals, **fields)

    def refused(self, code, named, *goals, **fields):
        answer = self.answer(*goals, **fields)
        assert code_of(answer) is code, answer.error_code.message
        assert named in answer.error_code.message
        return answer

    def check(self):
        return self.collisions.checker(self.arm).for_joints(NAMES)


@pytest.fixture(scope='module')
def shared():
    return Planning()


@pytest.fixture
def planning(shared):
    """The shared handler, in an empty world."""
    if 'post' in shared.collisions.known.world.objects:
        put(shared, gone('post'))
    return shared


@pytest.fixture
def post(planning):
    put(planning, POST)
    return planning


def code_of(answer):
    return ErrorCode(answer.error_code.val)


def test_a_joint_goal_is_reached_around_an_obstacle(post):
    answer = post.planned(joint_goal(RIGHT))
    rows = planned_rows(answer.trajectory)
    assert not post.check().colliding(rows).any()
    assert np.allclose(rows[0], LEFT)
    assert np.allclose(rows[-1], RIGHT)
    assert answer.planning_time > 0.0
    assert answer.group_name == post.arm.group.name
    state = answer.trajectory_start.joint_state
    found = dict(zip(state.name, state.position, strict=True))
    assert [found[name] for name in NAMES] == pytest.approx(LEFT.tolist())
    times = [p.time_from_start for p in answer.trajectory.joint_trajectory.points]
    stamps = [t.sec + 1e-9 * t.nanosec for t in times]
    assert stamps[0] == 0.0
    assert (np.diff(stamps) > 0.0).all()


def test_a_pose_goal_is_met_within_its_tolerances(post):
    T = at(0.4, -0.4, 0.3) @ DOWN
    answer = post.planned(pose_goal(T))
    reached = post.arm.chain.forward(planned_rows(answer.trajectory)[-1])
    assert np.allclose(reached, T, atol=5e-5)  # the middle of the tolerances
    hand = post.answer(pose_goal(T, link='panda_hand'))
    q = planned_rows(hand.trajectory)[-1]
    assert np.allclose(post.arm.robot.chain('panda_link0', 'panda_hand').forward(q), T, atol=5e-5)
    free = post.answer(pose_goal(T, angle=None))
    reached = post.arm.chain.forward(planned_rows(free.trajectory)[-1])
    assert np.allclose(reached[:3, 3], T[:3, 3], atol=5e-5)


def test_a_region_is_used_where_its_middle_cannot_be_reached(planning):
    T = planning.arm.chain.forward(READY)
    T[2, 3] += 1.0  # out of reach
    goal = pose_goal(T, radius=1.0, angle=4.0)
    answer = planning.planned(goal)
    reached = planning.arm.chain.forward(planned_rows(answer.trajectory)[-1])
    assert np.linalg.norm(reached[:3, 3] - T[:3, 3]) <= 1.0 + 1e-4


def test_a_goal_places_a_link_and_joints_beyond_it(planning):
    elbow = planning.arm.robot.chain('panda_link0', 'panda_link4')
    goal = pose_goal(elbow.forward(RIGHT[:4]), link='panda_link4', angle=None)
    goal.joint_constraints = joint_constraints(NAMES[4:6], [0.5, 1.2], 1e-3)
    answer = planning.planned(goal)
    q = planned_rows(answer.trajectory)[-1]
    assert np.allclose(elbow.forward(q[:4])[:3, 3], elbow.forward(RIGHT[:4])[:3, 3], atol=5e-5)
    assert np.allclose(q[4:], [0.5, 1.2, LEFT[6]])


def test_the_joints_beyond_the_link_of_a_goal_move_out_of_the_way(planning):
    elbow = planning.arm.robot.chain('panda_link0', 'panda_link4')
    goal = pose_goal(elbow.forward(RIGHT[:4]), link='panda_link4')
    goal.joint_constraints = joint_constraints(NAMES[6:], [0.8], 0.1)
    put(planning, box('ball', planning.arm.chain.forward(RIGHT)[:3, 3], (0.1, 0.1, 0.1)))
    try:
        answer = planning.planned(goal)
    finally:
        put(planning, gone('ball'))
    q = planned_rows(answer.trajectory)[-1]
    assert np.allclose(elbow.forward(q[:4]), elbow.forward(RIGHT[:4]), atol=2e-3)
    assert abs(q[6] - 0.8) <= 0.1


def test_one_of_several_goals_is_reached(post):
    inside = pose_goal(at(0.32, 0.0, 0.3) @ DOWN)
    answer = post.answer(inside, joint_goal(RIGHT))
    assert np.allclose(planned_rows(answer.trajectory)[-1], RIGHT)


def test_a_goal_that_breaks_path_constraints_leaves_the_others(planning):
    near = joint_goal([LEFT[0] + 0.05], names=NAMES[:1])
    path = Constraints(joint_constraints=joint_goal(LEFT, tolerance=0.1).joint_constraints)
    answer = planning.planned(joint_goal(RIGHT), near, path_constraints=path)
    assert np.allclose(planned_rows(answer.trajectory)[-1], [LEFT[0] + 0.05, *LEFT[1:]])
    assert 'goal_constraints[0]' in answer.error_code.message


def test_a_goal_that_is_beyond_limits_leaves_the_others(planning):
    beyond = joint_goal([9.0], names=NAMES[:1]), joint_goal([0.9], ['panda_finger_joint1'])
    answer = planning.planned(*beyond, joint_goal(RIGHT))
    assert np.allclose(planned_rows(answer.trajectory)[-1], RIGHT)
    for reason in ('goal_constraints[0]: joint_constraints[0]', 'goal_constraints[1]'):
        assert reason in answer.error_code.message


def test_joints_that_a_goal_does_not_name_stay(planning):
    answer = planning.answer(joint_goal([0.2], names=NAMES[:1]))
    assert np.allclose(planned_rows(answer.trajectory)[-1], [0.2, *LEFT[1:]])


def test_all_of_the_tolerances_of_joints_are_used_where_their_middle_collides(post):
    exact, wide = (joint_goal([0.0], names=NAMES[:1], tolerance=t) for t in (1e-3, 0.6))
    post.refused(ErrorCode.GOAL_IN_COLLISION, 'post', exact)
    answer = post.planned(wide)
    q = planned_rows(answer.trajectory)[-1]
    assert abs(q[0]) <= 0.6
    assert np.allclose(q[1:], LEFT[1:])


def test_a_line_of_the_tip_may_end_anywhere_within_the_tolerances_of_joints(planning):
    goal, chain = LEFT + 0.3 * np.array([1, 1, 1, 1, 1, -1, 1]), planning.arm.group.chain
    exact, wide = (joint_goal(goal, tolerance=t) for t in (1e-3, 0.2))
    assert code_of(planning.answer(exact, pipeline_id='lin')) is ErrorCode.PLANNING_FAILED
    answer = planning.planned(wide, pipeline_id='lin')
    rows = planned_rows(answer.trajectory)
    assert np.abs(rows[-1] - goal).max() <= 0.2
    points = np.array([chain.forward(q)[:3, 3] for q in rows]) - chain.forward(LEFT)[:3, 3]
    assert np.linalg.norm(np.cross(points, points[-1]), axis=1).max() < 1e-4


def test_the_answer_has_the_group_name_of_the_request(planning):
    goal = joint_goal([0.03], ['panda_finger_joint1'])
    answer = planning.planned(goal, group_name='hand')
    assert answer.group_name == 'hand'


def test_the_codes_of_what_collides_name_the_bodies(post):
    T = post.arm.chain.forward(LEFT)
    put(post, box('ball', T[:3, 3], (0.1, 0.1, 0.1)))
    try:
        post.refused(ErrorCode.START_STATE_IN_COLLISION, 'ball', joint_goal(RIGHT))
        post.refused(ErrorCode.GOAL_IN_COLLISION, 'ball', joint_goal(LEFT), start=RIGHT)
    finally:
        put(post, gone('ball'))
    post.refused(ErrorCode.PLANNING_FAILED, 'post', joint_goal(RIGHT), pipeline_id='ptp')


def test_a_pose_out_of_reach_has_no_solution(planning):
    answer = planning.answer(pose_goal(at(2.0, 0.0, 0.5)))
    assert code_of(answer) is ErrorCode.NO_IK_SOLUTION
    assert 'path_constraints' not in answer.error_code.message
    there = pose_goal(planning.arm.chain.forward(RIGHT))
    planning.refused(
        ErrorCode.NO_IK_SOLUTION,
        'path_constraints.joint_constraints narrow',
        there,
        path_constraints=joint_goal(LEFT, tolerance=0.1),
    )


def test_path_constraints_hold_on_the_whole_way(post):
    constraints = Constraints(orientation_constraints=[upright(post.arm.chain.forward(READY))])
    answer = post.planned(joint_goal(RIGHT), path_constraints=constraints)
    level = post.arm.chain.forward(READY)[:3, 2]
    for q in planned_rows(answer.trajectory, 300):
        axis = post.arm.chain.forward(q)[:3, 2]
        assert np.arccos(np.clip(axis @ level, -1.0, 1.0)) < 0.3 * np.sqrt(2.0) + 1e-3
    joint = Constraints(joint_constraints=joint_goal(LEFT, tolerance=0.1).joint_constraints[:1])
    wrong = post.answer(joint_goal(READY), path_constraints=joint, start=RIGHT)
    assert code_of(wrong) is ErrorCode.START_STATE_VIOLATES_PATH_CONSTRAINTS
    turned = post.arm.chain.forward(READY) @ np.diag([-1.0, 1.0, -1.0, 1.0])
    against = Constraints(orientation_constraints=[upright(turned)])
    post.refused(
        ErrorCode.START_STATE_VIOLATES_PATH_CONSTRAINTS,
        'path_constraints.orientation_constraints[0]',
        joint_goal(RIGHT),
        path_constraints=against,
    )


def test_constraints_that_contradict_each_other_have_no_plan(planning):
    T = planning.arm.chain.forward(READY)
    both = [upright(T), upright(T @ np.diag([-1.0, 1.0, -1.0, 1.0]))]
    held = planning.answer(
        joint_goal(RIGHT), path_constraints=Constraints(orientation_constraints=both)
    )
    assert code_of(held) is ErrorCode.START_STATE_VIOLATES_PATH_CONSTRAINTS
    planning.refused(
        ErrorCode.INVALID_GOAL_CONSTRAINTS, NAMES[0], joint_goal([0.1, 0.9], names=[NAMES[0]] * 2)
    )


def test_a_hundred_requests_at_once_are_all_answered(planning):
    with ThreadPoolExecutor(100) as pool:
        answers = list(pool.map(lambda _: planning.answer(joint_goal(READY)), range(100)))
    assert {code_of(answer) for answer in answers} == {ErrorCode.SUCCESS}
    assert all(answer.trajectory == answers[0].trajectory for answer in answers)


def test_scaling_makes_the_motion_slower(planning):
    def duration(**fields):
        points = planning.answer(joint_goal(RIGHT), **fields).trajectory.joint_trajectory.points
        end = points[-1].time_from_start
        return end.sec + 1e-9 * end.nanosec

    assert duration(max_velocity_scaling_factor=0.1) > 3.0 * duration()
    assert duration(max_cartesian_speed=0.05) > 5.0 * duration()


def test_pipelines_and_planners(planning):
    T = planning.arm.chain.forward(LEFT)
    T[2, 3] += 0.1
    pilz = {'pipeline_id': 'pilz_industrial_motion_planner', 'planner_id': 'LIN'}
    for names in ({'pipeline_id': 'lin'}, pilz):
        answer = planning.planned(pose_goal(T), **names)
        for q in planned_rows(answer.trajectory, 20):
            there = planning.arm.chain.forward(q)[:3, 3]
            assert np.linalg.norm((there - T[:3, 3])[:2]) < 3e-4
    bent = pose_goal(T)
    bent.joint_constraints = joint_constraints(NAMES[3:4], [-1.0], 0.01)
    planning.refused(
        ErrorCode.PLANNING_FAILED, 'beyond the goal in panda_joint4', bent, pipeline_id='lin'
    )
    planning.refused(ErrorCode.FAILURE, 'chomp', joint_goal(RIGHT), pipeline_id='chomp')
    other = planning.planned(joint_goal(RIGHT), planner_id='PRMstarkConfigDefault')
    assert 'PRMstar' in other.error_code.message
    handler = PlannersHandler(planning.context)
    listed = handler.handle(QueryPlannerInterfaces.Request(), QueryPlannerInterfaces.Response())
    assert [p.pipeline_id for p in listed.planner_interfaces][:3] == ['ompl', 'ptp', 'lin']


def nan(message):
    message.goal_constraints[0].joint_constraints[0].position = float('nan')
    return message


def nowhere(goal):
    goal.position_constraints[0].header.frame_id = 'nowhere'
    return goal


def shapeless(goal):
    goal.position_constraints[0].constraint_region.primitives = [
        SolidPrimitive(type=SolidPrimitive.BOX, dimensions=[0.1])
    ]
    return goal


GOAL = ErrorCode.INVALID_GOAL_CONSTRAINTS
TURNED = np.diag([-1.0, 1.0, -1.0, 1.0])
RIGHTWARDS, AT_THE_ORIGIN, FINGER = joint_goal(RIGHT), np.eye(4), 'panda_leftfinger'
TILTED_BASE = Constraints(orientation_constraints=[upright(TURNED, link='panda_link0')])
TILTED_FINGER = Constraints(orientation_constraints=[upright(AT_THE_ORIGIN, link=FINGER)])
WRONG = [
    (plan_request(), GOAL, 'goal_constraints'),
    (plan_request(Constraints()), GOAL, 'constraints'),
    (nan(plan_request(joint_goal(RIGHT))), GOAL, 'position'),
    (plan_request(joint_goal([1.0], names=['elbow'])), GOAL, 'elbow'),
    (plan_request(joint_goal([9.0], names=NAMES[:1])), GOAL, 'panda_joint1'),
    (plan_request(shapeless(pose_goal(AT_THE_ORIGIN))), GOAL, 'dimensions'),
    (plan_request(pose_goal(AT_THE_ORIGIN, link='tail')), GOAL, 'tail'),
    (plan_request(pose_goal(AT_THE_ORIGIN, link=FINGER)), GOAL, 'panda_finger_joint1'),
    (plan_request(RIGHTWARDS, path_constraints=TILTED_FINGER), GOAL, 'panda_finger_joint1'),
    (plan_request(RIGHTWARDS, allowed_planning_time=np.nan), GOAL, 'allowed_planning_time'),
    (
        plan_request(RIGHTWARDS, start=LEFT, path_constraints=joint_goal(LEFT, tolerance=0.1)),
        ErrorCode.GOAL_VIOLATES_PATH_CONSTRAINTS,
        'path_constraints',
    ),
    (
        plan_request(
            RIGHTWARDS, path_constraints=joint_goal([0.04], names=['panda_finger_joint1'])
        ),
        ErrorCode.START_STATE_VIOLATES_PATH_CONSTRAINTS,
        'panda_finger_joint1',
    ),
    (
        plan_request(RIGHTWARDS, path_constraints=TILTED_BASE),
        ErrorCode.START_STATE_VIOLATES_PATH_CONSTRAINTS,
        'panda_link0',
    ),
    (plan_request(RIGHTWARDS, group_name='legs'), ErrorCode.INVALID_GROUP_NAME, 'legs'),
    (
        plan_request(nowhere(pose_goal(AT_THE_ORIGIN))),
        ErrorCode.FRAME_TRANSFORM_FAILURE,
        'nowhere',
    ),
    (plan_request(RIGHTWARDS, start=[np.nan] * 7), ErrorCode.INVALID_ROBOT_STATE, 'panda_joint1'),
    (
        plan_request(RIGHTWARDS, cartesian_speed_limited_link='tail', max_cartesian_speed=1.0),
        ErrorCode.INVALID_LINK_NAME,
        'tail',
    ),
    (
        plan_request(RIGHTWARDS, cartesian_speed_limited_link=FINGER, max_cartesian_speed=1.0),
        ErrorCode.INVALID_LINK_NAME,
        'panda_finger_joint1',
    ),
]


@pytest.mark.parametrize(('request_', 'code', 'named'), WRONG)
def test_what_is_wrong_is_named(planning, request_, code, named):
    answer = planning.refused(code, named, request_)
    assert not answer.trajectory.joint_trajectory.points


def test_an_object_that_the_request_attaches_counts(planning):
    request = plan_request(joint_goal(RIGHT), start=LEFT)
    state = RobotState(is_diff=True, joint_state=request.start_state.joint_state)
    shape = SolidPrimitive(type=SolidPrimitive.BOX, dimensions=[0.2, 0.02, 0.02])
    hand = ['panda_hand', 'panda_leftfinger', 'panda_rightfinger', 'panda_link7']
    state.attached_collision_objects = [
        attached('rod', 'panda_hand_tcp', (0.0, 0.0, 0.1), hand, shape)
    ]
    request.start_state = state
    planning.planned(request)
    state.attached_collision_objects[0].object.primitives[0].dimensions = [0.02, 0.02, 3.0]
    planning.refused(ErrorCode.START_STATE_IN_COLLISION, 'rod', request)
    state.attached_collision_objects[0].link_name = 'gone'
    message = planning.answer(request).error_code.message
    assert message.startswith('start_state.attached_collision_objects[0]')
