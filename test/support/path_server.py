"""Server of paths over DDS, in place of the IK node: straight lines, timed at a constant speed."""

from __future__ import annotations

import threading
import time

from moveit_msgs.action import ExecuteTrajectory
from moveit_msgs.srv import GetCartesianPath
import numpy as np
from rclpy.action import ActionServer, CancelResponse
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.executors import MultiThreadedExecutor
from rclpy.node import Node
from sensor_msgs.msg import JointState

import ik_service as iks
from ik_service.ros.common.conversions import matrix_from_pose
from ik_service.viewer.link.trajectory_messages import read_trajectory, trajectory_message

SPEED = 0.1  # of the tip [m/s]
PERIOD = 0.01  # of the commands [s]


class PathServer:
    """
    Service ``compute_cartesian_path`` and action ``execute_trajectory``.

    :ivar requests: the requests for paths.
    :ivar executed: the trajectories that were executed.
    :ivar fraction: what part of a path it finds; to be set.
    :ivar message: what it says about a path; to be set.
    """

    def __init__(self, bench, chain):
        self.chain = chain
        self.requests, self.executed = [], []
        self.fraction, self.message = 1.0, ''
        self.node = Node('path_server', namespace=bench.namespace, context=bench.node.context)
        group = ReentrantCallbackGroup()
        self.node.create_service(
            GetCartesianPath, 'compute_cartesian_path', self._on_path, callback_group=group
        )
        self._action = ActionServer(
            self.node,
            ExecuteTrajectory,
            'execute_trajectory',
            self._execute,
            cancel_callback=lambda goal: CancelResponse.ACCEPT,
            callback_group=group,
        )
        self._commands = self.node.create_publisher(JointState, 'joint_command', 10)
        self._executor = MultiThreadedExecutor(3, context=bench.node.context)
        self._executor.add_node(self.node)
        self._thread = threading.Thread(target=self._executor.spin, daemon=True)
        self._thread.start()

    def close(self):
        self._executor.shutdown()
        self._thread.join(5.0)
        self._action.destroy()
        self.node.destroy_node()

    def _on_path(self, request, response):
        self.requests.append(request)
        state = request.start_state.joint_state
        start = np.array(
            [dict(zip(state.name, state.position))[n] for n in self.chain.joint_names]
        )
        corners = [self.chain.forward(start), *map(matrix_from_pose, request.waypoints)]
        poses = [corners[0]]
        for a, b in zip(corners, corners[1:]):
            length = np.linalg.norm((b - a)[:3, 3])
            for share in np.linspace(0, 1, max(2, int(length / request.max_step)) + 1)[1:]:
                T = b.copy()
                T[:3, 3] = a[:3, 3] + share * (b - a)[:3, 3]
                poses.append(T)
        poses = poses[: max(1, round(self.fraction * len(poses)))]
        q = iks.solve_path(self.chain, np.array(poses), seed=start).q
        steps = [np.linalg.norm((b - a)[:3, 3]) for a, b in zip(poses, poses[1:])]
        times = np.concatenate([[0.0], np.cumsum(np.maximum(steps, 1e-3)) / SPEED])
        found = iks.JointTrajectory(self.chain.joint_names, times[: len(q)], q)
        response.solution.joint_trajectory = trajectory_message(found)
        response.fraction = self.fraction
        response.error_code.val, response.error_code.message = 1, self.message
        return response

    def _execute(self, goal):
        trajectory = read_trajectory(goal.request.trajectory.joint_trajectory)
        self.executed.append(trajectory)
        result = ExecuteTrajectory.Result()
        began = time.monotonic()
        while True:
            t = time.monotonic() - began
            q = trajectory.at(t)[0].tolist()
            self._commands.publish(JointState(name=list(trajectory.joint_names), position=q))
            if goal.is_cancel_requested:
                goal.canceled()
                result.error_code.val, result.error_code.message = -7, 'cancelled on the way'
                return result
            if t >= trajectory.duration:
                goal.succeed()
                result.error_code.val = 1
                return result
            time.sleep(PERIOD)
