"""Trajectories on their way: how the goal of an action sees them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial

from builtin_interfaces.msg import Duration
from control_msgs.action import FollowJointTrajectory
import numpy as np
from trajectory_msgs.msg import JointTrajectory as TrajectoryMessage
from trajectory_msgs.msg import JointTrajectoryPoint

from ik_service.exceptions import TargetRefusedError
from ik_service.motion.goal import MotionGoal
from ik_service.motion.playback.trajectory_goal import TrajectoryGoal
from ik_service.ros.motion.following.follower_interface import FollowerInterface
from ik_service.ros.motion.following.followers import Followers
from ik_service.ros.motion.trajectory.goal_outcome import GoalEnd, GoalOutcome, GoalRefusedError
from ik_service.ros.motion.trajectory.preparation import (
    chain_of,
    joined,
    prepared,
    start_time,
    tolerances_for,
)
from ik_service.ros.motion.trajectory.trajectory_messages import TrajectoryRequest


class Playback(ABC):
    """
    Trajectory on its way.

    :param following: the follower of its joints.
    """

    def __init__(self, following: FollowerInterface) -> None:
        self.following = following

    @property
    @abstractmethod
    def outcome(self) -> GoalOutcome | None:
        """Outcome; None before the end."""

    @property
    @abstractmethod
    def motion_goal(self) -> MotionGoal:
        """Progress in the follower of its joints."""

    @property
    @abstractmethod
    def resting(self) -> bool:
        """Whether the arm is at rest after the end, as far as that is known."""

    @abstractmethod
    def cancel(self, reason: str = '') -> None:
        """
        Let the arm come to rest.

        :param reason: why, when something else than the client wants it.
        """

    @abstractmethod
    def preempt(self, reason: str) -> None:
        """
        Let the arm come to rest for a stop of all motion.

        :param reason: what stops it.
        """

    @abstractmethod
    def attend(self, now: float) -> None:
        """
        Do what is due; called every now and then.

        :param now: on the monotonic clock [s].
        """

    @abstractmethod
    def feedback(self) -> FollowJointTrajectory.Feedback | None:
        """Return where trajectory and arm are; None when there is no news."""

    def replace_arm(self, followers: Followers) -> None:
        """
        End, as the arm was replaced by another: nothing ticks the follower any more.

        :param followers: the followers of the new arm.
        """
        self.following.follower.stop()


class CommandedPlayback(Playback):
    """
    Trajectory that the node commands itself.

    :param request: what a goal asks for.
    :param following: the follower of its joints.
    :param clock: returns the node's time [ns].
    :param on_end: called after the end; must not block.
    :param replaces: the one on its way whose place it takes; None for none.
    :raises GoalRefusedError: nothing moves then.
    """

    def __init__(
        self,
        request: TrajectoryRequest,
        following: FollowerInterface,
        clock: Callable[[], int],
        on_end: Callable[[], object],
        replaces: Playback | None = None,
    ) -> None:
        super().__init__(following)
        self._request, self._clock = request, clock
        follower, chain = following.follower, chain_of(following)
        occupied = '' if replaces is not None else follower.precedence()
        if occupied:  # whatever else is wrong with it: the arm is on its way
            raise GoalRefusedError(GoalEnd.REFUSED, occupied)
        begun = prepared(request, following)
        going_on = None if replaces is None else joined(request, following)
        self._motion_goal = TrajectoryGoal(
            begun if going_on is None else going_on,
            follower.limits,
            1.0 / follower.settings.rate,
            tolerances_for(request.tolerances, chain),
            start_time(request, following.clock),
            on_end,
            partial(following.measured.velocities, following.group.indices),
            going_on is not None,
        )
        self._motion_goal.replaces = None if replaces is None else replaces.motion_goal
        try:
            following.follow_goal(self._motion_goal)
        except TargetRefusedError as error:
            raise GoalRefusedError(GoalEnd.REFUSED, str(error)) from None

    @property
    def outcome(self) -> GoalOutcome | None:
        """Outcome; None before the end."""
        outcome = self._motion_goal.outcome
        return None if outcome is None else GoalOutcome.of(outcome)

    @property
    def motion_goal(self) -> MotionGoal:
        """Progress in the follower of its joints."""
        return self._motion_goal

    @property
    def resting(self) -> bool:
        """Whether the commands are at rest, or another goal has them."""
        follower = self.following.follower
        return not follower.active or follower.goal not in (None, self._motion_goal)

    def cancel(self, reason: str = '') -> None:
        """
        Let the arm come to rest on the trajectory.

        :param reason: why, when something else than the client wants it.
        """
        self._motion_goal.cancel(reason)

    def preempt(self, reason: str) -> None:
        """
        Let the arm come to rest on the trajectory, for a stop of all motion.

        :param reason: what stops it.
        """
        self._motion_goal.preempt(reason)

    def attend(self, now: float) -> None:
        """
        Do nothing: the follower's ticks do all.

        :param now: on the monotonic clock [s].
        """

    def feedback(self) -> FollowJointTrajectory.Feedback | None:
        """Return where trajectory and arm are; None before the start."""
        progress = self._motion_goal.progress
        if progress is None:
            return None
        message = FollowJointTrajectory.Feedback()
        nanoseconds = self._clock()
        message.header.stamp.sec = nanoseconds // 1_000_000_000
        message.header.stamp.nanosec = nanoseconds % 1_000_000_000
        message.joint_names = list(self._motion_goal.trajectory.joint_names)
        time = progress.time
        message.desired = _point(time, progress.q, progress.velocity, progress.acceleration)
        message.actual = _point(time, progress.measured)
        message.error = _point(time, progress.q - progress.measured)
        if hasattr(message, 'index'):  # not on Humble
            times = self._request.trajectory.times
            message.index = min(int(times.searchsorted(time)), len(times) - 1)
        return message


def _point(
    time: float,
    positions: np.ndarray,
    velocities: np.ndarray | None = None,
    accelerations: np.ndarray | None = None,
) -> JointTrajectoryPoint:
    seconds, nanoseconds = divmod(round(time * 1e9), 1_000_000_000)
    return JointTrajectoryPoint(
        positions=positions.tolist(),
        velocities=[] if velocities is None else velocities.tolist(),
        accelerations=[] if accelerations is None else accelerations.tolist(),
        time_from_start=Duration(sec=seconds, nanosec=nanoseconds),
    )


Play = Callable[[TrajectoryMessage, Callable[[], object]], Playback]
"""Begins to move the arm along a trajectory; takes what is called at its end."""
