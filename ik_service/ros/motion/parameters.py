"""Parameters of motion: how targets are followed, servoing, and the actions of trajectories."""

from __future__ import annotations

from typing import Any, Protocol, TypeVar

from rclpy.exceptions import InvalidServiceNameException
from rclpy.expand_topic_name import expand_topic_name
from rclpy.node import Node
from rclpy.validate_full_topic_name import validate_full_topic_name

from ik_service.arm.arm import Arm
from ik_service.arm.group import SolverSettings
from ik_service.common.quoting import quote
from ik_service.exceptions import OptionError
from ik_service.kinematics.chain import KinematicChain
from ik_service.motion.servo.commands import INPUT_TYPES, ServoSettings, UNITLESS
from ik_service.motion.settings import FollowerSettings
from ik_service.ros.common.runtime import name_fault
from ik_service.ros.parameters.parameter_declaration import (
    after_fields,
    of_field,
    ParameterSpec,
    Value,
)

T = TypeVar('T', bound=Value)


class Parameters(Protocol):
    """Parameters of a node, looked up by their specification, and settings that they stand for."""

    @property
    def solver(self) -> SolverSettings:
        """Settings of the solver, in force."""

    @property
    def follower(self) -> FollowerSettings:
        """Settings of the followers, in force."""

    def __getitem__(self, spec: ParameterSpec[T]) -> T: ...


COMMAND_INTERFACES = (
    'joint_command',
    'joint_trajectory',
    'position_commands',
    'velocity_commands',
)

COMMAND_INTERFACE = ParameterSpec(
    'command_interface',
    COMMAND_INTERFACES[0],
    'Topic and type of the commands: joint_command (sensor_msgs/JointState), joint_trajectory '
    '(trajectory_msgs/JointTrajectory, for a joint_trajectory_controller), position_commands or '
    'velocity_commands (std_msgs/Float64MultiArray, for a forward_command_controller)',
    choices=COMMAND_INTERFACES,
    read_only=True,
)
COMMAND_JOINTS = ParameterSpec(
    'command_joints',
    [''],
    'Joints of the controller that takes joint_trajectory, position_commands or '
    'velocity_commands, in its order; those that the arm does not move are held where they are. '
    'Empty: the joints of the planning group',
    read_only=True,
)
TRAJECTORY_REPLACEMENT = ParameterSpec(
    'trajectory_replacement',
    'auto',
    'What the controller that takes joint_trajectory does with a new trajectory: replaces (the '
    'active one, at once), blends (it into the active one, whatever its stamp, as newer ones of '
    'ros2_control do unless allow_trajectory_replacement is false), or auto: it is asked',
    choices=('auto', 'replaces', 'blends'),
    read_only=True,
)
JOINT_LIMITS = ParameterSpec(
    'joint_limits',
    '',
    "Path of a joint_limits.yaml as MoveIt's, or its text: limits of speed, acceleration, jerk "
    'and position per joint. Of these and the limits of the robot description the tighter ones '
    'count',
    read_only=True,
)
AVOID_COLLISIONS = ParameterSpec(
    'follow.avoid_collisions',
    False,
    'Stop before a collision with the robot itself or the known world, and wait there for another '
    'target. Where collisions cannot be checked, nothing is followed then',
)
_FOLLOWER: dict[str, ParameterSpec] = {
    'rate': of_field('Commands a second while following [Hz]', (1.0, 1000.0), name='publish_rate'),
    'velocity_scaling': of_field(
        "Share of the joints' velocity limits that commands use; 0 holds the arm",
        (0.0, 1.0),
        default=0.5,
    ),
    'acceleration_time': of_field(
        'Time from rest to full speed [s]; 0 for no limit of acceleration', (0.0, 10.0)
    ),
    'state_timeout': of_field(
        'Age of the joint states at which following stops [s]', (0.01, 60.0)
    ),
    'target_timeout': of_field(
        'Age at which a target is dropped [s]; 0: it is followed until the next one', (0.0, 3600.0)
    ),
    'lag_limit': of_field(
        'How far the arm may fall behind the commands before they wait for it, as the time that '
        'it needs at full speed [s]',
        (0.01, 10.0),
    ),
    'resume': of_field(
        'Go on to the old target when joint states were away or wrong, or something else has '
        'moved the arm; false: drop it, and wait for a new one or ~/enable'
    ),
    'exclusive': of_field(
        'Start no motion while another node publishes commands, or has a goal at the controller; '
        'end one at a command or goal of another'
    ),
    'hold': of_field(
        'Go on sending commands when the arm has arrived; false: end them 1 s later, so that '
        'another controller can take over'
    ),
    'moved_limit': of_field(
        'How far from its command an arm at rest may be found before it counts as moved by '
        'something else, and the commands end [rad]; sliding joints a fifth of it [m]',
        (0.001, 10.0),
    ),
    'lead_limit': of_field(
        'How far commands may be ahead of a joint that stands still [rad]; sliding joints a fifth '
        'of it [m]',
        (0.001, 10.0),
    ),
    'stuck_timeout': of_field(
        'Time after which a joint that stands still away from its command ends the motion [s]',
        (0.1, 3600.0),
    ),
    'avoid_collisions': AVOID_COLLISIONS,
    'feed_forward': of_field(
        'Follow a moving target at where it is by now, by its velocity; false: go to its last '
        'pose, always able to stop there',
        name='follow.feed_forward',
    ),
    'branch_time': of_field(
        'Time for which joints that follow a moving target stay in their configuration though it '
        'cannot be reached there, where nothing leads to another one with the tip in place [s]',
        (0.0, 60.0),
        name='follow.branch_time',
    ),
}

FOLLOWER_PARAMETERS = after_fields(FollowerSettings, _FOLLOWER)


_SERVO: dict[str, ParameterSpec] = {
    'linear': of_field(
        'Speed of the tip for a unitless 1 in delta_twist_cmds, and towards pose_target_cmds '
        '[m/s]',
        (1e-4, 10.0),
        name='scale.linear',
    ),
    'rotational': of_field(
        'Rotation of the tip for a unitless 1 in delta_twist_cmds, and towards pose_target_cmds '
        '[rad/s]',
        (1e-4, 100.0),
        name='scale.rotational',
    ),
    'joint': of_field(
        'Speed of a joint for a unitless 1 in delta_joint_cmds [rad/s or m/s]',
        (1e-4, 100.0),
        name='scale.joint',
    ),
    'unitless': of_field(
        'What delta_twist_cmds and delta_joint_cmds hold: unitless (-1 to 1, times scale) or '
        'speed_units (m/s and rad/s)',
        name='command_in_type',
        default=UNITLESS,
        choices=INPUT_TYPES,
    ),
    'timeout': of_field(
        'Age at which a command of servoing no longer counts, so that silence stops the arm [s]',
        (0.01, 10.0),
        name='incoming_command_timeout',
    ),
    'margins': of_field(
        'Distance to the joint limits at which servoing stops joints [rad or m]: one number, or '
        'one for each joint',
        name='joint_limit_margins',
        read_only=True,
    ),
    'lower_threshold': of_field(
        'Condition number of the Jacobian from which servoing towards a singularity slows down',
        (1.0, 1e6),
        name='lower_singularity_threshold',
        read_only=True,
    ),
    'hard_stop': of_field(
        'Condition number of the Jacobian at which servoing towards a singularity has come to '
        'rest',
        (1.0, 1e6),
        name='hard_stop_singularity_threshold',
        read_only=True,
    ),
}

SERVO_PARAMETERS = after_fields(ServoSettings, _SERVO)
SERVO_NAMES = {spec.field: spec.name for spec in SERVO_PARAMETERS}  # of parameters, by field


def servo_settings(parameters: Parameters) -> ServoSettings:
    """Return the settings of the parameters; raises OptionError, naming one that cannot be."""
    given: dict[str, Any] = {spec.field: parameters[spec] for spec in SERVO_PARAMETERS}
    given |= {'unitless': given['unitless'] == UNITLESS, 'margins': tuple(given['margins'])}
    try:
        return ServoSettings(**given)
    except OptionError as error:
        raise OptionError(SERVO_NAMES.get(error.option, error.option), error.reason) from error


def check_servo(parameters: Parameters, arm: Arm) -> None:
    """Refuse an arm that does not go with the parameters of servoing, by an OptionError."""
    if isinstance(arm.chain, KinematicChain):  # groups with several tips are not followed
        servo_settings(parameters).margins_of(arm.chain)


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
    """Return the full name of a controller's action, '' for none; raises OptionError."""
    if not name:
        return ''
    try:
        full = expand_topic_name(name, node.get_name(), node.get_namespace())
        validate_full_topic_name(full + _LONGEST_PART, is_service=True)
        return node.resolve_service_name(name)
    except (InvalidServiceNameException, ValueError, RuntimeError) as error:
        raise OptionError(
            TRAJECTORY_ACTION.name,
            f'{quote(name)} is no name of an action: {name_fault(error)}; letters, digits, _ and '
            f'/ are right, such as {_EXAMPLE}',
        ) from error
