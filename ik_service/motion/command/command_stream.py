"""Stream of joint commands: step by step, every command through the gate."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ik_service.motion.collision_guard import CollisionGuard
from ik_service.motion.command.averaged_motion import JerkLimitedMotion
from ik_service.motion.command.joint_motion import JointMotion
from ik_service.motion.command.motion_kernels import (
    BRAKING,
    GOAL,
    motion_kernels,
    Q,
    ROWS_OF_STATE,
    SPEED,
)
from ik_service.motion.command.motion_limits import clamped, MotionLimits, remaining_share
from ik_service.motion.goal import REST, Step

_ROUNDING = 1e-9
"""Difference that counts as rounding: a share of the velocity limit, or a distance [rad or m]."""

_SLOW, _LONG, _REMEMBERED = 0.1, 0.5, 10
"""
Share of a period by which sending may be slower than expected without being noticed, share that is
expected at most, and number of messages the least delay of which is expected of the next one.
"""


class SendingTimes:
    """
    Times at which messages are really sent, as far as they can be known when one is made.

    A message counts from when it has been sent. How long that takes is known only afterwards, so
    that the least of the last times is expected of the next one.

    :ivar expected: how long it takes at least, from the tick to the end of sending [s].
    """

    def __init__(self) -> None:
        self.expected = 0.0
        self._delays = deque([0.0], maxlen=_REMEMBERED)
        self._unknown = False  # whether nothing is known of the sending of the last message

    def moment(self, now: float, period: float, begins: bool) -> float:
        """
        Return when the message of a tick will have been sent [s].

        :param now: time of the tick [s].
        :param period: time between two messages [s].
        :param begins: whether it is the first one of a stream.
        """
        if self._unknown and not begins:
            self.expect(0.0, period)
        self._unknown = not begins
        return now + self.expected

    def mark_sent(self, delay: float, period: float) -> float:
        """
        Take note that the last message was sent.

        :param delay: from the tick to the end of sending [s].
        :param period: time between two messages [s].
        :returns: how much longer than expected that took [s]; 0 where it is too little to count.
        """
        self._unknown = False
        late = delay - self.expected
        self.expect(delay, period)
        return late if late > _SLOW * period else 0.0

    def discard(self) -> None:
        """Take note that the last message was not sent."""
        self._unknown = False

    def expect(self, delay: float, period: float) -> None:
        """Expect that sending takes no less than it took lately: the last time `delay` [s]."""
        self._delays.append(delay)
        least = min(min(self._delays), _LONG * period)
        self.expected = least if least > _SLOW * period else 0.0


@dataclass
class GateCounts:
    """
    Counts of the gate's corrections; all are 0 in a healthy system.

    :ivar steps: positions that were not numbers, or too far for the velocity limits.
    :ivar speeds: changes of speed beyond the acceleration.
    :ivar limits: positions outside the joint limits.
    :ivar starts: starts elsewhere while the commands still moved.
    """

    steps: int = 0
    speeds: int = 0
    limits: int = 0
    starts: int = 0

    @property
    def total(self) -> int:
        """Sum of all counts."""
        return self.steps + self.speeds + self.limits + self.starts


class CommandGate:
    """
    Final check of every command to the arm.

    It knows the last command, its speed and its time; these alone bound the next
    command: no joint moves by more than its velocity limit × scaling × the time that has really
    passed, one period at most; no speed changes by more than the acceleration (or, coming to
    rest, the braking) allows; no joint leaves its limits. Anything else is brought inside these
    bounds, and counted. Commands count from when they have been sent.

    :ivar counts: numbers of corrections.
    :ivar times: when commands are sent, as far as is known.
    :ivar q: (n,) the last command [rad] or [m]; (0,) before the first.
    :ivar speed: (n,) its speed, in shares of the velocity limits.
    :ivar braking: (n,) largest decrease of that in a second since it last rested [1/s].
    :ivar sent_at: when it was sent [s]; −inf before the first.
    """

    def __init__(self) -> None:
        self.counts = GateCounts()
        self.times = SendingTimes()
        self.q = self.speed = self.braking = np.zeros(0)
        self.sent_at = -np.inf
        self._admit, self._rows = motion_kernels().admit, np.zeros((ROWS_OF_STATE, 0))

    def begin(self, q: np.ndarray, now: float) -> None:
        """
        Begin a stream of commands at the measured position of the arm.

        Only after the stream before has come to rest; otherwise that one goes on.

        :param q: (n,) the measured positions [rad] or [m].
        :param now: on a monotonic clock [s].
        """
        if self.speed.any():
            self.counts.starts += 1
            return
        self.q = np.array(q, dtype=np.float64)
        self.speed = np.zeros_like(self.q)
        self._rows = np.zeros((ROWS_OF_STATE, len(self.q)))
        self.sent_at = now + self.times.expected

    def elapsed(self, now: float) -> float:
        """Return the time from the sending of the last command to that of one made now [s]."""
        return now + self.times.expected - self.sent_at

    def slow_down(self, share: float, late: float) -> float:
        """
        Reduce the speed from which a late command goes on to that which the arm still has.

        No lower than the speed after braking in the meantime.

        :param share: of the last speed, 0 to 1.
        :param late: by how much the command is late [s].
        :returns: the share that is left.
        """
        if self.speed.any():
            least = remaining_share(np.abs(self.speed), self.braking * late)
            share = min(max(share, least), 1.0)
            self.speed = self.speed * share
        return share

    def admit(
        self, q: np.ndarray, limits: MotionLimits, now: float, period: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """
        Return a command as it is, or the nearest one within the bounds.

        :param q: (n,) positions [rad] or [m].
        :param limits: bounds on the motion.
        :param now: on the clock of :meth:`begin` [s], after the last command.
        :param period: time between two commands [s].
        :returns: (n,) positions, and (n,) speeds in shares of the velocity limits.
        """
        dt, last = min(self.elapsed(now), period), self.q
        if not (dt > 0.0 and q.shape == last.shape and np.isfinite(q).all()):
            self.counts.steps += 1
            dt, q = max(dt, 0.0), last
        moving = bool(np.count_nonzero(self.speed))
        self.braking = limits.braking_since_rest(self.braking, moving)
        asked, admitted = self._rows, np.empty((2, len(last)))
        asked[Q], asked[SPEED], asked[BRAKING], asked[GOAL] = last, self.speed, self.braking, q
        rounding = _ROUNDING * (1.0 + 1.0 / max(dt, 1e-9))
        if self._admit(asked, limits.rows, limits.scaling, dt, rounding, admitted):
            self._count(q, dt, limits)
        self.q, self.speed = admitted
        self.sent_at = now + self.times.expected
        return self.q, self.speed

    def _count(self, q: np.ndarray, dt: float, limits: MotionLimits) -> None:
        speed = (q - self.q) / (limits.unit * dt) if dt > 0.0 else np.zeros_like(q)
        outside = (q < np.minimum(limits.lower, self.q)) | (q > np.maximum(limits.upper, self.q))
        if outside.any():
            self.counts.limits += 1
        elif (np.abs(speed) > limits.scaling + _ROUNDING).any():
            self.counts.steps += 1
        else:
            self.counts.speeds += 1


class CommandVelocity:
    """
    Velocities of commands, which change within the accelerations.

    A step has a mean velocity. Where the motion goes on with another one at its end, that of its
    last half is nearer to the need of drives, which lag behind by as much. It is shown as far as
    both it and its change from command to command can be kept.

    :ivar last: (n,) velocities of the last command [rad/s] or [m/s]; None where the next one may
        be any, as after a late tick.
    """

    def __init__(self) -> None:
        self.last: np.ndarray | None = None

    def next(
        self, mean: np.ndarray, at_end: np.ndarray | None, limits: MotionLimits, dt: float
    ) -> np.ndarray:
        """
        Return the velocities (n,) to show [rad/s] or [m/s].

        :param mean: (n,) of the step [rad/s] or [m/s].
        :param at_end: (n,) with which the motion goes on; None where that is not known.
        """
        shown = mean
        if mean.any():
            most = dt * limits.acceleration_now
            lowest, highest = mean - 0.5 * most, mean + 0.5 * most
            shown = mean if at_end is None else clamped(at_end, lowest, highest)
            # As many changes from 0 as the motion, so that it can end when that ends.
            changes = np.maximum(np.ceil(np.abs(mean) / np.maximum(most, 1e-300)), 1.0)
            shown = clamped(shown, -changes * most, changes * most)
            if self.last is not None:
                shown = clamped(shown, self.last - most, self.last + most)
            fastest = np.maximum(np.abs(mean), limits.velocity_now)
            shown = clamped(clamped(shown, lowest, highest), -fastest, fastest)
        self.last = shown
        return shown


@dataclass(frozen=True, eq=False)
class FollowerCommand:
    """
    Command for the joints of a chain.

    :ivar q: (n,) positions [rad] or [m], read-only.
    :ivar velocity: (n,) the rate at which the commands move [rad/s] or [m/s], read-only.
    :ivar begins: whether it is the first one of a stream, at rest where the motion starts.
    :ivar leading: (n,) where the motion is whose moving average ``q`` is [rad] or [m], read-only;
        None where no jerk is limited.
    :ivar window: time over which is averaged [s]; 0 where no jerk is limited.
    """

    q: np.ndarray
    velocity: np.ndarray
    begins: bool = False
    leading: np.ndarray | None = None
    window: float = 0.0

    def __post_init__(self) -> None:
        for values in (self.q, self.velocity, self.leading):
            if values is not None:
                values.setflags(write=False)


_EARLY, _LATE = 0.5, 2.0
"""Shares of the period: nothing is commanded sooner; a tick that comes later is late."""

_EVEN = 0.9  # share of the period from which on a tick counts as even

_ON_THE_GOAL = 1e-6
"""Distance from a goal that moves which counts as none, as time at full speed [s]."""

_Snapshot = tuple[JointMotion, tuple[np.ndarray, np.ndarray, np.ndarray, float], np.ndarray | None]
"""A motion, the state of the gate, and the last velocities."""


class CommandStream:
    """
    Commands between two rests of an arm.

    :ivar gate: the last bound on them; it outlives every single stream.
    :ivar guard: keeps them free of collisions; None for no such guard.
    :ivar obstacle: the obstacle that held back the last command; empty for none.
    :ivar behind: how far the last command is from a goal that moves, as the time that it takes
        at full speed [s]; 0 without such a goal.
    :ivar period: time between two commands as of the last one [s], which follows a changed rate
        step by step where a jerk is limited; 0 before the second one.
    """

    def __init__(self) -> None:
        self.gate = CommandGate()
        self.guard: CollisionGuard | None = None
        self.obstacle = ''
        self.behind = 0.0
        self._velocity = CommandVelocity()
        self.period = 0.0
        self._stalled = 0.0
        self._unsent_from: _Snapshot | None = None
        self._motion: JointMotion | None = None

    @property
    def active(self) -> bool:
        """Whether there are commands."""
        return self._motion is not None

    @property
    def at_rest(self) -> bool:
        """Whether the commands stand still, or there are none."""
        return self._motion is None or self._motion.at_rest

    @property
    def q(self) -> np.ndarray | None:
        """The last command (n,) [rad] or [m]; None when there are none."""
        motion = self._motion
        return None if motion is None else motion.q

    @property
    def leading(self) -> tuple[np.ndarray, np.ndarray]:
        """Positions (n,) and speeds (n,) of the motion that goals are for."""
        assert self._motion is not None
        return self._motion.leading

    def bounds(self, limits: MotionLimits) -> MotionLimits:
        """Return the bounds of the commands now."""
        return limits if self._motion is None else self._motion.bounds(limits)

    def begin(self, q: np.ndarray, now: float, window: float = 0.0) -> FollowerCommand:
        """
        Return the first command: to be at rest where the arm is.

        :param q: (n,) measured positions [rad] or [m].
        :param window: time over which commands are averaged [s]; 0 for none.
        """
        self.gate.begin(q, now)
        self._unsent_from, self._stalled, self.behind, self.period = None, 0.0, 0.0, 0.0
        start = self.gate.q
        self._velocity.last = np.zeros_like(start)
        self._motion = JerkLimitedMotion(start, window) if window > 0.0 else JointMotion(start)
        still = np.zeros_like(start)
        return FollowerCommand(start.copy(), still, begins=True, window=window)

    def end(self) -> None:
        """Command nothing more; the commands have to be at rest."""
        self._motion = None

    def leave(self) -> None:
        """Command nothing more, also in motion: the arm follows somebody else by now."""
        self._motion, self.gate.q, self.gate.speed = None, np.zeros(0), np.zeros(0)

    def resume(
        self,
        limits: MotionLimits,
        now: float,
        period: float,
        measured_speed: Callable[[float], np.ndarray | None],
    ) -> bool | None:
        """
        Get ready for the next command, which goes on from the speed that the arm still has.

        :param measured_speed: returns how fast the arm moves now (n,) [rad/s] or [m/s], where a
            late tick goes on from; None when that is not known, and taken for rest.
        :returns: whether the tick is late; None when no command is due.
        """
        motion, elapsed = self._motion, self.gate.elapsed(now)
        if motion is None:
            return None
        shortest, longest = 0.0, np.inf
        if not _EVEN * self.period <= min(elapsed, period) <= self.period:
            shortest, longest = motion.tick_range(limits)
        if elapsed < max(_EARLY * period, shortest):
            return None
        period = min(max(period, shortest), longest)
        if self._unsent_from is not None:  # nothing is known of its sending
            self.gate.times.expect(0.0, period)
        self._unsent_from = self._snapshot(motion)
        # A tick is not late that the rate of the last command would have brought even later.
        expected = max(period, self.period)
        self.period = min(max(elapsed, period), expected)
        late = max(elapsed - self.period if elapsed > _LATE * expected else 0.0, self._stalled)
        self._stalled = 0.0
        if late <= 0.0:
            return False
        self._velocity.last = None
        planned = motion.speed * limits.velocity
        size = float(planned @ planned)
        speed = measured_speed(now)
        share = 0.0 if speed is None or not size else float(speed @ planned)
        motion.slow_down(self.gate.slow_down(share / size if size else 0.0, late))
        return True

    def advance(
        self, step: Step, limits: MotionLimits, now: float, period: float, pace: float = 1.0
    ) -> FollowerCommand:
        """Return the next command, after :meth:`resume`, at a pace of 0 to 1 times full speed."""
        motion, elapsed, self.obstacle = self._motion, self.gate.elapsed(now), ''
        assert motion is not None
        step = step if _is_sound(step, motion.q) else REST
        motion = self._motion = self._moved(motion, step, limits, now, period, pace)
        self.behind, at_end = 0.0, None
        if step.goal is not None and step.velocity is not None:
            self.behind = motion.behind
            if self.behind <= _ON_THE_GOAL and not limits.window:  # it would add to the jerk
                at_end = step.velocity
        mean, dt = motion.speed * limits.velocity, min(elapsed, period)
        velocity = self._velocity.next(mean, at_end, limits, dt)
        leading = motion.leading[0].copy() if motion.window else None
        return FollowerCommand(
            motion.q.copy(), velocity.copy(), leading=leading, window=motion.window
        )

    def _moved(
        self,
        motion: JointMotion,
        step: Step,
        limits: MotionLimits,
        now: float,
        period: float,
        pace: float,
    ) -> JointMotion:
        """Return the motion after a step where the guard allows that, otherwise slowing down."""
        guard, dt = self.guard, min(self.gate.elapsed(now), period)
        if guard is not None and step.leads_on:
            before, start, resting = self._snapshot(motion), motion.q, motion.at_rest
            ahead = _place_ahead(motion, step, limits)
            pace = min(pace, guard.pace(motion.q, ahead, limits, dt, 0.5 * motion.window))
            _perform(motion, step, limits, dt, pace, cautious=True)
            self._admit(motion, limits, now, period)
            verdict = guard.verdict(start, resting, motion, ahead, limits)
            if verdict.allowed:
                return motion
            self.obstacle, step = verdict.obstacle, REST
            tried, motion = motion, self._restored(before)
            motion.behind = tried.behind
        _perform(motion, step, limits, dt, pace)
        self._admit(motion, limits, now, period)
        return motion

    def _admit(self, motion: JointMotion, limits: MotionLimits, now: float, period: float) -> None:
        bounds = motion.bounds(limits)
        motion.q, motion.speed = self.gate.admit(motion.q, bounds, now, period)

    def mark_sent(self, delay: float, period: float) -> None:
        """
        Note that the last command was sent, and how long that took.

        When that was longer than expected, less time is left for the arm until the next command;
        when it was very long, the arm has slowed down meanwhile.

        :param delay: from the tick to the end of sending [s].
        """
        self._unsent_from = None  # commands sent cannot be discarded
        self.gate.sent_at += self.gate.times.mark_sent(delay, period)
        if delay > _LATE * period:
            self._stalled = delay

    def discard_late(self, delay: float, period: float, at_once: bool = False) -> bool:
        """
        Discard the last command if it is too late to send it, and go back to the one before.

        :param delay: since the tick [s].
        :param at_once: whether it is too late whatever the delay is.
        :returns: whether it is discarded.
        """
        if self._unsent_from is None or not (at_once or delay > _LATE * period):
            return False
        self._motion, self._unsent_from = self._restored(self._unsent_from), None
        return True

    def _snapshot(self, motion: JointMotion) -> _Snapshot:
        gate = self.gate
        last = gate.q, gate.speed, gate.braking, gate.sent_at
        return motion.copied(), last, self._velocity.last

    def _restored(self, snapshot: _Snapshot) -> JointMotion:
        """Go back to a snapshot; return its motion."""
        motion, last, self._velocity.last = snapshot
        gate = self.gate
        gate.q, gate.speed, gate.braking, gate.sent_at = last
        return motion


def _perform(
    motion: JointMotion,
    step: Step,
    limits: MotionLimits,
    dt: float,
    pace: float,
    cautious: bool = False,
) -> None:
    """Move as a step says."""
    if step.velocity is None:
        motion.move(step.goal, limits, dt, pace, cautious)
    elif step.goal is None:
        motion.drive(step.velocity, limits, dt, pace)
    else:
        motion.track(step.goal, step.velocity, limits, dt, pace)


def _is_sound(step: Step, q: np.ndarray) -> bool:
    """Whether a step has finite numbers, one for each joint."""
    return _are_sound(step.goal, q) and _are_sound(step.velocity, q)


def _are_sound(values: np.ndarray | None, q: np.ndarray) -> bool:
    return values is None or (values.shape == q.shape and bool(np.isfinite(values).all()))


def _place_ahead(motion: JointMotion, step: Step, limits: MotionLimits) -> np.ndarray:
    """Return where a step leads (n,): to its goal, or as far as a second brings it."""
    if step.goal is not None:
        return step.goal
    assert step.velocity is not None
    second = clamped(step.velocity, -limits.unit, limits.unit)
    return limits.inside(motion.q + np.where(limits.movable, second, 0.0), motion.q)
