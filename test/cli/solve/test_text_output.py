from dataclasses import replace
import re

import numpy as np
from support.solve_helpers import request_of, solved_request

from ik_service.cli.solve import text_output
from ik_service.cli.solve.text_output import trace_lines


def test_the_table_says_how_much_is_left_to_the_nearer_limit():
    request, (outcome,) = solved_request('panda', '--random', 5)
    lines = text_output.joint_table(request, outcome)
    chain, q = request.chain, outcome.result.q
    assert len(lines) == 1 + chain.n
    for line, value, lower, upper in zip(lines[1:], q, chain.lower, chain.upper, strict=True):
        assert f' {min(value - lower, upper - value):.4f} rad ' in line


def test_free_axes_are_named():
    words = ['panda', '--xyz', 0.4, 0, 0.5, '--rpy', 180, 0, 0]
    request = request_of(*words, '--set', 'task_weights=1,1,1,1,1,0')
    assert any('(free: about z)' in line for line in text_output.request_lines(request))


def test_motion_is_measured_from_the_seed_within_the_limits():
    request, (outcome,) = solved_request(
        'planar_6r', '--joints', *[0.1] * 6, '--seed', 99, *[0.1] * 5, '--set', 'max_searches=1'
    )
    inside = outcome.result.q[0] - outcome.motion[0]
    assert request.chain.lower[0] <= inside <= request.chain.upper[0]


def test_the_remark_of_a_solver_is_shown():
    request, (outcome,) = solved_request('panda', '--random')
    lines = text_output.outcome_lines(request, replace(outcome, remark='no matrix was inverted'))
    assert '          no matrix was inverted' in lines


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
