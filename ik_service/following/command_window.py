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

What a controller may be playing when a window arrives is as the window before has it. When a tick
was late, that is a part of the motion in case that nothing more comes; from where this has led,
the motion comes back to the commands within the limits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ik_service.following.command_step import CommandStep
from ik_service.following.motion_limits import MotionLimits
from ik_service.following.ways_to_rest import way_to, way_to_rest
from ik_service.trajectory.joint_trajectory import JointTrajectory
from ik_service.trajectory.segments import segment_coefficients, time_powers

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

_SPACING = 0.008
"""Time between points of the past, at least [s]."""

_NOTHING, _SAME = 1e-6, 1e-9
"""Lateness that counts as none [s]; difference of positions that does [rad or m]."""

_NEAR = 1e-4
"""Time between two points that is so short that one of them is enough [s]."""

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
        way, t = self.trajectory, min(max(now - self.start, 0.0), self.trajectory.duration)
        assert way.velocities is not None
        i = min(int(way.times.searchsorted(t, 'right')), len(way) - 1) - 1
        around = way.times[i : i + 2], way.positions[i : i + 2], way.velocities[i : i + 2]
        polynomials = segment_coefficients(*around, None)
        q, velocity, _ = time_powers(t - way.times[i]) @ polynomials[0]
        return q, velocity


@dataclass(frozen=True)
class _State:
    points: tuple[_Point, ...] = ()
    q: np.ndarray | None = None  # where the motion of the window leads
    command: np.ndarray | None = None  # the newest command, which that is but after late ticks
    due: float = 0.0  # when it is to be reached
    now: float = 0.0  # when it was made
    braking: np.ndarray | None = None  # largest decrease of the speeds since rest [1/s]
    fastest: np.ndarray | None = None  # highest speeds allowed since rest
    apart: bool = False  # whether the motion is on its way to the commands
    sent: PlannedMotion | None = None


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
        resting = last.command is not None and not (q != last.command).any()
        planned = self._planned(limits, longest, period, resting)
        self._state = replace(self._state, sent=planned)
        return planned

    def _next(
        self, last: _State, command: np.ndarray, limits: MotionLimits, now: float, period: float
    ) -> _State:
        wanted = now + DELAY * period + MARGIN
        if last.q is None or last.command is None or last.braking is None or last.fastest is None:
            still = np.zeros_like(command)
            begun = (now - HISTORY, command, still), (wanted - 0.5 * period, command, still)
            return _State(
                begun, command, command, wanted, now, limits.braking, limits.velocity_now
            )
        dt = min(now - last.now, period)
        begins = max(last.due, wanted - period)
        late = begins - last.due > _NOTHING
        points, q = last.points, last.q
        if late and last.sent is not None:
            points, q = _gone_on(points, last.sent, begins, dt)
            q = limits.inside(q, points[-1][1])
        before, speed = points[-1][2], (command - last.command) / dt
        moving, fastest = bool(before.any()), limits.velocity_now
        braking = limits.braking_since_rest(last.braking, moving)
        fastest = np.maximum(last.fastest, fastest) if moving else fastest
        step = CommandStep(q, before, braking, fastest, dt)
        apart = late or last.apart or not step.may_lead_to(command, limits)
        moved = step.towards(command, speed, limits) if apart else command
        due = begins + dt
        if not (before.any() or speed.any() or (moved != q).any()):  # a lead may be given up
            due = min(max(wanted, begins + 0.5 * dt), due)
        point = (0.5 * (begins + due), 0.5 * (q + moved), (moved - q) / (due - begins))
        points = (*_thinned(points, now), point)
        apart = apart and not (_same(q, last.command) and _same(moved, command))
        return _State(points, moved, command, due, now, braking, fastest, apart, last.sent)

    def _planned(
        self, limits: MotionLimits, coast: float, period: float, resting: bool
    ) -> PlannedMotion:
        """Return the window: past, newest command, and the way to rest."""
        state = self._state
        assert state.q is not None
        start, velocity = state.points[0][0], state.points[-1][2]
        way, goal = None, state.command if state.apart and resting else None
        if goal is not None:  # it may be the last command
            way = way_to(goal, state.q, velocity, limits, period)
        times, positions, velocities = way or way_to_rest(state.q, velocity, limits, coast, period)
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
    """Return the points that a controller may still need; of the past few are enough."""
    old = [i for i, (time, _, _) in enumerate(points) if time <= now - HISTORY]
    points = points[old[-1] if old else 0 :]
    kept = [points[0]]
    for point, after in zip(points[1:], (*points[2:], None), strict=True):
        past = after is not None and after[0] <= now
        if not past or point[0] - kept[-1][0] >= _SPACING:
            kept.append(point)
    return tuple(kept)


def _gone_on(
    points: tuple[_Point, ...], sent: PlannedMotion, begins: float, dt: float
) -> tuple[tuple[_Point, ...], np.ndarray]:
    """
    Return the points up to a step after a late tick, and where it begins.

    The points are those of the window before, whose motion in case that nothing more comes the
    controller plays by then.
    """
    last, way = points[-1][0], sent.trajectory
    since = max(begins - 0.5 * dt, last)  # as far before the step as its middle is after that
    there, velocity = sent.at(since)
    between = tuple(
        (sent.start + float(time), way.positions[i], sent.at(sent.start + float(time))[1])
        for i, time in enumerate(way.times)
        if last + _NEAR < sent.start + time < since - _NEAR
    )
    if since > last + _NEAR:
        points = (*points, *between, (since, there, velocity))
    return points, there + velocity * (begins - since)


def _same(a: np.ndarray, b: np.ndarray) -> bool:
    return bool((np.abs(a - b) <= _SAME).all())
