"""
The product of all solvers, all ways to keep the limits and all kinds of arms.

Whatever the combination: an answer that is what it claims, the same answer to the same request,
joints within their limits, and a reason where there is no solution.
"""

from functools import lru_cache

import numpy as np
import pytest
from support.chains import arm as arm_of
from support.chains import (
    ARM_TIPS,
    joint_xml,
    limit_xml,
    postures,
    robot_xml,
    snake,
    targets,
    transform,
    within_limits,
)
from support.solver_checks import assert_honest, assert_same, mimicking, options_with

import ik_service as iks

REACHABLE = 4
OTHERS = ('one_joint', 'sliding', 'long', 'mimicking', 'unlimited')
"""Chains unlike those of the arms, with which test_solver.py tests the same."""


@lru_cache
def chain_of(name):
    if name in ARM_TIPS:
        return arm_of(name)
    return {
        'one_joint': lambda: snake(1), 'sliding': lambda: snake(6, prismatic=0.5),
        'long': lambda: snake(20), 'mimicking': lambda: mimicking(offset=0.1),
        'unlimited': _unlimited,
    }[name]()  # fmt: skip


def _unlimited():
    joints = [
        joint_xml('pan', 'continuous', 'base', 'a'),
        joint_xml('lift', 'revolute', 'a', 'b', axis=(0, 1, 0), inner=limit_xml(-1.5, 1.5)),
        joint_xml('elbow', 'continuous', 'b', 'c', (0.6, 0, 0), axis=(0, 1, 0)),
        joint_xml('wrist', 'continuous', 'c', 'd', (0.5, 0, 0), axis=(1, 0, 0)),
        joint_xml('tip_joint', 'fixed', 'd', 'tip', (0.1, 0.05, 0)),
    ]
    links = ['base', 'a', 'b', 'c', 'd', 'tip']
    return iks.Robot.from_urdf(robot_xml(links, joints)).chain()


@pytest.mark.parametrize('name', OTHERS)
def test_every_combination_reports_true_errors(solver, strategy, name):
    chain = chain_of(name)
    options = options_with(joint_limits=strategy, max_iterations=200)
    prepared, again = (iks.Solver(chain, solver, options) for _ in range(2))
    beyond = 2.0 * chain.arrays.reach[3] + 1.0
    far = transform(p=chain.arrays.reach[:3] + np.array([beyond, 0.0, 0.0]))
    seeds = postures(chain, REACHABLE, seed=51)
    reachable = targets(chain, REACHABLE, seed=50)
    for target, seed in zip([*reachable, far], [*seeds, None], strict=True):
        result = prepared.solve(target, seed)
        assert_honest(chain, target, options, result)
        assert_same(result, again.solve(target, seed))
    if strategy != 'ignore':  # without limits, a sliding joint has no end
        assert result.status is iks.IkStatus.UNREACHABLE
    for q in seeds:
        assert prepared.solve(chain.forward(q), q).success


@pytest.mark.parametrize('name', [*ARM_TIPS, *OTHERS])
def test_every_combination_solves_positions(solver, strategy, name):
    """To a millimetre, from not far away: within reach of every method."""
    chain = chain_of(name)
    inner = chain.with_limits(*_shrunk(chain))
    options = options_with(
        joint_limits=strategy, task_weights=(1, 1, 1, 0, 0, 0), position_tolerance=1e-3,
        max_searches=20,
    )  # fmt: skip
    prepared = iks.Solver(chain, solver, options)
    for q in postures(inner, REACHABLE, seed=52):
        result = prepared.solve(chain.forward(q), np.clip(q + 0.05, chain.lower, chain.upper))
        assert result.success


def _shrunk(chain):
    """Limits that leave a margin of a tenth of the range, and of 0.3 for the start of a search."""
    width = np.where(np.isfinite(chain.upper - chain.lower), chain.upper - chain.lower, 0.0)
    return chain.lower + 0.1 * width, chain.upper - 0.1 * width


@pytest.mark.parametrize('name', ARM_TIPS)
@pytest.mark.parametrize('method', ['ccd', 'transpose'])
def test_accelerated_variants_need_a_tenth_of_the_classical_iterations(method, name):
    chain = arm_of(name)
    poses = targets(chain, 20, seed=12)
    iterations = []
    for variant in ('accelerated', 'classical'):
        solver = iks.Solver(chain, method, iks.IkOptions(variant=variant, timeout=30.0))
        results = [solver.solve(T) for T in poses]
        assert variant == 'classical' or all(result.success for result in results)
        iterations.append(sum(result.iterations for result in results))
    assert 10.0 * iterations[0] < iterations[1]


COUNT = 200


POSITIONS = {'task_weights': (1, 1, 1, 0, 0, 0), 'position_tolerance': 1e-3}


@pytest.mark.parametrize('name', ARM_TIPS)
@pytest.mark.parametrize(
    ('solver', 'options', 'least'),
    [
        ('levenberg_marquardt', {}, 0.999),
        ('pseudoinverse', {}, 0.99),
        ('transpose', {}, 0.999),
        ('transpose', POSITIONS, 0.999),
        ('ccd', {}, 0.999),
    ],
)
def test_share_of_random_reachable_poses_that_are_reached(name, solver, options, least):
    chain = arm_of(name)
    # Bounded by the searches of the method, so that the load of the machine has no say.
    prepared = iks.Solver(chain, solver, iks.IkOptions(timeout=30.0, **options))
    results = [prepared.solve(target) for target in targets(chain, COUNT, seed=2024)]
    assert all(within_limits(chain, result.q) for result in results)
    assert sum(result.success for result in results) / COUNT >= least
