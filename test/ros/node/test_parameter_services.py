"""Parameters at the start of a node and by its services: each request is answered."""

from array import array
import json
import threading
import time
from unittest.mock import MagicMock

from diagnostic_msgs.msg import DiagnosticArray
from moveit_msgs.srv import GetPositionIK
import pytest
from rcl_interfaces.msg import Parameter as ParameterMessage
from rcl_interfaces.msg import ParameterType, ParameterValue
from rcl_interfaces.srv import (
    DescribeParameters,
    GetParameters,
    GetParameterTypes,
    ListParameters,
    SetParameters,
    SetParametersAtomically,
)
from rclpy.node import Node
from rclpy.parameter import Parameter
from support.harness import START_TIMEOUT, until
from support.ros.nodes import ended, NODE
from support.ros.servers import PANDA, TIP
import yaml

from ik_service.arm import compilation
from ik_service.common.shared_parameters import files_for_others, given_to_all_nodes
from ik_service.exceptions import IkServiceError, OptionError
from ik_service.ros.node.ik_node import IkNode
from ik_service.ros.node.parameters import NodeParameters
from ik_service.ros.parameters.mapping_parameters import LONGEST_TEXT, MappingField, MappingSpec
from ik_service.ros.parameters.parameter_services import MOST, ParameterServices, wrong_type


def text(name, value):
    return ParameterMessage(
        name=name, value=ParameterValue(type=ParameterType.PARAMETER_STRING, string_value=value)
    )


def double(name, value):
    return Parameter(name, value=value).to_parameter_msg()


class Services:
    """An IK node without a robot, whose parameters are all there, and calls of its services."""

    def __init__(self, context):
        self.node = Node('parameters', context=context, start_parameter_services=False)
        self.settings = NodeParameters(self.node)
        ParameterServices(self.node, replace=self.settings.replaced_in_texts)

    def call(self, kind, **fields):
        (service,) = (each for each in self.node.services if each.srv_type is kind)
        return service.callback(kind.Request(**fields), kind.Response())

    def put(self, *messages):
        return self.call(SetParameters, parameters=list(messages)).results

    def put_together(self, *messages):
        return self.call(SetParametersAtomically, parameters=list(messages)).result

    def value(self, name):
        return self.node.get_parameter(name).value


@pytest.fixture(scope='module')
def services(ros_context):
    services = Services(ros_context)
    yield services
    services.node.destroy_node()


def test_fields_of_an_entry_of_the_text_are_set_in_the_text(services):
    assert services.put(text('tool_frames', '{t: {link: a, xyz: [0, 0, 1]}}'))[0].successful
    changes = double('tool_frames.t.xyz', [1.0, 2.0, 3.0]), text('tool_frames.t.link', 'b')
    assert services.put_together(*changes, double('publish_rate', 70.0)).successful
    frame = services.settings.arm.tool_frames['t']
    assert (frame.link, frame.xyz) == ('b', (1.0, 2.0, 3.0))
    for message, reason in [
        (text('tool_frames.t.xyz', 'here'), 'tool_frames.t.xyz: wrong type'),
        (text('tool_frames.t.lnk', 'b'), 'is link meant'),
        (text('tool_frames.other.link', 'b'), 'there is no such parameter'),
        (text('tool_frames.t', 'b'), 'there is no such parameter'),
    ]:
        (result,) = services.put(message)
        assert not result.successful
        assert reason in result.reason
    assert services.put(text('tool_frames', ''))[0].successful


def test_a_type_that_does_not_exist_is_refused(services):
    wrong = ParameterMessage(name='publish_rate', value=ParameterValue(type=255))
    first, second = services.put(wrong, double('publish_rate', 90.0))
    assert not first.successful
    assert 'publish_rate: type 255' in first.reason
    assert second.successful
    assert not services.put_together(double('publish_rate', 80.0), wrong).successful
    assert services.value('publish_rate') == 90.0


def test_an_unknown_name_is_refused_with_the_nearest(services):
    (result,) = services.put(double('publish_rat', 50.0))
    assert result.reason == 'publish_rat: there is no such parameter (is publish_rate meant?)'
    (result,) = services.put(double('x' * 10_000_000, 50.0))
    assert not result.successful
    assert len(result.reason) < 400


def test_a_number_that_yaml_takes_for_text_is_refused_with_how_to_write_it(services):
    (result,) = services.put(text('solver.timeout', '1e-4'))
    assert not result.successful
    assert "not the text '1e-4'; write 1.0e-4" in result.reason
    (result,) = services.put(Parameter('publish_rate', value=50).to_parameter_msg())
    assert result.reason.endswith('not the whole number 50; write 50.0')


def test_many_entries_are_refused_at_once_each_with_a_reason(services):
    begin = time.thread_time()
    results = services.put(*[double('publish_rate', 50.0)] * 10_000)
    assert time.thread_time() - begin < 0.5
    assert len(results) == 10_000
    assert not any(result.successful for result in results)
    assert results[-1].reason == '10000 parameters in one request; at most 1000 are taken'
    assert not services.put_together(*[double('publish_rate', 50.0)] * 1001).successful


def test_the_largest_accepted_number_of_entries_is_set(services):
    results = services.put(*[double('publish_rate', 50.0 + i) for i in range(MOST // 10)])
    assert all(result.successful for result in results)
    assert services.value('publish_rate') == 50.0 + MOST // 10 - 1


def test_an_error_in_the_node_is_an_answer(services, monkeypatch):
    def broken(parameters):
        raise MemoryError('no room')

    monkeypatch.setattr(services.node, 'set_parameters_atomically', broken)
    (result,) = services.put(double('publish_rate', 50.0))
    assert result.reason == 'error in the node: MemoryError: no room'


def test_reading(services):
    names = ['publish_rate', 'solver.name']
    assert (
        services.call(GetParameters, names=names).values[1].string_value == 'levenberg_marquardt'
    )
    assert list(services.call(GetParameterTypes, names=names).types) == [
        ParameterType.PARAMETER_DOUBLE,
        ParameterType.PARAMETER_STRING,
    ]
    assert services.call(DescribeParameters, names=names).descriptors[0].floating_point_range
    listed = services.call(ListParameters, prefixes=['solver']).result.names
    assert 'solver.name' in listed
    assert 'publish_rate' not in listed


@pytest.mark.parametrize('names', [['publish_rate', 'tail'], ['publish_rate'] * 10_000])
def test_reading_unknown_parameters(services, names):
    assert not services.call(GetParameters, names=names).values
    assert not services.call(DescribeParameters, names=names).descriptors


@pytest.fixture
def slow_compiler(bench, ros_context, monkeypatch):
    """An IK node, and an event: its compiler waits for that, and leaves transpose uncompiled."""
    go_on = threading.Event()
    overrides = [Parameter('urdf', value=str(PANDA)), Parameter('tip_link', value=TIP)]
    node = IkNode(context=ros_context, namespace=bench.namespace, parameter_overrides=overrides)
    node.compiling = []
    prepare = compilation.Compiler.prepare

    def wait(compiler, solver, **how):
        node.compiling.append(solver.name)
        assert go_on.wait(60.0)
        if solver.name != 'transpose':
            prepare(compiler, solver, **how)

    monkeypatch.setattr(compilation.Compiler, 'prepare', wait)
    node.start()
    try:
        with node.running():
            yield node, go_on
    finally:
        go_on.set()
        node.destroy_node()


def test_other_requests_are_served_while_a_solver_is_compiled(bench, slow_compiler):
    node, go_on = slow_compiler
    bench.service_client(GetPositionIK, 'compute_ik', START_TIMEOUT)  # the node is ready
    client = bench.service_client(SetParameters, 'ik_service/set_parameters')
    choice = SetParameters.Request(parameters=[text('solver.name', 'transpose')])
    waiting = client.call_async(choice)
    until(lambda: 'transpose' in node.compiling, what='the compiler')
    assert bench.get_parameters('ik_service', 'solver.name') == ['levenberg_marquardt']
    bench.configure('ik_service', velocity_scaling=0.0)
    diagnostics = bench.record(DiagnosticArray, 'diagnostics')
    for _ in range(2):
        diagnostics.next()
    assert not waiting.done()
    go_on.set()
    until(waiting.done, what='the answer')
    assert waiting.result().results[0].successful
    assert bench.get_parameters('ik_service', 'solver.name', 'velocity_scaling') == [
        'transpose',
        0.0,
    ]


class SlowSolver:
    """A solver that is not compiled before it is warmed up."""

    chain, name = None, 'slow'
    compiled = cached = False

    def warm_up(self):
        self.compiled = True


@pytest.mark.parametrize('refusable', [True, False])
def test_of_solvers_that_wait_for_the_compiler_only_changes_are_refused(monkeypatch, refusable):
    go_on, refusals = threading.Event(), []
    child = MagicMock()
    child.__enter__.return_value.wait_for = lambda *_: go_on.wait(60.0)
    monkeypatch.setattr(compilation, 'ChildProcess', lambda *_: child)
    monkeypatch.setattr(compilation, 'cache_folder', lambda: '/')
    compiler = compilation.Compiler(pytest.fail)
    solvers = [SlowSolver() for _ in range(compilation.MOST_WAITING + 1)]

    def prepare(solver):
        try:
            compiler.prepare(solver, refusable)
        except IkServiceError as error:
            refusals.append(str(error))

    threads = [threading.Thread(target=prepare, args=(solver,)) for solver in solvers]
    for thread in threads:
        thread.start()
    until(lambda: len(refusals) == refusable, what='the refusal of one of them')
    go_on.set()
    for thread in threads:
        thread.join(60.0)
    assert all(f'{compilation.MOST_WAITING} others wait' in refusal for refusal in refusals)
    assert sum(solver.compiled for solver in solvers) == len(solvers) - refusable


DOUBLE, DOUBLES = Parameter.Type.DOUBLE, Parameter.Type.DOUBLE_ARRAY


@pytest.mark.parametrize(
    ('wanted', 'given', 'written'),
    [
        (DOUBLE, '1e-4', '1.0e-4'),
        (DOUBLE, '-2E5', '-2.0e+5'),
        (DOUBLE, '1.25e3', '1.25e+3'),
        (DOUBLE, '5', '5.0'),
        (DOUBLES, '[1, 1, 0]', '[1.0, 1.0, 0.0]'),
        (Parameter.Type.STRING, '0', '"\'0\'"'),
    ],
)
def test_the_suggested_form_is_read_as_the_right_type(wanted, given, written):
    reason = wrong_type(wanted, yaml.safe_load(given))
    assert reason.endswith(f'; write {written}')
    # The shell takes the outer quotes away.
    assert Parameter('x', value=yaml.safe_load(written.strip('"'))).type_ is wanted


def test_a_text_that_yaml_takes_for_a_switch_is_to_be_quoted():
    reason = wrong_type(Parameter.Type.STRING, yaml.safe_load('yes'))
    assert reason.endswith(
        'has to be text, not true; write it in quotation marks, such as "\'y\'"'
    )


@pytest.mark.parametrize('value', ['fast', True, None, [], ['a'], 'x' * 10_000])
def test_without_a_valid_form_none_is_suggested(value):
    reason = wrong_type(DOUBLE, value)
    assert reason.startswith('wrong type: has to be a number with a decimal point, not ')
    assert 'write' not in reason
    assert len(reason) < 400


@pytest.mark.parametrize(
    ('module', 'parameters', 'sentence'),
    [
        (
            NODE,
            {'publish_rat': 50.0, 'quux': 1, 'ee_frame': 'tool0'},
            '; nor are there publish_rat, quux',
        ),
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
        'publish_rat, which is given to all nodes, is ignored: .*publish_rate meant',
        'camera.rate, which is given to all nodes, is ignored',
    )
    for text in wanted:
        node.wait_for(text, 60.0)
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


def test_parameters_that_launch_gives_to_all_nodes_may_be_of_another(bench):
    # SetParameter comes as -p after the name of the node, what a user types before or without it.
    words = ['--ros-args', '-p', 'quux:=1', '-r', '__node:=arm', '-p', 'camera:=2.0']
    assert given_to_all_nodes(words) == {'camera'}
    node = bench.start(NODE, *words[:1], *words[3:], '-p', f'urdf:={PANDA}', '--', ready=None)
    node.wait_for('camera, which is given to all nodes, is ignored: there is no such', 60.0)


@pytest.mark.parametrize(
    ('section', 'node', 'is_for'),
    [
        ('ik_service', '/ik_service', True),
        ('/**', '/cell/ik_service', True),
        ('ik_service', '/cell/ik_service', False),
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
        ({'tools.tcp.link': 7}, 'tools.tcp.link: wrong type: has to be text, not the whole'),
        ({'tools.tcp.xyz': 7.0}, 'wrong type: has to be a list of numbers'),
        ({'tools.tcp.timeout': True}, 'wrong type: has to be a number'),
        ({'tools.tcp.xyz': [0.0]}, "tools: 'tcp' has no link"),
        ({'tools': '{tcp: {link: a, xyz: [.nan, 0, 0]}}'}, 'tools.tcp.xyz: wrong type'),
        ({'tools': '{tcp: {link: a, xyz: [[1], 0, 0]}}'}, 'in each other'),
        ({'tools': '{tcp: hand}'}, "tools.tcp: has to be a mapping such as {a: …}, not 'hand'"),
        ({'tools': 'hand'}, "tools: has to be a mapping such as {a: …}, not 'hand'"),
        ({'tools': '{7: {link: a}}'}, '7 is no name; put it in quotation marks'),
        ({'tools': '{"": {link: a}}'}, 'is no name'),
        ({'tools': '{[a]: {link: a}}'}, ''),
        ({'tools': '{tcp: {link: a, link: b}}'}, "has 'link' twice"),
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
    assert time.thread_time() - began < 15.0
