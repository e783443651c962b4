"""
The loop that all methods share: searches, limits, stopping rule.

A search iterates the method's step from a start until the pose is within tolerance, the error
stops falling, or its iterations are used up. The first search starts at the seed, the others at
random postures within the limits.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ik_service.kinematics.compile import (
    copy_vector,
    fill_vector,
    inner_kernel,
    kernel,
    monotonic_ns,
)
from ik_service.kinematics.kernels import jacobian_rows, last_frame
from ik_service.kinematics.pose import frame_error
from ik_service.solvers import limits
from ik_service.solvers.restarts import next_start, seed_generator
from ik_service.solvers.step import step

# How a solve ends; the order of IkStatus.
SUCCESS, NO_SOLUTION, TIMED_OUT, UNREACHABLE = range(4)
# How a search ends.
_CONVERGED, _STALLED, _OUT_OF_TIME = range(3)
# Steps between two looks at the clock.
_CLOCK_INTERVAL = 8
# After this many searches the target is a hard one, and each search is given more time to progress.
_EASY_SEARCHES = 10
# A squared error beyond this has diverged.
_DIVERGED = 1e6
# The stall test in the last search of a target that was not reached: iterations, share to lose.
_POLISH_PATIENCE = 5
_POLISH_PROGRESS = 1e-4


class Settings(NamedTuple):
    """
    What the loop has to know beside the method.

    :ivar position_tolerance: [m].
    :ivar orientation_tolerance: [rad].
    :ivar weights: (6,) square roots of the task weights.
    :ivar max_iterations: of one search.
    :ivar max_searches: at most.
    :ivar timeout_ns: [ns].
    :ivar limits: number of the strategy, see :mod:`ik_service.solvers.limits`.
    :ivar nearest: whether to look for the solution nearest to the seed.
    :ivar patience: iterations in which the cost has to fall by ``progress``.
    :ivar progress: the share of the cost that has to be lost in them.
    :ivar random_seed: of the restarts.
    """

    position_tolerance: float
    orientation_tolerance: float
    weights: np.ndarray
    max_iterations: int
    max_searches: int
    timeout_ns: int
    limits: int
    nearest: bool
    patience: int
    progress: float
    random_seed: int


@kernel
def solve(chain, method, settings, target, seed, work, best, trace):
    """
    Solve for one target.

    :param chain: :class:`~ik_service.kinematics.kernels.ChainArrays`.
    :param method: parameters of the method.
    :param settings: :class:`Settings`.
    :param target: (4, 4) T_base_target.
    :param seed: (n,) start of the first search.
    :param work: :class:`~ik_service.solvers.step.Workspace`.
    :param best: (n,) out: the best joint vector found.
    :param trace: (rows, 2n + 3) out: every iteration; see :func:`_record`. (0, …) for none.
    :returns: status, position error [m], orientation error [rad], iterations, searches, time [ns].
    """
    began = monotonic_ns(work.clock)
    deadline = began + settings.timeout_ns
    set_goal(chain, target, work.goal)
    limits.start_inside(chain, seed, work.start, settings.limits)
    seed_generator(work.random, settings.random_seed)
    work.recorded[0] = 0
    beyond = beyond_reach(chain, settings, work.goal)
    ending, found, iterations, searches = _STALLED, False, 0, 0
    score = math.inf  # of the best: its largest motion once a solution is found, its cost before
    copy_vector(work.start, best)
    while searches < settings.max_searches and not beyond and ending != _OUT_OF_TIME:
        next_start(chain, work, searches, score if found else math.inf)
        patience = settings.patience * (1 if searches < _EASY_SEARCHES else 2)
        ending, cost, used = _search(
            chain, method, settings, work, deadline, patience, settings.progress, searches, trace
        )
        searches += 1
        iterations += used
        converged = ending == _CONVERGED
        if converged:
            limits.turn_towards(chain, seed, work.q, settings.limits)
            cost = largest_difference(seed, work.q)
        if (converged and not found) or (converged == found and cost < score):
            found, score = converged, cost
            copy_vector(work.q, best)
        if found and (not settings.nearest or monotonic_ns(work.clock) > deadline):
            break
    if not found:
        copy_vector(best, work.q)
        _, cost, used = _search(
            chain, method, settings, work, deadline,
            _POLISH_PATIENCE, _POLISH_PROGRESS, searches, trace,
        )  # fmt: skip
        iterations += used
        searches = max(searches, 1)
        if cost < score:
            limits.turn_towards(chain, seed, work.q, settings.limits)
            copy_vector(work.q, best)
    position_error, orientation_error = errors_at(chain, settings, work, best)
    if found or within_tolerance(settings, position_error, orientation_error):
        status = SUCCESS
    elif beyond:
        status = UNREACHABLE
    else:
        status = TIMED_OUT if ending == _OUT_OF_TIME else NO_SOLUTION
    elapsed = monotonic_ns(work.clock) - began
    return status, position_error, orientation_error, iterations, searches, elapsed


@kernel
def solve_many(
    chain, method, settings, targets, seeds, work, best, status, errors_out, counts, trace
):
    """
    Solve for many targets, one after the other.

    :param targets: (N, 4, 4) T_base_target.
    :param seeds: (N, n).
    :param best: (N, n) out.
    :param status: (N,) int64 out.
    :param errors_out: (N, 2) out: position error [m] and orientation error [rad].
    :param counts: (N, 2) int64 out: iterations and searches.
    """
    for k in range(targets.shape[0]):
        status[k], errors_out[k, 0], errors_out[k, 1], counts[k, 0], counts[k, 1], _ = solve(
            chain, method, settings, targets[k], seeds[k], work, best[k], trace
        )


@inner_kernel
def _search(chain, method, settings, work, deadline, patience, progress, search, trace):
    """
    Iterate from ``work.q``.

    :returns: how it ended, the cost ½ eᵀWe at ``work.q``, and the steps taken.
    """
    fill_vector(work.step, 0.0)
    iteration = 0
    reference = math.inf
    while True:
        last_frame(chain, work.q, work.axes, work.frame)
        position_error, orientation_error, cost = errors(settings, work)
        if work.recorded[0] < trace.shape[0]:
            _record(trace, work, position_error, orientation_error, search)
        if within_tolerance(settings, position_error, orientation_error):
            return _CONVERGED, cost, iteration
        if iteration == settings.max_iterations or not cost < _DIVERGED:
            return _STALLED, cost, iteration
        if iteration % patience == 0:
            if cost > (1.0 - progress) * reference:
                return _STALLED, cost, iteration
            reference = cost
        look = iteration % _CLOCK_INTERVAL == _CLOCK_INTERVAL - 1
        if look and monotonic_ns(work.clock) > deadline:
            return _OUT_OF_TIME, cost, iteration
        _step_within_limits(chain, method, settings, work)
        iteration += 1


@inner_kernel
def _step_within_limits(chain, method, settings, work):
    """Compute a step from ``work.q``, keep it within the limits, and take it."""
    jacobian_rows(chain, work.axes, work.frame, work.rows)
    for j in range(6):
        weight = settings.weights[j]
        if weight != 1.0:
            for i in range(work.q.shape[0]):
                work.rows[i, j] *= weight
    fill_vector(work.held, math.nan)
    step(method, work)
    if settings.limits == limits.ACTIVE_SET:
        while limits.hold_crossing(chain, work) > 0:
            step(method, work)
    limits.advance(chain, work, settings.limits)


@inner_kernel
def set_goal(chain, target, goal):
    """Where the frame behind the last joint shall be, for the tip to be at the target."""
    c = chain.tip[0]
    s = chain.tip[1]
    for i in range(3):
        goal[i] = c * target[i, 0] - s * target[i, 1]
        goal[3 + i] = s * target[i, 0] + c * target[i, 1]
        goal[6 + i] = target[i, 2]
        goal[9 + i] = target[i, 3]


@inner_kernel
def errors(settings, work):
    """
    Errors at ``work.frame``; the weighted one goes to ``work.error``.

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


@inner_kernel
def errors_at(chain, settings, work, q):
    """Position error [m] and orientation error [rad] by forward kinematics of a joint vector."""
    last_frame(chain, q, work.axes, work.frame)
    position, orientation, _ = errors(settings, work)
    return position, orientation


@inner_kernel
def within_tolerance(settings, position_error, orientation_error):
    """Whether both errors are within tolerance; NaN is not."""
    return (
        position_error <= settings.position_tolerance
        and orientation_error <= settings.orientation_tolerance
    )


@inner_kernel
def beyond_reach(chain, settings, goal):
    """Whether the goal lies farther away than the chain is long."""
    for j in range(3):
        if settings.weights[j] == 0.0:
            return False
    x = goal[9] - chain.reach[0]
    y = goal[10] - chain.reach[1]
    z = goal[11] - chain.reach[2]
    reach = chain.reach[3] * (1.0 + 1e-9) + settings.position_tolerance
    return x * x + y * y + z * z > reach * reach


@inner_kernel
def largest_difference(a, b):
    """Largest difference of two joint vectors."""
    largest = 0.0
    for i in range(a.shape[0]):
        largest = max(largest, abs(a[i] - b[i]))
    return largest


@inner_kernel
def _record(trace, work, position_error, orientation_error, search):
    """Add a row to the trace: q, step, position error, orientation error, search."""
    n = work.q.shape[0]
    row = trace[work.recorded[0]]
    for i in range(n):
        row[i] = work.q[i]
        row[n + i] = work.step[i]
    row[2 * n] = position_error
    row[2 * n + 1] = orientation_error
    row[2 * n + 2] = search
    work.recorded[0] += 1
