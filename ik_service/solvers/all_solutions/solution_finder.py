"""Search for all solutions of a target, prepared for a chain."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
import math
import threading
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ik_service.common.arguments import whole_number
from ik_service.common.quoting import safe_repr
from ik_service.exceptions import ArgumentError, IncompleteSolutionsError
from ik_service.jit.entry import entry_point
from ik_service.kinematics.chain import KinematicChain
from ik_service.kinematics.joint_path import ChainArrays
from ik_service.kinematics.joint_space import FARTHEST_LIMIT
from ik_service.kinematics.pose_error import check_transform
from ik_service.solvers.all_solutions import exploration
from ik_service.solvers.all_solutions.closed_forms import (
    closed_form_of,
    ClosedForm,
    GENERAL,
    MOST_STARTS,
    NO_FORM,
)
from ik_service.solvers.all_solutions.elimination import (
    elimination_of,
    elimination_starts,
    new_scratch,
)
from ik_service.solvers.all_solutions.exploration import Plan
from ik_service.solvers.loop.problem import Problem, views, Workspace
from ik_service.solvers.options import IkOptions, LimitStrategy

DEFAULT_RESOLUTION = 0.5
DEFAULT_MOST = 1000
_COARSEST = 1.0  # resolution that self-motions are followed with [rad] or [m]
_MOST = 1_000_000
# Rows beyond the largest number of solutions, for those that lie outside the limits.
_OUTSIDE = 64
# Two isolated solutions closer than this are one [rad] or [m].
_SAME = 1e-4
# Radius that a solution on a self-motion covers, and step along it, in shares of the resolution.
_RADIUS = 0.5
_STEP = 0.9
# Random starts in a row that find nothing new, for isolated solutions and for self-motions.
_PATIENCE = 300
_PATIENCE_ON_MOTIONS = 500
# Postures at which the rank of the Jacobian is computed, and the threshold that counts as zero.
_SAMPLES = 8
_ZERO = 1e-7
_ON_LIMIT = 1e-9  # excess over a limit by rounding, as a share of a turn


def plan_for(chain: KinematicChain, options: IkOptions, resolution: float) -> Plan:
    """
    Return the plan for a chain.

    :param options: ``task_weights``, ``joint_limits`` and ``max_joint_motion`` count.
    :param resolution: of self-motions [rad] or [m].
    """
    free = chain.lower < chain.upper
    redundancy = int(free.sum()) - _rank(chain, options, free)
    ignored = options.joint_limits == 'ignore' and options.max_joint_motion is None
    # Isolated solutions are searched for everywhere: those outside the limits show that a search
    # has found all. Joints that cannot move have to stay where they are.
    everywhere = ignored or (redundancy == 0 and bool(free.all()))
    strategy = LimitStrategy.IGNORE if everywhere else LimitStrategy.ACTIVE_SET
    lower, upper = chain.search_limits()
    width = upper - lower
    if options.max_joint_motion is not None:
        width = np.minimum(width, 2.0 * options.max_joint_motion)
    turn = chain.arrays.turn
    return Plan(
        redundancy=redundancy,
        strategy=int(strategy),
        patience=_PATIENCE_ON_MOTIONS * redundancy if redundancy else _PATIENCE,
        same=_SAME,
        radius=_RADIUS * resolution,
        step=_STEP * resolution,
        # Postures that differ by a turn are far apart where the limits do not allow the turn.
        wrap=np.where((width >= turn) | everywhere, turn, 0.0),
        scratch=np.zeros((3, chain.n)),
    )


def closed_form_for(chain: KinematicChain, options: IkOptions, plan: Plan) -> ClosedForm:
    """
    Return the form of a chain; of the kind ``NO_FORM`` where it does not fit the task.

    :param options: ``task_weights`` count.
    :param plan: the plan for the chain.
    """
    arm = closed_form_of(chain)
    everywhere = plan.strategy == LimitStrategy.IGNORE
    if all(options.task_weights) and plan.redundancy == 0 and everywhere:
        return arm
    return arm._replace(kind=NO_FORM)


def joint_without_end(chain: KinematicChain, options: IkOptions) -> str:
    """
    Return the name of a joint that each full turn takes to other poses, without end; '' for none.

    Such a joint has no limits, and moves joints of the path by ratios that are not whole.

    :param options: ``joint_limits`` and ``max_joint_motion`` count.
    """
    if options.max_joint_motion is not None:
        return ''
    lower, upper = chain.search_limits()
    free = np.isinf(lower) | np.isinf(upper) | (options.joint_limits == 'ignore')
    arrays, (turns, slides) = chain.arrays, chain.arrays.joints[:, 6:].T
    for i in np.flatnonzero(free):
        own = arrays.variables == i
        # What slides is at one place only, however far the joint goes.
        if (turns[own] % 1.0).any() and not slides[own].any():
            return chain.joint_names[i]
    return ''


def _rank(chain: KinematicChain, options: IkOptions, free: np.ndarray) -> int:
    """Return the rank of the task's Jacobian at most postures."""
    lower, upper = chain.sampling_bounds()
    rows = np.array(options.task_weights) > 0.0
    random = np.random.default_rng(0)
    ranks = [0]
    for _ in range(_SAMPLES if free.any() else 0):
        J = chain.jacobian(random.uniform(lower, upper))[rows][:, free]
        ranks.append(int(np.linalg.matrix_rank(J, tol=_ZERO)))
    return max(ranks)


def with_full_turns(
    chain: ChainArrays, solutions: np.ndarray, most: int
) -> tuple[np.ndarray, bool]:
    """
    Return solutions with all others that full turns within the limits make of them.

    Joints that lack a limit have no end of turns; they stay where they are.

    :param chain: limits and turns of the variables.
    :param solutions: (k, n) [rad] or [m].
    :param most: number of solutions after which no more are made.
    :returns: (m, n), and whether these are all.
    """
    made: list[tuple[float, ...]] = []
    for solution in solutions:
        joints = zip(solution, chain.lower, chain.upper, chain.turn, strict=True)
        for turned in product(*(_turned(*joint, most) for joint in joints)):
            if len(made) > most:
                return np.array(made), False
            made.append(turned)
    return np.array(made).reshape(-1, solutions.shape[1]), True


def _turned(value: float, lower: float, upper: float, turn: float, most: int) -> list[float]:
    """Return positions of a joint that full turns lead to, within its limits; not too many."""
    if turn == 0.0 or not (lower >= -FARTHEST_LIMIT and upper <= FARTHEST_LIMIT):
        return [value]
    first = math.ceil((lower - value) / turn - _ON_LIMIT)
    last = math.floor((upper - value) / turn + _ON_LIMIT)
    turned = [value + k * turn for k in range(first, min(last, first + most) + 1)]
    return [min(max(position, lower), upper) for position in turned]


class AllSolutions(NamedTuple):
    """
    Solutions of a target.

    :ivar q: (k, n) [rad] or [m], nearest to the seed first.
    :ivar proved: whether a closed form, the elimination or the reach says that there are no
        others; otherwise no others were found.
    """

    q: np.ndarray
    proved: bool


class SolutionFinder:
    """
    Search for all solutions, prepared for a chain; several threads may use one.

    :param options: see :func:`solve_ik_all`, as the others are.
    :param new_problem: returns a problem of the search loop, with the options.
    :param resolution: of self-motions [rad] or [m].
    :param most: largest number of solutions.
    :param patience: random starts in a row that may find nothing new; None for many.
    :raises ArgumentError: naming the argument that cannot be.
    """

    def __init__(
        self,
        chain: KinematicChain,
        options: IkOptions,
        new_problem: Callable[[], Problem],
        resolution: float = DEFAULT_RESOLUTION,
        most: int = DEFAULT_MOST,
        patience: int | None = None,
    ) -> None:
        self.chain = chain
        self._new_problem, self._timeout = new_problem, options.timeout
        resolution, self._most = _checked_bounds(resolution, most)
        self._plan = plan_for(chain, options, resolution)
        if patience is not None:
            self._plan = self._plan._replace(patience=patience)
        self._arm = closed_form_for(chain, options, self._plan)
        self._elimination = elimination_of(chain) if self._arm.kind == GENERAL else None
        self._endless = joint_without_end(chain, options)
        self._thread = threading.local()

    def find(self, target: ArrayLike, seed: ArrayLike | None, turns: bool) -> AllSolutions:
        """
        Return all solutions of a target.

        :param target: (4, 4) T_base_tip.
        :param seed: (n,) [rad] or [m]; None for mid-range.
        :param turns: whether full turns make other solutions.
        :raises ArgumentError: when target or seed are of another shape, not finite or not rigid.
        :raises IncompleteSolutionsError: when there are more, or the time ran out.
        """
        start = self.chain.middle if seed is None else self.chain.check_q(seed, 'seed')
        return self.search(check_transform(target, 'target'), start, turns)

    def search(self, T: np.ndarray, start: np.ndarray, turns: bool) -> AllSolutions:
        """
        Return all solutions, as :meth:`find` does, of arguments that are known to be right.

        :param T: (4, 4) T_base_tip, contiguous.
        :param start: (n,) the seed [rad] or [m].
        :param turns: whether full turns make other solutions.
        :raises IncompleteSolutionsError: when there are more, or the time ran out.
        """
        own = self.prepared()
        own.seed[:] = start
        own.eliminate(T)
        count, ending, searches = own.kernel(*own.before, T, own.seed, *own.after)
        solutions, distances = own.found[:count], own.distances[:count]
        full = ending == exploration.FULL
        if turns:
            solutions, all_turns = with_full_turns(own.arrays, solutions, self._most)
            distances = np.abs(solutions - own.work.start).max(axis=1, initial=0.0)
            full |= not all_turns
        solutions = solutions[distances.argsort(kind='stable')[: self._most]]
        endless = bool(self._endless) and searches > 0
        if full or endless or ending != exploration.COMPLETE or len(distances) > self._most:
            timed_out = ending == exploration.OUT_OF_TIME
            bound = self._bound(ending, full or len(distances) > self._most)
            raise IncompleteSolutionsError(*bound, solutions, timed_out)
        return AllSolutions(solutions, proved=searches == 0)

    def prepared(self) -> _ThreadsOwn:
        """Return what this thread searches with; the first call compiles it, or loads it."""
        try:
            return self._thread.own
        except AttributeError:
            own = self._thread.own = _ThreadsOwn(self)
            return own

    @property
    def lists(self) -> bool:
        """Whether a closed form or the elimination gives all solutions of most targets."""
        return self._arm.kind != NO_FORM

    def proved(self, target: ArrayLike, seed: ArrayLike) -> np.ndarray:
        """
        Return all solutions (k, n), nearest to a seed first; none where others may exist.

        :param target: (4, 4) T_base_tip.
        :param seed: (n,) [rad] or [m].
        :raises ArgumentError: as :meth:`find`.
        """
        try:
            found = self.find(target, seed, turns=False)
        except IncompleteSolutionsError:
            return np.empty((0, self.chain.n))
        return found.q if found.proved else found.q[:0]

    def _bound(self, ending: int, full: bool) -> tuple[str, str]:
        """Return what ended the search before it had all, and what to do about it."""
        if ending == exploration.OUT_OF_TIME:
            bound, argument = f'the time of {self._timeout:g} s ran out', 'the timeout'
        elif not full:
            return (
                f'joint {self._endless!r} has no limits, and each of its turns leads to other '
                'poses, as joints mimic it by ratios that are not whole',
                'bound it, with chain.with_limits or max_joint_motion',
            )
        else:
            bound, argument = f'there are more than {self._most}', 'max_solutions'
        return bound, f'raise {argument}, or the resolution'


class _ThreadsOwn:
    """Arrays of a thread's searches, and the kernel."""

    def __init__(self, finder: SolutionFinder) -> None:
        n, most = finder.chain.n, finder._most + _OUTSIDE
        problem = finder._new_problem()
        arrays, _, work = views(problem)
        self.arrays: ChainArrays = arrays
        self.work: Workspace = work
        self.found = np.empty((most, n))
        self.distances = np.empty(most)
        self.seed = np.empty(n)
        arm = finder._arm._replace(scratch=np.zeros_like(finder._arm.scratch))
        plan = finder._plan._replace(scratch=np.zeros_like(finder._plan.scratch))
        self.before = problem, arm, plan
        starts, given = np.empty((MOST_STARTS, n)), np.zeros(4, np.int64)
        trace = np.empty((0, 2 * n + 3))
        self.after = starts, given, self.found, self.distances, np.empty(most, np.int64), trace
        self.kernel: Callable = entry_point(
            exploration.find_all, *self.before, np.empty((4, 4)), np.empty(n), *self.after
        )
        self._elimination: tuple | None = None
        if arm.kind == GENERAL and finder._elimination is not None:
            own = finder._elimination._replace(scratch=new_scratch())
            kernel = entry_point(elimination_starts, own, np.empty((4, 4)), starts)
            self._elimination = kernel, own, starts, given

    def eliminate(self, T: np.ndarray) -> None:
        """Write the starts of a general arm for T_base_tip; does nothing for any other."""
        if self._elimination is not None:
            kernel, own, starts, given = self._elimination
            given[:] = kernel(own, T, starts)


def _checked_bounds(resolution: object, most: object) -> tuple[float, int]:
    """Return the resolution that is worked with [rad] or [m], and the most solutions."""
    number = isinstance(resolution, (int, float, np.integer, np.floating))
    if not number or isinstance(resolution, bool) or not 1e-3 <= resolution < math.inf:  # type: ignore[operator]
        raise ArgumentError(
            'resolution', f'has to be a number of at least 0.001, not {safe_repr(resolution)}'
        )
    most = whole_number(most, 'max_solutions', most=_MOST)
    return float(min(resolution, _COARSEST)), most  # type: ignore[call-overload]
