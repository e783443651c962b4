"""Random requests, and commands that move the arm, many with something wrong; repeatable."""

from copy import deepcopy
from importlib import import_module
import math

from control_msgs.action import FollowJointTrajectory
from control_msgs.msg import JointJog
from geometry_msgs.msg import PoseStamped, TwistStamped
from moveit_msgs.msg import JointConstraint, OrientationConstraint, PositionConstraint
from moveit_msgs.srv import GetCartesianPath, GetPositionFK, GetPositionIK
import numpy as np
from shape_msgs.msg import SolidPrimitive
from support.chains import rotation, transform
from support.ros.trajectories import smooth

from ik_service.kinematics.link_poses import link_poses
from ik_service.ros.common.conversions import pose_from_matrix

_ANGLES = (0.0, 0.05, 0.3, 1.0, 3.0, math.pi, 7.0, math.inf)
_SIZES = (0.02, 0.1, 0.3, 1.0)
_SHAPES = {SolidPrimitive.BOX: 3, SolidPrimitive.SPHERE: 1, SolidPrimitive.CYLINDER: 2}

NUMBERS = (
    math.nan, math.inf, -math.inf, 1.7e308, -1.7e308, 5e-324, -0.0, 1e100, 1e15, 1e9, -1e9,
    1e6, 1e-200, 3.2, 2.0 * math.pi, 100.0, 0.1, 1.0,
)  # fmt: skip
ODD_NAMES = (
    '', '/', '//', 'panda_link0', '/panda_link0', 'panda_link4', 'panda_hand', 'panda_link8',
    'panda_leftfinger', 'panda_joint1', 'panda_joint7', 'panda_finger_joint1', 'manipulator',
    'panda_arm', 'no such name', 'Ünïcödé ☃ \U0001f9be', 'two\nlines', '%s %n {0}', "'; --",
    '../../../etc/passwd', 'x' * 5000, '\x1b[31m', ' panda_link0', 'PANDA_LINK0', '\u202e\u0301',
)  # fmt: skip
HUGE = 10_000_000
_VALUES = {
    'boolean': (False, True),
    'octet': (b'\0', b'\xff'),
    'double': NUMBERS,
    'float': (math.nan, math.inf, -1.0, 0.0, 3e38),
}
_INTEGERS = (-(2**63), -1, 0, 1, 2, 3, 999_999_999, 10**9, 2**63 - 1)
_LENGTHS = (0, 1, 2, 3, 65, 1000)

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
_LIMITED = ('panda_hand_tcp', 'panda_hand_tcp', 'panda_link8', 'panda_link4', '')


class Spoiler:
    """Seeded maker of faults in messages of any type, at any depth."""

    def __init__(self, seed):
        self._rng = np.random.default_rng(seed)

    def spoil(self, message, most=1):
        """Make up to so many fields wrong: numbers, names, truth values, or lists."""
        for _ in range(self._rng.integers(1, most + 1)):
            self._spoil_one(message)

    def number(self):
        return self.one_of(NUMBERS)

    def name(self):
        return self.one_of(ODD_NAMES)

    def one_of(self, values):
        return values[int(self._rng.integers(len(values)))]

    def _spoil_one(self, message):
        field, kind = self.one_of([*message.get_fields_and_field_types().items()])
        value = getattr(message, field)
        if kind.startswith('sequence<'):
            item, _, most = kind[9:-1].partition(', ')
            spoilt = self._spoilt_list(list(value), item)
            setattr(message, field, spoilt[: int(most)] if most else spoilt)
        elif kind.endswith(']'):
            value[int(self._rng.integers(len(value)))] = self._wrong(kind.partition('[')[0])
        elif '/' in kind:
            self._spoil_one(value)
        else:
            setattr(message, field, self._wrong(kind))

    def _wrong(self, kind):
        """Return a value of a basic type, or a message with a fault."""
        if '/' in kind:
            package, name = kind.split('/')
            made = getattr(import_module(f'{package}.msg'), name)()
            self._spoil_one(made)
            return made
        if kind.startswith('string'):
            return self.name()
        if kind in _VALUES:
            return self.one_of(_VALUES[kind])
        ends = np.iinfo(getattr(np, kind))
        return min(max(self.one_of(_INTEGERS), ends.min), ends.max)

    def _spoilt_list(self, values, kind):
        """Return a list with an item that is wrong, or items that are too few or too many."""
        how = self._rng.integers(6) if values else 5
        place = int(self._rng.integers(len(values))) if values else 0
        if how < 2 and '/' in kind:
            values[place] = deepcopy(values[place])
            self._spoil_one(values[place])
        elif how < 2:
            values[place] = self._wrong(kind)
        elif how == 2:
            values = [values[i] for i in self._rng.permutation(len(values))]
        elif how == 3:
            del values[place:]
        elif how == 4:
            values = [values[place]] * self.one_of((*_LENGTHS, len(values)))
        else:
            values.append(self._wrong(kind))
        return values


class HostileConstraints(Spoiler):
    """
    Maker of constraints, most of which the goal itself meets.

    :param frames: frames that constraints may be given in; empty for the base.
    """

    frames = ('',)

    def position(self, link, T):
        """A region about where a link is at the goal."""
        made = PositionConstraint(link_name=link, weight=1.0)
        offset = self._rng.uniform(-0.1, 0.1, 3) if self._rng.random() < 0.5 else np.zeros(3)
        made.target_point_offset.x, made.target_point_offset.y, made.target_point_offset.z = offset
        made.header.frame_id = self.one_of(self.frames)
        region = made.constraint_region
        for _ in range(self.one_of((1, 1, 1, 2, 3))):
            shape, pose = self._shape(T[:3, :3] @ offset + T[:3, 3])
            region.primitives.append(shape)
            region.primitive_poses.append(pose)
        return made

    def orientation(self, link, T):
        """Tolerances about how a link is turned at the goal, or nearly so."""
        axis, angle = self._rng.normal(size=3), self.one_of((0.0, 0.0, 0.02, 0.2, 2.0))
        made = OrientationConstraint(link_name=link, weight=1.0)
        made.orientation = pose_from_matrix(
            transform(T[:3, :3] @ rotation(axis, angle))
        ).orientation
        made.header.frame_id = self.one_of(self.frames)
        made.parameterization = self.one_of((0, 1))
        for axis in 'xyz':
            setattr(made, f'absolute_{axis}_axis_tolerance', self.one_of(_ANGLES))
        return made

    def joint(self, joints):
        """A range of a joint."""
        return JointConstraint(
            joint_name=self.one_of(joints), position=float(self._rng.uniform(-1.5, 1.5)),
            tolerance_above=1.0, tolerance_below=1.0, weight=1.0,
        )  # fmt: skip

    def _shape(self, point):
        """A shape that holds a point, most of the time, turned at random."""
        kind, size = self.one_of([*_SHAPES]), self.one_of(_SIZES)
        R = rotation(self._rng.normal(size=3), self._rng.uniform(-3, 3))
        away = self._rng.normal(size=3) * size * self.one_of((0.0, 0.1, 0.1, 2.0))
        shape = SolidPrimitive(type=kind, dimensions=[size] * _SHAPES[kind])
        return shape, pose_from_matrix(transform(R, point + away))


class Hostile(HostileConstraints):
    """
    Seeded generator of requests, most of them with something wrong.

    :param huge: share of the requests with a text of ten million characters, or 10,000 links.
    """

    def __init__(self, chain, seed, huge=0.0):
        super().__init__(seed)
        self._chain, self._huge = chain, huge
        self._joints = [*chain.joint_names, 'panda_finger_joint1', 'panda_finger_joint2']

    def ik(self):
        """A request of compute_ik."""
        request = GetPositionIK.Request()
        wanted = request.ik_request
        wanted.pose_stamped, T = self._stamped()
        if self._rng.random() < 0.3:
            self._seed(wanted.robot_state.joint_state)
        if self._rng.random() < 0.3:
            self._constrain(wanted.constraints, T)
        if self._rng.random() < 0.1:
            wanted.pose_stamped_vector = [self._stamped()[0] for _ in range(self.one_of((1, 2)))]
            wanted.ik_link_names = list(_LIMITED[1 : 1 + self.one_of((0, 1, 2))])
        if self._rng.random() < 0.8:
            self.spoil(wanted, most=3)
        if self._rng.random() < self._huge:
            wanted.pose_stamped.header.frame_id = 'h' * HUGE
        return request

    def fk(self):
        """A request of compute_fk."""
        request = GetPositionFK.Request()
        links = ('panda_hand_tcp', 'panda_link3', 'panda_leftfinger', 'panda_link0')
        request.fk_link_names = list(links[: self._rng.integers(1, len(links) + 1)])
        self._seed(request.robot_state.joint_state)
        if self._rng.random() < 0.6:
            self.spoil(request, most=2)
        if self._rng.random() < self._huge:
            request.fk_link_names = ['panda_link3'] * 10_000
        return request

    def target(self):
        """A message for target_pose."""
        stamped, _ = self._stamped()
        if self._rng.random() < 0.5:
            self.spoil(stamped)
        return stamped

    def _stamped(self):
        """Return the pose of a random posture and its matrix; some quaternions are no unit."""
        T = self._chain.forward(self._rng.uniform(self._chain.lower, self._chain.upper))
        stamped = PoseStamped(pose=pose_from_matrix(T))
        stamped.header.frame_id = 'panda_link0'
        if self._rng.random() < 0.1:
            factor = self.one_of((0.0, 1e-200, 1e200, -1.0, 1e-3, 7.0))
            turn = stamped.pose.orientation
            turn.x, turn.y, turn.z, turn.w = (factor * a for a in (turn.x, turn.y, turn.z, turn.w))
        return stamped, T

    def _seed(self, joints):
        joints.name = list(self._chain.joint_names)
        joints.position = self._rng.uniform(self._chain.lower, self._chain.upper).tolist()

    def _constrain(self, constraints, T):
        link, kind = self.one_of(_LIMITED), self._rng.integers(3)
        if kind == 0:
            constraints.position_constraints = [self.position(link, T)]
        elif kind == 1:
            constraints.orientation_constraints = [self.orientation(link, T)]
        else:
            several = range(self.one_of((1, 1, 2, 9)))
            constraints.joint_constraints = [self.joint(self._joints) for _ in several]


class HostileGroups(Hostile):
    """
    Seeded generator of requests with several poses and constraints.

    :param robot: the body, with the groups of :data:`SRDF`.
    """

    frames = ('', '', '', '', 'pelvis', RIGHT, 'no such frame')

    def __init__(self, robot, seed, huge=0.0):
        super().__init__(robot.tree('pelvis', TIPS), seed, huge)
        self._robot = robot
        self._joints = [*self._chain.joint_names, 'neck_yaw']

    def ik(self):
        request = GetPositionIK.Request()
        wanted = request.ik_request
        wanted.group_name = self.one_of(_GROUPS)
        goal = self._goal()
        self._pose_links(wanted, goal)
        for _ in range(self.one_of((0, 0, 1, 1, 2))):
            link, kind = self.one_of(_LINKS), self.one_of(('position', 'orientation'))
            constraint = getattr(self, kind)(link, goal[link])
            getattr(wanted.constraints, f'{kind}_constraints').append(constraint)
        if self._rng.random() < 0.2:
            wanted.constraints.joint_constraints = [self.joint(self._joints)]
        if self._rng.random() < 0.3:
            self._seed(wanted.robot_state.joint_state)
        if self._rng.random() < 0.4:
            self.spoil(wanted)
        return request

    def name(self):
        return self.one_of((*_LINKS, *_GROUPS, *ODD_NAMES))

    def _goal(self):
        q = self._rng.uniform(self._chain.lower, self._chain.upper)
        rest = dict.fromkeys(self._robot.movable_joint_names, 0.0)
        return link_poses(self._robot, rest | dict(zip(self._chain.joint_names, q, strict=True)))

    def _pose_links(self, wanted, goal):
        """Ask for the poses of one to three links, some in the frame of the other hand."""
        for link in self.one_of(((LEFT,), (RIGHT,), TIPS, TIPS, (RIGHT, LEFT), (LEFT, 'head'))):
            stamped = PoseStamped(pose=pose_from_matrix(goal[link]))
            if self._rng.random() < 0.2 and link == RIGHT:
                stamped.header.frame_id = LEFT
                stamped.pose = pose_from_matrix(np.linalg.solve(goal[LEFT], goal[link]))
            wanted.ik_link_names.append(link)
            wanted.pose_stamped_vector.append(stamped)


class HostileMotions(Hostile):
    """Seeded generator of Servo's commands, of trajectories, and of requests for paths."""

    def twist(self, now):
        """Return a message for ``delta_twist_cmds`` or ``target_twist``."""
        message = TwistStamped()
        for three in (message.twist.linear, message.twist.angular):
            three.x, three.y, three.z = self._rng.uniform(-1.0, 1.0, 3).tolist()
        return self._headed(message, now)

    def jog(self, now):
        """Return a message for ``delta_joint_cmds``."""
        chosen = self._rng.permutation(self._joints)[: int(self._rng.integers(0, 5))]
        speeds = self._rng.uniform(-1.0, 1.0, len(chosen)).tolist()
        return self._headed(JointJog(joint_names=chosen.tolist(), velocities=speeds), now)

    def pose(self, now):
        """Return a message for ``pose_target_cmds``."""
        message = self.target()
        if self._rng.random() < 0.9:
            message.header.stamp = now
        return message

    def command_type(self):
        """Return a number for ``switch_command_type``."""
        return self._wrong('int8')

    def trajectory(self, q):
        """
        Return a trajectory, half of them good.

        :param q: (n,) where the arm is [rad].
        """
        way = self._rng.uniform(-0.3, 0.3, len(q))
        end = np.clip(q + way, self._chain.lower + 0.05, self._chain.upper - 0.05)
        made = smooth(q, end, float(self.one_of((1.0, 2.0, 1e-3, 0.3))), 12)
        if self._rng.random() < 0.1:
            self._displace(made)
        elif self._rng.random() < 0.45:
            self.spoil(made)
        return made

    def goal(self, q):
        """
        Return a goal of ``follow_joint_trajectory``.

        :param q: (n,) where the arm is [rad].
        """
        goal = FollowJointTrajectory.Goal(trajectory=self.trajectory(q))
        if self._rng.random() < 0.3:
            self.spoil(goal, most=2)
        return goal

    def line(self):
        """Return a request of ``compute_cartesian_path``."""
        request = GetCartesianPath.Request(max_step=float(self.one_of((0.01, 0.02, 0.1))))
        start = self._rng.uniform(self._chain.lower, self._chain.upper)
        request.start_state.joint_state.name = list(self._chain.joint_names)
        request.start_state.joint_state.position = start.tolist()
        T = self._chain.forward(start)
        for _ in range(self.one_of((0, 1, 1, 2, 3))):
            T[:3, 3] += self._rng.uniform(-0.1, 0.1, 3)
            request.waypoints.append(pose_from_matrix(T))
        if self._rng.random() < 0.2:
            self._constrain(request.path_constraints, T)
        if self._rng.random() < 0.8:
            self.spoil(request, most=3)
        return request

    def _headed(self, message, now):
        """Return a message of now in some frame, a third of them with a fault."""
        message.header.stamp = now
        message.header.frame_id = self.one_of(('', 'panda_link0', 'panda_hand_tcp'))
        if self._rng.random() < 0.3:
            self.spoil(message)
        return message

    def _displace(self, made):
        """Begin somewhere else, or go outside of the limits."""
        points = made.points if self._rng.random() < 0.5 else made.points[-1:]
        for point in points:
            point.positions[int(self._rng.integers(len(point.positions)))] += self.one_of((1, 9))
