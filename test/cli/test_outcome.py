"""Outcomes of solves and their text."""

import json
import math
from pathlib import Path
import re
import threading

import numpy as np
import pytest
from support.chains import transform
from support.solve_helpers import request_of, solved_request

from ik_service import IkOptions, IkStatus, Solver, solver_names
from ik_service.cli import formatting
from ik_service.cli.solve import outcome as outcomes
from ik_service.cli.solve import output
from ik_service.cli.solve.main import main
from ik_service.cli.solve.outcome import find_all
from ik_service.cli.solve.output import FORMAT, json_text, solution_lines, trace_lines
from ik_service.common.transforms import rotation_from_rpy
from ik_service.exceptions import OptionError
from ik_service.jit import cached_files


def test_the_answer_is_that_of_the_solver():
    request, (outcome,) = solved_request('panda', '--random', 4)
    result = Solver(request.chain).solve(request.T_base_target, request.seed)
    np.testing.assert_array_equal(outcome.result.q, result.q)
    assert outcome.result.iterations == result.iterations
    np.testing.assert_array_equal(outcome.T_base_reached, request.chain.forward(result.q))
    np.testing.assert_array_equal(outcome.motion, result.q - request.seed)


def test_the_time_is_that_of_calls_after_the_first():
    request = request_of('panda', '--random', 4)
    (outcome,) = outcomes.solve_request(request, repeats=True)
    assert 3 <= outcome.timed_calls <= 101
    assert 0.0 < outcome.result.solve_time <= outcome.call_time < outcome.first_call_time
    (once,) = outcomes.solve_request(request)
    assert once.timed_calls == 1


def test_a_slow_solve_is_hardly_repeated():
    # Below the base: within the length of the arm, but not within its limits.
    words = ['--xyz', 0, 0, -0.7, '--set', 'timeout=0.2', 'max_searches=100000000']
    (outcome,) = outcomes.solve_request(request_of('panda', *words), repeats=True)
    assert outcome.result.status is IkStatus.TIMED_OUT
    assert outcome.timed_calls <= 4


def test_an_option_that_the_only_solver_does_not_use_is_an_error():
    with pytest.raises(OptionError, match='step_gain: is not used by levenberg_marquardt'):
        solved_request('panda', '--random', '--set', 'step_gain=1')


@pytest.mark.parametrize(
    ('folder', 'later'), [(Path('/cache'), 'later runs start at once'), (None, 'NUMBA_CACHE_DIR')]
)
def test_a_notice_of_compiling_says_whether_later_runs_do_it_again(
    monkeypatch, capsys, folder, later
):
    monkeypatch.setattr(cached_files, 'cache_folder', lambda: folder)
    monkeypatch.setattr(outcomes, '_LONG', 0.0)
    with outcomes.compiling_notice('ccd'):
        for timer in threading.enumerate():
            if isinstance(timer, threading.Timer):
                timer.join()
    assert later in capsys.readouterr().err


def test_a_row_for_each_solution():
    request = request_of('ur5e', '--random', 3)
    solutions = find_all(request, None)
    lines = solution_lines(request, solutions)
    rows = [line.split() for line in lines if re.match(r' *\d+ +-?\d+\.', line)]
    assert len(rows) == len(solutions.q) == 8
    for k, row in enumerate(rows):
        assert int(row[0]) == k + 1
        q = np.array(row[1:7], dtype=float)
        np.testing.assert_allclose(q, solutions.q[k], atol=6e-5)
        error = request.chain.forward(q) - request.T_base_target
        assert np.abs(error).max() < 1e-3
    assert lines[0] == 'Solutions 8, the nearest to the seed first'


def test_as_json(capsys):
    assert main(['ur5e', '--random', '3', '--all', '--json']) == 0
    printed = json.loads(capsys.readouterr().out)
    request = request_of('ur5e', '--random', 3)
    assert printed['solved'] is True
    assert printed['incomplete'] == ''
    assert len(printed['solutions']) == 8
    distances = []
    for solution in printed['solutions']:
        q = np.array(solution['q'])
        assert np.abs(request.chain.forward(q) - request.T_base_target).max() < 1e-9
        distances.append(np.abs(solution['motion_from_seed']).max())
    assert distances == sorted(distances)


@pytest.mark.parametrize('json_words', [(), ('--json',)])
def test_none_ends_with_1(capsys, json_words):
    assert main(['panda', '--xyz', '0', '0', '2', '--all', *json_words]) == 1
    printed = capsys.readouterr().out
    assert '"solutions": []' in printed or 'Solutions 0, there is none' in printed


def test_what_is_missing_is_said(capsys):
    # By their number, which the speed of the machine does not change.
    words = ['panda', '--random', '3', '--all', '--resolution', '0.002', '--set', 'timeout=100']
    assert main(words) == 0
    printed = capsys.readouterr().out
    assert 'Solutions 1000,' in printed
    assert re.search(r'not all solutions.*more than 1000; .* --resolution', printed)


def test_the_table_says_how_much_is_left_to_the_nearer_limit():
    request, (outcome,) = solved_request('panda', '--random', 5)
    lines = output.joint_table(request, outcome)
    chain, q = request.chain, outcome.result.q
    assert len(lines) == 1 + chain.n
    for line, value, lower, upper in zip(lines[1:], q, chain.lower, chain.upper, strict=True):
        assert f' {min(value - lower, upper - value):.4f} rad ' in line


def test_free_axes_are_named():
    words = ['panda', '--xyz', 0.4, 0, 0.5, '--rpy', 180, 0, 0]
    request = request_of(*words, '--set', 'task_weights=1,1,1,1,1,0')
    assert any('(free: about z)' in line for line in output.request_lines(request))


def test_a_short_trace_is_shown_whole():
    request, (outcome,) = solved_request('ur5e', '--random', 7)
    lines = trace_lines(request, outcome)
    assert len(lines) == 1 + len(outcome.trace.search)
    assert lines[1].endswith('start')
    largest = np.abs(outcome.trace.step[1]).argmax()
    step = np.degrees(outcome.trace.step[1][largest])
    assert lines[2].endswith(f'{step:+.2f}°  {request.chain.joint_names[largest]}')
    assert f' {1e3 * outcome.trace.position_error[1]:.3g} mm ' in lines[2]


def test_the_middle_of_a_long_search_is_left_out_and_counted():
    request, (outcome,) = solved_request(
        'ur5e', '--random', 7, '--solver', 'transpose', '--set', 'max_searches=1',
        '--set', 'variant=classical',
    )  # fmt: skip
    first = int((outcome.trace.search == 0).sum())
    lines = trace_lines(request, outcome)
    assert first > 100
    shown = [line for line in lines if line.startswith('1 ')]
    assert f'… {first - len(shown)} iterations' in lines
    assert lines[-1] == '(--json --trace shows all of them)'


def test_searches_in_the_middle_are_left_out_and_counted():
    request, (outcome,) = solved_request('panda', '--random', 2, '--set', 'prefer=nearest')
    lines = trace_lines(request, outcome)
    assert outcome.result.searches > 20
    gap = next(line for line in lines if 'searches' in line)
    iterations, searches = map(int, re.fullmatch(r'… (\d+) iterations in (\d+) \w+', gap).groups())
    assert searches == outcome.result.searches - 3
    inside = (outcome.trace.search >= 2) & (outcome.trace.search < outcome.result.searches - 1)
    assert iterations == inside.sum() - searches
    assert [line.split()[0] for line in lines if line.endswith('start')] == [
        '1', '2', str(outcome.result.searches),
    ]  # fmt: skip


def test_the_final_approach_is_named():
    request, (outcome,) = solved_request('panda', '--xyz', 0, 0, 2)
    lines = trace_lines(request, outcome)
    assert all(line.startswith(('approach', '…', '(')) for line in lines[1:])


def test_an_error_that_does_not_matter_is_free():
    request, (outcome,) = solved_request('panda', '--random', '--position-only')
    assert all(' free  ' in line for line in trace_lines(request, outcome)[1:])


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


def test_a_pose_in_words():
    T = transform(rotation_from_rpy(0.1, -0.2, 0.3), (1.0, -1e-9, -0.25))
    assert formatting.pose_text(T) == (
        'x 1.0000  y 0.0000  z -0.2500 m   roll 5.73  pitch -11.46  yaw 17.19°'
    )
    assert formatting.pose_text(T, False).endswith('m   any orientation')
    assert formatting.pose_text(T, True, 'about z').endswith('(free: about z)')


@pytest.mark.parametrize(
    ('value', 'text'),
    [(0.0, '0'), (3.2e-7, '3.2e-07'), (0.0123, '0.0123'), (994.4, '994'), (1234.5, '1234')],
)
def test_sizes_are_short(value, text):
    assert formatting.size_text(value) == text


@pytest.mark.parametrize(
    ('seconds', 'text'), [(4.2e-6, '4.2 µs'), (0.0123, '12.3 ms'), (1.234, '1.23 s')]
)
def test_times_are_in_a_unit_that_can_be_read(seconds, text):
    assert formatting.time_text(seconds) == text


@pytest.mark.parametrize(
    ('limits', 'text'),
    [
        ((-float('inf'), float('inf'), False), 'none'),
        ((-1.0, 2.0, False), '-1.0000 …  2.0000 rad'),
        ((-float('inf'), 0.5, True), '     −∞ …  0.5000 m'),
    ],
)
def test_limits_in_words(limits, text):
    assert formatting.limits_text(*limits) == text


def test_long_texts_are_wrapped_under_their_label():
    lines = formatting.labelled('Note', 'word ' * 40)
    assert lines[0].startswith('Note      word')
    assert all(line.startswith('          word') for line in lines[1:])
    assert max(map(len, lines)) <= 100


@pytest.mark.parametrize('pitch', [90.0, -90.0])
def test_a_pose_in_gimbal_lock_keeps_its_rotation(pitch):
    T = transform(rotation_from_rpy(*np.radians([40.0, pitch, 0.0])), (0.0, 0.0, 0.0))
    text = formatting.pose_text(T, digits=3)
    assert text.endswith(f'roll 40.0  pitch {pitch:.1f}  yaw 0.0°')
