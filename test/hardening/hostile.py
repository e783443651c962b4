"""Random requests, and commands that move the arm, many with something wrong; repeatable."""

import math

from builtin_interfaces.msg import Duration
from control_msgs.action import FollowJointTrajectory
from control_msgs.msg import JointJog, JointTolerance
from geometry_msgs.msg import Pose, PoseStamped, TwistStamped
from moveit_msgs.msg import (
    AttachedCollisionObject,
    JointConstraint,
    OrientationConstraint,
    PositionConstraint,
    PositionIKRequest,
    VisibilityConstraint,
)
from moveit_msgs.srv import GetCartesianPath, GetPositionFK, GetPositionIK
import numpy as np
from shape_msgs.msg import Mesh, SolidPrimitive
from support.chains import rotation, transform
from support.ros.trajectories import duration, smooth

from ik_service.kinematics.link_poses import link_poses
from ik_service.ros.common.conversions import pose_from_matrix

_ANGLES = (0.0, 0.05, 0.3, 1.0, 3.0, math.pi, 7.0, math.inf)
_SIZES = (0.02, 0.1, 0.3, 1.0)
_SHAPES = {
    SolidPrimitive.BOX: 3,
    SolidPrimitive.SPHERE: 1,
    SolidPrimitive.CYLINDER: 2,
    SolidPrimitive.CONE: 2,
}

NUMBERS = (
    math.nan, math.inf, -math.inf, 1.7e308, -1.7e308, 5e-324, -0.0, 1e100, 1e15, 1e9, -1e9,
    1e6, 1e-200, 3.2, 2.0 * math.pi, 100.0,
)  # fmt: skip
ODD_NAMES = (
    '', '/', '//', 'panda_link0', '/panda_link0', 'panda_link4', 'panda_hand', 'panda_link8',
    'panda_leftfinger', 'panda_joint1', 'panda_joint7', 'panda_finger_joint1', 'manipulator',
    'panda_arm', 'no such name', 'Ünïcödé ☃ \U0001f9be', 'two\nlines', '%s %n {0}', "'; --",
    '../../../etc/passwd', 'x' * 5000, '\x1b[31m', ' panda_link0', 'PANDA_LINK0', '\u202e\u0301',
)  # fmt: skip
HUGE = 10_000_000
_SECONDS = (-(2**31), -1, 0, 1, 10**9, 10**9 + 1, 2**31 - 1)
_NANOSECONDS = (0, 1, 999_999_999, 10**9, 2**32 - 1)

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


class HostileConstraints:
    """
    Maker of constraints, most of which the goal itself meets.

    :param number: returns a hostile number.
    :param frames: frames that constraints may be given in; empty for the base.
    """

    def __init__(self, generator, number, frames=('',)):
        self._rng, self._number, self._frames = generator, number, frames

    def position(self, link, T):
        """A region about where a link is at the goal."""
        made = PositionConstraint(link_name=link, weight=1.0)
        offset = self._rng.uniform(-0.1, 0.1, 3) if self._rng.random() < 0.5 else np.zeros(3)
        made.target_point_offset.x, made.target_point_offset.y, made.target_point_offset.z = offset
        made.header.frame_id = self._one_of(self._frames)
        region = made.constraint_region
        for _ in range(self._one_of((1, 1, 1, 2, 3))):
            shape, pose = self._shape(T[:3, :3] @ offset + T[:3, 3])
            region.primitives.append(shape)
            region.primitive_poses.append(pose)
        self._spoil_position(made)
        return made

    def orientation(self, link, T):
        """Tolerances about how a link is turned at the goal, or nearly so."""
        axis, angle = self._rng.normal(size=3), self._one_of((0.0, 0.0, 0.02, 0.2, 2.0))
        made = OrientationConstraint(link_name=link, weight=1.0)
        made.orientation = pose_from_matrix(
            transform(T[:3, :3] @ rotation(axis, angle))
        ).orientation
        made.header.frame_id = self._one_of(self._frames)
        made.parameterization = self._one_of((0, 1))
        for axis in 'xyz':
            setattr(made, f'absolute_{axis}_axis_tolerance', self._one_of(_ANGLES))
        if self._rng.random() < 0.15:
            axis = self._one_of('xyz')
            setattr(made, f'absolute_{axis}_axis_tolerance', self._number())
        if self._rng.random() < 0.1:
            setattr(made.orientation, self._one_of('xyzw'), self._number())
        if self._rng.random() < 0.05:
            made.parameterization = self._one_of((2, 255))
        return made

    def _shape(self, point):
        """A shape that holds a point, most of the time, turned at random."""
        kind = self._one_of((1, 1, 2, 2, 3, 3, 4) if self._rng.random() < 0.1 else (1, 2, 3))
        size = self._one_of(_SIZES)
        R = rotation(self._rng.normal(size=3), self._rng.uniform(-3, 3))
        away = self._rng.normal(size=3) * size * self._one_of((0.0, 0.1, 0.1, 2.0))
        shape = SolidPrimitive(type=kind, dimensions=[size] * _SHAPES[kind])
        return shape, pose_from_matrix(transform(R, point + away))

    def _spoil_position(self, made):
        kind, region = self._rng.integers(24), made.constraint_region
        if kind == 0:
            region.primitives[0].dimensions = [self._number()] * 3
        elif kind == 1:
            region.primitives[0].dimensions = []
        elif kind == 2:
            region.primitive_poses = [Pose()] * 3
        elif kind == 3:
            made.target_point_offset.y = self._number()
        elif kind == 4:
            region.meshes = [Mesh()]
        elif kind == 5:
            setattr(region.primitive_poses[0].position, self._one_of('xyz'), self._number())
        elif kind == 6:
            setattr(region.primitive_poses[0].orientation, self._one_of('xyzw'), self._number())

    def _one_of(self, values):
        return values[int(self._rng.integers(len(values)))]


class Hostile:
    """
    Seeded generator of requests, most of them with something wrong.

    :param huge: share of the requests with a text of ten million characters, or 10,000 links.
    """

    def __init__(self, chain, seed, huge=0.0):
        self._chain, self._rng, self._huge = chain, np.random.default_rng(seed), huge
        self._joints = [*chain.joint_names, 'panda_finger_joint1', 'panda_finger_joint2']
        self._constraints = HostileConstraints(self._rng, self.number)
        self._goal_pose = np.eye(4)

    def ik(self):
        """A request of compute_ik."""
        request = GetPositionIK.Request()
        wanted = request.ik_request
        wanted.pose_stamped = self._stamped()
        for _ in range(self._rng.integers(0, 4)):
            twist = self._one_of((
                self._twist_pose, self._twist_names, self._twist_seed, self._twist_timeout,
                self._twist_constraints, self._twist_poses, self._twist_rest,
            ))  # fmt: skip
            twist(wanted)
        if self._rng.random() < self._huge:
            wanted.pose_stamped.header.frame_id = 'h' * HUGE
        return request

    def fk(self):
        """A request of compute_fk."""
        request = GetPositionFK.Request()
        links = ('panda_hand_tcp', 'panda_link3', 'panda_leftfinger', 'panda_link0')
        request.fk_link_names = list(links[: self._rng.integers(1, len(links) + 1)])
        self._seed(request.robot_state.joint_state)
        for _ in range(self._rng.integers(0, 3)):
            kind = self._rng.integers(4)
            if kind == 0:
                request.header.frame_id = self._one_of(ODD_NAMES)
            elif kind == 1:
                self._spoil(request.robot_state.joint_state)
            elif kind == 2:
                count = self._one_of((0, 1, 3, 100))
                request.fk_link_names = [self._one_of(ODD_NAMES) for _ in range(count)]
            else:
                self._stamp(request.header.stamp)
        if self._rng.random() < self._huge:
            request.fk_link_names = ['panda_link3'] * 10_000
        return request

    def target(self):
        """A message for target_pose."""
        stamped = self._stamped()
        if self._rng.random() < 0.5:
            self._twist_stamped(stamped)
        return stamped

    def number(self):
        return float(self._one_of(NUMBERS))

    def name(self):
        return self._one_of(ODD_NAMES)

    # The good parts

    def _stamped(self):
        q = self._rng.uniform(self._chain.lower, self._chain.upper)
        self._goal_pose = self._chain.forward(q)
        stamped = PoseStamped(pose=pose_from_matrix(self._goal_pose))
        stamped.header.frame_id = 'panda_link0'
        return stamped

    def _seed(self, joints):
        joints.name = list(self._chain.joint_names)
        joints.position = self._rng.uniform(self._chain.lower, self._chain.upper).tolist()

    # What is made wrong

    def _one_of(self, values):
        return values[int(self._rng.integers(len(values)))]

    def _twist_pose(self, wanted):
        self._twist_stamped(wanted.pose_stamped)

    def _twist_stamped(self, stamped):
        kind, pose = self._rng.integers(5), stamped.pose
        if kind == 0:
            setattr(pose.position, self._one_of('xyz'), self.number())
        elif kind == 1:
            setattr(pose.orientation, self._one_of('xyzw'), self.number())
        elif kind == 2:
            factor = self._one_of((0.0, 1e-200, 1e200, -1.0, 1e-3, 7.0))
            for axis in 'xyzw':
                setattr(pose.orientation, axis, factor * getattr(pose.orientation, axis))
        elif kind == 3:
            stamped.header.frame_id = self.name()
        else:
            self._stamp(stamped.header.stamp)

    def _stamp(self, stamp):
        stamp.sec, stamp.nanosec = self._one_of(_SECONDS), self._one_of(_NANOSECONDS)

    def _twist_names(self, wanted):
        setattr(wanted, self._one_of(('group_name', 'ik_link_name')), self.name())

    def _twist_seed(self, wanted):
        self._seed(wanted.robot_state.joint_state)
        self._spoil(wanted.robot_state.joint_state)
        wanted.robot_state.is_diff = bool(self._rng.integers(2))

    def _spoil(self, joints):
        kind = self._rng.integers(6)
        if kind == 0 and len(joints.position):
            joints.position[int(self._rng.integers(len(joints.position)))] = self.number()
        elif kind == 1:
            joints.name = [*joints.name, self._one_of(self._joints)]
            joints.position = [*joints.position, self.number()]
        elif kind == 2:
            joints.position = list(joints.position)[: int(self._rng.integers(4))]
        elif kind == 3:
            joints.name = [*joints.name, self.name()]
            joints.position = [*joints.position, 0.1]
        elif kind == 4:
            joints.name = list(self._rng.permutation(joints.name))
        else:
            joints.velocity = [self.number()] * int(self._rng.integers(20))
            joints.effort = [self.number()] * int(self._rng.integers(20))

    def _twist_timeout(self, wanted):
        wanted.timeout = Duration(sec=self._one_of(_SECONDS), nanosec=self._one_of(_NANOSECONDS))

    def _twist_constraints(self, wanted):
        kind, limits = self._rng.integers(7), self._constraints
        link = self._one_of(('panda_hand_tcp', 'panda_hand_tcp', 'panda_link8', 'panda_link4', ''))
        if kind == 0:
            wanted.constraints.position_constraints = [limits.position(link, self._goal_pose)]
        elif kind in (1, 6):
            made = limits.orientation(link, self._goal_pose)
            wanted.constraints.orientation_constraints = [made]
        elif kind == 2:
            wanted.constraints.visibility_constraints = [VisibilityConstraint()]
        else:
            wanted.constraints.joint_constraints = [
                self._joint_constraint() for _ in range(self._one_of((1, 1, 2, 9)))
            ]

    def _joint_constraint(self):
        constraint = JointConstraint(
            joint_name=self._one_of(self._joints), position=float(self._rng.uniform(-1.5, 1.5)),
            tolerance_above=1.0, tolerance_below=1.0, weight=1.0,
        )  # fmt: skip
        if self._rng.random() < 0.4:
            part = self._one_of(('position', 'tolerance_above', 'tolerance_below', 'weight'))
            setattr(constraint, part, self.number())
        if self._rng.random() < 0.2:
            constraint.joint_name = self.name()
        return constraint

    def _twist_poses(self, wanted):
        count, links = self._one_of((1, 1, 2, 3)), self._one_of((0, 1, 2, 3))
        wanted.pose_stamped_vector = [self._stamped() for _ in range(count)]
        wanted.ik_link_names = [
            self._one_of(('panda_hand_tcp', 'panda_link8', 'panda_link5', 'no such link'))
            for _ in range(links)
        ]

    def _twist_rest(self, wanted):
        wanted.avoid_collisions = bool(self._rng.integers(2))
        state = wanted.robot_state
        if self._rng.random() < 0.3:
            state.attached_collision_objects = [AttachedCollisionObject(link_name=self.name())]
        if self._rng.random() < 0.3:
            state.multi_dof_joint_state.joint_names = [self.name()]


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
        return self._one_of((*_LINKS, *_GROUPS, *ODD_NAMES))

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


_COMMAND_TYPES = (-128, -1, 0, 1, 2, 3, 127)
_COUNTS = (0, 1, 2, 6, 8, 1000)


class HostileMotions(Hostile):
    """Seeded generator of Servo's commands, of trajectories, and of requests for paths."""

    def twist(self, now):
        """Return a message for ``delta_twist_cmds`` or ``target_twist``."""
        message = TwistStamped()
        self._head(message, now)
        values = self._rng.uniform(-1.0, 1.0, 6)
        if self._rng.random() < 0.2:
            values[int(self._rng.integers(6))] = self.number()
        for part, three in (('linear', values[:3]), ('angular', values[3:])):
            for axis, value in zip('xyz', three, strict=True):
                setattr(getattr(message.twist, part), axis, float(value))
        return message

    def jog(self, now):
        """Return a message for ``delta_joint_cmds``."""
        message = JointJog()
        self._head(message, now)
        chosen = self._rng.permutation(self._joints)[: int(self._rng.integers(0, 5))]
        message.joint_names = [str(name) for name in chosen]
        message.velocities = self._rng.uniform(-1.0, 1.0, len(chosen)).tolist()
        kind = self._rng.integers(10)
        if kind == 0:
            message.joint_names = [*message.joint_names, self.name()]
        elif kind == 1:
            message.velocities = [self.number()] * len(chosen)
        elif kind == 2:
            message.velocities = [0.1] * int(self._one_of(_COUNTS))
        elif kind == 3:
            message.displacements = [self.number()] * int(self._one_of(_COUNTS))
        elif kind == 4:
            message.duration = self.number()
        elif kind == 5:
            message.joint_names = [self._joints[0]] * len(chosen)
        return message

    def pose(self, now):
        """Return a message for ``pose_target_cmds``."""
        message = self.target()
        if self._rng.random() < 0.9:
            message.header.stamp = now
        return message

    def command_type(self):
        """Return a number for ``switch_command_type``."""
        return self._one_of(_COMMAND_TYPES)

    def trajectory(self, q):
        """
        Return a trajectory, half of them good.

        :param q: (n,) where the arm is [rad].
        """
        way = self._rng.uniform(-0.3, 0.3, len(q))
        end = np.clip(q + way, self._chain.lower + 0.05, self._chain.upper - 0.05)
        made = smooth(q, end, float(self._one_of((1.0, 2.0, 1e-3, 0.3))), 12)
        if self._rng.random() < 0.5:
            self._spoil_trajectory(made)
        return made

    def goal(self, q):
        """
        Return a goal of ``follow_joint_trajectory``.

        :param q: (n,) where the arm is [rad].
        """
        goal = FollowJointTrajectory.Goal(trajectory=self.trajectory(q))
        if self._rng.random() < 0.2:
            bounds = [
                JointTolerance(name=self._one_of(self._joints), position=self.number())
                for _ in range(self._one_of((1, 2, 100)))
            ]
            setattr(goal, self._one_of(('path_tolerance', 'goal_tolerance')), bounds)
        if self._rng.random() < 0.1:
            goal.goal_time_tolerance = self._duration()
        return goal

    def line(self):
        """Return a request of ``compute_cartesian_path``."""
        request = GetCartesianPath.Request(max_step=float(self._one_of((0.01, 0.02, 0.1))))
        start = self._rng.uniform(self._chain.lower, self._chain.upper)
        request.start_state.joint_state.name = list(self._chain.joint_names)
        request.start_state.joint_state.position = start.tolist()
        T = self._chain.forward(start)
        for _ in range(self._one_of((0, 1, 1, 2, 3))):
            T[:3, 3] += self._rng.uniform(-0.1, 0.1, 3)
            request.waypoints.append(pose_from_matrix(T))
        for _ in range(self._rng.integers(0, 4)):
            spoil = self._one_of((
                self._spoil_numbers, self._spoil_names, self._spoil_start, self._spoil_points,
                self._constrain,
            ))  # fmt: skip
            spoil(request)
        return request

    # What is made wrong

    def _head(self, message, now):
        message.header.stamp = now
        message.header.frame_id = self._one_of(('', 'panda_link0', 'panda_hand_tcp'))
        if self._rng.random() < 0.1:
            message.header.frame_id = self.name()
        if self._rng.random() < 0.1:
            self._stamp(message.header.stamp)

    def _duration(self):
        return Duration(
            sec=self._one_of((-(2**31), -1, 0, 1, 2**31 - 1)), nanosec=self._one_of((0, 2**32 - 1))
        )

    def _spoil_trajectory(self, made):
        self._one_of((
            self._spoil_a_number, self._spoil_times, self._spoil_joints, self._spoil_lengths,
            self._spoil_place,
        ))(made)  # fmt: skip

    def _spoil_a_number(self, made):
        point = self._one_of(made.points)
        field = getattr(point, self._one_of(('positions', 'velocities', 'accelerations')))
        field[int(self._rng.integers(len(field)))] = self.number()

    def _spoil_times(self, made):
        kind = self._rng.integers(4)
        if kind == 0:
            self._one_of(made.points).time_from_start = self._duration()
        elif kind == 1:
            made.points.reverse()
        elif kind == 2:
            for point in made.points:
                point.time_from_start = duration(1.0)
        else:
            self._stamp(made.header.stamp)

    def _spoil_joints(self, made):
        kind = self._rng.integers(4)
        if kind == 0:
            made.joint_names = [*list(made.joint_names)[:-1], self.name()]
        elif kind == 1:
            made.joint_names = list(made.joint_names)[:3]
        elif kind == 2:
            made.joint_names = [str(name) for name in self._rng.permutation(made.joint_names)]
        else:
            made.joint_names = [made.joint_names[0]] * len(made.joint_names)

    def _spoil_lengths(self, made):
        kind = self._rng.integers(4)
        if kind == 0:
            made.points = made.points[: int(self._rng.integers(2))]
        elif kind == 1:
            made.points = [made.points[0]] * 10_000
        else:
            field = self._one_of(('positions', 'velocities', 'accelerations', 'effort'))
            setattr(self._one_of(made.points), field, [0.1] * int(self._one_of(_COUNTS)))

    def _spoil_place(self, made):
        """Begin somewhere else, or go outside of the limits."""
        points = made.points if self._rng.random() < 0.5 else made.points[-1:]
        for point in points:
            point.positions[int(self._rng.integers(len(point.positions)))] += self._one_of((1, 9))

    def _spoil_numbers(self, request):
        field = self._one_of((
            'max_step', 'jump_threshold', 'prismatic_jump_threshold', 'revolute_jump_threshold',
            'max_velocity_scaling_factor', 'max_acceleration_scaling_factor',
            'max_cartesian_speed',
        ))  # fmt: skip
        setattr(request, field, self._one_of((self.number(), 0.0, 0.1, 1.0, 1e-9)))

    def _spoil_names(self, request):
        field = self._one_of(('group_name', 'link_name', 'cartesian_speed_limited_link'))
        setattr(request, field, self.name())
        if self._rng.random() < 0.3:
            request.header.frame_id = self.name()
        if self._rng.random() < 0.3:
            self._stamp(request.header.stamp)

    def _spoil_start(self, request):
        self._spoil(request.start_state.joint_state)
        request.start_state.is_diff = bool(self._rng.integers(2))

    def _spoil_points(self, request):
        points = [self._stamped() for _ in range(self._one_of((1, 2, 3)))]
        self._twist_stamped(points[-1])
        request.waypoints = [stamped.pose for stamped in points]

    def _constrain(self, request):
        like = PositionIKRequest()
        self._twist_constraints(like)
        request.path_constraints = like.constraints
        request.avoid_collisions = bool(self._rng.integers(2))
