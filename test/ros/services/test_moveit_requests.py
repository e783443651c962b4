"""Requests as the clients of MoveIt send them, and what they are answered."""

from builtin_interfaces.msg import Duration
from geometry_msgs.msg import Transform
import numpy as np
import pytest
from support.chains import arm_path, pose_difference
from support.ros.cells import READY
from support.ros.servers import ik_request, panda_arm, refused, Server, solved, together, with_seed

from ik_service.arm.arm import ArmSettings
from ik_service.arm.loader import build_arm
from ik_service.kinematics.link_poses import link_poses
from ik_service.ros.node.parameter_table import GROUP_NAMES
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
TWO_SECONDS = Duration(sec=2)


class Rig:
    """Handlers of an arm that stands where it is measured."""

    def __init__(self, arm, measured):
        self.server = Server(arm)
        self.measured = dict.fromkeys(arm.robot.movable_joint_names, 0.0) | measured
        self.server.measured.update([*self.measured], [*self.measured.values()], now=0.0)

    def poses(self, **positions):
        return link_poses(self.server.arm.robot, {**self.measured, **positions})

    def solved(self, request, **wanted):
        """Check that a request is solved, and where links have to be."""
        found = solved(self.server.solve(request))
        assert sorted(found) == sorted(self.measured)
        at = self.poses(**found)
        for link, T in wanted.items():
            assert max(pose_difference(at[link], T)) <= 2e-5, link


@pytest.fixture
def panda():
    arm = panda_arm(group_names=tuple(GROUP_NAMES.default))
    names = arm.chain.joint_names
    rig = Rig(arm, dict(zip(names, READY, strict=True)))
    goal = [0.4, -0.3, 0.2, -1.9, 0.1, 1.8, 0.3]
    rig.goal = rig.poses(**dict(zip(names, goal, strict=True)))
    rig.names = names
    return rig


def test_requests_of_known_clients(panda):
    hand, flange = panda.goal['panda_hand_tcp'], panda.goal['panda_link8']
    base = 'panda_link0'

    # pymoveit2
    request = ik_request(hand, base, avoid_collisions=True, group_name='arm')
    request.ik_request.ik_link_name = 'panda_hand_tcp'
    request.ik_request.pose_stamped.header.stamp.sec = 7
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
    with_seed(request, panda.names, READY)
    panda.solved(request, panda_link8=flange)

    # ros2 service call: a pose with neither frame nor exact norm
    request = ik_request(hand, group_name='manipulator', timeout=TWO_SECONDS)
    request.ik_request.robot_state.is_diff = True
    orientation = request.ik_request.pose_stamped.pose.orientation
    for axis in 'xyzw':
        setattr(orientation, axis, round(0.99 * getattr(orientation, axis), 12))
    panda.solved(request, panda_hand_tcp=hand)
    answer = panda.server.solve(ik_request(hand, 'world'))
    refused(panda.server, answer, Code.FRAME_TRANSFORM_FAILURE, "'world'")

    # The frame of a link is where the arm is measured, wherever the seed is.
    request = ik_request(np.eye(4), 'panda_link8', group_name='panda_arm')
    with_seed(request, panda.names, [0.1, 0.2, 0.3, -1.0, 0.5, 1.0, 0.0])
    panda.solved(request, panda_link8=panda.poses()['panda_link8'])


def test_requests_for_two_arms():
    arm = build_arm(arm_path('upper_body'), ArmSettings(), srdf=SRDF)
    body = Rig(arm, {'left_elbow': 0.5, 'right_elbow': 0.7, 'waist_yaw': 0.1})
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
