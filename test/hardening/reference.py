"""Check of answers against the URDF, independent of the node's code."""

from __future__ import annotations

import math

from moveit_msgs.msg import MoveItErrorCodes as Code
import numpy as np
from support.chains import arm_path, pose_difference

from ik_service import Robot
from ik_service.kinematics.link_poses import link_poses

TOLERANCE = 2e-5
"""Pose error of a solution: the node's own tolerances of 1e-5 m and rad, and rounding."""

FAR = 1e6
"""Angle beyond which a request has to be refused [rad]."""

_FINGERS = {'panda_finger_joint1', 'panda_finger_joint2'}
LONGEST = 4000
"""Largest number of characters of a message."""


class Reference:
    """
    The robot, where its joints are measured to be, and judgements on answers.

    :param measured: positions by joint name [rad].
    :param moving: whether the arm moves, so that the measured positions say nothing.
    """

    def __init__(
        self, measured, moving=False, robot='panda', base='panda_link0', tip='panda_hand_tcp'
    ):
        self._moving = moving
        self.robot = Robot.from_urdf(arm_path(robot))
        self.base, self.tip = base, tip
        self.names = self.robot.movable_joint_names
        limits = (self.robot.joints[name].limits for name in self.names)
        rest = {name: min(max(0.0, limit.lower), limit.upper)
                for name, limit in zip(self.names, limits, strict=True)}  # fmt: skip
        self.measured = {**rest, **measured}

    def wrong_ik(self, request, answer):
        """Return what is wrong with an answer of compute_ik; None when nothing is."""
        wanted = request.ik_request
        fault = _wrong_code(answer)
        if fault or answer.error_code.val != Code.SUCCESS:
            return fault
        joints = answer.solution.joint_state
        if sorted(joints.name) != sorted(self.names) or len(joints.position) != len(joints.name):
            return f'SUCCESS with the joints {joints.name[:20]}'
        found = dict(zip(joints.name, joints.position, strict=True))
        for name, value in found.items():
            limit = self.robot.joints[name].limits
            if not limit.lower - 1e-9 <= value <= limit.upper + 1e-9:
                return f'SUCCESS with {name} at {value}, limits {limit.lower} … {limit.upper}'
        return self._misses(wanted, found) or _violates(wanted.constraints, found)

    def wrong_fk(self, request, answer):
        """Return what is wrong with an answer of compute_fk; None when nothing is."""
        fault = _wrong_code(answer)
        if fault or answer.error_code.val != Code.SUCCESS:
            return fault
        if list(answer.fk_link_names) != list(request.fk_link_names):
            return f'SUCCESS for other links: {answer.fk_link_names[:20]}'
        joints = request.robot_state.joint_state
        given = dict(zip(joints.name, joints.position, strict=True))
        used = self._joints_that_move(answer.fk_link_names)
        given = {n: v for n, v in given.items() if n in used or not math.isnan(v)}
        for name, value in given.items():
            if not abs(value) <= FAR and self.robot.joints[name].mimic is None:
                return f'SUCCESS with {name} at {value}'
        if self._moving and not self.measured.keys() - _FINGERS <= given.keys():
            return None
        poses = self._poses({**self.measured, **given})
        T_root_frame = self._poses(self.measured)[self._frame(request.header.frame_id)]
        for link, stamped in zip(answer.fk_link_names, answer.pose_stamped, strict=True):
            T = np.linalg.solve(T_root_frame, poses[link])
            error = max(pose_difference(T, matrix(stamped.pose)))
            if not error <= 1e-6:
                return f'SUCCESS, but {link} is off by {error:.2g} at {given}'
        return None

    def _misses(self, wanted, found):
        """Return how a solution misses its poses; None when it does not."""
        poses, links = wanted.pose_stamped_vector, wanted.ik_link_names
        tip = self._tip_of(wanted.group_name)
        tasks = [(wanted.ik_link_name, wanted.pose_stamped)]
        if len(poses) == 1:
            tasks = [(links[0] if links else '', poses[0])]
        elif poses:
            tasks = list(zip(links, poses, strict=True))
        at = self._poses(found)
        for link, stamped in tasks:
            frame = self._frame(stamped.header.frame_id)
            T_root_link = at[link or tip]
            if self._moving and frame != self.base:
                continue
            # A frame that moves is where it is measured, or at the seed: either may be meant.
            errors = [
                max(pose_difference(T_root_frame @ matrix(stamped.pose), T_root_link))
                for T_root_frame in self._places(frame, wanted.robot_state.joint_state)
            ]
            if not min(errors) <= TOLERANCE:
                return f'SUCCESS, but {link or tip} is off by {min(errors):.2g} in {frame!r}'
        return None

    def _tip_of(self, group):
        """Return the tip of a group: of a known name that of the arm's own configuration."""
        known = self.robot.groups.get(group)
        return known.tip_links[0] if known and known.tip_links else self.tip

    def _places(self, frame, seed):
        given = dict(zip(seed.name, seed.position, strict=True))
        inside = {
            name: min(max(value, self.robot.joints[name].limits.lower),
                      self.robot.joints[name].limits.upper)
            for name, value in given.items()
            if not math.isnan(value)  # of a joint beside the chain
        }  # fmt: skip
        given = {name: given[name] for name in inside}
        states = (self.measured, {**self.measured, **given}, {**self.measured, **inside})
        return [self._poses(state)[frame] for state in states]

    def _joints_that_move(self, links):
        """Names of the independent joints that the poses of links depend on."""
        ways = [self.robot.path(self.robot.root_link, link) for link in links]
        joints = {joint.name for way in ways for joint, _ in way if joint.movable}
        return {self.robot.resolve_mimic(name)[0] for name in joints}

    def _poses(self, state):
        """Poses of all links in the root's frame, joints that follow others being completed."""
        whole = dict(state)
        for name in self.names:
            source, multiplier, offset = self.robot.resolve_mimic(name)
            whole[name] = multiplier * state[source] + offset if source != name else state[name]
        return link_poses(self.robot, whole)

    def _frame(self, frame_id):
        return frame_id.lstrip('/') or self.robot.root_link


def _wrong_code(answer):
    """Return what is wrong with error code and message of an answer; None when nothing is."""
    if len(answer.error_code.message) > LONGEST:
        return f'a message of {len(answer.error_code.message)} characters'
    if answer.error_code.val == Code.FAILURE:
        return f'FAILURE: {answer.error_code.message}'
    return None


def _violates(constraints, found):
    """Return which constraint of its request a solution violates; None for none."""
    for constraint in constraints.joint_constraints:
        off = found[constraint.joint_name] - constraint.position
        if not -constraint.tolerance_below - 1e-6 <= off <= constraint.tolerance_above + 1e-6:
            return f'SUCCESS, but {constraint.joint_name} is {off:+.3g} from its constraint'
    kinds = ('position_constraints', 'orientation_constraints', 'visibility_constraints')
    if any(getattr(constraints, kind) for kind in kinds):
        return 'SUCCESS with constraints that were ignored'
    return None


def matrix(pose):
    """(4, 4) of a pose message; the quaternion may have any norm."""
    p, q = pose.position, pose.orientation
    quaternion = np.array([q.x, q.y, q.z, q.w])
    largest = np.abs(quaternion).max()
    quaternion = quaternion / largest if largest > 0 else quaternion
    x, y, z, w = quaternion / math.sqrt(float(quaternion @ quaternion) or 1.0)
    T = np.eye(4)
    T[:3, 3] = p.x, p.y, p.z
    T[:3, :3] = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return T
