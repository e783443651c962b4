"""Starting, calling and watching the IK node."""

from __future__ import annotations

import re

from geometry_msgs.msg import PoseStamped
from moveit_msgs.srv import GetPositionFK, GetPositionIK
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import JointState

from ik_service.ros.common.conversions import pose_from_matrix
from support.arm_helpers import PANDA, TIP

NODE = 'ik_service.ros.node.main'
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
WAITING = 'waiting for a robot description'


def start_panda(bench, **parameters):
    return bench.start(NODE, urdf=str(PANDA), tip_link=TIP, **parameters)


def ask(bench, request, timeout=10.0):
    return bench.call(GetPositionIK, 'compute_ik', request, timeout)


def fk(bench, links, names, positions):
    request = GetPositionFK.Request(fk_link_names=links)
    request.robot_state.joint_state.name = list(names)
    request.robot_state.joint_state.position = [float(value) for value in positions]
    return bench.call(GetPositionFK, 'compute_fk', request)


def status(diagnostics, part, timeout=10.0, **wanted):
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
