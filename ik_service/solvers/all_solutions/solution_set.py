"""Set of the joint vectors found, in kernels: distances, and what counts as known."""

from __future__ import annotations

import math

import numpy as np

from ik_service.kinematics.compile import inner_kernel
from ik_service.kinematics.kernels import copy_vector
from ik_service.solvers.choices import LimitStrategy
from ik_service.solvers.loop.iteration import errors_at, within_tolerance
from ik_service.solvers.loop.limits import turn_towards

# Plain number: code for the type of a member would be compiled beside that for numbers.
_ACTIVE_SET = int(LimitStrategy.ACTIVE_SET)
# How far beyond a limit a solution is still one that lies on it [rad] or [m].
_ON_LIMIT = 1e-7


@inner_kernel
def distance_within(wrap, a, b, bound):
    """
    Return the largest difference of two joint vectors, but for full turns; inf above a bound.

    :param wrap: (n,) turn of each variable that does not count [rad]; 0 for none.
    :param a: (n,) [rad] or [m].
    :param b: (n,).
    :param bound: the bound.
    """
    largest = 0.0
    for i in range(a.shape[0]):
        difference = _apart(a[i], b[i], wrap[i])
        if difference > bound:
            return math.inf
        largest = max(largest, difference)
    return largest


@inner_kernel
def known(wrap, found, radii, count, q):
    """
    Return whether a joint vector lies within the radius of one that was found.

    :param wrap: (n,), see :func:`distance_within`.
    :param found: (k, n) the joint vectors found.
    :param radii: (k,) their radii.
    :param count: number of those found.
    :param q: (n,) [rad] or [m].
    """
    for k in range(count):
        if distance_within(wrap, found[k], q, radii[k]) <= radii[k]:
            return True
    return False


@inner_kernel
def bring_home(chain, settings, work, out):
    """
    Bring ``work.q`` by full turns to where it is inside the limits and nearest to the start.

    :param chain: :class:`~ik_service.kinematics.chain_arrays.ChainArrays`.
    :param settings: :class:`~ik_service.solvers.loop.fields.Settings`, single fields as numbers.
    :param work: :class:`~ik_service.solvers.loop.fields.Workspace`.
    :param out: (n,) out: the joint vector; where it cannot be inside, it is as it was.
    :returns: whether it is a solution inside the limits.
    """
    copy_vector(work.q, out)
    if settings.limits == LimitStrategy.IGNORE:
        turn_towards(chain, work.start, out, settings.limits)
    else:
        turn_towards(chain, work.start, out, _ACTIVE_SET)
        if not _put_on_limits(chain, work.q, out):
            copy_vector(work.q, out)
            return False
    position, orientation = errors_at(chain, settings, work, out)
    return within_tolerance(settings, position, orientation)


@inner_kernel
def _put_on_limits(chain, q, out):
    """
    Move positions that miss a limit by rounding onto it; returns whether all are inside then.

    :param q: (n,) a solution [rad] or [m].
    :param out: (n,) in and out: the same, turned towards the inside.
    """
    for i in range(out.shape[0]):
        # What no turn brings inside was put on a limit, if only by rounding on the wrong one.
        lower, upper, turn = chain.lower[i], chain.upper[i], chain.turn[i]
        out[i] = min(max(out[i], lower), upper)
        if _apart(out[i], q[i], turn) <= _ON_LIMIT:
            continue
        out[i] = lower if _apart(lower, q[i], turn) <= _ON_LIMIT else upper
        if not _apart(out[i], q[i], turn) <= _ON_LIMIT:
            return False
    return True


@inner_kernel
def keep_valid(start, found, radii, valid, count):
    """
    Move those inside the limits to the front, and write their distances from the start.

    :param start: (n,) [rad] or [m].
    :param found: (k, n) the joint vectors found.
    :param radii: (k,) out: largest joint difference from the start [rad] or [m].
    :param valid: (k,) 1 for those inside the limits.
    :param count: number of those found.
    :returns: number of those inside.
    """
    kept = 0
    for k in range(count):
        if valid[k] != 0:
            copy_vector(found[k], found[kept])
            radii[kept] = 0.0
            for i in range(start.shape[0]):
                radii[kept] = max(radii[kept], abs(found[kept, i] - start[i]))
            kept += 1
    return kept


@inner_kernel
def _apart(a, b, turn):
    """Return the difference of two positions, but for full turns."""
    difference = abs(a - b)
    if turn > 0.0 and difference > 0.5 * turn:
        difference = abs(difference - turn * np.floor(difference / turn + 0.5))
    return difference
