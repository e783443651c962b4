"""Parameters of the actions that move the arm along trajectories."""

from __future__ import annotations

from rclpy.exceptions import InvalidServiceNameException
from rclpy.expand_topic_name import expand_topic_name
from rclpy.node import Node
from rclpy.validate_full_topic_name import validate_full_topic_name

from ik_service.common.quoting import quote
from ik_service.exceptions import OptionError
from ik_service.ros.parameters.parameter_declaration import ParameterSpec

_EXAMPLE = '/joint_trajectory_controller/follow_joint_trajectory'
_LONGEST_PART = '/_action/cancel_goal'

TRAJECTORY_ACTION = ParameterSpec(
    'trajectory_action',
    '',
    'Action (control_msgs/FollowJointTrajectory) of a controller that moves the arm along '
    f'trajectories, such as {_EXAMPLE}: those of '
    'execute_trajectory and follow_joint_trajectory are checked and passed on to it; empty: the '
    'node commands them itself',
    read_only=True,
)

REPLACE_GOALS = ParameterSpec(
    'replace_goals',
    True,
    'A goal for joints that move along a trajectory already replaces that, which ends as aborted, '
    'as at a joint_trajectory_controller; false: it is refused',
)

TRAJECTORY_PARAMETERS = (TRAJECTORY_ACTION, REPLACE_GOALS)


def controller_action(node: Node, name: str) -> str:
    """
    Return the full name of the action of a controller.

    :param node: the node that calls it.
    :param name: the value of ``trajectory_action``; empty for none.
    :raises OptionError: this is no name of an action.
    """
    if not name:
        return ''
    try:
        full = expand_topic_name(name, node.get_name(), node.get_namespace())
        validate_full_topic_name(full + _LONGEST_PART, is_service=True)
        return node.resolve_service_name(name)
    except (InvalidServiceNameException, ValueError, RuntimeError) as error:
        reason = ' '.join(str(error).partition(', at ')[0].split())  # without a place in a C file
        raise OptionError(
            TRAJECTORY_ACTION.name,
            f'{quote(name)} is no name of an action: {reason}; letters, digits, _ and / are '
            f'right, such as {_EXAMPLE}',
        ) from error
