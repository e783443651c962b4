"""
Solver loop: searches, restarts, stopping rules and the status of a solve.

A search iterates the method's step from a start until the pose is within tolerance, the error
stops falling, or its iterations are used up. The first search starts at the seed, the others at
random postures within the limits.

A solve can pause at every solution, for a judgement that is made outside. It then ends as if that
were the answer. The next call with the same arguments takes it up again, when ``work.searched``
has the number of searches so far, ``work.spent`` the time and ``work.kept`` how far the best
solution that was accepted is from the seed; what it finds from then on is nearer.
"""

from __future__ import annotations

import math

import numpy as np

from ik_service.jit.compile import inner_kernel, kernel, merged_kernel
from ik_service.kinematics.kernels import all_finite, copy_vector, fill_vector, monotonic_ns
from ik_service.solvers.choices import LimitStrategy, Nearness
from ik_service.solvers.loop.approach import approach
from ik_service.solvers.loop.iteration import (
    beyond_reach,
    errors_at,
    evaluate_pose,
    goal_fault,
    set_goal,
    step_within_limits,
    within_tolerance,
)
from ik_service.solvers.loop.limits import start_inside, turn_towards
from ik_service.solvers.loop.motion_bound import narrow_limits
from ik_service.solvers.loop.problem import open_problem
from ik_service.solvers.loop.restarts import random_start
from ik_service.solvers.loop.sliding import FAR_COST, slide_ahead
from ik_service.solvers.loop.strategies import all_inside, bring_inside
from ik_service.solvers.result import IkStatus

# Status of a solve.
_SUCCESS, _NO_SOLUTION = IkStatus.SUCCESS.number, IkStatus.NO_SOLUTION.number
_TIMED_OUT, _UNREACHABLE = IkStatus.TIMED_OUT.number, IkStatus.UNREACHABLE.number
_ENDED_DIVERGED = IkStatus.DIVERGED.number
# The target is no rigid transform, or the seed no posture of the chain; nothing was solved.
FAULTY = -1
# Ending of a search.
_CONVERGED, _STALLED, _OUT_OF_TIME, _DIVERGED = range(4)
# Steps between two readings of the clock.
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
# Steps in which a search can be seen to diverge, and the share of them that made it worse.
_FEWEST_STEPS = 8
_WORSENING = 0.3


@kernel
def solve(problem, method, target, seed, best, trace):
    """
    Solve for one target.

    :param problem: :class:`~ik_service.solvers.loop.problem.Problem`.
    :param method: parameters of the method.
    :param target: (4, 4) T_base_target.
    :param seed: (n,) start of the first search.
    :param best: (n,) out: the best joint vector found.
    :param trace: (rows, 2n + 3) out: rows as ``trace.record`` writes them; (0, …) for none.
    :returns: status, position error [m], orientation error [rad], iterations, searches, time [ns].
    """
    chain, settings, work = open_problem(problem)
    if goal_fault(chain, target) or seed.shape != best.shape or not all_finite(seed):
        return FAULTY, 0.0, 0.0, 0, 0, 0
    return solve_one(chain, method, settings, work, target, seed, best, trace)


@merged_kernel
def solve_one(chain, method, settings, work, target, seed, best, trace):
    """Search until the target is reached or no searches are left; returns what `solve` does."""
    began = monotonic_ns(work.clock)
    deadline = began + settings.timeout - work.spent[0]
    resumed = work.searched[0] > 0
    kept = work.kept[0] if resumed else math.inf
    strategy = settings.limits
    nearest = settings.nearness == Nearness.NEAREST
    jumps = settings.nearness == Nearness.ANY
    set_goal(chain, target, work.goal)
    if settings.largest_motion > 0.0:
        narrow_limits(chain, settings, work, seed)
    start_inside(chain, seed, work.start, strategy)
    if not resumed:
        work.random[0] = settings.random_seed
    work.recorded[0] = 0
    beyond = beyond_reach(chain, settings, work.goal)
    ending, found, more, diverged = _STALLED, False, False, True
    # Typed, because Numba would otherwise compile all that they are passed to once more, for 0.
    iterations, searches = np.int64(0), np.int64(work.searched[0])
    near = resumed and not jumps and _tracks(work, searches)
    score = math.inf  # of the best: its largest motion once a solution is found, its cost before
    copy_vector(work.start, best)
    while searches < settings.max_searches and not beyond and ending != _OUT_OF_TIME:
        radius = score if found else kept
        if near:
            radius = min(radius, _NEAR_RADIUS * _NEAR_GROWTH**searches)
        work.seeks_seed[0] = near and searches % 2 == 1
        if searches == 0:
            copy_vector(work.start, work.q)
        else:
            random_start(chain, settings, work, radius)
        patience = settings.patience * (1 if searches < _EASY_SEARCHES else 2)
        ending, cost, used = _search(
            chain, method, settings, work, deadline, patience, searches, trace
        )
        searches += 1
        iterations += used
        converged = ending == _CONVERGED
        diverged &= ending == _DIVERGED
        if converged:
            turn_towards(chain, seed, work.q, strategy)
            cost = largest_difference(work.start, work.q)
        if (converged and not found and cost < kept) or (converged == found and cost < score):
            found, score = converged, cost
            copy_vector(work.q, best)
        near = not jumps and _tracks(work, searches)
        motion = score if found else kept
        more = nearest or (near and motion > _JUMP)
        if motion < math.inf and not (more and (settings.pauses == 0 or not found)):
            break
        if monotonic_ns(work.clock) > deadline:
            ending = _OUT_OF_TIME
    work.motion[0], work.goes_on[0] = score, more
    if not found and not resumed:
        if strategy >= LimitStrategy.PENALTY:
            bring_inside(chain, best)
        used, solved = approach(chain, settings, work, deadline, searches, best, trace)
        iterations += used
        found = solved and (settings.approach_counts != 0 or used == 0)
        if found or not solved:
            turn_towards(chain, seed, work.q, strategy)
            copy_vector(work.q, best)
    position_error, orientation_error = errors_at(chain, settings, work, best)
    reached = found and within_tolerance(settings, position_error, orientation_error)
    status = _status(reached, beyond, ending, diverged)
    elapsed = monotonic_ns(work.clock) - began
    return status, position_error, orientation_error, iterations, max(searches, 1), elapsed


@inner_kernel
def _tracks(work, searches):
    """Return whether searches start close to the seed, at which the tip is near the target."""
    return searches < _NEAR_SEARCHES and work.seed_cost[0] < _NEAR_COST


@inner_kernel
def _status(reached, beyond, ending, diverged):
    """Return the status of the solve."""
    if reached:
        return _SUCCESS
    if beyond:
        return _UNREACHABLE
    if diverged:
        return _ENDED_DIVERGED
    return _TIMED_OUT if ending == _OUT_OF_TIME else _NO_SOLUTION


@merged_kernel
def _search(chain, method, settings, work, deadline, patience, search, trace):
    """
    Iterate from ``work.q``.

    It ends at the posture of least cost that it has seen; a method with a secondary objective goes
    on at the target, and ends where it was there last.

    :returns: the ending, the cost ½ eᵀWe at ``work.q``, and the number of steps taken.
    """
    strategy = settings.limits
    fill_vector(work.step, 0.0)
    iteration = worse = 0
    reference = before = kept = math.inf
    found = False
    work.unfinished[0] = settings.improves
    while True:
        work.iteration[0] = iteration
        cost, reached = evaluate_pose(chain, settings, work, search, trace)
        if iteration == 0:
            if search == 0:
                work.seed_cost[0] = cost
            if cost > FAR_COST and slide_ahead(chain, settings, work):
                cost, reached = evaluate_pose(chain, settings, work, search, trace[:0])
        if reached and (strategy < LimitStrategy.PENALTY or all_inside(chain, work.q)):
            found, kept = True, cost
            copy_vector(work.q, work.best_q)
            if work.unfinished[0] == 0:
                break
        elif not found and cost < kept:
            kept = cost
            copy_vector(work.q, work.best_q)
        ending = _STALLED
        if iteration == settings.max_iterations or not cost < settings.largest_cost:
            break
        worse += cost > before
        before = cost
        if iteration % patience == 0 and not found:
            if cost > (1.0 - settings.progress) * reference:
                break
            reference = cost
        ending = _OUT_OF_TIME
        late = iteration % _CLOCK_INTERVAL == _CLOCK_INTERVAL - 1
        if late and monotonic_ns(work.clock) > deadline:
            break
        step_within_limits(chain, method, settings, work, strategy)
        iteration += 1
    if kept < math.inf:
        copy_vector(work.best_q, work.q)
    if found:
        ending = _CONVERGED
    elif settings.fixed_gain != 0 and iteration > 0:
        beyond_sense = not cost < settings.largest_cost
        if beyond_sense or worse > _WORSENING * max(iteration, _FEWEST_STEPS):
            ending = _DIVERGED
    return ending, kept, iteration


@inner_kernel
def largest_difference(a, b):
    """Return the largest difference of two joint vectors (n,) [rad] or [m]."""
    largest = 0.0
    for i in range(a.shape[0]):
        largest = max(largest, abs(a[i] - b[i]))
    return largest
