"""
Beam of candidates along the targets of a path, layer by layer, and their selection.

Arguments that most kernels here take, where they do not say otherwise:

- ``chain``, ``settings``, ``work`` and ``strategy`` as in :mod:`ik_service.solvers.loop`, and
  ``trace`` (0, 2n + 3), for none;
- ``parents``, ``parent``, ``ends``, ``others``, ``q``: joint vectors [rad] or [m];
- ``costs``: the cost of the path to each, the sum of its squared steps;
- ``wrap``: (n,) turn of each variable that does not count as a difference [rad]; 0 for none;
- ``bound``: largest motion of a joint [rad] or [m].
"""

from __future__ import annotations

import copy
from itertools import pairwise
import math
from typing import Any

import numpy as np

from ik_service.jit.compile import inner_kernel, kernel, vector_kernel
from ik_service.kinematics.kernels import copy_vector
from ik_service.paths.search.problem import converge, distance, PathProblem, self_motion
from ik_service.solvers.loop.iteration import set_goal
from ik_service.solvers.loop.limits import inside, without_turns
from ik_service.solvers.loop.problem import open_problem
from ik_service.solvers.options import LimitStrategy


@vector_kernel
def select(
    parents, costs, children, made, wrap, bound, separation, before, after, chosen, totals, links
):  # fmt: skip
    """
    Choose the children farthest apart, and for each the cheapest of the parents in reach.

    The first is the cheapest; then always the one farthest from those chosen (Gonzalez 1985).

    :param parents: (k, n) candidates of the layer before.
    :param children: (c, n) from ``grow``.
    :param made: (c,) bool: which of them count.
    :param separation: distance below which two children are one [rad] or [m].
    :param before: (n + 2, k) scratch.
    :param after: (n + 2, c) scratch.
    :param chosen: (K, n) out: the candidates of this layer [rad] or [m].
    :param totals: (K,) out: cost of the path to each.
    :param links: (K,) int64 out: the parent of each.
    :returns: their number.
    """
    best, least = -1, math.inf
    count, n = parents.shape
    slots = children.shape[0] // count
    for k in range(count):
        for i in range(n):
            before[i, k] = parents[k, i]
    gaps = after[n]
    for c in range(children.shape[0]):
        gaps[c] = math.inf if made[c] else -1.0
        for i in range(n):
            after[i, c] = children[c, i] if made[c] else 0.0
        if made[c]:
            total = costs[c // slots] + square(parents[c // slots], children[c])
            if total < least:
                best, least = c, total
    found = 0
    while found < chosen.shape[0] and best >= 0:
        copy_vector(children[best], chosen[found])
        totals[found], links[found] = _cheapest(before, costs, children[best], bound)
        if links[found] < 0:  # rounding at the bound
            links[found] = best // slots
            totals[found] = costs[best // slots] + square(parents[best // slots], children[best])
        found += 1
        best = _farthest(after, chosen[found - 1], wrap, separation * separation)
    return found


@inner_kernel
def _cheapest(columns, costs, q, bound):
    """
    Return the cost of the cheapest path to a joint vector, and the parent on it; −1 for none.

    Columns (n + 2, k): the parents, a column each, and scratch.
    """
    n, count = q.shape[0], costs.shape[0]
    farthest, steps = columns[n], columns[n + 1]
    for k in range(count):
        farthest[k] = steps[k] = 0.0
    for i in range(n):
        column, value = columns[i], q[i]
        for k in range(count):
            motion = abs(column[k] - value)
            farthest[k] = max(farthest[k], motion)
            steps[k] += motion * motion
    link, least = -1, math.inf
    for k in range(count):
        if farthest[k] <= bound and costs[k] + steps[k] < least:
            link, least = k, costs[k] + steps[k]
    return least, link


@inner_kernel
def square(a, b):
    """Return the squared distance of two joint vectors (n,) [rad] or [m]."""
    total = 0.0
    for i in range(a.shape[0]):
        total += (a[i] - b[i]) * (a[i] - b[i])
    return total


@inner_kernel
def _farthest(columns, latest, wrap, least):
    """
    Lower the gaps to those after the latest choice; returns the child of the largest or −1.

    Columns (n + 2, c): the children, a column each, their gaps, and scratch; ``least`` is the
    squared distance below which two children are one.
    """
    n, count = latest.shape[0], columns.shape[1]
    gaps, distances = columns[n], columns[n + 1]
    for c in range(count):
        distances[c] = 0.0
    for i in range(n):
        column, value, turn = columns[i], latest[i], wrap[i]
        if turn > 0.0:
            for c in range(count):
                difference = without_turns(column[c] - value, turn)
                distances[c] += difference * difference
        else:
            for c in range(count):
                distances[c] += (column[c] - value) * (column[c] - value)
    for c in range(count):
        gaps[c] = min(gaps[c], distances[c])
    best, largest = -1, least
    for c in range(count):
        if gaps[c] > largest:
            best, largest = c, gaps[c]
    return best


@kernel
def join(ends, costs, others, other_costs, wrap, bound):
    """
    Return the cheapest path from the candidates of one layer to those of another.

    :param ends: (k, n) candidates of a layer.
    :param others: (m, n) candidates of the next layer, found from the other end.
    :param other_costs: (m,) cost of the path to each from there.
    :returns: the numbers of both, −1 where none is in reach, and the cost of the whole path.
    """
    one, other, least = -1, -1, math.inf
    for m in range(others.shape[0]):
        for k in range(ends.shape[0]):
            total = costs[k] + other_costs[m]
            for i in range(wrap.shape[0]):
                if not total < least:
                    break
                difference = without_turns(others[m, i] - ends[k, i], wrap[i])
                total += difference * difference if abs(difference) <= bound else math.inf
            if total < least:
                one, other, least = k, m, total
    return one, other, least


# Shares of the bound on the motion: that which a self-motion is meant to go together with the step
# along the path, and the least one.
_AIM = 0.9
_LEAST = 0.2
# A thorough search: how often a child is brought into reach, at most; the largest motion on the
# path there and the one that counts as in reach, as shares of the bound; the share of the path out
# of reach that a self-motion takes; and how often the remainder is cut by a third in the search
# for the nearest point.
_TRIALS = 5
_FAR = 3.0
_REACH = 0.999
_WAY = 0.97
_CUTS = 40
# Plain number: code for the type of a member would be compiled beside that for numbers.
_IGNORE = int(LimitStrategy.IGNORE)


@kernel
def grow(
    problem, strategy, bound, thorough, target, layer, first, parents, before, children, made,
    motions, trace,
):  # fmt: skip
    """
    Continue candidates to a target: by one step, and by self-motions to both sides.

    In a thorough search a child beyond the bound is moved by self-motions to where it is least
    beyond, and its self-motions lead as far as the bound and the limits let them.

    :param problem: :class:`~ik_service.solvers.loop.problem.Problem`, or that of a tree.
    :param parents: (k, n) the candidates.
    :param before: (k, n) where each of them came from [rad] or [m].
    :param children: (k, s, n) out: of each the step alone, the step begun where the last one leads
        when it is repeated, then pairs of self-motions.
    :param made: (k, s) bool out: whether the child is at the target, within limits and bound.
    :param motions: (2, n) scratch.
    """
    chain, settings, work = open_problem(problem)
    set_goal(chain, target, work.goal)
    motion, shift = motions[0], motions[1]
    for k in range(parents.shape[0]):
        parent = parents[k]
        work.random[0] = settings.random_seed + 1_000_003 * layer + first + k
        room, there = 0.0, False
        for s in range(children.shape[1]):
            if s == 0:
                copy_vector(parent, work.q)
            elif s == 1:
                for i in range(motion.shape[0]):
                    motion[i] = parent[i] - before[k, i]
                _leave(chain, strategy, parent, 1.0, motion, work.q)
            else:
                if s % 2 == 0:
                    copy_vector(children[k, 0], work.q)
                    there = self_motion(chain, settings, work, trace, True, motion)
                    there = there and (made[k, 0] or not thorough)
                if not there:
                    made[k, s] = False
                    continue
                if thorough:
                    room = _room(chain, strategy, parent, bound, children[k, 0], s, motion)
                _leave(chain, strategy, children[k, 0], room, motion, work.q)
                room = -room
            made[k, s] = _arrive(
                chain, settings, work, strategy, parent, bound, thorough, trace, shift
            )
            copy_vector(work.q if s > 0 or made[k, s] else parent, children[k, s])
            if s == 0:
                room = max(_LEAST * bound, _AIM * bound - distance(parent, children[k, 0]))


@inner_kernel
def _arrive(chain, settings, work, strategy, parent, bound, thorough, trace, shift):
    """Bring ``work.q`` to the goal; returns whether it is there, within the bound."""
    trials, reach = (_TRIALS, _FAR * bound) if thorough else (1, bound)
    within = _REACH * bound
    for trial in range(trials):
        if trial > 0 and not _nearer(
            chain, settings, work, strategy, parent, within, trace, shift
        ):
            return False
        if not converge(chain, settings, work, strategy, parent, reach, False, trace):
            return False
        if not thorough or distance(parent, work.q) <= within:
            return True
    return False


@inner_kernel
def _leave(chain, strategy, start, share, motion, q):
    """Write a joint vector moved by a share of a motion to ``q``, within the limits."""
    for i in range(motion.shape[0]):
        value = start[i] + share * motion[i]
        q[i] = value if strategy == _IGNORE else inside(chain, i, value)


@inner_kernel
def _room(chain, strategy, parent, bound, q, s, motion):
    """
    Return the share of a motion for the self-motion of a child.

    It goes nearly as far as the bound and the limits let it, for the next pair half as far, and
    so on; even children go to one side, odd ones to the other.
    """
    side, room = 1.0 if s % 2 == 0 else -1.0, math.inf
    for i in range(motion.shape[0]):
        speed = side * motion[i]
        lower, upper = _reach(chain, strategy, i, parent[i], bound)
        if speed > 0.0:
            room = min(room, (upper - q[i]) / speed)
        elif speed < 0.0:
            room = min(room, (lower - q[i]) / speed)
    return side * _WAY / (s // 2) * max(room, 0.0)


@inner_kernel
def _nearer(chain, settings, work, strategy, parent, bound, trace, motion):
    """Move ``work.q`` by a self-motion to where it is least beyond the bound; return if any."""
    for i in range(motion.shape[0]):
        lower, upper = _reach(chain, strategy, i, parent[i], bound)
        motion[i] = min(max(work.q[i], lower), upper) - work.q[i]
    if not self_motion(chain, settings, work, trace, False, motion):
        return False
    near, far = 0.0, 2.0 * _FAR * bound  # the largest element of the motion is 1
    for _ in range(_CUTS):
        one, two = near + (far - near) / 3.0, far - (far - near) / 3.0
        if _beyond(chain, strategy, parent, bound, work.q, one, motion) <= _beyond(
            chain, strategy, parent, bound, work.q, two, motion
        ):
            far = two
        else:
            near = one
    _leave(chain, strategy, work.q, near, motion, work.q)
    return True


@inner_kernel
def _beyond(chain, strategy, parent, bound, q, share, motion):
    """Return how far ``q`` moved by a share of a motion is beyond bound and limits, at most."""
    most = -math.inf
    for i in range(motion.shape[0]):
        lower, upper = _reach(chain, strategy, i, parent[i], bound)
        value = q[i] + share * motion[i]
        most = max(most, lower - value, value - upper)
    return most


@inner_kernel
def _reach(chain, strategy, i, value, bound):
    """Return where a joint may be after a step: within the bound, and the limits if they count."""
    if strategy == _IGNORE:
        return value - bound, value + bound
    return max(value - bound, chain.lower[i]), min(value + bound, chain.upper[i])


# Candidates for each thread, at least: with fewer another one costs more time than it saves.
_SHARE = 12
# Distance below which two candidates are one, as a share of the bound on the step; that of a
# thorough search.
_SEPARATION = 0.05
_THOROUGH_SEPARATION = 0.01
# Children of a candidate: the step, the step with the motion repeated, two self-motions; those of
# a thorough search: four self-motions.
_CHILDREN = 4
_THOROUGH_CHILDREN = 6


class Beam:
    """
    Candidates of every layer, and the cheapest path to each.

    :ivar problem: the path to be found.
    :ivar layers: candidates (k, n) of each layer [rad] or [m].
    """

    def __init__(self, problem: PathProblem, starts: np.ndarray, costs: np.ndarray) -> None:
        """
        Begin with the candidates of the first layer.

        :param problem: the path to be found.
        :param starts: (k, n) joint vectors at the first target [rad] or [m].
        :param costs: (k,) the cost of each.
        """
        self.problem = problem
        self.layers = [np.array(starts, order='C')]
        self._costs = [np.array(costs, order='C')]
        self._links = [np.arange(len(starts))]
        self._workers = [_Worker(problem) for _ in range(problem.threads)]

    def __len__(self) -> int:
        """Return the number of layers."""
        return len(self.layers)

    def copy(self, problem: PathProblem | None = None) -> Beam:
        """Return a beam with the same layers that can go on differently, along another problem."""
        other = copy.copy(self)
        other.layers = list(self.layers)
        other._costs, other._links = list(self._costs), list(self._links)
        if problem is not None and problem is not self.problem:
            other.problem = problem
            other._workers = [_Worker(problem) for _ in range(problem.threads)]
        return other

    def narrow(self, count: int) -> None:
        """Keep the first candidates of the last layer, as many as `count`."""
        for each in (self.layers, self._costs, self._links):
            each[-1] = each[-1][:count]

    def reconfigure(self, postures: np.ndarray) -> None:
        """
        Add a layer of postures in any branch, each linked to the candidate it is cheapest from.

        The step to a posture costs the square of its length, however long. The cheapest posture
        comes first.

        :param postures: (k, n) joint vectors at the next target [rad] or [m].
        """
        steps = np.square(self.layers[-1][:, None] - postures).sum(axis=2)
        totals = self._costs[-1][:, None] + steps
        links = np.argmin(totals, axis=0)
        costs = totals[links, np.arange(len(postures))]
        order = np.argsort(costs, kind='stable')
        self.layers.append(np.ascontiguousarray(postures[order]))
        self._costs.append(costs[order])
        self._links.append(links[order])

    def graft(self, layer: int, candidate: int, path: np.ndarray) -> None:
        """
        Add a path that leads on from a candidate, beyond the last layer.

        :param layer: layer of the candidate.
        :param candidate: its number.
        :param path: (k, n) joint vectors at the targets from the next layer on [rad] or [m].
        """
        q, cost, link = self.layers[layer][candidate], self._costs[layer][candidate], candidate
        for k, step in enumerate(path, layer + 1):
            cost, q = cost + float(np.square(step - q).sum()), step
            if k == len(self):
                self.layers.append(np.empty((0, len(q))))
                self._costs.append(np.empty(0))
                self._links.append(np.empty(0, np.int64))
            self.layers[k] = np.vstack([self.layers[k], q])
            self._costs[k] = np.append(self._costs[k], cost)
            self._links[k] = np.append(self._links[k], link)
            link = len(self.layers[k]) - 1

    def cut(self, layers: int) -> None:
        """Drop the last layers, but for some."""
        for each in (self.layers, self._costs, self._links):
            del each[layers:]

    def advance(self, target: np.ndarray, width: int) -> bool:
        """
        Add a layer with the continuations of the last one.

        :param target: the target of the layer, as the kernels take it.
        :param width: number of candidates, at most.
        :returns: whether there are any; if not, there is no new layer.
        """
        parents, costs = self.layers[-1], self._costs[-1]
        before = self.layers[-2][self._links[-1]] if len(self) > 1 else parents
        count, n = parents.shape
        slots = _THOROUGH_CHILDREN if self.problem.thorough else _CHILDREN
        children, made = np.empty((count, slots, n)), np.zeros((count, slots), bool)
        self._grow(target, parents, before, children, made)
        flat, flags = children.reshape(-1, n), made.reshape(-1)
        self.problem.refuse_colliding(flat, flags)
        chosen, totals = np.empty((width, n)), np.empty(width)
        links = np.empty(width, np.int64)
        bound = self.problem.bound
        separation = _THOROUGH_SEPARATION if self.problem.thorough else _SEPARATION
        found = self.problem.run(
            select, parents, costs, flat, flags, self.problem.wrap, bound, separation * bound,
            np.empty((n + 2, count)), np.empty((n + 2, len(flat))), chosen, totals, links,
        )  # fmt: skip
        if found:
            self.layers.append(chosen[:found].copy())
            self._costs.append(totals[:found].copy())
            self._links.append(links[:found].copy())
        return found > 0

    def _grow(
        self,
        target: np.ndarray,
        parents: np.ndarray,
        before: np.ndarray,
        children: np.ndarray,
        made: np.ndarray,
    ) -> None:
        """Fill the children of all parents, with as many threads as pay off."""
        pool, layer = self.problem.pool, len(self)
        threads = min(len(self._workers), len(parents) // _SHARE)
        if pool is None or threads < 2:
            self._workers[0].grow(target, layer, 0, parents, before, children, made)
            return
        edges = [len(parents) * k // threads for k in range(threads + 1)]
        parts = [slice(*ends) for ends in pairwise(edges)]
        helping = []
        for worker, part in reversed(list(zip(self._workers, parts, strict=False))):
            work: tuple[Any, ...] = (
                target, layer, part.start, parents[part], before[part], children[part], made[part],
            )  # fmt: skip
            if part.start:
                helping.append(pool.submit(worker.grow, *work))
            else:
                worker.grow(*work)
        for helper in helping:
            helper.result()

    def path(self, candidate: int | None = None, layer: int | None = None) -> np.ndarray:
        """
        Return the cheapest path to a candidate.

        :param candidate: its number; that of the cheapest when left out.
        :param layer: its layer; the last one when left out.
        :returns: (layers, n) [rad] or [m].
        """
        layer = len(self) - 1 if layer is None else layer
        if candidate is None:
            candidate = int(np.argmin(self._costs[layer]))
        path = np.empty((layer + 1, self.layers[0].shape[1]))
        for k in range(layer, -1, -1):
            path[k] = self.layers[k][candidate]
            candidate = int(self._links[k][candidate])
        return path

    def cost(self, layer: int) -> np.ndarray:
        """Return the costs (k,) of the paths to a layer's candidates: sums of squared steps."""
        return self._costs[layer]


class _Worker:
    """Workspace of one thread that continues candidates."""

    def __init__(self, problem: PathProblem) -> None:
        self._problem, self._motions = problem, np.empty((2, problem.chain.n))
        self._before = problem.kernel_arrays(), problem.strategy, problem.bound, problem.thorough

    def grow(self, *work: object) -> None:
        """Run the kernel for some parents."""
        self._problem.run(grow, *self._before, *work, self._motions, self._problem.no_trace)
