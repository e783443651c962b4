"""
Solutions for a moving target that stay on its path where the joints cannot simply follow.

The next solution is searched for beside the last one, and away from joint limits. Where it lies
farther away, at a singular posture or at a limit, the joints are moved to it: along motions that
leave the tip at its pose where there are such (self-motions of redundant arms), or else its
position while it turns. Where neither is possible, the least error in the present configuration is
kept. After a while the joints are moved to any other configuration, or else straight to the one on
whose path the tip swings least.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ik_service.kinematics.chain import KinematicChain
from ik_service.motion.tracking.nearby_solver import ApproachingSolver, NEAR, NearbySolver
from ik_service.solvers.options import IkOptions
from ik_service.solvers.registry import DEFAULT_SOLVER
from ik_service.solvers.result import IkResult, IkStatus
from ik_service.solvers.solver import Solver

_STRIDE, _LONGEST_STRIDE = 0.1, 0.25
"""Motion of a joint from one posture to the next on a led path, as wanted and at most [rad]."""

_PROGRESS = 0.01
"""Motion of a joint by which each posture is nearer to the end of a led path, at least [rad]."""

_MOST_LED = 60  # postures of a straight path, at most

_SEARCHED_STRIDE = 0.2
"""Motion of a joint from one posture to the next, as wanted while paths are searched for [rad]."""

_NEARER = 0.3  # share of the stride by which such a posture has to be nearer to where it is led
_MOST_SEARCHED = 1500  # postures that are tried in a search, at most
_SHORTCUTS = 60  # shortcuts that are tried on a path that was found


def straight_path(
    leader: Solver, T_base_target: np.ndarray, start: np.ndarray, end: np.ndarray
) -> np.ndarray | None:
    """
    Return postures (k, n) straight from one to another; None where they do not get there.

    :param T_base_target: (4, 4) pose of the tip.
    :param start: (n,) where it begins [rad] or [m].
    :param end: (n,) the last posture.
    """
    points: list[np.ndarray] = []
    q = start
    distance = float(np.abs(end - q).max())
    for _ in range(_MOST_LED):
        if distance <= NEAR:
            return np.array([*points, end])
        guess = q + (end - q) * min(_STRIDE / distance, 1.0)
        result = leader.solve(T_base_target, guess)
        before, distance = distance, float(np.abs(end - result.q).max())
        stride = float(np.abs(result.q - q).max())
        if not result.success or stride > _LONGEST_STRIDE or distance > before - _PROGRESS:
            return None
        q = result.q
        points.append(q)
    return None


class _Tree:
    """
    Tree of postures reachable from roots.

    :ivar size: number of postures.
    :param roots: (k, n) the first ones [rad] or [m].
    """

    def __init__(self, roots: np.ndarray) -> None:
        self.size = len(roots)
        self._postures = np.empty((self.size + _MOST_SEARCHED, roots.shape[1]))
        self._postures[: self.size] = roots
        self._parents = [-1] * self.size

    def nearest(self, q: np.ndarray) -> int:
        """Return the index of the posture nearest to another one (n,)."""
        return int(np.square(self._postures[: self.size] - q).sum(axis=1).argmin())

    def add(self, q: np.ndarray, parent: int) -> int:
        """Add a posture (n,) that is reached from another one; return its index."""
        self._postures[self.size] = q
        self._parents.append(parent)
        self.size += 1
        return self.size - 1

    def posture(self, index: int) -> np.ndarray:
        """Return a posture (n,) [rad] or [m]."""
        return self._postures[index]

    def path(self, index: int) -> np.ndarray:
        """Return the postures (k, n) from a root to one of them."""
        found = []
        while index >= 0:
            found.append(self._postures[index])
            index = self._parents[index]
        return np.array(found[::-1])


class SelfMotionSearch:
    """
    RRT-Connect on the self-motion manifold of a pose: two trees that grow towards each other.

    J. J. Kuffner and S. M. LaValle, "RRT-Connect: an efficient approach to single-query path
    planning", ICRA 2000; every posture is projected on those at which the tip has this pose.

    :param T_base_target: (4, 4) pose of the tip.
    """

    def __init__(self, leader: Solver, T_base_target: np.ndarray) -> None:
        self._leader = leader
        self._T = T_base_target
        self._left = _MOST_SEARCHED
        self._random = np.random.default_rng(0)
        chain = leader.chain
        self._lower, self._upper = chain.sampling_bounds()

    def path(self, start: np.ndarray, ends: np.ndarray) -> np.ndarray | None:
        """Return postures (k, n) from a start (n,) to one of ends (j, n); None without a path."""
        first = self._leader.solve(self._T, start)
        if not first.success or np.abs(first.q - start).max() > _LONGEST_STRIDE:
            return None
        ours, theirs = _Tree(first.q[None]), _Tree(ends)
        trees = [ours, theirs]
        while self._left > 0:
            reached, _ = self._grown(trees[0], self._random.uniform(self._lower, self._upper))
            towards = trees[0].posture(reached)
            met, there = self._grown(trees[1], towards)
            if there:
                at = [reached, met] if trees[0] is ours else [met, reached]
                found = np.concatenate([ours.path(at[0]), theirs.path(at[1])[::-1]])
                return self._shortened(found)
            trees.reverse()
        return None

    def _grown(self, tree: _Tree, towards: np.ndarray) -> tuple[int, bool]:
        """Grow a tree towards a posture; return the nearest one, and whether it is near."""
        index = tree.nearest(towards)
        while self._left > 0:
            q = tree.posture(index)
            ahead = towards - q
            distance = float(np.abs(ahead).max())
            if distance <= NEAR:
                return index, True
            self._left -= 1
            result = self._leader.solve(self._T, q + ahead * min(_SEARCHED_STRIDE / distance, 1.0))
            if not result.success or np.abs(result.q - q).max() > _LONGEST_STRIDE:
                return index, False
            left, before = np.linalg.norm(towards - result.q), np.linalg.norm(ahead)
            if left > before - _NEARER * np.linalg.norm(result.q - q) - 1e-3:
                return index, False
            index = tree.add(result.q, index)
        return index, False

    def _shortened(self, path: np.ndarray) -> np.ndarray:
        """Return a path (k, n) with shortcuts."""
        for _ in range(_SHORTCUTS):
            if len(path) < 4:
                break
            i, k = sorted(self._random.choice(len(path), 2, replace=False))
            if k - i < 2:
                continue
            cut = straight_path(self._leader, self._T, path[i], path[k])
            if cut is not None and _length(path[i], cut) < _length(path[i], path[i + 1 : k + 1]):
                path = np.concatenate([path[: i + 1], cut, path[k + 1 :]])
        return path


def _length(start: np.ndarray, points: np.ndarray) -> float:
    """Return the length of a path, as the joints that move most take it [rad] or [m]."""
    return float(np.abs(np.diff(np.vstack([start, points]), axis=0)).max(axis=1).sum())


_POSITION_ONLY = (1.0, 1.0, 1.0, 0.0, 0.0, 0.0)

_TURN = 0.1  # weight of turning beside moving, where the tip cannot keep its pose

_STARTS, _LOOKS = 24, 9
"""Searches for other configurations, where no path reaches the nearest one; looks at the path."""

_SAME = 0.1  # distance of postures that count as one configuration [rad] or [m]


@dataclass(frozen=True)
class PosturePath:
    """
    Path of the joints to where a target is now.

    :ivar result: the solution, or the nearest pose.
    :ivar points: (k, n) postures one after the other [rad] or [m]; the last one is the result's.
    :ivar changes: whether they end in another configuration.
    """

    result: IkResult
    points: np.ndarray
    changes: bool = False


class SingularPassage:
    """
    Solver for the next pose of a target that moves.

    :param solver: solves for single poses.
    :param velocity: (n,) speeds of the joints [rad/s] or [m/s]; the velocity limits when left out.
    :ivar nearby: solver for a pose where no path goes on.
    """

    def __init__(self, solver: Solver, velocity: np.ndarray | None = None) -> None:
        self._solver, self._velocity = solver, velocity
        self._holding: SingularPassage | None = None
        self.nearby = nearby = NearbySolver(solver, velocity)
        self._chain, self._beside = solver.chain, nearby.beside
        options = self._beside.options
        bound = min(options.max_joint_motion or NEAR, NEAR)
        weights = np.array(options.task_weights)
        placed = tuple(weights * _POSITION_ONLY)
        near = replace(options, max_joint_motion=bound)
        self._bounded = Solver(solver.chain, solver.name, near)
        rough = tuple(weights * [1.0, 1.0, 1.0, _TURN, _TURN, _TURN])
        limits = IkOptions(
            task_weights=rough, max_joint_motion=bound, max_searches=1, max_iterations=30
        )
        self._least = ApproachingSolver(solver.chain, DEFAULT_SOLVER, limits)
        self._leaders = [self._beside]
        if any(placed):
            free = replace(options, task_weights=placed)
            self._leaders.append(Solver(solver.chain, solver.name, free))
        for prepared in (self._bounded, self._least, *self._leaders):
            prepared.warm_up()
        self._starts = _postures(solver.chain)
        self._off_since: float | None = None

    def holding(self, joints: np.ndarray | None, q: np.ndarray) -> SingularPassage:
        """
        Return this solver, or one that leaves joints where they are.

        :param joints: (n,) mask of these joints; None for none.
        :param q: (n,) where they are, within their limits [rad] or [m].
        """
        if joints is None:
            return self
        held, chain = self._holding, self._chain
        if held is None or (held._chain.lower[joints] != q[joints]).any():
            lower, upper = np.where(joints, q, chain.lower), np.where(joints, q, chain.upper)
            solver = self._solver
            there = Solver(chain.with_limits(lower, upper), solver.name, solver.options)
            held = self._holding = SingularPassage(there, self._velocity)
        return held

    def solve(
        self, T_base_target: np.ndarray, last: np.ndarray, at: float, patience: float
    ) -> PosturePath:
        """
        Return the path to the next pose.

        :param T_base_target: (4, 4) pose of the tip.
        :param last: (n,) where the path up to now ends [rad] or [m].
        :param at: time of the target, on a monotonic clock [s].
        :param patience: time for which the present configuration is kept though the target cannot
            be reached in it [s].
        """
        beside = self.nearby.next.solve(T_base_target, last)
        if beside.success and np.abs(beside.q - last).max() <= NEAR:
            return self._straight(beside)
        bounded = self._bounded.solve(T_base_target, last)
        if bounded.success:
            return self._straight(bounded)
        other = beside if beside.success else self.nearby.solve(T_base_target, [last])
        if not other.success:
            return self._straight(other)
        led = self._path_to(other, T_base_target, last)
        if led is not None:
            self._off_since = None
            return led
        if self._off_since is None:
            self._off_since = at
        if at - self._off_since < patience:
            return self._kept(T_base_target, last, other)
        self._off_since = None
        return self._other_branch(other, T_base_target, last)

    def _straight(self, result: IkResult) -> PosturePath:
        self._off_since = None
        return PosturePath(result, result.q[None])

    def _kept(self, T_base_target: np.ndarray, last: np.ndarray, other: IkResult) -> PosturePath:
        """Return the path to the nearest pose that needs no leap."""
        q = self._least.solve(T_base_target, last).q
        least = self.nearby.result_at(q, T_base_target, like=other)
        least = replace(least, status=IkStatus.NO_SOLUTION)
        return PosturePath(least, q[None])

    def _path_to(
        self, end: IkResult, T_base_target: np.ndarray, start: np.ndarray
    ) -> PosturePath | None:
        """Return the path on which the tip keeps its pose, or else its position; None for none."""
        for leader in self._leaders:
            points = straight_path(leader, T_base_target, start, end.q)
            if points is not None:
                return PosturePath(end, points, changes=True)
        return None

    def _other_branch(
        self, nearest: IkResult, T_base_target: np.ndarray, start: np.ndarray
    ) -> PosturePath:
        """Return a path to any other branch, or else the one with the least swing of the tip."""
        found = [nearest]
        for seed in self._starts:
            result = self._beside.solve(T_base_target, seed)
            if result.success and all(np.abs(result.q - f.q).max() > _SAME for f in found):
                found.append(result)
        found.sort(key=lambda f: float(np.abs(f.q - start).max()))
        for end in found:
            led = None if end is nearest else self._path_to(end, T_base_target, start)
            if led is not None:
                return led
        if len(self._leaders) > 1:
            search = SelfMotionSearch(self._leaders[-1], T_base_target)
            points = search.path(start, np.array([end.q for end in found]))
            if points is not None:
                end = next(end for end in found if np.array_equal(end.q, points[-1]))
                return PosturePath(end, points, changes=True)
        end = min(found, key=lambda f: self._swing(start, f.q))
        return PosturePath(end, end.q[None], changes=True)

    def _swing(self, start: np.ndarray, end: np.ndarray) -> float:
        """Return how far the tip gets from its end on the straight path of the joints [m]."""
        postures = (start + share * (end - start) for share in np.linspace(0.0, 1.0, _LOOKS))
        tips = np.array([self._chain.forward(q)[:3, 3] for q in postures])
        return float(np.linalg.norm(tips - tips[-1], axis=1).max())


def _postures(chain: KinematicChain) -> np.ndarray:
    """Return postures (k, n) all over the ranges of the joints [rad] or [m]."""
    lower, upper = chain.sampling_bounds()
    return np.random.default_rng(0).uniform(lower, upper, (_STARTS, chain.n))
