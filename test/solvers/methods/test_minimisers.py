"""Methods that minimise ½ eᵀWe: BFGS, conjugate gradients and least squares."""

import numpy as np
import pytest
from support.chains import arm as arm_of
from support.chains import planar, postures, snake, snake_xml, targets
from support.solver_checks import CHAINS, costs, first_step, options_with, traces, WEIGHTS

import ik_service as iks
from ik_service.kinematics.pose_error import pose_error


def gradient(chain, q, target):
    return -chain.jacobian(q).T @ pose_error(chain.forward(q), target)


def updated(H, s, y):
    """Nocedal and Wright, Numerical Optimization, 2006, equation 6.17."""
    rho = 1.0 / (y @ s)
    left = np.eye(len(s)) - rho * np.outer(s, y)
    return left @ H @ left.T + rho * np.outer(s, s)


@pytest.mark.parametrize('name', CHAINS)
@pytest.mark.parametrize('solver', ['bfgs', 'conjugate_gradient'])
def test_costs_never_rise(name, solver, strategy):
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


@pytest.mark.parametrize('strategy', ['ignore', 'clamp'])
def test_steps_are_those_of_the_formula(panda, strategy):
    """Also where a bound cuts a step: what is learned comes from what was done."""
    followed = cut = 0
    for q, way in zip(0.6 * postures(panda, 12), postures(panda, 12, seed=1), strict=True):
        start = q + 0.05 * way
        limited = panda.with_limits(start - 0.03, start + 0.03) if strategy == 'clamp' else panda
        options = options_with(
            joint_limits=strategy, record_trace=True, max_searches=1, max_iterations=4
        )
        target = panda.forward(q)
        trace = iks.solve_ik(limited, target, start, 'bfgs', options).trace
        followed_now, cut_now = follow(limited, target, trace, strategy)
        followed, cut = followed + followed_now, cut + cut_now
    assert followed >= 12
    assert cut == 0 if strategy == 'ignore' else cut >= 5


def follow(chain, target, trace, strategy):
    """Compare the whole quasi-Newton steps with the formula; how many, how many after a cut."""
    count = cut = 0
    H = None
    for k in range(1, min(4, np.count_nonzero(trace.search == 0) - 1)):
        before, q = trace.q[k - 1], trace.q[k]
        g_before, g = (
            held_back(chain, gradient(chain, p, target), p, strategy) for p in (before, q)
        )
        s, y = q - before, g - g_before
        if not y @ s > 1e-6 * np.linalg.norm(y) * np.linalg.norm(s):
            break
        H = updated((y @ s) / (y @ y) * np.eye(chain.n) if H is None else H, s, y)
        direction = np.where(g == 0.0, 0.0, -H @ g)
        after = q + direction
        if strategy == 'clamp':
            after = np.clip(after, chain.lower, chain.upper)
        if direction @ g > 0.0 or np.abs(direction).max() > 1.0:
            break
        if not np.allclose(trace.q[k + 1], after, rtol=0, atol=1e-9):
            # A step may have been shortened, but then along the same way.
            whole, taken = after - q, trace.step[k + 1]
            assert strategy == 'clamp' or np.linalg.norm(taken) < np.linalg.norm(whole)
            if strategy == 'ignore':
                along = (taken @ whole) / (whole @ whole) * whole
                np.testing.assert_allclose(taken, along, rtol=0, atol=1e-9)
            break
        count += 1
        cut += np.any((q == chain.lower) | (q == chain.upper))
    return count, cut


def held_back(chain, g, q, strategy):
    if strategy == 'ignore':
        return g
    against = ((q >= chain.upper) & (g < 0.0)) | ((q <= chain.lower) & (g > 0.0))
    return np.where(against, 0.0, g)


def trace_near(chain, q, solver, **values):
    """The trace of a search from 0.03 rad beside a solution to the last digits."""
    options = options_with(
        record_trace=True, max_searches=1, position_tolerance=1e-12, orientation_tolerance=1e-12,
        joint_limits='ignore', max_iterations=200, **values or {'step_gain': 1.0},
    )  # fmt: skip
    start = q + np.random.default_rng(1).normal(0.0, 0.03, chain.n)
    return iks.solve_ik(chain, chain.forward(q), start, solver, options).trace


def first_below(trace, share):
    squares = trace.position_error**2 + trace.orientation_error**2
    below = np.flatnonzero(squares <= share * squares[0])
    return int(below[0]) if len(below) else np.inf


@pytest.mark.parametrize('name', ['panda', 'ur5e', 'planar_6r'])
def test_converges_superlinearly_near_a_solution(name):
    """Medians over 20 starts: to 1e-8 in 25, 25 and 15 steps, to 1e-16 in 3, 3.5 and 3 more."""
    chain = arm_of(name)
    first, last = [], []
    for q in 0.7 * postures(chain, 20, seed=5):
        trace = trace_near(chain, q, 'bfgs')
        first.append(first_below(trace, 1e-8))
        last.append(first_below(trace, 1e-16))
    assert np.median(first) <= 35
    assert np.median(last) - np.median(first) <= 6
    assert np.isfinite(last).all()


@pytest.mark.parametrize('solver', ['bfgs', 'conjugate_gradient'])
def test_gain_is_the_share_of_the_first_trial(panda, solver):
    q = panda.mid_range()
    target = panda.forward(q + 0.1)
    steps = {}
    for gain in (1.0, 0.25, 1e-9):
        options = options_with(step_gain=gain, record_trace=True, max_iterations=1, max_searches=1)
        steps[gain] = iks.solve_ik(panda, target, q, solver, options).trace.step[1]
    np.testing.assert_allclose(steps[0.25], 0.25 * steps[1.0], rtol=1e-12)
    np.testing.assert_allclose(steps[1e-9], 1e-9 * steps[1.0], rtol=1e-4)


def test_first_step_goes_down_the_gradient_to_the_minimum_of_the_linearised_cost(panda):
    for q, way in zip(0.5 * postures(panda, 5), postures(panda, 5, seed=2), strict=True):
        target = panda.forward(q + 0.01 * way)
        options = options_with(
            record_trace=True, max_iterations=1, max_searches=1, joint_limits='ignore'
        )
        step = iks.solve_ik(panda, target, q, 'bfgs', options).trace.step[1]
        g = gradient(panda, q, target)
        moved = panda.jacobian(q) @ g
        np.testing.assert_allclose(step, -(g @ g) / (moved @ moved) * g, rtol=1e-9)


def test_minimum_at_a_bound_is_found():
    """The closest pose within the limits: the gradient points out at the bound, and else is 0."""
    chain = planar(1.0, 0.8).with_limits([-1.0, 0.2], [1.0, 1.5])
    target = chain.forward([1.0, 0.8])
    target[:2, 3] = 0.0, 1.9
    options = options_with(
        task_weights=(1, 1, 0, 0, 0, 0), joint_limits='clamp', record_trace=True, max_searches=1,
        step_gain=1.0, max_iterations=100,
    )  # fmt: skip
    for solver in ('bfgs', 'conjugate_gradient'):
        trace = iks.solve_ik(chain, target, [0.0, 1.0], solver, options).trace
        q = trace.q[trace.search == 0][-1]
        e = target[:2, 3] - chain.forward(q)[:2, 3]
        g = -chain.jacobian(q)[:2].T @ e
        assert q[0] == 1.0
        assert g[0] < -0.1
        assert abs(g[1]) < 1e-6


def test_steps_are_those_of_polak_and_ribiere(panda):
    compared = 0
    for q, way in zip(0.6 * postures(panda, 8), postures(panda, 8, seed=1), strict=True):
        target = panda.forward(q)
        options = options_with(
            joint_limits='ignore', record_trace=True, max_searches=1, max_iterations=8
        )
        trace = iks.solve_ik(panda, target, q + 0.02 * way, 'conjugate_gradient', options).trace
        direction = before = None
        for k in range(8):
            g = gradient(panda, trace.q[k], target)
            beta = 0.0 if before is None else max(0.0, g @ (g - before) / (before @ before))
            direction = -g if direction is None else beta * direction - g
            moved = panda.jacobian(trace.q[k]) @ direction
            step = -(g @ direction) / (moved @ moved) * direction
            if not np.allclose(trace.step[k + 1], step, rtol=0, atol=1e-9):
                assert np.linalg.norm(trace.step[k + 1]) < np.linalg.norm(step)  # shortened
                break
            before = g
            compared += 1
    assert compared >= 40


@pytest.mark.parametrize(('name', 'most'), [('panda', 35), ('ur5e', 35), ('planar_6r', 18)])
def test_converges_in_a_few_times_as_many_steps_as_joints(name, most):
    """Medians over 20 starts: 23, 21.5 and 9 steps; down the gradient more than 200."""
    chain = arm_of(name)
    # Of the transpose, the best step: one of a fixed gain would not be that.
    methods = {'conjugate_gradient': {}, 'transpose': {'variant': 'classical'}}
    steps, downhill = (
        np.median([
            first_below(trace_near(chain, q, solver, **values), 1e-8)
            for q in 0.7 * postures(chain, 20, seed=5)
        ])
        for solver, values in methods.items()
    )  # fmt: skip
    assert steps <= most
    assert steps < 0.5 * downhill


def expected_step(J, e, damping):
    """(JᵀWJ + λI)⁻¹ JᵀW e by way of the least squares problem, which loses no digits."""
    root = np.sqrt(damping * 0.5 * e @ e)
    rows = np.vstack([J, root * np.eye(J.shape[1])])
    right = np.concatenate([e, np.zeros(J.shape[1])])
    return np.linalg.lstsq(rows, right, rcond=None)[0]


@pytest.mark.parametrize('weights', WEIGHTS)
@pytest.mark.parametrize('damping', [1e-3, 0.1, 10.0])
@pytest.mark.parametrize('n', [2, 3, 6, 7, 30])
def test_step_is_the_formula(n, damping, weights):
    chain = snake(n)
    for q, q_target in postures(chain, 10).reshape(5, 2, n):
        target = chain.forward(q_target)
        first = first_step(chain, q, target, 'levenberg_marquardt', weights, damping=damping)
        expected = expected_step(first.J, first.e, damping)
        np.testing.assert_allclose(first.step, expected, rtol=1e-7, atol=1e-9)


def test_step_is_bounded_where_the_arm_is_singular():
    """Stretched, an arm cannot move along itself; the damped step does not try to."""
    chain = planar(1.0, 0.8, 0.5)
    target = chain.forward([0.0, 0.5, -0.5])
    first = first_step(chain, np.zeros(3), target, 'levenberg_marquardt', damping=0.1)
    np.testing.assert_allclose(first.step, expected_step(first.J, first.e, 0.1), rtol=1e-7)
    assert np.linalg.norm(first.step) < 2.0


def damped_pseudoinverse(J, damping):
    U, sigma, Vt = np.linalg.svd(J, full_matrices=False)
    return Vt.T @ np.diag(sigma / (sigma**2 + damping**2)) @ U.T


@pytest.mark.parametrize('weights', WEIGHTS)
@pytest.mark.parametrize('n', [2, 3, 6, 7, 30])
def test_step_is_the_pseudoinverse_times_the_error(n, weights):
    chain = snake(n)
    for q, q_target in postures(chain, 10).reshape(5, 2, n):
        first = first_step(chain, q, chain.forward(q_target), 'pseudoinverse', weights)
        expected = np.linalg.pinv(first.J, rcond=1e-13) @ first.e
        # The error of any algorithm grows with the condition of the problem.
        sigma = np.linalg.svd(first.J, compute_uv=False)
        condition = sigma[0] / sigma[sigma > 1e-13 * sigma[0]][-1]
        scale = np.linalg.norm(expected)
        np.testing.assert_allclose(first.step, expected, rtol=0, atol=1e-13 * condition * scale)


@pytest.mark.parametrize('damping', [1e-2, 0.3])
@pytest.mark.parametrize('gain', [1.0, 0.25])
def test_damping_and_gain(damping, gain):
    chain = snake(7)
    for q, q_target in postures(chain, 10).reshape(5, 2, 7):
        first = first_step(
            chain, q, chain.forward(q_target), 'pseudoinverse', damping=damping, step_gain=gain
        )
        expected = gain * damped_pseudoinverse(first.J, damping) @ first.e
        np.testing.assert_allclose(first.step, expected, rtol=1e-10, atol=1e-12)


def test_stretched_arm_moves_across_itself_only():
    """Šoch and Lórencz: the stretched arm is singular along x; what cannot be done is left out."""
    chain = planar(0.09, 0.06, 0.09, 0.15, 0.15, 0.09)
    target = chain.forward(np.zeros(6))
    target[0, 3] -= 0.01
    target[1, 3] += 0.02
    first = first_step(chain, np.zeros(6), target, 'pseudoinverse')
    assert np.linalg.matrix_rank(first.J) == 2
    expected = np.linalg.pinv(first.J, rcond=1e-15) @ first.e
    np.testing.assert_allclose(first.step, expected, rtol=0, atol=1e-12)
    assert np.linalg.norm(first.step) < 1.0


def test_arm_with_parallel_axes(ur5e):
    """All the UR's first axes after one another parallel, and the wrist flat: rank is lost."""
    q = np.array([0.0, -1.0, 0.5, 0.5, 0.0, 0.0])
    sigma = np.linalg.svd(ur5e.jacobian(q), compute_uv=False)
    assert sigma[-1] < 1e-12
    first = first_step(ur5e, q, ur5e.forward(q + 1e-3), 'pseudoinverse', damping=1e-3)
    expected = damped_pseudoinverse(first.J, 1e-3) @ first.e
    np.testing.assert_allclose(first.step, expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize('size', [1e-3, 1e3])
@pytest.mark.parametrize('solver', ['bfgs', 'conjugate_gradient', 'extended_jacobian'])
def test_arms_of_any_size(solver, size):
    chain = iks.Robot.from_urdf(snake_xml(6, prismatic=0.0, size=size)).chain()
    options = options_with(position_tolerance=1e-5 * size, max_searches=200)
    assert all(iks.solve_ik(chain, T, None, solver, options).success for T in targets(chain, 10))
