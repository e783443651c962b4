"""Trajectories that are passed on to a controller, a stand-in of its action, and its faults."""

import re
import threading
import time
from types import SimpleNamespace

from action_msgs.msg import GoalInfo, GoalStatus
from action_msgs.srv import CancelGoal
from control_msgs.action import FollowJointTrajectory
from control_msgs.msg import JointTolerance
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped
from moveit_msgs.msg import MoveItErrorCodes
import numpy as np
import pytest
from rclpy.action.client import ClientGoalHandle
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.task import Future
from rclpy.time import Time
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import Trigger
from support.harness import PATIENCE, until
from support.motion.wire import Wire
from support.ros.cells import CHAIN, NAMES, NODE, READY
from support.ros.nodes import ended, LATCHED, STEADY
from support.ros.trajectories import (
    AWAY,
    message,
    Player,
    sent_until,
    smooth,
    StandInController,
    until_known,
)
from support.ros.worlds import crane_arm

from ik_service.common.fault_logger import FaultLogger
from ik_service.motion.playback import TrajectoryEnd
from ik_service.ros.capabilities.forwarding import ControllerGoal, ForwardedPlayback
from ik_service.ros.capabilities.trajectory_actions import follow_request, TrajectoryActions
from ik_service.ros.capabilities.trajectory_goals import GoalRefusedError
from ik_service.ros.common.actions import ThreadSafeActionClient

ACTION = 'arm_controller/follow_joint_trajectory'


class Setup:
    """A node that passes trajectories on, and controllers that take them."""

    def __init__(self, bench, panda_urdf):
        self.bench, self.player = bench, Player(bench)
        self.commands = bench.record(JointState, 'joint_command')
        self.node = bench.start(
            NODE, urdf=str(panda_urdf), trajectory_action=ACTION, **CHAIN, **STEADY
        )
        self.controllers = []

    def controller(self, **options):
        """Start a controller."""
        self.controllers.append(StandInController(self.bench, NAMES, READY, **options))
        return self.controllers[-1]

    def is_heard(self):
        """Wait until a trajectory gets through to the last controller."""
        until_known(self.player, self.controllers[-1])

    def is_idle(self, controller):
        """Wait until all goals that the controller has got have ended there."""
        until(lambda: controller.ended == controller.begun, what='the end at the controller')

    def send(self, controller, seconds=60.0, action='follow'):
        """Send a trajectory until the controller has it: a node that was stalled refuses it."""
        self.is_idle(controller)
        controller.goals.clear()
        send = getattr(self.player, action)
        return sent_until(lambda: controller.goals, lambda: send(smooth(seconds=seconds)))

    def servers(self):
        """Return what is known of the servers of the action."""
        action = f'{self.bench.namespace}/{ACTION}/_action/status'
        return self.bench.node.get_publishers_info_by_topic(action)

    def stop(self):
        return self.bench.call(Trigger, 'ik_service/stop', Trigger.Request()).message

    def ready_controller(self):
        """Return a controller that is heard, with its arm in READY."""
        controller = self.controllers[0] if self.controllers else self.controller()
        self.is_idle(controller)
        controller.begin_anew(READY)
        self.is_heard()
        self.commands.clear()
        return controller

    def end(self):
        """Stop all; only a controller that can go on is kept."""
        self.stop()
        if len(self.controllers) > 1 or any(each.vanished for each in self.controllers):
            self.close()

    def close(self):
        for controller in self.controllers:
            controller.close()
        self.controllers.clear()


@pytest.fixture(scope='module')
def shared_setup(shared_bench, panda_urdf):
    setup = Setup(shared_bench, panda_urdf)
    yield setup
    setup.close()


@pytest.fixture
def setup(shared_setup, request):
    """The shared node, without a controller unless the test asks for it."""
    if 'controller' not in request.fixturenames:
        shared_setup.close()
    yield shared_setup
    shared_setup.end()


@pytest.fixture
def controller(setup):
    return setup.ready_controller()


def target_above():
    """A pose beside that of the ready arm."""
    target = PoseStamped()
    target.header.frame_id = 'panda_link0'
    place, orientation = target.pose.position, target.pose.orientation
    place.x, place.y, place.z = 0.3, 0.0, 0.6
    orientation.x, orientation.w = 1.0, 0.0
    return target


def test_it_is_passed_on_with_feedback_and_result(setup, controller):
    sent = smooth(seconds=1.0)
    goal = setup.player.follow(sent)
    end, result = goal.result()
    assert (end, result.error_string) == ('succeeded', 'Goal successfully reached!')
    assert controller.goals[0].trajectory == sent
    assert goal.feedback[-1].actual.positions
    np.testing.assert_allclose(controller.q, AWAY, atol=1e-9)
    assert not len(setup.commands), 'the node has commanded something itself'
    goal = setup.player.execute(smooth(AWAY, READY, 1.0))
    end, result = goal.result()
    assert (end, result.error_code.val) == ('succeeded', MoveItErrorCodes.SUCCESS)
    goal.had_states('MONITOR', 'IDLE')


def test_commands_begin_where_the_controller_holds_a_sagging_arm(setup, controller):
    controller.sag = 0.01
    until_known(setup.player, controller)
    goal = setup.send(controller, seconds=1.0)
    assert goal.result()[0] == 'succeeded'
    targets = setup.bench.publisher(PoseStamped, 'target_pose')

    def begun():
        targets.publish(target_above())
        return setup.commands.messages

    first = until(begun, what='a command', period=0.5)[0]
    np.testing.assert_allclose(first.position, AWAY, atol=1e-9)


def test_what_is_beyond_the_limits_never_reaches_the_controller(setup, controller):
    end, result = setup.player.execute(message([0.05], [AWAY])).result()
    assert (end, result.error_code.val) == ('aborted', MoveItErrorCodes.INVALID_MOTION_PLAN)
    end, result = setup.player.follow(smooth(AWAY, READY)).result()
    assert (end, result.error_code) == ('aborted', -1)
    assert 'starts at' in result.error_string
    assert controller.goals == []


def test_the_stop_of_moveit_is_passed_on_to_the_controller(setup, controller):
    events = setup.bench.publisher(String, 'trajectory_execution_event', 1)
    goal = setup.send(controller, action='execute')
    events.publish(String(data='stop'))
    end, result = goal.result()
    assert (end, controller.canceled) == ('aborted', 1)
    assert result.error_code.val == MoveItErrorCodes.PREEMPTED
    assert "'stop' on trajectory_execution_event" in result.error_code.message


def test_without_replacing_a_second_goal_is_refused_while_the_controller_moves(setup, controller):
    setup.bench.configure('ik_service', replace_goals=False)
    first = setup.send(controller)
    end, result = setup.player.execute(smooth()).result()
    assert (end, result.error_code.val) == ('aborted', MoveItErrorCodes.CONTROL_FAILED)
    controller.hurries = True
    assert first.result()[0] == 'succeeded'
    assert len(controller.goals) == 1
    setup.bench.configure('ik_service', replace_goals=True)


def test_a_newer_goal_is_passed_on_at_once_and_replaces_the_other_there(setup, controller):
    controller.replaces, canceled = True, controller.canceled
    first = setup.send(controller)
    second = setup.player.execute(message([1.0], [READY]))
    end, result = first.result()
    assert (end, result.error_code) == ('aborted', -1)
    assert 'a newer trajectory has replaced it' in result.error_string
    assert 'preempted by new incoming action' in result.error_string
    assert second.result()[0] == 'succeeded'
    assert (len(controller.goals), controller.canceled) == (2, canceled)


def test_where_the_controller_rejects_the_newer_goal_the_other_is_canceled(setup, controller):
    first = setup.send(controller)
    controller.rejects, canceled = True, controller.canceled
    end, result = setup.player.follow(message([1.0], [READY])).result()
    assert end == 'aborted'
    assert 'has rejected it' in result.error_string
    end, result = first.result()
    assert (end, controller.canceled) == ('aborted', canceled + 1)
    assert 'has not taken the goal that was to replace it' in result.error_string
    controller.rejects = False
    assert setup.player.follow(message([1.0], [READY])).result()[0] == 'succeeded'


def test_while_the_controller_has_a_goal_of_another_client_the_node_sends_none(setup, controller):
    other = setup.player.follow(smooth(seconds=4.0), ACTION)
    diagnostics = setup.bench.record(DiagnosticArray, 'diagnostics')
    diagnostics.wait(lambda message: 'a goal of another client' in str(message))
    end, result = setup.player.follow(smooth()).result()
    assert end == 'aborted'
    assert 'a goal of another client at ' in result.error_string
    assert other.result()[0] == 'succeeded'
    controller.begin_anew(READY)
    setup.is_heard()


def test_tolerances_with_velocities_reach_the_controller_and_efforts_of_0_do_not(
    setup, controller
):
    fine = [JointTolerance(name=name, position=0.01, velocity=0.01) for name in NAMES]
    trajectory = message([0.5], [READY])
    trajectory.points[0].effort = [0.0] * 7
    goal = sent_until(
        lambda: controller.goals, lambda: setup.player.follow(trajectory, goal_tolerance=fine)
    )
    assert goal.result()[0] == 'succeeded'
    assert list(controller.goals[-1].goal_tolerance) == fine
    assert not controller.goals[-1].trajectory.points[0].effort


def test_a_rejection_and_a_failure_are_told(setup, controller):
    controller.rejects = True
    end, result = setup.player.follow(smooth()).result()
    assert (end, result.error_code) == ('aborted', -1)
    assert 'has rejected it' in result.error_string
    controller.rejects, controller.fails = False, (-4, 'path tolerance')
    end, result = setup.player.follow(smooth()).result()
    assert (end, result.error_code, result.error_string) == ('aborted', -4, 'path tolerance')


def test_a_controller_that_vanishes_or_is_not_there_is_told(setup, controller):
    goal = setup.send(controller, action='execute')
    controller.vanish()
    end, result = goal.result()
    assert (end, result.error_code.val) == ('aborted', MoveItErrorCodes.CONTROL_FAILED)
    assert 'has gone' in result.error_code.message
    end, result = setup.player.follow(message([2.0], [READY])).result()
    assert end == 'aborted'
    assert 'does not exist' in result.error_string


def test_none_of_two_controllers_of_one_action_gets_a_goal(setup, controller):
    # Both would move the arm, one of them unheard once the other has rejected the goal.
    setup.controller().begin_anew(controller.q)
    until(lambda: len(setup.servers()) == 2, what='the second controller')
    end, result = setup.player.follow(smooth()).result()
    assert end == 'aborted'
    assert f'2 controllers offer the action {setup.bench.namespace}/' in result.error_string
    assert not any(each.goals for each in setup.controllers)
    setup.controllers.pop(0).close()
    setup.is_heard()


def test_its_own_action_is_refused_as_that_of_a_controller(bench, panda_urdf):
    node = bench.start(
        NODE, urdf=str(panda_urdf), trajectory_action='follow_joint_trajectory', ready=None
    )
    node.wait_for('trajectory_action: .* is the action of this node itself', 60.0)


@pytest.mark.parametrize('name', ['a b', f'/{"long" * 70}'])
def test_what_is_no_name_of_an_action_is_told(bench, panda_urdf, name):
    node = bench.start(NODE, urdf=str(panda_urdf), trajectory_action=name, ready=None)
    node.wait_for(f"trajectory_action: '{name[:200]}.* is no name of an action.*, such as /", 60.0)
    ended(node)


# Controllers that do not end a goal as they should: nothing moves, and it is told why


def test_nothing_is_commanded_after_a_stop_before_the_controller_has_ended(setup, controller):
    controller.lingers = True
    goal = setup.send(controller)
    goal.has_begun()  # so the node knows that it is accepted
    assert 'may still move the arm: cancellation of its goal was requested' in setup.stop()
    targets = setup.bench.publisher(PoseStamped, 'target_pose')
    targets.publish(target_above())
    setup.node.wait_for('target_pose ignored: .*follow_joint_trajectory may still move', 60.0)
    end, result = setup.player.follow(smooth()).result()
    assert end == 'aborted'
    assert 'may still move the arm' in result.error_string
    setup.node.wait_for(r'the cancellation, but the goal has not ended yet, for \d+ s', 60.0)
    assert 'may still move the arm' in setup.stop()
    targets.publish(target_above())
    assert not goal.ended
    assert not len(setup.commands), 'the node has commanded something itself'
    controller.lingers = False
    end, result = goal.result()
    assert (end, result.error_string) == ('aborted', 'it was stopped by ~/stop')
    until(lambda: targets.publish(target_above()) or len(setup.commands), what='a command')


def test_a_controller_that_refuses_to_cancel_is_told_and_asked_again(setup, controller):
    controller.refuses = True
    goal = setup.send(controller)
    goal.cancel()
    setup.node.wait_for('may still move the arm: it refuses to cancel its goal', 60.0)
    assert not goal.ended
    controller.refuses = False
    assert goal.result()[0] == 'canceled'
    assert controller.canceled == 1


def test_the_result_tells_that_the_cancellation_was_refused(setup, controller):
    controller.refuses = True
    goal = setup.send(controller)
    setup.stop()
    until(lambda: controller.refused, what='a refusal')
    controller.hurries = True
    end, result = goal.result()
    assert end == 'succeeded'
    assert 'arm_controller/follow_joint_trajectory refused to cancel it' in result.error_string


@pytest.mark.parametrize('canceled', [False, True])
def test_a_controller_that_starts_anew_has_lost_the_goal(setup, controller, canceled):
    controller.refuses = canceled
    goal = setup.send(controller, action='execute')
    if canceled:
        goal.cancel()
        setup.node.wait_for('it refuses to cancel its goal', 60.0)
    controller.vanish()
    setup.controller()
    end, result = goal.result()
    assert (end, result.error_code.val) == ('aborted', MoveItErrorCodes.CONTROL_FAILED)
    assert 'was restarted, and its goals are lost' in result.error_code.message
    setup.is_heard()


@pytest.mark.parametrize(
    ('seconds', 'times', 'stops', 'end'),
    [(1.0, 1, True, 'succeeded'), (1.0, 3, False, 'succeeded'), (60.0, 1, False, 'canceled')],
    ids=['stopped', 'again and again', 'of a cancellation'],
)
def test_a_result_that_was_lost_is_asked_for_again(setup, controller, seconds, times, stops, end):
    send_again = controller.lose_results()
    goal = setup.send(controller, seconds)
    if seconds < 60.0:
        setup.is_idle(controller)
    if not stops:
        goal.cancel()
    until(lambda: len(controller.lost) >= times, what='the request for the result')
    assert not goal.ended
    send_again()
    if stops:
        setup.stop()
    assert goal.result()[0] == end


@pytest.mark.parametrize('stops', [True, False])
def test_a_goal_whose_acceptance_was_lost_is_canceled_and_ends(
    setup, controller, stops, monkeypatch
):
    monkeypatch.setattr(rclpy_implementation.ActionServer, 'send_goal_response', lambda *_: None)
    goal = setup.send(controller, 60.0 if stops else 1.0)
    if stops:
        setup.stop()
    end, _ = goal.result()
    assert (end, controller.canceled) == (('aborted', 1) if stops else ('succeeded', 0))


def test_a_goal_that_is_accepted_after_a_stop_is_canceled_at_once(setup, controller):
    controller.thinks, asked = 0.5, controller.asked
    goal = setup.player.follow(smooth(seconds=60.0))
    until(lambda: controller.asked > asked, what='the goal')
    assert 'it has not yet accepted the goal' in setup.stop()
    until(lambda: controller.goals, what='the goal')
    accepted = time.monotonic()
    assert goal.result()[0] == 'aborted'
    assert time.monotonic() - accepted < 1.0
    assert controller.canceled == 1


def test_a_goal_that_the_controller_does_not_know_any_more_is_over(setup):
    controller = setup.controller(keeps=0)
    setup.is_heard()
    controller.lose_results()
    goal = setup.send(controller, 1.0)
    setup.is_idle(controller)
    assert not goal.ended
    goal.cancel()
    end, result = goal.result()
    assert end == 'aborted'
    assert 'does not know the goal' in result.error_string
    controller.vanish()


def test_a_goal_is_canceled_at_once_when_no_controller_is_there(setup):
    setup.controller(action='another_controller/follow_joint_trajectory')

    def was_canceled():
        goal = setup.player.follow(message([2.0], [READY]), hasty=True)
        end, result = goal.result()
        # Until its joint states are believed, those of the one before are too old.
        return end == 'canceled' and result.error_string == 'it was canceled before it began'

    until(was_canceled, what='a goal that is canceled before it begins')


def at_rest(command):
    return not any(command.velocity)


def test_a_new_arm_is_not_moved_either_before_the_controller_has_ended(bench, panda_urdf):
    described = bench.node.create_publisher(String, 'robot_description', LATCHED)
    urdf = panda_urdf.read_text()
    described.publish(String(data=urdf))
    commands, player = bench.record(JointState, 'joint_command'), Player(bench)
    node = bench.start(NODE, trajectory_action=ACTION, **CHAIN, **STEADY)
    controller = StandInController(bench, NAMES, READY)
    try:
        until_known(player, controller)
        controller.lingers = True
        goal = player.follow(smooth(seconds=60.0))
        until(lambda: controller.goals, what='the goal')
        described.publish(String(data=urdf.replace('<robot', '<!-- another --><robot', 1)))
        node.wait_for('the new robot description|other parameters', 60.0)
        targets = bench.publisher(PoseStamped, 'target_pose')
        told = re.compile('target_pose ignored: .*follow_joint_trajectory may still move')
        until(lambda: targets.publish(target_above()) or told.search(node.output), what='a reason')
        until(lambda: not commands.messages or at_rest(commands.messages[-1]), what='rest')
        assert not goal.ended
        commands.clear()
        controller.lingers = False
        assert goal.result()[0] == 'aborted'
        assert all(at_rest(command) for command in commands.messages)
        until(lambda: targets.publish(target_above()) or len(commands), what='a command')
    finally:
        controller.close()


class SlowClient:
    """Stand-in for the client of an action, whose answers the test gives."""

    name = 'arm_controller/follow_joint_trajectory'

    def __init__(self):
        self.answer, self.results, self.cancellations = Future(), [], []
        self.goals, self.abandoned, self.known = [], [], [b'server']

    def servers(self):
        return frozenset(self.known)

    def abandon(self, goal):
        self.abandoned.append(goal)

    def accept(self):
        """Accept the goal; return its handle."""
        accepted = FollowJointTrajectory.Impl.SendGoalService.Response(accepted=True)
        handle = ClientGoalHandle(self, GoalInfo().goal_id, accepted)
        self.answer.set_result(handle)
        return handle

    def server_is_ready(self):
        return bool(self.known)

    def send_goal_async(self, goal, feedback_callback, goal_uuid):
        self.goals.append(goal)
        return self.answer

    def _get_result_async(self, handle):
        self.results.append(Future())
        return self.results[-1]

    def _cancel_goal_async(self, handle):
        self.cancellations.append(Future())
        return self.cancellations[-1]


def test_what_was_not_known_before_the_acceptance_is_not_lost():
    client = SlowClient()
    goal = ControllerGoal(client, FollowJointTrajectory.Goal(), 0.0, lambda: None)
    assert goal.attend(2.5, True) is None
    unknown = CancelGoal.Response(return_code=CancelGoal.Response.ERROR_UNKNOWN_GOAL_ID)
    client.cancellations[0].set_result(unknown)
    assert goal.attend(2.6, True) is None
    # Both answers come before the next look at them.
    status = GoalStatus.STATUS_UNKNOWN
    client.results[0].set_result(
        FollowJointTrajectory.Impl.GetResultService.Response(status=status)
    )
    client.accept()
    assert goal.attend(2.7, True) is None
    assert (len(client.cancellations), len(client.results)) == (2, 2)


def result_of(status, **fields):
    """The answer of a controller to the request for a result."""
    result = FollowJointTrajectory.Result(**fields)
    return FollowJointTrajectory.Impl.GetResultService.Response(status=status, result=result)


@pytest.mark.parametrize('canceling', [False, True], ids=['', 'where no cancellation is answered'])
def test_a_result_that_was_lost_is_asked_for_again_once_the_goal_is_known_to_be_over(canceling):
    client = SlowClient()
    goal = ControllerGoal(client, FollowJointTrajectory.Goal(), 0.0, lambda: None)
    handle = client.accept()
    for now in (0.1, 60.0):
        assert goal.attend(now, canceling) is None
    assert len(client.results) == 1
    handle._status = GoalStatus.STATUS_SUCCEEDED
    for now in (60.1, 64.0):
        assert goal.attend(now, canceling) is None
    assert goal.overdue(64.0) > 3.0
    assert 'its result has not come' in goal.waiting_for
    client.results[1].set_result(result_of(GoalStatus.STATUS_SUCCEEDED))
    assert goal.attend(64.1, canceling).end is TrajectoryEnd.REACHED


def test_an_error_code_of_a_controller_is_no_success():
    client = SlowClient()
    goal = ControllerGoal(client, FollowJointTrajectory.Goal(), 0.0, lambda: None)
    client.accept()
    assert goal.attend(0.1, False) is None
    client.results[0].set_result(
        result_of(GoalStatus.STATUS_SUCCEEDED, error_code=-5, error_string='beside it')
    )
    outcome = goal.attend(0.2, False)
    assert (outcome.end, outcome.reason) == (TrajectoryEnd.OFF_GOAL, 'beside it')


def test_a_goal_is_abandoned_where_its_controller_has_gone():
    client = SlowClient()
    goal = ControllerGoal(client, FollowJointTrajectory.Goal(), 0.0, lambda: None)
    client.known.clear()
    assert goal.attend(1.0, False) is None
    assert not client.abandoned
    assert 'has gone' in goal.attend(5.0, False).reason
    assert client.abandoned == [bytes(goal._unanswered.goal_id.uuid)]


@pytest.mark.parametrize('executing', [False, True], ids=['not yet', 'executing'])
def test_an_abandoned_goal_is_canceled_where_a_controller_has_it_after_all(bench, executing):
    controller, told = StandInController(bench, NAMES, READY), []
    client = ThreadSafeActionClient(
        bench.node, FollowJointTrajectory, ACTION, on_goal=lambda *goal: told.append(goal)
    )
    try:
        assert client.wait_for_server(PATIENCE)
        identifier = GoalInfo().goal_id
        identifier.uuid = [7] * 16
        goal = FollowJointTrajectory.Goal(trajectory=smooth(seconds=60.0))
        if not executing:
            client.abandon(bytes(identifier.uuid))
        sent = client.send_goal_async(goal, goal_uuid=identifier)
        if executing:
            until(lambda: sent.done() and sent.result().status == GoalStatus.STATUS_EXECUTING)
            client.abandon(bytes(identifier.uuid))
        until(lambda: controller.canceled, what='the cancellation')
        assert told == [(bytes([7] * 16), now) for now in (executing, not executing)]
    finally:
        client.destroy()
        controller.close()


def test_a_goal_that_waits_for_the_arm_to_rest_is_checked_again_from_there():
    wire = Wire('joint_command', velocity_scaling=1.0, acceleration_time=1.0).run(0.2)
    wire.target(READY + np.array([1.5, 0.5, 0.0, 0.6, 0.0, 0.0, 0.5]))
    wire.run(0.6)
    here, client = wire.follower.commanded, SlowClient()
    goal = FollowJointTrajectory.Goal(trajectory=message([0.1, 1.0], [here, here]))
    following, ignore = wire.followers.default, lambda *_: None
    request = follow_request(goal)
    playback = ForwardedPlayback(request, following, client, ignore, FaultLogger(ignore))
    for _ in range(200):
        wire.run(0.01)
        playback.attend(wire.real)
    assert not client.goals, 'it would lead back faster than the joints may be'
    assert playback.outcome.end is TrajectoryEnd.INVALID
    assert 'is beyond the limit' in playback.outcome.reason


def passed_on(trajectory, wire, client, replaces=None):
    """Return the playback of a trajectory that is sent at once, and replaces another one."""
    request = follow_request(FollowJointTrajectory.Goal(trajectory=trajectory))
    following, delays = wire.followers.default, FaultLogger(str)
    playback = ForwardedPlayback(request, following, client, lambda: None, delays, replaces)
    playback.attend(wire.real)
    return playback


def test_a_goal_that_is_replaced_while_it_is_sent_is_not_sent_after_the_newer_one(monkeypatch):
    wire, client = Wire('joint_command'), SlowClient()
    wire.followers.on_joint_states(JointState(name=NAMES, position=READY.tolist()))
    older, newer = message([3.0], [READY]), message([2.0], [READY])
    request = follow_request(FollowJointTrajectory.Goal(trajectory=older))
    first = ForwardedPlayback(
        request, wire.followers.default, client, lambda: None, FaultLogger(str)
    )
    thread = threading.Thread(target=passed_on, args=(newer, wire, client, first))

    def replaced_meanwhile():
        monkeypatch.undo()
        thread.start()
        until(lambda: first._replaced, what='the newer one')
        thread.join(0.2)  # it waits for the older one
        return True

    monkeypatch.setattr(client, 'server_is_ready', replaced_meanwhile)
    first.attend(wire.real)
    thread.join()
    assert [goal.trajectory for goal in client.goals] == [older, newer]


def test_goals_that_threads_begin_in_another_order_do_not_replace_newer_ones():
    running, following = SimpleNamespace(motion_goal=object()), SimpleNamespace()
    following.follower = SimpleNamespace(goal=running.motion_goal)
    goal = SimpleNamespace(playback=running, handle=SimpleNamespace(asked_at=2.0))
    actions = SimpleNamespace(_goals=[goal])
    assert TrajectoryActions._replaceable(actions, following, 3.0) is running
    with pytest.raises(GoalRefusedError, match='a newer trajectory has replaced it') as refused:
        TrajectoryActions._replaceable(actions, following, 1.0)
    assert refused.value.outcome.end is TrajectoryEnd.PREEMPTED


@pytest.mark.parametrize(('seconds', 'ahead'), [(3.5, 0.0), (0.2, 3.0)])
def test_a_goal_that_the_present_velocity_carries_beyond_a_limit_replaces_none(seconds, ahead):
    wire, client = Wire('joint_command'), SlowClient()
    near = READY.copy()
    near[0] = wire.chain.upper[0] - 0.1
    goal = message([seconds], [near - 0.1], [0.0 * READY])
    if ahead:
        goal.header.stamp = Time(seconds=wire.graph.shown + ahead).to_msg()

    def moves(speed):
        velocity = (speed * wire.limits.velocity).tolist()
        state = JointState(name=NAMES, position=near.tolist(), velocity=velocity)
        wire.followers.on_joint_states(state)

    moves(0.0)
    running = passed_on(message([3.0], [READY]), wire, client)
    moves(1.0)
    with pytest.raises(GoalRefusedError, match=r'present velocity .* is beyond the limit'):
        passed_on(goal, wire, client, running)
    moves(0.0)
    passed_on(goal, wire, client, running)
    assert len(client.goals) == 2


def test_continuous_joints_do_not_unwind_to_the_turn_of_a_trajectory():
    wire, client = Wire('joint_command'), SlowClient()
    wire.arm = crane_arm()
    wire.restart()
    names, here = ['wrist', 'elbow', 'shoulder'], [7.0, 0.5, 0.1]
    wire.followers.on_joint_states(JointState(name=names, position=here))
    there = np.array([7.0 - 2.0 * np.pi, 0.5, 0.1])
    passed_on(message([0.0, 1.0], [there, there + 0.3], names=names), wire, client)
    for point, moved in zip(client.goals[0].trajectory.points, (0.0, 0.3), strict=True):
        assert np.allclose(point.positions, np.array(here) + moved)
