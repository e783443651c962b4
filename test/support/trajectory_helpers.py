"""Trajectories of the Panda as messages, and clients of the actions that play them."""

from __future__ import annotations

import threading

from action_msgs.msg import GoalStatus
from builtin_interfaces.msg import Duration
from control_msgs.action import FollowJointTrajectory
from moveit_msgs.action import ExecuteTrajectory
import numpy as np
from rclpy.action import ActionClient
from rclpy.qos import QoSProfile
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from support.cell import NAMES, RATE, READY
from support.harness import until
from support.trajectories import smooth_motion

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
    columns = {
        'positions': positions,
        'velocities': velocities,
        'accelerations': accelerations,
    }
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


def smooth(begin=READY, end=AWAY, seconds=2.0, points=30):
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

    def accepted(self, timeout=10.0):
        assert self._answered.wait(timeout), 'no answer to the goal'
        return self._handle.accepted

    def cancel(self):
        """Ask for the cancellation."""
        assert self.accepted()
        self._executor.create_task(self._handle.cancel_goal_async)

    def cancel_accepted(self, timeout=10.0):
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

    def result(self, timeout=30.0):
        """Wait for the end; return how it ended, and the result."""
        assert self.accepted()
        assert self._ended.wait(timeout), f'the goal has not ended, {len(self.feedback)} feedbacks'
        return ENDS[self._result.status], self._result.result

    def has_begun(self):
        """Wait until the trajectory is on its way."""
        until(lambda: len(self.feedback) >= 5, what='feedback')


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
            assert self._clients[action].wait_for_server(20.0), f'no action {action}'
        return self._clients[action]


def assert_gentle(cell, scaling, acceleration_time=0.2):
    """
    Check that the velocities of all commands so far change within the acceleration.

    They are within half of that of the mean speeds of the moves, to which the limit applies.
    """
    messages = cell.commands.messages
    velocities = np.array([m.velocity for m in messages])
    bound = cell.chain.velocity * scaling / acceleration_time
    times = cell._times_between(messages, 1.0 / RATE)
    assert (np.abs(np.diff(velocities, axis=0)) <= 2.0 * bound * times[1:]).all()


def until_known(player, controller):
    """Wait until a node passes trajectories on to a controller, whose arm is in READY."""
    until(
        lambda: player.follow(message([0.5], [READY])).result()[0] == 'succeeded',
        20.0,
        'a trajectory through the controller',
    )
    controller.goals.clear()
