"""
Levenberg–Marquardt with damping in proportion to the error.

The step is (JᵀWJ + λI)⁻¹ JᵀW e with λ = damping · ½ eᵀWe: S. K. Chan and P. D. Lawrence, "General
inverse kinematics with the error damped pseudoinverse", ICRA 1988. It is computed in the space of
the six error components, where Jᵀ(JJᵀ + λI)⁻¹ e is the same vector: the system is 6×6 for any
number of joints, so the cost of an iteration is linear in that number.
"""

from __future__ import annotations

from typing import NamedTuple

from ik_service.solvers.damped_least_squares import damped_least_squares
from ik_service.solvers.method import given, Method
from ik_service.solvers.step import step_of

# Keeps the 6×6 system definite where the Jacobian is singular and the error is nearly zero.
_LEAST_DAMPING = 1e-12


class LevenbergMarquardt(NamedTuple):
    """
    Parameters of the method.

    :ivar damping: λ per unit of ½ eᵀWe.
    """

    damping: float


@step_of(LevenbergMarquardt, short=True)
def levenberg_marquardt_step(method, chain, settings, work):
    """Write the damped step to ``work.step``."""
    damping = method.damping * work.cost[0] + _LEAST_DAMPING
    damped_least_squares(work.rows, work.error, damping, work.step)


METHOD = Method(
    name='levenberg_marquardt',
    summary='damped least squares, damping in proportion to the error (Chan)',
    uses=frozenset({'damping', 'jacobian'}),
    parameters=lambda chain, options: LevenbergMarquardt(given(options.damping, 0.1)),
    max_iterations=50,
    max_searches=200,
    patience=3,
    progress=0.19,
    descends=True,
)
