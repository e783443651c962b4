"""Servers of IK services, whose arm has one joint, which slides."""

import math

from moveit_msgs.srv import GetCartesianPath, GetPositionIK
import numpy as np
from trajectory_msgs.msg import JointTrajectoryPoint

SUCCESS, NO_SOLUTION = 1, -31


def poses(count):
    """Poses whose x says which they are."""
    T = np.tile(np.eye(4), (count, 1, 1))
    T[:, 0, 3] = np.arange(count)
    return T


class BatchServer:
    """
    A compute_ik_batch whose only joint stands where the pose says; ``odd`` changes responses.

    Poses at a negative x have no solution.
    """

    def __init__(self, bench, odd=lambda request, response: None):
        self.asked = []
        self._odd = odd
        self.service = bench.node.create_service(
            GetCartesianPath, 'compute_ik_batch', self._answer
        )

    def _answer(self, request, response):
        self.asked.append(request)
        places = [pose.position.x for pose in request.waypoints]
        outcomes = response.start_state.joint_state
        outcomes.name = ['' if x >= 0.0 else 'no way' for x in places]
        outcomes.effort = [float(SUCCESS if x >= 0.0 else NO_SOLUTION) for x in places]
        response.solution.joint_trajectory.joint_names = ['slide']
        rows = [x if x >= 0.0 else math.nan for x in places]
        response.solution.joint_trajectory.points = [JointTrajectoryPoint(positions=rows)]
        response.error_code.val = SUCCESS
        self._odd(request, response)
        return response


def single_server(bench):
    """A compute_ik, and nothing else, as move_group has one."""

    def answer(request, response):
        x = request.ik_request.pose_stamped.pose.position.x
        if x >= 0.0:
            response.solution.joint_state.name = ['slide']
            response.solution.joint_state.position = [x]
        response.error_code.val = SUCCESS if x >= 0.0 else NO_SOLUTION
        return response

    bench.node.create_service(GetPositionIK, 'compute_ik', answer)
