"""Limits of ±999999, ±1e16 or the largest number: joints without limits, to a search."""

import re
import sys
import warnings

import numpy as np
import pytest
from support.chains import arm_path, within_limits
from support.robots import arm_on_rail

import ik_service as iks

LARGEST = sys.float_info.max
COUNT = 200


@pytest.fixture(autouse=True)
def _warnings_are_errors():
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        yield


def turning_arm(lower, upper):
    """The UR5e with other limits of all joints."""
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


@pytest.mark.parametrize(
    'limits',
    [(-3.0, 3.0), (-1e6, 1e6), (-1e16, 1e16), (-LARGEST, LARGEST), (0.0, LARGEST), (-1e6, 0.0)],
)
def test_arm_on_a_rail_is_solved_as_on_a_short_one(limits):
    solved, searches = outcome(arm_on_rail(*limits))
    assert solved == COUNT
    assert searches < 1.3


@pytest.mark.parametrize(
    'limits',
    [(-999999.0, 999999.0), (-1e12, 1e12), (-LARGEST, LARGEST), (-3.1, LARGEST), (-1e12, 3.1)],
)
def test_joints_that_turn_are_solved_as_continuous_ones(limits):
    solved, searches = outcome(turning_arm(*limits))
    assert solved == COUNT
    assert searches < 1.6


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


def test_objectives_leave_out_joints_without_limits():
    wide, free = arm_on_rail(-1e6, 1e6), arm_on_rail(-LARGEST, LARGEST)
    start = np.array([0.5, 0.3, -1.0, 1.5, -0.5, 1.0, 0.2])
    options = iks.IkOptions(objective='joint_centers', null_space_gain=0.1)
    answers = [
        iks.solve_ik(chain, chain.forward(start), start + 0.2, 'pseudoinverse', options).q
        for chain in (wide, free)
    ]
    np.testing.assert_array_equal(*answers)


def test_tracking_does_not_draw_joints_without_limits_to_the_middle_of_them():
    start = np.array([50.0, 0.3, -1.0, 1.5, -0.5, 1.0, 0.2])
    answers = []
    for chain in (arm_on_rail(-1e6, 1e6), arm_on_rail(-LARGEST, LARGEST)):
        T = chain.forward(start)
        T[2, 3] += 0.01
        answers.append(iks.solve_ik(chain, T, start).q)
    np.testing.assert_array_equal(*answers)
    assert abs(answers[0][0] - 50.0) < 0.1
