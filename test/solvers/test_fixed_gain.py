"""Steps of a fixed size: tiny ones are slow and stable, too large ones diverge and say so."""

import time

import numpy as np
import pytest
from support.chains import arm as arm_of
from support.chains import planar, postures, snake, targets, transform
from support.solver_checks import assert_honest, options_with

import ik_service as iks

FIRST_ORDER = ('transpose', 'pseudoinverse')
TAKING_GAIN = [name for name in iks.solver_names() if name != 'levenberg_marquardt']
POSITION = (1.0, 1.0, 1.0, 0.0, 0.0, 0.0)


def near(chain, seed):
    """A target, and a start not far from it and from no limit."""
    q = 0.5 * postures(chain, 1, seed)[0] + 0.5 * chain.mid_range()
    return chain.forward(q), q + 0.1


@pytest.mark.parametrize('solver', TAKING_GAIN)
@pytest.mark.parametrize('gain', [1e-9, 1e-6, 1e-3])
def test_tiny_steps_never_raise_the_error_and_use_all_iterations(solver, gain):
    chain = arm_of('panda')
    for seed in range(5):
        target, start = near(chain, seed)
        options = options_with(
            step_gain=gain, record_trace=True, max_iterations=100, max_searches=1,
            task_weights=POSITION if solver == 'ccd' else (1.0,) * 6,  # its own measure of turns
        )  # fmt: skip
        result = iks.solve_ik(chain, target, start, solver, options)
        assert result.status is iks.IkStatus.NO_SOLUTION
        trace = result.trace
        rows = trace.search == 0
        cost = trace.position_error[rows] ** 2 + trace.orientation_error[rows] ** 2
        assert len(cost) == 101
        assert np.all(np.diff(cost) <= 1e-12 * cost[:-1])
        assert cost[-1] < cost[0]
        # Far from the target still: a hundred steps, of a share of the way each.
        assert cost[-1] > (1.0 - 1e4 * gain) * cost[0] or solver == 'bfgs'  # it learns the share


def test_step_of_a_billionth_is_as_good_as_its_slope():
    """Slow, and as stable as can be: a thousand steps do what the slope promises."""
    chain = arm_of('ur5e')
    target, start = near(chain, 0)
    options = options_with(step_gain=1e-9, record_trace=True, max_iterations=1000, max_searches=1)
    trace = iks.solve_ik(chain, target, start, 'pseudoinverse', options).trace
    way = trace.q[1000] - trace.q[0]
    np.testing.assert_allclose(way, 1000 * trace.step[1], rtol=1e-5)


@pytest.mark.parametrize('solver', FIRST_ORDER)
@pytest.mark.parametrize('strategy', ['clamp', 'active_set', 'ignore'])
def test_good_steps_succeed(solver, strategy):
    chain = arm_of('panda')
    for seed in range(3):
        target, start = near(chain, seed)
        options = options_with(
            step_gain=0.5,
            joint_limits=strategy,
            task_weights=POSITION,
            max_searches=3,
            position_tolerance=1e-3,
        )
        result = iks.solve_ik(chain, target, start, solver, options)
        assert result.success


@pytest.mark.parametrize('solver', FIRST_ORDER)
@pytest.mark.parametrize('strategy', ['clamp', 'active_set', 'ignore'])
@pytest.mark.parametrize('gain', [10.0, 1e3, 1e6])
@pytest.mark.parametrize('name', ['panda', 'planar_6r', 'sliding'])
def test_large_steps_end_as_diverged_and_soon(solver, strategy, gain, name):
    """All joints may also end up at bounds, where the error does not change any more."""
    chain = snake(6, prismatic=0.5) if name == 'sliding' else arm_of(name)
    options = options_with(step_gain=gain, joint_limits=strategy)
    prepared = iks.Solver(chain, solver, options)
    prepared.warm_up()
    diverged = 0
    for seed in range(3):
        target, start = near(chain, seed)
        began = time.thread_time()
        result = prepared.solve(target, start)
        assert time.thread_time() - began < 2.0
        if strategy != 'ignore':  # or angles are so large that nothing is left of their precision
            assert_honest(chain, target, options, result)
        diverged += result.status is iks.IkStatus.DIVERGED
        assert result.status in (iks.IkStatus.DIVERGED, iks.IkStatus.NO_SOLUTION)
    may_be_pinned = strategy == 'clamp' or (strategy == 'active_set' and name == 'sliding')
    assert diverged == 3 or may_be_pinned
    assert 'steps are too large' in iks.IkStatus.DIVERGED.value


def test_joints_that_slide_without_end_diverge_at_once():
    """The error passes all bounds within a step or two."""
    chain = snake(6, prismatic=0.5)
    target, start = near(chain, 0)
    options = options_with(step_gain=1e6, joint_limits='ignore')
    result = iks.solve_ik(chain, target, start, 'pseudoinverse', options)
    assert result.status is iks.IkStatus.DIVERGED
    assert result.iterations <= 10
    assert np.isfinite(result.q).all()


@pytest.mark.parametrize('solver', FIRST_ORDER)
def test_settled_at_the_closest_pose_is_not_diverged(solver):
    """A hole in the middle of the workspace: the error stops falling, up to its last digits."""
    chain = planar(1.0, 0.4)
    hole = transform(p=(0.1, 0.0, 0.0))
    for gain in (1e-3, 0.1):
        options = options_with(step_gain=gain, task_weights=(1, 1, 0, 0, 0, 0), max_searches=3)
        result = iks.solve_ik(chain, hole, [0.3, 1.0], solver, options)
        assert result.status is iks.IkStatus.NO_SOLUTION
        assert result.position_error == pytest.approx(0.5, abs=1e-3)


def test_unreachable_is_unreachable_whatever_the_gain():
    chain = arm_of('panda')
    for gain in (1e-9, 1.0, 1e6):
        result = iks.solve_ik(
            chain, transform(p=(9.0, 0, 0)), None, 'transpose', options_with(step_gain=gain)
        )
        assert result.status is iks.IkStatus.UNREACHABLE


def test_line_searches_do_not_diverge():
    chain = arm_of('panda')
    for solver in ('bfgs', 'conjugate_gradient'):
        for target in targets(chain, 3):
            options = options_with(step_gain=1e6)
            result = iks.solve_ik(chain, target, None, solver, options)
            assert result.status in (iks.IkStatus.SUCCESS, iks.IkStatus.NO_SOLUTION)
