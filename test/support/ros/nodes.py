"""Nodes under test and their diagnostics, and servers of IK services for clients under test."""

import math
import re

from geometry_msgs.msg import PoseStamped
from moveit_msgs.srv import GetCartesianPath, GetPositionFK, GetPositionIK
import numpy as np
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import JointState
from support.harness import PATIENCE, until
from support.ros.servers import PANDA, TIP
from trajectory_msgs.msg import JointTrajectoryPoint

from ik_service.ros.common.conversions import pose_from_matrix

NODE = 'ik_service.ros.node.main'
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
WAITING = 'waiting for a robot description'
STEADY = {'state_timeout': 1.5}
"""Parameters of a node that drops nothing where a busy machine stalls a process for 0.7 s."""


def start_panda(bench, **parameters):
    return bench.start(NODE, urdf=str(PANDA), tip_link=TIP, **{**STEADY, **parameters})


def ended(program, *sentences, code=2, timeout=60.0):
    """Wait until a program has ended by itself, with a code and sentences, but no traceback."""
    until(lambda: program.exit_code is not None, timeout, 'the end of the program')
    assert program.end() == code  # all of its output has come then
    for sentence in sentences:
        assert sentence in program.output
    assert 'Traceback' not in program.output, program.output


def ask(bench, request, timeout=PATIENCE):
    return bench.call(GetPositionIK, 'compute_ik', request, timeout)


def fk(bench, links, names, positions):
    request = GetPositionFK.Request(fk_link_names=links)
    request.robot_state.joint_state.name = list(names)
    request.robot_state.joint_state.position = [float(value) for value in positions]
    return bench.call(GetPositionFK, 'compute_fk', request)


def status(diagnostics, part, timeout=PATIENCE, **wanted):
    """Wait until a part of the diagnostics has certain values; return it."""

    def found(message):
        for entry in message.status:
            values = {value.key.replace(' ', '_'): value.value for value in entry.values}
            values['message'] = entry.message
            if entry.name == f'ik_service: {part}' and all(
                re.search(pattern, values.get(key, '')) for key, pattern in wanted.items()
            ):
                return entry
        return None

    return found(diagnostics.wait(found, timeout, since=len(diagnostics)))


class Arm:
    """An arm that publishes its joint states and obeys at once, inside the test."""

    def __init__(self, bench, names, q):
        self.names, self.q = list(names), [float(value) for value in q]
        self._publisher = bench.publisher(JointState, 'joint_states')
        self._timer = bench.node.create_timer(0.02, self.publish)
        bench.node.create_subscription(JointState, 'joint_command', self.obey, 10)

    def obey(self, command):
        self.q = list(command.position)

    def publish(self):
        self._publisher.publish(JointState(name=self.names, position=self.q))

    def vanish(self):
        self._timer.cancel()


def target(T, frame=''):
    message = PoseStamped(pose=pose_from_matrix(T))
    message.header.frame_id = frame
    return message


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
