"""Unknown and invalid parameters on the command line of a node."""

from array import array
import json
import time

import pytest
from support.ros.nodes import ended, NODE
from support.ros.servers import PANDA, TIP

from ik_service.common.shared_parameters import files_for_others, given_to_all_nodes
from ik_service.exceptions import OptionError
from ik_service.ros.parameters.mapping_parameters import LONGEST_TEXT, MappingField, MappingSpec


@pytest.mark.parametrize(
    ('module', 'parameters', 'sentence'),
    [
        (NODE, {'publish_rat': 50.0}, 'publish_rat: there is no such parameter; is publish_rate'),
        ('ik_service.ros.sim.main', {'nois': 0.1}, 'is faults.noise meant'),
        ('ik_service.extras.viewer.main', {'prt': 8081}, 'is port meant'),
        (NODE, {'publish_rate': 50}, 'publish_rate: wrong type: has to be a number with a dec'),
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
    ended(node, sentence)


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
    ended(node, 'quux: there is no such parameter')
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


SPEC = MappingSpec(
    'tools',
    (
        MappingField('link', 'text', required=True),
        MappingField('xyz', 'numbers'),
        MappingField('timeout', 'number'),
    ),
)


def test_nothing_is_an_empty_mapping():
    assert SPEC.read({}) == SPEC.read({'tools': ''}) == SPEC.read({'tools': ' \n'}) == {}
    assert SPEC.read({'tools': '{}', 'toolsmith.a.link': 'x', 'rate': 1.0}) == {}


def test_nested_parameters():
    values = {
        'tools.tcp.link': 'hand',
        'tools.tcp.xyz': array('d', [0.0, 0.0, 0.1]),
        'tools.cup.xyz': [0, 0, 1],
        'tools.cup.link': 'tcp',
        'tools.cup.timeout': 2,
        'tools.gone.link': None,
    }
    assert SPEC.read(values) == {
        'tcp': {'link': 'hand', 'xyz': (0.0, 0.0, 0.1)},
        'cup': {'link': 'tcp', 'xyz': (0.0, 0.0, 1.0), 'timeout': 2.0},
    }


def test_text():
    text = '{tcp: {link: hand, xyz: [0, 1e-3, 0.1]}, a.b: {link: "7", timeout: 1}}'
    assert SPEC.read({'tools': text}) == {
        'tcp': {'link': 'hand', 'xyz': (0.0, 0.001, 0.1)},
        'a.b': {'link': '7', 'timeout': 1.0},
    }


def test_both_add_up_and_the_text_wins():
    values = {
        'tools': '{b: {link: new}, c: {link: z}}',
        'tools.a.link': 'x',
        'tools.b.link': 'old',
        'tools.b.timeout': 1.0,
    }
    assert SPEC.read(values) == {'a': {'link': 'x'}, 'b': {'link': 'new'}, 'c': {'link': 'z'}}


@pytest.mark.parametrize(
    ('values', 'words'),
    [
        ({'tools.tcp.lnk': 'x'}, "tools.tcp.lnk: there is no field 'lnk' among link, xyz"),
        ({'tools.tcp': 'x'}, 'tools.tcp: names no field, as tools.tcp.link does'),
        ({'tools.': 'x'}, 'names no field'),
        ({'tools.tcp.link': 7}, 'tools.tcp.link: wrong type: has to be text, not the whole'),
        ({'tools.tcp.xyz': 7.0}, 'wrong type: has to be a list of numbers'),
        ({'tools.tcp.timeout': True}, 'wrong type: has to be a number'),
        ({'tools.tcp.xyz': [0.0]}, "tools: 'tcp' has no link"),
        ({'tools': '{tcp: {link: 7}}'}, 'tools.tcp.link: wrong type'),
        ({'tools': '{tcp: {link: a, xyz: [.nan, 0, 0]}}'}, 'tools.tcp.xyz: wrong type'),
        ({'tools': '{tcp: {link: a, xyz: [[1], 0, 0]}}'}, 'in each other'),
        ({'tools': '{tcp: {link: a, xyz: {a: 1}}}'}, 'tools.tcp.xyz: wrong type'),
        ({'tools': '{tcp: {xyz: [0, 0, 0]}}'}, "'tcp' has no link"),
        ({'tools': '{tcp: hand}'}, "tools.tcp: has to be a mapping such as {a: …}, not 'hand'"),
        ({'tools': 'hand'}, "tools: has to be a mapping such as {a: …}, not 'hand'"),
        ({'tools': '{7: {link: a}}'}, '7 is no name; put it in quotation marks'),
        ({'tools': '{on: {link: a}}'}, 'True is no name'),
        ({'tools': '{"": {link: a}}'}, 'is no name'),
        ({'tools': '{[a]: {link: a}}'}, ''),
        ({'tools': '{tcp: {link: a, link: b}}'}, "has 'link' twice"),
        ({'tools': '{tcp: {link: a}, tcp: {link: b}}'}, "has 'tcp' twice"),
        ({'tools': '{tcp: {link: a'}, 'is no YAML'),
        ({'tools': '{tcp: {link: 2020-99-99}}'}, ''),
        ({'tools': '!!python/object/apply:os.system ["true"]'}, ''),
        ({'tools': '{a: &x {link: b}, c: *x}'}, 'aliases'),
        ({'tools': '--- {}\n--- {}'}, 'is no YAML'),
        ({'tools': '[' * 100_000}, 'in each other'),
        ({'tools': 'x' * (LONGEST_TEXT + 1)}, 'characters; at most'),
        ({'tools': '\x00'}, 'is no YAML'),
        ({'tools': '{' + ', '.join(f'a{i}: ' for i in range(5000)) + '}'}, 'mapping'),
        ({f'tools.{"x" * 10_000}.lnk': 'x'}, 'there is no field'),
    ],
)
def test_bad_mappings_are_refused(values, words):
    with pytest.raises(OptionError) as caught:
        SPEC.read(values)
    assert words in str(caught.value)
    assert len(str(caught.value)) < 1500


def test_a_long_text_is_read_in_time():
    text = '{' + ', '.join(f'tool_{i}: {{link: hand}}' for i in range(7000)) + '}'
    assert len(text) < LONGEST_TEXT
    began = time.thread_time()
    assert len(SPEC.read({'tools': text})) == 7000
    assert time.thread_time() - began < 5.0
