"""The two actions: what their goals ask for, and what their results and feedback say."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from control_msgs.action import FollowJointTrajectory
from moveit_msgs.action import ExecuteTrajectory

from ik_service.exceptions import TrajectoryError
from ik_service.ros.trajectory.goal_outcome import (
    CONTROL_CODES,
    GoalEnd,
    GoalOutcome,
    GoalRefusedError,
    MOVEIT_CODES,
)
from ik_service.ros.trajectory.playback import Playback
from ik_service.ros.trajectory.trajectory_messages import (
    RequestedTolerances,
    tolerances_from,
    trajectory_from,
    TrajectoryRequest,
)
from ik_service.trajectory.joint_trajectory import JointTrajectory

Message = Any
"""Message of an action; rclpy has no types for them."""


class ActionGoals(ABC):
    """
    Goals of one action.

    :cvar name: name of the action.
    :cvar action: its type.
    """

    name = ''
    action: type

    @abstractmethod
    def request(self, goal: Message) -> TrajectoryRequest:
        """
        Return what a goal asks for.

        :param goal: the goal.
        :raises GoalRefusedError: it asks for nothing that can be done.
        """

    @abstractmethod
    def result(self, outcome: GoalOutcome) -> Message:
        """
        Return the result of a goal.

        :param outcome: how it has ended.
        """

    @abstractmethod
    def feedback(self, playback: Playback, first: bool) -> Message | None:
        """
        Return feedback for a goal; None when there is nothing to say.

        :param playback: its trajectory on its way.
        :param first: whether it is the first one.
        """


class FollowJointTrajectoryGoals(ActionGoals):
    """Goals of ``follow_joint_trajectory``, as a joint_trajectory_controller takes them."""

    name = 'follow_joint_trajectory'
    action = FollowJointTrajectory

    def request(self, goal: Message) -> TrajectoryRequest:
        """
        Return what a goal asks for.

        :param goal: the goal.
        :raises GoalRefusedError: it asks for nothing that can be done.
        """
        several = goal.multi_dof_trajectory.points or goal.multi_dof_trajectory.joint_names
        if several or goal.component_path_tolerance or goal.component_goal_tolerance:
            raise GoalRefusedError(
                GoalEnd.INVALID, 'multi_dof_trajectory and its tolerances have to be empty'
            )
        trajectory = _trajectory(goal.trajectory)
        names, late = trajectory.joint_names, goal.goal_time_tolerance
        goal_time = late.sec + 1e-9 * late.nanosec
        if goal_time < 0.0:
            raise GoalRefusedError(
                GoalEnd.INVALID, f'goal_time_tolerance: {goal_time:g} s; 0 or more is right'
            )
        path, path_velocity = tolerances_from(goal.path_tolerance, 'path_tolerance', names)
        end, end_velocity = tolerances_from(goal.goal_tolerance, 'goal_tolerance', names)
        tolerances = RequestedTolerances(path, end, goal_time, path_velocity, end_velocity)
        return TrajectoryRequest(goal, trajectory, tolerances)

    def result(self, outcome: GoalOutcome) -> Message:
        """
        Return the result of a goal.

        :param outcome: how it has ended.
        """
        return FollowJointTrajectory.Result(
            error_code=CONTROL_CODES[outcome.end], error_string=outcome.text
        )

    def feedback(self, playback: Playback, first: bool) -> Message | None:
        """
        Return where trajectory and arm are; None when there is no news.

        :param playback: the trajectory on its way.
        :param first: whether it is the first feedback.
        """
        return playback.feedback()


class ExecuteTrajectoryGoals(ActionGoals):
    """Goals of ``execute_trajectory``, as MoveIt's move_group takes them."""

    name = 'execute_trajectory'
    action = ExecuteTrajectory

    def request(self, goal: Message) -> TrajectoryRequest:
        """
        Return what a goal asks for; ``controller_names`` are not looked at, as there is one arm.

        :param goal: the goal.
        :raises GoalRefusedError: it asks for nothing that can be done.
        """
        several = goal.trajectory.multi_dof_joint_trajectory
        if several.points or several.joint_names:
            raise GoalRefusedError(GoalEnd.INVALID, 'multi_dof_joint_trajectory has to be empty')
        message = goal.trajectory.joint_trajectory
        trajectory = _trajectory(message)
        return TrajectoryRequest(FollowJointTrajectory.Goal(trajectory=message), trajectory)

    def result(self, outcome: GoalOutcome) -> Message:
        """
        Return the result of a goal.

        :param outcome: how it has ended.
        """
        result = ExecuteTrajectory.Result()
        result.error_code.val = MOVEIT_CODES[outcome.end]
        if hasattr(result.error_code, 'message'):  # not on Humble
            result.error_code.message, result.error_code.source = outcome.text, 'ik_service'
        return result

    def feedback(self, playback: Playback, first: bool) -> Message | None:
        """
        Return the state MONITOR at the start, and IDLE at the end; None in between.

        :param playback: the trajectory on its way.
        :param first: whether it is the first feedback.
        """
        if playback.outcome is not None:
            return ExecuteTrajectory.Feedback(state='IDLE')
        return ExecuteTrajectory.Feedback(state='MONITOR') if first else None


def _trajectory(message: Message) -> JointTrajectory:
    """Return the trajectory of a message, from which efforts of 0 are taken away."""
    try:
        trajectory = trajectory_from(message)
    except TrajectoryError as error:
        raise GoalRefusedError(GoalEnd.INVALID, str(error)) from None
    for point in message.points:  # a controller without an interface for them refuses any
        point.effort = []
    return trajectory
