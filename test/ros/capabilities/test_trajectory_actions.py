"""Both trajectory actions over real DDS: what moves the arm, and what is refused."""

import re
import signal
import threading
import time
from types import SimpleNamespace

from control_msgs.msg import JointTolerance
from diagnostic_msgs.msg import DiagnosticArray
from moveit_msgs.action import ExecuteTrajectory
from moveit_msgs.msg import MoveItErrorCodes
import numpy as np
import pytest
from rclpy.action.server import ServerGoalHandle
from rclpy.executors import MultiThreadedExecutor, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from std_msgs.msg import String
from std_srvs.srv import Trigger
from support.harness import until
from support.paths import distance_from_line
from support.ros.cells import Cell, NAMES, READY
from support.ros.nodes import LATCHED, status
from support.ros.trajectories import (
    assert_gentle,
    AWAY,
    duration,
    go_to,
    message,
    Player,
    rest_at,
    sent_until,
    smooth,
)
from support.urdf_texts import joint_xml, robot_xml
from trajectory_msgs.msg import JointTrajectory

from ik_service import Robot
from ik_service.exceptions import TrajectoryError
from ik_service.ros.capabilities.playback import assumed_speeds
from ik_service.ros.capabilities.trajectory_actions import TrajectoryActions
from ik_service.ros.capabilities.trajectory_goals import smooth_slopes, trajectory_from
from ik_service.ros.motion.parameters import REPLACE_GOALS, TRAJECTORY_ACTION

SCALING = 0.8

EVENT_QOS = {
    'reliable': QoSProfile(depth=1),
    'best effort': QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT),
}


@pytest.fixture(scope='module')
def shared_cell(shared_bench):
    """A node and a simulated arm, and clients of the node's actions."""
    return Cell(shared_bench), Player(shared_bench)


@pytest.fixture
def cell(shared_cell):
    """The shared node and arm; the arm rests in READY, whatever tests did before."""
    cell, player = shared_cell
    rest_at(cell, player, READY)
    return cell


@pytest.fixture
def player(shared_cell):
    """Clients of the actions of the shared node."""
    return shared_cell[1]


def commanded(cell):
    return np.array([cell.positions(command) for command in cell.commands.messages])


def stays_on_its_way(cell):
    """
    Check that all commands are on the straight line, and within the limits.

    How near is checked more strictly in motion/test_playback.py.
    """
    keeps_the_bounds(cell)
    assert distance_from_line(commanded(cell), READY, AWAY).max() < 1e-3


def keeps_the_bounds(cell):
    """Check all commands since the arm was in READY."""
    cell.assert_commands_keep_the_bounds(SCALING)
    assert_gentle(cell, SCALING)


def test_the_arm_moves_along_the_trajectory_and_tells_where_it_is(cell, player):
    # As the example of UR's driver sends them.
    fine = [JointTolerance(name=name, position=0.01, velocity=0.01) for name in NAMES]
    goal = player.follow(smooth(), goal_tolerance=fine)
    end, result = goal.result()
    assert (end, result.error_code) == ('succeeded', 0), result.error_string
    stays_on_its_way(cell)
    cell.wait_for_end(AWAY)
    times = [
        f.desired.time_from_start.sec + 1e-9 * f.desired.time_from_start.nanosec
        for f in goal.feedback
    ]
    assert times == sorted(times)
    for feedback in goal.feedback:
        assert tuple(feedback.joint_names) == NAMES
        q, actual = np.array(feedback.desired.positions), np.array(feedback.actual.positions)
        assert distance_from_line(q, READY, AWAY).max() < 1e-6
        np.testing.assert_allclose(feedback.error.positions, q - actual, atol=1e-12)
        assert 0 <= feedback.index < 30


def test_execute_trajectory_succeeds_as_move_group_does(cell, player):
    goal = player.execute(smooth())
    end, result = goal.result()
    assert (end, result.error_code.val) == ('succeeded', MoveItErrorCodes.SUCCESS)
    goal.had_states('MONITOR', 'IDLE')
    stays_on_its_way(cell)


def test_a_hand_opens_and_its_limits_count(cell, player):
    names = ['panda_finger_joint1']
    end, result = player.execute(message([1.0], [[0.04]], names=names)).result()
    assert (end, result.error_code.val) == ('succeeded', MoveItErrorCodes.SUCCESS)

    def fingers(state):
        at = dict(zip(state.name, state.position, strict=True))
        return at['panda_finger_joint1'], at['panda_finger_joint2']

    cell.states.wait(lambda state: np.allclose(fingers(state), 0.04, atol=1e-4))
    assert all(command.name == names for command in cell.commands.messages)
    end, result = player.execute(message([1.0], [[0.05]], names=names)).result()
    assert (end, result.error_code.val) == ('aborted', MoveItErrorCodes.INVALID_MOTION_PLAN)
    assert player.execute(message([1.0], [[0.0]], names=names)).result()[0] == 'succeeded'


@pytest.mark.parametrize('action', ['follow', 'execute'])
def test_a_cancellation_stops_the_arm_on_its_way(cell, player, action):
    goal = getattr(player, action)(smooth(seconds=4.0))
    cell.commands.wait(lambda command: np.abs(command.velocity).max() > 0.05)
    goal.cancel()
    end, result = goal.result()
    assert end == 'canceled'
    if action == 'execute':
        assert result.error_code.val == MoveItErrorCodes.PREEMPTED
    assert np.abs(cell.last_at_rest() - AWAY).max() > 0.01
    stays_on_its_way(cell)


@pytest.fixture
def no_replacing(cell):
    """Goals that replace none."""
    cell.bench.configure('ik_service', replace_goals=False)
    yield
    cell.bench.set_parameters('ik_service', replace_goals=True)


def test_a_second_client_and_targets_are_refused_while_a_trajectory_runs(
    cell, player, no_replacing
):
    first = player.follow(smooth(seconds=60.0))
    first.has_begun()
    for second, code in (
        (player.execute(smooth()), MoveItErrorCodes.CONTROL_FAILED),
        (player.follow(message([1.0], [READY])), -1),
    ):
        end, result = second.result()
        assert end == 'aborted'
        if code == -1:
            assert 'trajectory' in result.error_string
            assert 'cancel' in result.error_string
        else:
            assert result.error_code.val == code
    cell.send(cell.pose_beside_ready(0.0, 0.1, 0.0))
    cell.node.wait_for('target_pose ignored.*trajectory', 60.0)
    first.cancel()
    assert first.result()[0] == 'canceled', 'nothing else has ended it'
    stays_on_its_way(cell)


SIDEWAYS = READY + np.array([-0.3, 0.2, 0.3, 0.2, -0.2, 0.2, -0.3])


def test_a_goal_replaces_the_one_on_its_way_without_a_leap(cell, player):
    first = sent_until(
        lambda: any(np.abs(m.velocity).max() > 0.15 for m in cell.commands.messages[-1:]),
        lambda: player.follow(smooth(seconds=5.0)),
    )
    since = len(cell.commands)
    second = player.follow(stamped(message([3.0], [SIDEWAYS])))
    end, result = first.result()
    assert (end, result.error_code) == ('aborted', INVALID)
    assert 'a newer trajectory has replaced it' in result.error_string
    end, result = second.result()
    assert end == 'succeeded', result.error_string
    turn = cell.commands.messages[since : since + 100]
    assert all(any(command.velocity) for command in turn), 'stamped now, it goes on at once'
    keeps_the_bounds(cell)
    cell.wait_for_end(SIDEWAYS)


def test_a_bad_goal_replaces_nothing(cell, player):
    first = player.follow(smooth())
    cell.commands.wait(lambda command: np.abs(command.velocity).max() > 0.05)
    assert player.follow(message([0.1], [READY + 2.0])).result()[0] == 'aborted'
    assert first.result()[0] == 'succeeded'
    stays_on_its_way(cell)


def test_goals_that_come_faster_than_they_end_are_each_replaced(cell, player):
    """As of somebody who jogs by single points; the arm ends at the last one."""
    rng, sent = np.random.default_rng(3), []
    for seconds in (*[6.0] * 11, 1.0):
        q = READY + rng.uniform(-0.25, 0.25, 7)
        sent.append(player.execute(message([seconds], [q])))
        cell.commands.wait(lambda command: any(command.velocity), since=len(cell.commands))
    ends = [goal.result() for goal in sent]
    assert [end for end, _ in ends[:-1]] == ['aborted'] * 11
    assert {result.error_code.val for _, result in ends[:-1]} == {MoveItErrorCodes.PREEMPTED}
    assert ends[-1][0] == 'succeeded'
    keeps_the_bounds(cell)
    cell.wait_for_end(q)


def test_the_stop_service_ends_a_trajectory(cell, player):
    goal = player.follow(smooth(seconds=4.0))
    cell.commands.wait(lambda command: np.abs(command.velocity).max() > 0.05)
    cell.bench.call(Trigger, 'ik_service/stop', Trigger.Request())
    end, result = goal.result()
    assert end == 'aborted'
    assert 'stopped' in result.error_string
    cell.last_at_rest()
    keeps_the_bounds(cell)


@pytest.mark.parametrize(
    ('action', 'reliability'), [('follow', 'reliable'), ('execute', 'best effort')]
)
def test_the_stop_of_moveit_ends_a_trajectory_on_its_way(cell, player, action, reliability):
    events = cell.bench.node.create_publisher(
        String, 'trajectory_execution_event', EVENT_QOS[reliability]
    )
    until(lambda: events.get_subscription_count(), what='a subscription')
    goal = getattr(player, action)(smooth(seconds=4.0))
    cell.commands.wait(lambda command: np.abs(command.velocity).max() > 0.05)
    events.publish(String(data='stop'))
    end, result = goal.result()
    assert end == 'aborted'
    if action == 'execute':
        assert result.error_code.val == MoveItErrorCodes.PREEMPTED
        assert "'stop' on trajectory_execution_event" in result.error_code.message
    else:
        assert result.error_code == INVALID
        assert "'stop' on trajectory_execution_event" in result.error_string
    assert np.abs(cell.last_at_rest() - AWAY).max() > 0.01
    stays_on_its_way(cell)
    cell.bench.node.destroy_publisher(events)


def test_the_stop_of_moveit_stops_a_target_and_what_waits_for_its_stamp(cell, player):
    events = cell.bench.publisher(String, 'trajectory_execution_event', 1)
    cell.send(cell.pose_beside_ready(0.0, 0.2, 0.0))
    cell.commands.wait(lambda command: np.abs(command.velocity).max() > 0.05)
    events.publish(String(data='stop'))
    cell.node.wait_for('trajectory_execution_event: stop: stopping', 60.0)
    cell.commands.wait(lambda command: not any(command.velocity), since=len(cell.commands))
    cell.assert_commands_keep_the_bounds(SCALING)
    goal = player.execute(stamped(message([3.0], [READY]), 5.0))
    diagnostics = cell.bench.record(DiagnosticArray, 'diagnostics')
    status(diagnostics, 'motions', trajectory_on_its_way='execute_trajectory')
    events.publish(String(data='stop'))
    end, result = goal.result()
    assert (end, result.error_code.val) == ('aborted', MoveItErrorCodes.PREEMPTED)


def test_other_events_are_ignored_with_a_remark(cell, player):
    events = cell.bench.publisher(String, 'trajectory_execution_event', 1)
    goal = player.execute(smooth())
    cell.commands.wait(lambda command: np.abs(command.velocity).max() > 0.05)
    for word in ('Stop', 'pause'):
        events.publish(String(data=word))
        cell.node.wait_for(f"trajectory_execution_event '{word}' ignored; stop is known", 60.0)
    assert goal.result()[0] == 'succeeded'
    diagnostics = cell.bench.record(DiagnosticArray, 'diagnostics')
    status(
        diagnostics,
        'motions',
        trajectory_on_its_way='none',
        last_trajectory='execute_trajectory: the arm is at the end',
        trajectories_succeeded='[1-9]',
        stops_by_trajectory_execution_event='[0-9]',
        last_ignored_trajectory_execution_event="'pause' ignored",
    )


def beyond(change):
    """A smooth trajectory with one number changed."""
    trajectory = smooth()
    trajectory.points[15].positions[1] = change
    return trajectory


def with_stamp(seconds):
    trajectory = smooth()
    trajectory.header.stamp.sec = seconds
    return trajectory


def stamped(trajectory, ahead=0.0):
    at = time.time_ns() + round(ahead * 1e9)
    trajectory.header.stamp.sec, trajectory.header.stamp.nanosec = divmod(at, 1_000_000_000)
    return trajectory


def with_effort():
    trajectory = smooth()
    trajectory.points[2].effort = [1.0] * 7
    return trajectory


def moving_at_the_end():
    velocities = np.zeros((2, 7))
    velocities[1, 3] = 0.2
    return message([0.0, 2.0], [READY, AWAY], velocities)


INVALID, JOINTS, OLD = -1, -2, -3
BAD = [
    (JointTrajectory(joint_names=list(NAMES)), INVALID, 'no points'),
    (message([2.0], [READY + 0.2], names=['elbow', *NAMES[1:]]), JOINTS, "'elbow' is no joint"),
    (message([2.0], [READY[:6]], names=NAMES[:6]), JOINTS, 'panda_joint7 is missing'),
    (
        message([2.0], [[*READY, 0.0]], names=[*NAMES, 'panda_finger_joint2']),
        JOINTS,
        "'panda_finger_joint2' follows 'panda_finger_joint1' by itself",
    ),
    (message([2.0], [READY], names=[*NAMES[:6], NAMES[0]]), INVALID, 'twice'),
    (message([2.0], [READY[:6]]), INVALID, 'point 0: has 6 positions for 7 joints'),
    (message([2.0, 3.0], [READY, READY], [[0.0] * 6, []]), INVALID, 'point 0: has 6 velocities'),
    (message([2.0, 3.0], [READY, []]), INVALID, 'point 1: has no positions'),
    (message([0.0, 1.0, 1.0], [READY] * 3), INVALID, 'point 2: .* increase'),
    (beyond(np.nan), INVALID, "point 15, joint 'panda_joint2': .* nan"),
    (beyond(3.0), INVALID, "joint 'panda_joint2': the position 3 is beyond the limit"),
    (message([0.1], [AWAY]), INVALID, 'point 0, .*velocity .* between'),
    (smooth(AWAY, READY), INVALID, "point 0, joint 'panda_joint1': starts at 0.4"),
    (with_effort(), INVALID, 'point 2: contains efforts'),
    (moving_at_the_end(), INVALID, 'ends with the velocity'),
    (with_stamp(1000), OLD, 'by its stamp the trajectory ended'),
]


@pytest.mark.parametrize(('trajectory', 'code', 'text'), BAD, ids=[case[2] for case in BAD])
def test_bad_trajectories_move_nothing_and_say_why(cell, player, trajectory, code, text):
    end, result = player.follow(trajectory).result()
    assert (end, result.error_code) == ('aborted', code), result.error_string
    assert re.search(text, result.error_string), result.error_string
    end, result = player.execute(trajectory).result()
    assert (end, result.error_code.val) == ('aborted', MoveItErrorCodes.INVALID_MOTION_PLAN)
    assert not len(cell.commands)


def test_a_stamp_far_ahead_is_refused_with_a_hint_at_clocks(cell, player):
    end, result = player.follow(stamped(smooth(), 12.0)).result()
    assert (end, result.error_code) == ('aborted', INVALID)
    reason = 'begins in 1[12].* s, more than the allowed 10 s; .* clocks'
    assert re.search(reason, result.error_string)
    assert not len(cell.commands)


def tolerance(**values):
    return [JointTolerance(name=NAMES[0], **values)]


@pytest.mark.parametrize(
    ('fields', 'text'),
    [
        ({'path_tolerance': [JointTolerance(name='elbow', position=0.1)]}, "'elbow'.*no such"),
        ({'path_tolerance': 2 * tolerance(position=0.1)}, 'named twice'),
        ({'path_tolerance': tolerance(position=-2.0)}, r'position -2.0; above 0'),
        ({'goal_tolerance': tolerance(position=np.nan)}, 'position nan; above 0'),
        ({'goal_time_tolerance': duration(-1.0)}, 'goal_time_tolerance: -1 s'),
    ],
)
def test_bad_tolerances_move_nothing_and_say_why(cell, player, fields, text):
    end, result = player.follow(smooth(), **fields).result()
    assert (end, result.error_code) == ('aborted', INVALID)
    assert re.search(text, result.error_string), result.error_string
    assert not len(cell.commands)


def test_path_and_goal_tolerances_are_kept_or_the_goal_aborted(cell, player):
    """The arm lags behind its commands by more than the first tolerance, and never more."""
    end, result = player.follow(smooth(), path_tolerance=tolerance(position=1e-9)).result()
    assert (end, result.error_code) == ('aborted', -4)
    assert "joint 'panda_joint1' is" in result.error_string
    stays_on_its_way(cell)
    back = player.follow(
        message([2.0], [READY]),
        path_tolerance=tolerance(position=-1.0),
        goal_tolerance=tolerance(position=1e-12),
        goal_time_tolerance=duration(0.2),
    )
    end, result = back.result()
    assert (end, result.error_code) == ('aborted', -5)
    assert 'after the end' in result.error_string
    end, result = player.follow(smooth(), path_tolerance=tolerance(velocity=1e-9)).result()
    assert (end, result.error_code) == ('aborted', -4)
    assert re.search("joint 'panda_joint1' moves at .*, not at", result.error_string)


def test_joints_that_move_at_an_assumed_speed_are_named():
    base = joint_xml('<axis xyz="0 0 1"/>', 'planar', 'base', 'world', 'base')
    robot = Robot.from_urdf(robot_xml(base, joint_xml(), links=('world', 'base', 'arm')))
    assert assumed_speeds(robot.chain()).endswith('velocity limit: base/x, base/y, base/theta')
    assert assumed_speeds(robot.chain('base')) == ''


def test_several_degrees_of_freedom_are_refused(cell, player):
    goal = ExecuteTrajectory.Goal()
    goal.trajectory.joint_trajectory = smooth()
    goal.trajectory.multi_dof_joint_trajectory.joint_names = ['base']
    end, result = player.send(goal).result()
    assert (end, result.error_code.val) == ('aborted', MoveItErrorCodes.INVALID_MOTION_PLAN)
    assert 'multi_dof' in result.error_code.message
    assert not len(cell.commands)


# Cancellations that come as soon as a goal is accepted, before the node begins with it


@pytest.fixture
def actions(bench):
    """Both actions of a node that has no arm, in this process, and a client of them."""
    errors = []
    node = Node('actions', namespace=bench.namespace, context=bench.node.context)
    executor = MultiThreadedExecutor(4, context=bench.node.context)
    thread = threading.Thread(target=executor.spin, daemon=True)
    try:
        ticks = set()
        parts = SimpleNamespace(
            node=node,
            parameters={TRAJECTORY_ACTION: '', REPLACE_GOALS: True},
            followers=lambda: None,
            on_error=errors.append,
            ticks=ticks,
            note_goal=None,
        )
        TrajectoryActions(parts).start()
        executor.add_node(node)
        thread.start()
        yield ticks, Player(bench)
        until(lambda: not ticks, what='the end of the calls in every tick')
    finally:
        executor.shutdown()
        thread.join(60.0)
        node.destroy_node()
    assert not errors


@pytest.mark.parametrize('action', ['follow', 'execute'])
@pytest.mark.parametrize('moment', ['before', 'between'])
def test_one_that_comes_before_the_goal_begins_is_taken(actions, monkeypatch, action, moment):
    """The begin waits here until the goal is canceled: at first, or once rclpy has looked."""
    ticks, player = actions
    execute, update = ServerGoalHandle.execute, ServerGoalHandle._update_state
    beginning = set()  # threads

    def wait_and_execute(handle, *arguments):
        until(lambda: handle.is_cancel_requested, what='the cancellation')
        execute(handle, *arguments)

    def execute_noted(handle, *arguments):
        beginning.add(threading.get_ident())
        execute(handle, *arguments)

    def wait_and_update(handle, event):
        if threading.get_ident() in beginning:
            beginning.clear()
            until(lambda: handle.is_cancel_requested, what='the cancellation')
        update(handle, event)

    if moment == 'before':
        monkeypatch.setattr(ServerGoalHandle, 'execute', wait_and_execute)
    else:
        monkeypatch.setattr(ServerGoalHandle, 'execute', execute_noted)
        monkeypatch.setattr(ServerGoalHandle, '_update_state', wait_and_update)
    goal = getattr(player, action)(smooth(), hasty=True)
    assert goal.cancel_accepted()

    def ticked():
        for tick in tuple(ticks):
            tick(time.monotonic())
        return goal.ended

    until(ticked, what='the result')
    end, result = goal.result()
    assert end == 'canceled'
    if action == 'follow':
        assert result.error_string == 'it was canceled before it began'


@pytest.mark.parametrize('action', ['follow', 'execute'])
def test_the_arm_does_not_move_along_what_is_canceled_at_once(cell, player, action):
    for _ in range(25):
        goal = getattr(player, action)(smooth(seconds=10.0), hasty=True)
        assert goal.cancel_accepted()
        assert goal.result()[0] == 'canceled'
    moved = [np.abs(cell.positions(m) - READY).max() for m in cell.commands.messages]
    assert max(moved, default=0.0) < 0.05


# What goes wrong while a trajectory is played


def moving(cell, goal):
    """Wait until the arm moves along a trajectory."""
    cell.commands.wait(lambda command: np.abs(command.velocity).max() > 0.05)
    assert not goal.ended


def came_to_rest(cell):
    """Check that the last command rests on the way, and all of them keep the bounds."""
    cell.last_at_rest()
    assert distance_from_line(commanded(cell), READY, AWAY).max() < 1e-2
    assert np.abs(commanded(cell)[-1] - AWAY).max() > 1e-3
    keeps_the_bounds(cell)


def test_joint_states_that_stop_end_it(cell, player):
    goal = player.follow(smooth(seconds=6.0))
    moving(cell, goal)
    cell.bench.configure('ik_sim', **{'faults.lost_states': 1.0})
    end, result = goal.result()
    assert end == 'aborted'
    assert 'joint state' in result.error_string
    came_to_rest(cell)
    cell.bench.configure('ik_sim', **{'faults.lost_states': 0.0})
    go_to(player, READY)


def test_a_client_that_vanishes_leaves_the_arm_to_its_trajectory(cell):
    context = cell.bench.node.context
    node, executor = Node('other', namespace=cell.bench.namespace, context=context), None
    try:
        executor = SingleThreadedExecutor(context=context)
        executor.add_node(node)
        client = Player(cell.bench, node)
        goal = client.follow(smooth())
        until(lambda: executor.spin_once(0.02) or goal.feedback, what='feedback')
        assert not goal.ended
    finally:
        executor.shutdown()
        node.destroy_node()
    cell.wait_for_end(AWAY)
    keeps_the_bounds(cell)


def test_ten_thousand_points_are_played(cell, player):
    goal = player.follow(smooth(points=10_000))
    assert goal.accepted()
    assert goal.result(60.0)[0] == 'succeeded'
    cell.wait_for_end(AWAY)
    keeps_the_bounds(cell)


def test_each_of_many_goals_sent_at_once_has_its_result(cell, player):
    goals = [player.follow(message([1.0], [READY[:-1]])) for _ in range(100)]
    assert {goal.result()[0] for goal in goals} == {'aborted'}


def test_a_new_robot_description_and_the_end_of_the_node_end_it_at_rest(bench, panda_urdf):
    described = bench.node.create_publisher(String, 'robot_description', LATCHED)
    urdf = panda_urdf.read_text()
    described.publish(String(data=urdf))
    cell, player = Cell(bench, described=True), Player(bench)
    goal = player.follow(smooth(seconds=6.0))
    moving(cell, goal)
    described.publish(String(data=urdf.replace('<robot', '<!-- another --><robot', 1)))
    end, result = goal.result()
    assert (end, result.error_string) == ('aborted', 'the robot description is being replaced')
    came_to_rest(cell)
    cell.node.wait_for('the new robot description|other parameters', 60.0)
    go_to(player, READY)
    cell.commands.clear()
    goal = player.follow(smooth(seconds=6.0))
    moving(cell, goal)
    cell.node.send(signal.SIGINT)
    end, result = goal.result()
    assert (end, result.error_string) == ('aborted', 'the node ends')
    came_to_rest(cell)


TIMES = [0.0, 0.5, 1.3, 2.0, 2.4]


def points(seed=0):
    rng = np.random.default_rng(seed)
    return READY + np.cumsum(rng.uniform(-0.2, 0.2, (5, 7)), axis=0)


def test_velocities_that_are_missing_at_the_ends_are_0_and_the_others_stay():
    velocities = [[], *np.full((3, 7), 0.1), []]
    trajectory = trajectory_from(message(TIMES, points(), velocities))
    np.testing.assert_array_equal(trajectory.velocities[[0, -1]], 0.0)
    np.testing.assert_array_equal(trajectory.velocities[1:4], 0.1)


@pytest.mark.parametrize('seed', range(10))
def test_between_points_without_velocities_nothing_overshoots(seed):
    q = points(seed)
    velocities = [np.zeros(7), [], [], [], np.zeros(7)]
    trajectory = trajectory_from(message(TIMES, q, velocities))
    for i in range(4):
        low, high = np.minimum(q[i], q[i + 1]), np.maximum(q[i], q[i + 1])
        for t in np.linspace(TIMES[i], TIMES[i + 1], 30):
            there = trajectory.at(t)[0]
            assert (there >= low - 1e-9).all()
            assert (there <= high + 1e-9).all()


def test_on_a_straight_line_at_constant_speed_the_velocity_is_that():
    steps = np.array([0.5, 0.2, 1.0])
    q = np.cumsum(np.append(0.0, 0.3 * steps))[:, None]
    np.testing.assert_allclose(smooth_slopes(steps, q)[1:-1], 0.3)


def test_accelerations_in_some_points_do_not_count():
    trajectory = trajectory_from(
        message([0.0, 1.0], [READY, AWAY], np.zeros((2, 7)), [np.ones(7), []])
    )
    assert trajectory.accelerations is None


def test_efforts_count_only_where_they_are_not_0():
    zero = message([1.0], [READY])
    zero.points[0].effort = [0.0] * 7
    assert len(trajectory_from(zero)) == 1
    zero.points[0].effort = [0.0] * 6 + [float('nan')]
    with pytest.raises(TrajectoryError, match='efforts'):
        trajectory_from(zero)
