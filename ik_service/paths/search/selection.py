"""Kernel that chooses the candidates of a layer, and the way to each."""

from __future__ import annotations

import math

from ik_service.jit.compile import inner_kernel, kernel
from ik_service.kinematics.kernels import copy_vector
from ik_service.paths.search.continuation import distance


@kernel
def select(parents, costs, children, made, wrap, bound, separation, gaps, chosen, totals, links):
    """
    Choose the children farthest apart, and for each the cheapest of the parents in reach.

    The first is the cheapest; then always the one farthest from those chosen (Gonzalez 1985).
    The cost of a way is the sum of its squared steps.

    :param parents: (k, n) candidates of the layer before [rad] or [m].
    :param costs: (k,) cost of the way to each.
    :param children: (c, n) from ``grow``.
    :param made: (c,) bool: which of them count.
    :param wrap: (n,) turn of each variable that does not count as a difference [rad]; 0 for none.
    :param bound: largest motion of a joint from a parent [rad] or [m].
    :param separation: distance below which two children are one [rad] or [m].
    :param gaps: (c,) scratch.
    :param chosen: (K, n) out: the candidates of this layer [rad] or [m].
    :param totals: (K,) out: cost of the way to each.
    :param links: (K,) int64 out: the parent of each.
    :returns: their number.
    """
    best, least = -1, math.inf
    slots = children.shape[0] // parents.shape[0]
    for c in range(children.shape[0]):
        gaps[c] = math.inf if made[c] else -1.0
        if made[c]:
            total = costs[c // slots] + square(parents[c // slots], children[c])
            if total < least:
                best, least = c, total
    count = 0
    while count < chosen.shape[0] and best >= 0:
        copy_vector(children[best], chosen[count])
        totals[count], links[count] = cheapest(parents, costs, children[best], bound)
        if links[count] < 0:  # rounding at the bound
            links[count] = best // slots
            totals[count] = costs[best // slots] + square(parents[best // slots], children[best])
        count += 1
        best = _farthest(children, chosen[count - 1], wrap, separation * separation, gaps)
    return count


@inner_kernel
def cheapest(parents, costs, q, bound):
    """
    Return the cost of the cheapest way to a joint vector, and the parent on it; −1 for none.

    :param parents: (k, n) candidates [rad] or [m].
    :param costs: (k,) cost of the way to each.
    :param q: (n,) the joint vector [rad] or [m].
    :param bound: largest motion of a joint [rad] or [m].
    """
    link, least = -1, math.inf
    for k in range(parents.shape[0]):
        if costs[k] < least and distance(parents[k], q) <= bound:
            total = costs[k] + square(parents[k], q)
            if total < least:
                link, least = k, total
    return least, link


@inner_kernel
def square(a, b):
    """
    Return the squared distance of two joint vectors.

    :param a: (n,) [rad] or [m].
    :param b: (n,) likewise.
    """
    total = 0.0
    for i in range(a.shape[0]):
        total += (a[i] - b[i]) * (a[i] - b[i])
    return total


@inner_kernel
def _farthest(children, latest, wrap, least, gaps):
    """Lower the gaps to what the latest choice leaves; returns the child of the largest or −1."""
    best, largest = -1, least
    for c in range(children.shape[0]):
        if gaps[c] <= least:
            continue
        total = 0.0
        for i in range(latest.shape[0]):
            difference = _without_turns(children[c, i] - latest[i], wrap[i])
            total += difference * difference
            if total >= gaps[c]:
                break
        gaps[c] = min(gaps[c], total)
        if gaps[c] > largest:
            best, largest = c, gaps[c]
    return best


@kernel
def join(ends, costs, others, other_costs, wrap, bound):
    """
    Return the cheapest way from the candidates of one layer to those of another.

    :param ends: (k, n) candidates of a layer [rad] or [m].
    :param costs: (k,) cost of the way to each.
    :param others: (m, n) candidates of the next layer, found from the other end [rad] or [m].
    :param other_costs: (m,) cost of the way to each from there.
    :param wrap: (n,) turn of each variable that does not count as a difference [rad]; 0 for none.
    :param bound: largest motion of a joint [rad] or [m].
    :returns: the numbers of both, −1 where none is in reach, and the cost of the whole way.
    """
    one, other, least = -1, -1, math.inf
    for m in range(others.shape[0]):
        for k in range(ends.shape[0]):
            total = costs[k] + other_costs[m]
            for i in range(wrap.shape[0]):
                if not total < least:
                    break
                difference = _without_turns(others[m, i] - ends[k, i], wrap[i])
                total += difference * difference if abs(difference) <= bound else math.inf
            if total < least:
                one, other, least = k, m, total
    return one, other, least


@inner_kernel
def _without_turns(difference, turn):
    """Return a difference less the full turns in it, where they do not count."""
    if turn > 0.0:
        return difference - turn * math.floor(difference / turn + 0.5)
    return difference
