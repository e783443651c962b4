"""
Transpose of the Jacobian: steepest descent of the squared error.

The classical step is α Jᵀ e (Wolovich and Elliott 1984), with a fixed α or the one that minimises
the linearised error ‖e − α J Jᵀ e‖, which is (e · J Jᵀ e) / ‖J Jᵀ e‖² (Buss 2004).

The accelerated one is α D Jᵀ S² e. S² weighs rotations by the square of the characteristic length,
so that metres and radians are alike, and D divides by the squared length of each joint's column of
S J, so that joints are. With s the last step and y its change of the gradient −Jᵀ S² e, J.
Barzilai and J. M. Borwein, "Two-point step size gradient methods", IMA Journal of Numerical
Analysis 8, 1988, have two lengths, here in the metric of D: the long (s · D⁻¹ s) / (s · y) and the
short (s · y) / (y · D y). The choice between them is that of G. Frassoldati, L. Zanni and G.
Zanghirati, "New adaptive stepsize selections in gradient methods", Journal of Industrial and
Management Optimization 4, 2008 (ABBmin): the long one, except where the short one is much shorter;
then the shortest of the last few short ones. The error may rise for a few steps.

Two safeguards: where the gradient does not rise along the step, so that neither length means
anything, it is the best one for the linearised error, as in the classical variant; and no joint
moves by more than a radian or a metre at once.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from ik_service.jit.compile import inlined_kernel
from ik_service.kinematics.chain import KinematicChain
from ik_service.kinematics.kernels import fill_vector
from ik_service.kinematics.tree import KinematicTree
from ik_service.solvers.loop.limits import without_turns
from ik_service.solvers.loop.problem import width
from ik_service.solvers.loop.step import step_of
from ik_service.solvers.options import (
    characteristic_length,
    IkOptions,
    LimitStrategy,
    refuse_characteristic_length,
)
from ik_service.solvers.registry import given, SolverSpec

# Rows of memory: the metric D⁻¹, the gradient now and before, the last step, and in the first
# numbers of the others the last short lengths.
_METRIC, _GRADIENT, _BEFORE, _MOTION, _SHORT = range(5)
_SHORT_LENGTHS = 5
MEMORY_ROWS = _SHORT + _SHORT_LENGTHS
# The short length is taken where it is below this share of the long one.
_MUCH_SHORTER = 0.2
# Share of the largest squared effect on the tip that every joint is taken to have at least: one
# that can do next to nothing would be sent far.
_LEAST_METRIC = 0.01
# The least cosine of the angle between step and change of the gradient, squared.
_LEAST_CURVATURE = 1e-20
# The longest motion of a joint in a step [rad] or [m].
_LONGEST = 1.0


@inlined_kernel
def descend_by_two_points(square, chain, settings, work):
    """Write α D Jᵀ S² e to ``work.step``, by the characteristic length squared [m²]."""
    _write_direction(square, chain, work, _is_anew(settings, work))
    length = _two_point_length(work) if work.iteration[0] > 0 else 0.0
    if length == 0.0:
        length = _best_length(square, work)
    longest = 0.0
    for i in range(work.step.shape[0]):
        distance = length * abs(work.step[i])
        longest = max(longest, distance, distance * abs(work.scale[i]))
    if longest > _LONGEST:
        length *= _LONGEST / longest
    for i in range(work.step.shape[0]):
        work.step[i] *= length


@inlined_kernel
def _is_anew(settings, work):
    """Return whether this is the first computation of the step: no joint is fixed yet."""
    if settings.limits == LimitStrategy.ACTIVE_SET:
        for i in range(work.fixed_at.shape[0]):
            if not math.isnan(work.fixed_at[i]):
                return False
    return True


@inlined_kernel
def _write_direction(square, chain, work, anew):
    """Write D Jᵀ S² e to ``work.step``; where it is computed anew, keep the last step."""
    rows, error = work.rows, work.error
    metric, gradient = work.memory[_METRIC], work.memory[_GRADIENT]
    before, motion = work.memory[_BEFORE], work.memory[_MOTION]
    largest = 0.0
    for i in range(rows.shape[0]):
        slope = size = 0.0
        for j in range(width(work)):
            weight = square if j % 6 > 2 else 1.0
            slope += weight * rows[i, j] * error[j]
            size += weight * rows[i, j] * rows[i, j]
        scale = work.scale[i]
        # In the joint's own measure, also where another variable is substituted for it.
        metric[i] = size / (scale * scale) if scale != 0.0 else 0.0
        largest = max(largest, metric[i])
        if anew:
            before[i] = gradient[i]
            gradient[i] = -slope
            # As it was meant: a joint that passes a bound may have been turned back inside.
            taken = without_turns(work.step[i], chain.turn[i])
            motion[i] = taken / scale if scale != 0.0 else 0.0
        work.step[i] = slope
    for i in range(rows.shape[0]):
        if metric[i] > 0.0:
            metric[i] = max(metric[i], _LEAST_METRIC * largest)
            work.step[i] /= metric[i]
        else:
            work.step[i] = 0.0


@inlined_kernel
def _two_point_length(work):
    """Return the length of the step by Barzilai and Borwein; 0 where there is none."""
    metric, gradient = work.memory[_METRIC], work.memory[_GRADIENT]
    before, motion = work.memory[_BEFORE], work.memory[_MOTION]
    ss = sy = yy = 0.0
    for i in range(motion.shape[0]):
        if metric[i] > 0.0:
            change = gradient[i] - before[i]
            ss += motion[i] * motion[i] * metric[i]
            sy += motion[i] * change
            yy += change * change / metric[i]
    iteration = work.iteration[0]
    kept = work.memory[_SHORT:]
    here = iteration % _SHORT_LENGTHS
    kept[here, 0] = 0.0
    if not (sy > 0.0 and sy * sy > _LEAST_CURVATURE * ss * yy):
        return 0.0
    long, short = ss / sy, sy / yy
    kept[here, 0] = short
    if short >= _MUCH_SHORTER * long:
        return long
    for back in range(1, min(iteration, _SHORT_LENGTHS)):
        earlier = kept[(iteration - back) % _SHORT_LENGTHS, 0]
        if earlier > 0.0:
            short = min(short, earlier)
    return short


@inlined_kernel
def _best_length(square, work):
    """Return the length along ``work.step`` that minimises the linearised error."""
    moved = work.vector
    fill_vector(moved, 0.0)
    for i in range(work.step.shape[0]):
        for j in range(width(work)):
            moved[j] += work.rows[i, j] * work.step[i]
    along = length = 0.0
    for j in range(width(work)):
        weight = square if j % 6 > 2 else 1.0
        along += weight * work.error[j] * moved[j]
        length += weight * moved[j] * moved[j]
    return along / length if length > 0.0 else 0.0


@inlined_kernel
def descend_steepest(fixed_gain, work):
    """Write α Jᵀ e to ``work.step``."""
    for i in range(work.step.shape[0]):
        work.step[i] = 0.0
        for j in range(width(work)):
            work.step[i] += work.rows[i, j] * work.error[j]
    gain = fixed_gain if fixed_gain != 0.0 else _best_length(1.0, work)
    for i in range(work.step.shape[0]):
        work.step[i] *= gain


class Transpose(NamedTuple):
    """
    Parameters of the method.

    :ivar gain: α of the classical variant; 0 for the one that minimises the linearised error.
    :ivar accelerated: whether the lengths of the steps are those of the accelerated variant.
    :ivar square: square of its characteristic length [m²].
    """

    gain: float
    accelerated: int = 0
    square: float = 1.0


@step_of(Transpose, short=True)
def transpose_step(method, chain, settings, work):
    """Write the step along Jᵀ e to ``work.step``."""
    if method.accelerated != 0:
        descend_by_two_points(method.square, chain, settings, work)
    else:
        descend_steepest(method.gain, work)


def _parameters(chain: KinematicChain | KinematicTree, options: IkOptions) -> Transpose:
    if options.chosen_variant == 'classical':
        refuse_characteristic_length(options)
        return Transpose(given(options.step_gain, 0.0))
    return Transpose(0.0, 1, characteristic_length(chain, options) ** 2)


SPEC = SolverSpec(
    name='transpose',
    summary='transpose of the Jacobian: steps down the slope of the squared error',
    uses=frozenset({'variant', 'characteristic_length', 'step_gain', 'jacobian'}),
    parameters=_parameters,
    max_iterations=1000,
    patience=50,
    progress=0.1,
    memory_rows=lambda chain: MEMORY_ROWS,
    trees=True,
    variants={
        'accelerated': {},
        'classical': {
            'max_iterations': 2000, 'max_searches': 20, 'patience': 50, 'progress': 0.05,
        },
    },
)  # fmt: skip
