"""Parameters of the actions that move the arm along trajectories."""

from __future__ import annotations

from ik_service.ros.common.parameter_declaration import ParameterSpec

TRAJECTORY_ACTION = ParameterSpec(
    'trajectory_action',
    '',
    'Action (control_msgs/FollowJointTrajectory) of a controller that moves the arm along '
    'trajectories, such as /joint_trajectory_controller/follow_joint_trajectory: those of '
    'execute_trajectory and follow_joint_trajectory are checked and passed on to it; empty: the '
    'node commands them itself',
    read_only=True,
)

TRAJECTORY_PARAMETERS = (TRAJECTORY_ACTION,)
