"""Requests as the clients of MoveIt send them, over real DDS, and what they are answered."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from builtin_interfaces.msg import Duration
from geometry_msgs.msg import Transform
from moveit_msgs.srv import GetPositionFK
from sensor_msgs.msg import JointState
from support.chains import arm_path, pose_difference
from support.harness import until
from support.ros.nodes import ask, NODE, start_panda
from support.ros.servers import ik_request, together, with_seed

from ik_service import Robot
from ik_service.kinematics.link_poses import link_poses
from ik_service.ros.requests.errors import ErrorCode as Code

LEFT, RIGHT = 'left_grip', 'right_grip'
SRDF = """
<robot name="upper_body">
  <virtual_joint name="floor" type="floating" parent_frame="odom" child_link="pelvis"/>
  <group name="left"><chain base_link="pelvis" tip_link="left_grip"/></group>
  <group name="right"><chain base_link="pelvis" tip_link="right_grip"/></group>
  <group name="both"><group name="left"/><group name="right"/></group>
</robot>
"""
HOME = (0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785)
TWO_SECONDS = Duration(sec=2)


class Rig:
    """A node, the model that its answers are judged by, and where its joints are measured."""

    def __init__(self, bench, robot, measured, **parameters):
        self.bench, self.robot = bench, robot
        self.node = bench.start(NODE, **parameters) if parameters else start_panda(bench)
        self.measured = dict.fromkeys(robot.movable_joint_names, 0.0) | measured
        states = bench.publisher(JointState, 'joint_states')
        message = JointState(name=list(self.measured), position=list(self.measured.values()))
        links = [robot.links[-1]]

        def known():
            states.publish(message)
            request = GetPositionFK.Request(fk_link_names=links)
            answer = bench.call(GetPositionFK, 'compute_fk', request)
            return 'neither measured' not in answer.error_code.message and len(answer.pose_stamped)

        until(known, what='the measured state')

    def poses(self, **positions):
        return link_poses(self.robot, {**self.measured, **positions})

    def solved(self, request, **wanted):
        """Check that a request is solved, and where links have to be; return the positions."""
        answer = ask(self.bench, request)
        assert answer.error_code.val == Code.SUCCESS, answer.error_code
        joints = answer.solution.joint_state
        assert sorted(joints.name) == sorted(self.robot.movable_joint_names)
        found = dict(zip(joints.name, joints.position, strict=True))
        at = self.poses(**found)
        for link, T in wanted.items():
            assert max(pose_difference(at[link], T)) <= 2e-5, link
        return found

    def refused(self, request, code, *words):
        answer = ask(self.bench, request)
        assert answer.error_code.val == code, answer.error_code
        assert bool(answer.solution.joint_state.name) == (code == Code.NO_IK_SOLUTION)
        for word in words:
            assert word in answer.error_code.message, answer.error_code.message

    def end(self):
        self.node.check()
        assert 'Traceback' not in self.node.output


@pytest.fixture
def panda(bench):
    robot = Robot.from_urdf(arm_path('panda'))
    names = [f'panda_joint{number}' for number in range(1, 8)]
    rig = Rig(bench, robot, dict(zip(names, HOME, strict=True)))
    rig.names = names
    goal = [0.4, -0.3, 0.2, -1.9, 0.1, 1.8, 0.3]
    rig.goal = rig.poses(**dict(zip(names, goal, strict=True)))
    yield rig
    rig.end()


def test_requests_of_known_clients(panda):
    hand, flange = panda.goal['panda_hand_tcp'], panda.goal['panda_link8']
    base = 'panda_link0'

    # pymoveit2
    request = ik_request(hand, base, avoid_collisions=True, group_name='arm')
    request.ik_request.ik_link_name = 'panda_hand_tcp'
    request.ik_request.pose_stamped.header.stamp = panda.bench.node.get_clock().now().to_msg()
    panda.solved(request, panda_hand_tcp=hand)

    # srv_kinematics_plugin: the full state as the seed, the tip of the group, no timeout
    request = ik_request(flange, base, group_name='panda_arm', avoid_collisions=True)
    request.ik_request.ik_link_name = 'panda_link8'
    state = with_seed(request, panda.measured, panda.measured.values()).ik_request.robot_state
    state.joint_state.header.frame_id = state.multi_dof_joint_state.header.frame_id = base
    panda.solved(request, panda_link8=flange)

    # One pose in the vector
    request = together({'panda_link8': flange}, group_name='panda_arm', timeout=TWO_SECONDS)
    panda.solved(request, panda_link8=flange)
    request.ik_request.ik_link_names = []  # then the group's tip, and not ik_link_name
    request.ik_request.ik_link_name = 'panda_link3'
    panda.solved(request, panda_link8=flange)

    # COMPAS FAB
    request = ik_request(flange, base, group_name='panda_arm', timeout=TWO_SECONDS)
    request.ik_request.robot_state.is_diff = True
    request.ik_request.avoid_collisions = True
    with_seed(request, panda.names, HOME)
    panda.solved(request, panda_link8=flange)

    # ros2 service call: a pose with neither frame nor exact norm
    request = ik_request(hand, group_name='manipulator', timeout=TWO_SECONDS)
    request.ik_request.robot_state.is_diff = True
    orientation = request.ik_request.pose_stamped.pose.orientation
    for axis in 'xyzw':
        setattr(orientation, axis, round(0.99 * getattr(orientation, axis), 12))
    panda.solved(request, panda_hand_tcp=hand)
    panda.refused(ik_request(hand, 'world'), Code.FRAME_TRANSFORM_FAILURE, "'world'")

    # The frame of a link is where the arm is measured, wherever the seed is.
    request = ik_request(np.eye(4), 'panda_link8', group_name='panda_arm')
    with_seed(request, panda.names, [0.1, 0.2, 0.3, -1.0, 0.5, 1.0, 0.0])
    panda.solved(request, panda_link8=panda.poses()['panda_link8'])


def test_requests_for_two_arms(bench):
    robot = Robot.from_urdf(arm_path('upper_body'))
    measured = {'left_elbow': 0.5, 'right_elbow': 0.7, 'waist_yaw': 0.1}
    body = Rig(
        bench, robot, measured, urdf=str(arm_path('upper_body')), robot_description_semantic=SRDF
    )
    goal = body.poses(left_elbow=0.9, right_elbow=0.4, waist_yaw=-0.2, left_shoulder_roll=0.3)
    left, right = goal[LEFT], goal[RIGHT]
    both = {'group_name': 'both', 'timeout': TWO_SECONDS}

    # srv_kinematics_plugin, where its group has several tips
    request = together({LEFT: left, RIGHT: right}, dict.fromkeys((LEFT, RIGHT), 'pelvis'), **both)
    with_seed(request, body.measured, body.measured.values())
    request.ik_request.avoid_collisions = True
    body.solved(request, left_grip=left, right_grip=right)

    # A virtual joint in the state says where the robot stands in the frame of its parent.
    T_odom_pelvis = np.eye(4)
    T_odom_pelvis[0, 3] = 2.0
    request = ik_request(T_odom_pelvis @ left, 'odom', group_name='left')
    state = request.ik_request.robot_state.multi_dof_joint_state
    state.joint_names, state.transforms = ['floor'], [Transform()]
    state.transforms[0].translation.x = 2.0
    body.solved(request, left_grip=left)
    body.end()
