"""
Start the node in place of MoveIt Servo: its topics and services have the names of Servo's.

``ros2 launch ik_service servo.launch.py --show-args`` lists the arguments: those of
ik_service.launch.py, and ``servo_node``.
"""

from pathlib import Path
import sys

from ament_index_python.packages import get_package_share_directory
from launch import LaunchContext, LaunchDescription
from launch.actions import (
    DeclareLaunchArgument,
    GroupAction,
    IncludeLaunchDescription,
    OpaqueFunction,
)
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import SetRemap

from ik_service.exceptions import ArgumentError
from ik_service.ros.common.bringup import ARGUMENTS, check_names, STATE_PUBLISHER

FILE = 'servo.launch.py'
SERVO_NODE = 'servo_node'
NAMES = (
    'delta_twist_cmds',
    'delta_joint_cmds',
    'pose_target_cmds',
    'status',
    'switch_command_type',
    'pause_servo',
)
"""Topics and services that MoveIt Servo has below the name of its node."""


def generate_launch_description() -> LaunchDescription:
    node = Path(get_package_share_directory('ik_service')) / 'launch' / 'ik_service.launch.py'
    return LaunchDescription(
        [
            DeclareLaunchArgument(
                SERVO_NODE,
                default_value='servo_node',
                description='Name of the node of MoveIt Servo that clients know, below which its '
                'topics and services are: delta_twist_cmds becomes servo_node/delta_twist_cmds.',
            ),
            OpaqueFunction(function=_check_arguments),
            GroupAction(
                [
                    *(
                        # Relative names, which a namespace holds as well.
                        SetRemap(name, [LaunchConfiguration(SERVO_NODE), f'/{name}'])
                        for name in NAMES
                    ),
                    # It declares the other arguments, which all included files share.
                    IncludeLaunchDescription(PythonLaunchDescriptionSource(str(node))),
                ],
            ),
        ]
    )


def _check_arguments(context: LaunchContext) -> None:
    known = (*ARGUMENTS, STATE_PUBLISHER, SERVO_NODE)
    check_names(context.argv, sys.argv, FILE, known)
    given = context.launch_configurations
    given[SERVO_NODE] = given[SERVO_NODE].rstrip('/')
    if not given[SERVO_NODE]:  # whose topics no namespace would hold
        raise ArgumentError(SERVO_NODE, 'has to be the name of a node, such as servo_node')
