"""
Window of joint motion around the newest command, for controllers that play trajectories.

A controller that gets a new trajectory every few milliseconds samples each of them a few times.
So that its set-points move as smoothly as the commands do, consecutive windows agree where they
overlap: each holds the last commands as they were, so that "now" lies between two of its points
however late it arrives, then the newest one, and then the motion in case that nothing more comes.
It goes on for as long as some lost messages may take, and comes to rest within the limits.

Commands are positions after steps of constant speed. The waypoints lie in the middle of the
steps, where position and speed are those of a motion whose acceleration is constant from point to
point: a cubic through them keeps the bounds that the commands keep.

Ticks that are late would leave a window without commands. So steps take longer where ticks are
late, and are planned further ahead (:class:`StepClock`).

The motion that a controller plays when a window arrives is that of the window before. When a tick
was late, that is a part of the motion in case that nothing more comes; from where this ended,
the motion comes back to the commands within the limits. So does a motion that begins while the
one before still runs or the arm stands where it has ended. Where steps of uneven lengths would
need more than the acceleration, it leaves the commands a little, and comes back slowly.

A command moves on by one period at most, however late its tick was; a window whose steps took no
longer would run out of commands, a little with every late tick. So its steps take longer, by the
share by which ticks have been late lately, and are planned further ahead, by as much as the next
may be late. Both change slowly: a phase-locked loop, as in the jitter buffers of audio
streams. Steps are never shorter than their ticks, so steps planned further ahead come nearer
again only when the motion rests.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ik_service.motion.command.joint_motion import JointMotion
from ik_service.motion.command.motion_limits import AVERAGED, clamped, MotionLimits
from ik_service.paths.trajectory.joint_trajectory import (
    JointTrajectory,
    segment_coefficients,
    time_powers,
)

_ROUNDING = 1e-6  # share by which a step may be beyond the limits of its speed and its change
_COMING_BACK = 0.1  # time constant with which a motion comes back to the commands [s]
_LITTLE = 0.1  # distance made up for in one step, as a share of acceleration times time squared
_UNLIMITED = 1e9  # acceleration for an infinite one, which makes NaN of a speed of 0
_NO_MOTION = 1e-12  # distance that counts as none [rad] or [m]


@dataclass(frozen=True)
class CommandStep:
    """
    Step from one waypoint to the next.

    :ivar q: (n,) where it begins [rad] or [m].
    :ivar velocity: (n,) velocities there [rad/s] or [m/s].
    :ivar braking: (n,) largest decrease of the speeds, in shares of the velocity limits [1/s].
    :ivar fastest: (n,) highest speeds that were allowed since the motion began [rad/s] or [m/s].
    :ivar dt: how long it takes [s].
    """

    q: np.ndarray
    velocity: np.ndarray
    braking: np.ndarray
    fastest: np.ndarray
    dt: float

    def may_lead_to(
        self, q: np.ndarray, velocity: np.ndarray, limits: MotionLimits, uneven: bool = False
    ) -> bool:
        """
        Return whether a cubic may lead to a waypoint (n,), as to its speed and acceleration.

        :param uneven: whether it may be fastest between the waypoints.
        """
        rounding = _ROUNDING * limits.unit
        change = self.braking * limits.unit * (self.dt * (1.0 + _ROUNDING)) + rounding
        slow = np.abs(velocity) <= self.fastest + rounding
        starts, ends = changes = cubic_changes(self.q, self.velocity, q, velocity, self.dt)
        if uneven:
            turns = starts * ends < 0.0
            peak = self.velocity[turns] - 0.5 * starts[turns] ** 2 / (ends - starts)[turns]
            slow[turns] &= np.abs(peak) <= (self.fastest + rounding)[turns]
        return bool((slow & (np.abs(changes) <= change)).all())

    def towards(
        self, q: np.ndarray, velocity: np.ndarray, limits: MotionLimits, slowly: bool
    ) -> tuple[np.ndarray, np.ndarray]:
        """
        Return where it leads when it is to come to a waypoint, but keeps the limits.

        Its acceleration is constant.

        :param q: (n,) positions of the waypoint [rad] or [m].
        :param velocity: (n,) its velocities [rad/s] or [m/s].
        :param slowly: whether it comes there slowly, and not as soon as it may.
        :returns: positions (n,) [rad] or [m] and velocities (n,) [rad/s] or [m/s].
        """
        half = 0.5 * self.dt
        motion = JointMotion(self.q + half * self.velocity)
        begins = motion.q
        motion.speed, motion.braking = self.velocity / limits.unit, self.braking
        goal = self._nearer(q, velocity, limits) if slowly else q + half * velocity
        motion.track(goal, velocity, limits, self.dt)
        moved = motion.q - begins
        speeds = np.where(np.abs(moved) > _NO_MOTION, moved / self.dt, 0.0)
        gentle = self._gently(speeds, limits)
        end = self.q + half * (self.velocity + gentle)
        return np.where((gentle == 0.0) & (moved != 0.0), motion.q, end), gentle

    def _nearer(self, q: np.ndarray, velocity: np.ndarray, limits: MotionLimits) -> np.ndarray:
        """
        Return the position half a step after a waypoint (n,), in approach to it.

        A motion that comes back slowly stays near commands that brake as sharply as they may.
        """
        half = 0.5 * self.dt
        along = self.q + half * self.velocity + self.dt * velocity
        away = q + half * velocity - along
        little = _LITTLE * self.braking * limits.unit * self.dt**2
        most = np.maximum(np.abs(away) * min(self.dt / _COMING_BACK, 1.0), little)
        return along + clamped(away, -most, most)

    def _gently(self, speeds: np.ndarray, limits: MotionLimits) -> np.ndarray:
        """
        Return speeds (n,) at the end, or those next to them within the acceleration.

        A joint that cannot rest inside its limits so gently brakes as sharply as it has to.
        """
        v, dt = self.velocity, self.dt
        braking = clamped(self.braking * limits.unit, 1e-9, _UNLIMITED)
        room = np.where(v > 0.0, limits.upper - self.q, self.q - limits.lower)
        needed = np.maximum(braking, v * v / (2.0 * np.maximum(room, _NO_MOTION)))
        gentle = clamped(speeds, v - needed * dt, v + needed * dt)
        end = self.q + 0.5 * dt * (v + gentle)
        # Where that is beyond a limit, it has turned round before.
        most = np.minimum(needed * dt, np.maximum(braking * dt, 2.0 * np.abs(v)))
        sharp = np.where(limits.inside(end, self.q) == end, gentle, v - np.sign(v) * most)
        return clamped(sharp, -self.fastest, self.fastest)


def cubic_changes(
    q: np.ndarray, velocity: np.ndarray, end: np.ndarray, end_velocity: np.ndarray, dt: float
) -> np.ndarray:
    """
    Return the accelerations of a cubic at its start and its end, times its length, (2, n).

    :param q: (n,) positions at its start [rad] or [m].
    :param velocity: (n,) velocities there [rad/s] or [m/s].
    :param end: (n,) positions at its end.
    :param end_velocity: (n,) velocities there.
    :param dt: how long it takes [s].
    """
    mean = (end - q) * (6.0 / dt)
    return np.array(
        [mean - 4.0 * velocity - 2.0 * end_velocity, 2.0 * velocity + 4.0 * end_velocity - mean]
    )


_LONGEST = 0.5  # longest time in which a motion comes to where it rests [s]

_Points = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Times (k,) [s] above 0, positions (k, n) and velocities (k, n)."""


def motion_to_rest(
    q: np.ndarray,
    velocity: np.ndarray,
    limits: MotionLimits,
    braking: np.ndarray,
    coast: float,
    shortest: float,
) -> _Points:
    """
    Return how joints go on with their velocity for a while, and come to rest inside their limits.

    All slow down in proportion, as quickly as the braking allows; one that would go beyond its
    limit stops there.

    :param q: (n,) where they are [rad] or [m].
    :param velocity: (n,) how fast they move [rad/s] or [m/s].
    :param braking: (n,) largest decrease of the speeds since they rested, in shares of the
        velocity limits [1/s]: joints that could stop in time still can when limits change.
    :param coast: time for which they go on at most [s]; shorter where a limit is near.
    :param shortest: shortest time in which they come to rest [s], where no acceleration is given.
    :returns: times (k,) [s] above 0, positions (k, n) and velocities (k, n); k is 0 at rest.
    """
    size = np.abs(velocity)
    if not size.any():
        return np.zeros(0), np.zeros((0, len(q))), np.zeros((0, len(q)))
    moving = size > 0.0
    speed = np.where(moving, size, 1.0)
    duration = max(float((size / np.maximum(braking * limits.unit, 1e-9)).max()), shortest)
    room = np.maximum(np.where(velocity > 0.0, limits.upper - q, q - limits.lower), 0.0)
    free = np.where(moving, room / speed, np.inf) - 0.5 * duration  # before it has to slow down
    before = min(max(float(free.min()), 0.0), coast)
    ramps = np.where(free < before, 2.0 * (free + 0.5 * duration - before), duration)
    ramps = np.maximum(ramps, 1e-3)
    ends = np.unique(np.round(before + ramps, 6))
    times = ends if before < 1e-4 else np.concatenate([[before], ends])
    into = np.clip(times[:, None] - before, 0.0, ramps)
    covered = np.minimum(times, before)[:, None] + into - into**2 / (2.0 * ramps)
    velocities = velocity * np.maximum(1.0 - into / ramps, 0.0)
    velocities[-1] = 0.0
    return times, limits.inside(q + velocity * covered, q), velocities


def motion_to(
    goal: np.ndarray,
    q: np.ndarray,
    velocity: np.ndarray,
    limits: MotionLimits,
    braking: np.ndarray,
    period: float,
) -> _Points | None:
    """
    Return how joints come to rest at a goal.

    :param goal: (n,) where they shall rest [rad] or [m].
    :param q: (n,) where they are [rad] or [m].
    :param velocity: (n,) how fast they move [rad/s] or [m/s].
    :param braking: as of :func:`motion_to_rest`.
    :param period: length of the steps in which they go there, and of the one before [s].
    :returns: as of :func:`motion_to_rest`; None when that takes too long.
    """
    motion, still = JointMotion(q), np.zeros_like(q)
    motion.speed, motion.braking = velocity / limits.unit, braking
    points = []
    for k in range(round(_LONGEST / period)):
        before = motion.q
        motion.track(goal, still, limits, period)
        middle = 0.5 * (before + motion.q), (motion.q - before) / period
        points.append(((k + 0.5) * period, *middle))
        if motion.at_rest and (before == goal).all() and (motion.q == goal).all():
            break
    else:
        return None
    times, positions, velocities = zip(*points, strict=True)
    return np.array(times), np.array(positions), np.array(velocities)


_LATENESS, _RESERVE, _CORRECTION = 0.3, 2.0, 0.1
"""Time constants of the share, of the reserve, and of coming to the wanted time [s]."""

_LATER, _MOST = 3.0, 1.5
"""Reserve for ticks in a row, in ticks as late as the last ones; in periods, at most."""

_GENTLE = 0.1  # share of the acceleration that a change of the ratio takes
_SLOWEST = 2.0  # largest ratio


@dataclass(frozen=True)
class StepClock:
    """
    Length of steps, and how far ahead they are planned.

    :ivar ratio: length of the last step by that of its tick.
    :ivar lateness: by how much ticks have been late lately, as a share of the time between them.
    :ivar reserve: how much further ahead steps are planned [s].
    """

    ratio: float = 1.0
    lateness: float = 0.0
    reserve: float = 0.0

    def ticked(self, elapsed: float, period: float) -> StepClock:
        """Return the clock after a tick [s]; one that stalls by more than a period is ignored."""
        late, dt = max(elapsed - period, 0.0), min(elapsed, period)
        if late > period:
            return self
        share = min(dt / _LATENESS, 1.0)
        lateness = self.lateness + share * (late / dt - self.lateness)
        needed = min(_LATER * late, _MOST * period)
        reserve = max(needed, self.reserve * max(1.0 - dt / _RESERVE, 0.0))
        return replace(self, lateness=lateness, reserve=reserve)

    def stepped(self, until: float, dt: float, braking: float) -> StepClock:
        """
        Return the clock after a step.

        :param until: from its begin to when its end is wanted, but for the reserve [s].
        :param dt: length of its tick [s].
        :param braking: largest decrease of the speeds, in shares of the fastest [1/s].
        """
        wanted = 1.0 + self.lateness + (until + self.reserve - self.ratio * dt) / _CORRECTION
        change = _GENTLE * braking * dt
        ratio = min(max(wanted, self.ratio - change), self.ratio + change, _SLOWEST)
        return replace(self, ratio=max(ratio, 1.0))  # shorter steps would brake more sharply


HISTORY = 0.05  # length of a window's past [s]: the lag that a controller's clock may have
AHEAD = 0.1  # shortest length of a window's future [s]

DELAY, MARGIN = 1.5, 0.005
"""
Time from a command to when it is to be reached: in periods, and for the transport [s]; more where
ticks are late. The next
command then arrives before the window is played any further than its commands are final.
"""

COAST = 0.05  # time for which a motion goes on without new commands [s], three periods at least

_EVEN = 0.75, 1.5
"""
Time between the middles of two steps, by the length of the second: a cubic between them is fastest
at one of its ends, as long as neither step is more than twice as long as the other.
"""

_SPACING = 0.008  # time between points of the past, at least [s]

_NOTHING, _SAME = 1e-6, 1e-9
"""Lateness that counts as none [s]; difference of positions that does [rad or m]."""

_NEAR = 1e-4  # time between two points that is so short that one of them is enough [s]

_STANDS = 1e-3
"""
Distance from the end of the last motion at which a joint still begins there [rad] or [m]: it is
for rounding alone, as the first command is that end where the arm only sags.
"""

_Point = tuple[float, np.ndarray, np.ndarray]
"""Time on the clock of the commands [s], positions (n,), velocities (n,)."""


@dataclass(frozen=True)
class PlannedMotion:
    """
    Motion of a window.

    :ivar start: when it begins, on the clock of the commands [s].
    :ivar trajectory: its points; the last one rests.
    :ivar fresh: whether it begins at rest where the arm is, whatever was sent before.
    """

    start: float
    trajectory: JointTrajectory
    fresh: bool = False

    def at(self, now: float) -> tuple[np.ndarray, np.ndarray]:
        """Return positions (n,) [rad] or [m] and velocities (n,) [rad/s] or [m/s] at a time."""
        motion, t = self.trajectory, max(now - self.start, 0.0)
        assert motion.velocities is not None
        if t >= motion.duration:  # exactly at rest, without rounding
            return motion.positions[-1].copy(), np.zeros_like(motion.positions[-1])
        i = min(int(motion.times.searchsorted(t, 'right')), len(motion) - 1) - 1
        around = motion.times[i : i + 2], motion.positions[i : i + 2], motion.velocities[i : i + 2]
        polynomials = segment_coefficients(*around, None)
        q, velocity, _ = time_powers(t - motion.times[i]) @ polynomials[0]
        return q, velocity

    def has_ended_elsewhere(self, q: np.ndarray, now: float) -> bool:
        """Return whether it is over, and joints stand elsewhere (n,) than at its end."""
        far = np.abs(self.trajectory.positions[-1] - q) > _STANDS
        return now >= self.start + self.trajectory.duration and bool(far.any())


@dataclass(frozen=True)
class _State:
    points: tuple[_Point, ...] = ()
    command: np.ndarray | None = None  # the newest command
    due: float = 0.0  # when the step to there ends
    now: float = 0.0  # when it was made
    braking: np.ndarray | None = None  # largest decrease of the speeds since rest [1/s]
    fastest: np.ndarray | None = None  # highest speeds allowed since rest
    apart: bool = False  # whether the motion is returning to the commands
    led: bool = False  # whether a late tick has led it away from them
    fresh: bool = False  # whether it begins where the arm rests, whatever was sent before
    clock: StepClock = field(default_factory=StepClock)  # how long steps take
    sent: PlannedMotion | None = None


class CommandWindow:
    """Window of motion over the commands of n joints."""

    def __init__(self, joint_names: Sequence[str]) -> None:
        self._names = tuple(joint_names)
        self._state = self._before = self._sent = self._sent_before = _State()
        self._played: PlannedMotion | None = None  # the window before the last one

    def rested(self, joints: np.ndarray) -> np.ndarray:
        """Return which of joints (k,) rest in all of the last window, or in none yet."""
        sent = self._state.sent
        if sent is None:
            return np.ones(len(joints), bool)
        assert sent.trajectory.velocities is not None
        return np.asarray(~sent.trajectory.velocities[:, joints].any(axis=0))

    @property
    def final(self) -> np.ndarray | None:
        """Positions (n,) at the end of the last window [rad] or [m]; None before any."""
        sent = self._state.sent
        return None if sent is None else sent.trajectory.positions[-1]

    def end(self) -> None:
        """Forget the commands, but not those sent; the next one begins a new motion."""
        last = self._state
        sent = _State(braking=last.braking, fastest=last.fastest, sent=last.sent)
        self._state = self._before = sent

    def mark_sent(self) -> None:
        """Take note that the last window was sent, where not all of them are."""
        self._sent_before, self._sent = self._sent, self._state

    def unmark_sent(self) -> None:
        """Take note that it was not sent after all."""
        self._sent = self._sent_before

    def back_to_sent(self) -> None:
        """Drop the commands after the last window that was sent: the controller plays that one."""
        self._state = self._before = self._sent

    def discard(self) -> None:
        """Drop the commands of this tick; the next one goes on from the window before the last."""
        self._state = replace(self._before, sent=self._played)

    def add(
        self,
        q: np.ndarray,
        limits: MotionLimits,
        now: float,
        period: float,
        coast: bool = True,
        history: float = HISTORY,
        averaged: float = 0.0,
    ) -> PlannedMotion:
        """
        Add a command, and return the window around it.

        A command of the same tick as the one before replaces that one.

        :param q: (n,) the command [rad] or [m]; the first one is at rest.
        :param coast: whether the motion goes on for a while when nothing more comes; otherwise it
            slows down at once.
        :param history: how far the window reaches into the past [s].
        :param averaged: time over which the window will be averaged [s]; it reaches farther into
            the past by that, with all commands.
        """
        last = self._state
        self._played = last.sent
        if last.command is not None and now - last.now < 0.25 * period:
            last = self._before
        self._before = last
        self._state = self._next(last, q, limits, now, period, history, averaged)
        longest = max(COAST, 3.0 * period) if coast else 0.0
        resting = last.command is not None and not (q != last.command).any()
        planned = self._planned(limits, longest, period, resting, AVERAGED if averaged else 1.0)
        self._state = replace(self._state, sent=planned)
        return planned

    def _next(
        self,
        last: _State,
        command: np.ndarray,
        limits: MotionLimits,
        now: float,
        period: float,
        history: float,
        averaged: float,
    ) -> _State:
        wanted, oldest = now + DELAY * period + MARGIN, now - history - averaged
        if last.command is None:
            last = _begun(last, command, limits, now, period, oldest, averaged)
            if last.fresh:
                return replace(last, due=wanted)
        assert last.command is not None
        assert last.braking is not None
        assert last.fastest is not None
        points, begins, final = _reaching(last.points, oldest), last.due, now + MARGIN
        late = begins < final + max(0.5 * period, begins - points[-1][0]) - _NOTHING
        elapsed, travel = now - last.now, command - last.command
        braking, dt = float(limits.braking.min()), min(elapsed, period)
        clock = last.clock.ticked(elapsed, period).stepped(wanted - begins, dt, braking)
        dt *= clock.ratio
        if late and last.sent is not None:
            begins = max(begins, final + 0.5 * max(period, dt))
            points = _gone_on(points, last.sent, begins, dt)
        (since, there, before), due = points[-1], begins + dt
        middle, speed = 0.5 * (last.command + command), travel / dt
        moving, fastest = bool(before.any()), limits.velocity_now
        slows = limits.braking_since_rest(last.braking, moving)
        fastest = np.maximum(last.fastest, fastest) if moving else fastest
        step = CommandStep(there, before, slows, fastest, begins + 0.5 * dt - since)
        uneven = not _EVEN[0] * dt <= step.dt <= _EVEN[1] * dt
        apart = late or last.apart or not step.may_lead_to(middle, speed, limits, uneven)
        led, moved, velocity = late or last.led, middle, speed
        if apart:
            moved, velocity = step.towards(middle, speed, limits, slowly=not led)
        if not (before.any() or speed.any() or velocity.any()):  # a lead may be given up
            due = max(wanted + clock.reserve, begins + 0.5 * dt)
        point = 0.5 * (begins + due), moved, velocity
        few = np.zeros_like(slows) if averaged else slows * limits.unit
        points = (*_thinned(points, now, oldest, few), point)
        apart = apart and not (_same(moved, middle) and _same(velocity * dt, speed * dt))
        led = led and apart
        return replace(
            last,
            points=points,
            command=command,
            due=due,
            now=now,
            braking=slows,
            fastest=fastest,
            apart=apart,
            led=led,
            fresh=False,
            clock=clock,
        )

    def _planned(
        self, limits: MotionLimits, coast: float, period: float, resting: bool, share: float
    ) -> PlannedMotion:
        """Return the window: past, newest command, and motion to rest by a share of braking."""
        state = self._state
        start, (middle, there, velocity) = state.points[0][0], state.points[-1]
        slows = limits.braking if state.braking is None else state.braking
        ending, goal = None, state.command if state.apart and resting else None
        if goal is not None:  # it may be the last command
            half = 0.5 * period
            ending = motion_to(goal, there + half * velocity, velocity, limits, slows, period)
            ending = ending and (ending[0] + half, *ending[1:])
        coast += state.due - middle
        if ending is None:
            ending = motion_to_rest(there, velocity, limits, share * slows, coast, period)
        times, positions, velocities = ending
        end = state.due - middle + AHEAD
        if not len(times) or end > times[-1] + _NEAR:
            rest = positions[-1] if len(times) else there
            times = np.append(times, end)
            positions = np.vstack([positions, rest])
            velocities = np.vstack([velocities, np.zeros_like(rest)])
        past = np.array([time for time, _, _ in state.points])
        trajectory = JointTrajectory(
            self._names,
            np.concatenate([past, middle + times]) - start,
            np.vstack([*(q for _, q, _ in state.points), positions]),
            np.vstack([*(v for _, _, v in state.points), velocities]),
        )
        return PlannedMotion(start, trajectory, fresh=state.fresh)


def _begun(
    last: _State,
    command: np.ndarray,
    limits: MotionLimits,
    now: float,
    period: float,
    since: float,
    averaged: float,
) -> _State:
    """
    Return the state before the first command of a motion.

    It continues the motion sent while that still moves, or from where the joints stand at its end;
    otherwise they rest at the command.
    """
    sent, still, final = last.sent, np.zeros_like(command), now + MARGIN
    if sent is None or sent.has_ended_elsewhere(command, final - averaged):
        begun = (since, command, still), (final + period, command, still)
        return _State(
            begun,
            command,
            now=now,
            braking=limits.braking,
            fastest=limits.velocity_now,
            fresh=True,
        )
    assert last.braking is not None
    assert last.fastest is not None
    moving = bool(sent.at(final)[1].any())
    return replace(
        last,
        points=((since, *sent.at(since)),),
        command=command,
        due=final + 0.5 * period,
        now=now - period,
        braking=limits.braking_since_rest(last.braking, moving),
        led=True,
        clock=StepClock(),
    )


def _reaching(points: tuple[_Point, ...], since: float) -> tuple[_Point, ...]:
    """Return points that reach back to a time [s], as where joints are averaged over more now."""
    time, q, velocity = points[0]
    if time <= since + _NEAR:
        return points
    return ((since, q - (time - since) * velocity, velocity), *points)


def _thinned(
    points: tuple[_Point, ...], now: float, since: float, acceleration: np.ndarray
) -> tuple[_Point, ...]:
    """
    Return the points that a controller may still need; of the past few are enough.

    A cubic over points that are left out keeps the acceleration (n,), too.
    """
    old = [i for i, (time, _, _) in enumerate(points) if time <= since]
    points = points[old[-1] if old else 0 :]
    kept = [points[0]]
    for point, after in zip(points[1:], (*points[2:], None), strict=True):
        past = after is not None and after[0] <= now
        if (
            not past
            or point[0] - kept[-1][0] >= _SPACING
            or not _is_gentle(kept[-1], after, acceleration)
        ):
            kept.append(point)
    return tuple(kept)


def _is_gentle(point: _Point, after: _Point | None, acceleration: np.ndarray) -> bool:
    """Return whether the cubic between two points keeps an acceleration (n,)."""
    if after is None:
        return False
    (time, q, velocity), (end_time, end, end_velocity) = point, after
    dt = end_time - time
    changes = np.abs(cubic_changes(q, velocity, end, end_velocity, dt))
    return bool((changes <= acceleration * (dt * (1.0 + _NOTHING)) + _SAME).all())


def _gone_on(
    points: tuple[_Point, ...], sent: PlannedMotion, begins: float, dt: float
) -> tuple[_Point, ...]:
    """
    Return the points up to a step after a late tick.

    The points are those of the window before, whose motion in case that nothing more comes the
    controller plays by then.
    """
    last, motion = points[-1][0], sent.trajectory
    since = max(begins - 0.5 * dt, last)  # as far before the step as its middle is after that
    times = (sent.start + motion.times).tolist()
    since = next((time for time in times if since - _NEAR <= time < since), since)
    there, velocity = sent.at(since)
    between = tuple(
        (time, motion.positions[i], sent.at(time)[1])
        for i, time in enumerate(times)
        if last + _NEAR < time < since - _NEAR
    )
    if since > last + _NEAR:
        points = (*points, *between, (since, there, velocity))
    return points


def _same(a: np.ndarray, b: np.ndarray) -> bool:
    return bool((np.abs(a - b) <= _SAME).all())
