"""Motion plans around obstacles and along lines of the tip: :func:`plan_motion`."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
import time

import numpy as np
from numpy.typing import ArrayLike

from ik_service.common.arguments import check_kind, single_number, whole_number
from ik_service.common.quoting import safe_repr
from ik_service.exceptions import ArgumentError, IkServiceError
from ik_service.extras.planning.constraints import (
    constrained_trajectory,
    ConstrainedSearch,
    PathConstraints,
    Projection,
    TaskRows,
)
from ik_service.extras.planning.goal_postures import (
    checked_goals,
    Goal,
    GoalPostures,
    Goals,
    LinkGoal,
    MORE_ROUNDS,
    ROUNDS,
)
from ik_service.extras.planning.motion_check import MotionCheck, positions_at
from ik_service.extras.planning.rrt_connect import load_ompl, rrt_connect
from ik_service.extras.planning.shortening import joined, lengths, rounded, shortened, Timing
from ik_service.kinematics.chain import KinematicChain
from ik_service.model.motion_bounds import MotionBounds
from ik_service.paths.cartesian_path import cartesian_path, CartesianSettings, JumpThresholds
from ik_service.paths.preparation import CartesianPathKernels
from ik_service.paths.search.path_solver import PathOptions
from ik_service.paths.search.result import PathResult
from ik_service.paths.timing.timing_limits import jerk_limits, timing_limits, TimingLimits
from ik_service.paths.trajectory.joint_trajectory import JointTrajectory
from ik_service.solvers.collision_test import Bodies, collision_test, Collisions, CollisionTest
from ik_service.solvers.task import Task


class PlanStatus(Enum):
    """Outcome of a motion plan."""

    SUCCESS = 'a motion was found, and all of it checked'
    NO_PLAN = 'no motion was found'
    TIMED_OUT = 'the time ran out'
    CANCELED = 'it was canceled'
    START_IN_COLLISION = 'something collides at the start'
    START_VIOLATES_CONSTRAINTS = 'the start does not meet the path constraints'
    GOAL_IN_COLLISION = 'something collides at every goal'
    GOAL_VIOLATES_CONSTRAINTS = 'no goal meets the path constraints'
    GOAL_OUT_OF_REACH = 'no posture within the joint limits meets a goal'


@dataclass(frozen=True, eq=False)
class MotionPlan:
    """
    Motion from a start to a goal, or why there is none.

    :ivar trajectory: the timed motion; None without success.
    :ivar path: (k, n) the corners of the joint path before it is rounded and timed [rad] or [m];
        (0, n) without success.
    :ivar bodies: two bodies in contact, where that is the reason.
    :ivar planning_time: time that it took, with all checks [s].
    :ivar checks: joint vectors that were tested for collisions and constraints.
    """

    status: PlanStatus
    reason: str
    trajectory: JointTrajectory | None
    path: np.ndarray
    bodies: Bodies | None = None
    planning_time: float = 0.0
    checks: int = 0

    @property
    def success(self) -> bool:
        """Whether there is a motion."""
        return self.status is PlanStatus.SUCCESS


_STEP = 0.01  # from row to row [m]
_MOST_TIME = 1e9  # for a line, as options of a path allow [s]
_SAME_POSTURE = 1e-3  # difference from a goal's joints that is none [rad] or [m]


@dataclass(frozen=True)
class ToolLine:
    """Straight line of the tip: motion, rows (k, n), why it ends early, and bodies in contact."""

    trajectory: JointTrajectory | None
    rows: np.ndarray
    reason: str = ''
    bodies: Bodies | None = None


def tool_line(
    chain: KinematicChain,
    start: np.ndarray,
    goal: Goal,
    check: MotionCheck,
    timing: Timing,
    timeout: float,
) -> ToolLine:
    """Motion from ``start`` (n,), the tip moving straight to a goal's pose, and its joints."""
    posture = goal if isinstance(goal, np.ndarray) and goal.shape == (chain.n,) else None
    target = chain.forward(posture) if posture is not None else _pose_of(chain, goal)
    if target is None:
        return ToolLine(None, start[None], 'the straight line of the tip needs a pose as its goal')
    settings = CartesianSettings(
        _STEP,
        JumpThresholds(),
        PathOptions(timeout=min(max(timeout, 1e-3), _MOST_TIME)),
        np.eye(4),
        timing.limits.velocity,
    )
    try:
        path = cartesian_path(chain, start, target[None], settings, check.test)
    except ArgumentError as error:  # more rows than are supported
        return ToolLine(None, start[None], f'the straight line of the tip is too long: {error}')
    if path.progress < 1.0:
        where = f'it ends after {path.fraction:.1%} of the straight line of the tip'
        return ToolLine(None, path.q, f'{where}: {path.reason}', path.bodies)
    away = 0.0 if posture is None else float(np.abs(path.q[-1] - posture).max())
    if away > _SAME_POSTURE:
        reason = f'the straight line of the tip ends {away:.3g} away from the goal, in its joints'
        return ToolLine(None, path.q, reason)
    own = goal.chain if isinstance(goal, LinkGoal) else chain
    beyond = np.maximum(own.lower - path.q[-1], path.q[-1] - own.upper)
    if beyond.max() > _SAME_POSTURE:
        name = chain.joint_names[int(np.argmax(beyond))]
        reason = f'the straight line of the tip ends {beyond.max():.3g} beyond the goal in {name}'
        return ToolLine(None, path.q, reason)
    trajectory = timing.timed(chain, path.q, path.poses)
    fault = check.first_fault(trajectory)
    if fault is not None:
        found, bodies = _fault_on(check, positions_at(trajectory, np.array([fault])))
        return ToolLine(None, path.q, f'the straight line of the tip is not free{found}', bodies)
    return ToolLine(trajectory, path.q)


def _pose_of(chain: KinematicChain, goal: Goal) -> np.ndarray | None:
    """Return the pose (4, 4) of the tip that a goal asks for; None where it is no pose."""
    if isinstance(goal, LinkGoal):
        first = goal.targets[0]
        if isinstance(first, Task) or goal.chain.joint_names != chain.joint_names:
            return None
        q = chain.mid_range()
        return first @ np.linalg.inv(goal.chain.forward(q)) @ chain.forward(q)
    return goal.target if isinstance(goal, Task) else goal


PIPELINES = ('ompl', 'ptp', 'lin')
"""Pipelines: any motion; the straight joint line alone; a straight line of the tip alone."""
SEARCH_STEPS = (0.08, 0.03, 0.01)
"""
Motion of the arm between the postures that a search checks [m], at most, and finer ones for when
the motion that was found does not pass the check of the whole.
"""
MOST_ITERATIONS = 20_000
"""Iterations of a search on constraints; without success by then it ends, on any machine."""
SEARCHES, SEARCH_ITERATIONS = 8, 5_000
"""
Searches without constraints, one after the other, and iterations of each: how long a search takes
varies so much that a new one with other random numbers is sooner done than a long one.
"""
_FIRST_ITERATIONS = 1_000
"""Those of a first search for the goal of a pose, after which more of its postures are goals."""
_NEXT_SEARCH = 1_000_003
"""From the seed of one of these searches to that of the next: beyond those of other plans."""

Canceled = Callable[[], bool]


def plan_motion(
    chain: KinematicChain,
    start: ArrayLike,
    goals: Goals,
    collisions: Collisions | CollisionTest | None = None,
    path_constraints: PathConstraints | Task | None = None,
    timeout: float = 1.0,
    random_seed: int = 0,
    pipeline: str = 'ompl',
    limits: TimingLimits | MotionBounds | None = None,
    velocity_scaling: float = 1.0,
    acceleration_scaling: float = 1.0,
    cartesian_speed: float | None = None,
    link: str | None = None,
    jerk: ArrayLike | None = None,
    canceled: Canceled = lambda: False,
) -> MotionPlan:
    """
    Plan a motion to a goal that touches nothing, as a timed trajectory.

    First comes the straight line in joint space; where it is not free, RRT-Connect searches for a
    path, which is shortened and whose corners are rounded. The trajectory is checked as a whole,
    between its points too, at postures between which no point of the arm moves by more than 5 mm.
    The same arguments give the same plan, unless the time runs out.

    :param chain: the chain that moves.
    :param start: (n,) where it starts [rad] or [m]; from outside the limits it first comes inside.
    :param goals: a joint vector (n,), a pose (4, 4) T_base_tip, a :class:`~ik_service.Task`, or
        several of these, one of which is to be met. Several postures of a pose are goals at once.
    :param collisions: checker of the collisions to avoid, a :class:`~ik_service.CollisionChecker`.
        Its world counts as it is at first.
    :param path_constraints: tasks of the tip that hold on the whole path; ranges of joints are
        those of the chain (:meth:`~ik_service.KinematicChain.with_limits`).
    :param timeout: time for all of it [s]; that for compiling or loading kernels does not count. A
        step in progress is finished, which takes up to about 0.1 s.
    :param random_seed: of all random numbers.
    :param pipeline: 'ompl' for the above, 'ptp' for the straight joint line alone, or 'lin' for a
        straight line of the tip.
    :param limits: limits of the motion, as for
        :func:`~ik_service.paths.timing.timing.time_path`; the jerks of a
        :class:`~ik_service.model.motion_bounds.MotionBounds` count too.
    :param velocity_scaling: share of the velocities that is used, above 0 and at most 1.
    :param acceleration_scaling: share of the accelerations, likewise.
    :param cartesian_speed: largest speed of the origin of a link [m/s]; None for no bound.
    :param link: the link; None for the tip.
    :param jerk: (n,) largest jerks [rad/s³] or [m/s³], or one number for all joints; None for
        those of the limits, if any.
    :param canceled: polled periodically; from True on there is no plan.
    :returns: the plan, or why there is none.
    :raises ArgumentError: an argument is of another type or shape, not finite or out of range.
    :raises TrajectoryError: a joint that cannot move starts outside its limits, or the motion
        lasts too long to be timed.
    :raises MissingExtraError: OMPL is not installed, which only the pipeline 'ompl' needs.
    """
    check_kind(chain, KinematicChain, 'chain')
    if pipeline not in PIPELINES:
        names = ', '.join(PIPELINES)
        raise ArgumentError('pipeline', f'has to be one of {names}, not {safe_repr(pipeline)}')
    timeout = single_number(timeout, 'timeout')
    if not timeout > 0.0:
        raise ArgumentError('timeout', f'has to be a time above 0, not {safe_repr(timeout)}')
    random_seed = whole_number(random_seed, 'random_seed', least=0)
    if pipeline == 'ompl':
        load_ompl()
    test = None if collisions is None else collision_test(collisions, chain)
    constraints = PathConstraints.of(path_constraints)
    timing = Timing(
        timing_limits(chain, limits),
        jerk_limits(chain, limits, jerk),
        velocity_scaling,
        acceleration_scaling,
        cartesian_speed,
        link,
    )
    q, wanted = chain.check_q(start, 'start'), checked_goals(chain, goals)
    still, held = timing.still, np.clip(q, chain.lower, chain.upper)
    if still.any():
        chain = chain.with_limits(
            np.where(still, held, chain.lower), np.where(still, held, chain.upper)
        )
    tests = constraints.row_tests(chain)
    check = MotionCheck(chain, test, tests)
    projected = [each for each in tests if isinstance(each, TaskRows)]
    searched = GoalPostures(chain, held, random_seed)
    searched.prepare(wanted)
    check.violates(held)  # loads its kernels
    _prepare(chain, timing, pipeline)
    clock = _Clock(timeout, canceled)
    projection = Projection(chain, projected) if projected else None
    planner = _Planner(chain, q, check, timing, random_seed, clock, projection)
    return planner.plan(wanted, pipeline, searched)


_prepared: set[tuple[bool, ...]] = set()
"""Kinds of motions whose kernels are loaded."""


def _prepare(chain: KinematicChain, timing: Timing, pipeline: str) -> None:
    """Compile the kernels of the timing and of a line of the tip, or load them."""
    limited, jerk = timing.cartesian_speed is not None, bool(np.isfinite(timing.jerk).any())
    kind = pipeline == 'lin', limited, jerk
    if kind in _prepared:
        return
    with suppress(IkServiceError):  # of a chain or limits that the plan refuses by itself
        if pipeline == 'lin':
            CartesianPathKernels(chain).warm_up()
        else:
            moved = np.where(timing.still, 0.0, np.minimum(chain.upper - chain.middle, 0.1))
            timing.timed(chain, chain.middle + np.linspace(0.0, 1.0, 5)[:, None] * moved)
        _prepared.add(kind)


class _Clock:
    """Time that is left, and whether the plan is still wanted."""

    def __init__(self, timeout: float, canceled: Canceled) -> None:
        self._began, self._canceled = time.monotonic(), canceled
        self._timeout = timeout

    @property
    def spent(self) -> float:
        """Time since the beginning [s]."""
        return time.monotonic() - self._began

    @property
    def left(self) -> float:
        """Time that is left [s]."""
        return self._timeout - self.spent

    def stopped(self) -> bool:
        """Return whether to stop."""
        return self.left <= 0.0 or self._canceled()

    def status(self, fallback: PlanStatus) -> PlanStatus:
        """Return a status, unless the time has run out or the plan was canceled."""
        if self._canceled():
            return PlanStatus.CANCELED
        return PlanStatus.TIMED_OUT if self.left <= 0.0 else fallback


class _Planner:
    """Plan of one motion."""

    def __init__(
        self,
        chain: KinematicChain,
        start: np.ndarray,
        check: MotionCheck,
        timing: Timing,
        random_seed: int,
        clock: _Clock,
        projection: Projection | None,
    ) -> None:
        self._projection = projection
        self._chain, self._check, self._timing = chain, check, timing
        self._seed, self._clock = random_seed, clock
        self._outside = start
        self._start = np.clip(start, chain.lower, chain.upper)
        self._units = np.maximum(timing.limits.velocity, 1e-6)

    def plan(self, goals: list[Goal], pipeline: str, searched: GoalPostures) -> MotionPlan:
        """Return the plan."""
        for q in (self._outside, self._start):
            bodies = self._check.contact(q)
            if bodies is not None:
                return self._failed(PlanStatus.START_IN_COLLISION, _collide(bodies), bodies)
        if self._check.violates(self._start):
            unmet = self._check.unmet(self._start)
            return self._failed(PlanStatus.START_VIOLATES_CONSTRAINTS, unmet)
        if pipeline == 'lin':
            return self._tool_line(goals)
        postures, failure = self._postures(goals, searched, ROUNDS)
        if failure is not None:
            return failure
        plan = None
        joints_only = all(isinstance(goal, np.ndarray) and goal.ndim == 1 for goal in goals)
        if pipeline != 'ptp' and not joints_only:
            plan = self._searched(postures, pipeline, _FIRST_ITERATIONS)
            if plan is None:
                more, failure = self._postures(goals, searched, MORE_ROUNDS)
                postures = more if failure is None else postures
        if plan is None and not self._clock.stopped():
            plan = self._searched(postures, pipeline, *[SEARCH_ITERATIONS] * SEARCHES)
        return plan or self._unplanned(postures, pipeline)

    def _searched(
        self, postures: np.ndarray, pipeline: str, *iterations: int
    ) -> MotionPlan | None:
        """Return the plan to one of some postures, by searches of some iterations each."""
        for number, step in enumerate(SEARCH_STEPS):
            seed = len(SEARCH_STEPS) * self._seed + number
            if self._projection is not None and pipeline != 'ptp':
                path, trajectory = self._constrained(
                    postures, step, seed, iterations, self._projection
                )
            else:
                path, trajectory = self._unconstrained(
                    postures, step, seed, () if pipeline == 'ptp' else iterations
                )
            if path is None:
                break
            if trajectory is not None:
                return self._planned(trajectory, path)
            if self._clock.stopped():
                break
        return None

    def _postures(
        self, goals: list[Goal], searched: GoalPostures, rounds: tuple[int, ...]
    ) -> tuple[np.ndarray, MotionPlan | None]:
        """Return the postures (k, n) that are goals, the nearest first; or why there are none."""
        usable: list[np.ndarray] = []
        others: list[np.ndarray] = []
        for goal in goals:
            allowed, found = searched.of(goal, self._allowed, self._clock.stopped, rounds)
            usable += allowed
            others += found
        if usable:
            away = [float(lengths(np.array([self._start, q]), self._units)[0]) for q in usable]
            order = np.argsort(away, kind='stable')
            return np.array(usable)[order], None
        if not others:
            names, still = self._chain.joint_names, self._timing.still
            held = ', '.join(name for name, stays in zip(names, still, strict=True) if stays)
            return np.empty((0, 0)), self._failed(
                self._clock.status(PlanStatus.GOAL_OUT_OF_REACH),
                f'{held} cannot move, with a limit of 0' if held else '',
            )
        touching = [
            bodies
            for q in others
            if not self._check.violates(q) and (bodies := self._check.contact(q)) is not None
        ]
        if touching:
            failure = self._failed(
                PlanStatus.GOAL_IN_COLLISION, _collide(touching[0]), touching[0]
            )
        else:
            unmet = self._check.unmet(others[0])
            failure = self._failed(PlanStatus.GOAL_VIOLATES_CONSTRAINTS, unmet)
        return np.empty((0, 0)), failure

    def _allowed(self, q: np.ndarray) -> bool:
        return not self._check.violates(q) and self._check.contact(q) is None

    def _unconstrained(
        self, postures: np.ndarray, step: float, seed: int, iterations: tuple[int, ...]
    ) -> tuple[np.ndarray | None, JointTrajectory | None]:
        """Return a path to one of some postures, and the motion along it, where there are any."""
        path = self._path(postures, step, seed, iterations)
        if path is None:
            return None, None
        whole = np.concatenate([self._outside[None], path])
        return path, rounded(
            self._chain, whole, self._timing, self._check, step, self._clock.stopped
        )

    def _path(
        self, postures: np.ndarray, step: float, seed: int, iterations: tuple[int, ...]
    ) -> np.ndarray | None:
        """Return the corners (k, n) of a path to one of some postures; None for none."""

        def free(ends: np.ndarray) -> bool:
            return self._check.line_is_free(ends, step)

        for goal in postures:
            line = np.array([self._start, goal])
            if free(line):
                return line
        lower, upper = self._bounds(postures)
        for attempt, most in enumerate(iterations):
            path = rrt_connect(
                (lower, upper),
                self._start,
                postures,
                free,
                seed + attempt * _NEXT_SEARCH,
                self._ended_after(most),
            )
            if path is not None:
                return shortened(path, self._units, free, seed, self._clock.stopped)
            if self._clock.stopped():
                break
        return None

    def _ended_after(self, iterations: int) -> Callable[[int], bool]:
        """Return whether a search ends, by the number of its iteration."""
        return lambda iteration: iteration > iterations or self._clock.stopped()

    def _constrained(
        self,
        postures: np.ndarray,
        step: float,
        seed: int,
        iterations: tuple[int, ...],
        projection: Projection,
    ) -> tuple[np.ndarray | None, JointTrajectory | None]:
        """Likewise, on constraints."""
        chain, timing, stopped = self._chain, self._timing, self._clock.stopped
        search = ConstrainedSearch(projection, self._check, step)
        path = search.search(
            self._bounds(postures),
            self._start,
            postures,
            seed,
            self._ended_after(min(sum(iterations), MOST_ITERATIONS)),
        )
        if path is None:
            return None, None
        path = search.shortened(path, self._units, seed, stopped)
        motion = constrained_trajectory(chain, path, timing, self._check, projection, stopped)
        return path, self._from_outside(motion)

    def _from_outside(self, motion: JointTrajectory | None) -> JointTrajectory | None:
        """Return a motion after that from outside the limits; None where this meets a body."""
        if motion is None or (self._outside == self._start).all():
            return motion
        inside = self._timing.timed(self._chain, np.array([self._outside, self._start]))
        whole = joined([inside, motion])
        return whole if self._check.first_fault(whole) is None else None

    def _bounds(self, postures: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the bounds of a search: the limits, or half a turn about the start."""
        low, high = self._chain.search_limits()
        lower = np.where(np.isfinite(low), low, self._start - np.pi)
        upper = np.where(np.isfinite(high), high, self._start + np.pi)
        rows = np.vstack([postures, self._start])
        return np.minimum(lower, rows.min(axis=0)), np.maximum(upper, rows.max(axis=0))

    def _tool_line(self, goals: list[Goal]) -> MotionPlan:
        """Return the plan of a straight line of the tip to the first goal that it reaches."""
        reason, bodies = '', None
        for goal in goals:
            line = tool_line(
                self._chain, self._start, goal, self._check, self._timing, self._clock.left
            )
            motion = self._from_outside(line.trajectory)
            if motion is not None:
                return self._planned(motion, line.rows)
            reason = line.reason or 'the start cannot come inside the limits without a collision'
            bodies = line.bodies
        status = PlanStatus.NO_PLAN
        return self._failed(status if bodies else self._clock.status(status), reason, bodies)

    def _unplanned(self, postures: np.ndarray, pipeline: str) -> MotionPlan:
        """Return why there is no plan although start and goals are fine."""
        status = self._clock.status(PlanStatus.NO_PLAN)
        if pipeline == 'ptp':
            line = self._start + np.linspace(0.0, 1.0, 200)[:, None] * (postures[0] - self._start)
            found, bodies = _fault_on(self._check, line)
            return self._failed(status, f'the straight joint line is not free{found}', bodies)
        return self._failed(status)

    def _planned(self, trajectory: JointTrajectory, path: np.ndarray) -> MotionPlan:
        done, spent = PlanStatus.SUCCESS, self._clock.spent
        return MotionPlan(done, done.value, trajectory, path, None, spent, self._check.checks)

    def _failed(
        self, status: PlanStatus, detail: str = '', bodies: Bodies | None = None
    ) -> MotionPlan:
        reason = f'{status.value}: {detail}' if detail else status.value
        empty = np.empty((0, self._chain.n))
        spent, checks = self._clock.spent, self._check.checks
        return MotionPlan(status, reason, None, empty, bodies, spent, checks)


def _collide(bodies: Bodies) -> str:
    return f'{bodies[0]} and {bodies[1]} collide'


def _fault_on(check: MotionCheck, rows: np.ndarray) -> tuple[str, Bodies | None]:
    """Return in words what is wrong on a line of joint vectors (k, n), and bodies that collide."""
    bodies = next((b for q in rows if (b := check.contact(q)) is not None), None)
    found = _collide(bodies) if bodies else next(filter(None, map(check.unmet, rows)), '')
    return (f', as {found} on it' if found else ''), bodies


def plan_reconfigurations(
    chain: KinematicChain,
    path: PathResult,
    collisions: Collisions | CollisionTest | None = None,
    timeout: float = 1.0,
    random_seed: int = 0,
    limits: TimingLimits | MotionBounds | None = None,
) -> tuple[MotionPlan, ...]:
    """
    Plan the motion of each reconfiguration of a path, from the posture before to that after.

    :param path: the path, from :func:`~ik_service.solve_path`.
    :param collisions: checker or test of the collisions to avoid.
    :param timeout: time for each motion [s].
    :param random_seed: of all random numbers.
    :returns: a plan for each of ``path.reconfigurations``, or why there is none.
    :raises ArgumentError: path is no PathResult, or an argument is one that
        :func:`~ik_service.extras.planning.plan_motion.plan_motion` refuses.
    :raises MissingExtraError: OMPL is not installed.
    """
    check_kind(path, PathResult, 'path')
    return tuple(
        plan_motion(
            chain,
            each.before,
            each.after,
            collisions,
            timeout=timeout,
            random_seed=random_seed,
            limits=limits,
        )
        for each in path.reconfigurations
    )
