"""The parameter file and the RViz file that come with the package."""

from pathlib import Path

import pytest
import yaml

from ik_service.ros.common.bringup import BUNDLED_CHAIN, node_parameters

CONFIG = Path(__file__).resolve().parents[2] / 'config'


def flat(parameters, prefix=''):
    for name, value in parameters.items():
        if isinstance(value, dict):
            yield from flat(value, f'{prefix}{name}.')
        else:
            yield f'{prefix}{name}', value


@pytest.mark.parametrize('node', ['/ik_service', '/cell_1/ik_service'])
def test_the_parameter_file_holds_every_parameter_at_its_default(node):
    pytest.importorskip('rclpy')
    pytest.importorskip('moveit_msgs.msg')
    from ik_service.ros.node.parameter_table import PARAMETERS

    in_file = dict(flat(node_parameters(CONFIG / 'ik_service.yaml', node)))
    assert in_file == {name: spec.default for name, spec in PARAMETERS.items()}
    for name, spec in PARAMETERS.items():  # 1 equals 1.0 here, but not for ROS
        assert type(in_file[name]) is type(spec.default), name


@pytest.fixture
def manager():
    text = (CONFIG / 'ik_service.rviz').read_text(encoding='utf-8')
    return yaml.safe_load(text)['Visualization Manager']


@pytest.fixture
def displays(manager):
    return {entry['Name']: entry for entry in manager['Displays']}


@pytest.mark.parametrize(
    ('name', 'field', 'topic'),
    [
        ('Robot', 'Description Topic', 'robot_description'),
        ('Motion', 'Topic', 'markers'),
        ('World', 'Topic', 'world_markers'),
        ('Reachable shell', 'Topic', 'reachable_shell'),
    ],
)
def test_rviz_receives_what_was_published_before_on_relative_topics(displays, name, field, topic):
    shown = displays[name][field]
    assert displays[name]['Enabled']
    assert shown['Value'] == topic
    assert shown['Durability Policy'] == 'Transient Local'
    assert shown['Reliability Policy'] == 'Reliable'


def test_rviz_knows_the_namespaces_of_the_markers(displays):
    pytest.importorskip('visualization_msgs.msg')
    from ik_service.extras.reach.cloud_publisher import INSIDE, SHELL
    from ik_service.ros.markers import arm_marker_publisher as markers
    from ik_service.ros.markers import world_markers

    motion = {markers.TARGET, markers.NEAREST, markers.TRAIL, markers.REACH}
    assert set(displays['Motion']['Namespaces']) == motion
    world = {world_markers.OBJECTS, world_markers.ATTACHED, world_markers.LINKS}
    world |= {world_markers.CONTACTS, world_markers.REMARKS}
    assert set(displays['World']['Namespaces']) == world
    assert set(displays['Reachable shell']['Namespaces']) == {SHELL, INSIDE}


def test_the_fixed_frame_in_rviz_is_the_base_of_the_panda(manager):
    assert manager['Global Options']['Fixed Frame'] == BUNDLED_CHAIN['base_link']
