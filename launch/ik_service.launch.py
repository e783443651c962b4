"""
Start the inverse kinematics node, with robot_state_publisher beside it.

``ros2 launch ik_service ik_service.launch.py --show-args`` lists the arguments. A namespace holds
everything but tf, which is global as everywhere in ROS: robots that run at the same time need
link names of their own there.
"""

from collections.abc import Mapping
from pathlib import Path

from ament_index_python.packages import get_package_share_directory
from launch import LaunchContext, LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction, Shutdown
from launch.conditions import IfCondition
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterFile, ParameterValue

from ik_service.ros.common.bringup import Bringup, NODE_NAME, settle

ARGUMENTS = {
    'urdf': 'URDF or xacro file of the robot. Empty: the one that params_file names, else the '
    'Franka Emika Panda that comes with the package, or with robot_state_publisher:=false what '
    'comes on the topic robot_description.',
    'xacro_args': 'Arguments of a xacro file, with blanks between them, such as '
    '"ur_type:=ur5e name:=ur". Empty: as in params_file, else its own defaults.',
    'srdf': 'SRDF file, or xacro file of one, with the planning groups of the robot. Empty: as in '
    'params_file, else what comes on the topic robot_description_semantic.',
    'base_link': 'Link where the chain starts. Empty: as in params_file, else the root of the '
    'robot.',
    'tip_link': 'Link that is brought to the target. Empty: as in params_file, else the only '
    'leaf of the robot; panda_hand_tcp for the Panda that comes with the package.',
    'solver': 'Method, such as levenberg_marquardt, pseudoinverse or transpose. Empty: as in '
    "params_file, else the node's default.",
    'publish_markers': 'true or false: whether to publish markers of target, trail and reach, for '
    "RViz and Foxglove. Empty: as in params_file, else the node's default.",
    'params_file': 'ROS parameter file; share/ik_service/config/ik_service.yaml is one to copy '
    'and edit. The arguments here win over it. Empty: none.',
    'namespace': 'Namespace of all nodes, and so of their topics and services, such as cell_1. '
    'Empty: none.',
}


def generate_launch_description() -> LaunchDescription:
    return LaunchDescription(
        [
            *(
                DeclareLaunchArgument(name, default_value='', description=description)
                for name, description in ARGUMENTS.items()
            ),
            DeclareLaunchArgument(
                'robot_state_publisher',
                default_value='true',
                choices=['true', 'false'],
                description='Start robot_state_publisher, which publishes tf and '
                'robot_description; false for a robot that has one running already, whose '
                'description is then taken from the topic.',
            ),
            OpaqueFunction(function=_nodes),
        ]
    )


def _nodes(context: LaunchContext) -> list[Node]:
    """Make the nodes, now that the values of the arguments are known."""
    share = Path(get_package_share_directory('ik_service'))
    robot = settle(context.launch_configurations, share)
    # First what may not be installed: where a later node cannot be found, launch leaves those that
    # run already behind.
    return [_state_publisher(robot), _ik_node(robot, context.launch_configurations)]


def _ik_node(robot: Bringup, arguments: Mapping[str, str]) -> Node:
    settled = _as_text({**robot.source, **robot.chain, **robot.semantics})
    if arguments['solver']:
        settled |= _as_text({'solver.name': arguments['solver']})
    if arguments['publish_markers']:
        markers = LaunchConfiguration('publish_markers')
        settled['publish_markers'] = ParameterValue(markers, value_type=bool)
    # Only what is settled, and after the file: the rest stays with the file, and with the node.
    file = [ParameterFile(robot.params_file)] if robot.params_file else []
    return Node(
        package='ik_service',
        executable='ik_node',
        name=NODE_NAME,
        namespace=robot.namespace,
        parameters=[*file, settled],
        output='screen',
        on_exit=Shutdown(reason='ik_node has ended'),
    )


def _state_publisher(robot: Bringup) -> Node:
    return Node(
        package='robot_state_publisher',
        executable='robot_state_publisher',
        name='robot_state_publisher',
        namespace=robot.namespace,
        parameters=[_as_text({'robot_description': robot.description})],
        output='screen',
        condition=IfCondition(LaunchConfiguration('robot_state_publisher')),
    )


def _as_text(parameters: Mapping[str, str]) -> dict[str, ParameterValue]:
    """Mark the values as text: launch would take a link named '7' for a number."""
    return {name: ParameterValue(value, value_type=str) for name, value in parameters.items()}
