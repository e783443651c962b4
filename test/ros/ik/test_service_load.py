"""A thousand requests at once: all are answered, and commands continue."""

from __future__ import annotations

import re

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from geometry_msgs.msg import PoseStamped
from moveit_msgs.srv import GetPositionFK, GetPositionIK
from sensor_msgs.msg import JointState
from support.arm_helpers import ik_request, panda_arm, posture_of, reachable, TIP
from support.harness import until
from support.node_helpers import Arm, start_panda, target

from ik_service.ros.common.errors import ErrorCode
from ik_service.ros.common.qos import SERVICE_QOS

COUNT = 1000


def resident(node):
    """Memory of a process [MB]."""
    with open(f'/proc/{node.pid}/status') as file:
        return int(re.search(r'VmRSS:\s+(\d+)', file.read())[1]) / 1024


def answered(bench, service, name, request):
    """Send so many requests at once; return the codes of the answers that came."""
    client = bench.node.create_client(service, name, qos_profile=SERVICE_QOS)
    until(client.service_is_ready, what=name)
    bench.call(service, name, request)
    futures = [client.call_async(request) for _ in range(COUNT)]
    until(lambda: all(future.done() for future in futures), 60.0, f'{COUNT} answers of {name}')
    return [future.result().error_code.val for future in futures]


@pytest.mark.alone
@pytest.mark.slow
def test_a_thousand_requests_at_once_while_the_arm_moves(bench):
    arm = panda_arm()
    node = start_panda(bench, velocity_scaling=0.02)
    simulated = Arm(bench, arm.chain.joint_names, posture_of(arm, 1)[arm.indices])
    commands = bench.record(JointState, 'joint_command')
    bench.publisher(PoseStamped, 'target_pose').publish(target(reachable(arm, 2)))
    commands.wait()
    before = resident(node)
    solved = answered(bench, GetPositionIK, 'compute_ik', ik_request(reachable(arm, 3)))
    request = GetPositionFK.Request(fk_link_names=[TIP])
    placed = answered(bench, GetPositionFK, 'compute_fk', request)
    assert set(solved + placed) == {ErrorCode.SUCCESS}
    assert resident(node) < before + 50.0
    commands.next()
    q = np.array([message.position for message in commands.messages])
    at = np.array([m.header.stamp.sec + 1e-9 * m.header.stamp.nanosec for m in commands.messages])
    assert np.abs(np.diff(q, axis=0)).max() < 0.02 * arm.chain.velocity.max() * 0.02
    print(f'longest pause between two commands: {np.diff(at).max():.3f} s')
    assert np.diff(at).max() < 0.3, 'the commands had to wait'
    simulated.vanish()
    node.check()
