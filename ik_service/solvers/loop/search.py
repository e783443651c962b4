"""
Solver loop: searches, restarts, stopping rules and the status of a solve.

A search iterates the method's step from a start until the pose is within tolerance, the error
stops falling, or its iterations are used up. The first search starts at the seed, the others at
random postures within the limits.

A solve can pause at every solution, for a judgement that is made outside. It then ends as if that
were the answer. The next call with the same arguments takes it up again, when ``work.searched``
has the number of searches so far, ``work.spent`` the time and ``work.kept`` how far the best
solution that was accepted is from the seed; solutions found from then on are nearer.

For a target far away the damping of a step, which grows with the square of the distance, leaves
next to nothing of it, and without damping the joints that turn would whirl. Sliding joints, such
as those of a base that drives, thus go first: in one step to where they alone minimise the error.

The package docstring, :mod:`ik_service.solvers.loop`, lists the arguments of these kernels.
"""

from __future__ import annotations

import math

import numpy as np

from ik_service.jit.compile import inner_kernel, kernel, merged_kernel, varied_kernel
from ik_service.kinematics.joint_space import FARTHEST_LIMIT
from ik_service.kinematics.kernels import (
    all_finite,
    copy_vector,
    fill_vector,
    has_lower,
    has_upper,
    monotonic_ns,
)
from ik_service.solvers.loop.iteration import (
    beyond_reach,
    errors_at,
    evaluate_pose,
    goal_fault,
    progresses,
    set_goal,
    step_within_limits,
    weighted_rows,
    within_tolerance,
)
from ik_service.solvers.loop.limits import (
    all_inside,
    bring_inside,
    fix_crossing,
    narrow_limits,
    off_the_bounds,
    start_inside,
    take_step_inside,
    turn_towards,
)
from ik_service.solvers.loop.linear_algebra import damped_step
from ik_service.solvers.loop.problem import open_problem, width
from ik_service.solvers.methods.levenberg_marquardt import LevenbergMarquardt
from ik_service.solvers.options import LimitStrategy, Nearness
from ik_service.solvers.result import IkStatus

_INCREMENT = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_UNIT = 1.0 / 9007199254740992.0  # 2⁻⁵³
# After this many searches the target is a hard one: each search then gets more time to progress,
# and every other one starts by the limits.
EASY_SEARCHES = 10
# How far a variable without limits is spread about the seed [rad] or [m].
_SPREAD = math.pi


@inner_kernel
def uniform(state):
    """
    Return the next random number in [0, 1): splitmix64 (Steele, Lea, Flood 2014).

    :param state: (1,) int64, any value; its bits are those of an unsigned number.
    """
    z = np.uint64(state[0]) + _INCREMENT
    state[0] = np.int64(z)
    z = (z ^ (z >> np.uint64(30))) * _MIX_1
    z = (z ^ (z >> np.uint64(27))) * _MIX_2
    z = z ^ (z >> np.uint64(31))
    return (z >> np.uint64(11)) * _UNIT


@varied_kernel
def random_start(chain, settings, work, radius, searches):
    """
    Write a random posture within limits, and a radius about the seed, to ``work.q``.

    Where several joints of a solution are at their limits, hardly any posture between those leads
    there: of the later searches, every other one starts with about half of the joints at a limit.

    :param radius: [rad] or [m].
    :param searches: number of searches before.
    """
    by_limits = searches >= EASY_SEARCHES and searches % 2 == 1
    for i in range(work.q.shape[0]):
        work.q[i] = random_position(chain, work, radius, i)
        side = uniform(work.random) if by_limits else 0.5
        if side < 0.25 and has_lower(chain.lower[i]):
            work.q[i] = max(chain.lower[i], work.start[i] - radius)
        elif side > 0.75 and has_upper(chain.upper[i]):
            work.q[i] = min(chain.upper[i], work.start[i] + radius)
        if by_limits and settings.limits == LimitStrategy.TRANSFORM:
            work.q[i] = off_the_bounds(chain, i, work.q[i])


@inner_kernel
def random_position(chain, work, radius, i):
    """Return a random position of a variable within limits, and a radius about the seed."""
    start = work.start[i]
    lower = max(chain.lower[i], start - radius)
    upper = min(chain.upper[i], start + radius)
    if not has_lower(lower):
        lower = max(lower, min(start, upper) - _SPREAD)
    if not has_upper(upper):
        upper = min(upper, max(start, lower) + _SPREAD)
    if upper - lower > 2.0 * FARTHEST_LIMIT:  # one limit only, and a start far from it
        lower = max(lower, start - _SPREAD)
    return lower + uniform(work.random) * (upper - lower)


FAR_COST = 12.5
"""
Cost [half a squared error] above which slides go ahead: that of 5 m, which is within the reach of
hardly any arm, and from where the damped steps still arrive.
"""
# Keeps the system definite in directions in which nothing slides.
_SLIDING_DAMPING = 1e-9


@inner_kernel
def slide_ahead(chain, settings, work):
    """Move variables that slide to the least error at ``work.q``; return whether there are any."""
    fill_vector(work.fixed_at, math.nan)
    if not _any_slides(chain, work):
        return False
    weighted_rows(chain, settings, work)
    for i in range(work.q.shape[0]):
        if not _only_slides(chain, i):
            for j in range(width(work)):
                work.rows[i, j] = 0.0
    crossing = 1
    while crossing > 0:
        damped_step(work, work.error, _SLIDING_DAMPING)
        crossing = 0
        if settings.limits != LimitStrategy.IGNORE:
            crossing = fix_crossing(chain, work)
    if settings.limits == LimitStrategy.IGNORE:
        for i in range(work.q.shape[0]):
            work.q[i] += work.step[i]
    else:
        take_step_inside(chain, work)
    fill_vector(work.step, 0.0)
    return True


@inner_kernel
def _any_slides(chain, work):
    """Return whether any variable only slides."""
    for i in range(work.q.shape[0]):
        if _only_slides(chain, i):
            return True
    return False


@inner_kernel
def _only_slides(chain, i):
    """Return whether a variable moves joints that slide, and none that turns."""
    turns = slides = 0.0
    for k in range(chain.variables.shape[0]):
        if chain.variables[k] == i:
            turns += abs(chain.joints[k, 6])
            slides += abs(chain.joints[k, 7])
    return turns == 0.0 and slides > 0.0


# Plain numbers: code for the type of a member would be compiled beside that for numbers.
_IGNORE, _ACTIVE_SET = int(LimitStrategy.IGNORE), int(LimitStrategy.ACTIVE_SET)
# Steps at most, the first damping in shares of the cost, the damping at which no step helps any
# more (per metre of error, where that is large), the share of the cost that a step has to win, the
# steps between two readings of the clock.
APPROACH_STEPS = 100
_APPROACH_DAMPING = 0.1
_APPROACH_LARGEST_DAMPING = 1e4
_APPROACH_PROGRESS = 1e-7


@merged_kernel
def approach(chain, settings, work, deadline, most, search, trace):
    """
    Descend from ``work.q`` to the closest pose, which is there afterwards.

    Whatever the method, this is Levenberg–Marquardt as Marquardt (1963) has it: a step that does
    not lower the cost is taken back and the damping is raised, so the cost falls to a minimum
    also where that is far from zero.

    :param most: steps to take, at most.
    :param trace: (rows, 2n + 3) out, see :func:`~ik_service.solvers.loop.iteration.record`.
    :returns: the steps tried, whether the target is reached, and the cost.
    """
    strategy = _IGNORE
    if settings.limits != LimitStrategy.IGNORE:
        strategy = _ACTIVE_SET
        forget_substitution(work)
        bring_inside(chain, work.q)
    copy_vector(work.q, work.best_q)
    fill_vector(work.step, 0.0)
    cost, reached = evaluate_pose(chain, settings, work, search, trace)
    far = max(1.0, math.sqrt(cost))
    damping = min(_APPROACH_DAMPING, 1.0 / far)
    steps = 0
    while steps < most and damping * cost < _APPROACH_LARGEST_DAMPING * far and not reached:
        if steps % _CLOCK_INTERVAL == 0 and monotonic_ns(work.clock) > deadline:
            break
        step_within_limits(chain, LevenbergMarquardt(damping, 0.0), settings, work, strategy)
        after, reached = evaluate_pose(chain, settings, work, search, trace)
        steps += 1
        if after < cost:
            copy_vector(work.q, work.best_q)
            if after > (1.0 - _APPROACH_PROGRESS) * cost:
                break
            cost = after
            damping *= 0.3
        else:
            damping *= 4.0
            copy_vector(work.best_q, work.q)
            evaluate_pose(chain, settings, work, search, trace[:0])
    copy_vector(work.best_q, work.q)
    return steps, reached, cost


@inner_kernel
def forget_substitution(work):
    """Reset the substitution of variables: a step is that of the joints themselves."""
    fill_vector(work.scale, 1.0)
    fill_vector(work.penalty_shift, 0.0)


# Status of a solve.
_SUCCESS, _NO_SOLUTION = IkStatus.SUCCESS.number, IkStatus.NO_SOLUTION.number
_TIMED_OUT, _UNREACHABLE = IkStatus.TIMED_OUT.number, IkStatus.UNREACHABLE.number
_ENDED_DIVERGED = IkStatus.DIVERGED.number
# The target is no rigid transform, or the seed no posture of the chain; nothing was solved.
FAULTY = -1
# Ending of a search.
_CONVERGED, _STALLED, _OUT_OF_TIME, _DIVERGED = range(4)
# Angle by which a solution may miss a limit that it is put onto, if it is one there, too [rad].
_SLACK = 1e-3
# Steps between two readings of the clock.
_CLOCK_INTERVAL = 8
# A cost at the seed below this means that the tip is near the target, as when a path is tracked.
# If the solution found is then farther from the seed than a jump [rad] or [m], or if there is
# none, so many searches start close to the seed, each a little less so, and the nearest solution
# is taken.
_NEAR_COST = 0.02
_JUMP = 0.1
_NEAR_SEARCHES = 8
_NEAR_RADIUS = 0.1
_NEAR_GROWTH = 1.3
# Approaches to a target beyond the reach: the first from the seed, others from random postures;
# the share of the cost below which a pose is nearer than those before; and the cost of one so far
# away, 3 m, that none is nearer by much.
_FAR_APPROACHES = 8
_NEARER = 0.98
_FAR_AWAY = 4.5
# Steps in which a search can be seen to diverge, and the share of them that made it worse.
_FEWEST_STEPS = 8
_WORSENING = 0.3


@kernel
def solve(problem, method, target, seed, best, trace):
    """
    Solve for one target.

    :param problem: :class:`~ik_service.solvers.loop.problem.Problem`.
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
    """Search until the target is reached or no searches are left; returns the same as `solve`."""
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
            if not near:  # nothing is tracked from so far: steps that are drawn would stall
                work.seed_cost[0] = math.inf
            random_start(chain, settings, work, radius, searches)
        patience = settings.patience * (1 if searches < EASY_SEARCHES else 2)
        ending, cost, used = _search(
            chain, method, settings, work, deadline, patience, searches, trace
        )
        searches += 1
        iterations += used
        converged = ending == _CONVERGED
        diverged &= ending == _DIVERGED
        if converged:
            _turn_solution(chain, settings, work, seed, strategy)
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
        copy_vector(best, work.q)
        least, approaches = math.inf, min(settings.max_searches, _FAR_APPROACHES if beyond else 1)
        for number in range(approaches):
            if number > 0:
                random_start(chain, settings, work, math.inf, number)
            most = min(np.int64(APPROACH_STEPS), settings.most_steps - iterations)
            used, solved, cost = approach(chain, settings, work, deadline, most, searches, trace)
            searches += beyond
            iterations += used
            found = solved and (settings.approach_counts != 0 or used == 0)
            if (found or not solved) and cost < _NEARER * least:
                least = cost
                copy_vector(work.q, best)
            if solved or cost > _FAR_AWAY:
                break
        turn_towards(chain, seed, best, strategy, 0.0)
    position_error, orientation_error = errors_at(chain, settings, work, best)
    reached = found and within_tolerance(settings, position_error, orientation_error)
    status = _status(reached, beyond, ending, diverged)
    elapsed = monotonic_ns(work.clock) - began
    return status, position_error, orientation_error, iterations, max(searches, 1), elapsed


@inner_kernel
def _turn_solution(chain, settings, work, seed, strategy):
    """Turn the solution ``work.q`` towards the seed, also onto a limit that it misses slightly."""
    copy_vector(work.q, work.best_q)
    if turn_towards(chain, seed, work.q, strategy, _SLACK):
        position_error, orientation_error = errors_at(chain, settings, work, work.q)
        if not within_tolerance(settings, position_error, orientation_error):
            copy_vector(work.best_q, work.q)
            turn_towards(chain, seed, work.q, strategy, 0.0)


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
            if not progresses(chain, settings, work, cost, reference):
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


@kernel
def solve_many(
    problem,
    method,
    targets,
    seeds,
    chained,
    budget,
    best,
    status,
    errors_out,
    counts,
    states,
    motions,
    trace,
):
    """
    Solve for many targets, one after the other, until the time is up.

    :param problem: :class:`~ik_service.solvers.loop.problem.Problem`.
    :param targets: (N, 4, 4) T_base_target.
    :param seeds: (N, n) [rad] or [m].
    :param budget: time after which no further target is begun [ns].
    :param best: (N, n) out: the best joint vectors found [rad] or [m].
    :param status: (N,) int64 out: ``IkStatus.number``.
    :param errors_out: (N, 2) out: position error [m] and orientation error [rad].
    :param counts: (N, 2) int64 out: iterations and searches; of solves that pause, so far.
    :param states: (N, 3) int64 in and out: of solves that pause, zero before they begin: state of
        the generator of restarts, time spent [ns], whether a nearer solution is wanted still;
        (0, 3) where they do not pause.
    :param motions: (N, 3) in and out, likewise: cost at the seed, motion from the seed to the
        solution accepted and to the one found [rad] or [m].
    :returns: number of targets that were solved, at least one.
    """
    chain, settings, work = open_problem(problem)
    pauses = states.shape[0] > 0
    spent = 0
    for k in range(targets.shape[0]):
        seed = best[k - 1] if chained and k > 0 else seeds[k]
        before = counts[k, 0] if pauses else 0
        if pauses:
            _restore(work, counts[k], states[k], motions[k], best[k])
        status[k], errors_out[k, 0], errors_out[k, 1], counts[k, 0], counts[k, 1], time = (
            solve_one(chain, method, settings, work, targets[k], seed, best[k], trace)
        )
        counts[k, 0] += before
        if pauses:
            _store(work, states[k], motions[k], time)
        spent += time
        if spent > budget:
            return k + 1
    return targets.shape[0]


@inner_kernel
def _restore(work, counts, state, motion, q):
    """Write the state of a solve that pauses to the workspace."""
    work.searched[0] = counts[1]
    work.random[0], work.spent[0] = state[0], state[1]
    work.seed_cost[0], work.kept[0] = motion[0], motion[1]
    for i in range(q.shape[0]):
        work.q[i] = q[i]


@inner_kernel
def _store(work, state, motion, time):
    """Read the state of a solve that pauses from the workspace."""
    state[0] = work.random[0]
    state[1] += time
    state[2] = work.goes_on[0]
    motion[0], motion[2] = work.seed_cost[0], work.motion[0]
