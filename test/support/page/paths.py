"""Services of the IK node for paths, in place of DDS: they answer when the test says so."""

from moveit_msgs.msg import RobotTrajectory
import numpy as np
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from ik_service.extras.viewer.link.path_link import ExecutionEnd, PathAnswer


def straight_answer(chain, *rows, fraction=1.0, reason=''):
    """An answer that goes through joint positions, one second each."""
    message = RobotTrajectory()
    joints = message.joint_trajectory = JointTrajectory(joint_names=list(chain.joint_names))
    for i, q in enumerate(rows):
        point = JointTrajectoryPoint(positions=np.asarray(q, dtype=float).tolist())
        point.time_from_start.sec = i
        joints.points.append(point)
    return PathAnswer(message, fraction, reason)


class FakeLink:
    """
    A link to a node that answers nothing, and keeps what it was asked, executed and canceled.

    :ivar plans: whether ``compute_cartesian_path`` is there; to be set, as ``executes``.
    """

    def __init__(self):
        self.plans = self.executes = True
        self.starts, self.paths, self.executed = [], [], []
        self.canceled, self.ends = 0, []

    def can_plan(self):
        return self.plans

    def can_execute(self):
        return self.executes

    def request_start(self, _chain, T_base_tip, _avoid_collisions, on_answer):
        self.starts.append((T_base_tip, on_answer))
        return True

    def request_path(self, _chain, start, waypoints, _settings, on_answer):
        self.paths.append((start, waypoints, on_answer))
        return True

    def execute(self, message, on_end):
        self.executed.append(message)
        self.ends.append(on_end)
        return self

    def cancel(self):
        self.canceled += 1

    @property
    def sent(self):
        return [message.joint_trajectory for message in self.executed]

    def end(self, is_success=True, is_canceled=False, reason=''):
        """End the last execution."""
        self.ends[-1](ExecutionEnd(is_success, is_canceled, reason))
