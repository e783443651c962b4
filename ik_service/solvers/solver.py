"""Inverse kinematics of one target: the prepared :class:`Solver`, and :func:`solve_ik`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from functools import cached_property, lru_cache
from importlib import import_module
import math
from time import perf_counter, perf_counter_ns
from typing import Any, NoReturn, Protocol, TYPE_CHECKING

from numba.core.errors import NumbaError
import numpy as np
from numpy.typing import ArrayLike

from ik_service.common.arguments import real_array
from ik_service.common.quoting import safe_repr
from ik_service.exceptions import ArgumentError
from ik_service.jit.entry import entry_point, KernelUser
from ik_service.kinematics.chain import KinematicChain
from ik_service.kinematics.joint_space import JointSpace
from ik_service.kinematics.pose_error import check_transform, check_transforms
from ik_service.kinematics.tree import KinematicTree
from ik_service.solvers.collision_test import Bodies, collision_test, Collisions, CollisionTest
from ik_service.solvers.loop import search
from ik_service.solvers.loop.limits import bound_motion
from ik_service.solvers.loop.problem import allocate, Problem, Settings, views, Workspace
from ik_service.solvers.loop.search import APPROACH_STEPS
from ik_service.solvers.options import IkOptions, LimitStrategy, nanoseconds, Nearness
from ik_service.solvers.registry import (
    DEFAULT_SOLVER,
    REGISTERED,
    solver_spec,
    SolverSpec,
    step_error,
)
from ik_service.solvers.result import few_joints_hint, HINTED, IkResult, IkStatus, IkTrace
from ik_service.solvers.task import BatchTargets, Target, Task

if TYPE_CHECKING:
    from ik_service.solvers.all_solutions.solution_finder import SolutionFinder
    from ik_service.solvers.tree_targets import TreeTargets

_STATUS = tuple(IkStatus)
_DEFAULTS = IkOptions()
_FLOAT = np.dtype(np.float64)
# Defaults of options that are None, for every method.
_PENALTY_WEIGHT = 10.0
_PERTURBATION = 1e-6
# Squared error that is too large for any arm, per unit of the weights.
_LARGEST_COST = 1e6
# Loader of guesses of an extra: a function of a chain, a file or None, and task weights (6,).
_SEED_LOADER = 'ik_service.extras.learning.table_file', 'load_table'
_ANY_STEPS = 2**62  # of a solve: more than are ever taken
# Rows of a trace, at most; a solve that takes more steps goes on unrecorded.
_MOST_ROWS = 100_000


class SeedGuess(Protocol):
    """Guess of joint vectors for a chain; several threads may use it at the same time."""

    def guess(self, T: np.ndarray) -> np.ndarray:
        """
        Return the joint vector at which to start the search for one target.

        :param T: (4, 4) T_base_tip.
        :returns: (n,) joint vector [rad] or [m].
        """

    def guess_many(self, targets: np.ndarray) -> np.ndarray:
        """
        Return the joint vectors at which to start the searches for many targets.

        :param targets: (N, 4, 4) T_base_tip.
        :returns: (N, n) joint vectors [rad] or [m].
        """


def check_kinds(chain: object, options: object) -> None:
    """
    Check the types of the chain and the options.

    :param chain: has to be a :class:`~ik_service.KinematicChain` or a
        :class:`~ik_service.KinematicTree`.
    :param options: have to be :class:`~ik_service.IkOptions`.
    :raises ArgumentError: naming the argument.
    """
    if not isinstance(chain, JointSpace):
        raise ArgumentError(
            'chain', f'has to be a KinematicChain or a KinematicTree, not {safe_repr(chain)}'
        )
    if not isinstance(options, IkOptions):
        raise ArgumentError('options', f'have to be IkOptions, not {safe_repr(options)}')


class _Draft:
    """Object that becomes an :class:`IkResult`."""


class Solver(KernelUser):
    """
    Method prepared for a chain or a tree.

    Several threads may use one solver at the same time; the GIL is released while it solves.

    :ivar chain: the chain, or the tree.
    :ivar name: the method's name.
    :ivar options: the options.
    :ivar guess: guess for solves without a seed; None for mid-range.
    :ivar collisions: test that the answers must pass; None for no test.
    :ivar pauses: whether solves pause at every solution.
    :ivar lists: whether :meth:`listed` may find the nearest of all solutions.
    :ivar parameters: the method's parameters.
    :ivar remark: note on this method for this chain, often empty.
    :ivar hint: advice where it finds no solution, often empty.
    """

    chain: Any
    pauses = False

    def __init__(
        self,
        chain: KinematicChain | KinematicTree,
        solver: str = DEFAULT_SOLVER,
        options: IkOptions | None = None,
        guess: SeedGuess | None = None,
        collisions: Collisions | CollisionTest | None = None,
    ) -> None:
        """
        Prepare a solver.

        :param chain: the chain or the tree to solve for.
        :param solver: one of :func:`~ik_service.solver_names`.
        :param options: options; the defaults when left out.
        :param guess: guess for solves without a seed; by ``seed_source`` when left out.
        :param collisions: test that answers must pass: a :class:`~ik_service.CollisionChecker`.
        :raises UnknownSolverError: listing the valid names.
        :raises OptionError: when the method does not use an option, or one does not fit the chain.
        :raises SeedFileError: when there is no learned guess; names the command that makes it.
        :raises SolverSpecError: when a user-defined method has no step.
        :raises ArgumentError: when there is a guess for a tree.
        """
        self.chain = chain
        self.name = solver
        self.options = _DEFAULTS if options is None else options
        if not (isinstance(chain, JointSpace) and isinstance(self.options, IkOptions)):
            check_kinds(chain, self.options)
        spec = solver_spec(solver)
        self._tree: TreeTargets | None = None
        self._allocate: Callable = allocate
        self.views: Callable = views
        if isinstance(chain, KinematicTree):
            self._prepare_tree(chain, spec, guess)
        self._spec = spec = spec.of_variant(self.options) if spec.variants else spec
        spec.check_options(self.options)
        self._strategy = spec.strategy(self.options)
        self.guess = guess
        if guess is None and self.options.seed_source != 'given':
            self.guess = _loaded_guess(chain, self.options)
        self.parameters = spec.parameters_for(self.chain, self.options)
        self._memory = spec.memory_for(self.chain)
        self._improves = spec.improves(self.options)
        self.remark = spec.remark(self.chain, self.options)
        moving = int(np.count_nonzero(chain.lower < chain.upper))
        one = self._tree is None
        self.hint = few_joints_hint(moving, self.options.task_weights) if one else ''
        self._timeout = max(1, int(self.options.timeout * 1e9))
        self._records = self.options.record_trace
        self._no_trace = np.empty((0, 2 * chain.n + 3))
        self._given = guess
        self.collisions = collisions
        if collisions is not None:
            collision_test(collisions, chain)
        self.lists = self.options.prefer == 'nearest' and one and self._effort_is_free()
        self._special = self.lists or collisions is not None or not one
        # Of solves that are over, for the next ones; several at once have one each.
        self._idle: list[tuple[Callable, Problem, Settings, Workspace]] = []
        self._pausing: list[Solver] = []

    def _prepare_tree(self, tree: KinematicTree, spec: SolverSpec, guess: object) -> None:
        """Take the parts for trees, which are imported when there is one."""
        from ik_service.solvers.loop.tree.problem import allocate_tree, tree_views
        from ik_service.solvers.tree_targets import check_tree_solver, TreeTargets

        if guess is not None:
            raise ArgumentError('guess', 'has to be None for several tips or tolerances')
        check_tree_solver(spec, self.options)
        self._tree = TreeTargets(tree)
        self._allocate, self.views = allocate_tree, tree_views

    def solve(
        self,
        target: Target,
        seed: ArrayLike | None = None,
        timeout: float | None = None,
        collisions: Collisions | CollisionTest | None = None,
    ) -> IkResult:
        """
        Find joint positions that put the tip at the target.

        :param target: (4, 4) T_base_tip, or a :class:`~ik_service.Task`; for a tree a mapping of
            every tip to one of these.
        :param seed: (n,) where the search starts [rad] or [m]; the guess, or mid-range, when left
            out. A seed outside the limits is brought inside.
        :param timeout: time for this solve [s], instead of the options'.
        :param collisions: test that the answer must pass, instead of the solver's.
        :returns: the best joint vector found, its errors and the status; also of a failure. The
            errors of several tips are the largest, and 0 within tolerances.
        :raises ArgumentError: when target or seed are of another shape, not finite or not rigid,
            or a tip is missing or unknown.
        :raises OptionError: when the timeout is not valid.
        :raises SolverSpecError: when the step of a user's method cannot be compiled, or raises.
        """
        if self._special or collisions is not None:
            if collisions is None:
                collisions = self.collisions
            if self.lists:
                listed = self.listed(target, seed, timeout, collisions)
                if listed is not None:
                    return listed
            if collisions is not None:
                return solve_free(self, target, seed, timeout, collisions)
            if self._tree is not None:
                target = self._tree.packed(target)
        first = seed
        if first is None:
            first = self.chain.middle if self.guess is None else self.start_for(target)
        try:
            T = np.ascontiguousarray(target)
            start = np.ascontiguousarray(first)
        except Exception:  # ragged, or anything that an object raises that is asked for its array
            self._refuse(target, first)
        if (
            T.dtype is not _FLOAT
            or start.dtype is not _FLOAT
            or (T is not target and hasattr(target, 'mask'))
            or (start is not first and hasattr(first, 'mask'))
        ):
            if isinstance(target, Task):
                return self.with_tolerances.solve(target, first, timeout)
            T = real_array(target, 'target')  # type: ignore[arg-type]
            start = real_array(first, 'seed')
        if T.ndim != 2 or start.ndim != 1:  # the kernel looks at their sizes
            self._refuse(target, first)
        limit = None if timeout is None else nanoseconds(timeout)
        trace, recorded = self._no_trace, None
        q: np.ndarray = self.chain.middle.copy()  # half the time of an empty one
        idle = self._idle
        try:
            parts = idle.pop()
        except IndexError:  # the first solve, or more at once than ever
            parts = self._prepare()
        kernel, problem, settings, work = parts
        try:
            if limit is not None:
                settings.timeout[0] = limit
            if self.guess is not None:
                settings.nearness[0] = self._nearness(guessed=seed is None)
            if self._records:
                trace = _room_for_trace(settings, self.chain.n)
            status, position_error, orientation_error, iterations, searches, elapsed = kernel(
                problem, self.parameters, T, start, q, trace
            )
            if self._records:
                recorded = _read_trace(trace[: work.recorded[0]], self.chain.n)
        except Exception as error:
            raise step_error(self.name, error) from error
        finally:
            if limit is not None:
                settings.timeout[0] = self._timeout
            idle.append(parts)
        if status == search.FAULTY:
            self._refuse(target, first)
        # Read-only; naming the argument would double the time.
        q.setflags(False)  # type: ignore[call-arg]
        # Made without the constructor: that of a frozen dataclass takes as long as an easy solve.
        result: Any = _Draft()
        result.status = _STATUS[status]
        result.q = q
        result.position_error = position_error
        result.orientation_error = orientation_error
        result.iterations = iterations
        result.searches = searches
        result.solve_time = elapsed * 1e-9
        result.trace = recorded
        result.remark = self.remark
        if status and self.hint and result.status in HINTED:
            result.hint = self.hint
        result.__class__ = IkResult
        return result

    def _effort_is_free(self) -> bool:
        """Return whether no option bounds or records the iterations of a search."""
        options = self.options
        bounds = options.max_iterations, options.max_searches, options.step_gain
        return not options.record_trace and all(bound is None for bound in bounds)

    def listed(
        self,
        target: Target,
        seed: ArrayLike | None,
        timeout: float | None,
        collisions: Collisions | CollisionTest | None = None,
    ) -> IkResult | None:
        """
        Return the nearest of all solutions, where these are known; None otherwise.

        :param target: as for :meth:`solve`, as the others are.
        """
        if self.pauses or isinstance(target, Task):
            return None
        finder, check = self._finder
        if not finder.lists:
            self.lists = False
            return None
        finder.prepared()  # its compilation is not part of the time of a solve
        began, start = perf_counter(), self.start_for(target) if seed is None else seed
        test = None if collisions is None else collision_test(collisions, self.chain)
        best, bodies, results = None, None, []
        for q in finder.proved(target, start):  # type: ignore[arg-type]  # whatever it is
            results.append(check.solve(target, q, timeout))
            if not results[-1].success:
                return None
            contact = None if test is None else test.first_contact(results[-1].q)
            if contact is None or best is None:
                best, bodies = results[-1], contact
            if contact is None:
                break
        if best is None:
            return None
        _change(best, {'remark': self.remark})
        return _answer(best, bodies, results, round((perf_counter() - began) * 1e9))

    @cached_property
    def _finder(self) -> tuple[SolutionFinder, Solver]:
        """The search for all solutions, for the nearest of them, and the solver that checks it."""
        # Imported where it is needed: that takes as long as half of all other solvers.
        from ik_service.solvers.all_solutions.solution_finder import SolutionFinder

        options = replace(
            self.options, prefer='first', max_searches=1, max_joint_motion=None,
            seed_source='given', seed_file=None,
        )  # fmt: skip
        finder = SolutionFinder(self.chain, self.options, self.problem, patience=1)
        check = Solver(self.chain, self.name, options)
        check._idle.append(check._prepare())
        return finder, check

    def start_for(self, target: Target) -> np.ndarray:
        """
        Return the start of a solve that is given no seed.

        :param target: (4, 4) T_base_tip, or a :class:`~ik_service.Task`.
        :returns: (n,) mid-range [rad] or [m], or the guess.
        :raises ArgumentError: when the target is not a rigid transform.
        """
        if self._tree is not None:
            self._tree.check(self._tree.packed(target))
            return self.chain.mid_range()
        pose = target.target if isinstance(target, Task) else target
        T = check_transform(pose, 'target')  # type: ignore[arg-type]  # whatever it is
        return self.chain.mid_range() if self.guess is None else self.guess.guess(T)

    def warm_up(self) -> None:
        """Compile the solver for this chain, or load it from the cache."""
        q = self.chain.mid_range()
        self.solve(self.chain.forward(q), q)
        if self.lists:
            self._finder[1].warm_up()
        self.chain.jacobian(q)

    def packed_many(self, targets: BatchTargets) -> np.ndarray:
        """
        Return the targets of a batch as the kernels take them, (N, …).

        :param targets: (N, 4, 4); for a tree a mapping of every tip to these, or to lists with
            tasks.
        :raises ArgumentError: when a target is none; names the row, and the tip of a tree.
        """
        if self._tree is not None:
            return self._tree.packed_many(targets)
        return check_transforms(targets, 'targets')  # type: ignore[arg-type]  # whatever it is

    @cached_property
    def with_tolerances(self) -> Solver:
        """The solver for targets with tolerances, which :meth:`solve` hands over to it."""
        options = replace(self.options, seed_source='given', seed_file=None)
        tree = KinematicTree.of_chain(self.chain)
        return Solver(tree, self.name, options, collisions=self.collisions)

    def candidates(self) -> Solver:
        """Return a solver, for one thread, that pauses at every solution, to be taken up again."""
        try:
            return self._pausing.pop()
        except IndexError:
            solver = type(self)(self.chain, self.name, self.options, self.guess)
            solver.pauses = True
            return solver

    def kernels(self) -> list[tuple]:
        """Return the kernel of this method, with example arguments."""
        return [(search.solve, *self._arguments())]

    def problem(self, guessed: bool = False) -> Problem:
        """
        Return a new problem with this solver's settings; solves at the same time need one each.

        :param guessed: whether the seeds are guesses.
        """
        options, spec = self.options, self._spec
        limited = self._strategy != LimitStrategy.IGNORE
        problem = self._allocate(self.chain, self._memory, limited)
        _, settings, work = self.views(problem)
        settings.tolerances[:] = options.position_tolerance, options.orientation_tolerance
        settings.weights[:] = np.sqrt(options.task_weights)
        settings.weights[:3] *= spec.length_weight(self.chain, options)
        settings.largest_cost[0] = _LARGEST_COST * max(1.0, *settings.weights**2)
        settings.progress[0] = spec.progress
        settings.max_iterations[0] = options.max_iterations or spec.max_iterations
        more = 1 if self._tree is None else self._tree.relative_searches(work)
        settings.max_searches[0] = options.max_searches or more * spec.max_searches
        settings.most_steps[0] = _ANY_STEPS
        if options.max_iterations is not None:
            most = options.max_iterations * int(settings.max_searches[0])
            settings.most_steps[0] = min(most, _ANY_STEPS)
        settings.fixed_gain[0] = patient = options.step_gain is not None
        settings.patience[0] = settings.max_iterations[0] if patient else spec.patience
        settings.timeout[0] = self._timeout
        settings.limits[0] = self._strategy
        if options.max_joint_motion is not None:
            bound_motion(settings, work, options.max_joint_motion, spec.keeps_limits)
        penalty, step = options.penalty_weight, options.perturbation
        settings.penalty[0] = _PENALTY_WEIGHT if penalty is None else penalty
        if options.jacobian == 'numerical':
            settings.perturbation[0] = _PERTURBATION if step is None else step
        settings.improves[0] = self._improves
        settings.nearness[0] = self._nearness(guessed)
        settings.random_seed[0] = options.random_seed
        settings.approach_counts[0] = spec.approach_counts
        settings.pauses[0] = self.pauses
        return problem

    def _nearness(self, guessed: bool) -> Nearness:
        """Return the weight of the distance to the seed; that to a guess does not matter."""
        if self.options.prefer == 'nearest':
            return Nearness.NEAREST
        return Nearness.ANY if guessed else Nearness.FIRST

    def _prepare(self) -> tuple[Callable, Problem, Settings, Workspace]:
        """Return the compiled solver, and a thread's problem, its settings and workspace."""
        arguments = self._arguments()
        _, settings, work = self.views(arguments[0])
        try:
            return entry_point(search.solve, *arguments), arguments[0], settings, work
        except NumbaError as error:
            raise step_error(self.name, error) from error

    def _arguments(self) -> tuple:
        """Return example arguments of the compiled solver; the problem comes first."""
        q = np.empty(self.chain.n)
        return self.problem(), self.parameters, np.empty((4, 4)), q, q, self._no_trace

    def _refuse(self, target: Target, seed: ArrayLike) -> NoReturn:
        """Raise the error that names the fault in the arguments of a call."""
        if self._tree is not None:
            self._tree.check(np.asarray(target))
        else:
            check_transform(target, 'target')  # type: ignore[arg-type]  # whatever it is
        self.chain.check_q(seed, 'seed')
        raise AssertionError('a kernel refused arguments that are in order')

    def __reduce__(self) -> tuple[object, ...]:  # compiled code and threads cannot be pickled
        return type(self), (self.chain, self.name, self.options, self._given, self.collisions)

    def __repr__(self) -> str:
        return f'Solver({self.chain!r}, {self.name!r})'


def _loaded_guess(chain: Any, options: IkOptions) -> SeedGuess:  # noqa: ANN401 - a chain
    """Return the guess that the options ask for."""
    module, name = _SEED_LOADER
    return getattr(import_module(module), name)(chain, options.seed_file, options.task_weights)


def _room_for_trace(settings: Settings, n: int) -> np.ndarray:
    """Return an array (rows, 2n + 3) for all rows that a solve can record."""
    rows = (settings.max_iterations[0] + APPROACH_STEPS + 1) * (settings.max_searches[0] + 1)
    return np.empty((min(int(rows), _MOST_ROWS), 2 * n + 3))


def _read_trace(rows: np.ndarray, n: int) -> IkTrace:
    """Return the trace of the rows (k, 2n + 3) that were recorded."""
    return IkTrace(
        q=rows[:, :n],
        step=rows[:, n : 2 * n],
        position_error=rows[:, 2 * n],
        orientation_error=rows[:, 2 * n + 1],
        search=rows[:, 2 * n + 2].astype(int),
    )


def solve_ik(
    chain: KinematicChain | KinematicTree,
    target: Target,
    seed: ArrayLike | None = None,
    solver: str = DEFAULT_SOLVER,
    options: IkOptions | None = None,
    collisions: Collisions | CollisionTest | None = None,
) -> IkResult:
    """
    Find joint positions that put the chain's tip at a target; for many, prepare a :class:`Solver`.

    :param chain: the chain, or the tree.
    :param target: (4, 4) T_base_tip, or a :class:`~ik_service.Task`; for a tree a mapping of every
        tip to one of these.
    :param seed: (n,) where the search starts [rad] or [m]; mid-range when left out.
    :param solver: one of :func:`~ik_service.solver_names`.
    :param options: options; the defaults when left out.
    :param collisions: test that the answer must pass: a :class:`~ik_service.CollisionChecker`.
    :returns: the best joint vector found, with its errors and the reason if it is no solution.
    :raises IkServiceError: as :class:`Solver` and :meth:`Solver.solve` do.
    """
    return prepared(chain, solver, options).solve(target, seed, collisions=collisions)


def prepared(
    chain: KinematicChain | KinematicTree, solver: str, options: IkOptions | None
) -> Solver:
    """
    Return a solver, which is kept for the next call with equal arguments.

    :param chain: the chain, or the tree.
    :param solver: one of :func:`~ik_service.solver_names`.
    :param options: options; the defaults when None.
    """
    try:
        own = REGISTERED.get(solver)  # which may be registered anew
        method = None if own is None else own.parameters
        return _prepared(chain, solver, _DEFAULTS if options is None else options, method)
    except TypeError:  # from unhashable arguments, among others
        return Solver(chain, solver, options)


@lru_cache(maxsize=64)
def _prepared(
    chain: KinematicChain | KinematicTree, solver: str, options: IkOptions, _method: object
) -> Solver:
    return Solver(chain, solver, options)


def solve_free(
    solver: Solver,
    target: Target,
    seed: ArrayLike | None,
    timeout: float | None,
    collisions: Collisions | CollisionTest,
) -> IkResult:
    """
    Solve for one target, free of collisions.

    A solution that collides counts as a search that has failed: the solve goes on from the next
    start, with the remaining searches and time. That keeps the meaning of all options:
    searches start close to the seed where they would otherwise, and one for the nearest solution
    goes on until it has the nearest one that is free.

    :param solver: the solver.
    :param target: as for :meth:`~ik_service.Solver.solve`.
    :param seed: likewise.
    :param timeout: likewise [s].
    :param collisions: test of which solutions collide.
    :returns: the answer; when only colliding solutions were found, the one nearest to the seed.
    """
    if isinstance(target, Task) and not isinstance(solver.chain, KinematicTree):
        solver = solver.with_tolerances
    test = collision_test(collisions, solver.chain)
    pausing = solver.candidates()
    results = [pausing.solve(target, seed, timeout)]
    if not results[0].success:
        solver._pausing.append(pausing)
        return results[0]
    _, _, settings, work = pausing._idle[-1]  # of that solve
    limit = int(settings.timeout[0]) if timeout is None else nanoseconds(timeout)
    free, best, bodies, spent = False, results[0], None, 0
    work.kept[0] = nearest = math.inf
    try:
        while results[-1].success:
            began = perf_counter_ns()
            contact = test.first_contact(results[-1].q)
            spent += perf_counter_ns() - began + round(results[-1].solve_time * 1e9)
            if contact is None:
                free, best, bodies, work.kept[0] = True, results[-1], None, work.motion[0]
                if not work.goes_on[0]:
                    break
            elif not free and work.motion[0] < nearest:
                best, bodies, nearest = results[-1], contact, work.motion[0]
            work.searched[0], work.spent[0] = results[-1].searches, spent
            if work.searched[0] >= settings.max_searches[0] or spent >= limit:
                break
            results.append(pausing.solve(target, seed, timeout))
    finally:
        work.searched[0] = work.spent[0] = 0
        solver._pausing.append(pausing)
    return _answer(best, bodies, results, spent)


def _answer(
    best: IkResult, bodies: Bodies | None, results: Sequence[IkResult], spent: int
) -> IkResult:
    """Return the answer of a solve, with the effort of all parts, and the time spent [ns]."""
    changes: dict[str, Any] = {'solve_time': spent * 1e-9}
    if bodies is not None:
        changes.update(status=IkStatus.IN_COLLISION, collision=bodies)
    if len(results) > 1:
        changes.update(
            iterations=sum(result.iterations for result in results),
            searches=results[-1].searches,
            trace=_joined(results),
        )
    _change(best, changes)
    return best


def _change(result: IkResult, changes: dict[str, Any]) -> None:
    """Change an answer that nobody has seen; dataclasses.replace takes half an easy solve."""
    for name, value in changes.items():
        object.__setattr__(result, name, value)


def _joined(results: Sequence[IkResult]) -> IkTrace | None:
    """Return the traces of the parts of a solve as one."""
    traces = [result.trace for result in results if result.trace is not None]
    if not traces:
        return None
    columns = (field.name for field in fields(IkTrace))
    return IkTrace(*(np.concatenate([getattr(t, name) for t in traces]) for name in columns))
