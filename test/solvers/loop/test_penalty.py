"""Penalties on joints beyond their limits: what a step makes least, and the known weakness."""

import math

import numpy as np
import pytest
from support.chains import arm as arm_of
from support.chains import postures, snake, targets
from support.solver_checks import options_with

import ik_service as iks
from ik_service.kinematics.pose_error import pose_error

# The penalty begins this share of the range (or of 1) inside a bound.
MARGIN = 1e-3
PROBLEMS = {'panda': lambda: arm_of('panda'), 'sliding': lambda: snake(7, prismatic=0.5)}


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


def penalised(solver, weight):
    """Failures of 60 single searches with a penalty of this weight, and steps of the others."""
    chain = arm_of('planar_6r').with_limits(np.full(6, -1.5), np.full(6, 1.5))
    options = options_with(
        joint_limits='penalty', penalty_weight=weight, max_searches=1, max_iterations=2000
    )
    prepared = iks.Solver(chain, solver, options)
    pairs = zip(targets(chain, 60, 4), postures(chain, 60, 5), strict=True)
    results = [prepared.solve(*pair) for pair in pairs]
    steps = [result.iterations for result in results if result.success]
    return 60 - len(steps), np.mean(steps)


def test_large_penalties_make_the_cost_ill_conditioned():
    """
    The known weakness, on the planar arm with joints within ±1.5 rad.

    Searches of BFGS that fail, of 60: 16 for a weight of 0.1, 15 for 10, 26 for 1e3, 38 for 1e5
    and 42 for 1e7. Each joint that leaves its range bends the cost by the weight.
    """
    failures = {weight: penalised('bfgs', weight)[0] for weight in (1e1, 1e3, 1e5, 1e7)}
    assert failures[1e1] <= 22
    assert failures[1e7] >= 32
    assert failures[1e5] >= failures[1e1] + 10


def test_small_penalties_leave_joints_outside_for_long():
    """Steps of Levenberg and Marquardt: 58 for a weight of 0.1, 6.6 for 10, 5.5 for 1e7."""
    steps = {weight: penalised('levenberg_marquardt', weight)[1] for weight in (1e-1, 1e1, 1e7)}
    assert steps[1e-1] > 4 * steps[1e1]
    assert steps[1e7] < 2 * steps[1e1]
