"""Check of answers against the URDF, independent of the node's code."""

import math

from geometry_msgs.msg import Pose
from moveit_msgs.msg import MoveItErrorCodes as Code
from moveit_msgs.srv import GetPositionIK
import numpy as np
from support.chains import arm_path, pose_difference

from ik_service import Robot
from ik_service.kinematics.link_poses import link_poses

_BOX, _SPHERE, _CYLINDER = 1, 2, 3

TOLERANCE = 2e-5
"""Pose error of a solution: the node's own tolerances of 1e-5 m and rad, and rounding."""

_CONTRADICTS = 1e-4
"""How far a pose may be outside its own tolerances, for what rounding makes of both."""

FAR = 1e6
"""Angle beyond which a request has to be refused [rad]."""

_FINGERS = {'panda_finger_joint1', 'panda_finger_joint2'}
LONGEST = 4000
"""Largest number of characters of a message."""


def outside_region(constraint, T_base_link, T_base_frame, matrix):
    """Return how far a point of a link is from the nearest of its regions [m]."""
    offset = constraint.target_point_offset
    point = T_base_link @ (offset.x, offset.y, offset.z, 1.0)
    region = constraint.constraint_region
    return min(
        _outside(shape, np.linalg.solve(T_base_frame @ matrix(pose), point)[:3])
        for shape, pose in zip(region.primitives, region.primitive_poses, strict=True)
    )


def outside_tolerances(constraint, T_base_link, T_base_frame, R_frame_target):
    """Return by how much the worst angle of a link exceeds its tolerance [rad]."""
    R = (T_base_frame[:3, :3] @ R_frame_target).T @ T_base_link[:3, :3]
    tolerances = [getattr(constraint, f'absolute_{axis}_axis_tolerance') for axis in 'xyz']
    limits = np.array([math.inf if limit >= math.pi else limit for limit in tolerances])
    triples = _euler_xyz(R) if constraint.parameterization == 0 else [_rotation_vector(R)]
    return min(max(0.0, (np.abs(angles) - limits).max()) for angles in triples)


def _outside(shape, point):
    if not np.isfinite(point).all():  # of a region beyond all numbers
        return math.inf
    sizes = np.array(shape.dimensions)
    if shape.type == _BOX:
        return float(np.linalg.norm(np.maximum(np.abs(point) - sizes[:3] / 2, 0.0)))
    if shape.type == _SPHERE:
        return max(0.0, float(np.linalg.norm(point)) - sizes[0])
    assert shape.type == _CYLINDER, f'SUCCESS with a shape of type {shape.type}'
    height, radius = sizes[:2]
    return math.hypot(
        max(0.0, abs(point[2]) - height / 2), max(0.0, math.hypot(*point[:2]) - radius)
    )


def _rotation_vector(R):
    axis = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    sine, cosine = np.linalg.norm(axis) / 2.0, (np.trace(R) - 1.0) / 2.0
    angle = math.atan2(sine, cosine)
    if sine > 1e-6:
        return axis * (angle / (2.0 * sine))
    if cosine > 0.0:
        return axis / 2.0
    return angle * np.sqrt(np.maximum((np.diag(R) + 1.0) / 2.0, 0.0))  # their signs do not count


def _euler_xyz(R):
    """Both triples a, b, c with R = Rx(a) Ry(b) Rz(c)."""
    b = math.asin(min(1.0, max(-1.0, R[0, 2])))
    triples = []
    for b_other, sign in ((b, 1.0), (math.copysign(math.pi, b) - b, -1.0)):
        a = math.atan2(-sign * R[1, 2], sign * R[2, 2])
        c = math.atan2(-sign * R[0, 1], sign * R[0, 0])
        triples.append(np.array([a, b_other, c]))
    return triples


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
        self.robot = Robot.from_urdf(arm_path(robot)) if isinstance(robot, str) else robot
        self.base, self.tip = base, tip
        self.other_link = self.robot.joints[self.robot.chain(base, tip).joint_names[3]].child
        self.names = self.robot.movable_joint_names
        limits = (self.robot.joints[name].limits for name in self.names)
        rest = {name: min(max(0.0, limit.lower), limit.upper)
                for name, limit in zip(self.names, limits, strict=True)}  # fmt: skip
        self.measured = {**rest, **measured}

    def wrong(self, request, answer):
        """Return what is wrong with an answer of either service; None when nothing is."""
        if isinstance(request, GetPositionIK.Request):
            return self.wrong_ik(request, answer)
        return self.wrong_fk(request, answer)

    def wrong_ik(self, request, answer):
        """Return what is wrong with an answer of compute_ik; None when nothing is."""
        wanted = request.ik_request
        fault = wrong_code(answer)
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
        return (
            self._misses(wanted, found)
            or _violates(wanted.constraints, found)
            or self._violates_links(wanted, found)
        )

    def wrong_fk(self, request, answer):
        """Return what is wrong with an answer of compute_fk; None when nothing is."""
        fault = wrong_code(answer)
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
        frame = self._frame(request.header.frame_id)
        all_given = self.measured.keys() - _FINGERS <= given.keys()
        if self._moving and (frame != self.base or not all_given):
            return None
        poses = self._poses({**self.measured, **given})
        # What is not measured is where the request puts it, in a frame too.
        fingers = {name: given[name] for name in _FINGERS & given.keys()}
        state = {**self.measured, **fingers}
        T_root_frame = self._poses(state)[frame]
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
        at, seed = self._poses(found), wanted.robot_state.joint_state
        placed = [link or tip for link, _ in tasks]
        for link, (_, stamped) in zip(placed, tasks, strict=True):
            frame = self._frame(stamped.header.frame_id)
            if self._moving and frame != self.base:
                continue
            # A frame that moves is where it is measured, or at the seed: either may be meant.
            places = self._places(frame, seed)
            if frame in placed and frame != link:  # relative to where that link will be
                places = [at[frame]]
            elif len(placed) > 1 or self._tips(wanted):  # the frame may be on another's arm
                places.append(at[frame])
            targets = [T_root_frame @ matrix(stamped.pose) for T_root_frame in places]
            fault = self._misses_one(link, at[link], targets, wanted)
            if fault:
                return f'{fault} in {frame!r}'
        return self._drops(placed, wanted, at)

    def _misses_one(self, link, T_root_link, targets, wanted):
        """Return how a link misses its pose; constraints on it may loosen that."""
        kinds = {
            kind: [c for c in constraints if self._attached(link, c.link_name)]
            for kind, constraints in _on_links(wanted.constraints)
        }
        errors = []
        for target in targets:
            distance, angle = pose_difference(target, T_root_link)
            distance = 0.0 if kinds['position'] else distance
            errors.append(max(distance, 0.0 if kinds['orientation'] else angle))
        if not min(errors) <= TOLERANCE:
            return f'SUCCESS, but {link} is off by {min(errors):.2g}'
        for kind, constraints in kinds.items():
            for constraint in constraints:
                beyond = min(
                    self._beyond(kind, constraint, target @ self._offset(link, constraint), wanted)
                    for target in targets
                )
                if not beyond <= _CONTRADICTS:
                    return f'SUCCESS, but the pose of {link} is {beyond:.2g} outside its {kind}'
        return None

    def _drops(self, placed, wanted, at):
        """Return which tip of the group that the request leaves out has moved; None for none."""
        for tip in self._tips(wanted):
            limited = [c.link_name for _, some in _on_links(wanted.constraints) for c in some]
            if any(self._attached(tip, link) for link in (*placed, *limited)):
                continue  # a constraint on a tip that is left out says how far it may move
            places = self._places(tip, wanted.robot_state.joint_state)
            error = min(max(pose_difference(T, at[tip])) for T in places)
            if not error <= TOLERANCE:
                return f'SUCCESS, but {tip} has moved by {error:.2g}'
        return None

    def _tips(self, wanted):
        """Tips of the group of a request, where it has several."""
        group = self.robot.groups.get(wanted.group_name)
        return group.tip_links if group is not None and len(group.tip_links) > 1 else ()

    def _violates_links(self, wanted, found):
        """Return which constraint on a link a solution violates; None for none."""
        if wanted.constraints.visibility_constraints:
            return 'SUCCESS with constraints that were ignored'
        if self._moving:
            return None
        at = self._poses(found)
        for kind, constraints in _on_links(wanted.constraints):
            for constraint in constraints:
                beyond = self._beyond(kind, constraint, at[constraint.link_name], wanted)
                if not beyond <= TOLERANCE:
                    return (
                        f'SUCCESS, but {constraint.link_name} is {beyond:.2g} outside its {kind}'
                    )
        return None

    def _beyond(self, kind, constraint, T_root_link, wanted):
        places = self._places(
            self._frame(constraint.header.frame_id), wanted.robot_state.joint_state
        )
        if kind == 'position':
            return min(outside_region(constraint, T_root_link, T, matrix) for T in places)
        R = matrix(Pose(orientation=constraint.orientation))[:3, :3]
        return min(outside_tolerances(constraint, T_root_link, T, R) for T in places)

    def _attached(self, link, other):
        return not any(joint.movable for joint, _ in self.robot.path(link, other))

    def _offset(self, link, constraint):
        """(4, 4) from a link to the one of a constraint that is attached to it."""
        poses = self._poses(self.measured)
        return np.linalg.solve(poses[link], poses[constraint.link_name])

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


def wrong_code(answer):
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
    return None


def _on_links(constraints):
    return (
        ('position', constraints.position_constraints),
        ('orientation', constraints.orientation_constraints),
    )


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
