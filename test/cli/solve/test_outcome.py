import json
import re
import time

import numpy as np
import pytest
from support.solve_helpers import request_of, solved_request

from ik_service import IkStatus, Solver
from ik_service.cli.solve import outcome as outcomes
from ik_service.cli.solve.main import main
from ik_service.cli.solve.outcome import find_all
from ik_service.cli.solve.text_output import solution_lines
from ik_service.exceptions import OptionError


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
    timing = outcome.timing
    assert 3 <= timing.repeats <= 101
    assert 0.0 < timing.solver <= timing.call < timing.first
    assert outcome.result.solve_time == timing.solver
    (once,) = outcomes.solve_request(request)
    assert once.timing.repeats == 1


def test_a_slow_solve_is_not_repeated_for_long():
    # Below the base: within the length of the arm, but not within its limits.
    words = ['--xyz', 0, 0, -0.7, '--set', 'timeout=0.2', 'max_searches=100000000']
    began = time.perf_counter()
    _, (outcome,) = solved_request('panda', *words)
    assert outcome.result.status is IkStatus.TIMED_OUT
    assert time.perf_counter() - began < 4.0


def test_an_option_that_the_only_solver_does_not_use_is_an_error():
    with pytest.raises(OptionError, match='step_gain: is not used by levenberg_marquardt'):
        solved_request('panda', '--random', '--set', 'step_gain=1')


def test_compilation_is_announced(monkeypatch, capsys):
    monkeypatch.setattr(outcomes, '_LONG', 0.01)
    with outcomes.compiling_notice('transpose, by its transpose'):
        time.sleep(0.2)
    assert capsys.readouterr().err.startswith('compiling transpose, by its transpose: ')


def test_quick_loading_prints_nothing(capsys):
    with outcomes.compiling_notice('transpose, by its transpose'):
        pass
    time.sleep(0.05)
    assert capsys.readouterr().err == ''


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
    assert re.search(r'not all solutions.*more than 1000', printed)
