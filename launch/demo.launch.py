"""
Start everything to see an arm move: the node, a simulated arm, and RViz with ``rviz:=true``.

The arguments are those of ik_service.launch.py, and ``rviz``.
"""

from pathlib import Path

from ament_index_python.packages import get_package_share_directory
from launch import LaunchContext, LaunchDescription
from launch.actions import (
    DeclareLaunchArgument,
    IncludeLaunchDescription,
    OpaqueFunction,
    Shutdown,
)
from launch.conditions import IfCondition
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterFile, ParameterValue

from ik_service import Robot
from ik_service.ros.bringup import settle

SHARE = Path(get_package_share_directory('ik_service'))


def generate_launch_description() -> LaunchDescription:
    node = SHARE / 'launch' / 'ik_service.launch.py'
    return LaunchDescription(
        [
            DeclareLaunchArgument(
                'rviz',
                default_value='false',
                choices=['true', 'false'],
                description='Show the robot, its frames and the target in RViz; closing RViz '
                'ends everything.',
            ),
            # First what may not be installed: where a later node cannot be found, launch leaves
            # those that run already behind.
            OpaqueFunction(function=_rviz, condition=IfCondition(LaunchConfiguration('rviz'))),
            # It declares the other arguments, which all included files share.
            IncludeLaunchDescription(PythonLaunchDescriptionSource(str(node))),
            OpaqueFunction(function=_simulated_arm),
        ]
    )


def _simulated_arm(context: LaunchContext) -> list[Node]:
    robot = settle(context.launch_configurations, SHARE)
    file = [ParameterFile(robot.params_file)] if robot.params_file else []
    source = {name: ParameterValue(value, value_type=str) for name, value in robot.source.items()}
    arm = Node(
        package='ik_service',
        executable='ik_sim',
        name='ik_sim',
        namespace=robot.namespace,
        parameters=[*file, source],
        output='screen',
    )
    return [arm]


def _rviz(context: LaunchContext) -> list[Node]:
    """Show the robot in the frame that its targets are given in, whatever the robot."""
    robot = settle(context.launch_configurations, SHARE)
    frame = robot.chain.get('base_link') or Robot.from_urdf(robot.description).root_link
    rviz = Node(
        package='rviz2',
        executable='rviz2',
        name='rviz2',
        namespace=robot.namespace,
        arguments=['-d', str(SHARE / 'config' / 'ik_service.rviz'), '-f', frame],
        output='screen',
        on_exit=Shutdown(reason='RViz was closed'),
    )
    return [rviz]
