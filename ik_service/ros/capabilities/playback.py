"""Active trajectories, and all checks of them before anything moves."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
import math

from control_msgs.action import FollowJointTrajectory
import numpy as np
from rclpy.time import Time

from ik_service.common.quoting import listed, quote
from ik_service.exceptions import TargetRefusedError, TrajectoryError
from ik_service.kinematics.chain import KinematicChain
from ik_service.kinematics.joint_space import FALLBACK_LINEAR_SPEED, FALLBACK_SPEED
from ik_service.motion.goal import MotionGoal
from ik_service.motion.playback import (
    fitted,
    GOAL_TIME,
    GOAL_TOLERANCE,
    JOINING_RATES,
    limits_of,
    per_joint,
    TrajectoryEnd,
    TrajectoryGoal,
    TrajectoryOutcome,
    TrajectoryTolerances,
)
from ik_service.paths.trajectory.joint_trajectory import JointTrajectory
from ik_service.paths.trajectory.limit_check import TrajectoryLimits
from ik_service.ros.capabilities.trajectory_goals import (
    GoalRefusedError,
    RequestedTolerances,
    TrajectoryRequest,
)
from ik_service.ros.common.motion_clock import MotionClock
from ik_service.ros.motion.command_channels import trajectory_point
from ik_service.ros.motion.follower_interface import FollowerInterface
from ik_service.ros.motion.followers import Followers

LONGEST_AHEAD = 10.0
"""Largest time until a trajectory begins [s]; farther, and the clocks of two machines differ."""

_MOST_NAMED = 5  # joints at fault that a message names


def follower_for(followers: Followers, names: Sequence[str]) -> FollowerInterface:
    """Return the follower of just the joints of a trajectory; raises GoalRefusedError for none."""
    wanted = set(names)
    for following in followers:
        if set(following.chain.joint_names) == wanted:
            return following
    nearest = max(followers, key=lambda f: len(wanted & set(f.chain.joint_names)))
    joints = nearest.chain.joint_names
    others = [name for name in names if name not in joints]
    faults = [f'{quote(name)} {_place_of(name, followers)}' for name in others[:_MOST_NAMED]]
    missing = [name for name in joints if name not in wanted]
    if missing:
        faults.append(f'{listed(missing)} {"is" if len(missing) == 1 else "are"} missing')
    raise GoalRefusedError(
        TrajectoryEnd.INVALID_JOINTS,
        f'{"; ".join(faults)}; a trajectory has to name all joints of a group and no others, '
        f'here: {listed(joints)}',
    )


def _place_of(name: str, followers: Followers) -> str:
    """Return the relation of a joint outside the group to the arm, in words."""
    joint = followers.arm.robot.joints.get(name)
    if joint is None:
        return 'is no joint of the robot'
    if joint.mimic is not None:
        return f'follows {quote(joint.mimic.joint)} by itself (mimic)'
    return 'is fixed' if not joint.movable else 'does not belong to the group'


def assumed_speeds(chain: KinematicChain) -> str:
    """Return at which speeds joints without a velocity limit are moved; empty for none."""
    free = np.array(chain.joint_names)[np.isinf(chain.velocity)]
    speeds = f'{FALLBACK_SPEED:g} rad/s or {FALLBACK_LINEAR_SPEED:g} m/s'
    return f'; at most {speeds}, without a velocity limit: {listed(free)}' if len(free) else ''


def prepared(
    request: TrajectoryRequest, following: FollowerInterface, velocity: np.ndarray | None = None
) -> JointTrajectory:
    """
    Return a trajectory that is checked, from where the arm is, with the joints in its order.

    :param velocity: (n,) how fast the arm moves there [rad/s] or [m/s]; None at rest.
    :raises GoalRefusedError: it does not start there, leaves the limits, or no joint state has
        come yet.
    """
    place = following.follower.commanded
    if place is None:
        measured = following.measured.joints(following.group.indices)
        if measured is None:
            raise GoalRefusedError(TrajectoryEnd.REFUSED, following.no_joint_state())
        place = measured[0]
    try:
        return fitted(request.trajectory, following.chain, place, _limits(following), velocity)
    except TrajectoryError as error:
        raise GoalRefusedError(TrajectoryEnd.INVALID, str(error)) from None


def joining(
    request: TrajectoryRequest, following: FollowerInterface
) -> Iterator[tuple[JointTrajectory, float]]:
    """
    Yield trajectories that go on from the motion of the commands, with the joints in its order.

    :param request: request of a goal, checked already (:func:`prepared`).
    :returns: the trajectories that are within the limits, and the rates of the clock at which they
        go on; none where it is to begin later, and none where it leads along straight lines,
        which begin at rest.
    """
    trajectory = request.trajectory
    if start_time(request, following.clock) > following.clock.now():
        return
    if trajectory.velocities is None:
        if len(trajectory) > 1:
            return
        trajectory = replace(trajectory, velocities=np.zeros_like(trajectory.positions))
    for rate in JOINING_RATES:
        motion = following.follower.motion
        if motion is None:
            return
        q, velocity = motion
        try:
            yield fitted(trajectory, following.chain, q, _limits(following), velocity / rate), rate
        except TrajectoryError:
            continue


def _limits(following: FollowerInterface) -> TrajectoryLimits:
    chain = following.chain
    acceleration = following.measured.arm.bounds.acceleration(chain.joints)
    return replace(limits_of(chain), acceleration=acceleration)


def start_time(request: TrajectoryRequest, clock: MotionClock) -> float:
    """Return the start on the motion clock [s], −inf for now; raises GoalRefusedError."""
    if not request.stamp:
        return -math.inf
    start = clock.moment_of(request.stamp)
    ahead = start - clock.now()
    if ahead + request.trajectory.duration < 0.0:
        late = -ahead - request.trajectory.duration
        raise GoalRefusedError(
            TrajectoryEnd.OLD_STAMP,
            f'by its stamp the trajectory ended {late:.3f} s ago; a stamp of 0 means now, and the '
            'clocks have to agree',
        )
    if ahead > LONGEST_AHEAD:
        raise GoalRefusedError(
            TrajectoryEnd.INVALID,
            f'by its stamp the trajectory begins in {ahead:.3f} s, more than the allowed '
            f'{LONGEST_AHEAD:g} s; a stamp of 0 means now, and the clocks have to agree, as does '
            'use_sim_time',
        )
    return start


def tolerances_for(requested: RequestedTolerances, chain: KinematicChain) -> TrajectoryTolerances:
    """Return the tolerances of a trajectory, with the defaults where the goal leaves it to us."""
    defaults = per_joint(chain, GOAL_TOLERANCE)
    names = chain.joint_names
    return TrajectoryTolerances(
        np.array([requested.path.get(name, math.inf) for name in names]),
        np.array([requested.goal.get(name, d) for name, d in zip(names, defaults, strict=True)]),
        requested.goal_time or GOAL_TIME,
        _of_joints(requested.path_velocity, names),
        _of_joints(requested.goal_velocity, names),
    )


def _of_joints(tolerances: Mapping[str, float], names: Sequence[str]) -> np.ndarray | None:
    """Return tolerances (n,) in the order of joints, inf where none is given; None for none."""
    if not tolerances:
        return None
    return np.array([tolerances.get(name, math.inf) for name in names])


class Playback(ABC):
    """
    Active trajectory.

    :ivar following: the follower of its joints.
    :ivar motion_goal: its progress there.
    """

    motion_goal: MotionGoal

    def __init__(self, following: FollowerInterface) -> None:
        self.following = following

    @property
    @abstractmethod
    def outcome(self) -> TrajectoryOutcome | None:
        """Outcome; None before the end."""

    @property
    def resting(self) -> bool:
        """Whether the arm is at rest after the end, as far as that is known."""
        return True

    @abstractmethod
    def cancel(self, reason: str = '') -> None:
        """Let the arm come to rest."""

    @abstractmethod
    def preempt(self, reason: str) -> None:
        """Let the arm come to rest for a stop of all motion."""

    def attend(self, now: float) -> None:  # noqa: B027 - most is done by the follower's ticks
        """Do the due work; called periodically."""

    @abstractmethod
    def feedback(self) -> FollowJointTrajectory.Feedback | None:
        """Return where trajectory and arm are; None when there is no news."""

    def replace_arm(self, followers: Followers) -> None:
        """End, as the arm was replaced by another: nothing ticks the follower any more."""
        self.following.follower.stop()


class CommandedPlayback(Playback):
    """
    Trajectory that the node commands itself.

    :param on_end: called after the end; must not block.
    :param replaces: the active one that it replaces; None for none.
    :raises GoalRefusedError: nothing moves then.
    """

    motion_goal: TrajectoryGoal

    def __init__(
        self,
        request: TrajectoryRequest,
        following: FollowerInterface,
        on_end: Callable[[], object],
        replaces: Playback | None = None,
    ) -> None:
        super().__init__(following)
        self._request, follower = request, following.follower
        occupied = '' if replaces is not None else follower.precedence()
        if occupied:  # whatever its other faults: the arm is in motion
            raise GoalRefusedError(TrajectoryEnd.REFUSED, occupied)
        begun = prepared(request, following)
        trajectories = () if replaces is None else joining(request, following)
        goals = (self._goal_of(trajectory, on_end, rate) for trajectory, rate in trajectories)
        going_on = next((goal for goal in goals if goal.can_join), None)
        self.motion_goal = going_on or self._goal_of(begun, on_end)
        self.motion_goal.replaces = None if replaces is None else replaces.motion_goal
        self.motion_goal.asked_at = request.asked_at
        try:
            following.follow_goal(self.motion_goal)
        except TargetRefusedError as error:
            raise GoalRefusedError(TrajectoryEnd.REFUSED, str(error)) from None

    def _goal_of(
        self, trajectory: JointTrajectory, on_end: Callable[[], object], joins: float = 0.0
    ) -> TrajectoryGoal:
        following, follower = self.following, self.following.follower
        return TrajectoryGoal(
            trajectory,
            follower.limits,
            1.0 / follower.settings.rate,
            tolerances_for(self._request.tolerances, following.chain),
            start_time(self._request, following.clock),
            on_end,
            partial(following.measured.velocities, following.group.indices),
            joins,
        )

    @property
    def outcome(self) -> TrajectoryOutcome | None:
        """Outcome; None before the end."""
        return self.motion_goal.outcome

    @property
    def resting(self) -> bool:
        """Whether the commands are at rest, or another goal has them."""
        follower = self.following.follower
        return not follower.active or follower.goal not in (None, self.motion_goal)

    def cancel(self, reason: str = '') -> None:
        """Let the arm come to rest on the trajectory."""
        self.motion_goal.cancel(reason)

    def preempt(self, reason: str) -> None:
        """Let the arm come to rest on the trajectory, for a stop of all motion."""
        self.motion_goal.preempt(reason)

    def feedback(self) -> FollowJointTrajectory.Feedback | None:
        """Return where trajectory and arm are; None before the start."""
        progress = self.motion_goal.progress
        if progress is None:
            return None
        message = FollowJointTrajectory.Feedback()
        message.header.stamp = Time(nanoseconds=self.following.clock.graph_time()).to_msg()
        message.joint_names = list(self.motion_goal.trajectory.joint_names)
        time, q = round(1e9 * progress.time), progress.q
        message.desired = trajectory_point(time, q, progress.velocity, progress.acceleration)
        message.actual = trajectory_point(time, progress.measured)
        message.error = trajectory_point(time, q - progress.measured)
        if hasattr(message, 'index'):  # not on Humble
            times = self._request.trajectory.times
            message.index = min(int(times.searchsorted(progress.time)), len(times) - 1)
        return message
