"""Stand-in of the action server of a real joint_trajectory_controller, with an arm behind it."""

from __future__ import annotations

import gc
import threading
import time

from control_msgs.action import FollowJointTrajectory
import numpy as np
from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.executors import MultiThreadedExecutor
from rclpy.node import Node
from sensor_msgs.msg import JointState

PERIOD = 0.02  # [s]


def times_of(trajectory):
    """Times of a message's points [s]."""
    return [p.time_from_start.sec + 1e-9 * p.time_from_start.nanosec for p in trajectory.points]


class StandInController:
    """
    A controller that accepts what the real one accepts, moves the arm, and publishes its states.

    It interpolates linearly, which is enough for its states to be on the way. ``rejects`` and
    ``fails`` change how it takes the next goals, ``refuses`` how it takes cancellations; while it
    ``lingers``, a goal that is canceled goes on, and while it ``replaces``, a newer one aborts
    that on its way. It keeps results for so many seconds.
    """

    def __init__(self, bench, names, q, action='arm_controller/follow_joint_trajectory', keeps=60):
        self.names, self.q = list(names), np.array(q, dtype=float)
        self.rejects = self.refuses = self.lingers = self.replaces = False
        self.fails = None  # an error code and a text
        self.goals, self.lost = [], []
        self.canceled = self.begun = self.ended = 0
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
        state = JointState(name=self.names, position=self.q.tolist())
        state.header.stamp = self._clock.now().to_msg()
        self._states.publish(state)

    def _on_goal(self, goal):
        trajectory = goal.trajectory
        times = [
            p.time_from_start.sec + 1e-9 * p.time_from_start.nanosec for p in trajectory.points
        ]
        sound = (
            sorted(trajectory.joint_names) == sorted(self.names)
            and len(times) > 0
            and (np.diff(times) > 0.0).all()
            and not any(trajectory.points[-1].velocities)
        )
        return GoalResponse.ACCEPT if sound and not self.rejects else GoalResponse.REJECT

    def _on_cancel(self, _):
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
        times = [
            p.time_from_start.sec + 1e-9 * p.time_from_start.nanosec for p in trajectory.points
        ]
        rows = np.array([p.positions for p in trajectory.points])[:, order]
        times, rows = np.array([0.0, *times]), np.vstack([self.q, rows])
        keep = np.append(np.diff(times) > 0.0, True)
        times, rows = times[keep], rows[keep]
        result, begin = FollowJointTrajectory.Result(), time.monotonic()
        while not self._ended.is_set():
            t = time.monotonic() - begin
            self.q = np.array([np.interp(t, times, column) for column in rows.T])
            feedback = FollowJointTrajectory.Feedback(joint_names=self.names)
            feedback.actual.positions = self.q.tolist()
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
