import re

import numpy as np
from support.solve_helpers import answered

from ik_service.cli.solve.trace import trace_lines


def test_a_short_trace_is_shown_whole():
    question, (answer,) = answered('ur5e', '--random', 7)
    lines = trace_lines(question, answer)
    assert len(lines) == 1 + len(answer.trace.search)
    assert lines[1].endswith('start')
    largest = np.abs(answer.trace.step[1]).argmax()
    step = np.degrees(answer.trace.step[1][largest])
    assert lines[2].endswith(f'{step:+.2f}°  {question.chain.joint_names[largest]}')
    assert f' {1e3 * answer.trace.position_error[1]:.3g} mm ' in lines[2]


def test_the_middle_of_a_long_search_is_left_out_and_counted():
    question, (answer,) = answered(
        'ur5e', '--random', 7, '--solver', 'transpose', '--set', 'max_searches=1'
    )
    first = int((answer.trace.search == 0).sum())
    lines = trace_lines(question, answer)
    assert first > 100
    shown = [line for line in lines if line.startswith('1 ')]
    assert f'… {first - len(shown)} iterations' in lines
    assert lines[-1] == '(--json --trace shows all of them)'


def test_searches_in_the_middle_are_left_out_and_counted():
    question, (answer,) = answered('panda', '--random', 2, '--set', 'prefer=nearest')
    lines = trace_lines(question, answer)
    assert answer.result.searches > 20
    gap = next(line for line in lines if 'searches' in line)
    iterations, searches = map(int, re.fullmatch(r'… (\d+) iterations in (\d+) \w+', gap).groups())
    assert searches == answer.result.searches - 3
    inside = (answer.trace.search >= 2) & (answer.trace.search < answer.result.searches - 1)
    assert iterations == inside.sum() - searches
    assert [line.split()[0] for line in lines if line.endswith('start')] == [
        '1', '2', str(answer.result.searches),
    ]  # fmt: skip


def test_the_final_approach_is_named():
    question, (answer,) = answered('panda', '--xyz', 0, 0, 2)
    lines = trace_lines(question, answer)
    assert all(line.startswith(('approach', '…', '(')) for line in lines[1:])


def test_an_error_that_does_not_matter_is_free():
    question, (answer,) = answered('panda', '--random', '--position-only')
    assert all(' free  ' in line for line in trace_lines(question, answer)[1:])
