"""Parameters of the followers: how targets are followed, and where the commands go."""

from __future__ import annotations

from ik_service.motion.settings import FollowerSettings
from ik_service.ros.parameters.parameter_declaration import after_fields, ParameterSpec
from ik_service.ros.scene.collision_parameters import AVOID_COLLISIONS

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
_FOLLOWER: dict[str, ParameterSpec] = {
    'rate': ParameterSpec(
        'publish_rate', 100.0, 'Commands a second while following [Hz]', (1.0, 1000.0)
    ),
    'velocity_scaling': ParameterSpec(
        'velocity_scaling',
        0.5,
        "Share of the joints' velocity limits that commands use; 0 holds the arm",
        (0.0, 1.0),
    ),
    'acceleration_time': ParameterSpec(
        'acceleration_time',
        FollowerSettings.acceleration_time,
        'Time from rest to full speed [s]; 0 for no limit of acceleration',
        (0.0, 10.0),
    ),
    'state_timeout': ParameterSpec(
        'state_timeout',
        FollowerSettings.state_timeout,
        'Age of the joint states at which following stops [s]',
        (0.01, 60.0),
    ),
    'target_timeout': ParameterSpec(
        'target_timeout',
        FollowerSettings.target_timeout,
        'Age at which a target is dropped [s]; 0: it is followed until the next one',
        (0.0, 3600.0),
    ),
    'lag_limit': ParameterSpec(
        'lag_limit',
        FollowerSettings.lag_limit,
        'How far the arm may fall behind the commands before they wait for it, as the time that '
        'it needs at full speed [s]',
        (0.01, 10.0),
    ),
    'resume': ParameterSpec(
        'resume',
        FollowerSettings.resume,
        'Go on to the old target when joint states were away or wrong, or something else has '
        'moved the arm; false: drop it, and wait for a new one or ~/enable',
    ),
    'exclusive': ParameterSpec(
        'exclusive',
        FollowerSettings.exclusive,
        'Start no motion while another node publishes commands',
    ),
    'hold': ParameterSpec(
        'hold',
        FollowerSettings.hold,
        'Go on sending commands when the arm has arrived; false: end them 1 s later, so that '
        'another controller can take over',
    ),
    'moved_limit': ParameterSpec(
        'moved_limit',
        FollowerSettings.moved_limit,
        'How far from its command an arm at rest may be found before it counts as moved by '
        'something else, and the commands end [rad]; sliding joints a fifth of it [m]',
        (0.001, 10.0),
    ),
    'lead_limit': ParameterSpec(
        'lead_limit',
        FollowerSettings.lead_limit,
        'How far commands may be ahead of a joint that stands still [rad]; sliding joints a fifth '
        'of it [m]',
        (0.001, 10.0),
    ),
    'stuck_timeout': ParameterSpec(
        'stuck_timeout',
        FollowerSettings.stuck_timeout,
        'Time after which a joint that stands still away from its command ends the motion [s]',
        (0.1, 3600.0),
    ),
    'avoid_collisions': AVOID_COLLISIONS,
    'feed_forward': ParameterSpec(
        'follow.feed_forward',
        FollowerSettings.feed_forward,
        'Follow a moving target at where it is by now, by its velocity; false: go to its last '
        'pose, always able to stop there',
    ),
    'branch_time': ParameterSpec(
        'follow.branch_time',
        FollowerSettings.branch_time,
        'Time for which joints that follow a moving target stay in their configuration though it '
        'cannot be reached there, where nothing leads to another one with the tip in place [s]',
        (0.0, 60.0),
    ),
}

FOLLOWER_PARAMETERS = after_fields(_FOLLOWER)
