"""One iteration of the loop that all methods share: a look at the pose, and a step."""

from __future__ import annotations

import math

from ik_service.kinematics.compile import fill_vector, inner_kernel, kernel_for
from ik_service.kinematics.kernels import last_frame
from ik_service.solvers.loop import limits
from ik_service.solvers.loop.rows import weighted_rows
from ik_service.solvers.loop.step import SHORT_STEPS, step
from ik_service.solvers.loop.substitution import substitute_penalised, substitute_transformed
from ik_service.solvers.loop.task import errors, within_tolerance


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
    raise NotImplementedError('compiled for each method')


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


@kernel_for(step_within_limits)
def _choose_if_long(chain, method, settings, work, strategy):
    return None if _is_short(method) else _step_within_limits


@kernel_for(step_within_limits, inlined=True)
def _choose_if_short(chain, method, settings, work, strategy):
    """The methods whose steps are short save half of their time by being compiled in."""
    return _step_within_limits if _is_short(method) else None


def _is_short(method):
    return getattr(method, 'instance_class', None) in SHORT_STEPS


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
