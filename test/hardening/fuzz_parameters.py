"""Random parameters of any name, type and value, through the parameter services of the node."""

from __future__ import annotations

import time

import numpy as np
from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue
from rcl_interfaces.srv import (
    DescribeParameters,
    GetParameters,
    GetParameterTypes,
    ListParameters,
    SetParameters,
    SetParametersAtomically,
)
from support.harness import until

from hardening.fuzz_requests import ask_all, check_node, Client
from hardening.hostile_requests import NAMES, NUMBERS
from hardening.rows import memory, percentile, Row
from hardening.stage import Stage
from ik_service.ros.node.parameter_table import PARAMETERS

_OTHERS = ('use_sim_time', 'qos_overrides./x', 'publish_rat', '', 'solver', 'solver.', 'a' * 5000)
_UNSET = ParameterType.PARAMETER_NOT_SET
_KINDS = {float: 'double_value', int: 'integer_value', str: 'string_value', bool: 'bool_value'}
_TYPES = {float: ParameterType.PARAMETER_DOUBLE, int: ParameterType.PARAMETER_INTEGER,
          str: ParameterType.PARAMETER_STRING, bool: ParameterType.PARAMETER_BOOL}  # fmt: skip
_SERVICES = {
    'set_parameters': SetParameters,
    'set_parameters_atomically': SetParametersAtomically,
    'get_parameters': GetParameters,
    'describe_parameters': DescribeParameters,
    'get_parameter_types': GetParameterTypes,
    'list_parameters': ListParameters,
}
# Settings that need kernels which may not be compiled yet: minutes on a cold cache.
_SLOW = ('solver.name', 'solver.jacobian', 'solver.joint_limits', 'solver.objective',
         'solver.extension')  # fmt: skip


class _Maker:
    def __init__(self, seed, compile_too):
        self._rng = np.random.default_rng(seed)
        self._rows = [row for row in PARAMETERS.values() if compile_too or row.name not in _SLOW]

    def parameter(self):
        """A parameter, about half of them right."""
        row = self._one_of(self._rows)
        name = self._one_of(_OTHERS) if self._rng.random() < 0.1 else row.name
        kind = type(row.default)
        if self._rng.random() < 0.7 and kind in _KINDS:
            value = ParameterValue(type=_TYPES[kind], **{_KINDS[kind]: self._good(row)})
        else:
            value = self._bad()
        return Parameter(name=name, value=value)

    def _good(self, row):
        if row.choices:
            return self._one_of(row.choices)
        if row.bounds is None:
            return row.default
        low, high = row.bounds
        value = self._rng.uniform(low, min(high, low + 10.0))
        return int(value) if isinstance(row.default, int) else float(value)

    def _bad(self):
        value = ParameterValue(
            type=int(self._one_of((0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 200, 255)))
        )
        value.double_value = float(self._one_of(NUMBERS))
        value.integer_value = int(self._one_of((-(2**63), -1, 0, 1, 2**63 - 1)))
        value.string_value = self._one_of(NAMES)
        value.double_array_value = [float(self._one_of(NUMBERS))] * int(self._rng.integers(9))
        value.string_array_value = [self._one_of(NAMES)] * int(self._rng.integers(3))
        return value

    def _one_of(self, values):
        return values[int(self._rng.integers(len(values)))]

    def count(self, largest):
        return int(self._one_of((0, 1, 1, 2, 5, 20, largest)))


def fuzz_parameters(bench, count, seed=1, largest=200, compile_too=False) -> Row:
    """
    Send requests to the parameter services, and check that each is answered in full.

    :param largest: parameters in one request, at most.
    :param compile_too: whether methods may be chosen that have to be compiled.
    """
    row, began = Row('hostile parameters', count), time.monotonic()
    stage = Stage(bench)
    maker = _Maker(seed, compile_too)
    clients = {name: Client(bench, kind, f'ik_service/{name}') for name, kind in _SERVICES.items()}
    jobs = []
    for number in range(count):
        name = (*_SERVICES, 'set_parameters')[number % 3 if number % 9 else number % 7]
        jobs.append((clients[name], _request(_SERVICES[name], maker, largest)))
    # One at a time: whatever has no answer is then known.
    warm = ask_all(jobs[:20], 1)
    before = memory(stage.node.pid)
    found = [*warm, *ask_all(jobs[20:], 1)]
    for one in found:
        if one.answer is not None and _incomplete(one):
            row.object_to(f'{_incomplete(one)} for {type(one.request).__name__}')
    row.count, row.lost = len(found), sum(one.answer is None for one in found)
    row.notes += [f'no answer: {_brief(one.request)}' for one in found if one.answer is None][:5]
    row.p99 = percentile([one.took for one in found if one.answer is not None])
    row.memory = memory(stage.node.pid) - before if count > 500 else None
    check_node(row, stage.node)
    _check_it_still_works(row, stage)
    row.seconds = time.monotonic() - began
    return row


def _request(kind, maker, largest):
    request = kind.Request()
    if hasattr(request, 'parameters'):
        request.parameters = [maker.parameter() for _ in range(maker.count(largest))]
    elif hasattr(request, 'names'):
        request.names = [maker.parameter().name for _ in range(maker.count(largest))]
    else:
        request.prefixes = [maker.parameter().name for _ in range(maker.count(20))]
        request.depth = maker.count(3)
    return request


def _brief(request):
    parameters = getattr(request, 'parameters', [])
    return [(parameter.name[:40], parameter.value.type) for parameter in parameters][:20]


def _incomplete(one):
    results = getattr(one.answer, 'results', None)
    if results is not None and len(results) != len(one.request.parameters):
        return f'{len(results)} results for {len(one.request.parameters)} parameters'
    for result in results or ():
        if not result.successful and not result.reason:
            return 'a refusal without a reason'
    return None


def _check_it_still_works(row, stage):
    """Check that a target is followed once the parameters are good again."""
    results = stage.set(publish_rate=100.0, velocity_scaling=0.5, acceleration_time=0.2,
                        state_timeout=0.5, target_timeout=0.0, lag_limit=0.25,
                        use_sim_time=False)  # fmt: skip
    if not all(result.successful for result in results):
        row.object_to(f'good parameters were refused: {[r.reason for r in results]}')
    stage.bench.set_parameters('ik_service', **{
        'solver.name': 'levenberg_marquardt', 'solver.position_tolerance': 1e-5,
        'solver.orientation_tolerance': 1e-5, 'solver.timeout': 0.05,
        'solver.task_weights': [1.0] * 6, 'solver.max_iterations': 0, 'solver.max_searches': 0,
        'solver.step_gain': 0.0, 'solver.damping': -1.0, 'solver.seed_source': 'given',
    })  # fmt: skip
    stage.arm.forget()
    stage.send(stage.far_away())
    try:
        until(lambda: any(s.v.any() for s in stage.arm.recorded()), 5.0, 'motion')
    except AssertionError as error:
        row.object_to(f'afterwards a target is not followed any more: {error}')
