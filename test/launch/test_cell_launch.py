"""cell.launch.py: which processes there are for a cell, and two simulated arms that answer."""

import unittest

import pytest

pytest.importorskip('launch_ros.actions')
pytest.importorskip('launch_testing')
pytest.importorskip('moveit_msgs.srv')

from geometry_msgs.msg import PoseStamped
from launch import LaunchDescription
from launch_testing import post_shutdown_test
from launch_testing.actions import ReadyToTest
from launch_testing.asserts import assertExitCodes
from moveit_msgs.srv import GetPositionIK
from support.harness import START_TIMEOUT
from support.launched import client, launched
from support.ros.servers import solved


@pytest.mark.launch_test
def generate_test_description():
    # The example; robot_state_publisher is not installed everywhere.
    cell = launched('cell.launch.py', processes='one_per_arm', robot_state_publisher='false')
    return LaunchDescription([cell, ReadyToTest()])


class TestCell(unittest.TestCase):
    def test_an_arm_answers_in_the_world_and_in_the_frames_of_the_other_one(self):
        with client() as bench:
            for name in 'left', 'right':
                bench.service_client(GetPositionIK, f'/{name}/compute_ik', timeout=START_TIMEOUT)
            request = GetPositionIK.Request()
            pose = PoseStamped()
            pose.header.frame_id = 'world'
            at, turn = pose.pose.position, pose.pose.orientation
            at.y, at.z, turn.x, turn.w = -0.1, 0.4, 1.0, 0.0
            request.ik_request.pose_stamped = pose
            for name in 'left', 'right':
                solved(bench.call(GetPositionIK, f'/{name}/compute_ik', request))


@post_shutdown_test()
class TestEnd(unittest.TestCase):
    def test_there_is_a_process_for_each_arm_and_one_for_the_simulated_arms(self, proc_info):
        names = [name.rpartition('-')[0] for name in proc_info.process_names()]
        assert names == ['ik_cell'] * 3
        assertExitCodes(proc_info)
