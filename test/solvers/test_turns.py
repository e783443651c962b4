"""Full turns: continuous joints answer with the turn nearest to the seed."""

import math

import numpy as np
import pytest
from support.chains import arm as chain_of
from support.chains import planar_xml, postures, targets
from support.contract import assert_honest, options_with

import ik_service as iks
from ik_service.kinematics.pose_error import pose_error


def continuous_arm():
    xml = planar_xml([0.5, 0.4, 0.3, 0.2], 'continuous', inner='')
    return iks.Robot.from_urdf(xml).chain('link0', 'tip')


@pytest.mark.parametrize('turns', [0, 1, -3, 1000])
def test_continuous_joints_end_at_the_turn_nearest_to_the_seed(solver, turns):
    chain = continuous_arm()
    options = options_with(max_searches=50)
    for k, target in enumerate(targets(chain, 10, seed=10)):
        seed = postures(chain, 1, seed=k)[0] + 2 * math.pi * turns
        result = iks.solve_ik(chain, target, seed, solver, options)
        assert result.success or solver == 'transpose'
        assert_honest(chain, target, options, result)
        assert np.abs(result.q - seed).max() <= math.pi * (1 + 1e-12) + 1e-9


def test_limited_joints_end_at_the_turn_nearest_to_the_seed_within_limits(solver):
    chain = chain_of('ur5e')  # its joints make more than a full turn
    options = options_with(position_tolerance=1e-3, orientation_tolerance=1e-3)
    solved = 0
    for k, target in enumerate(targets(chain, 20, seed=11)):
        seed = postures(chain, 1, seed=k)[0]
        result = iks.solve_ik(chain, target, seed, solver, options)
        if not result.success:
            continue
        solved += 1
        for turn in (-2 * math.pi, 2 * math.pi):
            other = result.q + turn
            allowed = (chain.lower <= other) & (other <= chain.upper)
            nearer = np.abs(other - seed) < np.abs(result.q - seed) - 1e-9
            assert not np.any(allowed & nearer)
    assert solved >= 5


def test_success_means_within_tolerance_at_huge_joint_values():
    """At 1e11 rad a number resolves 1.5e-5 rad: what a turn costs must not be overlooked."""
    chain = continuous_arm()
    rng = np.random.default_rng(0)
    options = options_with(max_searches=20)
    successes = 0
    for target in targets(chain, 300, seed=12):
        seed = 10.0 ** rng.uniform(10, 13) * rng.choice([-1, 1], chain.n)
        result = iks.solve_ik(chain, target, seed, options=options)
        T = chain.forward(result.q)
        errors = pose_error(T, target)
        if result.success:
            successes += 1
            assert np.linalg.norm(errors[:3]) <= options.position_tolerance
            assert np.linalg.norm(errors[3:]) <= options.orientation_tolerance
    assert successes > 250


def test_no_joint_jumps_from_a_seed_near_the_target():
    """Small random steps of the UR5e: never the other way round, though 2π and flips are near."""
    chain = chain_of('ur5e')
    random = np.random.default_rng(0)
    solver = iks.Solver(chain)
    q = chain.mid_range() + 0.3
    motions = []
    for _ in range(300):
        there = np.clip(q + random.uniform(-0.1, 0.1, chain.n), chain.lower, chain.upper)
        result = solver.solve(chain.forward(there), q)
        assert result.success
        motions.append(np.abs(result.q - q).max())
        q = there
    assert np.quantile(motions, 0.99) < 0.105
    assert max(motions) < 0.5
