"""Random commands that move the arm, many with something wrong, repeatable by their seed."""

from __future__ import annotations

from builtin_interfaces.msg import Duration
from control_msgs.action import FollowJointTrajectory
from control_msgs.msg import JointJog, JointTolerance
from geometry_msgs.msg import TwistStamped
from moveit_msgs.msg import PositionIKRequest
from moveit_msgs.srv import GetCartesianPath
import numpy as np
from support.ros.trajectories import duration, smooth

from hardening.hostile_requests import Hostile
from ik_service.ros.common.conversions import pose_from_matrix

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
