"""
The loop that all methods share: searches, limits, stopping rule.

A search iterates the method's step from a start until the pose is within tolerance, the error
stops falling, or its iterations are used up. The first search starts at the seed, the others at
random postures within the limits.
"""

from __future__ import annotations

import math

import numpy as np

from ik_service.kinematics.compile import (
    copy_vector,
    fill_vector,
    inner_kernel,
    kernel,
    monotonic_ns,
)
from ik_service.kinematics.kernels import all_finite, jacobian_rows, last_frame
from ik_service.kinematics.pose import transform_fault
from ik_service.solvers import limits
from ik_service.solvers.levenberg_marquardt import LevenbergMarquardt
from ik_service.solvers.problem import open_problem
from ik_service.solvers.restarts import next_start
from ik_service.solvers.step import step
from ik_service.solvers.task import beyond_reach, errors, errors_at, set_goal, within_tolerance

# How a solve ends; the order of IkStatus.
SUCCESS, NO_SOLUTION, TIMED_OUT, UNREACHABLE = range(4)
# The target is no rigid transform or the seed is not finite; nothing was solved.
FAULTY = -1
# How a search ends.
_CONVERGED, _STALLED, _OUT_OF_TIME = range(3)
# Steps between two looks at the clock.
_CLOCK_INTERVAL = 8
# After this many searches the target is a hard one; each search then gets more time to progress.
_EASY_SEARCHES = 10
# A cost at the seed below this means that the tip is near the target, as when a path is tracked.
# If the solution found is then farther from the seed than a jump [rad] or [m], or if there is
# none, so many searches start close to the seed, each a little less so, and the nearest solution
# is taken.
_NEAR_COST = 0.02
_JUMP = 0.1
_NEAR_SEARCHES = 8
_NEAR_RADIUS = 0.1
_NEAR_GROWTH = 1.3
# A squared error beyond this has diverged.
_DIVERGED = 1e6
# The approach to a target that was not reached: steps at most, the first damping in shares of the
# cost, the damping at which no step helps any more, the share of the cost that a step has to win.
APPROACH_STEPS = 100
_APPROACH_DAMPING = 0.1
_LARGEST_DAMPING = 1e4
_APPROACH_PROGRESS = 1e-7


@kernel
def solve(problem, method, target, seed, best, trace):
    """
    Solve for one target.

    :param problem: :class:`~ik_service.solvers.problem.Problem`.
    :param method: parameters of the method.
    :param target: (4, 4) T_base_target.
    :param seed: (n,) start of the first search.
    :param best: (n,) out: the best joint vector found.
    :param trace: (rows, 2n + 3) out: every iteration; see :func:`_record`. (0, …) for none.
    :returns: status, position error [m], orientation error [rad], iterations, searches, time [ns].
    """
    chain, settings, work = open_problem(problem)
    if transform_fault(target) or not all_finite(seed):
        return FAULTY, 0.0, 0.0, 0, 0, 0
    return _solve(chain, method, settings, work, target, seed, best, trace)


@kernel
def solve_many(problem, method, targets, seeds, chained, best, status, errors_out, counts, trace):
    """
    Solve for many targets, one after the other.

    :param targets: (N, 4, 4) T_base_target.
    :param seeds: (N, n).
    :param chained: whether each target after the first is seeded with the answer before it.
    :param best: (N, n) out.
    :param status: (N,) int64 out.
    :param errors_out: (N, 2) out: position error [m] and orientation error [rad].
    :param counts: (N, 2) int64 out: iterations and searches.
    """
    chain, settings, work = open_problem(problem)
    for k in range(targets.shape[0]):
        seed = best[k - 1] if chained and k > 0 else seeds[k]
        status[k], errors_out[k, 0], errors_out[k, 1], counts[k, 0], counts[k, 1], _ = _solve(
            chain, method, settings, work, targets[k], seed, best[k], trace
        )


@inner_kernel
def _solve(chain, method, settings, work, target, seed, best, trace):
    """Search until the target is reached or the searches are used up; returns as `solve` does."""
    began = monotonic_ns(work.clock)
    deadline = began + settings.timeout[0]
    strategy = settings.limits[0]
    nearest = settings.nearest[0] != 0
    set_goal(chain, target, work.goal)
    limits.start_inside(chain, seed, work.start, strategy)
    work.random[0] = settings.random_seed[0]
    work.recorded[0] = 0
    beyond = beyond_reach(chain, settings, work.goal)
    ending, found, near = _STALLED, False, False
    # Typed, because Numba would otherwise compile all that they are passed to once more, for 0.
    iterations, searches = np.int64(0), np.int64(0)
    score = math.inf  # of the best: its largest motion once a solution is found, its cost before
    copy_vector(work.start, best)
    while searches < settings.max_searches[0] and not beyond and ending != _OUT_OF_TIME:
        radius = score if found else math.inf
        if near:
            radius = min(radius, _NEAR_RADIUS * _NEAR_GROWTH**searches)
        next_start(chain, work, searches, radius)
        patience = settings.patience[0] * (1 if searches < _EASY_SEARCHES else 2)
        ending, cost, used = _search(
            chain, method, settings, work, deadline, patience, searches, trace
        )
        searches += 1
        iterations += used
        converged = ending == _CONVERGED
        if converged:
            limits.turn_towards(chain, seed, work.q, strategy)
            cost = largest_difference(work.start, work.q)
        if (converged and not found) or (converged == found and cost < score):
            found, score = converged, cost
            copy_vector(work.q, best)
        near = searches < _NEAR_SEARCHES and work.initial[0] < _NEAR_COST
        if found and not nearest and not (near and score > _JUMP):
            break
        if monotonic_ns(work.clock) > deadline:
            ending = _OUT_OF_TIME
    if not found:
        used, solved = _approach(chain, settings, work, deadline, searches, best, trace)
        iterations += used
        found = solved and settings.descends[0] != 0
        if found or not solved:
            limits.turn_towards(chain, seed, work.q, strategy)
            copy_vector(work.q, best)
    position_error, orientation_error = errors_at(chain, settings, work, best)
    reached = found and within_tolerance(settings, position_error, orientation_error)
    status = _status(reached, beyond, ending)
    elapsed = monotonic_ns(work.clock) - began
    return status, position_error, orientation_error, iterations, max(searches, 1), elapsed


@inner_kernel
def _approach(chain, settings, work, deadline, search, best, trace):
    """
    From the best joint vector go as close to the target as can be, leaving the result in `work.q`.

    Whatever the method, this is Levenberg–Marquardt as Marquardt (1963) has it: a step that does
    not lower the cost is taken back and the damping is raised, so the cost falls to a minimum
    also where that is far from zero.

    :returns: the steps tried, and whether the target is reached.
    """
    copy_vector(best, work.q)
    copy_vector(best, work.kept)
    fill_vector(work.step, 0.0)
    cost, reached = _look(chain, settings, work, search, trace)
    damping = _APPROACH_DAMPING
    steps = 0
    while steps < APPROACH_STEPS and damping * cost < _LARGEST_DAMPING and not reached:
        if steps % _CLOCK_INTERVAL == 0 and monotonic_ns(work.clock) > deadline:
            break
        _step_within_limits(chain, LevenbergMarquardt(damping), settings, work)
        after, reached = _look(chain, settings, work, search, trace)
        steps += 1
        if after < cost:
            copy_vector(work.q, work.kept)
            if after > (1.0 - _APPROACH_PROGRESS) * cost:
                break
            cost = after
            damping *= 0.3
        else:
            damping *= 4.0
            copy_vector(work.kept, work.q)
            _look(chain, settings, work, search, trace[:0])
    copy_vector(work.kept, work.q)
    return steps, reached


@inner_kernel
def _look(chain, settings, work, search, trace):
    """Evaluate the pose at ``work.q`` and record it; returns its cost and whether it will do."""
    last_frame(chain, work.q, work.axes, work.frame)
    position_error, orientation_error, cost = errors(settings, work)
    if work.recorded[0] < trace.shape[0]:
        _record(trace, work, position_error, orientation_error, search)
    return cost, within_tolerance(settings, position_error, orientation_error)


@inner_kernel
def _status(reached, beyond, ending):
    """How the solve ended."""
    if reached:
        return SUCCESS
    if beyond:
        return UNREACHABLE
    return TIMED_OUT if ending == _OUT_OF_TIME else NO_SOLUTION


@inner_kernel
def _search(chain, method, settings, work, deadline, patience, search, trace):
    """
    Iterate from ``work.q``.

    :returns: how it ended, the cost ½ eᵀWe at ``work.q``, and the steps taken.
    """
    fill_vector(work.step, 0.0)
    iteration = 0
    reference = math.inf
    while True:
        cost, reached = _look(chain, settings, work, search, trace)
        if search == 0 and iteration == 0:
            work.initial[0] = cost
        if reached:
            return _CONVERGED, cost, iteration
        if iteration == settings.max_iterations[0] or not cost < _DIVERGED:
            return _STALLED, cost, iteration
        if iteration % patience == 0:
            if cost > (1.0 - settings.progress[0]) * reference:
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
    if settings.limits[0] == limits.ACTIVE_SET:
        while limits.hold_crossing(chain, work) > 0:
            step(method, work)
    limits.advance(chain, work, settings.limits[0])


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
