"""Unknown and invalid parameters on the command line of a node."""

from __future__ import annotations

import json

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from support.arm_helpers import PANDA, TIP
from support.harness import until
from support.node_helpers import NODE

from ik_service.common.shared_parameters import files_for_others, given_to_all_nodes


@pytest.mark.parametrize(
    ('module', 'parameters', 'sentence'),
    [
        (NODE, {'publish_rat': 50.0}, 'publish_rat: there is no such parameter; is publish_rate'),
        (NODE, {'solver': 'ccd'}, 'solver: there is no such parameter; is solver.name meant'),
        (NODE, {'quux': 1}, 'quux: there is no such parameter'),
        ('ik_service.ros.sim.main', {'nois': 0.1}, 'is faults.noise meant'),
        ('ik_service.ros.sim.main', {'rat': 50.0}, 'is rate meant'),
        ('ik_service.extras.viewer.main', {'prt': 8081}, 'is port meant'),
        (NODE, {'publish_rate': 50}, 'publish_rate: wrong type: has to be a number with a dec'),
        (NODE, {'solver.timeout': '1e-4'}, "not the text '1e-4'; write 1.0e-4"),
        ('ik_service.ros.sim.main', {'rate': 50}, 'not the whole number 50; write 50.0'),
    ],
)
def test_invalid_parameters_are_refused_at_the_start_in_one_sentence(
    bench, module, parameters, sentence
):
    options = [
        word
        for name, value in {'urdf': str(PANDA), **parameters}.items()
        for word in ('-p', f'{name}:={json.dumps(value)}')
    ]
    node = bench.start(module, '--ros-args', *options, '--', ready=None)
    until(lambda: node.exit_code is not None, 60.0, 'the end')
    assert node.exit_code == 1
    assert sentence in node.output
    assert 'Traceback' not in node.output


def test_unknown_parameters_that_a_file_gives_to_all_nodes_are_remarks(bench):
    """They may be of another node of the file."""
    node = bench.start(NODE, urdf=str(PANDA), tip_link=TIP, publish_rat=50.0, camera={'rate': 3})
    wanted = (
        'publish_rat, which a parameter file gives to all nodes, is ignored: .*publish_rate meant',
        'camera.rate, which a parameter file gives to all nodes, is ignored',
    )
    for text in wanted:
        node.wait_for(text, 10.0)
    node.check()


def test_unknown_parameters_that_a_file_gives_to_the_node_are_refused(bench, tmp_path):
    file = tmp_path / 'parameters.yaml'
    file.write_text(
        '/**:\n  ros__parameters: {quux: 1, camera: 2}\n'
        f'{bench.namespace}:\n  ik_service:\n    ros__parameters: {{quux: 1}}\n'
    )
    node = bench.start(NODE, '--ros-args', '--params-file', str(file), '--', ready=None)
    until(lambda: node.exit_code is not None, 60.0, 'the end')
    assert 'quux: there is no such parameter' in node.output
    assert given_to_all_nodes(['--params-file', str(file)]) == {'camera'}


@pytest.mark.parametrize(
    ('section', 'node', 'is_for'),
    [
        ('ik_service', '/ik_service', True),
        ('/ik_service', '/ik_service', True),
        ('/**', '/cell/ik_service', True),
        ('/**/ik_service', '/ik_service', True),
        ('/*', '/ik_service', True),
        ('ik_service', '/cell/ik_service', False),
        ('ik_node', '/ik_service', False),
        ('/cell/ik_service', '/ik_service', False),
    ],
)
def test_files_without_a_section_for_a_node_are_found(tmp_path, section, node, is_for):
    file = tmp_path / 'parameters.yaml'
    file.write_text(f'{section}:\n  ros__parameters: {{publish_rate: 50.0}}\n')
    found = files_for_others(node, ['--params-file', str(file)])
    assert found == (() if is_for else ((str(file), ('/' + section.lstrip('/'),)),))


def test_a_file_for_another_node_is_told_at_the_start(bench, tmp_path):
    file = tmp_path / 'parameters.yaml'
    file.write_text('ik_node:\n  ros__parameters: {publish_rate: 50.0}\n')
    options = ['--ros-args', '--params-file', str(file), '-p', f'urdf:={PANDA}', '--']
    node = bench.start(NODE, *options, ready=None)
    node.wait_for(
        r'parameters\.yaml has no parameters for \S+/ik_service, only for /ik_node', 60.0
    )


def test_parameters_of_ros_itself_are_accepted(bench):
    node = bench.start(
        NODE,
        **{
            'urdf': str(PANDA),
            'tip_link': TIP,
            'use_sim_time': False,
            'start_type_description_service': True,
            'qos_overrides./parameter_events.publisher.depth': 100,
        },
    )
    node.check()
