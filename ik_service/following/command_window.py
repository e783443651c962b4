"""
Window of joint motion around the newest command, for controllers that play trajectories.

A controller that gets a new trajectory every few milliseconds samples each of them a few times.
So that its set-points move as smoothly as the commands do, consecutive windows agree where they
overlap: each holds the last commands as they were, so that "now" lies between two of its points
however late it arrives, then the newest one, and then the motion in case that nothing more comes.
It goes on for as long as some lost messages may take, and comes to rest within the limits.

Commands are positions after steps of constant speed. The way points lie in the middle of the
steps, where position and speed are those of a motion whose acceleration is constant from point to
point: a cubic through them keeps the bounds that the commands keep.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ik_service.following.motion import JointMotion
from ik_service.following.motion_limits import MotionLimits
from ik_service.trajectory.joint_trajectory import JointTrajectory

HISTORY = 0.05
"""How far a window reaches into the past [s]: how far a controller's clock may be behind."""

AHEAD = 0.1
"""How far a window reaches into the future, at least [s]."""

DELAY, MARGIN = 1.5, 0.005
"""
Time from a command to when it is to be reached: in periods, and for the transport [s]. The next
command then arrives before the window is played any further than its commands are final.
"""

COAST = 0.05
"""Time for which a motion goes on without new commands [s], three periods at least."""

_CATCH_UP = 1.02
"""Share by which commands are stretched while the time that a late tick has cost is made up."""

_EXACT, _SPACING = 4, 0.008
"""Number of the newest points that are all kept; time between those before them, at least [s]."""

_Point = tuple[float, np.ndarray, np.ndarray]
"""Time on the clock of the commands [s], positions (n,), velocities (n,)."""


@dataclass(frozen=True)
class PlannedMotion:
    """
    Motion of a window.

    :ivar start: when it begins, on the clock of the commands [s].
    :ivar trajectory: its points; the last one rests.
    """

    start: float
    trajectory: JointTrajectory

    def at(self, now: float) -> tuple[np.ndarray, np.ndarray]:
        """
        Return positions (n,) [rad] or [m] and velocities (n,) [rad/s] or [m/s] at a time.

        :param now: on the clock of the commands [s].
        """
        q, velocity, _ = self.trajectory.at(now - self.start)
        return q, velocity


@dataclass(frozen=True)
class _State:
    points: tuple[_Point, ...] = ()
    q: np.ndarray | None = None  # the newest command as it is sent
    asked: np.ndarray | None = None  # the same without the offset
    due: float = 0.0  # when it is to be reached
    now: float = 0.0  # when it was made
    sent: PlannedMotion | None = None
    offset: JointMotion | None = None  # what is left of a lead of the controller


class CommandWindow:
    """
    Window of motion over the commands of n joints.

    :param joint_names: names of the joints.
    """

    def __init__(self, joint_names: Sequence[str]) -> None:
        self._names = tuple(joint_names)
        self._state = self._before = _State()

    def end(self) -> None:
        """Forget the commands; the next one begins a new motion, from rest."""
        self._state = self._before = _State()

    def discard(self) -> None:
        """Forget the last command, which was not sent."""
        self._state = self._before

    def add(
        self, q: np.ndarray, limits: MotionLimits, now: float, period: float, coast: bool = True
    ) -> PlannedMotion:
        """
        Add a command, and return the window around it.

        A command of the same tick as the one before replaces that one.

        :param q: (n,) the command [rad] or [m]; the first one is at rest.
        :param limits: bounds on the motion.
        :param now: on a monotonic clock [s].
        :param period: time between two commands [s].
        :param coast: whether the motion goes on for a while when nothing more comes; otherwise it
            slows down at once.
        """
        last = self._state
        if last.q is not None and now - last.now < 0.25 * period:
            last = self._before
        self._before = last
        self._state = self._next(last, q, limits, now, period)
        longest = max(COAST, 3.0 * period) if coast else 0.0
        planned = self._planned(limits, longest, period)
        self._state = replace(self._state, sent=planned)
        return planned

    def _next(
        self, last: _State, q: np.ndarray, limits: MotionLimits, now: float, period: float
    ) -> _State:
        wanted = now + DELAY * period + MARGIN
        if last.q is None:
            still = np.zeros_like(q)
            begun = (now - HISTORY, q, still), (wanted - 0.5 * period, q, still)
            return _State(begun, q, q, wanted, now)
        dt = min(now - last.now, period)
        # Never faster than commanded while it moves; at rest a lead may be given up.
        least = 1.0 if (q != last.q).any() else 0.5
        due = last.due + dt * min(max((wanted - last.due) / dt, least), _CATCH_UP)
        if wanted - due > max(COAST, 3.0 * period) and last.sent is not None:
            return _resumed(last, last.sent, q, limits, now, wanted, dt)
        offset, asked = last.offset, q
        if offset is not None:
            q, offset = _drawn_in(offset, q, last.q, limits, dt)
        velocity = (q - last.q) / (due - last.due)
        point = (0.5 * (last.due + due), 0.5 * (last.q + q), velocity)
        points = (*_thinned(last.points, now), point)
        return _State(points, q, asked, due, now, last.sent, offset)

    def _planned(self, limits: MotionLimits, coast: float, period: float) -> PlannedMotion:
        """Return the window: past, newest command, and the way to rest."""
        state = self._state
        assert state.q is not None
        start, velocity = state.points[0][0], state.points[-1][2]
        times, positions, velocities = way_to_rest(state.q, velocity, limits, coast, period)
        end = max(float(times[-1]), AHEAD) if len(times) else AHEAD
        if not len(times) or end > times[-1]:
            rest = positions[-1] if len(times) else state.q
            times = np.append(times, end)
            positions = np.vstack([positions, rest])
            velocities = np.vstack([velocities, np.zeros_like(rest)])
        past = np.array([time for time, _, _ in state.points])
        trajectory = JointTrajectory(
            self._names,
            np.concatenate([past, state.due + times]) - start,
            np.vstack([*(q for _, q, _ in state.points), positions]),
            np.vstack([*(v for _, _, v in state.points), velocities]),
        )
        return PlannedMotion(start, trajectory)


def _thinned(points: tuple[_Point, ...], now: float) -> tuple[_Point, ...]:
    """Return the points that a controller may still need; of old ones few are enough."""
    old = [i for i, (time, _, _) in enumerate(points) if time <= now - HISTORY]
    points = points[old[-1] if old else 0 :]
    if len(points) <= _EXACT + 1:
        return points
    before, candidate = points[-_EXACT - 2], points[-_EXACT - 1]
    if candidate[0] - before[0] >= _SPACING:
        return points
    return (*points[: -_EXACT - 1], *points[-_EXACT:])


def way_to_rest(
    q: np.ndarray, velocity: np.ndarray, limits: MotionLimits, coast: float, shortest: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """
    Return how joints go on with their velocity for a while, and come to rest inside their limits.

    All slow down in proportion, as quickly as the acceleration allows; one that would go beyond
    its limit stops there.

    :param q: (n,) where they are [rad] or [m].
    :param velocity: (n,) how fast they move [rad/s] or [m/s].
    :param limits: bounds on the motion.
    :param coast: time for which they go on at most [s]; shorter where a limit is near.
    :param shortest: shortest time in which they come to rest [s], where no acceleration is given.
    :returns: times (k,) [s] above 0, positions (k, n) and velocities (k, n); k is 0 at rest.
    """
    size = np.abs(velocity)
    if not size.any():
        return np.zeros(0), np.zeros((0, len(q))), np.zeros((0, len(q)))
    moving = size > 0.0
    speed = np.where(moving, size, 1.0)
    braking = np.maximum(limits.braking * limits.unit, 1e-9)
    duration = max(float((size / braking).max()), shortest)
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


def _resumed(
    last: _State,
    sent: PlannedMotion,
    q: np.ndarray,
    limits: MotionLimits,
    now: float,
    due: float,
    dt: float,
) -> _State:
    """Go on from where a controller that got no command for long has gone meanwhile."""
    there, velocity = sent.at(due)
    offset = JointMotion(there - q)
    offset.speed = (velocity - (q - last.asked) / dt) / limits.unit
    way = sent.trajectory
    # What is not yet played of the way that it is on stays as it was planned.
    first = max(int(way.times.searchsorted(now - HISTORY - sent.start, 'right')) - 1, 0)
    points = tuple(
        (sent.start + float(time), way.positions[i], *sent.at(sent.start + float(time))[1:])
        for i, time in enumerate(way.times)
        if i >= first and sent.start + time < due - 1e-3
    )
    return _State((*points, (due, there, velocity)), there, q, due, now, sent, offset)


def _drawn_in(
    offset: JointMotion, q: np.ndarray, last: np.ndarray, limits: MotionLimits, dt: float
) -> tuple[np.ndarray, JointMotion | None]:
    """Return a command plus the offset that is left of a lead, within the limits."""
    everywhere = np.full_like(q, np.inf)
    offset.move(np.zeros_like(q), replace(limits, lower=-everywhere, upper=everywhere), dt)
    furthest = limits.velocity_now * dt
    moved = last + np.clip(q + offset.q - last, -furthest, furthest)
    moved = limits.inside(moved, last)
    offset.q = moved - q
    return moved, offset if np.abs(offset.q).max(initial=0.0) > 1e-9 else None
