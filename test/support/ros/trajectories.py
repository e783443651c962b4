"""Clients of the trajectory actions, and a stand-in for a controller's action."""

import gc
import threading
import time

from action_msgs.msg import GoalStatus
from builtin_interfaces.msg import Duration
from control_msgs.action import FollowJointTrajectory
from moveit_msgs.action import ExecuteTrajectory
import numpy as np
from rclpy.action import ActionClient, ActionServer, CancelResponse, GoalResponse
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.executors import MultiThreadedExecutor
from rclpy.node import Node
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger
from support.harness import PATIENCE, until
from support.paths import smooth_motion
from support.ros.cells import NAMES, RATE, READY, times_between, until_silent
from support.ros.messages import times_of
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

AWAY = READY + np.array([0.4, 0.3, -0.3, 0.3, 0.2, 0.3, 0.5])
"""The other end of the trajectories [rad]."""

ENDS = {
    GoalStatus.STATUS_SUCCEEDED: 'succeeded',
    GoalStatus.STATUS_CANCELED: 'canceled',
    GoalStatus.STATUS_ABORTED: 'aborted',
}


def duration(seconds):
    whole, rest = divmod(round(seconds * 1e9), 1_000_000_000)
    return Duration(sec=whole, nanosec=rest)


def message(times, positions, velocities=None, accelerations=None, names=NAMES):
    """A trajectory message; what is None stays empty."""
    columns = {'positions': positions, 'velocities': velocities, 'accelerations': accelerations}
    points = [
        JointTrajectoryPoint(
            time_from_start=duration(t),
            **{
                field: [float(value) for value in rows[i]]
                for field, rows in columns.items()
                if rows is not None
            },
        )
        for i, t in enumerate(times)
    ]
    return JointTrajectory(joint_names=list(names), points=points)


def smooth(begin=READY, end=AWAY, seconds=1.0, points=30):
    """A message of a smooth motion from rest to rest, with all derivatives."""
    return message(*smooth_motion(begin, end, seconds, points))


class SentGoal:
    """
    A goal that was sent, and what came back.

    :param hasty: whether it is canceled as soon as it is known that it is accepted.
    """

    def __init__(self, executor, client, goal, hasty=False):
        self.feedback = []
        self._hasty, self._cancellation = hasty, None
        self._executor = executor
        self._handle = self._result = None
        self._answered, self._ended = threading.Event(), threading.Event()
        # In the executor's thread: rclpy drops an answer that comes before it has noted the goal.
        executor.create_task(self._send, client, goal)

    def _send(self, client, goal):
        sending = client.send_goal_async(goal, lambda news: self.feedback.append(news.feedback))
        sending.add_done_callback(self._on_answer)

    def _on_answer(self, future):
        self._handle = future.result()
        if self._handle.accepted:
            if self._hasty:
                self._cancellation = self._handle.cancel_goal_async()
            self._handle.get_result_async().add_done_callback(self._on_result)
        self._answered.set()

    def _on_result(self, future):
        self._result = future.result()
        self._ended.set()

    def accepted(self, timeout=PATIENCE):
        assert self._answered.wait(timeout), 'no answer to the goal'
        return self._handle.accepted

    def cancel(self):
        """Ask for the cancellation."""
        assert self.accepted()
        self._executor.create_task(self._handle.cancel_goal_async)

    def cancel_accepted(self, timeout=PATIENCE):
        """Wait for the answer to the cancellation of a hasty goal; return whether it will be."""
        assert self.accepted()
        until(self._cancellation.done, timeout, 'an answer to the cancellation')
        return bool(self._cancellation.result().goals_canceling)

    @property
    def answered(self):
        return self._answered.is_set()

    @property
    def ended(self):
        return self._ended.is_set()

    @property
    def is_done(self):
        """Whether nothing more comes: it has ended or was refused."""
        return self.ended or (self.answered and not self._handle.accepted)

    def result(self, timeout=PATIENCE):
        """Wait for the end; return how it ended, and the result."""
        assert self.accepted()
        assert self._ended.wait(timeout), f'the goal has not ended, {len(self.feedback)} feedbacks'
        return ENDS[self._result.status], self._result.result

    def has_begun(self):
        """Wait until the trajectory is on its way."""
        until(lambda: len(self.feedback) >= 5, what='feedback')

    def had_states(self, *states):
        """Wait for the feedback of these states, which may come after the result."""
        until(lambda: [told.state for told in self.feedback] == [*states], what=f'{states}')


class _Kept(dict):
    """Callbacks of feedback, which rclpy would forget with the result: some comes after that."""

    def __delitem__(self, goal):
        pass


class Player:
    """
    Clients of both actions.

    :param node: a node other than that of the bench.
    """

    def __init__(self, bench, node=None):
        self._node = node or bench.node
        self._clients = {}

    def follow(self, trajectory, action='follow_joint_trajectory', hasty=False, **fields):
        goal = FollowJointTrajectory.Goal(trajectory=trajectory, **fields)
        return self._sent(self._client(FollowJointTrajectory, action), goal, hasty)

    def execute(self, trajectory, action='execute_trajectory', hasty=False):
        goal = ExecuteTrajectory.Goal()
        goal.trajectory.joint_trajectory = trajectory
        return self._sent(self._client(ExecuteTrajectory, action), goal, hasty)

    def send(self, goal):
        """Send a goal of either action."""
        if isinstance(goal, FollowJointTrajectory.Goal):
            return self._sent(self._client(FollowJointTrajectory, 'follow_joint_trajectory'), goal)
        return self._sent(self._client(ExecuteTrajectory, 'execute_trajectory'), goal)

    def _sent(self, client, goal, hasty=False):
        return SentGoal(self._node.executor, client, goal, hasty)

    def _client(self, kind, action):
        if action not in self._clients:
            # Deep enough that no answer is lost while this process is busy.
            deep = QoSProfile(depth=1000)
            self._clients[action] = ActionClient(
                self._node,
                kind,
                action,
                goal_service_qos_profile=deep,
                result_service_qos_profile=deep,
                cancel_service_qos_profile=deep,
            )
            self._clients[action]._feedback_callbacks = _Kept()
            assert self._clients[action].wait_for_server(PATIENCE), f'no action {action}'
        return self._clients[action]


def assert_gentle(cell, scaling, acceleration_time=0.2):
    """
    Check that the velocities of all commands so far change within the acceleration.

    They are within half of that of the mean speeds of the moves, to which the limit applies.
    """
    messages = cell.commands.messages
    velocities = np.array([m.velocity for m in messages])
    bound = cell.chain.velocity * scaling / acceleration_time
    times = times_between(messages, 1.0 / RATE)
    assert (np.abs(np.diff(velocities, axis=0)) <= 2.0 * bound * times[1:]).all()


def sent_until(condition, send):
    """Send a goal, again where a stalled node refuses it, until a condition holds; return it."""
    sent = []

    def holds():
        if not condition() and (not sent or sent[-1].is_done):
            sent.append(send())
        return condition()

    until(holds, what='an effect of the goal')
    return sent[-1]


def go_to(player, q, seconds=2.0):
    """Let the arm go to a posture; sent again, as a node that was stalled refuses it."""
    until(
        lambda: player.follow(message([seconds], [q])).result()[0] == 'succeeded',
        what='a trajectory to the posture',
    )


def rest_at(cell, player, q):
    """Stop the arm of a cell, bring it to a posture, and forget what was recorded."""
    cell.bench.call(Trigger, 'ik_service/stop', Trigger.Request())

    def is_there(state):
        return np.abs(cell.positions(state) - q).max() < 1e-4

    state = cell.states.next()
    if len(cell.commands) or not is_there(state):
        away = np.abs(cell.positions(state) - q) / cell.chain.velocity
        go_to(player, q, 0.5 + 2.0 * away.max())
        cell.states.wait(is_there, since=len(cell.states))
        until_silent(cell.commands, 0.1)  # some may be on their way
    cell.commands.clear()
    cell.states.clear()
    cell.start = q


def until_known(player, controller):
    """Wait until a node passes trajectories on to a controller, whose arm is in READY."""
    go_to(player, READY, 0.1)
    controller.goals.clear()


PERIOD = 0.02  # [s]


class StandInController:
    """
    A controller that accepts what the real one accepts, moves the arm, and publishes its states.

    It interpolates linearly, which is enough for its states to be on the way. ``rejects`` and
    ``fails`` change how it takes the next goals, ``refuses`` how it takes cancellations; while it
    ``lingers``, a goal that is canceled goes on, and while it ``replaces``, a newer one aborts
    that on its way; once it ``hurries``, goals are at their ends. It keeps results for so many
    seconds, takes ``thinks`` seconds to accept a goal, and ``tells`` that it is so far in it [s].
    The arm is measured ``sag`` [rad] beside where it is held.
    """

    def __init__(self, bench, names, q, action='arm_controller/follow_joint_trajectory', keeps=60):
        self.names, self.begun, self.ended = list(names), 0, 0
        self.begin_anew(q)
        context = bench.node.context
        self._states = bench.node.create_publisher(JointState, 'joint_states', 10)
        self._clock = bench.node.get_clock()
        self._timer = bench.node.create_timer(PERIOD, self._publish)
        self._node = Node('arm_controller', namespace=bench.namespace, context=context)
        group = ReentrantCallbackGroup()
        self._server = ActionServer(
            self._node,
            FollowJointTrajectory,
            action,
            execute_callback=self._execute,
            goal_callback=self._on_goal,
            cancel_callback=self._on_cancel,
            callback_group=group,
            result_timeout=keeps,
        )
        self._executor = MultiThreadedExecutor(3, context=context)
        self._executor.add_node(self._node)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._executor.spin, daemon=True)
        self._thread.start()

    def begin_anew(self, q):
        """Put the arm somewhere, and forget faults and goals, of which none is under way."""
        self.q, self.sag = np.array(q, dtype=float), 0.0
        self.rejects = self.refuses = self.lingers = self.replaces = self.hurries = False
        self.fails = None  # an error code and a text
        self.thinks, self.tells, self.asked = 0.0, 0.0, 0
        self.goals, self.lost, self.canceled, self.refused = [], [], 0, 0

    @property
    def vanished(self):
        return self._ended.is_set()

    def vanish(self):
        """End the controller, but not the joint states."""
        if not self._ended.is_set():
            self._ended.set()
            self._executor.shutdown()
            self._thread.join(5.0)
            self._executor._executor.shutdown()  # when its callbacks have ended
            self._server.destroy()
            self._node.destroy_node()
            # What rclpy could not end any more is told on stderr when it is collected: now, and
            # not in a later test that looks at that.
            self._executor = self._server = self._node = None
            gc.collect()

    def close(self):
        self.vanish()
        self._timer.cancel()

    def _publish(self):
        state = JointState(name=self.names, position=(self.q + self.sag).tolist())
        state.header.stamp = self._clock.now().to_msg()
        self._states.publish(state)

    def _on_goal(self, goal):
        self.asked += 1
        time.sleep(self.thinks)
        trajectory = goal.trajectory
        times = times_of(trajectory)
        sound = (
            sorted(trajectory.joint_names) == sorted(self.names)
            and len(times) > 0
            and (np.diff(times) > 0.0).all()
            and not any(trajectory.points[-1].velocities)
        )
        return GoalResponse.ACCEPT if sound and not self.rejects else GoalResponse.REJECT

    def _on_cancel(self, _):
        self.refused += self.refuses
        return CancelResponse.REJECT if self.refuses else CancelResponse.ACCEPT

    def lose_results(self):
        """Send no results from now on, as if they were lost on their way; return how to end it."""
        send = self._server._send_result_response
        self._server._send_result_response = lambda request, _: self.lost.append(request)
        return lambda: setattr(self._server, '_send_result_response', send)

    def _execute(self, handle):
        try:
            return self._played(handle)
        finally:
            self.ended += 1

    def _played(self, handle):
        trajectory = handle.request.trajectory
        self.begun += 1
        self.goals.append(handle.request)
        order = [trajectory.joint_names.index(name) for name in self.names]
        times = times_of(trajectory)
        rows = np.array([p.positions for p in trajectory.points])[:, order]
        times, rows = np.array([0.0, *times]), np.vstack([self.q, rows])
        keep = np.append(np.diff(times) > 0.0, True)
        times, rows = times[keep], rows[keep]
        result, begin = FollowJointTrajectory.Result(), time.monotonic()
        while not self._ended.is_set():
            t = np.inf if self.hurries else time.monotonic() - begin
            self.q = np.array([np.interp(t, times, column) for column in rows.T])
            feedback = FollowJointTrajectory.Feedback(joint_names=self.names)
            feedback.actual.positions = self.q.tolist()
            feedback.desired.time_from_start = duration(self.tells)
            handle.publish_feedback(feedback)
            if handle.is_cancel_requested and not self.lingers:
                self.canceled += 1
                handle.canceled()
                return result
            if self.replaces and handle.request is not self.goals[-1]:
                result.error_code = FollowJointTrajectory.Result.INVALID_GOAL
                result.error_string = 'Current goal preempted by new incoming action.'
                handle.abort()
                return result
            if self.fails is not None and t > 0.3:
                result.error_code, result.error_string = self.fails
                handle.abort()
                return result
            if t > times[-1]:
                result.error_string = 'Goal successfully reached!'
                handle.succeed()
                return result
            time.sleep(PERIOD)
        return result
