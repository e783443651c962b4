"""
Continuation from a joint vector to a target close by, and the self-motions there.

What these kernels take as ``chain``, ``settings`` and ``work`` is what
:mod:`ik_service.solvers.loop` describes; so they serve chains, trees and tolerances alike.
"""

from __future__ import annotations

import math

from ik_service.jit.compile import inner_kernel, kernel, merged_kernel
from ik_service.kinematics.kernels import copy_vector, fill_vector
from ik_service.solvers.loop.iteration import (
    errors_at,
    evaluate_pose,
    set_goal,
    step_within_limits,
    weighted_rows,
)
from ik_service.solvers.loop.linear_algebra import damped_step
from ik_service.solvers.loop.problem import open_problem
from ik_service.solvers.loop.search import uniform
from ik_service.solvers.methods.levenberg_marquardt import LevenbergMarquardt

_DAMPING = 0.1
_STEPS = 25
# Cost [half a squared error] below which no step can win anything.
_FINEST = 1e-24
# Squared singular value of the Jacobian below which a direction belongs to the null space, and
# the share of a vector that has to lie in it.
_NULL = 1e-5
_SHARE = 0.1


@merged_kernel
def converge(chain, settings, work, strategy, origin, bound, fine, trace):
    """
    Bring ``work.q`` to the goal without leaving the neighbourhood of a joint vector.

    :param strategy: number of the LimitStrategy.
    :param origin: (n,) the joint vector [rad] or [m].
    :param bound: largest difference of a joint from it [rad] or [m].
    :param fine: whether to go on as long as the error falls, instead of to the tolerance.
    :param trace: (0, 2n + 3), for none.
    :returns: whether the goal is reached within the bound.
    """
    before = math.inf
    found = False
    for _ in range(_STEPS):
        cost, reached = evaluate_pose(chain, settings, work, 0, trace)
        if found and not (reached and cost < before):
            copy_vector(work.best_q, work.q)
            break
        if reached:
            found = True
            copy_vector(work.q, work.best_q)
            if not fine or cost < _FINEST:
                break
        elif not cost < 4.0 * before:
            return False
        before = cost
        step_within_limits(chain, LevenbergMarquardt(_DAMPING, 0.0), settings, work, strategy)
        if distance(origin, work.q) > 3.0 * bound:
            return False
    if found:
        copy_vector(work.best_q, work.q)
    return found and distance(origin, work.q) <= bound


@inner_kernel
def distance(a, b):
    """
    Return the largest difference of two joint vectors; inf for NaN.

    :param a: (n,) [rad] or [m].
    :param b: (n,) likewise.
    """
    largest = 0.0
    for i in range(a.shape[0]):
        difference = abs(a[i] - b[i])
        if not difference <= largest:
            largest = difference if difference > largest else math.inf
    return largest


@inner_kernel
def self_motion(chain, settings, work, trace, drawn, motion):
    """
    Write a direction that does not move the tip from ``work.q``, its largest element 1.

    It is v − J⁺ J v for a vector v, where a joint that cannot move has none.

    :param drawn: whether v is drawn at random.
    :param motion: (n,) in: v, where it is not drawn; out: the direction.
    :returns: whether there is such a direction.
    """
    evaluate_pose(chain, settings, work, 0, trace)
    weighted_rows(chain, settings, work)
    vector = work.vector
    fill_vector(vector, 0.0)
    whole = 0.0
    for i in range(motion.shape[0]):
        held = not chain.lower[i] < chain.upper[i]
        if held:
            motion[i] = 0.0
        elif drawn:
            motion[i] = 2.0 * uniform(work.random) - 1.0
        whole += motion[i] * motion[i]
        for j in range(vector.shape[0]):
            if held:
                work.rows[i, j] = 0.0
            vector[j] += motion[i] * work.rows[i, j]
    damped_step(work, vector, _NULL)
    left = largest = 0.0
    for i in range(motion.shape[0]):
        motion[i] -= work.step[i]
        left += motion[i] * motion[i]
        largest = max(largest, abs(motion[i]))
    if not left > _SHARE * _SHARE * whole:
        return False
    for i in range(motion.shape[0]):
        motion[i] /= largest
    return True


@kernel
def project_rows(problem, targets, strategy, bound, q, reached, origin, trace):
    """
    Bring every row of a joint path exactly to its target.

    :param problem: :class:`~ik_service.solvers.loop.problem.Problem`, or that of a tree.
    :param targets: (N, …) as the kernels of the solver take them.
    :param strategy: number of the LimitStrategy.
    :param bound: largest motion of a joint [rad] or [m].
    :param q: (N, n) the rows, overwritten [rad] or [m]; where the target is not reached, they
        stay.
    :param reached: (N,) bool out.
    :param origin: (n,) scratch.
    :param trace: (0, 2n + 3), for none.
    """
    chain, settings, work = open_problem(problem)
    for row in range(q.shape[0]):
        set_goal(chain, targets[row], work.goal)
        copy_vector(q[row], work.q)
        copy_vector(q[row], origin)
        reached[row] = converge(chain, settings, work, strategy, origin, bound, True, trace)
        if reached[row]:
            copy_vector(work.q, q[row])


@kernel
def row_errors(problem, targets, q, errors):
    """
    Write the errors of every row of a joint path.

    :param problem: :class:`~ik_service.solvers.loop.problem.Problem`, or that of a tree.
    :param targets: (N, …) as the kernels of the solver take them.
    :param q: (N, n) the rows [rad] or [m].
    :param errors: (N, 2) out: position error [m] and orientation error [rad].
    """
    chain, settings, work = open_problem(problem)
    for row in range(q.shape[0]):
        set_goal(chain, targets[row], work.goal)
        errors[row, 0], errors[row, 1] = errors_at(chain, settings, work, q[row])
