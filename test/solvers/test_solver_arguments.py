"""What a solver is given: refused when it cannot be, understood in any layout."""

import math

import numpy as np
import pytest
from support.chains import arm as chain_of
from support.chains import postures, targets
from support.contract import assert_honest, assert_same, options_with

import ik_service as iks
from ik_service.exceptions import ArgumentError, OptionError


def with_element(value):
    T = np.eye(4)
    T[1, 3] = value
    return T


@pytest.mark.parametrize(
    'target',
    [
        np.zeros((4, 4)), np.eye(3), np.eye(4)[:3], with_element(math.nan), with_element(math.inf),
        np.diag([1.0, 1.0, -1.0, 1.0]), 2 * np.eye(4), 'pose', None, [[1, 2], [3]],
        np.full((4, 4), None), np.eye(5), np.eye(4)[None], np.zeros((0, 4)), np.eye(4)[0],
    ],
)  # fmt: skip
def test_targets_that_are_no_poses_are_refused(target):
    with pytest.raises(ArgumentError, match=r'^target: ') as error:
        iks.solve_ik(chain_of('panda'), target)
    assert error.value.argument == 'target'


@pytest.mark.parametrize(
    'seed',
    [
        np.zeros(6), np.zeros((7, 1)), 0.0, [0, 0, 0, math.nan, 0, 0, 0], [math.inf] * 7,
        'home', ['a'] * 7, [[0.0], [0.0, 1.0]], [None] * 7, np.zeros(8), np.zeros(0),
    ],
)  # fmt: skip
def test_seeds_that_are_no_joint_vectors_are_refused(seed):
    chain = chain_of('panda')
    with pytest.raises(ArgumentError, match=r'^seed: ') as error:
        iks.solve_ik(chain, chain.forward(chain.mid_range()), seed)
    assert error.value.argument == 'seed'


@pytest.mark.parametrize('timeout', [0.0, -1.0, math.nan, math.inf, '1', 1e300])
def test_invalid_timeouts_are_refused(timeout):
    chain = chain_of('panda')
    prepared = iks.Solver(chain)
    with pytest.raises((ArgumentError, OptionError), match=r'^timeout: '):
        prepared.solve(chain.forward(chain.mid_range()), timeout=timeout)


def test_refused_arguments_leave_the_solver_as_it_was():
    chain = chain_of('panda')
    prepared = iks.Solver(chain)
    target = targets(chain, 1)[0]
    before = prepared.solve(target)
    for wrong in (with_element(math.nan), np.eye(3), 'pose'):
        with pytest.raises(ArgumentError):
            prepared.solve(wrong)
    assert_same(before, prepared.solve(target))


def test_memory_layout_of_arguments_does_not_matter():
    chain = chain_of('panda')
    target, seed = targets(chain, 1)[0], postures(chain, 1, seed=3)[0]
    prepared = iks.Solver(chain)
    expected = prepared.solve(target, seed)
    strided = np.zeros((8, 4))
    strided[::2] = target
    for form in (target.tolist(), np.asfortranarray(target), strided[::2]):
        assert_same(expected, prepared.solve(form, seed))
    for form in (seed.tolist(), tuple(seed), np.repeat(seed, 2)[::2]):
        assert_same(expected, prepared.solve(target, form))
    np.testing.assert_array_equal(target, targets(chain, 1)[0])


def test_narrower_limits_are_kept(solver):
    chain = chain_of('panda')
    narrow = chain.with_limits(chain.lower + 0.5, chain.upper - 0.5)
    options = options_with()
    for target in targets(chain, 10, seed=9):
        result = iks.solve_ik(narrow, target, None, solver, options)
        assert_honest(narrow, target, options, result)


def test_joint_that_cannot_move_stays(solver, keeping):
    chain = chain_of('panda')
    lower, upper = chain.lower.copy(), chain.upper.copy()
    lower[2] = upper[2] = 0.4
    fixed = chain.with_limits(lower, upper)
    for strategy in keeping:
        options = options_with(joint_limits=strategy)
        for target in targets(fixed, 3):
            result = iks.solve_ik(fixed, target, None, solver, options)
            assert_honest(fixed, target, options, result)
            assert result.q[2] == 0.4
