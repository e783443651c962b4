"""Random requests for a body with two arms: groups, several poses, frames and constraints."""

from __future__ import annotations

from geometry_msgs.msg import PoseStamped
from moveit_msgs.srv import GetPositionIK
import numpy as np

from hardening.hostile_constraints import HostileConstraints
from hardening.hostile_requests import Hostile, NAMES
from ik_service.kinematics.link_poses import link_poses
from ik_service.ros.common.conversions import pose_from_matrix

LEFT, RIGHT = TIPS = ('left_grip', 'right_grip')
SRDF = """
<robot name="upper_body">
  <group name="left"><chain base_link="pelvis" tip_link="left_grip"/></group>
  <group name="right"><chain base_link="chest" tip_link="right_grip"/></group>
  <group name="both"><group name="left"/><group name="right"/></group>
</robot>
"""
_GROUPS = ('', 'left', 'right', 'both', 'both', 'both')
_LINKS = (LEFT, RIGHT, 'left_hand', 'right_forearm', 'left_forearm', 'head', 'chest', 'pelvis')


class HostileGroups(Hostile):
    """
    Seeded generator of requests with several poses and constraints.

    :param robot: the body, with the groups of :data:`SRDF`.
    """

    def __init__(self, robot, seed, huge=0.0):
        super().__init__(robot.tree('pelvis', TIPS), seed, huge)
        self._robot = robot
        self._joints = [*self._chain.joint_names, 'neck_yaw']
        self._constraints = HostileConstraints(
            self._rng, self.number, ('', '', '', '', 'pelvis', RIGHT, 'no such frame')
        )

    def ik(self):
        request = GetPositionIK.Request()
        wanted = request.ik_request
        wanted.group_name = self._one_of(_GROUPS)
        goal = self._goal()
        self._pose_links(wanted, goal)
        for _ in range(self._one_of((0, 0, 1, 1, 2))):
            link, kind = self._one_of(_LINKS), self._one_of(('position', 'orientation'))
            constraint = getattr(self._constraints, kind)(link, goal[link])
            getattr(wanted.constraints, f'{kind}_constraints').append(constraint)
        if self._rng.random() < 0.2:
            wanted.constraints.joint_constraints = [self._joint_constraint()]
        if self._rng.random() < 0.3:
            self._seed(wanted.robot_state.joint_state)
        if self._rng.random() < 0.3:
            twists = (self._twist_vector, self._twist_seed, self._twist_timeout, self._twist_names)
            self._one_of(twists)(wanted)
        return request

    def name(self):
        return self._one_of((*_LINKS, *_GROUPS, *NAMES))

    def _goal(self):
        q = self._rng.uniform(self._chain.lower, self._chain.upper)
        rest = dict.fromkeys(self._robot.movable_joint_names, 0.0)
        return link_poses(self._robot, rest | dict(zip(self._chain.joint_names, q, strict=True)))

    def _pose_links(self, wanted, goal):
        """Ask for the poses of one to three links, some in the frame of the other hand."""
        for link in self._one_of(((LEFT,), (RIGHT,), TIPS, TIPS, (RIGHT, LEFT), (LEFT, 'head'))):
            stamped = PoseStamped(pose=pose_from_matrix(goal[link]))
            if self._rng.random() < 0.2 and link == RIGHT:
                stamped.header.frame_id = LEFT
                stamped.pose = pose_from_matrix(np.linalg.solve(goal[LEFT], goal[link]))
            wanted.ik_link_names.append(link)
            wanted.pose_stamped_vector.append(stamped)

    def _twist_vector(self, wanted):
        kind = self._rng.integers(5)
        if kind == 0:
            self._twist_stamped(self._one_of(wanted.pose_stamped_vector))
        elif kind == 1:
            wanted.ik_link_names = [self.name() for _ in wanted.ik_link_names]
        elif kind == 2:
            wanted.ik_link_names = list(wanted.ik_link_names)[:-1]
        elif kind == 3:
            wanted.pose_stamped_vector = [PoseStamped()] * self._one_of((2, 65))
            wanted.ik_link_names = [f'link_{i}' for i in range(len(wanted.pose_stamped_vector))]
        else:
            wanted.ik_link_names = [wanted.ik_link_names[0]] * len(wanted.ik_link_names)
