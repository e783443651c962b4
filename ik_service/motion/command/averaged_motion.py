"""
Moving average of a joint motion, which bounds its jerk.

The average of accelerations up to a over a window has jerks up to 2 a / window: see
:func:`.motion_limits.averaging_window`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ik_service.motion.command.joint_motion import JointMotion, shallow_copy
from ik_service.motion.command.motion_kernels import FULL_SPEED
from ik_service.motion.command.motion_limits import AVERAGED, clamped, largest, MotionLimits

_SPACE = 256  # points that are kept before the old ones are dropped

_LARGEST, _ANY = 0.92, 1e12
"""
Share of the acceleration that is used at most: a little more than :data:`.motion_limits.AVERAGED`.
Jerk, and time for a change, that greater ones count as [1/s²] or [s].
"""

_LONGER = 10.0  # ratio of the lengths of two ticks, at most, over which an acceleration goes on

_PATIENCE, _NOTHING = 4.0, 2e-10
"""Time constant of a return to the average, in ticks; distance that counts as none [s]."""


class MovingAverage:
    """
    Average of the last part of a path that is straight between its points.

    The average lies among the points. Its speed and acceleration are averages of those of the
    path, and so within the same bounds; its jerk is the difference of two accelerations of the
    path, divided by the window: L. Biagiotti and C. Melchiorri, FIR filters for online trajectory
    planning with time- and frequency-domain specifications, Control Engineering Practice 20
    (2012) 1385–1399.

    :ivar window: length of the part [s].
    """

    def __init__(self, q: np.ndarray, window: float) -> None:
        """Begin with a path that has rested for long at q (n,); the window is a time [s]."""
        self.window = window
        self._times = np.zeros(_SPACE)
        self._points = np.zeros((_SPACE, len(q)))
        self._times[0], self._count = -2.0 * window, 2
        self._points[:2] = q

    def append(self, q: np.ndarray, dt: float) -> None:
        """Go on along a straight line to q (n,) [rad] or [m], in a time [s]."""
        if self._count == len(self._times):
            self._drop_old()
        self._times[self._count] = self._times[self._count - 1] + dt
        self._points[self._count] = q
        self._count += 1

    def value(self) -> np.ndarray:
        """Return the average (n,) [rad] or [m]; exactly the last point of a path that rests."""
        first = self._first()
        times = self._times[first : self._count].copy()
        points = self._points[first : self._count] - self._points[self._count - 1]
        begin = times[-1] - self.window
        share = (begin - times[0]) / (times[1] - times[0])
        points[0] += share * (points[1] - points[0])
        times[0] = begin
        half = np.diff(times) / (2.0 * self.window)
        average: np.ndarray = half @ (points[1:] + points[:-1])
        return self._points[self._count - 1] + average

    def contract(self, centre: np.ndarray, share: float) -> None:
        """Draw the path, and its average, towards a centre (n,): to a share of all distances."""
        self._points = centre + share * (self._points - centre)

    def _first(self) -> int:
        """Return the index of the last point at or before the window."""
        times = self._times[: self._count]
        return int(np.searchsorted(times, times[-1] - self.window, side='right')) - 1

    def _drop_old(self) -> None:
        """Make room, in new arrays: the old ones may be returned to."""
        first = self._first()
        times, points = self._times[first : self._count], self._points[first : self._count]
        size = max(2 * len(times), _SPACE)
        self._times, self._points = np.zeros(size), np.zeros((size, points.shape[1]))
        self._times[: len(times)], self._points[: len(times)] = times - times[-1], points
        self._count = len(times)


@dataclass(frozen=True, eq=False)
class _Bounds:
    """
    Bounds of an averaged motion after a change.

    :ivar limits: the bounds that shall hold.
    :ivar braking: (n,) how fast the motion that is averaged may slow down [1/s].
    :ivar own: the bounds that the average keeps in the end.
    :ivar until: those that it keeps until then.
    :ivar left: how long at least that is yet [s].
    """

    limits: MotionLimits
    braking: np.ndarray
    own: MotionLimits
    until: MotionLimits
    left: float


class JerkLimitedMotion(JointMotion):
    """
    Motion that is the moving average of one whose acceleration alone is bounded.

    It has the properties of that one, half a window later: it stays inside the joint
    limits, comes to rest, and arrives exactly, without overshoot. All joints are averaged over the
    same window, so that straight lines stay straight; bends are cut short by about
    acceleration × window² / 24.
    """

    def __init__(self, q: np.ndarray, window: float) -> None:
        """Start at rest at q (n,) [rad] or [m]; the window is above 0 [s]."""
        super().__init__(q)
        self.window = window
        self._inner = JointMotion(q)
        self._average = MovingAverage(self.q, window)
        self._bounds: _Bounds | None = None
        self._dt = 0.0  # length of the last tick [s]
        self._rate = np.zeros_like(self.q)  # its acceleration
        self._free = False  # whether any acceleration may follow
        self._mean = self.q  # the average by then
        self._drift = np.zeros_like(self.q)  # speed beside that of the average
        self._patience = 0.0  # time constant of the return to it [s]; 0 while it is kept to

    @property
    def at_rest(self) -> bool:
        """Whether the command stands still, and will."""
        return self._inner.at_rest and not self.speed.any() and not self._patience

    def copied(self) -> JerkLimitedMotion:
        """Return the motion as it is now."""
        other = shallow_copy(self)
        # Of the two only one goes on: points that either adds are beyond those that both have.
        other._inner, other._average = self._inner.copied(), shallow_copy(self._average)
        return other

    @property
    def leading(self) -> tuple[np.ndarray, np.ndarray]:
        """Positions (n,) and speeds (n,) of the motion that goals are for: of the averaged one."""
        return self._inner.q, self._inner.speed

    def slow_down(self, share: float) -> None:
        """Slow down at once."""
        self._free = bool(self.speed.any())
        super().slow_down(share)
        self._average.contract(self.q, share)
        self._mean = self.q + share * (self._mean - self.q)
        self._drift = share * self._drift
        inner = self._inner
        inner.q, inner.speed = self.q + share * (inner.q - self.q), inner.speed * share

    def stopping_path(self, limits: MotionLimits) -> tuple[np.ndarray, ...]:
        """Return the corners of the stopping path: where the averaged motion is, and will rest."""
        return self._inner.q, *self._inner.stopping_path(limits.averaged)

    def move(
        self,
        goal: np.ndarray | None,
        limits: MotionLimits,
        dt: float,
        pace: float = 1.0,
        cautious: bool = False,
    ) -> None:
        """Move by one tick towards a goal, or to rest."""
        self._inner.move(goal, limits.averaged, dt, pace, cautious)
        self._go_on(limits, dt)

    def track(
        self,
        goal: np.ndarray,
        velocity: np.ndarray,
        limits: MotionLimits,
        dt: float,
        pace: float = 1.0,
    ) -> None:
        """Move by one tick to a goal that moves; the command is there half a window later."""
        self._inner.track(goal, velocity, limits.averaged, dt, pace)
        self.behind = self._inner.behind
        self._go_on(limits, dt)

    def drive(
        self, velocity: np.ndarray, limits: MotionLimits, dt: float, pace: float = 1.0
    ) -> None:
        """Move by one tick with a velocity."""
        self._inner.drive(velocity, limits.averaged, dt, pace)
        self._go_on(limits, dt)

    def bounds(self, limits: MotionLimits) -> MotionLimits:
        """
        Return the bounds of the commands now.

        After a change, those from before hold too, until the averaged motion keeps the new ones.
        """
        before, braking = self._bounds, self._inner.braking
        if before is None or before.limits is not limits or before.braking is not braking:
            # In passing through zero the average speeds up as fast as that one slows down.
            fast = np.maximum(limits.acceleration, braking / AVERAGED)
            own = replace(limits, acceleration=fast)
            until = own if before is None else _united(before.until, own)
            self._bounds = _Bounds(limits, braking, own, until, self._average.window)
            return until
        return before.until

    def tick_range(self, limits: MotionLimits) -> tuple[float, float]:
        """
        Return how short and how long the next tick may be [s].

        Speeds are means over ticks: from a long one to a short one, the acceleration that is under
        way changes them by more than it may in the short one; and in a far longer one, it could
        not end in time.
        """
        if self._free or not self.speed.any():
            return super().tick_range(limits)
        most = np.maximum(self.bounds(limits).acceleration, 1.0 / _ANY)
        share = min(largest(np.abs(self._rate) / most), _LARGEST)
        return self._dt * share / (2.0 - share), _LONGER * self._dt

    def _go_on(self, limits: MotionLimits, dt: float) -> None:
        """
        Move to where the average is by now, or towards it where that is beyond a bound.

        In uneven ticks the acceleration of the average changes by a little more than the jerk.
        """
        self._average.append(self._inner.q, dt)
        limits = self._bounds_after(limits, dt)
        low, high = self._reachable_speeds(limits, dt)
        goal, before = self._average.value(), self.speed
        wanted, last = self._wanted(goal, limits, dt), self._dt or dt
        rate = (wanted - before) / (0.5 * (dt + last))
        change = _ANY if self._free or limits.jerk is None else limits.jerk * (last * FULL_SPEED)
        smooth = not self._patience and (np.abs(rate - self._rate) <= change).all()
        if smooth and ((low <= wanted) & (wanted <= high)).all():
            self.q, self.speed = goal, wanted
        else:
            if not smooth:
                low, high = self._smooth_speeds(low, high, change, limits, dt)
            self._take(wanted, low, high, limits, dt)
            self._note_distance(goal, limits, dt)
            rate = (self.speed - before) / (0.5 * (dt + last))
        self._rate, self._dt, self._mean, self._free = rate, dt, goal, False

    def _smooth_speeds(
        self,
        low: np.ndarray,
        high: np.ndarray,
        change: np.ndarray | float,
        limits: MotionLimits,
        dt: float,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return those of reachable speeds (n,) at which the acceleration changes smoothly."""
        most, change = _LARGEST * limits.acceleration, np.minimum(change, _ANY)
        least, greatest = self._rate - change, self._rate + change
        span = 0.5 * (dt + (self._dt or dt))
        falls = np.minimum(np.maximum(least, -most), greatest)
        rises = np.maximum(np.minimum(greatest, most), least)
        low = clamped(self.speed + span * falls, low, high)
        return low, clamped(self.speed + span * rises, low, high)

    def _wanted(self, goal: np.ndarray, limits: MotionLimits, dt: float) -> np.ndarray:
        """Return the speeds (n,) that lead to the average, or back to it gently."""
        if not self._patience:
            return (goal - self.q) / (limits.unit * dt)
        off, share = (self.q - self._mean) / limits.unit, dt / self._patience
        drift = self._drift - share * (2.0 * self._drift + off / self._patience)
        return (goal - self._mean) / (limits.unit * dt) + drift

    def _note_distance(self, goal: np.ndarray, limits: MotionLimits, dt: float) -> None:
        """Take note of how far the command is from the average."""
        away = largest(np.abs(self.q - goal) / limits.unit)
        if away <= _NOTHING and not self._patience:
            return
        self._drift = self.speed - (goal - self._mean) / (limits.unit * dt)
        near = max(away, largest(np.abs(self._drift)) * dt) <= _NOTHING
        self._patience = 0.0 if near else max(self._patience, _PATIENCE * max(dt, self._dt))
        if not near and self._inner.at_rest and not self.speed.any():  # it may not move any more
            self._patience, self._inner.q = 0.0, self.q
            self._average = MovingAverage(self.q, self.window)

    def _bounds_after(self, limits: MotionLimits, dt: float) -> MotionLimits:
        """Return the bounds of the commands after a tick."""
        until = self.bounds(limits)
        assert self._bounds is not None
        if until is self._bounds.own:
            return until
        left = self._bounds.left - dt
        fastest = max(largest(np.abs(self.speed)), largest(np.abs(self._inner.speed)))
        if left <= 0.0 and fastest <= limits.scaling:
            until = self._bounds.own
        self._bounds = replace(self._bounds, until=until, left=left)
        return until


def _united(a: MotionLimits, b: MotionLimits) -> MotionLimits:
    """Return bounds that a motion within either keeps."""
    acceleration = np.maximum(a.acceleration, b.acceleration)
    return replace(b, scaling=max(a.scaling, b.scaling), acceleration=acceleration)
