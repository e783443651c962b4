"""The transpose step against its formulas, in both variants."""

import numpy as np
import pytest
from support.chains import arm as arm_of
from support.chains import postures, snake, targets
from support.solver_checks import first_step, options_with

import ik_service as iks
from ik_service.kinematics.pose_error import pose_error
from ik_service.solvers.options import characteristic_length

WEIGHTS = [(1.0,) * 6, (1.0, 1.0, 1.0, 0.0, 0.0, 0.0), (2.0, 1.0, 0.5, 0.1, 3.0, 0.0)]
LENGTHS = [None, 0.05, 2.0]


# Classical


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


# Accelerated


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
    for q, q_target in postures(chain, 20).reshape(10, 2, 7):
        target = chain.forward(q_target)
        options = iks.IkOptions(characteristic_length=length)
        used = characteristic_length(chain, options)
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


def scaled_urdf(factor):
    """A chain of random links, all lengths times a factor."""
    chain = snake(6)
    joints = ''.join(
        f'<joint name="j{k}" type="continuous"><parent link="l{k}"/><child link="l{k + 1}"/>'
        f'<origin xyz="{" ".join(str(factor * x) for x in way)}" rpy="0.3 {0.5 * k} 1"/>'
        f'<axis xyz="0 0 1"/></joint>'
        for k, way in enumerate(np.random.default_rng(3).uniform(-0.4, 0.4, (chain.n, 3)))
    )
    links = ''.join(f'<link name="l{k}"/>' for k in range(chain.n + 1))
    return f'<robot name="scaled">{links}{joints}</robot>'


def test_unit_of_length_does_not_matter():
    """An arm in millimetres takes the same way; classical steps differ by orders of magnitude."""
    metres, millimetres = (iks.Robot.from_urdf(scaled_urdf(f)).chain() for f in (1.0, 1000.0))
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
def test_no_joint_moves_by_more_than_a_radian_at_once(strategy):
    """Apart from full turns, which bring it inside; transformed, it moves up to half its range."""
    chain = arm_of('panda')
    options = options_with(joint_limits=strategy, record_trace=True, max_searches=3)
    longest = 0.5 * (chain.upper - chain.lower).max() if strategy == 'transform' else 1.0
    for target in targets(chain, 5, seed=6):
        trace = iks.solve_ik(chain, target, None, 'transpose', options).trace
        step = trace.step[trace.search == 0]
        step -= 2 * np.pi * np.round(step / (2 * np.pi))
        assert np.abs(step).max() <= longest + 1e-12
