"""
Start the arms of a cell: IK nodes, robot_state_publishers, and simulated arms where asked for.

``ros2 launch ik_service cell.launch.py cell:=my_cell.yaml``; ``--show-args`` lists the arguments.
All arms stand in one world and share one tf. A process that ends takes no other arm with it.
"""

from pathlib import Path
import sys

from ament_index_python.packages import get_package_share_directory
from launch import LaunchContext, LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from ik_service.extras.cells.cell_file import Cell, read_cell
from ik_service.extras.cells.descriptions import describe, DescribedArm
from ik_service.extras.cells.main import spread
from ik_service.ros.common.bringup import check_names, STATE_PUBLISHER

FILE = 'cell.launch.py'
CELL, PROCESSES, SIMULATE = 'cell', 'processes', 'simulate'
SWITCHES = {'': None, 'true': True, 'false': False}


def generate_launch_description() -> LaunchDescription:
    example = Path(get_package_share_directory('ik_service')) / 'config' / 'cell.yaml'
    return LaunchDescription(
        [
            DeclareLaunchArgument(
                CELL,
                default_value=str(example),
                description='File that describes the arms (YAML); the default is an example of '
                'two simulated arms, to copy and edit.',
            ),
            DeclareLaunchArgument(
                PROCESSES,
                default_value='',
                description='Over how many processes the arms are spread, or one_per_arm. Empty: '
                'as the file says.',
            ),
            DeclareLaunchArgument(
                SIMULATE,
                default_value='',
                choices=[*SWITCHES],
                description='Whether all arms are simulated ones. Empty: as the file says.',
            ),
            DeclareLaunchArgument(
                STATE_PUBLISHER,
                default_value='true',
                choices=['true', 'false'],
                description='Start a robot_state_publisher for each arm; false where ik_cell '
                'shall publish the frames of the links itself.',
            ),
            OpaqueFunction(function=_nodes),
        ]
    )


def _nodes(context: LaunchContext) -> list[Node]:
    """Make the nodes, now that the values of the arguments are known."""
    check_names(context.argv, sys.argv, FILE, (CELL, PROCESSES, SIMULATE, STATE_PUBLISHER))
    given = context.launch_configurations
    processes = given[PROCESSES]
    number = int(processes) if processes.isdecimal() else processes or None
    cell = read_cell(given[CELL], SWITCHES[given[SIMULATE]], number)
    arms = describe(cell)
    publish = given[STATE_PUBLISHER] == 'true'
    names = [arm.entry.name for arm in arms]
    # First what may not be installed: where a later node cannot be found, launch leaves those that
    # run already behind.
    nodes = [_state_publisher(cell, arm) for arm in arms] if publish else []
    frames = 'world' if publish else 'all'
    for group in spread(names, cell.processes):
        nodes.append(
            _cell(context, group, '--part', 'arms', '--processes', '1', '--frames', frames)
        )
    if any(arm.entry.simulate for arm in arms):
        nodes.append(_cell(context, names, '--part', 'simulation'))
    return nodes


def _cell(context: LaunchContext, names: list[str], *words: str) -> Node:
    """Return a process of ik_cell, which names its nodes and their namespaces itself."""
    given = context.launch_configurations
    switch = {'': [], 'true': ['--simulate'], 'false': ['--no-simulate']}[given[SIMULATE]]
    return Node(
        package='ik_service',
        executable='ik_cell',
        arguments=[given[CELL], '--arms', ','.join(names), *words, *switch],
        output='screen',
    )


def _state_publisher(cell: Cell, arm: DescribedArm) -> Node:
    states = dict(arm.entry.connection.remappings).get('joint_states')
    text = ParameterValue(arm.urdf, value_type=str)
    simulated = bool(arm.node_parameters.get('use_sim_time', False))
    return Node(
        package='robot_state_publisher',
        executable='robot_state_publisher',
        name='robot_state_publisher',
        namespace=arm.entry.namespace,
        parameters=[
            {
                'robot_description': text,
                'publish_frequency': cell.frame_rate,
                'use_sim_time': simulated,
            }
        ],
        remappings=[('joint_states', states)] if states else [],
        output='screen',
    )
