"""The transpose of the Jacobian: its gains, and fixed ones of every method."""

import time

import numpy as np
import pytest
from support.chains import arm as arm_of
from support.chains import (
    joint_xml,
    limit_xml,
    planar,
    postures,
    robot_xml,
    snake,
    targets,
    transform,
)
from support.solver_checks import assert_honest, first_step, options_with, WEIGHTS

import ik_service as iks
from ik_service.kinematics.pose_error import pose_error
from ik_service.solvers.options import characteristic_length

LENGTHS = [None, 0.05, 2.0]


@pytest.mark.parametrize('weights', WEIGHTS)
@pytest.mark.parametrize('n', [2, 6, 7, 30])
def test_step_minimises_the_linearised_error(n, weights):
    chain = snake(n)
    for q, q_target in postures(chain, 10).reshape(5, 2, n):
        target = chain.forward(q_target)
        first = first_step(chain, q, target, 'transpose', weights, variant='classical')
        descent = first.J.T @ first.e
        moved = first.J @ descent
        gain = (first.e @ moved) / (moved @ moved)
        np.testing.assert_allclose(first.step, gain * descent, rtol=1e-11, atol=1e-13)
        # No other length leaves less of the linearised error.
        least = np.linalg.norm(first.e - first.J @ first.step)
        for other in (0.9, 0.99, 1.01, 1.1):
            assert np.linalg.norm(first.e - other * first.J @ first.step) > least


@pytest.mark.parametrize('gain', [0.01, 0.5])
def test_fixed_gain(gain):
    chain = snake(7)
    for q, q_target in postures(chain, 10).reshape(5, 2, 7):
        first = first_step(chain, q, chain.forward(q_target), 'transpose', step_gain=gain)
        np.testing.assert_allclose(first.step, gain * first.J.T @ first.e, rtol=1e-12)


def steps_of(chain, q, target, count, weights=(1.0,) * 6, **options):
    """The first rows of a search without limits: joint vectors, and the steps that led there."""
    options = iks.IkOptions(
        joint_limits='ignore', max_iterations=count, max_searches=1, record_trace=True,
        position_tolerance=1e-12, orientation_tolerance=1e-12, task_weights=weights, **options,
    )  # fmt: skip
    trace = iks.solve_ik(chain, target, q, 'transpose', options).trace
    own = trace.search == 0
    return trace.q[own], trace.step[own]


class Descent:
    """Gradient −Jᵀ S² e at a joint vector, and the metric of the joints there."""

    def __init__(self, chain, q, target, weights, length):
        roots = np.sqrt(weights) * np.repeat([1.0, length], 3)
        self.J = roots[:, None] * chain.jacobian(q)
        self.e = roots * pose_error(chain.forward(q), target)
        self.gradient = -self.J.T @ self.e
        squares = np.sum(self.J**2, axis=0)
        self.metric = np.maximum(squares, 0.01 * squares.max())
        self.direction = -self.gradient / self.metric


def two_point_length(last, here, step, short_lengths):
    """The length by Barzilai and Borwein, chosen as ABBmin does; None where there is none."""
    y = here.gradient - last.gradient
    along = step @ y
    if along <= 0.0:
        short_lengths.append(np.inf)
        return None
    long, short = step @ (here.metric * step) / along, along / (y @ (y / here.metric))
    short_lengths.append(short)
    return min(short_lengths[-5:]) if short < 0.2 * long else long


@pytest.mark.parametrize('weights', WEIGHTS)
@pytest.mark.parametrize('length', LENGTHS)
def test_steps_are_those_of_the_formulas(weights, length):
    """To 1e-6 of the step, as rounding grows from step to step."""
    chain = snake(7)
    both = set()
    used = characteristic_length(chain, iks.IkOptions(characteristic_length=length))
    for q, q_target in postures(chain, 20).reshape(10, 2, 7):
        target = chain.forward(q_target)
        rows, steps = steps_of(chain, q, target, 12, weights, characteristic_length=length)
        last, short_lengths = None, []
        for k in range(len(rows) - 1):
            here = Descent(chain, rows[k], target, weights, used)
            gain = None
            if last is not None:
                gain = two_point_length(last, here, steps[k], short_lengths)
            both.add(gain is None)
            if gain is None:
                moved = here.J @ here.direction
                gain = (here.e @ moved) / (moved @ moved)
            expected = gain * here.direction
            expected /= max(1.0, np.abs(expected).max())
            np.testing.assert_allclose(steps[k + 1], expected, rtol=1e-6, atol=1e-9)
            last = here
    assert both == {True, False}


def scaled_chain(factor):
    joints = [
        joint_xml(f'j{k}', 'continuous', f'l{k}', f'l{k + 1}', factor * way, (0.3, 0.5 * k, 1))
        for k, way in enumerate(np.random.default_rng(3).uniform(-0.4, 0.4, (6, 3)))
    ]
    return iks.Robot.from_urdf(robot_xml([f'l{k}' for k in range(7)], joints)).chain()


def test_unit_of_length_does_not_matter():
    """An arm in millimetres takes the same way; classical steps differ by orders of magnitude."""
    metres, millimetres = map(scaled_chain, (1.0, 1000.0))
    q, q_target = postures(metres, 2, seed=4)
    ways = {}
    for variant in ('accelerated', 'classical'):
        ways[variant] = [
            steps_of(chain, q, chain.forward(q_target), 10, variant=variant)[0]
            for chain in (metres, millimetres)
        ]
    np.testing.assert_allclose(*ways['accelerated'], rtol=1e-6, atol=1e-6)
    assert np.abs(ways['classical'][0][1] - ways['classical'][1][1]).max() > 0.01


@pytest.mark.parametrize('strategy', ['clamp', 'active_set', 'penalty', 'ignore', 'transform'])
def test_no_joint_moves_by_more_than_a_radian_at_once(panda, strategy):
    """Apart from full turns, which bring it inside; transformed, it moves up to half its range."""
    options = options_with(joint_limits=strategy, record_trace=True, max_searches=3)
    longest = 0.5 * (panda.upper - panda.lower).max() if strategy == 'transform' else 1.0
    for target in targets(panda, 5, seed=6):
        trace = iks.solve_ik(panda, target, None, 'transpose', options).trace
        step = trace.step[trace.search == 0]
        step -= 2 * np.pi * np.round(step / (2 * np.pi))
        assert np.abs(step).max() <= longest + 1e-12


FIRST_ORDER = ('transpose', 'pseudoinverse')
TAKING_GAIN = [name for name in iks.solver_names() if name != 'levenberg_marquardt']
POSITION = (1.0, 1.0, 1.0, 0.0, 0.0, 0.0)


def near(chain, seed):
    q = 0.5 * postures(chain, 1, seed)[0] + 0.5 * chain.mid_range()
    return chain.forward(q), q + 0.1


@pytest.mark.parametrize('solver', TAKING_GAIN)
@pytest.mark.parametrize('gain', [1e-9, 1e-6, 1e-3])
def test_tiny_steps_never_raise_the_error_and_use_all_iterations(panda, solver, gain):
    for seed in range(5):
        target, start = near(panda, seed)
        options = options_with(
            step_gain=gain, record_trace=True, max_iterations=100, max_searches=1,
            task_weights=POSITION if solver == 'ccd' else (1.0,) * 6,  # its own measure of turns
        )  # fmt: skip
        result = iks.solve_ik(panda, target, start, solver, options)
        assert result.status is iks.IkStatus.NO_SOLUTION
        trace = result.trace
        rows = trace.search == 0
        cost = trace.position_error[rows] ** 2 + trace.orientation_error[rows] ** 2
        assert len(cost) == 101
        assert np.all(np.diff(cost) <= 1e-12 * cost[:-1])
        assert cost[-1] < cost[0]
        # Far from the target still: a hundred steps, of a share of the way each.
        assert cost[-1] > (1.0 - 1e4 * gain) * cost[0] or solver == 'bfgs'  # it learns the share


def test_step_of_a_billionth_is_as_good_as_its_slope(ur5e):
    """Slow, and as stable as can be: a thousand steps do what the slope promises."""
    target, start = near(ur5e, 0)
    options = options_with(step_gain=1e-9, record_trace=True, max_iterations=1000, max_searches=1)
    trace = iks.solve_ik(ur5e, target, start, 'pseudoinverse', options).trace
    way = trace.q[1000] - trace.q[0]
    np.testing.assert_allclose(way, 1000 * trace.step[1], rtol=1e-5)


@pytest.mark.parametrize('solver', FIRST_ORDER)
@pytest.mark.parametrize('strategy', ['clamp', 'active_set', 'ignore'])
def test_good_steps_succeed(panda, solver, strategy):
    for seed in range(3):
        target, start = near(panda, seed)
        options = options_with(
            step_gain=0.5, joint_limits=strategy, task_weights=POSITION, max_searches=3,
            position_tolerance=1e-3,
        )  # fmt: skip
        assert iks.solve_ik(panda, target, start, solver, options).success


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


def test_angles_that_grow_without_end_are_turned_back():
    joints = [
        joint_xml('first', 'revolute', 'a', 'b', (0.1, 0, 0.2), inner=limit_xml(-0.5, 0.5)),
        joint_xml('second', 'continuous', 'b', 'c', (0, 0.3, 0), axis=(0.6, 0, 0.8)),
    ]
    chain = iks.Robot.from_urdf(robot_xml('abc', joints)).chain('a', 'c')
    options = options_with(
        step_gain=0.8, joint_limits='penalty', task_weights=(0, 0, 0, 0, 0, 1e4)
    )
    for start in postures(chain, 20):
        result = iks.solve_ik(chain, chain.forward(chain.mid_range()), start, 'transpose', options)
        assert result.status is iks.IkStatus.DIVERGED
        assert np.abs(result.q - start).max() < 2 * np.pi


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


def test_unreachable_is_unreachable_whatever_the_gain(panda):
    for gain in (1e-9, 1.0, 1e6):
        result = iks.solve_ik(
            panda, transform(p=(9.0, 0, 0)), None, 'transpose', options_with(step_gain=gain)
        )
        assert result.status is iks.IkStatus.UNREACHABLE


def test_line_searches_do_not_diverge(panda):
    for solver in ('bfgs', 'conjugate_gradient'):
        for target in targets(panda, 3):
            result = iks.solve_ik(panda, target, None, solver, options_with(step_gain=1e6))
            assert result.status in (iks.IkStatus.SUCCESS, iks.IkStatus.NO_SOLUTION)
