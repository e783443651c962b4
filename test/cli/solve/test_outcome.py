import time

import numpy as np
import pytest
from support.solve_helpers import request_of, solved_request

from ik_service import IkStatus, Solver
from ik_service.cli.solve import outcome as outcomes
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
