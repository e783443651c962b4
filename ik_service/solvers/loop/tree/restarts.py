"""
Random starts of the searches after the first, for several tips.

The package docstring, :mod:`ik_service.solvers.loop.tree`, lists the arguments of these kernels.
"""

from __future__ import annotations

import math

from ik_service.jit.compile import inner_kernel, variant
from ik_service.kinematics.kernels import last_frame
from ik_service.kinematics.tree import TreeArrays
from ik_service.solvers.loop.iteration import errors
from ik_service.solvers.loop.restarts import random_position, random_start, uniform

# Errors [m] and [rad] below which a tip has arrived but for what the others have done to it.
_CLOSE = 0.02
# Share of the starts at which no joint is kept: where one tip is can be in the way of another.
_ALL_AT_ONCE = 0.05


@variant(random_start, TreeArrays)
def _tree_random_start(chain, settings, work, radius):
    """
    Write a random posture to ``work.q``, but for joints that need not move.

    Those that move only tips that have arrived keep the position that the last search found for
    them: to find all tips at once by chance would take as many searches as the product of those
    that each of them needs.
    """
    last_frame(chain, work.q, work.axes, work.frame)
    errors(settings, work)
    waits = radius == math.inf and _any_away(work) and uniform(work.random) > _ALL_AT_ONCE
    for i in range(work.q.shape[0]):
        if not (waits and _moves_arrived_only(chain, work, i)):
            work.q[i] = random_position(chain, work, radius, i)


@inner_kernel
def _any_away(work):
    """Return whether some tip has not arrived."""
    for tip in range(work.reached.shape[0]):
        if not _arrived(work, tip):
            return True
    return False


@inner_kernel
def _arrived(work, tip):
    """Return whether a tip has arrived, or nearly."""
    return work.reached[tip, 0] < _CLOSE and work.reached[tip, 1] < _CLOSE


@inner_kernel
def _moves_arrived_only(chain, work, i):
    """
    Return whether every tip that a variable moves has arrived.

    :param i: index of the variable.
    """
    for tip in range(work.reached.shape[0]):
        if chain.moves[tip, i] != 0.0 and not _arrived(work, tip):
            return False
    return True
