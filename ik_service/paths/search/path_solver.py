"""Joint paths through many targets: options and :func:`solve_path`."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, fields, replace
from itertools import pairwise
import math
import time
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from ik_service.common.arguments import real_array
from ik_service.common.quoting import safe_repr
from ik_service.common.threads import core_count
from ik_service.common.transforms import inverse_transform
from ik_service.exceptions import ArgumentError, OptionError
from ik_service.kinematics.chain import KinematicChain
from ik_service.kinematics.pose_error import pose_error
from ik_service.kinematics.tree import groups_of, KinematicTree, Tip
from ik_service.paths.search.beam import Beam
from ik_service.paths.search.problem import PathProblem
from ik_service.paths.search.result import PathEnd, PathResult, PathStatus, Reconfiguration
from ik_service.paths.search.search import (
    free_starts,
    joined,
    PathSearch,
    Reconfigurations,
    SearchResult,
    starts_from,
)
from ik_service.paths.search.smoothing import smoothed
from ik_service.solvers.batch import batch_targets
from ik_service.solvers.collision_test import collision_test, Collisions, CollisionTest
from ik_service.solvers.options import (
    characteristic_length,
    check_choice,
    check_flag,
    check_integer,
    check_number,
    IkOptions,
    LimitStrategy,
)
from ik_service.solvers.registry import DEFAULT_SOLVER
from ik_service.solvers.solver import check_kinds, prepared
from ik_service.solvers.task import BatchTargets, BLOCK_ROWS

_POSE_ROWS = 8  # of the block of a tip: those of its target and of the pose of its region


class Part(NamedTuple):
    """
    Some tips, without a joint in common with the others.

    :ivar tree: the tree of these tips, with m variables.
    :ivar targets: (N, …) as the kernels take them.
    :ivar variables: (m,) numbers of the variables in the whole tree.
    """

    tree: KinematicTree
    targets: np.ndarray
    variables: np.ndarray


def independent_parts(problem: PathProblem) -> list[Part]:
    """
    Return the parts of a tree that do not depend on each other.

    A tip that is carried by another one, whose whole pose is given, counts in the frame of that
    one: only the joints between them matter to it, as to the hands beside the pose of a torso.
    """
    whole = problem.chain
    if not isinstance(whole, KinematicTree) or not len(problem.targets):
        return []
    count, tips = len(problem.targets), list(whole.tips)
    moves, moved = whole.arrays.moves != 0.0, whole.arrays.moves != 0.0
    given = problem.targets.reshape(count, len(tips), BLOCK_ROWS, 4)
    blocks = given.copy()
    # Whether the whole pose of a tip is given: there is no region, point or tolerance.
    exact = np.logical_not(given[:, :, _POSE_ROWS:].any(axis=(0, 2, 3)))
    exact &= all(problem.solver.options.task_weights)
    for tip in range(len(tips)):
        carrier = _carrier(whole, moves, exact, tip)
        if carrier is not None:
            tips[tip] = whole.chains[carrier].tip_link, whole.chains[tip].tip_link
            moved[tip] &= ~moves[carrier]
            inverse = np.array([inverse_transform(T) for T in given[:, carrier, :4]])
            poses = given[:, tip, :_POSE_ROWS].reshape(count, 2, 4, 4)
            blocks[:, tip, :_POSE_ROWS] = (inverse[:, None] @ poses).reshape(count, _POSE_ROWS, 4)
    groups = groups_of(moved)
    return [
        _part(whole, tips, blocks, np.flatnonzero(groups == number))
        for number in np.unique(groups)
    ]


def _carrier(tree: KinematicTree, moves: np.ndarray, exact: np.ndarray, tip: int) -> int | None:
    """Return the exact tip that carries another one by the fewest joints; None where none does."""
    own = tree.chains[tip]
    # Those that are moved by some of its joints only, the most first.
    candidates = exact & (moves <= moves[tip]).all(axis=1) & (moves != moves[tip]).any(axis=1)
    for other in sorted(np.flatnonzero(candidates), key=lambda other: -moves[other].sum()):
        chain = tree.chains[other]
        if chain.base_link == own.base_link and (chain.tip_link, own.tip_link) not in tree.tips:
            between = KinematicChain(tree.robot, chain.tip_link, own.tip_link, tree.locked)
            if set(between.joint_names).isdisjoint(chain.joint_names):
                return int(other)
    return None


def _part(whole: KinematicTree, tips: list[Tip], blocks: np.ndarray, numbers: np.ndarray) -> Part:
    """Return the part of some tips, by their numbers."""
    tree = KinematicTree(whole.robot, whole.base_link, [tips[i] for i in numbers], whole.locked)
    variables = np.array([whole.joint_names.index(name) for name in tree.joint_names])
    limits = whole.lower[variables], whole.upper[variables]
    targets = np.ascontiguousarray(blocks[:, numbers].reshape(len(blocks), -1, 4))
    return Part(tree.with_limits(*limits), targets, variables)


STARTS = ('given', 'free')
RECONFIGURATIONS = ('none', 'fewest')
USED_OPTIONS = (
    'position_tolerance',
    'orientation_tolerance',
    'task_weights',
    'joint_limits',
    'random_seed',
)
"""Options of a solve that a path uses."""
_MOST_CANDIDATES = 4096  # candidates at a target


@dataclass(frozen=True)
class PathOptions:
    """
    Options of a joint path.

    :param ik: tolerances, ``task_weights``, ``joint_limits`` (other than 'ignore' they mean the
        same) and ``random_seed`` count; others are refused.
    :param max_step: largest motion of a joint from one row to the next [rad] or [m]; the search
        takes steps of up to 99.5 % of it, as the last digits need the rest.
    :param start: 'given': the path starts at the seed, or within ``max_step`` of it; 'free':
        anywhere, near to the seed where that is no worse.
    :param candidates: joint vectors kept for a target, at most: more find narrower passages, and
        take longer.
    :param smooth: whether self-motions that are not needed are taken out of the path again.
    :param reconfigurations: where no path without a jump leads on, 'none': the path ends; or
        'fewest': the arm changes its branch there, as seldom as possible, then with as little
        joint motion as possible.
    :param timeout: time for the whole path [s].
    :raises OptionError: naming the option whose value cannot be.
    """

    ik: IkOptions = field(default_factory=IkOptions)
    max_step: float = 0.1
    start: str = 'given'
    candidates: int = 256
    smooth: bool = True
    reconfigurations: str = 'none'
    timeout: float = 10.0

    def __post_init__(self) -> None:
        if not isinstance(self.ik, IkOptions):
            raise OptionError('ik', f'has to be IkOptions, not {safe_repr(self.ik)}')
        for option in fields(self.ik):
            unused = option.name not in USED_OPTIONS
            if unused and getattr(self.ik, option.name) != option.default:
                raise OptionError(
                    option.name, f'is not used by paths, which use {", ".join(USED_OPTIONS)}'
                )
        check_number('max_step', self.max_step)
        check_choice('start', self.start, STARTS)
        check_integer('candidates', self.candidates, at_least=1)
        if self.candidates > _MOST_CANDIDATES:
            raise OptionError('candidates', f'have to be at most {_MOST_CANDIDATES}')
        check_flag('smooth', self.smooth)
        check_choice('reconfigurations', self.reconfigurations, RECONFIGURATIONS)
        check_number('timeout', self.timeout)

    @classmethod
    def of(cls, ik: IkOptions) -> Self:
        """
        Return the options of a path with those of a solve.

        :param ik: as for ``ik``; a ``timeout`` other than the default is that of the whole path.
        :raises OptionError: when an option is given that paths do not use.
        """
        timeout = cls.timeout if ik.timeout == IkOptions.timeout else ik.timeout
        return cls(ik=replace(ik, timeout=IkOptions.timeout), timeout=timeout)


# A joint motion that is larger than so many times the motion of the tip is one near a singular
# posture.
_GAIN = 3.0
# Candidates that are examined, at most, and the excess that counts as beyond a limit [rad] or [m].
_ASKED = 200
_BEYOND = 1e-6
# Searches for the nearest solution of a target, and how far around the candidates before it they
# begin [rad] or [m].
_SEARCHES = 8
_SCATTER = 0.3


def ending_at(problem: PathProblem, row: int, last: np.ndarray) -> PathEnd:
    """
    Return the reason why no path reaches a target.

    :param problem: the path to be found.
    :param row: number of the target.
    :param last: (k, n) the joint vectors before it, from which there is none [rad] or [m].
    """
    if not len(last):
        end = _out_of_reach(problem, row, problem.chain.middle)
        if end is not None:
            return end
        colliding = problem.solved(row, problem.chain.middle[None])[0][0]
        return PathEnd(PathStatus.COLLISION, row, bodies=problem.contact(colliding))
    answers = [_asked(problem, row, step) for step in _continued(problem, row, last[:_ASKED])]
    kinds = [(answer.status, answer.joint is None) for answer in answers]
    # The first of the most frequent ones: the candidates come in a fixed order.
    answer = answers[kinds.index(max(kinds, key=kinds.count))]
    lost = answer.status is PathStatus.SINGULARITY and answer.joint is None
    return (_out_of_reach(problem, row, last[0]) or _apart(problem, row, last)) if lost else answer


def _out_of_reach(problem: PathProblem, row: int, seed: np.ndarray) -> PathEnd | None:
    """Return how far a target is out of reach; None where it is not."""
    _, solved, errors = problem.solved(row, seed[None])
    if solved[0]:
        return None
    position_error, orientation_error = errors[0].tolist()
    return PathEnd(
        PathStatus.UNREACHABLE,
        row,
        position_error=position_error,
        orientation_error=orientation_error,
    )


def _apart(problem: PathProblem, row: int, last: np.ndarray) -> PathEnd:
    """Return how far the nearest solution of a target is that searches from near by find."""
    random = np.random.default_rng(problem.solver.options.random_seed)
    before = np.array([last[k % len(last)] for k in range(_SEARCHES)])
    scatter = random.uniform(-_SCATTER, _SCATTER, before.shape)
    scatter[: len(last)] = 0.0
    q, solved, _ = problem.solved(row, before + scatter)
    motions = np.abs(q - before[: len(q)])[solved]
    if not len(motions):
        return PathEnd(PathStatus.SINGULARITY, row)
    return _jump(problem, row, motions[int(np.argmin(motions.max(axis=1)))])


def _jump(problem: PathProblem, row: int, motions: np.ndarray) -> PathEnd:
    """Return the end before a step in which joints would move so far (n,) [rad] or [m]."""
    most = int(np.argmax(motions))
    motion, name = float(motions[most]), problem.chain.joint_names[most]
    near_singular = motion <= problem.bound or motion > _GAIN * _tip_motion(problem, row)
    kind = PathStatus.SINGULARITY if near_singular else PathStatus.TOO_FAR
    return PathEnd(kind, row, name, motion=motion)


def _continued(
    problem: PathProblem, row: int, last: np.ndarray
) -> list[tuple[np.ndarray, np.ndarray | None]]:
    """Return each joint vector with the one that it leads to without limits, None for none."""
    after = np.array(last, order='C')
    targets = np.repeat(problem.targets[row : row + 1], len(after), axis=0)
    reached = problem.project(after, targets, math.pi, int(LimitStrategy.IGNORE))
    return [(q, p if there else None) for q, p, there in zip(last, after, reached, strict=True)]


def _asked(problem: PathProblem, row: int, step: tuple[np.ndarray, np.ndarray | None]) -> PathEnd:
    """Return the reason for which a step to one joint vector is refused."""
    before, after = step
    chain = problem.chain
    if after is None:
        return PathEnd(PathStatus.SINGULARITY, row)
    motion = np.abs(after - before)
    if motion.max() > problem.bound:
        return _jump(problem, row, motion)
    beyond = np.maximum(chain.lower - after, after - chain.upper)
    worst = int(np.argmax(beyond))
    if problem.limited and beyond[worst] > _BEYOND:
        limits = chain.upper if after[worst] > chain.upper[worst] else chain.lower
        name = chain.joint_names[worst]
        redundant = problem.redundancy > 0
        return PathEnd(
            PathStatus.LIMIT, row, name, limit=float(limits[worst]), redundant=redundant
        )
    fine = np.ones(1, bool)
    problem.refuse_colliding(after[None], fine)
    if not fine[0]:
        return PathEnd(PathStatus.COLLISION, row, bodies=problem.contact(after))
    return _jump(problem, row, motion)


def _tip_motion(problem: PathProblem, row: int) -> float:
    """Return how far the target is from the one before, a characteristic length as a radian."""
    if row == 0:
        return math.inf
    length = characteristic_length(problem.chain, problem.solver.options)
    now, before = problem.targets[row], problem.targets[row - 1]
    largest = 0.0
    for first in range(0, len(now), BLOCK_ROWS):
        error = pose_error(before[first : first + 4], now[first : first + 4])
        largest = max(
            largest, float(np.linalg.norm(error[:3]) / length + np.linalg.norm(error[3:]))
        )
    return largest


_DEFAULTS = PathOptions()
# Candidates of the beams that come from both ends, once more with the next where they do not meet.
_MEETING = (32, 128, 512)
# Largest motion of a row for the last digits [rad] or [m], as a share of the bound on a step.
_POLISH = 0.0025


def solve_path(
    chain: KinematicChain | KinematicTree,
    targets: BatchTargets,
    seed: ArrayLike | None = None,
    options: PathOptions | IkOptions | None = None,
    end: ArrayLike | None = None,
    collisions: Collisions | CollisionTest | None = None,
    no_reconfiguration_at: ArrayLike = (),
) -> PathResult:
    """
    Find a joint path through all targets on which no joint jumps.

    Of every target many joint vectors are kept, those farthest apart that can be reached without a
    jump; so a redundant arm sees early enough where its elbow has to be, and an arm with several
    solutions which of them leads on. The self-motions that are not needed are then taken out.

    :param chain: the chain or the tree.
    :param targets: (N, 4, 4) T_base_tip, or a list of matrices and tasks; for a tree a mapping of
        every tip to these.
    :param seed: (n,) where the path starts [rad] or [m]; without it the start is free. One outside
        the limits is brought inside.
    :param options: options of the path, or those of a solve alone (:meth:`PathOptions.of`); the
        defaults when left out.
    :param end: (n,) where the path ends, or within ``max_step`` of it [rad] or [m]; free when left
        out.
    :param collisions: :class:`~ik_service.CollisionChecker`, or a test that it has made: rows that
        collide are avoided. Postures between two rows are not tested.
    :param no_reconfiguration_at: (k,) numbers of the rows that no reconfiguration may end at,
        from the row before.
    :returns: the path; where no path leads through all targets, the longest that was found, and
        why it ends. The same request gives the same answer, unless the time runs out.
    :raises ArgumentError: when an argument has another shape or is not finite; names the row.
    :raises OptionError: when an option is given that paths do not use.
    """
    began = time.monotonic()
    options = _DEFAULTS if options is None else options
    if isinstance(options, IkOptions):
        options = PathOptions.of(options)
    if not isinstance(options, PathOptions):
        raise ArgumentError('options', f'have to be PathOptions, not {safe_repr(options)}')
    check_kinds(chain, options.ik)
    solver, packed = batch_targets(prepared(chain, DEFAULT_SOLVER, options.ik), targets)
    start = None if seed is None else chain.check_q(seed, 'seed')
    goal = None if end is None else chain.check_q(end, 'end')
    test = None if collisions is None else collision_test(collisions, chain)
    allowed = _reconfigurable(len(packed), options, no_reconfiguration_at)
    cores = core_count()
    with ThreadPoolExecutor(max(1, cores - 1)) as pool:
        problem = PathProblem(solver, packed, options.max_step, test, options.timeout, pool, cores)
        found = None if test or allowed.any() else _by_parts(problem, options, start, goal)
        found = found or _PathSolver(problem, options, allowed).solve(start, goal)
    return _result(problem, *found, began)


def _by_parts(
    problem: PathProblem, options: PathOptions, start: np.ndarray | None, goal: np.ndarray | None
) -> tuple[np.ndarray, PathEnd, tuple[int, ...]] | None:
    """
    Return the path of parts of a tree that do not depend on each other; None where there is one.

    Each is found by itself, in an equal share of the time that is left.

    :returns: the rows (k, n) up to the end, the end, and no rows of reconfigurations.
    """
    parts = independent_parts(problem)
    if len(parts) < 2:
        return None
    count, ends, left = len(problem.targets), [], options.timeout
    path = np.full((count, problem.chain.n), np.nan)
    for k, (tree, targets, variables) in enumerate(parts):
        solver, share = prepared(tree, DEFAULT_SOLVER, options.ik), left / (len(parts) - k)
        own = PathProblem(
            solver, targets, options.max_step, None, share, problem.pool, problem.threads
        )
        from_to = [None if q is None else q[variables] for q in (start, goal)]
        rows, end, _ = _PathSolver(own, options, np.zeros(count, bool)).solve(*from_to)
        path[: len(rows), variables] = rows
        ends.append(end)
        left -= share - own.deadline.left
    end = min(ends, key=lambda each: each.row)
    path = path[: end.row]
    problem.project(path, problem.targets[: end.row], _POLISH * problem.max_step)
    tolerances = options.ik.position_tolerance, options.ik.orientation_tolerance
    return (path, end, ()) if (problem.errors(path) <= tolerances).all() else None


def _reconfigurable(
    count: int, options: PathOptions, no_reconfiguration_at: ArrayLike
) -> np.ndarray:
    """Return the rows that a reconfiguration may end at, (N,) bool."""
    name = 'no_reconfiguration_at'
    rows = real_array(no_reconfiguration_at, name)
    if rows.ndim != 1 or not np.isin(rows, np.arange(count)).all():
        raise ArgumentError(name, f'has to be numbers of rows, from 0 to {count - 1}')
    allowed = np.full(count, options.reconfigurations != 'none')
    allowed[:1] = False
    allowed[rows.astype(int)] = False
    return allowed


class _PathSolver:
    """Search, smoothing and ending of one path."""

    def __init__(
        self, problem: PathProblem, options: PathOptions, reconfigurable: np.ndarray
    ) -> None:
        self._problem, self._options = problem, options
        self._reconfigurable = reconfigurable
        self._search = PathSearch(problem, options.candidates)

    def solve(self, start: np.ndarray | None, goal: np.ndarray | None) -> tuple:
        """Return the rows (k, n) up to the end, the end, and the rows of reconfigurations."""
        problem = self._problem
        count, n = len(problem.targets), problem.chain.n
        if count == 0:
            return np.empty((0, n)), PathEnd(PathStatus.SUCCESS, 0), ()
        given = start is not None and self._options.start == 'given'
        near = problem.chain.middle if start is None else start
        starts = starts_from(problem, near) if given else free_starts(problem, near)
        if not len(starts):
            before = near[None] if given else starts
            return np.empty((0, n)), ending_at(problem, 0, before), ()
        costs = np.zeros(len(starts)) if start is None else np.square(starts - start).sum(axis=1)
        outcome = self._outcome(Beam(problem, starts, costs), goal)
        if len(outcome.path) < count and self._reconfigurable.any():
            search = Reconfigurations(problem, self._options.candidates, self._reconfigurable)
            outcome = search.lengthened(outcome, goal)
        end, path = self._ending(outcome), outcome.path
        if self._options.smooth:
            self._smooth(path, (given, goal is not None and end.row == count), outcome.rows)
        problem.project(path, problem.targets[: len(path)], _POLISH * problem.max_step)
        return path, end, outcome.rows

    def _outcome(self, trunk: Beam, goal: np.ndarray | None) -> SearchResult:
        """Search without a jump to any end, or to the one given."""
        if goal is None:
            beam = self._search.run(trunk)
            return SearchResult(beam, beam.path())
        count = len(self._problem.targets)
        back = self._problem.reversed(count - 1)
        ends = starts_from(back, goal)
        returning = PathSearch(back, self._options.candidates)
        longest = trunk
        for width in _MEETING:
            forth = self._search.widened(trunk, width)
            longest = forth if len(forth) >= len(longest) else longest
            if not len(ends):
                break
            other = returning.widened(Beam(back, ends, np.zeros(len(ends))), width)
            path = joined(forth, other, self._problem.bound)
            if path is None:
                path = self._pulled_together(forth, other)
            if path is not None:
                return SearchResult(forth, path)
            if len(forth) < count:
                break
        path = longest.path()
        apart = len(path) == count
        return SearchResult(longest, path[:-1] if apart else path, apart)

    def _pulled_together(self, forth: Beam, back: Beam) -> np.ndarray | None:
        """
        Return the path (N, n) without a jump that smoothing makes of the cheapest one with a jump.

        The joint vectors of arms with many self-motions fill so many dimensions that beams from
        both ends seldom meet, however wide they are.

        :param forth: beam from the start.
        :param back: beam from the end.
        :returns: None where there is none, or a joint still jumps.
        """
        problem, count = self._problem, len(self._problem.targets)
        path = joined(forth, back, math.inf)
        if path is None or count < 3 or not problem.redundancy:
            return None
        held = np.zeros(count, bool)
        held[[0, -1]] = True
        path = smoothed(problem.loosened(math.inf, count), path, held)
        jumps = np.abs(np.diff(path, axis=0)).max(initial=0.0) > problem.bound
        return None if jumps else path

    def _ending(self, outcome: SearchResult) -> PathEnd:
        """Return where the path ends, and why."""
        problem, row = self._problem, len(outcome.path)
        if row == len(problem.targets):
            return PathEnd(PathStatus.SUCCESS, row)
        if outcome.apart:
            return PathEnd(PathStatus.END_APART, row, cut_short=problem.out_of_time)
        if problem.out_of_time:
            return PathEnd(PathStatus.TIMED_OUT, row)
        end = ending_at(problem, row, outcome.last)
        return replace(end, cut_short=problem.deadline.cut_short)

    def _smooth(self, path: np.ndarray, ends: tuple[bool, bool], rows: tuple[int, ...]) -> None:
        """Take self-motions out of a path (k, n) [rad] or [m], in place."""
        for first, end in pairwise((0, *rows, len(path))):
            if end - first < 3:
                continue
            held = np.zeros(end - first, bool)
            held[0] = first > 0 or ends[0]
            held[-1] = end < len(path) or ends[1]
            path[first:end] = smoothed(self._problem.part(first, end), path[first:end], held)


def _result(
    problem: PathProblem, path: np.ndarray, end: PathEnd, rows: tuple[int, ...], began: float
) -> PathResult:
    """Return the result, with the errors of every row."""
    count, reached = len(problem.targets), len(path)
    q = np.full((count, problem.chain.n), np.nan)
    errors = np.full((count, 2), np.nan)
    q[:reached] = path
    errors[:reached] = problem.errors(path)
    for array in (q, errors):
        array.setflags(write=False)
    reconfigurations = tuple(Reconfiguration(row, q[row - 1], q[row]) for row in rows)
    return PathResult(
        q, end, errors[:, 0], errors[:, 1], time.monotonic() - began, reconfigurations
    )
