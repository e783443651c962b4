"""Trajectories that are passed on to a real controller, here a stand-in of its action."""

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from control_msgs.msg import JointTolerance
from moveit_msgs.msg import MoveItErrorCodes
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import Trigger
from support.harness import Bench, until
from support.ros.cells import CHAIN, NAMES, NODE, READY
from support.ros.trajectories import AWAY, message, Player, smooth, StandInController, until_known

pytestmark = pytest.mark.dds

ACTION = 'arm_controller/follow_joint_trajectory'


@pytest.fixture(scope='module')
def setup(ros_context, tmp_path_factory, panda_urdf):
    """A node that passes trajectories on, and what it commands itself."""
    bench = Bench(ros_context, tmp_path_factory.mktemp('forwarding'))
    try:
        commands = bench.record(JointState, 'joint_command')
        bench.start(NODE, urdf=str(panda_urdf), trajectory_action=ACTION, **CHAIN)
        yield bench, Player(bench), commands
    finally:
        bench.close()


@pytest.fixture
def controller(setup):
    """A controller whose arm is in READY, and which the node has heard of."""
    bench, player, commands = setup
    controller = StandInController(bench, NAMES, READY)
    try:
        until_known(player, controller)
        commands.clear()
        yield controller
    finally:
        controller.close()


@pytest.fixture
def player(setup):
    return setup[1]


def test_it_is_passed_on_with_feedback_and_result(setup, controller, player):
    sent = smooth(seconds=1.0)
    goal = player.follow(sent)
    end, result = goal.result()
    assert (end, result.error_string) == ('succeeded', 'Goal successfully reached!')
    assert controller.goals[0].trajectory == sent
    assert goal.feedback[-1].actual.positions
    np.testing.assert_allclose(controller.q, AWAY, atol=1e-9)
    assert not len(setup[2]), 'the node has commanded something itself'
    goal = player.execute(smooth(AWAY, READY, 1.0))
    end, result = goal.result()
    assert (end, result.error_code.val) == ('succeeded', MoveItErrorCodes.SUCCESS)
    assert [feedback.state for feedback in goal.feedback] == ['MONITOR', 'IDLE']


def test_what_is_beyond_the_limits_never_reaches_the_controller(controller, player):
    end, result = player.execute(message([0.05], [AWAY])).result()
    assert (end, result.error_code.val) == ('aborted', MoveItErrorCodes.INVALID_MOTION_PLAN)
    end, result = player.follow(smooth(AWAY, READY)).result()
    assert (end, result.error_code) == ('aborted', -1)
    assert 'starts at' in result.error_string
    assert controller.goals == []


def test_a_cancellation_reaches_the_controller(controller, player):
    goal = player.execute(smooth(seconds=6.0))
    until(lambda: controller.goals, what='the goal')
    goal.cancel()
    end, result = goal.result()
    assert (end, result.error_code.val) == ('canceled', MoveItErrorCodes.PREEMPTED)
    assert controller.canceled == 1


def test_the_stop_service_cancels_at_the_controller(setup, controller, player):
    goal = player.follow(smooth(seconds=6.0))
    until(lambda: controller.goals, what='the goal')
    setup[0].call(Trigger, 'ik_service/stop', Trigger.Request())
    end, result = goal.result()
    assert (end, controller.canceled) == ('aborted', 1)
    assert 'stopped' in result.error_string


def test_the_stop_of_moveit_is_passed_on_to_the_controller(setup, controller, player):
    events = setup[0].publisher(String, 'trajectory_execution_event', 1)
    goal = player.execute(smooth(seconds=6.0))
    until(lambda: controller.goals, what='the goal')
    events.publish(String(data='stop'))
    end, result = goal.result()
    assert (end, controller.canceled) == ('aborted', 1)
    assert result.error_code.val == MoveItErrorCodes.PREEMPTED
    assert "'stop' on trajectory_execution_event" in result.error_code.message


def test_without_replacing_a_second_goal_is_refused_while_the_controller_moves(
    setup, controller, player
):
    assert setup[0].set_parameters('ik_service', replace_goals=False)[0].successful
    first = player.follow(smooth(seconds=1.5))
    until(lambda: controller.goals, what='the goal')
    end, result = player.execute(smooth()).result()
    assert (end, result.error_code.val) == ('aborted', MoveItErrorCodes.CONTROL_FAILED)
    assert first.result()[0] == 'succeeded'
    assert len(controller.goals) == 1
    assert setup[0].set_parameters('ik_service', replace_goals=True)[0].successful


def test_a_newer_goal_is_passed_on_at_once_and_replaces_the_other_there(controller, player):
    controller.replaces, canceled = True, controller.canceled
    first = player.follow(smooth(seconds=6.0))
    until(lambda: controller.goals, what='the goal')
    second = player.execute(message([1.0], [READY]))
    end, result = first.result()
    assert (end, result.error_code) == ('aborted', -1)
    assert 'a newer trajectory has replaced it' in result.error_string
    assert 'preempted by new incoming action' in result.error_string
    assert second.result()[0] == 'succeeded'
    assert (len(controller.goals), controller.canceled) == (2, canceled)


def test_where_the_controller_rejects_the_newer_goal_the_other_is_canceled(controller, player):
    first = player.follow(smooth(seconds=6.0))
    until(lambda: controller.goals, what='the goal')
    controller.rejects, canceled = True, controller.canceled
    end, result = player.follow(message([1.0], [READY])).result()
    assert end == 'aborted'
    assert 'has rejected it' in result.error_string
    end, result = first.result()
    assert (end, controller.canceled) == ('aborted', canceled + 1)
    assert 'has not taken the goal that was to replace it' in result.error_string
    controller.rejects = False
    assert player.follow(message([1.0], [READY])).result()[0] == 'succeeded'


def test_tolerances_with_velocities_reach_the_controller_and_efforts_of_0_do_not(
    controller, player
):
    fine = [JointTolerance(name=name, position=0.01, velocity=0.01) for name in NAMES]
    trajectory = message([0.5], [READY])
    trajectory.points[0].effort = [0.0] * 7
    goal = player.follow(trajectory, goal_tolerance=fine)
    assert goal.result()[0] == 'succeeded'
    assert list(controller.goals[-1].goal_tolerance) == fine
    assert not controller.goals[-1].trajectory.points[0].effort


def test_a_rejection_and_a_failure_are_told(controller, player):
    controller.rejects = True
    end, result = player.follow(smooth()).result()
    assert (end, result.error_code) == ('aborted', -1)
    assert 'has rejected it' in result.error_string
    controller.rejects, controller.fails = False, (-4, 'path tolerance')
    end, result = player.follow(smooth()).result()
    assert (end, result.error_code, result.error_string) == ('aborted', -4, 'path tolerance')


def test_a_controller_that_vanishes_or_is_not_there_is_told(controller, player):
    goal = player.execute(smooth(seconds=6.0))
    until(lambda: controller.goals, what='the goal')
    controller.vanish()
    end, result = goal.result()
    assert (end, result.error_code.val) == ('aborted', MoveItErrorCodes.CONTROL_FAILED)
    assert 'has gone' in result.error_code.message
    end, result = player.follow(message([2.0], [READY])).result()
    assert end == 'aborted'
    assert 'does not exist' in result.error_string


def test_its_own_action_is_refused_as_that_of_a_controller(setup, panda_urdf):
    bench = setup[0]
    node = bench.start(
        NODE, urdf=str(panda_urdf), trajectory_action='follow_joint_trajectory', ready=None
    )
    node.wait_for('trajectory_action: .* is the action of this node itself', 60.0)


@pytest.mark.parametrize('name', ['a b', '1st/do', 'arm//do', 'arm/', f'/{"long" * 70}'])
def test_what_is_no_name_of_an_action_is_told(setup, panda_urdf, name):
    node = setup[0].start(NODE, urdf=str(panda_urdf), trajectory_action=name, ready=None)
    node.wait_for(f"trajectory_action: '{name[:200]}.* is no name of an action.*, such as /", 60.0)
    until(lambda: node.exit_code is not None, what='the end')
    assert 'Traceback' not in node.output
