"""Ways to keep joints within their limits, and limits that mean none."""

import math
import re
import sys
import warnings

from hypothesis import example, given, settings
from hypothesis import strategies as st
import numba
import numpy as np
import pytest
from support.chains import arm as arm_of
from support.chains import (
    arm_path,
    endless,
    joint_xml,
    limit_xml,
    planar,
    planar_xml,
    postures,
    robot_xml,
    snake,
    targets,
    transform,
    within_limits,
)
from support.robots import arm_on_rail
from support.solver_checks import MARGIN, options_with

import ik_service as iks
from ik_service.jit.compile import kernel
from ik_service.kinematics.joint_space import FARTHEST_LIMIT
from ik_service.kinematics.pose_error import pose_error
from ik_service.solvers.loop import limits
from ik_service.solvers.options import LimitStrategy

SOLVERS = iks.solver_names()
POSITION_ONLY = (1.0, 1.0, 1.0, 0.0, 0.0, 0.0)
SEEDED = settings(deadline=None, derandomize=True, max_examples=200)


def two_links(lower, upper):
    xml = planar_xml([1.0, 0.8], inner=limit_xml(lower, upper))
    return iks.Robot.from_urdf(xml).chain('link0', 'tip')


def solve(chain, target, seed, solver='levenberg_marquardt', **options):
    options = {'timeout': 30.0, 'max_searches': 1, 'task_weights': POSITION_ONLY, **options}
    return iks.solve_ik(chain, target, seed, solver, iks.IkOptions(**options))


@pytest.mark.parametrize('solver', SOLVERS)
@pytest.mark.parametrize('strategy', ['clamp', 'active_set'])
def test_solution_on_a_limit_is_reached(solver, strategy):
    chain = two_links(-1.0, 1.0)
    target = chain.forward([0.2, 1.0])
    for seed in ([0.0, 0.5], [0.0, 1.0], [1.0, 1.0]):
        result = solve(
            chain, target, seed, solver, joint_limits=strategy, position_tolerance=1e-4,
            max_searches=20,
        )  # fmt: skip
        assert result.success
        np.testing.assert_allclose(result.q, [0.2, 1.0], rtol=0, atol=1e-2)


@pytest.mark.parametrize('solver', SOLVERS)
@pytest.mark.parametrize('strategy', ['clamp', 'active_set'])
def test_target_beyond_a_limit_ends_at_the_limit(solver, strategy):
    """One joint that may turn to 1 rad, a target at 1.5 rad: the closest is the limit itself."""
    joint = joint_xml('joint', 'revolute', 'base', 'link', inner=limit_xml(-1.0, 1.0))
    tip = joint_xml('tip_joint', 'fixed', 'link', 'tip', (1.0, 0, 0))
    chain = iks.Robot.from_urdf(robot_xml(['base', 'link', 'tip'], [joint, tip])).chain()
    target = transform(p=(math.cos(1.5), math.sin(1.5), 0.0))
    result = solve(chain, target, [0.0], solver, joint_limits=strategy, max_searches=5)
    assert result.status is iks.IkStatus.NO_SOLUTION
    assert result.q[0] == pytest.approx(1.0, abs=1e-6)
    assert result.position_error == pytest.approx(2 * math.sin(0.25), abs=1e-6)


def test_active_set_moves_the_others_for_the_joint_at_its_bound():
    """What the first joint would do beyond its bound, the others do within the same step."""
    chain = planar(1.0, 0.8, 0.6).with_limits([-0.1, -3, -3], [0.1, 3, 3])
    q = np.array([0.1, 0.8, 0.3])
    target = chain.forward([0.2, 0.8, 0.3])
    J, e = chain.jacobian(q)[:2], (target - chain.forward(q))[:2, 3]
    assert (np.linalg.pinv(J) @ e)[0] > 0.0
    steps = {}
    for strategy in ('clamp', 'active_set'):
        result = solve(
            chain, target, q, 'pseudoinverse', joint_limits=strategy, record_trace=True
        )  # fmt: skip
        steps[strategy] = result.trace.step[1]
        assert steps[strategy][0] == 0.0
    np.testing.assert_allclose(J @ steps['active_set'], e, rtol=0, atol=1e-12)
    assert np.linalg.norm(J @ steps['clamp'] - e) > 1e-3


def six_joints(kind, inner=''):
    axes = [(0, 0, 1), (0, 1, 0), (0, 1, 0), (1, 0, 0), (0, 1, 0), (1, 0, 0)]
    links = [f'link{i}' for i in range(7)]
    joints = [
        joint_xml(f'j{i}', kind, *links[i : i + 2], (0.3, 0.05, 0.1), axis=axis, inner=inner)
        for i, axis in enumerate(axes)
    ]
    return iks.Robot.from_urdf(robot_xml(links, joints)).chain()


@pytest.mark.parametrize('solver', SOLVERS)
def test_unlimited_joints_are_on_the_turn_nearest_to_the_seed(solver):
    """Also where one search is not enough."""
    chain = six_joints('continuous')
    options = options_with(max_searches=1)
    results = set()
    for q, seed in postures(chain, 80, seed=9).reshape(40, 2, 6):
        result = iks.solve_ik(chain, chain.forward(q), seed + 40.0, solver, options)
        assert np.abs(result.q - seed - 40.0).max() <= math.pi + 1e-9
        results.add(result.success)
    assert results == {True, False}


@pytest.mark.parametrize('prefer', ['first', 'nearest'])
@pytest.mark.parametrize('solver', ['levenberg_marquardt', 'pseudoinverse'])
def test_a_solution_on_a_limit_is_not_turned_to_the_other_one(solver, prefer):
    """By an error of 1e-9 rad beyond it, joints went round to the other end of a full turn."""
    arm = six_joints('revolute', limit_xml(-math.pi, math.pi))
    options = iks.IkOptions(prefer=prefer)
    for q, seed in postures(arm, 60, seed=4).reshape(30, 2, 6):
        q[[0, 5]] = arm.lower[[0, 5]]
        if np.linalg.svd(arm.jacobian(q), compute_uv=False)[-1] < 0.1:
            continue  # joints of a solution are off by more than the tip is
        seed = np.clip(q + 0.1 * seed, arm.lower, arm.upper)
        result = iks.solve_ik(arm, arm.forward(q), seed, solver, options)
        assert result.success
        assert within_limits(arm, result.q)
        assert np.abs(result.q - seed)[[0, 5]].max() < math.pi


def test_joint_that_others_mimic_by_halves_does_not_turn():
    """A full turn of it would be half a turn of the other."""
    driver = joint_xml('driver', 'continuous', 'base', 'a')
    half = joint_xml(
        'half', 'continuous', 'a', 'b', (1, 0, 0), inner='<mimic joint="driver" multiplier="0.5"/>'
    )
    tip = joint_xml('tip_joint', 'fixed', 'b', 'tip', (0.5, 0, 0))
    chain = iks.Robot.from_urdf(robot_xml(['base', 'a', 'b', 'tip'], [driver, half, tip])).chain()
    assert chain.joint_names == ('driver',)
    target = chain.forward([0.4])
    near = iks.solve_ik(chain, target, [0.3])
    assert near.success
    assert near.q[0] == pytest.approx(0.4, abs=1e-4)
    far = iks.solve_ik(chain, target, [0.3 + 4 * math.pi])
    assert far.success
    assert far.q[0] == pytest.approx(0.4 + 4 * math.pi, abs=1e-4)


@numba.njit
def _turn_towards(arrays, seed, q):
    limits.turn_towards(arrays, seed, q, LimitStrategy.CLAMP, 0.0)


@numba.njit
def _inside(arrays, value):
    return limits.inside(arrays, 0, value)


def turning_arrays(lower, upper):
    """A single turning joint as the kernels see it, with these limits."""
    chain = arm_of('planar_6r').robot.chain('base_link', 'link_1')
    return chain.arrays._replace(lower=np.array([lower]), upper=np.array([upper]))


edges = st.floats(-15.0, 15.0)


@SEEDED
@given(edges, st.floats(0.0, 20.0), edges, st.integers(-3, 3), st.booleans(), st.floats(0, 1))
@example(-4.490499046033626, 19.26489043785524, -1.5, -3, False, 0.0)
def test_turns_never_leave_the_limits(lower, width, seed, turns, upper_edge, share):
    """Nor by a rounding error where a joint stands whole turns away from a limit."""
    upper = lower + width
    for q in ((upper if upper_edge else lower) - 2 * math.pi * turns, lower + share * width):
        if not lower <= q <= upper:
            continue
        turned = np.array([q])
        _turn_towards(turning_arrays(lower, upper), np.array([seed]), turned)
        assert lower <= turned[0] <= upper
        count = (turned[0] - q) / (2 * math.pi)
        assert count == pytest.approx(round(count), abs=1e-12)
        for other in (turned[0] - 2 * math.pi, turned[0] + 2 * math.pi):
            if lower + 1e-9 < other < upper - 1e-9:
                assert abs(turned[0] - seed) <= abs(other - seed) + 1e-9


@SEEDED
@given(edges, st.floats(0.0, 20.0), st.floats(-1e4, 1e4))
def test_values_are_brought_inside_by_full_turns_or_clamped(lower, width, value):
    upper = lower + width
    result = _inside(turning_arrays(lower, upper), value)
    assert lower <= result <= upper
    if lower <= value <= upper:
        assert result == value
    elif result not in (lower, upper):
        count = (result - value) / (2 * math.pi)
        assert count == pytest.approx(round(count), abs=1e-9)


@kernel
def _transformed(lower, upper, y):
    return limits.transformed(lower, upper, y)


@kernel
def _untransformed(lower, upper, value):
    return limits.untransformed(lower, upper, value)


far_edges = st.floats(-1e3, 1e3)
widths = st.floats(0.0, 1e3)
intervals = st.one_of(
    st.tuples(far_edges, widths).map(lambda pair: (pair[0], pair[0] + pair[1])),
    far_edges.map(lambda edge: (edge, math.inf)),
    far_edges.map(lambda edge: (-math.inf, edge)),
    st.just((-math.inf, math.inf)),
)


@SEEDED
@given(intervals, st.one_of(st.floats(-1e6, 1e6), st.floats(-1e-6, 1e-6)))
def test_transformed_values_stay_within_the_limits(interval, y):
    lower, upper = interval
    assert lower <= _transformed(lower, upper, y) <= upper


def part_of(interval):
    """The ends of an interval, with finite ones in the place of those that are not."""
    lower, upper = interval
    low = lower if math.isfinite(lower) else min(upper, 0.0) - 10.0
    return low, upper if math.isfinite(upper) else max(low, 0.0) + 10.0


@SEEDED
@given(intervals, st.floats(0.0, 1.0))
def test_untransformed_is_the_inverse_of_transformed(interval, share):
    lower, upper = interval
    low, high = part_of(interval)
    value = min(max(low + share * (high - low), lower), upper)
    y = _untransformed(lower, upper, value)
    assert math.isfinite(y)
    size = max(1.0, abs(low), abs(high))
    assert _transformed(lower, upper, y) == pytest.approx(value, abs=1e-13 * size)
    if lower >= -FARTHEST_LIMIT and upper <= FARTHEST_LIMIT:
        assert abs(y) <= math.pi / 2


def transformed_by_numpy(lower, upper, y):
    if np.isfinite(lower) and np.isfinite(upper):
        return (lower + upper) / 2 + (upper - lower) / 2 * math.sin(y)
    if np.isfinite(lower):
        return lower - 1.0 + math.hypot(1.0, y)
    return upper + 1.0 - math.hypot(1.0, y) if np.isfinite(upper) else y


def variables(chain, q):
    """The new variables at a joint vector: none, one or two bounds each."""
    y = np.empty(chain.n)
    for i, (lower, upper, value) in enumerate(zip(chain.lower, chain.upper, q, strict=True)):
        if np.isfinite(lower) and np.isfinite(upper):
            y[i] = math.asin((value - (lower + upper) / 2) / ((upper - lower) / 2))
        elif np.isfinite(lower):
            y[i] = math.sqrt((value - lower + 1.0) ** 2 - 1.0)
        else:
            y[i] = math.sqrt((upper - value + 1.0) ** 2 - 1.0) if np.isfinite(upper) else value
    return y


def joints(chain, y):
    pairs = zip(chain.lower, chain.upper, y, strict=True)
    return np.array([transformed_by_numpy(*pair) for pair in pairs])


def first_row(chain, target, q, solver, weights, **values):
    options = iks.IkOptions(
        task_weights=weights, max_iterations=1, max_searches=1, record_trace=True, **values
    )
    trace = iks.solve_ik(chain, target, q, solver, options).trace
    np.testing.assert_array_equal(trace.q[0], q)
    return trace.q[1]


def one_sided():
    """Joints with no limit, with one, and with two."""
    return endless(0.5, 0.4, 0.3, 0.2).with_limits(
        [-np.inf, -2.0, -np.inf, -1.0], [np.inf, np.inf, 2.0, 2.5]
    )


def chosen_step(solver, J, e):
    if solver == 'pseudoinverse':
        return np.linalg.pinv(J, rcond=1e-12) @ e
    if solver == 'levenberg_marquardt':
        return J.T @ np.linalg.solve(J @ J.T + (0.1 * 0.5 * e @ e + 1e-12) * np.eye(6), e)
    descent = J.T @ e
    moved = J @ descent
    return (e @ moved) / (moved @ moved) * descent


STEPS = ('pseudoinverse', 'levenberg_marquardt', 'transpose')
PROBLEMS = {
    'panda': lambda: arm_of('panda'),
    'sliding': lambda: snake(7, prismatic=0.5),
    'one-sided': one_sided,
}


@pytest.mark.parametrize('solver', STEPS)
@pytest.mark.parametrize('name', PROBLEMS)
@pytest.mark.parametrize('weights', [(1.0,) * 6, (2.0, 1.0, 0.5, 0.1, 3.0, 0.2)])
def test_transformed_step_is_the_step_of_the_new_variables(solver, name, weights):
    chain = PROBLEMS[name]()
    middle = np.where(np.isfinite(chain.mid_range()), chain.mid_range(), 0.0)
    for q, q_target in postures(chain, 8, seed=3).reshape(4, 2, chain.n):
        q, q_target = 0.9 * q + 0.1 * middle, 0.9 * q_target + 0.1 * middle
        target = chain.forward(q_target)
        y = variables(chain, q)
        roots = np.sqrt(weights)
        e = roots * pose_error(chain.forward(q), target)
        ways = 1e-6 * np.eye(chain.n)
        slopes = [(joints(chain, y + way) - joints(chain, y - way)).sum() / 2e-6 for way in ways]
        J = roots[:, None] * chain.jacobian(q) * slopes
        expected = joints(chain, y + chosen_step(solver, J, e))
        variant = 'classical' if solver == 'transpose' else None
        after = first_row(
            chain, target, q, solver, weights, joint_limits='transform', variant=variant
        )
        scale = np.linalg.norm(chosen_step(solver, J, e))
        np.testing.assert_allclose(after, expected, rtol=0, atol=1e-5 * (1.0 + scale**2))


@pytest.mark.parametrize('solver', [name for name in iks.solver_names() if name != 'ccd'])
def test_one_sided_limits_are_kept_by_transformed_variables(solver):
    chain = one_sided()
    options = options_with(
        joint_limits='transform', task_weights=(1, 1, 0, 0, 0, 0), record_trace=True,
        max_searches=3,
    )  # fmt: skip
    solved = 0
    for target, seed in zip(targets(chain, 6), postures(chain, 6, seed=1), strict=True):
        result = iks.solve_ik(chain, target, seed, solver, options)
        assert all(within_limits(chain, q) for q in result.trace.q)
        solved += result.success
    assert solved >= 4


def beyond(chain, q):
    """How far each joint is beyond where its penalty begins."""
    margin = MARGIN * np.minimum(chain.upper - chain.lower, 1.0)
    return np.maximum(q - chain.upper + margin, 0.0) - np.maximum(chain.lower + margin - q, 0.0)


@pytest.mark.parametrize('weight', [0.1, 10.0, 1e3])
@pytest.mark.parametrize('name', ['panda', 'sliding'])
def test_penalised_step_makes_the_least_of_motion_and_penalty(name, weight):
    """
    Of all steps that reach the linearised pose, ‖Δq‖² + w (Δq + v)² is least, v beyond the bound.

    The second step, as searches start within the limits.
    """
    chain = PROBLEMS[name]()
    compared = 0
    for q, q_target in postures(chain, 40, seed=5).reshape(20, 2, chain.n):
        tight = chain.with_limits(q - 0.05, q + 0.05)
        target = chain.forward(q + 0.3 * (q_target - q))
        options = iks.IkOptions(
            max_iterations=2, max_searches=1, record_trace=True, joint_limits='penalty',
            penalty_weight=weight,
        )  # fmt: skip
        trace = iks.solve_ik(tight, target, q, 'pseudoinverse', options).trace
        before, after = trace.q[1:3]
        v = beyond(tight, before)
        J, e = chain.jacobian(before), pose_error(chain.forward(before), target)
        if not v.any() or np.linalg.cond(J) > 100:
            continue
        compared += 1
        step = after - before
        np.testing.assert_allclose(J @ step, e, rtol=0, atol=1e-9)
        # Lagrange: the gradient of what is least lies in the row space of J.
        gradient = step + np.where(v != 0.0, weight * (step + v), 0.0)
        along = np.eye(chain.n) - np.linalg.pinv(J) @ J
        np.testing.assert_allclose(along @ gradient, 0.0, atol=1e-8 * (1.0 + weight))
    assert compared >= 5


def test_damping_weighs_the_penalty_as_it_weighs_motion():
    """Levenberg–Marquardt: ‖J Δq − e‖² + λ (‖Δq‖² + w (Δq + v)²) is least."""
    chain, weight = arm_of('panda'), 10.0
    compared = 0
    for q, q_target in postures(chain, 20, seed=5).reshape(10, 2, 7):
        tight = chain.with_limits(q - 0.05, q + 0.05)
        target = chain.forward(q + 0.3 * (q_target - q))
        options = iks.IkOptions(
            max_iterations=2, max_searches=1, record_trace=True, joint_limits='penalty'
        )
        before, after = iks.solve_ik(tight, target, q, options=options).trace.q[1:3]
        v = beyond(tight, before)
        J, e = chain.jacobian(before), pose_error(chain.forward(before), target)
        damping = 0.1 * 0.5 * e @ e + 1e-12
        outside = np.diag((v != 0.0).astype(float))
        rows = np.vstack([
            J, math.sqrt(damping) * np.eye(7), math.sqrt(damping * weight) * outside
        ])  # fmt: skip
        right = np.concatenate([e, np.zeros(7), -math.sqrt(damping * weight) * v])
        expected = np.linalg.lstsq(rows, right, rcond=None)[0]
        np.testing.assert_allclose(after - before, expected, rtol=0, atol=1e-8)
        compared += v.any()
    assert compared >= 5


LARGEST = sys.float_info.max
COUNT = 200


@pytest.fixture(autouse=True)
def _warnings_are_errors():
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        yield


def turning_arm(lower, upper):
    text = re.sub(r'lower="[^"]*"', f'lower="{lower!r}"', arm_path('ur5e').read_text())
    text = re.sub(r'upper="[^"]*"', f'upper="{upper!r}"', text)
    return iks.Robot.from_urdf(text).chain('base_link', 'tool0')


def outcome(chain, **options):
    """Solved of 200 targets within 3 rad and m of zero, and searches for each."""
    random = np.random.default_rng(1)
    solver = iks.Solver(chain, options=iks.IkOptions(timeout=30.0, **options))
    lower, upper = np.maximum(chain.lower, -3.0), np.minimum(chain.upper, 3.0)
    solved = searches = 0
    for _ in range(COUNT):
        T = chain.forward(random.uniform(lower, upper))
        result = solver.solve(T, random.uniform(lower, upper))
        assert within_limits(chain, result.q)
        solved += result.success
        searches += result.searches
        assert not result.success or np.abs(chain.forward(result.q) - T).max() < 3e-5
    return solved, searches / COUNT


RAILS = (-3.0, 3.0), (-1e16, 1e16), (-LARGEST, LARGEST), (0.0, LARGEST), (-1e6, 0.0)
TURNS = (-999999.0, 999999.0), (-1e12, 1e12), (-LARGEST, LARGEST), (-3.1, LARGEST), (-1e12, 3.1)


@pytest.mark.parametrize(
    ('make', 'limits', 'most'),
    [*((arm_on_rail, ends, 1.3) for ends in RAILS), *((turning_arm, ends, 1.6) for ends in TURNS)],
)
def test_joints_with_far_limits_are_solved_as_on_a_short_rail_or_as_continuous(make, limits, most):
    solved, searches = outcome(make(*limits))
    assert solved == COUNT
    assert searches < most


@pytest.mark.parametrize('strategy', ['clamp', 'active_set', 'transform', 'penalty'])
def test_every_strategy_for_the_limits_takes_them_for_none(strategy):
    for chain in (arm_on_rail(-LARGEST, LARGEST), turning_arm(-1e12, LARGEST)):
        solved, searches = outcome(chain, joint_limits=strategy)
        assert solved == COUNT
        assert searches < 2.0


def test_success_is_within_the_limits_as_they_are():
    chain = arm_on_rail(-1e6, 1e6)
    q = np.array([1e6, 0.3, -1.0, 1.5, -0.5, 1.0, 0.2])
    T = chain.forward(q)
    inside = iks.solve_ik(chain, T, seed=q + 0.01)
    assert inside.success
    assert inside.q[0] <= 1e6
    T[0, 3] += 3.0  # more than the arm reaches beyond the end of its rail
    beyond = iks.solve_ik(chain, T, seed=q, options=iks.IkOptions(max_searches=5))
    assert not beyond.success
    assert within_limits(chain, beyond.q)


def test_bound_on_the_motion_holds_far_from_zero():
    chain = arm_on_rail(-1e6, 1e6)
    seed = np.array([5000.0, 0.3, -1.0, 1.5, -0.5, 1.0, 0.2])
    options = iks.IkOptions(max_joint_motion=0.2, max_searches=50)
    for step in np.random.default_rng(2).uniform(-0.2, 0.2, (20, 7)):
        result = iks.solve_ik(chain, chain.forward(seed + step), seed=seed, options=options)
        assert result.success
        assert np.abs(result.q - seed).max() <= 0.2


@pytest.mark.parametrize('turns', [False, True])
def test_all_solutions_are_those_of_the_arm_without_limits(turns):
    wide, free = turning_arm(-1e12, 1e12), turning_arm(-100.0, 100.0)
    T = free.forward([0.3, -1.0, 1.5, -0.5, 1.0, 0.2])
    expected = iks.solve_ik_all(free, T)
    assert len(expected) == 8
    np.testing.assert_allclose(iks.solve_ik_all(wide, T, turns=turns), expected, atol=1e-6)


@pytest.mark.parametrize('limits', [(-1e6, 1e6), (-LARGEST, LARGEST), (0.0, LARGEST)])
def test_paths_all_solutions_and_objectives_of_an_arm_on_a_rail(limits):
    chain = arm_on_rail(*limits)
    start = np.array([0.5, 0.3, -1.0, 1.5, -0.5, 1.0, 0.2])
    rows = start + np.linspace(0.0, 0.3, 30)[:, None]
    targets = np.array([chain.forward(q) for q in rows])
    assert iks.solve_path(chain, targets, seed=start).success
    assert iks.solve_path(chain, targets).success
    some = iks.solve_ik_all(chain, targets[0], resolution=0.8, max_solutions=5000)
    assert len(some) > 8
    for objective in ('joint_centers', 'joint_limits', 'manipulability'):
        options = iks.IkOptions(objective=objective, null_space_gain=0.1)
        result = iks.solve_ik(chain, targets[-1], start, solver='pseudoinverse', options=options)
        assert result.success


@pytest.mark.parametrize('way', ['by an objective', 'while it tracks'])
def test_joints_without_limits_are_not_drawn_to_the_middle_of_them(way):
    start = np.array([50.0, 0.3, -1.0, 1.5, -0.5, 1.0, 0.2])
    answers = []
    for chain in (arm_on_rail(-1e6, 1e6), arm_on_rail(-LARGEST, LARGEST)):
        T = chain.forward(start)
        if way == 'while it tracks':
            T[2, 3] += 0.01
            answers.append(iks.solve_ik(chain, T, start).q)
        else:
            options = iks.IkOptions(objective='joint_centers', null_space_gain=0.1)
            answers.append(iks.solve_ik(chain, T, start + 0.2, 'pseudoinverse', options).q)
    np.testing.assert_array_equal(*answers)
    assert abs(answers[0][0] - 50.0) < 0.5
