"""The nearest solution, where all solutions of a target can be listed."""

from __future__ import annotations

import numpy as np
import pytest
from support.chains import arm as chain_of
from support.six_joint_arms import six_joint_arm

import ik_service as iks
from ik_service.exceptions import ArgumentError, OptionError

NEAREST = iks.IkOptions(prefer='nearest', timeout=20.0)


def problems(chain, count, seed=0):
    """Return targets and seeds."""
    random = np.random.default_rng(seed)
    rows = random.uniform(*chain.sampling_bounds(), (2 * count, chain.n))
    return [(chain.forward(q), start) for q, start in zip(rows[:count], rows[count:], strict=True)]


@pytest.mark.parametrize('is_calibrated', [False, True])
def test_it_is_the_first_of_all_solutions_and_there_at_once(is_calibrated):
    """By a closed form, and by the elimination."""
    chain = six_joint_arm('elbow, calibrated') if is_calibrated else chain_of('ur5e')
    solver = iks.Solver(chain, options=NEAREST)
    solver.warm_up()
    for target, seed in problems(chain, 20):
        result = solver.solve(target, seed)
        assert result.success
        assert result.solve_time < 5.0
        assert max(result.position_error, result.orientation_error) < 1e-6
        best = iks.solve_ik_all(chain, target, seed)[0]
        np.testing.assert_allclose(result.q, best, atol=1e-6)


def test_without_a_seed_it_is_nearest_to_the_middle():
    chain = chain_of('ur5e')
    for target, _ in problems(chain, 5, seed=1):
        result = iks.solve_ik(chain, target, options=NEAREST)
        np.testing.assert_allclose(result.q, iks.solve_ik_all(chain, target)[0], atol=1e-6)


def test_no_joint_moves_by_more_than_is_allowed():
    chain, options = chain_of('ur5e'), iks.IkOptions(prefer='nearest', max_joint_motion=1.0)
    reached = 0
    for target, seed in problems(chain, 20, seed=2):
        result = iks.solve_ik(chain, target, seed, options=options)
        reached += result.success
        assert np.abs(result.q - seed).max() <= 1.0 + 1e-9
    target = chain.forward(seed + 0.1)
    assert iks.solve_ik(chain, target, seed, options=options).success
    assert reached < 20


@pytest.mark.parametrize('bound', [{'max_searches': 5}, {'record_trace': True, 'timeout': 0.05}])
def test_searches_that_are_bounded_or_recorded_are_made(bound):
    chain = chain_of('ur5e')
    target, seed = problems(chain, 1)[0]
    result = iks.solve_ik(chain, target, seed, options=iks.IkOptions(prefer='nearest', **bound))
    assert result.success
    assert result.searches > 1


def test_where_two_solutions_meet_and_beyond_the_reach_there_is_a_search():
    chain = chain_of('ur5e')
    options = iks.IkOptions(prefer='nearest', timeout=0.05)
    stretched = np.zeros(chain.n)
    result = iks.solve_ik(chain, chain.forward(stretched), stretched + 0.1, options=options)
    assert result.success
    far = np.eye(4)
    far[0, 3] = 3.0
    assert iks.solve_ik(chain, far, options=options).status is iks.IkStatus.UNREACHABLE


def test_wrong_arguments_are_named():
    solver = iks.Solver(chain_of('ur5e'), options=NEAREST)
    with pytest.raises(ArgumentError, match='target'):
        solver.solve(np.full((4, 4), np.nan))
    with pytest.raises(ArgumentError, match='seed'):
        solver.solve(np.eye(4), [0.0])
    with pytest.raises(OptionError, match='timeout'):
        solver.solve(solver.chain.forward(np.full(6, 0.3)), timeout=-1.0)
