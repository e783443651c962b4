"""The action move_action over real DDS: how it ends, and what MoveIt's clients send."""

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')
pytest.importorskip('ompl', reason='OMPL comes with the extra plan')
pytest.importorskip('coal', reason='Coal comes with the extra collision')

from geometry_msgs.msg import Quaternion
from moveit_msgs.msg import (
    AllowedCollisionEntry,
    AllowedCollisionMatrix,
    Constraints,
    LinkPadding,
    MoveItErrorCodes,
    PlanningScene,
)
from moveit_msgs.srv import (
    ApplyPlanningScene,
    GetCartesianPath,
    GetPlanningScene,
    QueryPlannerInterfaces,
)
from std_msgs.msg import String
from std_srvs.srv import Trigger
from support.chains import arm_path, pose_difference
from support.ros.cells import CHAIN, NAMES, NODE, READY
from support.ros.nodes import STEADY
from support.ros.plans import (
    box,
    compas_frame,
    FLANGE,
    gone,
    joint_constraints,
    joint_goal,
    LEFT,
    like_compas_fab,
    like_move_group_interface,
    like_pymoveit2,
    Mover,
    planned_rows,
    pose_target,
    POST,
    pymoveit2_orientation,
    pymoveit2_position,
    RIGHT,
)
from support.ros.trajectories import assert_gentle, go_to, sent_until, StandInController
from support.solids import at

import ik_service as iks
from ik_service.ros.common.conversions import pose_from_matrix

pytestmark = pytest.mark.dds

SCALING = 0.8


def commanded(cell):
    return np.array([cell.positions(command) for command in cell.commands.messages])


def commanded_until(cell, q):
    """Wait for the command of a posture, and return all commands so far."""
    cell.commands.wait(lambda command: np.allclose(cell.positions(command), q, atol=1e-3))
    return commanded(cell)


def ended(goal, how='succeeded', code=MoveItErrorCodes.SUCCESS, *words):
    """Require how a goal ends, and words of its message; return the result."""
    end, result = goal.result(60.0)
    assert (end, result.error_code.val) == (how, code), result.error_code
    assert all(word in result.error_code.message for word in words), result.error_code
    return result


def moving(cell, mover, scaling=0.2, **options):
    """A goal at RIGHT, towards which the arm moves slowly."""
    goal = mover.move(joint_goal(RIGHT), max_velocity_scaling_factor=scaling, **options)
    cell.commands.wait(lambda command: np.abs(command.velocity).max() > 0.05)
    return goal


def checker_with(*boxes):
    checker = iks.CollisionChecker(iks.Robot.from_urdf(arm_path('panda')))
    for name, place, size in boxes:
        checker.add(name, iks.Box(size), at(*place))
    return checker


POST_BOX = ('post', (0.32, 0.0, 0.35), (0.05, 0.05, 0.7))
CODES = MoveItErrorCodes
CHANGED = CODES.MOTION_PLAN_INVALIDATED_BY_ENVIRONMENT_CHANGE


def test_the_arm_moves_around_an_obstacle(cell, mover):
    mover.change(POST)
    goal = mover.move(joint_goal(RIGHT))
    result = ended(goal)
    goal.had_states('PLANNING', 'MONITOR', 'IDLE')
    rows = commanded_until(cell, RIGHT)
    test = checker_with(POST_BOX).for_joints(cell.chain.joint_names)
    assert not test.colliding(rows).any()
    assert np.abs(rows[:, 1:] - READY[1:]).max() > 0.05  # it went around
    assert np.allclose(planned_rows(result.planned_trajectory)[-1], RIGHT)
    assert result.executed_trajectory == result.planned_trajectory
    cell.assert_commands_keep_the_bounds(SCALING)
    assert_gentle(cell, SCALING)


def test_plan_only_moves_nothing(cell, mover):
    goal = mover.move(joint_goal(RIGHT), options={'plan_only': True})
    result = ended(goal)
    goal.had_states('PLANNING', 'IDLE')
    assert np.allclose(planned_rows(result.planned_trajectory)[-1], RIGHT)
    assert not len(cell.commands)


def test_a_goal_that_is_reached_already_is_a_success(cell, mover):
    at_rest = cell.positions(cell.states.next())
    end, result = mover.move(joint_goal(at_rest + 5e-4)).result()  # within its tolerances
    assert (end, result.error_code.val) == ('succeeded', CODES.SUCCESS)
    assert 'already' in result.error_code.message
    assert not cell.commands.messages


def test_what_cannot_be_planned_is_aborted_with_the_code(cell, mover):
    legs = mover.move(joint_goal(RIGHT), group_name='legs')
    ended(legs, 'aborted', CODES.INVALID_GROUP_NAME, 'legs')
    ended(mover.move(), 'aborted', CODES.INVALID_GOAL_CONSTRAINTS)
    never = {'replan': True, 'replan_delay': float('nan')}
    ended(mover.move(joint_goal(RIGHT), options=never), 'aborted', CODES.FAILURE, 'replan_delay')


@pytest.mark.parametrize('how', ['canceled', 'aborted'])
def test_a_cancellation_or_a_stop_ends_it_on_its_way_as_preempted(cell, mover, how):
    goal = moving(cell, mover)
    goal.cancel() if how == 'canceled' else mover.events.publish(String(data='stop'))
    result = ended(goal, how, CODES.PREEMPTED)
    at_rest = cell.last_at_rest()
    assert np.abs(at_rest - RIGHT).max() > 0.1
    executed = result.executed_trajectory.joint_trajectory
    assert executed.joint_names == result.planned_trajectory.joint_trajectory.joint_names
    assert np.allclose(executed.points[0].positions, LEFT, atol=1e-3)
    assert np.allclose(executed.points[-1].positions, at_rest, atol=1e-2)
    times = [p.time_from_start.sec + 1e-9 * p.time_from_start.nanosec for p in executed.points]
    assert (np.diff(times) > 0.0).all()


def test_the_stop_service_ends_it_before_it_moves(cell, mover):
    goal = mover.move(joint_goal(RIGHT))
    assert goal.accepted()
    cell.bench.call(Trigger, 'ik_service/stop', Trigger.Request())
    ended(goal, 'aborted', CODES.CONTROL_FAILED, 'stopped')
    assert not len(cell.commands) or not any(cell.commands.messages[-1].velocity)


def test_a_newer_goal_ends_the_one_before_it(cell, mover):
    first = moving(cell, mover)
    second = mover.move(joint_goal(READY))
    ended(first, 'aborted', CODES.PREEMPTED)
    ended(second)
    commanded_until(cell, READY)


WALL = box('wall', (0.35, -0.15, 0.5), (0.2, 0.02, 1.0))


def test_an_object_that_comes_into_the_way_stops_the_arm_before_it(cell, mover):
    goal = moving(cell, mover, 0.1)
    mover.objects.publish(WALL)
    ended(goal, 'aborted', CHANGED, 'wall')
    rows = commanded(cell)
    wall = ('wall', (0.35, -0.15, 0.5), (0.2, 0.02, 1.0))
    assert not checker_with(wall).for_joints(cell.chain.joint_names).colliding(rows).any()
    assert not any(cell.commands.messages[-1].velocity)


def test_replan_goes_around_what_came_into_the_way(cell, mover):
    options = {'replan': True, 'replan_attempts': 3, 'replan_delay': 0.1}
    goal = moving(cell, mover, options=options)
    mover.objects.publish(POST)
    ended(goal)
    rows = commanded_until(cell, RIGHT)
    assert not checker_with(POST_BOX).for_joints(cell.chain.joint_names).colliding(rows).any()


def test_a_cancellation_before_it_plans_again_is_preempted(cell, mover):
    options = {'replan': True, 'replan_attempts': 3, 'replan_delay': 1e300}
    goal = moving(cell, mover, options=options)
    mover.objects.publish(WALL)
    cell.last_at_rest()
    goal.cancel()
    ended(goal, 'canceled', CODES.PREEMPTED)


def test_the_joints_and_not_the_time_of_a_controller_tell_what_is_ahead(bench, panda_urdf):
    action = 'arm_controller/follow_joint_trajectory'
    bench.start(NODE, urdf=str(panda_urdf), trajectory_action=action, **CHAIN, **STEADY)
    controller = StandInController(bench, NAMES, LEFT)
    try:
        mover = Mover(bench)
        go_to(mover, LEFT, 0.1)
        slowly = {'max_velocity_scaling_factor': 0.4}
        goal = sent_until(
            lambda: controller.q[0] < -0.1, lambda: mover.move(joint_goal(RIGHT), **slowly)
        )
        mover.objects.publish(box('behind', (0.245, 0.206, 0.35), (0.05, 0.05, 0.7)))
        ended(goal)
        mover.objects.publish(gone('behind'))
        controller.tells = 1e6
        slowly['max_velocity_scaling_factor'] = 0.02  # 10 s until it is at the post
        goal = sent_until(
            lambda: controller.q[0] > -0.65, lambda: mover.move(joint_goal(LEFT), **slowly)
        )
        mover.objects.publish(POST)
        result = ended(goal, 'aborted', CHANGED)
        passed = result.executed_trajectory.joint_trajectory.points
        seconds = passed[-1].time_from_start.sec + 1
        assert len(passed) <= 20 * seconds + 10, 'it is looked after 20 times a second'
        test = checker_with(POST_BOX).for_joints(NAMES)
        assert not test.colliding(controller.q[None]).any()
    finally:
        controller.close()


def with_scene(options=None, **parts):
    """Options of a goal with a scene of its own."""
    scene = PlanningScene(is_diff=True, **{k: v for k, v in parts.items() if k != 'objects'})
    scene.world.collision_objects = parts.get('objects', [])
    return {'planning_scene_diff': scene, **(options or {})}


def test_a_scene_of_its_own_counts_for_a_goal_alone(cell, mover):
    ended(mover.move(joint_goal(RIGHT), options=with_scene(objects=[POST])))
    rows = commanded_until(cell, RIGHT)
    assert not checker_with(POST_BOX).for_joints(cell.chain.joint_names).colliding(rows).any()
    assert np.abs(rows[:, 1:] - READY[1:]).max() > 0.05  # it went around
    assert 'post' not in mover.known_objects()
    result = ended(mover.move(joint_goal(LEFT)))
    straight = planned_rows(result.planned_trajectory)
    assert np.abs(straight[:, 1:] - READY[1:]).max() < 0.01  # where the post was


def test_a_scene_of_its_own_may_remove_an_object_and_let_others_touch(cell, mover):
    mover.change(POST)
    matrix = AllowedCollisionMatrix(default_entry_names=['post'], default_entry_values=[True])
    for options in (
        with_scene({'plan_only': True}, objects=[gone('post')]),
        with_scene({'plan_only': True}, allowed_collision_matrix=matrix),
    ):
        result = ended(mover.move(joint_goal(RIGHT), options=options))
        assert np.abs(planned_rows(result.planned_trajectory)[:, 1:] - READY[1:]).max() < 0.01
    assert 'post' in mover.known_objects()
    ptp = mover.move(joint_goal(RIGHT), pipeline_id='ptp')
    ended(ptp, 'aborted', CODES.PLANNING_FAILED, 'post')


def test_the_watch_sees_the_scene_of_a_goal_with_what_comes_later(cell, mover):
    floor = box('floor', (0.0, 0.0, -0.3), (2.0, 2.0, 0.1))
    goal = moving(cell, mover, 0.1, options=with_scene(objects=[floor]))
    mover.objects.publish(WALL)
    ended(goal, 'aborted', CHANGED, 'wall')
    mover.change(POST)
    mover.change(gone('wall'))
    options = with_scene({'plan_only': True}, objects=[gone('post')])
    options['planning_scene_diff'].robot_state.joint_state.name = list(cell.chain.joint_names)
    options['planning_scene_diff'].robot_state.joint_state.position = RIGHT.tolist()
    result = ended(mover.move(joint_goal(LEFT), options=options))
    assert np.allclose(planned_rows(result.planned_trajectory)[0], RIGHT)


def faulty(**changes):
    thing = box('thing', (0.5, 0.0, 0.5), (0.1, 0.1, 0.1))
    if 'size' in changes:
        thing.primitives[0].dimensions = changes['size']
    thing.header.frame_id = changes.get('frame', '')
    return thing


def octomap():
    scene = PlanningScene(is_diff=True)
    scene.world.octomap.octomap.data = [1, 2, 3]
    return {'planning_scene_diff': scene}


MATRIX = AllowedCollisionMatrix(
    entry_names=['a', 'b'], entry_values=[AllowedCollisionEntry(enabled=[True])]
)


@pytest.mark.parametrize(
    ('options', 'named'),
    [
        (octomap(), 'octomap'),
        (with_scene(objects=[POST, faulty(size=[0.1, float('nan'), 0.1])]), 'thing'),
        (with_scene(objects=[faulty(frame='nowhere')]), 'nowhere'),
        (with_scene(allowed_collision_matrix=MATRIX), 'allowed_collision_matrix'),
        (with_scene(link_padding=[LinkPadding(link_name='tail', padding=0.1)]), 'tail'),
    ],
)
def test_what_of_a_scene_cannot_be_applied_is_refused_by_name(cell, mover, options, named):
    goal = mover.move(joint_goal(RIGHT), options=options)
    ended(goal, 'aborted', CODES.FAILURE, 'planning_scene_diff', named)
    assert not mover.known_objects()
    assert not len(cell.commands)


def test_without_a_joint_state_its_joints_are_named(bench, panda_urdf):
    bench.start(NODE, urdf=str(panda_urdf), **CHAIN)
    end, result = Mover(bench).move(joint_goal(RIGHT)).result()
    assert end == 'aborted'
    assert 'no joint state has arrived yet of: panda_joint1' in result.error_code.message


SECONDS = 30.0  # for a plan, on a machine that is busy; the clients send 0.5 to 5 s


@pytest.fixture
def _post(cell, mover):
    """A post in the world, between LEFT and RIGHT."""
    mover.change(POST)


def now(cell):
    return cell.bench.node.get_clock().now().to_msg()


def flange():
    return iks.Robot.from_urdf(arm_path('panda')).chain('panda_link0', FLANGE)


def require_at(cell, chain, T):
    """Wait until the measured arm has a link at a pose."""
    cell.states.wait(
        lambda state: max(pose_difference(chain.forward(cell.positions(state)), T)) < 2e-3,
        since=len(cell.states),
    )


@pytest.mark.usefixtures('_post')
class TestPymoveit2:
    def test_move_to_pose_and_to_configuration_by_move_action(self, cell, mover):
        T = cell.chain.forward(RIGHT)
        goal = like_pymoveit2(now(cell), cell.states.next(), seconds=SECONDS)
        goal.request.goal_constraints[0].position_constraints = [pymoveit2_position(T)]
        goal.request.goal_constraints[0].orientation_constraints = [
            pymoveit2_orientation(pose_from_matrix(T).orientation)
        ]
        ended(mover.send_move(goal))
        require_at(cell, cell.chain, T)
        goal = like_pymoveit2(now(cell), cell.states.next(), seconds=SECONDS)
        goal.request.goal_constraints[0].joint_constraints = joint_constraints(NAMES, LEFT, 1e-3)
        ended(mover.send_move(goal))
        require_at(cell, cell.chain, cell.chain.forward(LEFT))

    def test_plan_and_execute(self, cell, mover):
        goal = like_pymoveit2(now(cell), cell.states.next(), seconds=SECONDS)
        goal.request.goal_constraints[0].joint_constraints = joint_constraints(NAMES, RIGHT, 1e-3)
        answer = mover.plan(goal.request)
        assert answer.error_code.val == CODES.SUCCESS, answer.error_code
        ended(mover.execute(answer.trajectory.joint_trajectory))
        require_at(cell, cell.chain, cell.chain.forward(RIGHT))

    @pytest.mark.parametrize('group', ['hand', 'gripper'])
    def test_the_hand_is_closed_and_opened_by_plans(self, cell, mover, group):
        # GripperInterface, where it has not found an action GripperCommand
        fingers = ['panda_finger_joint1', 'panda_finger_joint2']
        for gap in (0.0, 0.04):
            goal = like_pymoveit2(now(cell), cell.states.next(), group, seconds=SECONDS)
            wanted = joint_constraints(fingers, [gap, gap], 1e-3)
            goal.request.goal_constraints[0].joint_constraints = wanted
            ended(mover.send_move(goal))
            cell.states.wait(
                lambda state, gap=gap: (
                    abs(state.position[state.name.index(fingers[1])] - gap) < 1e-3
                ),
                since=len(cell.states),
            )
        wanted[1].position = 0.0
        answer = mover.plan(goal.request)
        assert answer.error_code.val == CODES.INVALID_GOAL_CONSTRAINTS, answer.error_code

    def test_its_example_of_an_orientation_that_holds_on_the_way(self, cell, mover):
        # ex_orientation_path_constraint.py
        start = [1.57, -1.57, 0.0, -1.57, 0.0, 1.57, 0.7854]
        end = [
            1.1967347888074664,
            -1.3973650345565432,
            0.1342628652196778,
            -2.508581053909259,
            -2.412084037045761,
            0.5267181456160516,
            1.3027041597804059,
        ]
        held = Quaternion(x=0.5, y=-0.5, z=0.5, w=0.5)
        tolerance = (3.14159, 0.5, 0.5)
        goal = like_pymoveit2(now(cell), seconds=SECONDS)
        goal.request.start_state.joint_state.name = list(NAMES)
        goal.request.start_state.joint_state.position = start
        goal.request.max_velocity_scaling_factor = 0.5
        goal.request.max_acceleration_scaling_factor = 0.5
        goal.request.goal_constraints[0].joint_constraints = joint_constraints(NAMES, end, 1e-3)
        goal.request.path_constraints = Constraints(
            orientation_constraints=[pymoveit2_orientation(held, tolerance, 1)]
        )
        answer = mover.plan(goal.request)
        assert answer.error_code.val == CODES.SUCCESS, answer.error_code


@pytest.mark.usefixtures('_post')
class TestMoveGroupInterface:
    def test_plan_execute_and_move(self, cell, mover):
        request = QueryPlannerInterfaces.Request()
        listed = cell.bench.call(QueryPlannerInterfaces, 'query_planner_interface', request)
        assert listed.planner_interfaces[0].pipeline_id == 'ompl'
        chain = flange()
        T = chain.forward(RIGHT)
        target = pose_target(T, now(cell))
        goal = like_move_group_interface(target, plan_only=True, scaling=1.0)
        result = ended(mover.send_move(goal))
        rows = planned_rows(result.planned_trajectory)
        assert np.allclose(rows[0], LEFT, atol=1e-4)
        assert not len(cell.commands)
        planned = result.planned_trajectory.joint_trajectory
        ended(mover.execute(planned))
        require_at(cell, chain, T)
        target = Constraints(joint_constraints=joint_constraints(NAMES, LEFT, 1e-4))
        goal = like_move_group_interface(target, scaling=0.5)
        ended(mover.send_move(goal))
        require_at(cell, chain, chain.forward(LEFT))

    @pytest.mark.parametrize('part', ['position', 'orientation'])
    def test_targets_of_a_position_or_an_orientation(self, cell, mover, part):
        chain = flange()
        T = chain.forward(RIGHT)
        parts = {'position': part == 'position', 'orientation': part == 'orientation'}
        goal = like_move_group_interface(pose_target(T, now(cell), **parts), plan_only=True)
        goal.request.allowed_planning_time = SECONDS
        result = ended(mover.send_move(goal))
        reached = chain.forward(planned_rows(result.planned_trajectory)[-1])
        if part == 'position':
            assert np.allclose(reached[:3, 3], T[:3, 3], atol=2e-4)
        else:
            assert np.allclose(reached[:3, :3], T[:3, :3], atol=4e-3)

    def test_a_joint_target_of_a_group_with_a_hand(self, cell, mover):
        """Its fingers are constrained too, the one that follows the other as well."""
        fingers = ('panda_finger_joint1', 'panda_finger_joint2')
        measured = cell.states.next()
        at = dict(zip(measured.name, measured.position, strict=True))
        names = (*NAMES, *fingers)
        q = [*RIGHT, *(at.get(name, 0.02) for name in fingers)]
        target = Constraints(joint_constraints=joint_constraints(names, q, 1e-4))
        goal = like_move_group_interface(target, plan_only=True, group='panda_arm_hand')
        goal.request.allowed_planning_time = SECONDS
        result = ended(mover.send_move(goal))
        assert np.allclose(planned_rows(result.planned_trajectory)[-1], RIGHT, atol=2e-4)


@pytest.mark.usefixtures('_post')
class TestCompasFab:
    def test_plan_motion_and_follow(self, cell, mover):
        chain = flange()
        T = chain.forward(RIGHT)
        answer = mover.plan(like_compas_fab(compas_frame(T), NAMES, LEFT, SECONDS))
        assert answer.error_code.val == CODES.SUCCESS, answer.error_code
        # It looks up the type of every joint of the answer in the robot's description.
        robot = iks.Robot.from_urdf(arm_path('panda'))
        told = {*answer.trajectory_start.joint_state.name}
        assert told | {*answer.trajectory.joint_trajectory.joint_names} <= {*robot.joints}
        end, result = mover.follow(answer.trajectory.joint_trajectory).result()
        assert end == 'succeeded', result
        require_at(cell, chain, T)

    def test_plan_cartesian_motion_begins_at_the_state_of_the_scene(self, cell):
        """The state that set_robot_cell_state applies is read back, and sent as the start."""
        bench = cell.bench
        scene = PlanningScene(is_diff=True)
        scene.robot_state.is_diff = True
        scene.robot_state.joint_state.name = [*NAMES]
        scene.robot_state.joint_state.position = [*map(float, RIGHT)]
        applied = bench.call(
            ApplyPlanningScene, 'apply_planning_scene', ApplyPlanningScene.Request(scene=scene)
        )
        assert applied.success
        told = bench.call(GetPlanningScene, 'get_planning_scene', GetPlanningScene.Request())
        T = flange().forward(RIGHT)
        T[2, 3] += 0.05
        request = GetCartesianPath.Request(
            start_state=told.scene.robot_state,
            group_name='panda_arm',
            link_name=FLANGE,
            waypoints=[pose_from_matrix(T)],
            max_step=0.01,
            jump_threshold=1.57,
            avoid_collisions=True,
        )
        request.header.frame_id = 'panda_link0'
        bench.service_client(GetCartesianPath, 'compute_cartesian_path', 120.0)
        answer = bench.call(GetCartesianPath, 'compute_cartesian_path', request)
        assert answer.fraction == 1.0, answer.error_code
        rows = planned_rows(answer.solution)
        np.testing.assert_allclose(rows[0], RIGHT, atol=1e-9)
        assert max(pose_difference(flange().forward(rows[-1]), T)) < 1e-4
