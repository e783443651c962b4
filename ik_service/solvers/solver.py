"""Inverse kinematics of one target: the prepared :class:`Solver`, and :func:`solve_ik`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property, lru_cache
from importlib import import_module
import threading
from time import perf_counter
from typing import Any, NoReturn, TYPE_CHECKING

from numba.core.errors import NumbaError
import numpy as np
from numpy.typing import ArrayLike

from ik_service.common.arguments import real_array
from ik_service.jit.entry import entry_point, is_cached, is_compiled
from ik_service.kinematics.chain import KinematicChain
from ik_service.kinematics.joint_space import JointSpace
from ik_service.kinematics.pose_error import check_transform
from ik_service.kinematics.tree import KinematicTree
from ik_service.solvers.argument_checks import check_kinds
from ik_service.solvers.choices import LimitStrategy, Nearness
from ik_service.solvers.collision_free import solve_free
from ik_service.solvers.collision_test import collision_test, Collisions, CollisionTest
from ik_service.solvers.loop import search
from ik_service.solvers.loop.approach import APPROACH_STEPS
from ik_service.solvers.loop.fields import Settings, Workspace
from ik_service.solvers.loop.motion_bound import bound_motion
from ik_service.solvers.loop.problem import allocate, Problem, views
from ik_service.solvers.loop.step import STEPS
from ik_service.solvers.loop.trace import read_trace, room_for_trace
from ik_service.solvers.option_checks import nanoseconds
from ik_service.solvers.options import IkOptions
from ik_service.solvers.registry import DEFAULT_SOLVER, given, solver_spec
from ik_service.solvers.result import few_joints_hint, HINTED, IkResult, IkStatus
from ik_service.solvers.seed_sources import load_seed_guess, SeedGuess
from ik_service.solvers.spec_checks import check_memory, check_parameters, step_error
from ik_service.solvers.task import Target, Task

if TYPE_CHECKING:
    from ik_service.solvers.all_solutions.solution_finder import SolutionFinder

# Written as an entry point: what only trees need is imported when there is one.
_TREE_SOLVER = 'ik_service.solvers.tree_solver:TreeSolver'


def tree_solver() -> type[Solver]:
    """Return the class of solvers for trees."""
    module, _, name = _TREE_SOLVER.partition(':')
    return getattr(import_module(module), name)


_STATUS = tuple(IkStatus)
_DEFAULTS = IkOptions()
_FLOAT = np.dtype(np.float64)
# Defaults of options that are None, for every method.
_PENALTY_WEIGHT = 10.0
_PERTURBATION = 1e-6
# Squared error that is too large for any arm, per unit of the weights.
_LARGEST_COST = 1e6


class _Draft:
    """Object that becomes an :class:`IkResult`."""


class Solver:
    """
    Method prepared for a chain or a tree.

    Several threads may use one solver at the same time; the GIL is released while it solves.

    :ivar chain: the chain, or the tree.
    :ivar name: the method's name.
    :ivar options: the options.
    :ivar guess: guess for solves without a seed; None for mid-range.
    :ivar collisions: what the answers must be free of; None for nothing.
    :ivar pauses: whether solves pause at every solution.
    :ivar parameters: the method's parameters.
    :ivar remark: note on this method for this chain, often empty.
    :ivar hint: what may help where it finds no solution, often empty.
    """

    chain: Any
    pauses = False
    _allocate: Callable = staticmethod(allocate)
    views: Callable = staticmethod(views)

    def __new__(cls, chain: JointSpace, *others: object, **named: object) -> Solver:  # noqa: D102
        return object.__new__(tree_solver() if isinstance(chain, KinematicTree) else cls)

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
        :param collisions: what answers must be free of: a :class:`~ik_service.CollisionChecker`.
        :raises UnknownSolverError: listing the valid names.
        :raises OptionError: when the method does not use an option, or one does not fit the chain.
        :raises SeedFileError: when there is no learned guess; names the command that makes it.
        :raises SolverSpecError: when a user-defined method has no step.
        """
        self.chain = chain
        self.name = solver
        self.options = _DEFAULTS if options is None else options
        if not (isinstance(chain, JointSpace) and isinstance(self.options, IkOptions)):
            check_kinds(chain, self.options)
        spec = solver_spec(solver)
        self._spec = spec = spec.of_variant(self.options) if spec.variants else spec
        spec.check_options(self.options)
        self._strategy = spec.strategy(self.options)
        self.guess = guess
        if guess is None and self.options.seed_source != 'given':
            self.guess = load_seed_guess(self.chain, self.options)
        self.parameters = spec.parameters(self.chain, self.options)
        if type(self.parameters) not in STEPS:
            check_parameters(spec, self.parameters)
        self.remark = spec.remark(self.chain, self.options)
        moving = int(np.count_nonzero(chain.lower < chain.upper))
        one = not isinstance(chain, KinematicTree)
        self.hint = few_joints_hint(moving, self.options.task_weights) if one else ''
        self._timeout = max(1, int(self.options.timeout * 1e9))
        self._records = self.options.record_trace
        self._no_trace = np.empty((0, 2 * chain.n + 3))
        self._given = guess
        self.collisions = collisions
        if collisions is not None:
            collision_test(collisions, chain)
        self._lists = self.options.prefer == 'nearest' and one and self._effort_is_free()
        self._thread = threading.local()

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
        :param collisions: what the answer must be free of, instead of the solver's.
        :returns: the best joint vector found, its errors and the status; also of a failure.
        :raises ArgumentError: when target or seed are of another shape, not finite or not rigid.
        :raises OptionError: when the timeout is not valid.
        :raises SolverSpecError: when the step of a user's method cannot be compiled, or raises.
        """
        thread = self._thread
        try:
            kernel, problem, settings, work = thread.prepared
        except AttributeError:  # this thread's first solve, or answers are to be free
            if collisions is None:
                collisions = self.collisions
            if collisions is None:
                kernel, problem, settings, work = thread.prepared = self._prepare()
        if collisions is not None:
            return solve_free(self, target, seed, timeout, collisions)
        if self._lists:
            listed = self._listed(target, seed, timeout)
            if listed is not None:
                return listed
        if self.guess is not None:
            settings.nearness[0] = self._nearness(guessed=seed is None)
        if seed is None:
            seed = self.chain.middle if self.guess is None else self.start_for(target)
        try:
            T = np.ascontiguousarray(target)
            start = np.ascontiguousarray(seed)
        except Exception:  # ragged, or anything that an object raises that is asked for its array
            self._refuse(target, seed)
        if T.dtype is not _FLOAT or start.dtype is not _FLOAT:
            if isinstance(target, Task):
                return self.with_tolerances.solve(target, seed, timeout)
            T = real_array(target, 'target')  # type: ignore[arg-type]
            start = real_array(seed, 'seed')
        if T.ndim != 2 or start.ndim != 1:  # the kernel looks at their sizes
            self._refuse(target, seed)
        if timeout is not None:
            settings.timeout[0] = nanoseconds(timeout)
        trace = self._no_trace
        if self._records:
            trace = room_for_trace(settings, self.chain.n, APPROACH_STEPS)
        q: np.ndarray = self.chain.middle.copy()  # half the time of an empty one
        try:
            status, position_error, orientation_error, iterations, searches, elapsed = kernel(
                problem, self.parameters, T, start, q, trace
            )
        except Exception as error:
            raise step_error(self.name, error) from error
        finally:
            if timeout is not None:
                settings.timeout[0] = self._timeout
        if status == search.FAULTY:
            self._refuse(target, seed)
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
        result.trace = None
        result.remark = self.remark
        if status and self.hint and result.status in HINTED:
            result.hint = self.hint
        if self._records:
            result.trace = read_trace(trace[: work.recorded[0]], self.chain.n)
        result.__class__ = IkResult
        return result

    def _effort_is_free(self) -> bool:
        """Return whether no option bounds or records the iterations of a search."""
        options = self.options
        bounds = options.max_iterations, options.max_searches, options.step_gain
        return not options.record_trace and all(bound is None for bound in bounds)

    def _listed(
        self, target: Target, seed: ArrayLike | None, timeout: float | None
    ) -> IkResult | None:
        """Return the nearest of all solutions, where these are known; None otherwise."""
        if self.pauses or isinstance(target, Task):
            return None
        finder, check = self._finder
        if not finder.lists:
            self._lists = False
            return None
        began, start = perf_counter(), self.start_for(target) if seed is None else seed
        q = finder.nearest(target, start)  # type: ignore[arg-type]  # whatever it is
        if q is None:
            return None
        result = check.solve(target, q, timeout)
        took = perf_counter() - began
        return replace(result, solve_time=took, remark=self.remark) if result.success else None

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
        return finder, Solver(self.chain, self.name, options)

    def start_for(self, target: Target) -> np.ndarray:
        """
        Return the start of a solve that is given no seed.

        :param target: (4, 4) T_base_tip, or a :class:`~ik_service.Task`.
        :returns: (n,) mid-range [rad] or [m], or the guess.
        :raises ArgumentError: when the target is not a rigid transform.
        """
        pose = target.target if isinstance(target, Task) else target
        T = check_transform(pose, 'target')  # type: ignore[arg-type]  # whatever it is
        return self.chain.mid_range() if self.guess is None else self.guess.guess(T)

    def warm_up(self) -> None:
        """Compile the solver for this chain, or load it from the cache."""
        q = self.chain.mid_range()
        self.solve(self.chain.forward(q), q)
        if self._lists:
            self._finder[1].warm_up()
        self.chain.jacobian(q)

    @cached_property
    def with_tolerances(self) -> Solver:
        """The solver for targets with tolerances, which :meth:`solve` hands over to it."""
        options = replace(self.options, seed_source='given', seed_file=None)
        tree = KinematicTree.of_chain(self.chain)
        return tree_solver()(tree, self.name, options, collisions=self.collisions)

    @cached_property
    def candidates(self) -> Solver:
        """The solver whose solves pause at every solution, to be taken up again."""
        solver = type(self)(self.chain, self.name, self.options, self.guess)
        solver.pauses = True
        return solver

    def progress(self) -> tuple[Settings, Workspace]:
        """Return the settings and the workspace of this thread's last solve."""
        _, _, settings, work = self._thread.prepared
        return settings, work

    @property
    def compiled(self) -> bool:
        """Whether this process has the kernels of this method, so that it can solve at once."""
        return is_compiled(search.solve, *self._arguments())

    @property
    def cached(self) -> bool:
        """Whether the kernels of this method are on disk, so that they need only be loaded."""
        return is_cached(search.solve, *self._arguments())

    def problem(self, guessed: bool = False) -> Problem:
        """
        Return a new problem with this solver's settings; each thread needs its own.

        :param guessed: whether the seeds are guesses.
        """
        options, spec = self.options, self._spec
        memory = spec.memory_rows(self.chain)
        if not isinstance(memory, int) or memory < 0:
            check_memory(spec, memory)
        problem = self._allocate(self.chain, memory, self._strategy != LimitStrategy.IGNORE)
        _, settings, work = self.views(problem)
        settings.tolerances[:] = options.position_tolerance, options.orientation_tolerance
        settings.weights[:] = np.sqrt(options.task_weights)
        settings.largest_cost[0] = _LARGEST_COST * max(1.0, *options.task_weights)
        settings.progress[0] = spec.progress
        settings.max_iterations[0] = options.max_iterations or spec.max_iterations
        settings.max_searches[0] = options.max_searches or spec.max_searches
        settings.fixed_gain[0] = patient = options.step_gain is not None
        settings.patience[0] = settings.max_iterations[0] if patient else spec.patience
        settings.timeout[0] = self._timeout
        settings.limits[0] = self._strategy
        if options.max_joint_motion is not None:
            bound_motion(settings, work, options.max_joint_motion, spec.keeps_limits)
        settings.penalty[0] = given(options.penalty_weight, _PENALTY_WEIGHT)
        if options.jacobian == 'numerical':
            settings.perturbation[0] = given(options.perturbation, _PERTURBATION)
        settings.improves[0] = spec.improves(options)
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
        """Raise the error that says what is wrong with the arguments of a call."""
        check_transform(target, 'target')  # type: ignore[arg-type]  # whatever it is
        self.chain.check_q(seed, 'seed')
        raise AssertionError('a kernel refused arguments that are in order')

    def __reduce__(self) -> tuple[object, ...]:  # compiled code and threads cannot be pickled
        return type(self), (self.chain, self.name, self.options, self._given, self.collisions)

    def __repr__(self) -> str:
        return f'Solver({self.chain!r}, {self.name!r})'


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
    :param collisions: what the answer must be free of: a :class:`~ik_service.CollisionChecker`.
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
        return _prepared(chain, solver, _DEFAULTS if options is None else options)
    except TypeError:  # from what cannot be hashed, among others
        return Solver(chain, solver, options)


_prepared = lru_cache(maxsize=64)(Solver)
