"""
Substitution of variables that keep the joint limits, for every method.

A method gets a Jacobian and an error and answers with a step; nothing says that the step has to be
one of the joints. Here the columns of the Jacobian are scaled by dq/dy, and the step is one of the
new variables y.

- ``transform``: new variables that cannot leave the interval. q = middle + half range · sin y, or
  a hyperbola where there is one bound only: the transformations of MINUIT (F. James and M. Roos,
  Computer Physics Communications 10, 1975). What Korein and Badler (1982) propose, a squared slack
  variable for each bound, is the same idea with two variables more a joint.
- ``penalty``: a joint that is beyond its bound by v pays ½ w v², w times what a motion of that
  length costs. In the method's own measure of a motion, whether its damping or its minimum norm,
  the step Δq then minimises ‖Δq‖² + w (Δq + v)² for that joint, which is
  (1 + w) (Δq + w v / (1 + w))² and a constant: a joint that is scaled by 1/√(1 + w) and moves back
  by w v / (1 + w). The pose comes first, so a bound is a wish: a search that ends beyond one has
  failed. With a small w joints are outside for long; with a large one the columns of the Jacobian
  differ by √w, and it becomes as ill-conditioned as that.
"""

from __future__ import annotations

import math

from ik_service.jit.compile import inner_kernel
from ik_service.kinematics.joint_space import has_lower, has_upper
from ik_service.kinematics.kernels import fill_vector
from ik_service.solvers.loop.width import width

# The penalty begins this share of the range (or of 1) inside the bound, so that what it brings
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
    :param y: the new variable.
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
    :param value: its position [rad] or [m].
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
    """
    Return a value moved a little inside its bounds.

    :param chain: :class:`~ik_service.kinematics.kernels.ChainArrays`.
    :param i: index of the variable.
    :param value: its position [rad] or [m].
    """
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
    """
    Write the Jacobian of the new variables to ``work.rows``; fix those with dq/dy = 0.

    :param chain: :class:`~ik_service.kinematics.kernels.ChainArrays`.
    :param work: :class:`~ik_service.solvers.loop.fields.Workspace`.
    """
    for i in range(work.q.shape[0]):
        work.scale[i] = _slope(chain.lower[i], chain.upper[i], work.q[i])
        if work.scale[i] == 0.0:
            work.fixed_at[i] = work.q[i]
        for j in range(width(work)):
            work.rows[i, j] *= work.scale[i]


@inner_kernel
def substitute_penalised(chain, settings, work):
    """
    Write the Jacobian and the error with the penalty; fix joints without a range.

    :param chain: :class:`~ik_service.kinematics.kernels.ChainArrays`.
    :param settings: :class:`~ik_service.solvers.loop.fields.Settings`, single fields as numbers.
    :param work: :class:`~ik_service.solvers.loop.fields.Workspace`.
    """
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
    """
    Return the distance beyond the start of the penalty; 0 inside, negative below.

    :param chain: :class:`~ik_service.kinematics.kernels.ChainArrays`.
    :param i: index of the variable.
    :param value: its position [rad] or [m].
    """
    lower, upper = chain.lower[i], chain.upper[i]
    margin = _MARGIN * min(upper - lower, 1.0)
    if value > upper - margin:
        return value - (upper - margin)
    if value < lower + margin:
        return value - (lower + margin)
    return 0.0
