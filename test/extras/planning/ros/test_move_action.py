"""The action move_action over real DDS: plans, moves, and ends as MoveIt's does."""

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')
pytest.importorskip('ompl', reason='OMPL comes with the extra plan')
pytest.importorskip('coal', reason='Coal comes with the extra collision')

from moveit_msgs.msg import (
    AllowedCollisionEntry,
    AllowedCollisionMatrix,
    LinkPadding,
    MoveItErrorCodes,
    PlanningScene,
)
from moveit_msgs.srv import GetPlanningScene
from std_msgs.msg import String
from support.chains import arm_path
from support.harness import until
from support.ros.cells import CHAIN, NODE, READY
from support.ros.plans import (
    box,
    gone,
    joint_goal,
    LEFT,
    Mover,
    planned_rows,
    POST,
    RIGHT,
)
from support.ros.trajectories import assert_gentle
from support.solids import at

import ik_service as iks

pytestmark = pytest.mark.dds

SCALING = 0.8


def commanded(cell):
    return np.array([cell.positions(command) for command in cell.commands.messages])


def commanded_until(cell, q):
    """Wait for the command of a posture, and return all commands so far."""
    cell.commands.wait(lambda command: np.allclose(cell.positions(command), q, atol=1e-3))
    return commanded(cell)


def checker_with(*boxes):
    checker = iks.CollisionChecker(iks.Robot.from_urdf(arm_path('panda')))
    for name, place, size in boxes:
        checker.add(name, iks.Box(size), at(*place))
    return checker


POST_BOX = ('post', (0.32, 0.0, 0.35), (0.05, 0.05, 0.7))
CODES = MoveItErrorCodes


def test_the_arm_moves_around_an_obstacle(cell, mover):
    mover.objects.publish(POST)
    goal = mover.move(joint_goal(RIGHT))
    end, result = goal.result()
    assert (end, result.error_code.val) == ('succeeded', CODES.SUCCESS), result.error_code
    assert [f.state for f in goal.feedback] == ['PLANNING', 'MONITOR', 'IDLE']
    rows = commanded_until(cell, RIGHT)
    test = checker_with(POST_BOX).for_joints(cell.chain.joint_names)
    assert not test.colliding(rows).any()
    assert np.abs(rows[:, 1:] - READY[1:]).max() > 0.05  # it went around
    assert np.allclose(planned_rows(result.planned_trajectory)[-1], RIGHT)
    assert result.executed_trajectory == result.planned_trajectory
    cell.assert_commands_keep_the_bounds(SCALING)
    assert_gentle(cell, SCALING)


def test_plan_only_moves_nothing(cell, mover):
    end, result = mover.move(joint_goal(RIGHT), options={'plan_only': True}).result()
    assert (end, result.error_code.val) == ('succeeded', CODES.SUCCESS)
    assert np.allclose(planned_rows(result.planned_trajectory)[-1], RIGHT)
    assert not len(cell.commands)


def test_a_goal_that_is_reached_already_is_a_success(cell, mover):
    at_rest = cell.positions(cell.states.next())
    end, result = mover.move(joint_goal(at_rest)).result()
    assert (end, result.error_code.val) == ('succeeded', CODES.SUCCESS)
    assert all(np.abs(cell.positions(q) - LEFT).max() < 1e-4 for q in cell.commands.messages)


def test_what_cannot_be_planned_is_aborted_with_the_code(cell, mover):
    end, result = mover.move(joint_goal(RIGHT), group_name='legs').result()
    assert (end, result.error_code.val) == ('aborted', CODES.INVALID_GROUP_NAME)
    assert 'legs' in result.error_code.message
    end, result = mover.move().result()
    assert (end, result.error_code.val) == ('aborted', CODES.INVALID_GOAL_CONSTRAINTS)


def test_a_cancellation_stops_the_arm_on_its_way(cell, mover):
    goal = mover.move(joint_goal(RIGHT), max_velocity_scaling_factor=0.2)
    cell.commands.wait(lambda command: np.abs(command.velocity).max() > 0.05)
    goal.cancel()
    end, result = goal.result()
    assert (end, result.error_code.val) == ('canceled', CODES.PREEMPTED)
    assert not any(cell.commands.messages[-1].velocity)
    assert np.abs(commanded(cell)[-1] - RIGHT).max() > 0.1


def test_stop_ends_it_as_preempted(cell, mover):
    goal = mover.move(joint_goal(RIGHT), max_velocity_scaling_factor=0.2)
    cell.commands.wait(lambda command: np.abs(command.velocity).max() > 0.05)
    mover.events.publish(String(data='stop'))
    end, result = goal.result()
    assert (end, result.error_code.val) == ('aborted', CODES.PREEMPTED)
    assert np.abs(commanded(cell)[-1] - RIGHT).max() > 0.1


def test_a_newer_goal_ends_the_one_before_it(cell, mover):
    first = mover.move(joint_goal(RIGHT), max_velocity_scaling_factor=0.2)
    cell.commands.wait(lambda command: np.abs(command.velocity).max() > 0.05)
    second = mover.move(joint_goal(READY))
    end, result = first.result()
    assert (end, result.error_code.val) == ('aborted', CODES.PREEMPTED)
    end, result = second.result()
    assert (end, result.error_code.val) == ('succeeded', CODES.SUCCESS), result.error_code
    commanded_until(cell, READY)


WALL = box('wall', (0.35, -0.15, 0.5), (0.2, 0.02, 1.0))


def test_an_object_that_comes_into_the_way_stops_the_arm_before_it(cell, mover):
    goal = mover.move(joint_goal(RIGHT), max_velocity_scaling_factor=0.1)
    cell.commands.wait(lambda command: np.abs(command.velocity).max() > 0.05)
    mover.objects.publish(WALL)
    end, result = goal.result()
    changed = CODES.MOTION_PLAN_INVALIDATED_BY_ENVIRONMENT_CHANGE
    assert (end, result.error_code.val) == ('aborted', changed), result.error_code
    assert 'wall' in result.error_code.message
    rows = commanded(cell)
    wall = ('wall', (0.35, -0.15, 0.5), (0.2, 0.02, 1.0))
    assert not checker_with(wall).for_joints(cell.chain.joint_names).colliding(rows).any()
    assert not any(cell.commands.messages[-1].velocity)


def test_replan_goes_around_what_came_into_the_way(cell, mover):
    options = {'replan': True, 'replan_attempts': 3, 'replan_delay': 0.1}
    goal = mover.move(joint_goal(RIGHT), options=options, max_velocity_scaling_factor=0.2)
    cell.commands.wait(lambda command: np.abs(command.velocity).max() > 0.05)
    mover.objects.publish(POST)
    end, result = goal.result(60.0)
    assert (end, result.error_code.val) == ('succeeded', CODES.SUCCESS), result.error_code
    rows = commanded_until(cell, RIGHT)
    assert not checker_with(POST_BOX).for_joints(cell.chain.joint_names).colliding(rows).any()


def with_scene(options=None, **parts):
    """Options of a goal with a scene of its own."""
    scene = PlanningScene(is_diff=True, **{k: v for k, v in parts.items() if k != 'objects'})
    scene.world.collision_objects = parts.get('objects', [])
    return {'planning_scene_diff': scene, **(options or {})}


def known_objects(cell):
    get = cell.bench.call(GetPlanningScene, 'get_planning_scene', GetPlanningScene.Request())
    return {each.id for each in get.scene.world.collision_objects}


def test_a_scene_of_its_own_counts_for_a_goal_alone(cell, mover):
    end, result = mover.move(joint_goal(RIGHT), options=with_scene(objects=[POST])).result()
    assert (end, result.error_code.val) == ('succeeded', CODES.SUCCESS), result.error_code
    rows = commanded_until(cell, RIGHT)
    assert not checker_with(POST_BOX).for_joints(cell.chain.joint_names).colliding(rows).any()
    assert np.abs(rows[:, 1:] - READY[1:]).max() > 0.05  # it went around
    assert 'post' not in known_objects(cell)
    end, result = mover.move(joint_goal(LEFT)).result()
    assert (end, result.error_code.val) == ('succeeded', CODES.SUCCESS)
    straight = planned_rows(result.planned_trajectory)
    assert np.abs(straight[:, 1:] - READY[1:]).max() < 0.01  # where the post was


def test_a_scene_of_its_own_may_remove_an_object_and_let_others_touch(cell, mover):
    mover.objects.publish(POST)
    until(lambda: 'post' in known_objects(cell), what='the post')
    matrix = AllowedCollisionMatrix(default_entry_names=['post'], default_entry_values=[True])
    for options in (
        with_scene({'plan_only': True}, objects=[gone('post')]),
        with_scene({'plan_only': True}, allowed_collision_matrix=matrix),
    ):
        end, result = mover.move(joint_goal(RIGHT), options=options).result()
        assert (end, result.error_code.val) == ('succeeded', CODES.SUCCESS), result.error_code
        assert np.abs(planned_rows(result.planned_trajectory)[:, 1:] - READY[1:]).max() < 0.01
    assert 'post' in known_objects(cell)
    end, result = mover.move(joint_goal(RIGHT), pipeline_id='ptp').result()
    assert result.error_code.val == CODES.PLANNING_FAILED
    assert 'post' in result.error_code.message


def test_the_watch_sees_the_scene_of_a_goal_with_what_comes_later(cell, mover):
    floor = box('floor', (0.0, 0.0, -0.3), (2.0, 2.0, 0.1))
    goal = mover.move(
        joint_goal(RIGHT), options=with_scene(objects=[floor]), max_velocity_scaling_factor=0.1
    )
    cell.commands.wait(lambda command: np.abs(command.velocity).max() > 0.05)
    mover.objects.publish(WALL)
    end, result = goal.result()
    changed = CODES.MOTION_PLAN_INVALIDATED_BY_ENVIRONMENT_CHANGE
    assert (end, result.error_code.val) == ('aborted', changed), result.error_code
    assert 'wall' in result.error_code.message
    mover.objects.publish(POST)
    until(lambda: 'post' in known_objects(cell), what='the post')
    mover.objects.publish(gone('wall'))
    until(lambda: 'wall' not in known_objects(cell), what='the end of the wall')
    options = with_scene({'plan_only': True}, objects=[gone('post')])
    options['planning_scene_diff'].robot_state.joint_state.name = list(cell.chain.joint_names)
    options['planning_scene_diff'].robot_state.joint_state.position = RIGHT.tolist()
    end, result = mover.move(joint_goal(LEFT), options=options).result()
    assert (end, result.error_code.val) == ('succeeded', CODES.SUCCESS), result.error_code
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
    end, result = mover.move(joint_goal(RIGHT), options=options).result()
    assert (end, result.error_code.val) == ('aborted', CODES.FAILURE)
    assert 'planning_scene_diff' in result.error_code.message
    assert named in result.error_code.message
    assert not known_objects(cell)
    assert not len(cell.commands)


def test_without_a_joint_state_its_joints_are_named(bench, panda_urdf):
    bench.start(NODE, urdf=str(panda_urdf), **CHAIN)
    end, result = Mover(bench).move(joint_goal(RIGHT)).result()
    assert end == 'aborted'
    assert 'no joint state has arrived yet of: panda_joint1' in result.error_code.message
