"""A command that cannot be handed over: what the node says, and when."""

import os
from pathlib import Path

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped
import numpy as np
import pytest
from support.ros.cells import NAMES, READY
from support.ros.nodes import Arm, status
from support.ros.servers import PANDA, TIP

from ik_service.ros.common.conversions import pose_from_matrix

pytestmark = pytest.mark.dds

TESTS = Path(__file__).parents[2]


@pytest.mark.parametrize('how', ['locked', 'free'])
def test_a_hanging_middleware_is_told_on_stderr(bench, how):
    path = os.pathsep.join(map(str, (TESTS, TESTS.parent)))
    node = bench.start(
        'support.programs.hanging_node',
        environment={'PYTHONPATH': path, 'HANGS': how},
        urdf=str(PANDA),
        tip_link=TIP,
    )
    diagnostics = bench.record(DiagnosticArray, 'diagnostics')
    Arm(bench, NAMES, READY)
    status(diagnostics, 'following', joints_without_a_joint_state='none')
    target = PoseStamped(pose=pose_from_matrix(np.diag([1.0, -1.0, -1.0, 1.0])))
    target.header.frame_id, target.pose.position.x, target.pose.position.z = '', 0.5, 0.4
    bench.publisher(PoseStamped, 'target_pose').publish(target)
    if how == 'free':
        node.wait_for('the middleware did not accept a command for 0.', 20.0)
        node.wait_for('in publish', 5.0)
        node.wait_for('a command for [12].. s; it goes on now', 5.0)
        status(diagnostics, 'motions', stalls_of_the_commands='^1$')
    else:
        node.wait_for('ik_node: no thread has run for 1.* and no command was sent', 20.0)
        before = node.output.partition('ik_node: no thread has run')[0]
        assert 'in publish' in before
        assert 'hanging_node.py' in before
    node.wait_for('FASTDDS_BUILTIN_TRANSPORTS=UDPv4', 5.0)
