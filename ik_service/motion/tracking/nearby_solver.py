"""
Solver for a moving arm, which stays in the present configuration where it can.

Of all steps that move the tip alike, the one with the least weighted sum of squares is taken, in
which joints weigh the more the nearer they come to a limit: others then move instead. T. F. Chan
and R. V. Dubey, "A weighted least-norm solution based scheme for avoiding joint limits for
redundant joint manipulators", IEEE Transactions on Robotics and Automation 11 (1995) 286–292,
with weights of our own. Else the tip would leave its path where a joint is at its limit,
long after the joint could have been spared. Likewise a joint that is much slower than the
others, such as a lift, weighs the more the slower it is: else the tip would wait for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
import math

import numpy as np

from ik_service.jit.entry import entry_point
from ik_service.kinematics.pose_error import pose_error
from ik_service.motion.command.motion_limits import clamped, largest
from ik_service.motion.tracking.limit_kernels import least_weighted_step
from ik_service.solvers.loop.problem import Problem
from ik_service.solvers.loop.search import APPROACH_STEPS
from ik_service.solvers.options import IkOptions
from ik_service.solvers.registry import DEFAULT_SOLVER
from ik_service.solvers.result import IkResult
from ik_service.solvers.solver import Solver

NEAR = 0.1  # motion of a joint from one target to the next that is no leap, at most [rad] or [m]

_ASIDE = 0.5  # distance of the solution from where the step leads, as a share of the step, at most
_SLOW = 0.25  # velocity limit, as a share of the highest, below which a joint is spared
_HEAVIEST = 1e-3  # one over the weight that slower ones have

_ROUNDING = 1e-4  # distance that counts as none there [rad] or [m]

_SOONER = 0.8  # share of the direct motion's time that another one has to need at most
_SHORT = 0.2  # time of a motion that is not worth reducing, as getting to speed takes as long [s]
_LONG = 1.0  # time of a motion from which on other branches are tried, too [s]
_LONGEST = 100.0  # time that is tried instead of longer ones, in which a joint hardly moves [s]
_BRANCHES = 10  # searches for them, for each of two seeds
_BISECTIONS = 6  # times that are tried, at most
_CLOSE = 1.25  # ratio of a time that is enough to one that is not, where the bisection ends


class NextSolver:
    """
    Solver for the next pose of a target that moves, from the solution for the one before.

    :ivar beside: the search beside a posture, of :class:`.nearby_solver.NearbySolver`.
    :param velocity: (n,) speeds of the joints [rad/s] or [m/s], inf for any; the velocity limits
        when left out.
    """

    def __init__(self, beside: Solver, velocity: np.ndarray | None = None) -> None:
        self.beside = beside
        chain, options = beside.chain, beside.options
        self._velocity = chain.velocity if velocity is None else velocity
        weights = np.sqrt(options.task_weights)
        self._redundant = np.count_nonzero(weights) < chain.n
        self._farthest = options.max_joint_motion or np.inf
        joints = len(chain.arrays.variables)
        ease = _ease(self._velocity)
        self._has_slow = self._redundant and bool((ease < 1.0).any())
        self._here = replace(_plain(options), max_searches=1, max_joint_motion=None)
        self._elsewhere = replace(self._here, max_searches=_BRANCHES)
        shapes = (joints, 6), (12,), (chain.n, 6), (chain.n,), (6, 8)
        scratch = (np.empty(shape) for shape in shapes)
        self._around = weights, chain.lower, chain.upper, ease, *scratch
        if self._redundant:
            examples = np.eye(4), *self._around, chain.middle.copy()
            self._step = entry_point(least_weighted_step, chain.arrays, *examples)

    def solve(self, T_base_target: np.ndarray, last: np.ndarray) -> IkResult:
        """Return the result of the search for a pose (4, 4) beside the last solution (n,)."""
        if self._redundant:
            sparing = self._sparing(T_base_target, last)
            if sparing is not None:
                return sparing
        return self.beside.solve(T_base_target, last)

    def position(self, T_base_target: np.ndarray, last: np.ndarray) -> np.ndarray | None:
        """Return the solution (n,) for a pose (4, 4) beside the last one (n,); None for none."""
        result = self.solve(T_base_target, last)
        return result.q if result.success else None

    def sooner(self, direct: IkResult, T_base_target: np.ndarray, start: np.ndarray) -> IkResult:
        """
        Return a solution that is reached clearly sooner, for a pose that may be far away.

        The least time in which the joints get to a solution is searched for by bisection: within
        a time, each gets as far as its speed allows, and these are its limits then.

        :param direct: any solution; returned where there is no better one.
        :param T_base_target: (4, 4) pose of the tip.
        :param start: (n,) where the arm is [rad] or [m].
        """
        if not self._has_slow:
            return direct
        start = clamped(start, self.beside.chain.lower, self.beside.chain.upper)
        sparing = self._sparing(T_base_target, start)
        if sparing is not None:
            direct = min(direct, sparing, key=lambda each: self._duration(each.q - start))
        found, too_short = direct, 0.0
        duration = longest = self._duration(direct.q - start)
        for _ in range(_BISECTIONS):
            if duration <= max(_SHORT, _CLOSE * too_short):
                break
            halved = min(0.5 * duration, _LONGEST)
            time = math.sqrt(too_short * duration) if too_short else halved
            within = self._within(time, T_base_target, start, found.q)
            if within is None:
                too_short = time
            else:
                found, duration = within, self._duration(within.q - start)
        return found if duration < _SOONER * longest else direct

    def _within(
        self, time: float, T_base_target: np.ndarray, start: np.ndarray, near: np.ndarray
    ) -> IkResult | None:
        """Return a solution that the joints get to within a time [s], from two seeds, or None."""
        reach = np.minimum(self._velocity * time, self._farthest)
        chain = self.beside.chain.with_limits(start - reach, start + reach)
        options = self._elsewhere if time > _LONG else self._here
        solver = Solver(chain, DEFAULT_SOLVER, options)
        results = (solver.solve(T_base_target, seed) for seed in (near, start))
        return next((result for result in results if result.success), None)

    def _duration(self, motion: np.ndarray) -> float:
        """Return how long a motion (n,) takes at least [s]."""
        moving = self._velocity > 0.0
        return largest(np.abs(motion[moving]) / self._velocity[moving])

    def _sparing(self, T_base_target: np.ndarray, last: np.ndarray) -> IkResult | None:
        """Return a solution after a step that spares limits; None where that is no different."""
        # Copies: the machine code is for arrays of one kind.
        goal, guess = T_base_target.copy(), last.copy()
        size = self._step(self.beside.chain.arrays, goal, *self._around, guess)
        if not 0.0 < size <= NEAR:
            return None
        result = self.beside.solve(T_base_target, guess)
        near = largest(np.abs(result.q - guess)) <= _ASIDE * size + _ROUNDING
        near = near and largest(np.abs(result.q - last)) <= self._farthest
        return result if result.success and near else None


def _ease(velocity: np.ndarray) -> np.ndarray:
    """Return one over the weights (n,) far from limits, by velocity limits (n,); inf for none."""
    moving = np.isfinite(velocity) & (velocity > 0.0)
    if not moving.any():
        return np.ones(len(velocity))
    share = velocity / (_SLOW * velocity[moving].max())
    return np.where(moving, np.clip(share * share, _HEAVIEST, 1.0), 1.0)


class ApproachingSolver(Solver):
    """Solver that approaches the closest pose also when it has used up all iterations."""

    def problem(self, guessed: bool = False) -> Problem:
        """Return a new problem, as :class:`~ik_service.Solver` does."""
        problem = super().problem(guessed)
        _, settings, _ = self.views(problem)
        settings.most_steps[0] += APPROACH_STEPS
        return problem


_CLEARLY_NEARER = 0.5
"""Share of the error below which the nearest pose of another configuration is preferred."""

_DESCENTS, _NO_FARTHER = 8, 1e-6
"""
Descents at most, and motion of a joint in the last one [rad] or [m]. One ends where the error
hardly decreases, up to 1e-4 from the nearest pose: joints would tremble as their target moves.
"""

_AS_NEAR = 1e-3  # error of a pose that is near enough, or difference of two that are [m, rad]


class NearbySolver:
    """
    Solver that stays in the arm's present configuration wherever it can.

    The search that starts at the seed comes first, and its solution is taken whatever others
    there are, unless a redundant arm with slow joints, which it can spare, gets to another one
    clearly sooner. Only when it fails restarts are tried, and of their solutions the nearest is
    taken, with the same exception. A target out of reach has no solution at all. Then the pose
    error is descended from the seed, which ends at the nearest pose of the present configuration
    and moves smoothly when the target does. Another configuration has to be clearly nearer.

    Joint limits are kept even if the solver's options ignore them, and so is the bound on the
    motion of the joints: a target whose solutions all lie beyond it is one out of reach, and the
    goal is the nearest pose inside. All kernels that may be needed
    are compiled by the constructor.

    :ivar chain: the chain of the solver.
    :ivar beside: the search that starts at the seed; it keeps the joint limits.
    :ivar next: solver for the poses of a target that moves.
    :ivar bounded: whether there is a bound on the motion of the joints from the seed.
    :param velocity: (n,) as for :class:`NextSolver`.
    """

    def __init__(self, solver: Solver, velocity: np.ndarray | None = None) -> None:
        self.chain = chain = solver.chain
        options = solver.options
        if options.joint_limits == 'ignore':
            options = replace(options, joint_limits=IkOptions.joint_limits)
        self.beside = Solver(chain, solver.name, replace(options, max_searches=1, prefer='first'))
        self.next = NextSolver(self.beside, velocity)
        # With a number of searches, all solutions are never listed, which would be compiled.
        _, settings, _ = solver.views(solver.problem())
        searches = options.max_searches or int(settings.max_searches[0])
        anywhere = replace(options, prefer='nearest', max_searches=searches)
        self._anywhere = Solver(chain, solver.name, anywhere)
        self.bounded = options.max_joint_motion is not None
        # After one step the search is over, and the approach to the closest pose begins.
        descent = replace(_plain(options), max_iterations=1, max_searches=1)
        self._descent = ApproachingSolver(chain, DEFAULT_SOLVER, descent)
        for prepared in (self.beside, self._descent):
            prepared.warm_up()

    def solve(self, T_base_target: np.ndarray, seeds: Sequence[np.ndarray]) -> IkResult:
        """
        Return a solution near the seeds, or the nearest pose found.

        :param T_base_target: (4, 4) pose of the tip.
        :param seeds: (n,) each: where the arm is, and where it is on its path to [rad] or [m]; the
            one whose tip is nearest to the target is taken.
        :raises ArgumentError: when one of them has another shape or is not finite.
        """
        seed = seeds[0]
        if len(seeds) > 1:
            seed = min(seeds, key=lambda q: self._distance(q, T_base_target))
        beside = self.beside.solve(T_base_target, seed)
        if beside.success:
            return self.next.sooner(beside, T_base_target, seed)
        anywhere = self._anywhere.solve(T_base_target, seed)
        if anywhere.success:
            return self.next.sooner(anywhere, T_base_target, seed)
        here = self._descent.solve(T_base_target, seed)
        # From there on the bound, which is one from the seed, would be one from `anywhere`.
        there = anywhere if self.bounded else self._descent.solve(T_base_target, anywhere.q)
        stay = _error(here) <= max(_error(there) / _CLEARLY_NEARER, _AS_NEAR)
        nearest = self._descended(here if stay else there, T_base_target)
        return replace(nearest, status=anywhere.status)

    def _descended(self, result: IkResult, T_base_target: np.ndarray) -> IkResult:
        """Return the nearest pose of a configuration, where a descent leads no farther."""
        for _ in range(0 if self.bounded else _DESCENTS):
            q = result.q
            result = self._descent.solve(T_base_target, q)
            if largest(np.abs(result.q - q)) <= _NO_FARTHER:
                break
        return result

    def result_at(self, q: np.ndarray, T_base_target: np.ndarray, like: IkResult) -> IkResult:
        """Return the result for a posture (n,), all else as in a result for the same pose."""
        error = pose_error(self.chain.forward(q), T_base_target)
        error[np.array(self.beside.options.task_weights) == 0.0] = 0.0
        off = math.hypot(*error[:3]), math.hypot(*error[3:])
        return replace(like, q=q, position_error=off[0], orientation_error=off[1])

    def as_near(self, q: np.ndarray, T_base_target: np.ndarray, nearest: IkResult) -> IkResult:
        """Return the result at a posture (n,) that is almost as near as the nearest, or that."""
        there = self.result_at(q, T_base_target, nearest)
        return there if _error(there) <= _error(nearest) + _AS_NEAR else nearest

    def _distance(self, q: np.ndarray, T_base_target: np.ndarray) -> float:
        return math.hypot(*pose_error(self.chain.forward(q), T_base_target))


def _plain(options: IkOptions) -> IkOptions:
    """Return those of some options that every method has, for the default one."""
    return IkOptions(
        position_tolerance=options.position_tolerance,
        orientation_tolerance=options.orientation_tolerance,
        task_weights=options.task_weights,
        max_joint_motion=options.max_joint_motion,
        timeout=options.timeout,
    )


def _error(result: IkResult) -> float:
    """Return the length of the pose error, with 1 m as bad as 1 rad."""
    return math.hypot(result.position_error, result.orientation_error)
