"""Cyclic coordinate descent: each joint goes to its best position, and cycles are extrapolated."""

from itertools import pairwise
import math

import numpy as np
import pytest
from support.chains import arm as arm_of
from support.chains import endless, planar, postures, snake, within_limits
from support.solver_checks import mimicking, options_with

import ik_service as iks
from ik_service.kinematics.link_poses import tip_poses
from ik_service.kinematics.pose_error import pose_error
from ik_service.solvers.options import characteristic_length

VARIANTS = ('classical', 'accelerated')
POSE = (1.0,) * 6
POSITION = (1.0, 1.0, 1.0, 0.0, 0.0, 0.0)


def rows_of(chain, q, target, count, weights=POSE, **options):
    options = iks.IkOptions(
        max_iterations=count, max_searches=1, record_trace=True, task_weights=weights,
        position_tolerance=1e-12, orientation_tolerance=1e-12, **options,
    )  # fmt: skip
    trace = iks.solve_ik(chain, target, q, 'ccd', options).trace
    np.testing.assert_array_equal(trace.q[0], q)
    return trace.q[trace.search == 0]


def one_cycle(chain, q, target, weights=POSE, strategy='clamp', **options):
    return rows_of(chain, q, target, 1, weights, joint_limits=strategy, **options)[1]


def length_of(chain, variant):
    """The length that weighs as much as a radian [m]."""
    return characteristic_length(chain, iks.IkOptions()) if variant == 'accelerated' else 1.0


def disagreements(chain, rows, target, weights, length):
    """What a joint minimises: weighted distance², and the distance² of the rotation matrices."""
    away = (tip_poses(chain, np.array(rows)) - target)[:, :3] ** 2
    rotation = 0.5 * length**2 * away[:, :, :3].sum(axis=(1, 2))
    return weights[0] * away[:, :, 3].sum(axis=1) + weights[3] * rotation


def best_by_scanning(chain, q, i, target, weights, length, lower, upper):
    """Least disagreement for any place of one joint: a scan, then finer ones about the best."""
    places = np.linspace(lower, upper, 721)
    for _ in range(3):
        rows = np.tile(q, (len(places), 1))
        rows[:, i] = places
        costs = disagreements(chain, rows, target, weights, length)
        best = int(np.argmin(costs))
        way = places[1] - places[0]
        places = np.linspace(max(lower, places[best] - way), min(upper, places[best] + way), 41)
    return costs.min()


@pytest.mark.parametrize(
    'weights', [POSE, POSITION, (0, 0, 0, 1, 1, 1), (4, 4, 4, 0.25, 0.25, 0.25)]
)
@pytest.mark.parametrize('name', ['panda', 'ur5e', 'planar_6r', 'sliding', 'continuous'])
@pytest.mark.parametrize('variant', VARIANTS)
def test_each_joint_goes_to_its_best_place_within_its_limits(name, weights, variant):
    """The first cycle, before there is anything to extrapolate from."""
    chain = {
        'sliding': lambda: snake(6, prismatic=0.5),
        'continuous': lambda: endless(0.5, 0.4, 0.3),
    }.get(name, lambda: arm_of(name))()  # fmt: skip
    tight = 0.35 * (chain.upper - chain.lower)
    if name != 'continuous':
        chain = chain.with_limits(chain.lower + tight, chain.upper - tight)
    lower = np.where(np.isfinite(chain.lower), chain.lower, -math.pi)
    upper = np.where(np.isfinite(chain.upper), chain.upper, math.pi)
    q, q_target = postures(chain, 2, seed=7)
    target = chain.forward(q_target + 0.3)
    length = length_of(chain, variant)
    after = one_cycle(chain, q, target, weights, variant=variant)
    assert within_limits(chain, after)
    varied = q.copy()
    for i in reversed(range(chain.n)):
        earlier, varied[i] = varied.copy(), after[i]
        before, cost = disagreements(chain, [earlier, varied], target, weights, length)
        best = best_by_scanning(chain, varied, i, target, weights, length, lower[i], upper[i])
        assert cost <= before + 1e-15
        assert cost == pytest.approx(best, abs=1e-7)
        assert cost <= best + 1e-12


def test_joint_that_may_turn_more_than_once_takes_the_nearest_turn(ur5e):
    q = np.full(6, 3.0)
    after = one_cycle(ur5e, q, ur5e.forward(q + 0.1))
    assert np.abs(after - q).max() <= math.pi


def test_limit_on_the_better_side_is_taken():
    """One joint within ±1 rad, the best place at 3 rad: 1 rad is nearer to it than −1 rad."""
    chain = planar(1.0, 0.5).with_limits([-1.0, 0.0], [1.0, 0.0])
    for angle, bound in ((3.0, 1.0), (-3.0, -1.0), (0.4, 0.4)):
        after = one_cycle(chain, np.zeros(2), chain.forward([angle, 0.0]))
        assert after[0] == pytest.approx(bound, abs=1e-12)


def test_gain_is_the_share_of_each_motion():
    chain = planar(1.0)
    target = chain.forward([0.8])
    for gain in (1.0, 0.25):
        after = one_cycle(chain, np.zeros(1), target, step_gain=gain)
        assert after[0] == pytest.approx(gain * 0.8, abs=1e-12)


def test_ignored_limits_are_not_kept():
    chain = planar(1.0).with_limits([-0.1], [0.1])
    after = one_cycle(chain, np.zeros(1), chain.forward([0.8]), strategy='ignore')
    assert after[0] == pytest.approx(0.8, abs=1e-12)


def test_a_penalty_holds_joints_back_beyond_their_limits():
    """It begins 1/1000 of the range inside; the turn with the smaller excess is taken."""
    chain = planar(1.0).with_limits([-1.0], [0.5])
    begin, weight = 0.5 - 1e-3, 4.0
    for angle, best in ((0.8, 0.8), (-2.9, -2.9), (3.2, 3.2 - 2 * math.pi)):
        target = chain.forward([angle])
        after = one_cycle(chain, [0.0], target, strategy='penalty', penalty_weight=weight)
        bound = begin if best > 0.0 else -1.0 + 1e-3
        assert after[0] == pytest.approx(bound + (best - bound) / (1.0 + weight), abs=1e-12)


@pytest.mark.parametrize('name', ['panda', 'ur5e', 'planar_6r'])
@pytest.mark.parametrize('variant', VARIANTS)
def test_transformed_joints_go_where_clamped_ones_do(name, variant):
    chain = arm_of(name)
    for q, q_target in postures(chain, 20, seed=8).reshape(10, 2, chain.n):
        clamped, transformed = (
            one_cycle(chain, 0.9 * q, chain.forward(q_target), strategy=strategy, variant=variant)
            for strategy in ('clamp', 'transform')
        )
        np.testing.assert_allclose(transformed, clamped, atol=1e-9)


@pytest.mark.parametrize('weights', [POSITION, (1.0, 1.0, 2.0, 0.0, 0.0, 0.0)])
@pytest.mark.parametrize('strategy', ['clamp', 'ignore'])
def test_joint_without_effect_stays(panda, weights, strategy):
    """The tip of the Panda is on its last axis, so its position is not that joint's affair."""
    for q, q_target in postures(panda, 20, seed=3).reshape(10, 2, 7):
        options = options_with(
            task_weights=weights, joint_limits=strategy, record_trace=True, max_searches=1
        )
        result = iks.solve_ik(panda, panda.forward(q_target), q, 'ccd', options)
        steps = result.trace.step[result.trace.search == 0]
        assert not steps[:, 6].any()
        assert np.abs(steps).max() <= 2 * math.pi


@pytest.mark.parametrize('weights', [(1.0, 2.0, 0.5, 1.0, 1.0, 1.0), (1, 1, 0, 0, 0, 0)])
@pytest.mark.parametrize('variant', VARIANTS)
def test_with_weights_that_differ_each_joint_minimises_its_linearised_error(weights, variant):
    chain = arm_of('ur5e')
    roots = np.sqrt(weights) * np.repeat([1.0, length_of(chain, variant)], 3)
    for q, q_target in postures(chain, 6).reshape(3, 2, 6):
        target = chain.forward(q + 0.1 * (q_target - q))
        after = one_cycle(chain, q, target, weights, variant=variant)
        varied = q.copy()
        for i in reversed(range(6)):
            e = roots * pose_error(chain.forward(varied), target)
            row = roots * chain.jacobian(varied)[:, i]
            if np.linalg.norm(row) < 1e-12:  # the tip is on its axis
                assert after[i] == varied[i]
                continue
            motion = np.clip(row @ e / (row @ row), -math.pi, math.pi)
            expected = np.clip(varied[i] + motion, chain.lower[i], chain.upper[i])
            assert after[i] == pytest.approx(expected, abs=1e-9)
            varied[i] = after[i]


UNEVEN = (1.0, 2.0, 0.5, 1.0, 1.0, 1.0)


def lowered_by_cycles(chain, q, target, weights):
    """What the cycles lower: of the rotation matrices where all weights are alike, else of e."""
    length = characteristic_length(chain, iks.IkOptions())
    if weights == POSE:
        difference = chain.forward(q) - target
        rotation = 0.5 * np.sum(difference[:3, :3] ** 2)
        return np.sum(difference[:3, 3] ** 2) + length**2 * rotation
    e = np.sqrt(weights) * pose_error(chain.forward(q), target)
    return e[:3] @ e[:3] + length**2 * (e[3:] @ e[3:])


def without_turns(motion):
    return motion - 2 * np.pi * np.floor(motion / (2 * np.pi) + 0.5)


def inside(chain, q):
    """Turning joints within the limits: by a full turn where that suffices, else at the bound."""
    for turned in (q - 2 * np.pi, q + 2 * np.pi):
        fits = (turned >= chain.lower) & (turned <= chain.upper)
        q = np.where((q < chain.lower) | (q > chain.upper), np.where(fits, turned, q), q)
    return np.clip(q, chain.lower, chain.upper)


@pytest.mark.parametrize('weights', [POSE, UNEVEN])
@pytest.mark.parametrize('strategy', ['clamp', 'ignore'])
def test_steps_are_those_of_the_formula_or_cycles(panda, weights, strategy):
    """γ by least squares, to 1e-5 of the step: the solver has normal equations."""
    settings = {'weights': weights, 'joint_limits': strategy}
    extrapolated = 0
    for q, q_target in postures(panda, 8, seed=5).reshape(4, 2, 7):
        target = panda.forward(q_target)
        rows = rows_of(panda, q, target, 5, **settings)
        after = np.array([rows_of(panda, row, target, 1, **settings)[1] for row in rows])
        motions = without_turns(after - rows)
        for k in range(1, len(rows) - 1):
            first = max(0, k - 5)
            changes = np.diff(motions[first : k + 1], axis=0).T
            ways = without_turns(np.diff(rows[first : k + 1], axis=0)).T
            gamma = np.linalg.lstsq(changes, motions[k], rcond=None)[0]
            way = motions[k] - (ways + changes) @ gamma
            place = rows[k] + way / max(1.0, np.abs(way).max())
            if strategy == 'clamp':
                place = inside(panda, place)
            errors = [lowered_by_cycles(panda, x, target, weights) for x in (place, after[k])]
            expected = place if errors[0] < errors[1] else after[k]
            extrapolated += errors[0] < errors[1]
            np.testing.assert_allclose(rows[k + 1], expected, atol=1e-5)
    assert extrapolated > 0


@pytest.mark.parametrize('weights', [POSE, UNEVEN])
@pytest.mark.parametrize('strategy', ['clamp', 'ignore'])
def test_no_step_is_worse_than_its_cycle(ur5e, weights, strategy):
    settings = {'weights': weights, 'joint_limits': strategy}
    for q, q_target in postures(ur5e, 8, seed=6).reshape(4, 2, 6):
        target = ur5e.forward(q_target)
        rows = rows_of(ur5e, q, target, 30, **settings)
        for before, row in pairwise(rows):
            cycle = rows_of(ur5e, before, target, 1, **settings)[1]
            least = lowered_by_cycles(ur5e, cycle, target, weights)
            assert lowered_by_cycles(ur5e, row, target, weights) <= least + 1e-13


@pytest.mark.parametrize(
    'chain', [planar(1.0), planar(1.0, 0.5), snake(2), snake(5, prismatic=0.9), mimicking()]
)
def test_chains_of_few_joints(chain):
    """With fewer joints than cycles are remembered, and with a variable that moves several."""
    for q in postures(chain, 10, seed=7):
        start = np.clip(q + 0.2, chain.lower, chain.upper)
        result = iks.solve_ik(chain, chain.forward(q), start, 'ccd')
        assert result.success, result.reason
