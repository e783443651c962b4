"""
First motion of an arm far from its target: what slides carries it there at once.

For a target far away the damping of a step, which grows with the square of the distance, leaves
next to nothing of it, and without damping the joints that turn would whirl. A base that drives, or
a long rail, can go all the way in one step instead: that which minimises the error with the joints
that slide alone.
The package docstring, :mod:`ik_service.solvers.loop`, lists the arguments of these kernels.
"""

from __future__ import annotations

import math

from ik_service.jit.compile import inner_kernel
from ik_service.kinematics.kernels import fill_vector
from ik_service.solvers.choices import LimitStrategy
from ik_service.solvers.kernels.damped_least_squares import damped_step
from ik_service.solvers.loop.iteration import weighted_rows
from ik_service.solvers.loop.limits import fix_crossing, take_step_inside
from ik_service.solvers.loop.width import width

FAR_COST = 12.5
"""
Cost [half a squared error] above which slides go ahead: that of 5 m, which is within the reach of
hardly any arm, and from where the damped steps still arrive.
"""
# Keeps the system definite in directions in which nothing slides.
_DAMPING = 1e-9


@inner_kernel
def slide_ahead(chain, settings, work):
    """
    Move the variables that slide to where the error at ``work.q`` is least.

    :returns: whether there are any; without them all is as it was.
    """
    fill_vector(work.fixed_at, math.nan)
    if not _keep_slides(chain, work, False):
        return False
    weighted_rows(chain, settings, work)
    _keep_slides(chain, work, True)
    crossing = 1
    while crossing > 0:
        damped_step(work, work.error, _DAMPING)
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
def _keep_slides(chain, work, clear):
    """
    Return whether any variable only slides.

    :param clear: whether to make the rows of the others zero.
    """
    count = 0
    for i in range(work.q.shape[0]):
        turns = slides = 0.0
        for k in range(chain.variables.shape[0]):
            if chain.variables[k] == i:
                turns += abs(chain.joints[k, 6])
                slides += abs(chain.joints[k, 7])
        if turns == 0.0 and slides > 0.0:
            count += 1
        elif clear:
            for j in range(width(work)):
                work.rows[i, j] = 0.0
    return count > 0
