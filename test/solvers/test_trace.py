"""The trace: every iteration, and nothing changed by recording it."""

import math

import numpy as np
import pytest
from support.chains import arm as chain_of
from support.chains import planar, postures, targets, transform
from support.contract import options_with

import ik_service as iks
from ik_service.kinematics.pose_error import pose_error

# Two links of 1 m and 0.4 m cannot come closer to their base than 0.6 m.
HOLE = transform(p=(0.1, 0.0, 0.0))


def assert_rows_follow_from_each_other(trace, result):
    """Each row is its step away from the row before, or from the last one that was kept."""
    starts = np.flatnonzero(np.diff(trace.search, prepend=-1))
    assert not trace.step[starts].any()
    for k in np.setdiff1d(np.arange(len(trace.q)), starts):
        first = starts[trace.search[k]]
        approach = trace.search[k] == result.searches or result.status.name == 'UNREACHABLE'
        before = trace.q[first:k] if approach else trace.q[k - 1 : k]
        distance = np.abs(trace.q[k] - trace.step[k] - before).max(axis=1)
        largest = max(1.0, np.abs(before).max(), np.abs(trace.step[k]).max())
        assert distance.min() <= 1e-15 * largest


def test_trace_has_a_row_for_every_iteration(solver, strategy, arm):
    options = options_with(
        joint_limits=strategy, record_trace=True, max_searches=3, max_iterations=40
    )
    seed = postures(arm, 1, seed=23)[0]
    for target in (*targets(arm, 2, seed=24), transform(p=arm.arrays.reach[:3])):
        result = iks.solve_ik(arm, target, seed, solver, options)
        trace = result.trace
        count = len(trace.q)
        assert trace.q.shape == trace.step.shape == (count, arm.n)
        assert len(trace.position_error) == len(trace.orientation_error) == count
        np.testing.assert_array_equal(trace.q[0], seed)
        # Searches are numbered from 0; after the last one may come the approach.
        searches = np.unique(trace.search)
        assert searches.tolist() == list(range(len(searches)))
        assert np.all(np.diff(trace.search) >= 0)
        assert 0 <= len(searches) - result.searches <= 1
        assert result.iterations == count - len(searches)
        assert_rows_follow_from_each_other(trace, result)
        if strategy not in ('ignore', 'penalty'):
            assert np.all((arm.lower <= trace.q) & (trace.q <= arm.upper))


def test_errors_of_the_trace_are_those_of_its_rows(solver, arm):
    options = options_with(record_trace=True, max_searches=2)
    for target in targets(arm, 3, seed=24):
        result = iks.solve_ik(arm, target, None, solver, options)
        trace = result.trace
        for row in {0, 1, len(trace.q) // 2, len(trace.q) - 1}:
            error = pose_error(arm.forward(trace.q[row]), target)
            position, orientation = np.linalg.norm(error[:3]), np.linalg.norm(error[3:])
            assert trace.position_error[row] == pytest.approx(position, abs=1e-12)
            assert trace.orientation_error[row] == pytest.approx(orientation, abs=1e-7)
        if result.success:
            turns = (trace.q[-1] - result.q) / (2 * math.pi)
            np.testing.assert_allclose(turns, np.round(turns), rtol=0, atol=1e-12)


def test_recording_a_trace_changes_nothing(solver):
    chain = chain_of('panda')
    for target in targets(chain, 5, seed=25):
        plain = iks.solve_ik(chain, target, None, solver, options_with())
        traced = iks.solve_ik(chain, target, None, solver, options_with(record_trace=True))
        assert plain.q.tobytes() == traced.q.tobytes()
        assert plain.iterations == traced.iterations


def test_traces_belong_to_their_result():
    chain = chain_of('panda')
    prepared = iks.Solver(chain, options=options_with(record_trace=True))
    first_target, second_target = targets(chain, 2)
    first = prepared.solve(first_target)
    kept = first.trace.q.copy()
    prepared.solve(second_target)
    np.testing.assert_array_equal(first.trace.q, kept)


def test_very_long_solves_go_on_when_the_trace_is_full():
    chain = planar(1.0, 0.4)
    options = options_with(record_trace=True, max_searches=40_000, max_iterations=50)
    result = iks.solve_ik(chain, HOLE, [0.3, 1.0], options=options)
    assert result.status is iks.IkStatus.NO_SOLUTION
    assert 1000 <= len(result.trace.q) <= result.iterations + result.searches
