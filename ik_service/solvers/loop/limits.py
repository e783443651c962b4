"""
Joint limits of starts, steps and solutions, under each strategy.

- ``ignore``: limits do not matter.
- ``clamp``: each step is projected onto them.
- ``active_set``: a variable whose step would cross a bound is fixed there, the effect of that
  part of its motion on the pose is taken off the error, and the step is computed again for the
  others. It is free again in the next iteration, so it leaves the bound as soon as a step points
  inside. A variable that can make a full turn within its limits is turned instead of fixed.
- ``transform``: new variables that cannot leave the interval. q = middle + half range · sin y, or
  a hyperbola where there is one bound only: the transformations of MINUIT (F. James and M. Roos,
  Computer Physics Communications 10, 1975). That of Korein and Badler (1982), a squared slack
  variable for each bound, is the same idea with two variables more a joint.
- ``penalty``: a joint that is beyond its bound by v pays ½ w v², w times the cost of a motion
  of that length. In the method's own measure of a motion, whether its damping or its minimum norm,
  the step Δq then minimises ‖Δq‖² + w (Δq + v)² for that joint, which is
  (1 + w) (Δq + w v / (1 + w))² and a constant: a joint that is scaled by 1/√(1 + w) and moves back
  by w v / (1 + w). The pose comes first, so a bound is a wish: a search that ends beyond one has
  failed. With a small w joints are outside for long; with a large one the columns of the Jacobian
  differ by √w, and it becomes as ill-conditioned as that.

The last two substitute variables, which serves every method: it gets a Jacobian and an error and
answers with a step, and nothing says that the step has to be one of the joints. The columns of the
Jacobian are scaled by dq/dy, and the step is one of the new variables y.

A bound on the motion of every joint from the seed narrows the limits of the chain for the time of
a solve, so that every method keeps it as it keeps the limits. The chain's own limits stay in
``work.lower`` and ``work.upper``: objectives that draw joints to mid-range use those.

The package docstring, :mod:`ik_service.solvers.loop`, lists the arguments of these kernels.
"""

from __future__ import annotations

import math

import numpy as np

from ik_service.jit.compile import inner_kernel
from ik_service.kinematics.kernels import fill_vector, has_lower, has_upper
from ik_service.solvers.loop.problem import Settings, width, Workspace
from ik_service.solvers.options import LimitStrategy

# The penalty begins this share of the range (or of 1) inside the bound, so that a joint brought
# back comes to rest inside.
_MARGIN = 1e-3
# Transformed variables do not move at a bound, so searches start this share of the range inside.
_START_INSIDE = 1e-3


@inner_kernel
def transformed(lower, upper, y):
    """
    Return the joint position for a new variable.

    :param lower: lower limit [rad] or [m]; −inf for none.
    :param upper: upper limit [rad] or [m]; inf for none.
    """
    if has_lower(lower) and has_upper(upper):
        value = 0.5 * (lower + upper) + 0.5 * (upper - lower) * math.sin(y)
    elif has_lower(lower):
        value = lower - 1.0 + math.sqrt(1.0 + y * y)
    elif has_upper(upper):
        value = upper + 1.0 - math.sqrt(1.0 + y * y)
    else:
        value = y
    return min(max(value, lower), upper)  # rounding


@inner_kernel
def untransformed(lower, upper, value):
    """
    Return the new variable for a joint position within the limits.

    :param lower: lower limit [rad] or [m]; −inf for none.
    :param upper: upper limit [rad] or [m]; inf for none.
    """
    if has_lower(lower) and has_upper(upper):
        half = 0.5 * (upper - lower)
        if half == 0.0:
            return 0.0
        return math.asin(min(max((value - 0.5 * (lower + upper)) / half, -1.0), 1.0))
    if has_lower(lower):
        return math.sqrt(max((value - lower + 1.0) ** 2 - 1.0, 0.0))
    if has_upper(upper):
        return math.sqrt(max((upper - value + 1.0) ** 2 - 1.0, 0.0))
    return value


@inner_kernel
def off_the_bounds(chain, i, value):
    """Return a value moved a little inside its bounds."""
    width = chain.upper[i] - chain.lower[i]
    margin = _START_INSIDE * min(width, 1.0)
    return min(max(value, chain.lower[i] + margin), chain.upper[i] - margin)


@inner_kernel
def _slope(lower, upper, value):
    """Return the derivative dq/dy of the joint position by its new variable."""
    y = untransformed(lower, upper, value)
    if has_lower(lower) and has_upper(upper):
        return 0.5 * (upper - lower) * math.cos(y)
    slope = y / math.sqrt(1.0 + y * y)
    if has_lower(lower):
        return slope
    if has_upper(upper):
        return -slope
    return 1.0


@inner_kernel
def substitute_transformed(chain, work):
    """Write the Jacobian of the new variables to ``work.rows``; fix those with dq/dy = 0."""
    for i in range(work.q.shape[0]):
        work.scale[i] = _slope(chain.lower[i], chain.upper[i], work.q[i])
        if work.scale[i] == 0.0:
            work.fixed_at[i] = work.q[i]
        for j in range(width(work)):
            work.rows[i, j] *= work.scale[i]


@inner_kernel
def substitute_penalised(chain, settings, work):
    """Write the Jacobian and the error with the penalty; fix joints without a range."""
    weight = settings.penalty
    for i in range(work.q.shape[0]):
        beyond = beyond_limits(chain, i, work.q[i])
        work.scale[i] = 1.0
        work.penalty_shift[i] = 0.0
        if chain.lower[i] == chain.upper[i]:
            work.fixed_at[i] = work.q[i]
            fill_vector(work.rows[i], 0.0)
        if beyond == 0.0:
            continue
        work.scale[i] = 1.0 / math.sqrt(1.0 + weight)
        work.penalty_shift[i] = weight * beyond / (1.0 + weight)
        for j in range(width(work)):
            work.error[j] += work.penalty_shift[i] * work.rows[i, j]
            work.rows[i, j] *= work.scale[i]


@inner_kernel
def beyond_limits(chain, i, value):
    """Return the distance beyond the start of the penalty; 0 inside, negative below."""
    lower, upper = chain.lower[i], chain.upper[i]
    margin = _MARGIN * min(upper - lower, 1.0)
    if value > upper - margin:
        return value - (upper - margin)
    if value < lower + margin:
        return value - (lower + margin)
    return 0.0


# Farther out [rad], full turns would cost the angle its precision.
_FAR = 1e6
# A seed so little beyond a limit is taken for one on it [rad].
_SLIGHTLY = 0.1


@inner_kernel
def inside(chain, i, value):
    """Return a value within the limits: by full turns where possible, else clamped."""
    lower = chain.lower[i]
    upper = chain.upper[i]
    if lower <= value <= upper:
        return value
    turned = turned_inside(chain, i, value)
    return turned if lower <= turned <= upper else min(max(value, lower), upper)


@inner_kernel
def turned_inside(chain, i, value):
    """Return a value moved by the full turns that bring it back over the bound it exceeds."""
    turn = chain.turn[i]
    if turn == 0.0:
        return value
    if value > chain.upper[i]:
        return value - turn * np.ceil((value - chain.upper[i]) / turn)
    if value < chain.lower[i]:
        return value + turn * np.ceil((chain.lower[i] - value) / turn)
    return value


@inner_kernel
def start_inside(chain, seed, start, strategy):
    """
    Write the seed to ``start``, within the limits unless they are ignored.

    Slightly beyond a limit, as a measured state may be, it goes onto that limit: a full turn
    would begin the search where the arm is not.
    """
    for i in range(seed.shape[0]):
        value = seed[i]
        turn = chain.turn[i]
        if turn > 0.0 and abs(value) > _FAR:
            value = np.fmod(value, turn)
        if strategy != LimitStrategy.IGNORE:
            nearest = min(max(value, chain.lower[i]), chain.upper[i])
            slightly = abs(value - nearest) <= _SLIGHTLY
            value = nearest if slightly else inside(chain, i, value)
        if strategy == LimitStrategy.TRANSFORM:
            value = off_the_bounds(chain, i, value)
        start[i] = value


@inner_kernel
def fix_crossing(chain, work):
    """Fix free variables that the step would carry over a bound; returns their number."""
    count = 0
    for i in range(work.q.shape[0]):
        value = work.q[i] + work.step[i]
        lower = chain.lower[i]
        upper = chain.upper[i]
        if lower <= value <= upper or not math.isnan(work.fixed_at[i]):
            continue
        if lower <= turned_inside(chain, i, value) <= upper:
            continue
        bound = upper if value > upper else lower
        motion = bound - work.q[i]
        for j in range(width(work)):
            work.error[j] -= motion * work.rows[i, j]
            work.rows[i, j] = 0.0
        work.fixed_at[i] = bound
        count += 1
    return count


@inner_kernel
def take_step_inside(chain, work):
    """Take the step, fixed variables to their bounds; write the step taken to ``work.step``."""
    for i in range(work.q.shape[0]):
        before = work.q[i]
        value = before + work.step[i]
        fixed_at = work.fixed_at[i]
        value = inside(chain, i, value) if math.isnan(fixed_at) else fixed_at
        work.q[i] = value
        work.step[i] = value - before


@inner_kernel
def turn_towards(chain, seed, q, strategy, slack):
    """
    Move variables by full turns as near to the seed as the limits allow.

    :param slack: by which a variable may then lie beyond a limit, onto which it goes [rad].
    :returns: whether one has gone onto a limit.
    """
    moved_onto = False
    for i in range(q.shape[0]):
        turn = chain.turn[i]
        if turn == 0.0:
            continue
        if abs(q[i]) > _FAR:
            q[i] = np.fmod(q[i], turn)
        # NumPy's floor stays a float: no integer holds an infinite bound.
        wanted = min(max(seed[i], -_FAR), _FAR)
        turns = np.floor((wanted - q[i]) / turn + 0.5)
        if strategy == LimitStrategy.IGNORE:
            q[i] += turn * turns
            continue
        turns = min(turns, np.floor((chain.upper[i] - q[i] + slack) / turn))
        turns = max(turns, np.ceil((chain.lower[i] - q[i] - slack) / turn))
        turned = q[i] + turn * turns
        q[i] = min(max(turned, chain.lower[i]), chain.upper[i])
        moved_onto |= q[i] != turned
    return moved_onto


@inner_kernel
def moved(chain, work, strategy, i, step):
    """Return the position of a variable after a step from ``work.q``."""
    value = work.q[i]
    if strategy == LimitStrategy.ACTIVE_SET:
        fixed_at = work.fixed_at[i]
        return inside(chain, i, value + step) if math.isnan(fixed_at) else fixed_at
    if strategy == LimitStrategy.CLAMP:
        return min(max(value + step, chain.lower[i]), chain.upper[i])
    if strategy == LimitStrategy.TRANSFORM:
        lower, upper = chain.lower[i], chain.upper[i]
        return transformed(lower, upper, untransformed(lower, upper, value) + step)
    return value + work.scale[i] * step - work.penalty_shift[i]


@inner_kernel
def substitute_of(chain, strategy, i, value):
    """Return the value of the variable that the strategy substitutes for a joint position."""
    if strategy == LimitStrategy.TRANSFORM:
        return untransformed(chain.lower[i], chain.upper[i], value)
    return value


@inner_kernel
def take_step(chain, work, strategy):
    """Take the step, and write the actual motion to ``work.step``."""
    for i in range(work.q.shape[0]):
        before = work.q[i]
        work.q[i] = moved(chain, work, strategy, i, work.step[i])
        work.step[i] = work.q[i] - before


@inner_kernel
def all_inside(chain, q):
    """Return whether every variable is within its limits."""
    for i in range(q.shape[0]):
        if not chain.lower[i] <= q[i] <= chain.upper[i]:
            return False
    return True


@inner_kernel
def bring_inside(chain, q):
    """Bring every variable within its limits."""
    for i in range(q.shape[0]):
        q[i] = inside(chain, i, q[i])


# Plain number: code for the type of a member would be compiled beside that for numbers.
_ACTIVE_SET = int(LimitStrategy.ACTIVE_SET)
# Rounding of a bound, in shares of seed and bound, that must not carry an answer beyond it.
_ROUNDING = 1e-15


def bound_motion(settings: Settings, work: Workspace, bound: float, keeps_limits: bool) -> None:
    """
    Write the bound into a problem.

    Where the limits of the joints are ignored, the bound is kept all the same.

    :param settings: settings of the problem, as arrays.
    :param work: workspace of the problem.
    :param bound: largest motion of a joint from the seed [rad] or [m].
    :param keeps_limits: whether the steps of the method keep bounds by themselves.
    """
    settings.largest_motion[0] = bound
    if settings.limits[0] == LimitStrategy.IGNORE:
        settings.limits[0] = LimitStrategy.CLAMP if keeps_limits else _ACTIVE_SET
        work.lower[:], work.upper[:] = -math.inf, math.inf


@inner_kernel
def narrow_limits(chain, settings, work, seed):
    """
    Narrow the limits of the chain to the motions from the seed, or from where it is inside.

    :param chain: :class:`~ik_service.kinematics.joint_path.ChainArrays`, whose limits change.
    :param work: :class:`~ik_service.solvers.loop.problem.Workspace`; ``start`` is overwritten.
    :param seed: (n,) [rad] or [m].
    """
    for i in range(seed.shape[0]):
        chain.lower[i] = work.lower[i]
        chain.upper[i] = work.upper[i]
    # Typed, because Numba would otherwise compile it once more, for this number alone.
    start_inside(chain, seed, work.start, np.int64(_ACTIVE_SET))
    for i in range(seed.shape[0]):
        start = work.start[i]
        bound = settings.largest_motion
        bound = max(bound - _ROUNDING * (bound + abs(start)), 0.0)
        chain.lower[i] = max(work.lower[i], start - bound)
        chain.upper[i] = min(work.upper[i], start + bound)


@inner_kernel
def without_turns(motion, turn):
    """Return a motion less the full turns in it [rad]; as it is where these are 0."""
    return motion - turn * np.floor(motion / turn + 0.5) if turn > 0.0 else motion
