"""demo.launch.py with and without a namespace: an answer, a motion, and a clean end."""

from functools import cache
import unittest

import numpy as np
import pytest

pytest.importorskip('launch_ros.actions')
pytest.importorskip('launch_testing')
pytest.importorskip('moveit_msgs.srv')

from geometry_msgs.msg import PoseStamped
from launch import LaunchDescription
from launch_testing import parametrize, post_shutdown_test
from launch_testing.actions import ReadyToTest
from launch_testing.asserts import assertExitCodes
from moveit_msgs.msg import MoveItErrorCodes
from moveit_msgs.srv import GetPositionIK
from sensor_msgs.msg import JointState
from support.harness import START_TIMEOUT, until
from support.launched import client, is_installed, launched, SHARE

from ik_service import Robot

HAS_STATE_PUBLISHER = is_installed('robot_state_publisher', 'robot_state_publisher')
POSITIONS = ((0.45, 0.20, 0.50), (0.40, -0.25, 0.40))  # [m], the hand pointing down
TOLERANCE = 1e-3  # [m]


@pytest.mark.launch_test
@parametrize('namespace', ['', 'cell_1'])
def generate_test_description(namespace):
    demo = launched(
        'demo.launch.py',
        namespace=namespace,
        urdf=str(SHARE / 'urdf' / 'panda.urdf'),
        robot_state_publisher='true' if HAS_STATE_PUBLISHER else 'false',
        rviz='false',  # it needs a display
    )
    return LaunchDescription([demo, ReadyToTest()])


def absolute(namespace, name):
    return f'/{namespace}/{name}' if namespace else f'/{name}'


def pose(position):
    message = PoseStamped()
    message.header.frame_id = 'panda_link0'
    target, orientation = message.pose.position, message.pose.orientation
    target.x, target.y, target.z = position
    orientation.x, orientation.w = 1.0, 0.0
    return message


@cache
def panda():
    robot = Robot.from_urdf(SHARE / 'urdf' / 'panda.urdf')
    return robot.chain('panda_link0', 'panda_hand_tcp')


def tip_position(joint_state):
    """Return where the hand is [m], by our own forward kinematics of the URDF."""
    values = dict(zip(joint_state.name, joint_state.position, strict=True))
    return panda().forward(np.array([values[name] for name in panda().joint_names]))[:3, 3]


def is_at(goal, joint_state):
    return np.linalg.norm(tip_position(joint_state) - goal) < TOLERANCE


class TestDemo(unittest.TestCase):
    def test_compute_ik_answers(self, namespace):
        request = GetPositionIK.Request()
        request.ik_request.pose_stamped = pose(POSITIONS[0])
        service = absolute(namespace, 'compute_ik')
        with client() as bench:
            bench.service_client(GetPositionIK, service, timeout=START_TIMEOUT)
            answer = bench.call(GetPositionIK, service, request)
        assert answer.error_code.val == MoveItErrorCodes.SUCCESS, answer.error_code
        reached = tip_position(answer.solution.joint_state)
        np.testing.assert_allclose(reached, POSITIONS[0], atol=TOLERANCE)

    def test_the_arm_follows_the_target_pose(self, namespace):
        with client() as bench:
            service = absolute(namespace, 'compute_ik')
            bench.service_client(GetPositionIK, service, timeout=START_TIMEOUT)
            states = bench.record(JointState, absolute(namespace, 'joint_states'))
            targets = bench.publisher(PoseStamped, absolute(namespace, 'target_pose'))
            start = tip_position(states.wait(timeout=START_TIMEOUT))
            for position in POSITIONS:
                assert np.linalg.norm(start - position) > 0.05, 'no motion to see'

                def arrived(position=position):
                    targets.publish(pose(position))  # again, as a node that was stalled drops it
                    return is_at(position, states.next())

                until(arrived, what='arrival at the target', period=0.5)
                start = tip_position(states.next())

    @unittest.skipUnless(HAS_STATE_PUBLISHER, 'robot_state_publisher is not installed')
    def test_the_description_is_published(self, namespace):
        from rclpy.qos import DurabilityPolicy, QoSProfile
        from std_msgs.msg import String

        latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        with client() as bench:
            topic = absolute(namespace, 'robot_description')
            description = bench.record(String, topic, qos=latched).wait().data
        assert description == (SHARE / 'urdf' / 'panda.urdf').read_text(encoding='utf-8')


@post_shutdown_test()
class TestEnd(unittest.TestCase):
    def test_every_program_ends_cleanly(self, proc_info):
        names = {name.rpartition('-')[0] for name in proc_info.process_names()}
        expected = {'ik_node', 'ik_sim'}
        if HAS_STATE_PUBLISHER:
            expected.add('robot_state_publisher')
        assert names == expected
        assertExitCodes(proc_info)

    def test_no_program_printed_a_traceback(self, proc_output):
        text = ''.join(event.text.decode() for event in proc_output)
        assert 'Traceback' not in text
