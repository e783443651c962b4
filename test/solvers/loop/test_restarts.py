"""Where searches start: at the seed, then all over the limits, repeatably."""

import math

import numpy as np
from support.chains import arm as chain_of
from support.chains import planar_xml, transform

import ik_service as iks


def starts_of(chain, seed, count, **options):
    """Starts of the searches for a target that is out of the plane of the arm."""
    target = transform(p=(0.1, 0.0, 0.05))
    options = iks.IkOptions(
        max_searches=count, max_iterations=1, timeout=30.0, record_trace=True, **options
    )
    trace = iks.solve_ik(chain, target, seed, options=options).trace
    starts = trace.q[np.flatnonzero(np.diff(trace.search, prepend=-1))]
    return starts[:count]


def test_first_search_starts_at_the_seed():
    chain = chain_of('planar_6r')
    seed = np.full(6, 0.3)
    np.testing.assert_array_equal(starts_of(chain, seed, 3)[0], seed)


def test_restarts_are_spread_evenly_over_the_limits():
    chain = chain_of('planar_6r')
    starts = starts_of(chain, np.full(6, 3.0), 2000)[1:]
    share = (starts - chain.lower) / (chain.upper - chain.lower)
    assert np.all((share >= 0.0) & (share < 1.0))
    for i in range(6):
        counts, _ = np.histogram(share[:, i], bins=10, range=(0, 1))
        assert np.abs(counts - 200).max() < 70  # five standard deviations
    assert np.abs(np.corrcoef(share.T) - np.eye(6)).max() < 0.12
    assert len(np.unique(starts)) == starts.size


def test_restarts_of_unlimited_joints_are_spread_about_the_seed():
    xml = planar_xml([0.3, 0.3, 0.2], 'continuous', inner='')
    chain = iks.Robot.from_urdf(xml).chain('link0', 'tip')
    seed = np.array([100.0, -50.0, 0.0])
    starts = starts_of(chain, seed, 500)[1:]
    assert np.abs(starts - seed).max() <= math.pi
    assert np.abs(starts - seed).max(axis=0).min() > 0.9 * math.pi


def test_restarts_of_half_open_limits_keep_the_limit():
    xml = planar_xml([0.3, 0.3, 0.2], 'continuous', inner='')
    chain = iks.Robot.from_urdf(xml).chain('link0', 'tip')
    half = chain.with_limits([0.5, -math.inf, 0.2], [math.inf, -0.5, 0.4])
    starts = starts_of(half, [0.6, -0.7, 0.3], 200)
    assert np.all((half.lower <= starts) & (starts <= half.upper))
    assert np.ptp(starts[1:], axis=0).min() > 0.15


def test_restarts_depend_on_the_random_seed_alone():
    chain = chain_of('planar_6r')
    seeds = {0: np.zeros(6), 1: np.ones(6)}
    repeated = [starts_of(chain, seed, 20, random_seed=5)[1:] for seed in seeds.values()]
    np.testing.assert_array_equal(*repeated)
    other = starts_of(chain, seeds[0], 20, random_seed=6)[1:]
    assert not np.any(other == repeated[0])
