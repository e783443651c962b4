"""Beam of candidates along the targets of a path, layer by layer."""

from __future__ import annotations

import copy
from itertools import pairwise
from typing import Any

import numpy as np

from ik_service.solvers.path.growth import grow
from ik_service.solvers.path.problem import PathProblem
from ik_service.solvers.path.selection import select

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
    Candidates of every layer, and the cheapest way to each.

    :ivar problem: the path to be found.
    :ivar layers: candidates (k, n) of each layer [rad] or [m].
    """

    def __init__(self, problem: PathProblem, starts: np.ndarray, costs: np.ndarray) -> None:
        """
        Begin with the candidates of the first layer.

        :param problem: the path to be found.
        :param starts: (k, n) joint vectors at the first target [rad] or [m].
        :param costs: (k,) what each costs.
        """
        self.problem = problem
        self.layers = [np.array(starts, order='C')]
        self._costs = [np.array(costs, order='C')]
        self._links = [np.arange(len(starts))]
        self._workers = [_Worker(problem) for _ in range(problem.threads)]

    def __len__(self) -> int:
        """Return the number of layers."""
        return len(self.layers)

    def copy(self) -> Beam:
        """Return a beam with the same layers, which can go on another way."""
        other = copy.copy(self)
        other.layers = list(self.layers)
        other._costs, other._links = list(self._costs), list(self._links)
        return other

    def graft(self, layer: int, candidate: int, way: np.ndarray) -> None:
        """
        Add a way that leads on from a candidate, beyond the last layer.

        :param layer: layer of the candidate.
        :param candidate: its number.
        :param way: (k, n) joint vectors at the targets from the next layer on [rad] or [m].
        """
        q, cost, link = self.layers[layer][candidate], self._costs[layer][candidate], candidate
        for k, step in enumerate(way, layer + 1):
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
        """
        Drop the last layers.

        :param layers: number of layers that are left.
        """
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
            np.empty(len(flat)), chosen, totals, links,
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
        edges = np.linspace(0, len(parents), threads + 1).astype(int).tolist()
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

    def way(self, candidate: int | None = None, layer: int | None = None) -> np.ndarray:
        """
        Return the cheapest way to a candidate.

        :param candidate: its number; that of the cheapest when left out.
        :param layer: its layer; the last one when left out.
        :returns: (layers, n) [rad] or [m].
        """
        layer = len(self) - 1 if layer is None else layer
        if candidate is None:
            candidate = int(np.argmin(self._costs[layer]))
        way = np.empty((layer + 1, self.layers[0].shape[1]))
        for k in range(layer, -1, -1):
            way[k] = self.layers[k][candidate]
            candidate = int(self._links[k][candidate])
        return way

    def cost(self, layer: int) -> np.ndarray:
        """
        Return the costs of the ways to the candidates of a layer.

        :param layer: its number.
        :returns: (k,): sums of squared steps.
        """
        return self._costs[layer]


class _Worker:
    """What a thread needs for itself to continue candidates."""

    def __init__(self, problem: PathProblem) -> None:
        self._problem, self._motions = problem, np.empty((2, problem.chain.n))
        self._before = problem.kernel_arrays(), problem.strategy, problem.bound, problem.thorough

    def grow(self, *work: object) -> None:
        """Run the kernel for some parents."""
        self._problem.run(grow, *self._before, *work, self._motions, self._problem.no_trace)
