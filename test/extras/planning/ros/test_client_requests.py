"""Motions that MoveIt's clients ask for, over real DDS: what they send, and what the arm does."""

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')
pytest.importorskip('ompl', reason='OMPL comes with the extra plan')
pytest.importorskip('coal', reason='Coal comes with the extra collision')

from geometry_msgs.msg import Quaternion
from moveit_msgs.msg import Constraints, MoveItErrorCodes, PlanningScene
from moveit_msgs.srv import (
    ApplyPlanningScene,
    GetCartesianPath,
    GetPlanningScene,
    QueryPlannerInterfaces,
)
from support.chains import arm_path, pose_difference
from support.ros.cells import NAMES
from support.ros.plans import (
    compas_configuration,
    compas_frame,
    FLANGE,
    joint_constraints,
    LEFT,
    like_compas_fab,
    like_move_group_interface,
    like_pymoveit2,
    planned_rows,
    pose_target,
    POST,
    pymoveit2_orientation,
    pymoveit2_position,
    RIGHT,
)

import ik_service as iks
from ik_service.ros.common.conversions import pose_from_matrix

pytestmark = pytest.mark.dds

CODES = MoveItErrorCodes
SECONDS = 30.0  # for a plan, on a machine that is busy; the clients send 0.5 to 5 s


@pytest.fixture(autouse=True)
def _post(cell, mover):
    """A post in the world, between LEFT and RIGHT."""
    mover.objects.publish(POST)


def now(cell):
    return cell.bench.node.get_clock().now().to_msg()


def flange():
    return iks.Robot.from_urdf(arm_path('panda')).chain('panda_link0', FLANGE)


def require_success(ended):
    end, result = ended
    assert (end, result.error_code.val) == ('succeeded', CODES.SUCCESS), result.error_code
    return result


def require_at(cell, chain, T):
    """Wait until the measured arm has a link at a pose."""
    cell.states.wait(
        lambda state: max(pose_difference(chain.forward(cell.positions(state)), T)) < 2e-3,
        since=len(cell.states),
    )


class TestPymoveit2:
    def test_move_to_pose_and_to_configuration_by_move_action(self, cell, mover):
        T = cell.chain.forward(RIGHT)
        goal = like_pymoveit2(now(cell), cell.states.next(), seconds=SECONDS)
        goal.request.goal_constraints[0].position_constraints = [pymoveit2_position(T)]
        goal.request.goal_constraints[0].orientation_constraints = [
            pymoveit2_orientation(pose_from_matrix(T).orientation)
        ]
        require_success(mover.send_move(goal).result())
        require_at(cell, cell.chain, T)
        goal = like_pymoveit2(now(cell), cell.states.next(), seconds=SECONDS)
        goal.request.goal_constraints[0].joint_constraints = joint_constraints(NAMES, LEFT, 1e-3)
        require_success(mover.send_move(goal).result())
        require_at(cell, cell.chain, cell.chain.forward(LEFT))

    def test_plan_and_execute(self, cell, mover):
        goal = like_pymoveit2(now(cell), cell.states.next(), seconds=SECONDS)
        goal.request.goal_constraints[0].joint_constraints = joint_constraints(NAMES, RIGHT, 1e-3)
        answer = mover.plan(goal.request)
        assert answer.error_code.val == CODES.SUCCESS, answer.error_code
        require_success(mover.execute(answer.trajectory.joint_trajectory).result())
        require_at(cell, cell.chain, cell.chain.forward(RIGHT))

    @pytest.mark.parametrize('group', ['hand', 'gripper'])
    def test_the_hand_is_closed_and_opened_by_plans(self, cell, mover, group):
        # GripperInterface, where it has not found an action GripperCommand
        fingers = ['panda_finger_joint1', 'panda_finger_joint2']
        for gap in (0.0, 0.04):
            goal = like_pymoveit2(now(cell), cell.states.next(), group, seconds=SECONDS)
            wanted = joint_constraints(fingers, [gap, gap], 1e-3)
            goal.request.goal_constraints[0].joint_constraints = wanted
            require_success(mover.send_move(goal).result())
            state = cell.states.next()
            assert state.position[state.name.index(fingers[1])] == pytest.approx(gap, abs=1e-3)
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


class TestMoveGroupInterface:
    def test_plan_execute_and_move(self, cell, mover):
        request = QueryPlannerInterfaces.Request()
        listed = cell.bench.call(QueryPlannerInterfaces, 'query_planner_interface', request)
        assert listed.planner_interfaces[0].pipeline_id == 'ompl'
        chain = flange()
        T = chain.forward(RIGHT)
        target = pose_target(T, now(cell))
        goal = like_move_group_interface(target, plan_only=True, scaling=1.0)
        result = require_success(mover.send_move(goal).result())
        rows = planned_rows(result.planned_trajectory)
        assert np.allclose(rows[0], LEFT, atol=1e-4)
        assert not len(cell.commands)
        planned = result.planned_trajectory.joint_trajectory
        require_success(mover.execute(planned).result())
        require_at(cell, chain, T)
        target = Constraints(joint_constraints=joint_constraints(NAMES, LEFT, 1e-4))
        goal = like_move_group_interface(target, scaling=0.5)
        require_success(mover.send_move(goal).result())
        require_at(cell, chain, chain.forward(LEFT))

    @pytest.mark.parametrize('part', ['position', 'orientation'])
    def test_targets_of_a_position_or_an_orientation(self, cell, mover, part):
        chain = flange()
        T = chain.forward(RIGHT)
        parts = {'position': part == 'position', 'orientation': part == 'orientation'}
        goal = like_move_group_interface(pose_target(T, now(cell), **parts), plan_only=True)
        goal.request.allowed_planning_time = SECONDS
        result = require_success(mover.send_move(goal).result())
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
        result = require_success(mover.send_move(goal).result())
        assert np.allclose(planned_rows(result.planned_trajectory)[-1], RIGHT, atol=2e-4)


class TestCompasFab:
    @pytest.mark.parametrize('kind', ['frame', 'configuration'])
    def test_plan_motion_and_follow(self, cell, mover, kind):
        chain = flange()
        T = chain.forward(RIGHT)
        constraints = compas_frame(T) if kind == 'frame' else compas_configuration(NAMES, RIGHT)
        answer = mover.plan(like_compas_fab(constraints, NAMES, LEFT, SECONDS))
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
