"""
Start the node, robot_state_publisher, a simulated arm, and RViz with ``rviz:=true``.

The arguments are those of ik_service.launch.py, ``rviz``, and ``engine`` of the simulated arm.
"""

from pathlib import Path
import sys

from ament_index_python.packages import get_package_share_directory
from launch import Action, LaunchContext, LaunchDescription
from launch.actions import (
    DeclareLaunchArgument,
    IncludeLaunchDescription,
    OpaqueFunction,
    SetLaunchConfiguration,
    Shutdown,
)
from launch.conditions import IfCondition
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterFile, ParameterValue

from ik_service import Robot
from ik_service.exceptions import ArgumentError
from ik_service.ros.common.bringup import (
    ARGUMENTS,
    Bringup,
    check_names,
    connection,
    settle,
    STATE_PUBLISHER,
)
from ik_service.sim.simulated_arm import ENGINES

SIMULATED = ('joint_command', 'joint_trajectory')  # what the simulated arm takes
SHARE = Path(get_package_share_directory('ik_service'))


def generate_launch_description() -> LaunchDescription:
    node = SHARE / 'launch' / 'ik_service.launch.py'
    return LaunchDescription(
        [
            DeclareLaunchArgument(
                'rviz',
                default_value='false',
                choices=['true', 'false'],
                description='Show the robot, its frames, markers of its motion and a marker to '
                'drag in RViz; closing RViz ends all programs.',
            ),
            DeclareLaunchArgument(
                'engine',
                default_value='',
                choices=['', *ENGINES],
                description='Engine of the simulated arm: first_order (kinematics without mass) '
                'or mujoco (physics; needs mujoco). Empty: as in params_file, else first_order.',
            ),
            OpaqueFunction(function=_check_names),
            # First what may not be installed: where a later node cannot be found, launch leaves
            # those that run already behind.
            OpaqueFunction(function=_rviz, condition=IfCondition(LaunchConfiguration('rviz'))),
            # It declares the other arguments, which all included files share.
            IncludeLaunchDescription(PythonLaunchDescriptionSource(str(node))),
            OpaqueFunction(function=_simulated_arm),
        ]
    )


def _check_names(context: LaunchContext) -> None:
    known = (*ARGUMENTS, STATE_PUBLISHER, 'rviz', 'engine')
    check_names(context.argv, sys.argv, 'demo.launch.py', known)
    asked = context.launch_configurations.get('command_interface', '')
    if asked not in ('', *SIMULATED):
        reason = f'the simulated arm takes {" or ".join(SIMULATED)}, not {asked}'
        raise ArgumentError('command_interface', reason)


def _simulated_arm(context: LaunchContext) -> list[Node]:
    robot = settle(context.launch_configurations, SHARE)
    connected = connection(context.launch_configurations, robot.given)
    file = [ParameterFile(robot.params_file)] if robot.params_file else []
    source = {name: ParameterValue(value, value_type=str) for name, value in robot.source.items()}
    engine = context.launch_configurations['engine']
    chosen = {'engine': engine} if engine else {}
    arm = Node(
        package='ik_service',
        executable='ik_sim',
        name='ik_sim',
        namespace=robot.namespace,
        parameters=[*file, {**source, **chosen}],
        remappings=list(connected.remappings),
        output='screen',
    )
    return [arm]


def _rviz(context: LaunchContext) -> list[Action]:
    """Show the robot in the frame that its targets are given in, whatever the robot."""
    robot = settle(context.launch_configurations, SHARE)
    frame = robot.chain.get('base_link') or _root_link(robot)
    base = ['-f', frame] if frame else []  # else that of its configuration
    rviz = Node(
        package='rviz2',
        executable='rviz2',
        name='rviz2',
        namespace=robot.namespace,
        arguments=['-d', str(SHARE / 'config' / 'ik_service.rviz'), *base],
        output='screen',
        on_exit=Shutdown(reason='RViz was closed'),
    )
    marker = Node(
        package='ik_service',
        executable='target_marker',
        name='target_marker',
        namespace=robot.namespace,
        output='screen',
    )
    actions = [rviz, marker]
    if not context.launch_configurations.get('publish_markers'):
        actions.append(SetLaunchConfiguration('publish_markers', 'true'))
    return actions


def _root_link(robot: Bringup) -> str:
    """Return the link that is the root; empty where the description is still to come."""
    return Robot.from_urdf_text(robot.description).root_link if robot.description else ''
