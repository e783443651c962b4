"""Checks of the methods that minimise ½ eᵀWe."""

import math

import numpy as np

import ik_service as iks
from ik_service.kinematics.pose_error import pose_error
from support.chains import arm as arm_of
from support.chains import postures, snake
from support.contract import options_with
from support.elements import mimicking

# The penalty begins this share of the range (or of 1) inside a bound.
MARGIN = 1e-3
PENALTY_WEIGHT = 10.0
CHAINS = {
    'panda': lambda: arm_of('panda'),
    'ur5e': lambda: arm_of('ur5e'),
    'planar_6r': lambda: arm_of('planar_6r'),
    'sliding': lambda: snake(6, prismatic=0.5),
    'mimicking': mimicking,
}


def penalty(chain, q):
    margin = MARGIN * np.minimum(chain.upper - chain.lower, 1.0)
    beyond = np.maximum(q - (chain.upper - margin), 0.0) + np.maximum(
        chain.lower + margin - q, 0.0
    )
    return 0.5 * PENALTY_WEIGHT * np.sum(beyond**2)


def costs(chain, target, weights, trace, strategy):
    """Per row of a trace, what the method minimises."""
    rows = []
    for q in trace.q:
        e = np.sqrt(weights) * pose_error(chain.forward(q), target)
        rows.append(0.5 * e @ e + (penalty(chain, q) if strategy == 'penalty' else 0.0))
    return np.array(rows)


def traces(chain, solver, strategy, weights, count=4, **values):
    """Targets, and the trace of the only search for each."""
    options = options_with(
        joint_limits=strategy, task_weights=weights, record_trace=True, max_searches=1,
        timeout=30.0, **values,
    )  # fmt: skip
    prepared = iks.Solver(chain, solver, options)
    for q, start in zip(postures(chain, count, 11), postures(chain, count, 12), strict=True):
        target = chain.forward(q)
        yield target, prepared.solve(target, start)


def assert_costs_never_rise(name, solver, strategy):
    """Over a whole search, for the pose, the position and weights that differ."""
    chain = CHAINS[name]()
    fallen = 0
    for weights in ((1.0,) * 6, (1, 1, 1, 0, 0, 0), (2.0, 1.0, 0.5, 0.1, 0.1, 0.1)):
        for target, result in traces(chain, solver, strategy, weights):
            rows = result.trace.search == 0
            cost = costs(chain, target, weights, result.trace, strategy)[rows]
            assert np.all(np.diff(cost) <= 1e-13 * cost[:-1] + 1e-22)
            fallen += cost[-1] < 0.5 * cost[0]
            if strategy not in ('ignore', 'penalty'):
                q = result.trace.q
                assert np.all((chain.lower <= q) & (q <= chain.upper))
    assert fallen >= 8


def near(chain, q, way, **values):
    """A function of the solver: the trace of a search from near a solution to the last digits."""
    values = values or {'step_gain': 1.0}
    options = options_with(
        record_trace=True, max_searches=1, position_tolerance=1e-12, orientation_tolerance=1e-12,
        joint_limits='ignore', max_iterations=200, **values,
    )  # fmt: skip
    start = q + way
    target = chain.forward(q)
    return lambda solver: iks.solve_ik(chain, target, start, solver, options).trace


def first_below(trace, share):
    """Steps until the cost is below a share of the first one."""
    squares = trace.position_error**2 + trace.orientation_error**2
    below = np.flatnonzero(squares <= share * squares[0])
    return int(below[0]) if len(below) else math.inf


def assert_gain_is_a_share(solver):
    """A gain scales the first step: it is the share of the length that is tried first."""
    chain = arm_of('panda')
    q = chain.mid_range()
    target = chain.forward(q + 0.1)
    steps = {}
    for gain in (1.0, 0.25, 1e-9):
        options = options_with(step_gain=gain, record_trace=True, max_iterations=1, max_searches=1)
        steps[gain] = iks.solve_ik(chain, target, q, solver, options).trace.step[1]
    np.testing.assert_allclose(steps[0.25], 0.25 * steps[1.0], rtol=1e-12)
    np.testing.assert_allclose(steps[1e-9], 1e-9 * steps[1.0], rtol=1e-4)
