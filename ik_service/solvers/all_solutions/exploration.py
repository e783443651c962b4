"""
Search for all solutions of a target, as a kernel.

Starts come from the closed form where the arm has one, or from the elimination, then from random
postures. From each the pose error is brought to zero by Levenberg–Marquardt. A solution found is
kept unless it is known.
Where the Jacobian has a null space at a solution, the self-motion through it is traced: a
step along the null space, back onto the solutions, and the same again from there. The random
starts end when so many of them in a row have found nothing new.

The kernels take the arguments of :mod:`ik_service.solvers.loop`, and ``plan``, a :class:`Plan`;
``wrap`` is that of the plan; ``found`` (k, n) are the solutions found [rad] or [m], ``count`` is
their number, ``radii`` (k,) how far around each no other is, and ``valid`` (k,) which are inside
the limits.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ik_service.jit.compile import inner_kernel, kernel, merged_kernel
from ik_service.kinematics.kernels import all_finite, copy_vector, fill_vector, monotonic_ns
from ik_service.kinematics.pose_error import transform_fault
from ik_service.solvers.all_solutions.closed_forms import closed_form_starts, GENERAL, NO_FORM
from ik_service.solvers.loop.iteration import (
    beyond_reach,
    errors_at,
    evaluate_pose,
    set_goal,
    step_within_limits,
    weighted_rows,
    within_tolerance,
)
from ik_service.solvers.loop.limits import inside, narrow_limits, start_inside, turn_towards
from ik_service.solvers.loop.linear_algebra import damped_least_squares
from ik_service.solvers.loop.problem import open_problem
from ik_service.solvers.loop.search import largest_difference, random_start, uniform
from ik_service.solvers.methods.levenberg_marquardt import LevenbergMarquardt
from ik_service.solvers.options import LimitStrategy

# Plain number: code for the type of a member would be compiled beside that for numbers.
_ACTIVE_SET = int(LimitStrategy.ACTIVE_SET)
# How far beyond a limit a solution is still one that lies on it, if that is within tolerance
# [rad] or [m]; where two meet, the search ends a little beside them.
_ON_LIMIT = 1e-4
_ROUNDING = 1e-9  # by which a solution may miss a limit that it is turned onto [rad]


@inner_kernel
def distance_within(wrap, a, b, bound):
    """Return the largest difference of joint vectors, but for full turns; inf above a bound."""
    largest = 0.0
    for i in range(a.shape[0]):
        difference = _apart(a[i], b[i], wrap[i])
        if difference > bound:
            return math.inf
        largest = max(largest, difference)
    return largest


@inner_kernel
def known(wrap, found, radii, valid, count, q, within):
    """
    Return whether a joint vector lies within the radius of one that was found.

    :param within: whether it is within the limits; then those beyond them do not count.
    """
    for k in range(count):
        if valid[k] == 0 and within:
            continue
        if distance_within(wrap, found[k], q, radii[k]) <= radii[k]:
            return True
    return False


@inner_kernel
def bring_home(chain, settings, work, out):
    """
    Write ``work.q`` turned to where it is inside the limits, nearest to the start, to ``out``.

    Where it cannot be inside, it is as it was; returns whether it is a solution inside.
    """
    copy_vector(work.q, out)
    if settings.limits == LimitStrategy.IGNORE:
        turn_towards(chain, work.start, out, settings.limits, _ROUNDING)
    else:
        turn_towards(chain, work.start, out, _ACTIVE_SET, _ROUNDING)
        if not _put_on_limits(chain, work.q, out):
            copy_vector(work.q, out)
            return False
    position, orientation = errors_at(chain, settings, work, out)
    return within_tolerance(settings, position, orientation)


@inner_kernel
def _put_on_limits(chain, q, out):
    """
    Move positions that miss a limit by rounding onto it; returns whether all are inside then.

    They are those of ``out``: a solution ``q``, turned towards the inside.
    """
    for i in range(out.shape[0]):
        # A value that no turn brings inside was put on a limit, by rounding maybe the wrong one.
        lower, upper, turn = chain.lower[i], chain.upper[i], chain.turn[i]
        out[i] = min(max(out[i], lower), upper)
        if _apart(out[i], q[i], turn) <= _ON_LIMIT:
            continue
        out[i] = lower if _apart(lower, q[i], turn) <= _ON_LIMIT else upper
        if not _apart(out[i], q[i], turn) <= _ON_LIMIT:
            return False
    return True


@inner_kernel
def keep_valid(start, found, radii, valid, count):
    """
    Move those inside the limits to the front; returns their number.

    Their largest joint differences from the start [rad] or [m] are written to ``radii``.
    """
    kept = 0
    for k in range(count):
        if valid[k] != 0:
            copy_vector(found[k], found[kept])
            radii[kept] = largest_difference(found[kept], start)
            kept += 1
    return kept


@inner_kernel
def _apart(a, b, turn):
    """Return the difference of two positions, but for full turns."""
    difference = abs(a - b)
    if turn > 0.0 and difference > 0.5 * turn:
        difference = abs(difference - turn * np.floor(difference / turn + 0.5))
    return difference


# Ending of the search.
COMPLETE, FULL, OUT_OF_TIME, FAULTY = range(4)
# Plain number: code for the type of a member would be compiled beside that for numbers.
_IGNORE = int(LimitStrategy.IGNORE)
# Damping of the iteration, its steps at most, the steps in which the cost has to fall by a share,
# and the cost [half a squared error] at which it ends.
_DAMPING = 0.1
_STEPS = 60
_PATIENCE = 3
_PROGRESS = 0.19
_FINEST = 1e-24
# Steps in a row that do not halve the cost, at the target.
_IDLE = 4
# Where an error r is left, solutions are one up to this many times the root of r [rad] or [m].
_BLUR = 3.0
# Squared singular value of the Jacobian at which a direction counts as one of the null space, and
# the share of a random vector that has to lie in it.
_NULL = 1e-10
_SHARE = 0.03
# The same, below which two solutions nearly meet: an elimination, whose axes may be off by a
# millionth, can lose both or one of them.
_NEARLY_NULL = 1e-5
# Random starts of which one, an unrelated one, is searched from within the limits.
_LIMITED = 10
# How far from where a step along a self-motion leads its solution may lie, in steps.
_STRAY = 0.5


class Plan(NamedTuple):
    """
    Settings of a search for all solutions.

    :ivar redundancy: dimension of the self-motions in general; 0 for isolated solutions.
    :ivar strategy: LimitStrategy of the iteration.
    :ivar patience: random starts in a row that find nothing new, at the end.
    :ivar same: difference up to which two isolated solutions are one [rad] or [m].
    :ivar radius: difference up to which a posture is covered by one on a self-motion [rad] or [m].
    :ivar step: length of a step along a self-motion [rad] or [m].
    :ivar wrap: (n,) turn of each variable that does not count as a difference [rad]; 0 for none.
    :ivar scratch: (3, n) scratch.
    """

    redundancy: int
    strategy: int
    patience: int
    same: float
    radius: float
    step: float
    wrap: np.ndarray
    scratch: np.ndarray


@kernel
def find_all(problem, arm, plan, target, seed, starts, given, found, radii, valid, trace):
    """
    Find all solutions.

    :param problem: :class:`~ik_service.solvers.loop.problem.Problem`.
    :param arm: :class:`~ik_service.solvers.all_solutions.closed_forms.ClosedForm`.
    :param plan: :class:`Plan`.
    :param target: (4, 4) T_base_target.
    :param seed: (n,) the solutions turn towards it [rad] or [m].
    :param starts: (k, n) starts from the elimination [rad]; scratch for other arms.
    :param given: (4,) int64 values returned by the elimination; not read for other arms.
    :param found: (most, n) out: the solutions inside the limits [rad] or [m].
    :param radii: (most,) out: largest joint difference of each from the seed; scratch before.
    :param valid: (most,) int64 scratch.
    :returns: number of solutions, the ending, and the random starts made.
    """
    chain, settings, work = open_problem(problem)
    fits = target.shape == (4, 4) and seed.shape[0] == work.q.shape[0]
    if not fits or transform_fault(target) or not all_finite(seed):
        return 0, FAULTY, 0
    count, ending, made = _explore(
        chain, settings, work, arm, plan, target, seed, starts, given, found, radii, valid, trace
    )
    return keep_valid(work.start, found, radii, valid, count), ending, made


@merged_kernel
def _explore(
    chain, settings, work, arm, plan, target, seed, starts, given, found, radii, valid, trace
):
    """Search from all starts, and trace the self-motions; returns the same as `find_all`."""
    deadline = monotonic_ns(work.clock) + settings.timeout
    set_goal(chain, target, work.goal)
    if settings.largest_motion > 0.0:
        narrow_limits(chain, settings, work, seed)
    start_inside(chain, seed, work.start, settings.limits)
    work.random[0] = settings.random_seed
    count, walked, made, idle = 0, 0, 0, 0
    if beyond_reach(chain, settings, work.goal):
        return count, COMPLETE, made
    candidates, complete = closed_form_starts(arm, target, starts)
    certain, inexact = 0, False
    if arm.kind == GENERAL:
        candidates, certain, complete = given[0], given[1], given[2] != 0
        inexact = given[3] != 0
    elif arm.kind == NO_FORM:
        copy_vector(work.start, starts[0])
        candidates = 1
    singular = not complete
    for k in range(candidates):
        copy_vector(starts[k], work.q)
        error = _converge(chain, settings, work, plan.strategy, trace)
        before = count
        count = _add(chain, settings, work, plan, error, found, radii, valid, count)
        # Where two solutions nearly meet, their starts may lead to one, or be a complex pair.
        singular |= arm.kind == GENERAL and (count > before) != (k < certain)
    singular |= arm.kind == GENERAL and count == 0 < candidates  # at the end of the reach, maybe
    while True:
        while walked < count < found.shape[0] and monotonic_ns(work.clock) <= deadline:
            before = count
            count, flattest = _walk(
                chain, settings, work, plan, walked, found, radii, valid, count, trace
            )
            singular |= count > before or (inexact and flattest < _NEARLY_NULL)
            walked += 1
        if count == found.shape[0]:
            return count, FULL, made
        if monotonic_ns(work.clock) > deadline:
            return count, OUT_OF_TIME, made
        if idle >= plan.patience or not singular:
            return count, COMPLETE, made
        made += 1
        idle += 1
        _random_posture(chain, settings, work, found, count, idle % 2 == 1)
        # Of a self-motion, a single posture may be within the limits.
        limited = idle % _LIMITED == 0 and settings.limits != _IGNORE
        strategy = _ACTIVE_SET if limited else plan.strategy
        error = _converge(chain, settings, work, strategy, trace)
        before = count
        count = _add(chain, settings, work, plan, error, found, radii, valid, count)
        if count > before:
            idle = 0


@inner_kernel
def _random_posture(chain, settings, work, found, count, related):
    """Write a random posture to ``work.q``; a related one shares joints with one found."""
    random_start(chain, settings, work, math.inf, 0)
    if not related or count == 0:
        return
    model = int(uniform(work.random) * count)
    for i in range(work.q.shape[0]):
        if uniform(work.random) < 0.5:
            work.q[i] = found[model, i]


@merged_kernel
def _converge(chain, settings, work, strategy, trace):
    """Bring ``work.q`` to the target precisely; return the norm of the twist left, or inf."""
    reference = before = kept = math.inf
    found = False
    idle = 0
    for k in range(_STEPS):
        cost, reached = evaluate_pose(chain, settings, work, 0, trace)
        if (reached and not found) or (reached == found and cost < kept):
            kept = cost
            copy_vector(work.q, work.best_q)
        found |= reached
        idle = idle + 1 if cost > 0.5 * before else 0
        if cost < _FINEST or not cost < settings.largest_cost or (found and idle > _IDLE):
            break
        if k % _PATIENCE == 0 and not found:
            if cost > (1.0 - _PROGRESS) * reference:
                break
            reference = cost
        before = cost
        step_within_limits(chain, LevenbergMarquardt(_DAMPING, 0.0), settings, work, strategy)
    copy_vector(work.best_q, work.q)
    return math.sqrt(2.0 * kept) if found else math.inf


@inner_kernel
def _add(chain, settings, work, plan, error, found, radii, valid, count):
    """
    Add ``work.q`` to the solutions found unless it is known; returns their number.

    :param error: that of :func:`_converge`. Where it is not zero, there is a minimum of the error
        that lies within tolerance, as at the end of the reach, and the error is flat about it.
    """
    if not error < math.inf or count == found.shape[0]:
        return count
    within = bring_home(chain, settings, work, found[count])
    if known(plan.wrap, found, radii, valid, count, work.q, within):
        return count
    valid[count] = within
    blurred = max(plan.same, _BLUR * math.sqrt(error))
    radii[count] = plan.radius if plan.redundancy > 0 else blurred
    return count + 1


@merged_kernel
def _walk(chain, settings, work, plan, k, found, radii, valid, count, trace):
    """
    Walk from the k-th solution along the self-motion through it, a step to each side.

    :returns: the number of solutions found, and the smallest pivot of J Jᵀ at this one.
    """
    flattest = math.inf
    directions = max(1, 3 * plan.redundancy - 2) if plan.redundancy > 0 else 2
    ahead, wanted = plan.scratch[0], plan.scratch[1]
    for side in range(2 * directions):
        if side % 2 == 0:
            leads_on, pivot = _direction(chain, settings, work, plan, found[k], trace)
            flattest = min(flattest, pivot)
            if not leads_on:
                break
        for i in range(wanted.shape[0]):
            ahead[i] = -ahead[i]
            value = found[k, i] + ahead[i]
            wanted[i] = value if plan.strategy == _IGNORE else inside(chain, i, value)
        copy_vector(wanted, work.q)
        error = _converge(chain, settings, work, plan.strategy, trace)
        if not error < math.inf:
            continue
        if plan.redundancy == 0:
            stray = distance_within(plan.wrap, wanted, work.q, math.inf)
            if not stray < _STRAY * plan.step:
                continue  # an isolated solution, as at the end of the reach
            radii[k] = plan.radius
        before = count
        count = _add(chain, settings, work, plan, error, found, radii, valid, count)
        if count > before:
            radii[before] = plan.radius
    return count, flattest


@inner_kernel
def _direction(chain, settings, work, plan, q, trace):
    """
    Write a random step along the self-motion through a solution to the scratch.

    It is v − J⁺ J v for a random v: the part of v that lies in the null space of the Jacobian.

    :returns: whether there is such a step, and the smallest pivot of J Jᵀ.
    """
    ahead, share = plan.scratch[0], plan.scratch[2]
    copy_vector(q, work.q)
    evaluate_pose(chain, settings, work, 0, trace)
    weighted_rows(chain, settings, work)
    fill_vector(work.vector, 0.0)
    whole = 0.0
    for i in range(q.shape[0]):
        held = not chain.lower[i] < chain.upper[i] and plan.strategy != _IGNORE
        ahead[i] = 0.0 if held else 2.0 * uniform(work.random) - 1.0
        whole += ahead[i] * ahead[i]
        for j in range(6):
            if held:
                work.rows[i, j] = 0.0
            work.vector[j] += ahead[i] * work.rows[i, j]
    pivot = damped_least_squares(work.rows, work.vector, _NULL, share)
    largest = left = 0.0
    for i in range(q.shape[0]):
        ahead[i] -= share[i]
        largest = max(largest, abs(ahead[i]))
        left += ahead[i] * ahead[i]
    if not left > _SHARE * _SHARE * whole:
        return False, pivot
    for i in range(q.shape[0]):
        ahead[i] *= plan.step / largest
    return True, pivot
