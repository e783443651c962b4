import json
import math

import numpy as np
import pytest
from support.solve_helpers import solved_request

from ik_service import IkOptions, solver_names
from ik_service.cli.solve.json_output import FORMAT, json_text

KEYS = {
    'format', 'ik_service', 'solved', 'robot', 'joints', 'target', 'seed', 'avoid_collisions',
    'options', 'results', 'refused', 'notes',
}  # fmt: skip
RESULT_KEYS = {
    'solver', 'remark', 'success', 'status', 'reason', 'hint', 'collision', 'q', 'reached',
    'position_error_m', 'orientation_error_rad', 'iterations', 'searches', 'motion_from_seed',
    'solve_time_s', 'call_time_s', 'first_call_time_s', 'timed_calls', 'trace',
}  # fmt: skip


def as_json(*words, traced=False):
    request, outcomes = solved_request(*words)

    def refuse(name):
        raise AssertionError(f'{name} is no JSON')

    return (
        request,
        outcomes,
        json.loads(json_text(request, outcomes, traced), parse_constant=refuse),
    )


@pytest.mark.parametrize('words', [['--random'], ['--random', '--solver', 'all']])
def test_the_names_are_the_same_for_one_solver_and_for_all(words):
    _, outcomes, content = as_json('panda', *words)
    assert content.keys() == KEYS
    assert content['format'] == FORMAT
    assert len(content['results']) == len(outcomes)
    assert all(result.keys() == RESULT_KEYS for result in content['results'])
    assert set(content['options']) == set(IkOptions.__dataclass_fields__)


def test_the_values_are_those_of_the_result_to_the_last_digit():
    request, (outcome,), content = as_json('ur5e', '--random', 3)
    result = content['results'][0]
    assert result['q'] == outcome.result.q.tolist()
    assert result['status'] == 'SUCCESS'
    assert result['success'] is content['solved'] is True
    assert result['position_error_m'] == outcome.result.position_error
    assert content['target']['matrix'] == request.T_base_target.tolist()
    assert result['reason'] == outcome.result.reason
    assert result['trace'] is None
    x, y, z, w = content['target']['quaternion_xyzw']
    R = np.array(content['target']['matrix'])[:3, :3]
    assert R[0, 0] == pytest.approx(1 - 2 * (y * y + z * z), abs=1e-12)
    assert R[1, 0] == pytest.approx(2 * (x * y + w * z), abs=1e-12)


def test_the_trace_is_complete():
    _, (outcome,), content = as_json('panda', '--random', 2, traced=True)
    trace = content['results'][0]['trace']
    rows = len(outcome.trace.search)
    assert {name: np.shape(values) for name, values in trace.items()} == {
        'search': (rows,),
        'q': (rows, 7),
        'step': (rows, 7),
        'position_error_m': (rows,),
        'orientation_error_rad': (rows,),
    }
    assert content['options']['record_trace'] is True


def test_no_limit_is_null(tmp_path):
    path = tmp_path / 'arm.urdf'
    path.write_text(
        '<robot name="r"><link name="a"/><link name="b"/><joint name="j" type="continuous">'
        '<parent link="a"/><child link="b"/></joint></robot>'
    )
    _, _, content = as_json(path, '--random')
    assert content['joints'] == [
        {'name': 'j', 'type': 'continuous', 'unit': 'rad', 'lower': None, 'upper': None}
    ]
    assert math.isfinite(content['results'][0]['q'][0])


def test_solvers_that_refuse_are_named_with_the_reason():
    _, _, content = as_json('panda', '--random', '--solver', 'all', '--set', 'step_gain=0.9')
    solvers = {entry['solver'] for entry in (*content['results'], *content['refused'])}
    assert solvers == {*solver_names()}
    reasons = {entry['solver']: entry['reason'] for entry in content['refused']}
    assert reasons['levenberg_marquardt'].startswith('step_gain: is not used')
