"""
Levenberg–Marquardt with damping in proportion to the error.

The step is (JᵀWJ + λI)⁻¹ JᵀW e with λ = damping · ½ eᵀWe: S. K. Chan and P. D. Lawrence, "General
inverse kinematics with the error damped pseudoinverse", ICRA 1988. It is computed in the space of
the six error components, where Jᵀ(JJᵀ + λI)⁻¹ e is the same vector: the system is 6×6 for any
number of joints, so the cost of an iteration is linear in that number.

While a path is tracked, redundant joints are drawn to the middle of their limits: ‖Δq − c‖² takes
the place of ‖Δq‖², with c a wish in proportion to the error, which leaves the order of convergence
as it is. Without it such an arm drifts into a limit or a singular posture, and has to jump. Where
it would jump all the same, every other search for something nearer is drawn to the seed instead.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from ik_service.jit.compile import inner_kernel
from ik_service.kinematics.kernels import copy_vector, has_lower, has_upper
from ik_service.solvers.loop.linear_algebra import error_damped_step, LEAST_DAMPING
from ik_service.solvers.loop.problem import width
from ik_service.solvers.loop.step import step_of
from ik_service.solvers.options import LimitStrategy, Nearness
from ik_service.solvers.registry import given, SolverSpec

# The share of the distance to the middle that a joint would go for an error of 1.
_CENTRING = 2.0
# Cost at the seed [half a squared error] below which a path is tracked: closer than about 4 cm.
_TRACKING_COST = 1e-3


class LevenbergMarquardt(NamedTuple):
    """
    Parameters of the method.

    :ivar damping: λ per unit of ½ eᵀWe.
    :ivar centring: the share of the distance to the middle of its limits that a joint would go,
        per unit of ‖e‖, while a path is tracked; 0 for none.
    """

    damping: float
    centring: float = 0.0


@step_of(LevenbergMarquardt, short=True)
def levenberg_marquardt_step(method, chain, settings, work):
    """Write the damped step to ``work.step``."""
    damping = method.damping * work.cost[0] + LEAST_DAMPING
    tracks = work.seed_cost[0] < _TRACKING_COST and settings.nearness == Nearness.FIRST
    keeps = settings.limits == LimitStrategy.CLAMP or settings.limits == LimitStrategy.ACTIVE_SET
    if tracks and method.centring > 0.0 and keeps:
        _centred_step(method.centring, chain, work, damping)
    else:
        error_damped_step(work, work.error, damping)


@inner_kernel
def _centred_step(centring, chain, work, damping):
    """Write the step c + Jᵀ(JJᵀ + λI)⁻¹ (e − J c) to ``work.step``."""
    wish, rest = work.columns[0], work.vector
    returns = work.seeks_seed[0] != 0
    gain = 1.0 if returns else centring * math.sqrt(2.0 * work.cost[0])
    copy_vector(work.error, rest)
    for i in range(work.q.shape[0]):
        lower, upper = work.lower[i], work.upper[i]
        goal = work.start[i] if returns else 0.5 * (lower + upper)
        wished = returns or (has_lower(lower) and has_upper(upper))
        free = math.isnan(work.fixed_at[i]) and wished
        wish[i] = gain * (goal - work.q[i]) if free else 0.0
        for j in range(width(work)):
            rest[j] -= work.rows[i, j] * wish[i]
    error_damped_step(work, rest, damping)
    for i in range(work.q.shape[0]):
        work.step[i] += wish[i]


SPEC = SolverSpec(
    name='levenberg_marquardt',
    summary='damped least squares, damping in proportion to the error (Chan)',
    uses=frozenset({'damping', 'jacobian'}),
    parameters=lambda chain, options: LevenbergMarquardt(given(options.damping, 0.1), _CENTRING),
    max_iterations=50,
    patience=3,
    progress=0.19,
    approach_counts=True,
    trees=True,
)
