"""What goes wrong while a trajectory is played: each test has a node and an arm of its own."""

import signal

import numpy as np
import pytest
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from std_msgs.msg import String
from support.harness import until
from support.paths import distance_from_line, smooth_motion
from support.ros.cells import Cell, READY
from support.ros.nodes import LATCHED
from support.ros.trajectories import assert_gentle, AWAY, message, Player, smooth

pytestmark = pytest.mark.dds

SCALING = 0.8


@pytest.fixture
def cell(bench):
    return Cell(bench)


@pytest.fixture
def player(bench):
    return Player(bench)


def moving(cell, goal):
    """Wait until the arm moves along a trajectory."""
    cell.commands.wait(lambda command: np.abs(command.velocity).max() > 0.05)
    assert not goal.ended


def came_to_rest(cell):
    """Check that the last command rests on the way, and all of them keep the bounds."""
    cell.last_at_rest()
    q = np.array([cell.positions(command) for command in cell.commands.messages])
    assert distance_from_line(q, READY, AWAY).max() < 1e-2
    assert np.abs(q[-1] - AWAY).max() > 1e-3
    cell.assert_commands_keep_the_bounds(SCALING)
    assert_gentle(cell, SCALING)


def test_joint_states_that_stop_end_it(cell, player):
    goal = player.follow(smooth(seconds=6.0))
    moving(cell, goal)
    cell.sim.kill()
    end, result = goal.result()
    assert end == 'aborted'
    assert 'joint state' in result.error_string
    came_to_rest(cell)


def test_a_node_that_ends_brings_the_arm_to_rest_and_aborts_the_goal(cell, player):
    goal = player.follow(smooth(seconds=6.0))
    moving(cell, goal)
    cell.node.send(signal.SIGINT)
    end, result = goal.result()
    assert (end, result.error_string) == ('aborted', 'the node ends')
    came_to_rest(cell)


def test_a_client_that_vanishes_leaves_the_arm_to_its_trajectory(bench, cell):
    context = bench.node.context
    node, executor = Node('other', namespace=bench.namespace, context=context), None
    try:
        executor = SingleThreadedExecutor(context=context)
        executor.add_node(node)
        client = Player(bench, node)
        goal = client.follow(smooth(seconds=3.0))
        until(lambda: executor.spin_once(0.02) or goal.feedback, what='feedback')
        assert not goal.ended
    finally:
        executor.shutdown()
        node.destroy_node()
    at_end = cell.commands.wait(
        lambda command: np.abs(cell.positions(command) - AWAY).max() < 1e-9, timeout=30.0
    )
    assert at_end is not None
    cell.assert_commands_keep_the_bounds(SCALING)


def test_a_new_robot_description_ends_it_and_the_next_arm_can_be_moved(bench, panda_urdf):
    described = bench.node.create_publisher(String, 'robot_description', LATCHED)
    urdf = panda_urdf.read_text()
    described.publish(String(data=urdf))
    cell, player = Cell(bench, described=True), Player(bench)
    goal = player.follow(smooth(seconds=6.0))
    moving(cell, goal)
    described.publish(String(data=urdf.replace('<robot', '<!-- another --><robot', 1)))
    assert goal.result()[0] == 'aborted'
    came_to_rest(cell)
    cell.node.wait_for('the new robot description|other parameters', 60.0)
    until(
        lambda: player.follow(message([2.0], [READY])).result()[0] == 'succeeded',
        30.0,
        'a trajectory of the next arm',
    )


def test_tens_of_thousands_of_points_are_played(cell, player):
    times, q, velocity, acceleration = smooth_motion(READY, AWAY, 2.0, 30_000)
    goal = player.follow(message(times, q, velocity, acceleration))
    assert goal.accepted(60.0)
    assert goal.result(60.0)[0] == 'succeeded'
    cell.wait_for_end(AWAY)
    cell.assert_commands_keep_the_bounds(SCALING)
    assert_gentle(cell, SCALING)
