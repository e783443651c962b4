"""Parameter services: every request is answered, and reading never waits."""

from __future__ import annotations

import threading
import time

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from diagnostic_msgs.msg import DiagnosticArray
from moveit_msgs.srv import GetPositionIK
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
from support.ros.servers import PANDA, TIP
import yaml

from ik_service.exceptions import IkServiceError
from ik_service.ros.node.ik_node import IkNode
from ik_service.ros.parameters.parameter_services import MOST, ParameterServices, wrong_type


def text(name, value):
    return ParameterMessage(
        name=name, value=ParameterValue(type=ParameterType.PARAMETER_STRING, string_value=value)
    )


@pytest.fixture(scope='module')
def node(ros_context):
    """An IK node without a robot: its parameters are all there."""
    node = Node('parameters', context=ros_context, start_parameter_services=False)
    from ik_service.ros.node.parameters import NodeParameters

    node.settings = NodeParameters(node)
    yield node
    node.destroy_node()


@pytest.fixture(scope='module')
def services(node):
    return ParameterServices(node, replace=node.settings.replaced_in_texts)


def put(services, *messages):
    request = SetParameters.Request(parameters=list(messages))
    return services._set(request, SetParameters.Response()).results


def put_together(services, *messages):
    request = SetParametersAtomically.Request(parameters=list(messages))
    return services._set_together(request, SetParametersAtomically.Response()).result


def test_fields_of_an_entry_of_the_text_are_set_in_the_text(node, services):
    assert put(services, text('tool_frames', '{t: {link: a, xyz: [0, 0, 1]}}'))[0].successful
    changes = double('tool_frames.t.xyz', [1.0, 2.0, 3.0]), text('tool_frames.t.link', 'b')
    assert put_together(services, *changes, double('publish_rate', 70.0)).successful
    frame = node.settings.arm.tool_frames['t']
    assert (frame.link, frame.xyz) == ('b', (1.0, 2.0, 3.0))
    for message, reason in [
        (text('tool_frames.t.xyz', 'here'), 'tool_frames.t.xyz: wrong type'),
        (text('tool_frames.t.lnk', 'b'), 'is link meant'),
        (text('tool_frames.other.link', 'b'), 'there is no such parameter'),
        (text('tool_frames.t', 'b'), 'there is no such parameter'),
    ]:
        (result,) = put(services, message)
        assert not result.successful
        assert reason in result.reason
    assert put(services, text('tool_frames', ''))[0].successful


def double(name, value):
    return Parameter(name, value=value).to_parameter_msg()


def test_a_type_that_does_not_exist_is_refused(services):
    wrong = ParameterMessage(name='publish_rate', value=ParameterValue(type=255))
    first, second = put(services, wrong, double('publish_rate', 90.0))
    assert not first.successful
    assert 'publish_rate: type 255' in first.reason
    assert second.successful
    assert not put_together(services, double('publish_rate', 80.0), wrong).successful
    assert services._node.get_parameter('publish_rate').value == 90.0


def test_an_unknown_name_is_refused_with_the_nearest(services):
    (result,) = put(services, double('publish_rat', 50.0))
    assert result.reason == 'publish_rat: there is no such parameter; is publish_rate meant?'
    (result,) = put(services, double('x' * 10_000_000, 50.0))
    assert not result.successful
    assert len(result.reason) < 400


def test_a_number_that_yaml_takes_for_text_is_refused_with_how_to_write_it(services):
    (result,) = put(services, text('solver.timeout', '1e-4'))
    assert not result.successful
    assert "not the text '1e-4'; write 1.0e-4" in result.reason
    (result,) = put(services, Parameter('publish_rate', value=50).to_parameter_msg())
    assert result.reason.endswith('not the whole number 50; write 50.0')


def test_many_entries_are_refused_at_once_each_with_a_reason(services):
    begin = time.thread_time()
    results = put(services, *[double('publish_rate', 50.0)] * 10_000)
    assert time.thread_time() - begin < 0.5
    assert len(results) == 10_000
    assert not any(result.successful for result in results)
    assert results[-1].reason == '10000 parameters in one request; at most 1000 are taken'
    assert not put_together(services, *[double('publish_rate', 50.0)] * 1001).successful


def test_the_largest_accepted_number_of_entries_is_set(services):
    results = put(services, *[double('publish_rate', 50.0 + i) for i in range(MOST // 10)])
    assert all(result.successful for result in results)
    assert services._node.get_parameter('publish_rate').value == 50.0 + MOST // 10 - 1


def test_an_error_in_the_node_is_an_answer(services, monkeypatch):
    def broken(parameters):
        raise MemoryError('no room')

    monkeypatch.setattr(services._node, 'set_parameters_atomically', broken)
    (result,) = put(services, double('publish_rate', 50.0))
    assert result.reason == 'error in the node: MemoryError: no room'


def test_reading(services):
    names = ['publish_rate', 'solver.name']
    answer = services._get(GetParameters.Request(names=names), GetParameters.Response())
    assert answer.values[1].string_value == 'levenberg_marquardt'
    answer = services._get_types(
        GetParameterTypes.Request(names=names), GetParameterTypes.Response()
    )
    assert list(answer.types) == [
        ParameterType.PARAMETER_DOUBLE,
        ParameterType.PARAMETER_STRING,
    ]
    answer = services._describe(
        DescribeParameters.Request(names=names), DescribeParameters.Response()
    )
    assert answer.descriptors[0].floating_point_range
    answer = services._list(ListParameters.Request(prefixes=['solver']), ListParameters.Response())
    assert 'solver.name' in answer.result.names
    assert 'publish_rate' not in answer.result.names


@pytest.mark.parametrize('names', [['publish_rate', 'tail'], ['publish_rate'] * 10_000])
def test_reading_unknown_parameters(services, names):
    assert not services._get(GetParameters.Request(names=names), GetParameters.Response()).values
    answer = services._describe(
        DescribeParameters.Request(names=names), DescribeParameters.Response()
    )
    assert not answer.descriptors


@pytest.fixture
def slow_compiler(bench, ros_context):
    """An IK node whose compiler waits until it is told to go on: the node, and that event."""
    go_on = threading.Event()
    overrides = [Parameter('urdf', value=str(PANDA)), Parameter('tip_link', value=TIP)]
    node = IkNode(context=ros_context, namespace=bench.namespace, parameter_overrides=overrides)
    node.compiling = []
    prepare = node._compiler.prepare

    def wait(solver):
        node.compiling.append(solver.name)
        assert go_on.wait(60.0)
        prepare(solver)

    node._compiler.prepare = wait
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
    until(lambda: node.compiling, what='the compiler')
    assert bench.get_parameters('ik_service', 'solver.name') == ['levenberg_marquardt']
    assert bench.set_parameters('ik_service', velocity_scaling=0.0)[0].successful
    diagnostics = bench.record(DiagnosticArray, 'diagnostics')
    for _ in range(2):
        diagnostics.next()
    assert not waiting.done()
    go_on.set()
    until(waiting.done, 60.0, 'the answer')
    assert waiting.result().results[0].successful
    assert bench.get_parameters('ik_service', 'solver.name', 'velocity_scaling') == [
        'transpose',
        0.0,
    ]


def test_too_many_solvers_waiting_for_the_compiler_are_refused(monkeypatch):
    from ik_service.arm import compilation as compiling

    go_on, begun = threading.Event(), threading.Semaphore(0)

    class Slow:
        chain = None
        compiled = cached = False

        def __init__(self, name):
            self.name = name

        def warm_up(self):
            self.compiled = True

    def compile_(self, solver):
        begun.release()
        assert go_on.wait(60.0)

    monkeypatch.setattr(compiling.Compiler, '_compile', compile_)
    monkeypatch.setattr(compiling, 'cache_folder', lambda: '/')
    compiler = compiling.Compiler(pytest.fail)
    solvers = [Slow(f'solver {i}') for i in range(compiling.MOST_WAITING)]
    threads = [threading.Thread(target=compiler.prepare, args=(solver,)) for solver in solvers]
    for thread in threads:
        thread.start()
    assert begun.acquire(timeout=10.0)
    until(lambda: compiler._places._value == 0, what='all that may wait')
    with pytest.raises(IkServiceError, match=f'{len(solvers)} others wait'):
        compiler.prepare(Slow('one more'))
    go_on.set()
    for thread in threads:
        thread.join(10.0)
    assert all(solver.compiled for solver in solvers)


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


@pytest.mark.parametrize('value', ['fast', True, None, [], ['a'], 'x' * 10_000])
def test_without_a_valid_form_none_is_suggested(value):
    reason = wrong_type(DOUBLE, value)
    assert reason.startswith('wrong type: has to be a number with a decimal point, not ')
    assert 'write' not in reason
    assert len(reason) < 400
