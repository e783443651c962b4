import time

import numpy as np
import pytest
from support.solve_helpers import answered, question_of

from ik_service import IkStatus, Solver
from ik_service.cli.solve import run as solve_run
from ik_service.exceptions import OptionError


def test_the_answer_is_that_of_the_solver():
    question, (answer,) = answered('panda', '--random', 4)
    result = Solver(question.chain).solve(question.T_base_target, question.seed)
    np.testing.assert_array_equal(answer.result.q, result.q)
    assert answer.result.iterations == result.iterations
    np.testing.assert_array_equal(answer.T_base_reached, question.chain.forward(result.q))
    np.testing.assert_array_equal(answer.motion, result.q - question.seed)


def test_the_time_is_that_of_calls_after_the_first():
    question = question_of('panda', '--random', 4)
    (answer,) = solve_run.ask(question, repeats=True)
    timing = answer.timing
    assert 3 <= timing.repeats <= 101
    assert 0.0 < timing.solver <= timing.call < timing.first
    assert answer.result.solve_time == timing.solver
    (once,) = solve_run.ask(question)
    assert once.timing.repeats == 1


def test_a_solve_that_takes_its_time_is_not_repeated_for_long():
    # Below the base: within the length of the arm, but not within its limits.
    words = ['--xyz', 0, 0, -0.7, '--set', 'timeout=0.2', 'max_searches=100000000']
    began = time.perf_counter()
    _, (answer,) = answered('panda', *words)
    assert answer.result.status is IkStatus.TIMED_OUT
    assert time.perf_counter() - began < 4.0


def test_an_option_that_the_only_solver_does_not_use_is_an_error():
    with pytest.raises(OptionError, match='step_gain: is not used by levenberg_marquardt'):
        answered('panda', '--random', '--set', 'step_gain=1')


def test_waiting_for_the_compiler_is_explained(monkeypatch, capsys):
    monkeypatch.setattr(solve_run, '_LONG', 0.01)
    with solve_run._patience('transpose'):
        time.sleep(0.2)
    assert capsys.readouterr().err.startswith('compiling transpose, ')


def test_nothing_is_said_when_it_is_quick(capsys):
    with solve_run._patience('transpose'):
        pass
    time.sleep(0.05)
    assert capsys.readouterr().err == ''
