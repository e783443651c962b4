"""Playback of trajectories: fitting to an arm, tolerances, progress and outcome."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np

from ik_service.kinematics.chain import KinematicChain
from ik_service.model.joint import JointType
from ik_service.motion.command.motion_limits import MotionLimits
from ik_service.motion.goal import MotionGoal, REST, Step, Tick
from ik_service.motion.settings import FollowerState
from ik_service.paths.timing.clock_rates import ClockGrid
from ik_service.paths.trajectory.joint_trajectory import JointTrajectory, starting_from
from ik_service.paths.trajectory.limit_check import check_limits, TrajectoryLimits

START_TOLERANCE = (0.05, 0.01)
"""Largest distance of a trajectory's start from the arm: rotary joints [rad], prismatic [m]."""

GOAL_TOLERANCE = (0.02, 0.005)  # goal tolerance where none is given [rad], [m]


def fitted(
    trajectory: JointTrajectory,
    chain: KinematicChain,
    place: np.ndarray,
    limits: TrajectoryLimits | None = None,
    velocity: np.ndarray | None = None,
) -> JointTrajectory:
    """
    Return a trajectory as an arm can move along it, after all checks.

    :param trajectory: a trajectory of the joints of the chain, in any order.
    :param place: (n,) its position, or its last command [rad] or [m].
    :param limits: limits of its joints; None for those of the robot, which has none of
        accelerations (:class:`~ik_service.model.motion_bounds.MotionBounds` may have).
    :param velocity: (n,) how fast it is commanded to move there [rad/s] or [m/s]; None at rest.
    :returns: in the order of the chain, starting at or near there, with continuous joints on
        its turn.
    :raises TrajectoryError: for other joints, it does not start there, leaves the limits, or does
        not end at rest; names the point and the joint.
    """
    ordered = trajectory.of_joints(chain.joint_names)
    unlimited = np.isinf(chain.lower) & np.isinf(chain.upper)
    turns = np.where(unlimited, chain.arrays.turn, 0.0)
    begun = starting_from(ordered, place, turns, per_joint(chain, START_TOLERANCE), velocity)
    limits = limits or limits_of(chain)
    # A joint that is outside its limits may stay there, or come back.
    lower, upper = np.minimum(limits.lower, place), np.maximum(limits.upper, place)
    bounds = replace(limits, lower=lower, upper=upper)
    check_limits(begun, bounds, len(ordered) - len(begun))
    return begun


def limits_of(chain: KinematicChain) -> TrajectoryLimits:
    """Return the limits of a chain's robot."""
    none = np.full(chain.n, np.inf)
    return TrajectoryLimits(chain.lower, chain.upper, chain.velocity, none)


def per_joint(chain: KinematicChain, sizes: tuple[float, float]) -> np.ndarray:
    """
    Return a size (n,) for each joint of a chain.

    :param sizes: that of rotary joints [rad], and that of prismatic ones [m].
    """
    kinds = [chain.robot.joints[name].type for name in chain.joint_names]
    return np.array([sizes[kind is JointType.PRISMATIC] for kind in kinds])


GOAL_TIME = 5.0  # time after its end in which the arm has to arrive, where none is given [s]


class TrajectoryEnd(Enum):
    """Outcome of a trajectory; each value is a sentence about it."""

    REACHED = 'the arm is at the end of the trajectory'
    CANCELED = 'canceled; the arm has come to rest on the trajectory'
    OFF_PATH = 'the path tolerance was exceeded'
    OFF_GOAL = 'the goal tolerance was not met in time'
    STOPPED = 'the trajectory was aborted'
    INVALID = 'the trajectory is invalid'
    INVALID_JOINTS = 'the trajectory names the wrong joints'
    OLD_STAMP = 'the trajectory has already ended by its stamp'
    REFUSED = 'the arm may not be moved now'
    PREEMPTED = 'the trajectory was preempted by a stop of all motion, or by a newer goal'


@dataclass(frozen=True)
class TrajectoryOutcome:
    """
    End of a trajectory, and its reason.

    :ivar end: the kind of end.
    :ivar reason: why, in a sentence.
    """

    end: TrajectoryEnd
    reason: str


@dataclass(frozen=True)
class TrajectoryTolerances:
    """
    Largest deviations of an arm from a trajectory; inf for any distance.

    :ivar path: (n,) along the path [rad] or [m].
    :ivar goal: (n,) at the end [rad] or [m].
    :ivar goal_time: how long after the end of the trajectory it may take to get there [s].
    :ivar path_velocity: (n,) how much faster or slower it may be along it [rad/s] or [m/s];
        None for any velocity.
    :ivar goal_velocity: (n,) how fast it may be at the end [rad/s] or [m/s]; None for any.
    """

    path: np.ndarray
    goal: np.ndarray
    goal_time: float = GOAL_TIME
    path_velocity: np.ndarray | None = None
    goal_velocity: np.ndarray | None = None


@dataclass(frozen=True)
class TrajectoryProgress:
    """
    Progress of a trajectory, and the state of the arm.

    :ivar time: time in the trajectory [s].
    :ivar q: (n,) where the arm shall be [rad] or [m].
    :ivar velocity: (n,) how fast it shall move [rad/s] or [m/s].
    :ivar acceleration: (n,) the trajectory's acceleration at the present rate of its clock.
    :ivar measured: (n,) where it is [rad] or [m].
    """

    time: float
    q: np.ndarray
    velocity: np.ndarray
    acceleration: np.ndarray
    measured: np.ndarray


_SHARE = 0.97
"""Share of the accelerations that is planned with; the rest is for ticks of finite length."""

_CORNER = 0.5
"""Share of a period in which a velocity that jumps may change; the rest is for the rate."""

_CATCHING_UP = 0.7
"""Share of the accelerations that is used while the command is behind the trajectory."""

JOINING_RATES = (1.0, 0.8, 0.6, 0.4, 0.2, 0.1)
"""Rates of the clock at which a trajectory may go on from a motion: the slower, the gentler."""

_NOTHING = 1e-9
_FURTHEST = 0.1  # from where the clock was to where the motion is, at most [s]
_WAIT = 2.0  # ticks by which the command may be behind before the clock waits for it


class TrajectoryGoal(MotionGoal):
    """
    Playback of a trajectory.

    The commands first go to its first point, then along it. Its clock runs at the rate 1 where
    the limits in force allow, slower where they do not, or where the arm does not keep up, so
    that the commands never leave the geometry of the trajectory; it slows down to a stop when
    the trajectory is canceled. When limits change, the rates are found anew in the next tick; the
    clock slows down to lower velocities within the accelerations from before.

    :param trajectory: the trajectory, of the joints of the follower's chain in their order.
    :param limits: the follower's limits.
    :param period: time between two commands [s].
    :param tolerances: how far the arm may be away; None for any distance.
    :param start_at: time on the monotonic clock at which it begins [s]; at once when that is
        over.
    :param measured_velocity: returns (n,) the measured velocities [rad/s] or [m/s], NaN where none
        is measured; those are not compared. Must not block.
    :param joins: rate of its clock at which its start continues the motion of the commands; 0
        where it does not.
    :param on_end: called once after the end, while the follower's lock is held; must not block.
    :ivar outcome: how it has ended; None before.
    :ivar progress: where it is; None before the first step.
    """

    kind = 'trajectory'
    slowing = False

    def __init__(
        self,
        trajectory: JointTrajectory,
        limits: MotionLimits,
        period: float,
        tolerances: TrajectoryTolerances | None = None,
        start_at: float = -np.inf,
        on_end: Callable[[], object] = lambda: None,
        measured_velocity: Callable[[], np.ndarray] | None = None,
        joins: float = 0.0,
    ) -> None:
        any_distance = np.full(len(trajectory.joint_names), np.inf)
        self.trajectory = trajectory
        self.outcome: TrajectoryOutcome | None = None
        self.progress: TrajectoryProgress | None = None
        self._tolerances = tolerances or TrajectoryTolerances(any_distance, any_distance)
        self._period, self._start_at, self._on_end = period, start_at, on_end
        self._joins = joins
        none = np.full(len(any_distance), np.nan)
        self._measured_velocity = measured_velocity or (lambda: none)
        self._grid = ClockGrid(trajectory)
        self._plan(limits)
        self._shift = np.zeros(len(any_distance))
        self._goal = trajectory.positions[0]
        self._time, self._rate, self._started = float(trajectory.times[0]), 0.0, False
        self._ended_at: float | None = None
        self._stopping: TrajectoryOutcome | None = None
        self._motion = trajectory.at(self._time)
        self._before, self._astray = self._place, False

    @property
    def can_join(self) -> bool:
        """Whether it stays on its path within the limits, from the rate at which it joins."""
        return self._rates.between(self._time, self._time) >= self._joins

    @property
    def _place(self) -> tuple[float, float, bool, float | None, np.ndarray]:
        """Time of the clock [s]."""
        return self._time, self._rate, self._started, self._ended_at, self._goal

    def cancel(self, reason: str = '') -> None:
        """
        Come to rest on the trajectory, within the limits.

        :param reason: why, when something else than the client wants it.
        """
        canceled = TrajectoryOutcome(TrajectoryEnd.CANCELED, TrajectoryEnd.CANCELED.value)
        stopped = TrajectoryOutcome(TrajectoryEnd.STOPPED, reason)
        self._stopping = self._stopping or (stopped if reason else canceled)

    def preempt(self, reason: str) -> None:
        """Come to rest on the trajectory, within the limits, as all motion stops for a reason."""
        self._stopping = self._stopping or TrajectoryOutcome(TrajectoryEnd.PREEMPTED, reason)

    # The seam of following

    @property
    def busy(self) -> bool:
        """Whether it is in progress."""
        return self.outcome is None

    @property
    def finished(self) -> bool:
        """Whether it has ended."""
        return self.outcome is not None

    def state(self, commanded: np.ndarray | None, resting: bool) -> FollowerState:
        """Return the follower's state with this goal."""
        return FollowerState.COLLISION_AHEAD if self.obstacle else FollowerState.TRAJECTORY

    def begin(self, q: np.ndarray, unwrapped: Callable[[np.ndarray], np.ndarray]) -> None:
        """Note that the commands start, at rest."""
        if self._joins:  # the commands have ended meanwhile
            self._joins = 0.0
            self._plan(self._limits)
        first = self.trajectory.positions[0]
        self._shift = unwrapped(first) - first
        self._goal = first + self._shift

    def replaced(self, kind: str) -> None:
        """Note that another goal has replaced it."""
        self.preempt(f'a newer {kind} has replaced it')
        self.ended('')

    def ended(self, reason: str) -> None:
        """Note the end."""
        if self.outcome is None:
            self.outcome = self._stopping or TrajectoryOutcome(TrajectoryEnd.STOPPED, reason)
        self._on_end()

    def missed(self) -> None:
        """Note that the last step was not done: go back to before it."""
        self._time, self._rate, self._started, self._ended_at, self._goal = self._before
        self._motion = self.trajectory.at(self._time)
        self._astray = True

    def step(self, tick: Tick) -> Step:
        """Return the set-point of the next command."""
        self._before = self._place
        if tick.limits is not self._limits:
            self._plan(tick.limits)
        if self.obstacle and self._stopping is None:
            self._stopping = TrajectoryOutcome(TrajectoryEnd.STOPPED, self.obstacle)
        if self.outcome is not None:
            return REST
        self._note(tick)
        if self._ended_at is not None:
            return self._settle(tick, self._ended_at)
        if self._joins and not self._started:
            self._started, self._rate, self._astray = True, self._joins, True
        if not self._started:
            return self._approach(tick)
        if tick.late or self._astray:
            self._find_place(tick)
        self._check_path(tick)
        if self._stopping is not None and self._rate == 0.0:
            self.outcome = self._stopping
            return REST
        return self._advance(tick)

    # Parts of a step

    def _plan(self, limits: MotionLimits) -> None:
        self._limits = limits
        limits = limits.averaged if limits.window else limits
        self._acceleration, self._fastest = limits.acceleration_now, limits.velocity_now
        self._rates = self._grid.highest_rates(
            self._fastest, _SHARE * self._acceleration, _CORNER * self._period, self._joins > 0.0
        )

    def _approach(self, tick: Tick) -> Step:
        """Wait for the start at the first point."""
        if self._stopping is not None:
            self.outcome = self._stopping
            return REST
        if tick.now < self._start_at:
            return REST
        if self._away(tick, tick.q).max(initial=0.0) > _NOTHING or tick.velocity.any():
            return Step(goal=self._goal)
        self._started = True
        if self._rates.between(self._time, self._time + tick.dt) >= 1.0:
            self._rate = tick.pace  # else the clock begins at rest, too
        return self._advance(tick)

    def _advance(self, tick: Tick) -> Step:
        """Go on along the trajectory."""
        time, self._rate = self._next_place(tick)
        if time >= self.trajectory.duration:
            time, self._ended_at, self._rate = self.trajectory.duration, tick.now, 0.0
        self._set_time(time)
        if self._ended_at is not None:
            return Step(goal=self._goal)
        return Step(self._goal, self._motion[1] * self._rate)

    def _away(self, tick: Tick, q: np.ndarray) -> np.ndarray:
        """Return how far commands are from the set-point, or a limit that it is beyond."""
        return np.abs(tick.limits.inside(self._goal, q) - q)[tick.limits.movable]

    def _is_near(self, tick: Tick) -> bool:
        """Return whether the commands are so little behind that the clock need not wait."""
        allowed = self._fastest[tick.limits.movable] * (_WAIT * tick.dt)
        return bool((self._away(tick, tick.leading[0]) <= allowed).all())

    def _set_time(self, time: float) -> None:
        self._time, self._motion = time, self.trajectory.at(time)
        self._goal = self._motion[0] + self._shift

    def _find_place(self, tick: Tick) -> None:
        """Set the clock to where the motion is on the trajectory, and as fast as that is."""
        self._astray = False
        along, (q, speed) = self._motion[1], tick.leading
        size = float(along @ along)
        if size <= 0.0:
            self._rate = self._rate if speed.any() else 0.0
            return
        self._rate = min(max(float(speed @ along) / size, 0.0), self._rate)
        ahead = float((q - self._goal) @ along) / size
        time = self._time + min(max(ahead, -_FURTHEST), _FURTHEST)
        self._set_time(min(max(time, float(self.trajectory.times[0])), self.trajectory.duration))

    def _next_place(self, tick: Tick) -> tuple[float, float]:
        """Return time and rate of the clock at the end of this tick."""
        rate, dt = self._rate, tick.dt
        on_it = (np.abs(self._goal - tick.leading[0])[tick.limits.movable] <= _NOTHING).all()
        ahead = self._rates.between(self._time, self._time + rate * dt)
        self.slowing = rate > ahead + _NOTHING
        waits = self._stopping is not None or not (on_it or self._is_near(tick))
        wanted = 0.0 if waits else min(ahead, tick.pace)
        share = _SHARE if on_it else _CATCHING_UP
        slower, faster = self._rate_changes(rate, share)
        wanted = min(wanted, rate + faster * dt)
        return self._rates.next_place(self._time, rate, slower, wanted, dt)

    def _rate_changes(self, rate: float, share: float) -> tuple[float, float]:
        """
        Return the lowest and the highest change of the rate in a second [1/s].

        :param share: of the accelerations that may be used to go on or faster.
        """
        _, velocity, acceleration = self._motion
        moving = np.abs(velocity) > _NOTHING
        if not moving.any():
            return -np.inf, np.inf
        size, limit = np.abs(velocity[moving]), self._acceleration[moving]
        pull = rate * rate * acceleration[moving] * np.sign(velocity[moving])
        faster = float(((share * limit - pull) / size).min())
        slower = float(((-_SHARE * limit - pull) / size).max())
        if faster < 0.0:
            # No joint's share is kept by braking harder than the others may: least of all that of
            # one that hardly moves, on whose acceleration a change of the rate has no effect.
            faster = max(faster, min(slower, 0.0))
        return min(slower, faster), faster

    def _check_path(self, tick: Tick) -> None:
        """Stop where the arm is too far from the trajectory."""
        # Commands of limited jerk are on the path, but later.
        place = tick.q if tick.limits.window else self._goal
        far = np.abs(tick.measured - place) - self._tolerances.path
        worst = int(far.argmax())
        if far[worst] > 0.0 and self._stopping is None:
            self._stopping = self._violation(TrajectoryEnd.OFF_PATH, worst, tick)
        speed = tick.velocity if tick.limits.window else self._motion[1] * self._rate
        excess = self._velocity_excess(self._tolerances.path_velocity, speed)
        if excess and self._stopping is None:
            self._stopping = TrajectoryOutcome(
                TrajectoryEnd.OFF_PATH, f'{TrajectoryEnd.OFF_PATH.value}: {excess}'
            )

    def _velocity_excess(self, allowed: np.ndarray | None, velocity: np.ndarray) -> str:
        """
        Return which joint is farthest beyond a tolerance of velocities; empty for none.

        :param allowed: (n,) tolerance [rad/s] or [m/s]; None for none.
        :param velocity: (n,) the desired velocity [rad/s] or [m/s].
        """
        if allowed is None:
            return ''
        measured = self._measured_velocity()
        away = np.nan_to_num(np.abs(measured - velocity), nan=0.0)
        j = int((away - allowed).argmax())
        if away[j] <= allowed[j]:
            return ''
        return (
            f'joint {self.trajectory.joint_names[j]!r} moves at {measured[j]:.4g}, not at '
            f'{velocity[j]:.4g}, at {self._time:.2f} s; {allowed[j]:.4g} of difference is allowed'
        )

    def _settle(self, tick: Tick, ended_at: float) -> Step:
        """Wait for the arm at the end."""
        resting = not tick.velocity.any()
        arrived = (self._away(tick, tick.q) <= _NOTHING).all()
        far = np.abs(tick.measured - self._goal) - self._tolerances.goal
        worst = int(far.argmax())
        excess = self._velocity_excess(self._tolerances.goal_velocity, np.zeros(len(far)))
        if self._stopping is not None and resting:
            self.outcome = self._stopping
        elif resting and arrived and far[worst] <= 0.0 and not excess:
            self.outcome = TrajectoryOutcome(TrajectoryEnd.REACHED, TrajectoryEnd.REACHED.value)
        elif tick.now - ended_at > self._tolerances.goal_time:
            if far[worst] > 0.0:
                self.outcome = self._violation(TrajectoryEnd.OFF_GOAL, worst, tick)
            elif excess:
                self.outcome = TrajectoryOutcome(
                    TrajectoryEnd.OFF_GOAL, f'{TrajectoryEnd.OFF_GOAL.value}: {excess}'
                )
        return Step(goal=self._goal)

    def _violation(self, end: TrajectoryEnd, j: int, tick: Tick) -> TrajectoryOutcome:
        name, away = self.trajectory.joint_names[j], abs(tick.measured[j] - self._goal[j])
        tolerances = self._tolerances
        on_path = end is TrajectoryEnd.OFF_PATH
        limit = (tolerances.path if on_path else tolerances.goal)[j]
        when = '' if on_path else f', {tolerances.goal_time:g} s after the end'
        reason = f'joint {name!r} is {away:.4f} away at {self._time:.2f} s{when}'
        return TrajectoryOutcome(end, f'{end.value}: {reason}; {limit:.4g} is allowed')

    def _note(self, tick: Tick) -> None:
        _, velocity, acceleration = self._motion
        self.progress = TrajectoryProgress(
            self._time,
            self._goal,
            velocity * self._rate,
            acceleration * self._rate**2,
            tick.measured,
        )


class Reservation(MotionGoal):
    """
    Goal that keeps others from moving the arm while a controller does; nothing is commanded.

    :param why: returns why nothing else may move the arm; must not block.
    :param on_end: called with the reason when something else ends it; must not block.
    :param on_replaced: called when another trajectory replaces it; must not block.
    """

    kind = 'trajectory'
    commands = False

    def __init__(
        self,
        why: Callable[[], str],
        on_end: Callable[[str], object],
        on_replaced: Callable[[], object] = lambda: None,
    ) -> None:
        self._why, self._on_end, self._on_replaced = why, on_end, on_replaced
        self._withdrawn = False

    @property
    def claim(self) -> str:
        """Reason nothing else may move the arm, also after something has ended the goal."""
        return '' if self._withdrawn else self._why()

    def withdraw(self) -> None:
        """Let others move the arm from now on."""
        self._withdrawn = True

    @property
    def ready(self) -> bool:
        """Never: commands of before come to rest."""
        return False

    @property
    def busy(self) -> bool:
        """Always, until it is released."""
        return True

    def step(self, tick: Tick) -> Step:
        """Return rest."""
        return REST

    def state(self, commanded: np.ndarray | None, resting: bool) -> FollowerState:
        """Return the follower's state."""
        return FollowerState.TRAJECTORY

    def replaced(self, kind: str) -> None:
        """Note that another trajectory has replaced it."""
        self.withdraw()
        self._on_replaced()

    def ended(self, reason: str) -> None:
        """Note the end."""
        self._on_end(reason)
