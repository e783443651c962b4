"""
Bound on the motion of every joint from the seed.

For the time of a solve the limits of the chain are narrowed to what lies within the bound, so that
every method keeps it by whatever it keeps the limits by. The chain's own limits stay in
``work.lower`` and ``work.upper``: what draws joints to the middle of their limits goes by those.
"""

from __future__ import annotations

import math

from ik_service.jit.compile import inner_kernel
from ik_service.solvers.choices import LimitStrategy
from ik_service.solvers.loop.fields import Settings, Workspace
from ik_service.solvers.loop.limits import start_inside

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

    :param chain: :class:`~ik_service.kinematics.kernels.ChainArrays`, whose limits change.
    :param settings: :class:`~ik_service.solvers.loop.fields.Settings`, single fields as numbers.
    :param work: :class:`~ik_service.solvers.loop.fields.Workspace`; ``start`` is overwritten.
    :param seed: (n,) [rad] or [m].
    """
    for i in range(seed.shape[0]):
        chain.lower[i] = work.lower[i]
        chain.upper[i] = work.upper[i]
    start_inside(chain, seed, work.start, _ACTIVE_SET)
    for i in range(seed.shape[0]):
        start = work.start[i]
        bound = settings.largest_motion
        bound = max(bound - _ROUNDING * (bound + abs(start)), 0.0)
        chain.lower[i] = max(work.lower[i], start - bound)
        chain.upper[i] = min(work.upper[i], start + bound)
