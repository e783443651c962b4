"""How steps keep the limits, on arms small enough to know the answer."""

import math

from hypothesis import example, given, settings
from hypothesis import strategies as st
import numba
import numpy as np
import pytest
from support.chains import arm as chain_of
from support.chains import joint_xml, limit_xml, planar, planar_xml, robot_xml, targets, transform

import ik_service as iks
from ik_service.solvers.loop import limits
from ik_service.solvers.options import LimitStrategy

SOLVERS = iks.solver_names()
POSITION_ONLY = (1.0, 1.0, 1.0, 0.0, 0.0, 0.0)
SEEDED = settings(deadline=None, derandomize=True, max_examples=500)


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


def test_ignored_limits_are_left():
    chain = two_links(-0.5, 0.5)
    q = np.array([0.9, 1.2])
    result = solve(chain, chain.forward(q), [0.4, 0.4], joint_limits='ignore')
    assert result.success
    np.testing.assert_allclose(result.q, q, rtol=0, atol=1e-3)


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


def test_joint_leaves_its_bound_when_the_step_points_inside():
    chain = two_links(-1.0, 1.0)
    result = solve(chain, chain.forward([0.3, 0.4]), [1.0, 1.0], joint_limits='active_set')
    assert result.success
    np.testing.assert_allclose(result.q, [0.3, 0.4], rtol=0, atol=1e-3)


def test_full_turns_bring_a_seed_inside():
    chain = chain_of('planar_6r')
    q = np.array([0.5, -2.0, 1.0, 0.1, -0.4, 2.5])
    for turns in (1, -1, 7):
        result = iks.solve_ik(chain, chain.forward(q), q + 2 * math.pi * turns)
        assert result.success
        assert result.iterations <= 1
        np.testing.assert_allclose(result.q, q, rtol=0, atol=1e-9)


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


# The turns themselves


@numba.njit
def _turn_towards(arrays, seed, q):
    limits.turn_towards(arrays, seed, q, LimitStrategy.CLAMP)


@numba.njit
def _inside(arrays, value):
    return limits.inside(arrays, 0, value)


def turning_arrays(lower, upper):
    """A single turning joint as the kernels see it, with these limits."""
    chain = chain_of('planar_6r').robot.chain('base_link', 'link_1')
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


@pytest.mark.parametrize('strategy', ['clamp', 'active_set'])
def test_every_step_keeps_tight_limits(strategy):
    chain = chain_of('panda')
    tight = chain.with_limits(chain.mid_range() - 0.2, chain.mid_range() + 0.2)
    options = iks.IkOptions(joint_limits=strategy, record_trace=True, max_searches=3)
    for target in targets(chain, 10, seed=40):
        trace = iks.solve_ik(tight, target, options=options).trace
        assert np.all((tight.lower <= trace.q) & (trace.q <= tight.upper))
