"""All solutions of a request, as text and as JSON."""

import json
import re

import numpy as np
import pytest
from support.solve_helpers import request_of

from ik_service.cli.solve.all_solutions import find_all, solution_lines
from ik_service.cli.solve.main import main


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
