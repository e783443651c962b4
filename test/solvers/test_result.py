"""Results: values that do not change, and a reason in a sentence."""

from dataclasses import FrozenInstanceError

import pytest
from support.chains import arm as chain_of
from support.chains import planar, transform

import ik_service as iks
from ik_service.solvers.result import few_joints_hint


def test_every_status_is_a_sentence():
    names = {status.name for status in iks.IkStatus}
    assert {'SUCCESS', 'NO_SOLUTION', 'TIMED_OUT', 'UNREACHABLE'} <= names
    for status in iks.IkStatus:
        assert len(status.value.split()) >= 4


def test_results_do_not_change():
    chain = chain_of('panda')
    result = iks.solve_ik(chain, chain.forward(chain.mid_range()))
    with pytest.raises(FrozenInstanceError):
        result.status = iks.IkStatus.NO_SOLUTION
    with pytest.raises(ValueError, match='read-only'):
        result.q[0] = 1.0


def test_reason_of_a_success():
    chain = chain_of('panda')
    result = iks.solve_ik(chain, chain.forward(chain.mid_range()))
    assert result.reason.startswith('reached within ')
    assert ' mm and ' in result.reason
    assert '0 iterations in 1 search,' in result.reason


def test_reason_of_a_failure_says_how_far_the_closest_pose_is():
    chain = planar(1.0, 0.4)
    result = iks.solve_ik(chain, transform(p=(2.4, 0.0, 0.0)), [0.1, 0.1])
    assert result.reason.startswith('the target lies outside the reach of the chain; ')
    assert f'the closest pose found is {result.position_error * 1e3:.0f} mm' in result.reason
    assert 'is 1000 mm and ' in result.reason


def test_distances_beyond_a_metre_are_told_in_whole_millimetres():
    chain = planar(1.0, 0.4)
    result = iks.solve_ik(chain, transform(p=(5.45, 0.0, 0.0)), [0.1, 0.1])
    assert ' 4050 mm and ' in result.reason
    path = iks.solve_path(chain, [transform(p=(5.45, 0.0, 0.0))])
    assert ' 4050 mm and ' in path.end.text


def test_poses_too_far_for_numbers_are_told_in_words():
    chain = planar(1.0, 0.4)
    result = iks.solve_ik(chain, transform(p=(1e300, 0.0, 0.0)), [0.1, 0.1])
    assert result.status is iks.IkStatus.UNREACHABLE
    assert 'the closest pose found is farther than numbers can tell and ' in result.reason
    assert 'inf' not in result.reason
    assert 'e+153 mm' in iks.solve_ik(chain, transform(p=(1e150, 0.0, 0.0))).reason


def test_solve_time_is_in_seconds():
    chain = planar(1.0, 0.4)
    options = iks.IkOptions(timeout=0.05, max_searches=10**9)
    result = iks.solve_ik(chain, transform(p=(0.1, 0.0, 0.0)), [0.1, 0.1], options=options)
    assert 0.04 < result.solve_time < 1.0
    assert f'{result.solve_time * 1e3:.3g} ms' in result.reason


def test_the_reason_says_when_there_are_too_few_joints():
    chain = planar(1.0, 1.0)
    inside = transform(p=(0.9, 0.4, 0.0))
    result = iks.solve_ik(chain, inside, options=iks.IkOptions(max_searches=3))
    assert result.status is iks.IkStatus.NO_SOLUTION
    assert result.hint.startswith('2 joints cannot meet all 6 axes of most targets')
    assert result.reason.endswith(result.hint)
    batch = iks.solve_ik_batch(chain, inside[None], options=iks.IkOptions(max_searches=3))
    assert batch.reason(0).endswith(result.hint)
    solved = iks.solve_ik(chain, chain.forward([0.3, 0.4]))
    assert (solved.success, solved.hint) == (True, '')
    placed = iks.IkOptions(task_weights=(1, 1, 0, 0, 0, 0), max_searches=3)
    far = iks.solve_ik(chain, transform(p=(9.0, 0.0, 0.0)), options=placed)
    assert 'task_weights' not in far.reason


def test_the_hint_counts_the_joints_that_move():
    assert few_joints_hint(6, (1.0,) * 6) == ''
    assert few_joints_hint(1, (1.0, 1.0, 0.0, 0.0, 0.0, 0.0)) == (
        '1 joint cannot meet all 2 axes of most targets: a 0 in task_weights frees an axis'
    )
    chain = chain_of('panda')
    lower, upper = chain.lower.copy(), chain.upper.copy()
    lower[:2] = upper[:2] = 0.0
    assert '5 joints' in iks.Solver(chain.with_limits(lower, upper)).hint
