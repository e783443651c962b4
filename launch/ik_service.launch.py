"""
Start the inverse kinematics node, with robot_state_publisher beside it.

``ros2 launch ik_service ik_service.launch.py --show-args`` lists the arguments. A namespace holds
everything but tf, which is global as everywhere in ROS: robots that run at the same time need
link names of their own there.
"""

from collections.abc import Mapping
from pathlib import Path
import re
import sys
from typing import List  # noqa: UP035

from ament_index_python.packages import get_package_share_directory
from launch import LaunchContext, LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction, Shutdown
from launch.conditions import IfCondition
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterFile, ParameterValue
import yaml

from ik_service.ros.common.bringup import (
    ARGUMENTS,
    Bringup,
    check_names,
    Connection,
    connection,
    NODE_NAME,
    settle,
    STATE_PUBLISHER,
)

FILE = 'ik_service.launch.py'

# ROS reads these as true, false and numbers in parameter files, and PyYAML, by which launch writes
# them, puts no quotation marks around such texts: joints may be named x, y and z, and links 08.
yaml.Dumper.add_implicit_resolver('tag:yaml.org,2002:bool', re.compile('[yYnN]$'), [*'yYnN'])
yaml.Dumper.add_implicit_resolver(
    'tag:yaml.org,2002:float', re.compile(r'(?i)[-+]?(\d|inf|nan)'), [*'-+0123456789iInN']
)


def generate_launch_description() -> LaunchDescription:
    return LaunchDescription(
        [
            *(
                DeclareLaunchArgument(name, default_value='', description=description)
                for name, description in ARGUMENTS.items()
            ),
            DeclareLaunchArgument(
                STATE_PUBLISHER,
                default_value='true',
                choices=['true', 'false'],
                description='Start robot_state_publisher, which publishes tf and '
                'robot_description; false for a robot that has one running already, whose '
                'description is then taken from the topic.',
            ),
            OpaqueFunction(function=_check_names),
            OpaqueFunction(function=_nodes),
        ]
    )


def _check_names(context: LaunchContext) -> None:
    check_names(context.argv, sys.argv, FILE, (*ARGUMENTS, STATE_PUBLISHER))


def _nodes(context: LaunchContext) -> list[Node]:
    """Make the nodes, now that the values of the arguments are known."""
    share = Path(get_package_share_directory('ik_service'))
    robot = settle(context.launch_configurations, share)
    arm = connection(context.launch_configurations, robot.given)
    # First what may not be installed: where a later node cannot be found, launch leaves those that
    # run already behind.
    return [_state_publisher(robot, arm), _ik_node(robot, arm, context.launch_configurations)]


def _ik_node(robot: Bringup, arm: Connection, arguments: Mapping[str, str]) -> Node:
    settled = _as_text({**robot.source, **robot.chain, **robot.semantics})
    if arguments['solver']:
        settled |= _as_text({'solver.name': arguments['solver']})
    if arguments['publish_markers']:
        markers = LaunchConfiguration('publish_markers')
        settled['publish_markers'] = ParameterValue(markers, value_type=bool)
    settled |= {name: _typed(value) for name, value in arm.parameters.items()}
    # Only what is settled, and after the file: the rest stays with the file, and with the node.
    file = [ParameterFile(robot.params_file)] if robot.params_file else []
    return Node(
        package='ik_service',
        executable='ik_node',
        name=NODE_NAME,
        namespace=robot.namespace,
        parameters=[*file, settled],
        remappings=list(arm.remappings),
        output='screen',
        on_exit=Shutdown(reason='ik_node has ended'),
    )


def _state_publisher(robot: Bringup, arm: Connection) -> Node:
    clock = {'use_sim_time': bool(arm.parameters.get('use_sim_time', False))}
    return Node(
        package='robot_state_publisher',
        executable='robot_state_publisher',
        name='robot_state_publisher',
        namespace=robot.namespace,
        parameters=[_as_text({'robot_description': robot.description}), clock],
        remappings=[(old, new) for old, new in arm.remappings if old == 'joint_states'],
        output='screen',
        condition=IfCondition(LaunchConfiguration(STATE_PUBLISHER)),
    )


def _as_text(parameters: Mapping[str, str]) -> dict[str, ParameterValue]:
    """Mark the values as text: launch would take a link named '7' for a number."""
    return {name: ParameterValue(value, value_type=str) for name, value in parameters.items()}


def _typed(value: str | float | bool | list[str]) -> ParameterValue:
    """Mark the type of a value, as launch guesses it from texts."""
    # launch_ros knows this type by its old name alone.
    kind = List[str] if isinstance(value, list) else type(value)  # noqa: UP006
    return ParameterValue(value, value_type=kind)
