"""One iteration of the loop that all methods share: a look at the pose, and a step."""

from __future__ import annotations

import math

from numba.extending import overload

from ik_service.kinematics.compile import fill_vector, inlined_kernel, inner_kernel
from ik_service.kinematics.kernels import last_frame
from ik_service.solvers import limits
from ik_service.solvers.rows import weighted_rows
from ik_service.solvers.step import SHORT_STEPS, step
from ik_service.solvers.substitution import substitute_penalised, substitute_transformed
from ik_service.solvers.task import errors, within_tolerance


@inner_kernel
def look(chain, settings, work, search, trace):
    """Evaluate the pose at ``work.q`` and record it; returns its cost and whether it will do."""
    last_frame(chain, work.q, work.axes, work.frame)
    position_error, orientation_error, cost = errors(settings, work)
    if work.recorded[0] < trace.shape[0]:
        _record(trace, work, position_error, orientation_error, search)
    return cost, within_tolerance(settings, position_error, orientation_error)


def step_within_limits(chain, method, settings, work, strategy):
    """Compute a step from ``work.q``, keep it within the limits, and take it."""
    raise NotImplementedError('implemented for each method by an overload')


def _step_within_limits(chain, method, settings, work, strategy):
    """What :func:`step_within_limits` does, for all methods."""
    weighted_rows(chain, settings, work)
    fill_vector(work.held, math.nan)
    if strategy == limits.TRANSFORM:
        substitute_transformed(chain, work)
    elif strategy == limits.PENALTY:
        substitute_penalised(chain, settings, work)
    crossing = 1
    while crossing > 0:
        step(method, chain, settings, work)
        crossing = limits.hold_crossing(chain, work) if strategy == limits.ACTIVE_SET else 0
    limits.advance(chain, work, strategy)


called_step_within_limits = inner_kernel(_step_within_limits)
_inlined = inlined_kernel(_step_within_limits)


@overload(step_within_limits, inline='always')
def _select(chain, method, settings, work, strategy):
    """The methods whose steps are short save half of their time by being compiled in."""
    short = getattr(method, 'instance_class', None) in SHORT_STEPS
    compiled = _inlined if short else called_step_within_limits
    return lambda chain, method, settings, work, strategy: compiled(
        chain, method, settings, work, strategy
    )


@inner_kernel
def forget_substitution(work):
    """Let each step be that of the joints themselves again."""
    fill_vector(work.scale, 1.0)
    fill_vector(work.shift, 0.0)


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
