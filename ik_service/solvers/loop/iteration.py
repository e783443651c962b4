"""
Iteration of the loop that all methods share.

The pose at the current joint vector is evaluated against the target; then the method's step is
computed from the weighted Jacobian and error, kept within the joint limits, and taken.
The package docstring, :mod:`ik_service.solvers.loop`, lists the arguments of these kernels.
"""

from __future__ import annotations

import math

from ik_service.jit.compile import inner_kernel, kernel_for, varied_kernel
from ik_service.kinematics.kernels import fill_vector, jacobian_rows, last_frame
from ik_service.kinematics.pose_error import frame_error, transform_fault
from ik_service.solvers.loop.limits import (
    fix_crossing,
    substitute_penalised,
    substitute_transformed,
    take_step,
    take_step_inside,
)
from ik_service.solvers.loop.problem import width
from ik_service.solvers.loop.step import SHORT_STEPS, step
from ik_service.solvers.options import LimitStrategy


@inner_kernel
def record(trace, work, position_error, orientation_error, search):
    """
    Add a row to the trace: q, step, position error, orientation error, search.

    :param trace: (rows, 2n + 3) out; the next row is written.
    :param position_error: [m].
    """
    n = work.q.shape[0]
    row = trace[work.recorded[0]]
    for i in range(n):
        row[i] = work.q[i]
        row[n + i] = work.step[i]
    row[2 * n] = position_error
    row[2 * n + 1] = orientation_error
    row[2 * n + 2] = search
    work.recorded[0] += 1


@inner_kernel
def numerical_rows(chain, perturbation, work):
    """Write the numerical Jacobian Δe / Δq to ``work.rows``, by a perturbation Δq [rad] or [m]."""
    for i in range(work.q.shape[0]):
        before = work.q[i]
        work.q[i] = before + perturbation
        last_frame(chain, work.q, work.axes, work.probe_frame)
        work.q[i] = before
        frame_error(work.frame, work.probe_frame, work.rows[i])
        for j in range(6):
            work.rows[i, j] /= perturbation
    last_frame(chain, work.q, work.axes, work.frame)


@varied_kernel
def task_rows(chain, settings, work, q):
    """Write the weighted Jacobian at any joint vector to ``work.rows``."""
    last_frame(chain, q, work.axes, work.frame)
    jacobian_rows(chain, work.axes, work.frame, work.rows)
    for i in range(q.shape[0]):
        for j in range(6):
            work.rows[i, j] *= settings.weights[j]


@inner_kernel
def rows_at(chain, settings, work, q):
    """
    Write the Jacobian of the step in progress at any joint vector to ``work.rows``.

    So the rows are those of the variables that the strategy for the limits has put in the joints'
    place, and zero for those that it fixes.
    """
    task_rows(chain, settings, work, q)
    for i in range(q.shape[0]):
        scale = work.scale[i] if math.isnan(work.fixed_at[i]) else 0.0
        for j in range(width(work)):
            work.rows[i, j] *= scale


@varied_kernel
def goal_fault(chain, target):
    """Return whether a target is none: of another shape, or no rigid transform."""
    return target.shape != (4, 4) or transform_fault(target) != 0


@varied_kernel
def set_goal(chain, target, goal):
    """Write the goal: the frame behind the last joint that puts the tip at the target (4, 4)."""
    c = chain.tip[0]
    s = chain.tip[1]
    for i in range(3):
        goal[i] = c * target[i, 0] - s * target[i, 1]
        goal[3 + i] = s * target[i, 0] + c * target[i, 1]
        goal[6 + i] = target[i, 2]
        goal[9 + i] = target[i, 3]


@varied_kernel
def beyond_reach(chain, settings, goal):
    """Return whether the goal lies farther away than the chain reaches."""
    for j in range(3):
        if settings.weights[j] == 0.0:
            return False
    x = goal[9] - chain.reach[0]
    y = goal[10] - chain.reach[1]
    z = goal[11] - chain.reach[2]
    reach = chain.reach[3] * (1.0 + 1e-9) + settings.tolerances[0]
    return x * x + y * y + z * z > reach * reach


@varied_kernel
def progresses(chain, settings, work, cost, reference):
    """
    Return whether the cost has fallen enough; of several tips, that of a group of them.

    :param reference: the cost before, when this was called last; inf at the first call.
    """
    return not cost > (1.0 - settings.progress) * reference


@inner_kernel
def evaluate_pose(chain, settings, work, search, trace):
    """Evaluate and record the pose at ``work.q``; returns its cost and if it is in tolerance."""
    last_frame(chain, work.q, work.axes, work.frame)
    position_error, orientation_error, cost = errors(settings, work)
    if work.recorded[0] < trace.shape[0]:
        record(trace, work, position_error, orientation_error, search)
    return cost, within_tolerance(settings, position_error, orientation_error)


@varied_kernel
def errors(settings, work):
    """
    Return the errors at ``work.frame``; the weighted one goes to ``work.error``.

    :returns: position error [m] and orientation error [rad] along the weighted axes, and the cost
        ½ eᵀWe, which also goes to ``work.cost``.
    """
    frame_error(work.frame, work.goal, work.twist)
    position = orientation = cost = 0.0
    for j in range(6):
        weight = settings.weights[j]
        value = weight * work.twist[j]
        work.error[j] = value
        cost += value * value
        if weight > 0.0:
            if j < 3:
                position += work.twist[j] * work.twist[j]
            else:
                orientation += work.twist[j] * work.twist[j]
    work.cost[0] = 0.5 * cost
    return math.sqrt(position), math.sqrt(orientation), 0.5 * cost


@varied_kernel
def errors_at(chain, settings, work, q):
    """Return position error [m] and orientation error [rad] of a joint vector."""
    last_frame(chain, q, work.axes, work.frame)
    position, orientation, _ = errors(settings, work)
    return position, orientation


@inner_kernel
def within_tolerance(settings, position_error, orientation_error):
    """Return whether both errors [m], [rad] are within tolerance; NaN is not."""
    return position_error <= settings.tolerances[0] and orientation_error <= settings.tolerances[1]


@varied_kernel
def weighted_rows(chain, settings, work):
    """Write the weighted Jacobian at ``work.q`` to ``work.rows``."""
    if settings.perturbation > 0.0:
        numerical_rows(chain, settings.perturbation, work)
    else:
        jacobian_rows(chain, work.axes, work.frame, work.rows)
    for j in range(6):
        weight = settings.weights[j]
        if weight != 1.0:
            for i in range(work.q.shape[0]):
                work.rows[i, j] *= weight


def step_within_limits(chain, method, settings, work, strategy):
    """Compute a step from ``work.q``, keep it within the limits, and take it."""
    raise NotImplementedError('compiled for each method')


def _step_within_limits(chain, method, settings, work, strategy):
    """Implement :func:`step_within_limits`, for all methods."""
    weighted_rows(chain, settings, work)
    fill_vector(work.fixed_at, math.nan)
    if strategy == LimitStrategy.TRANSFORM:
        substitute_transformed(chain, work)
    elif strategy == LimitStrategy.PENALTY:
        substitute_penalised(chain, settings, work)
    crossing = 1
    while crossing > 0:
        step(method, chain, settings, work)
        crossing = fix_crossing(chain, work) if strategy == LimitStrategy.ACTIVE_SET else 0
    if strategy == LimitStrategy.ACTIVE_SET:
        take_step_inside(chain, work)
    else:
        take_step(chain, work, strategy)


@kernel_for(step_within_limits)
def _choose_if_long(chain, method, settings, work, strategy):
    return None if _is_short(method) else _step_within_limits


@kernel_for(step_within_limits, inlined=True)
def _choose_if_short(chain, method, settings, work, strategy):
    """Inline short steps, which halves their time."""
    return _step_within_limits if _is_short(method) else None


def _is_short(method):
    return getattr(method, 'instance_class', None) in SHORT_STEPS
