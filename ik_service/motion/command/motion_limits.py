"""Bounds on the motion of joints, and the speeds that keep them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
import math

import numpy as np

from ik_service.motion.command.gate import JointBounds
from ik_service.motion.command.motion_kernels import (
    BRAKING,
    HIGH,
    LOW,
    motion_kernels,
    Q,
    ROWS_OF_STATE,
    SPEED,
)

LONGEST_RAMP = 2.0
"""Time in which a command comes to rest from full speed, however gentle its acceleration [s]."""

_LONGEST_WINDOW = 0.5  # longest time over which commands are averaged to limit their jerk [s]

AVERAGED = 0.9
"""Share of the acceleration of a motion that is averaged; the rest is room for uneven ticks."""


@dataclass(frozen=True)
class MotionLimits:
    """
    Bounds on the motion of n joints.

    :ivar lower: (n,) lower limits [rad] or [m]; −inf where unlimited.
    :ivar upper: (n,) upper limits [rad] or [m]; inf where unlimited.
    :ivar velocity: (n,) the joints' velocity limits [rad/s] or [m/s]; 0 for one that does not
        move.
    :ivar scaling: share of the velocity limits that is used, 0 to 1.
    :ivar acceleration: (n,) largest change of that share in a second [1/s]; inf for no such
        limit. One number stands for all joints.
    :ivar jerk: (n,) largest change of the acceleration in a second, in the same shares [1/s²],
        inf for no such limit; None for none at all.
    :ivar window: time over which commands are averaged, so that their jerk is within these
        bounds [s]; 0 without.
    :ivar longest_ramp: time in which a command comes to rest from full speed at most [s].
    """

    lower: np.ndarray
    upper: np.ndarray
    velocity: np.ndarray
    scaling: float
    acceleration: np.ndarray
    jerk: np.ndarray | None = None
    window: float = 0.0
    longest_ramp: float = LONGEST_RAMP

    def __post_init__(self) -> None:
        same = np.broadcast_to(np.asarray(self.acceleration, np.float64), self.velocity.shape)
        object.__setattr__(self, 'acceleration', same)

    @cached_property
    def movable(self) -> np.ndarray:
        """Mask of the joints that may move (n,)."""
        return self.velocity > 0.0

    @cached_property
    def immovable(self) -> np.ndarray | None:
        """Mask of the joints that may not move (n,); None when all may."""
        return None if self.movable.all() else ~self.movable

    @cached_property
    def unit(self) -> np.ndarray:
        """Speeds that count as 1 (n,) [rad/s] or [m/s]: the velocity limits, never 0."""
        return np.where(self.movable, self.velocity, 1.0)

    @cached_property
    def velocity_now(self) -> np.ndarray:
        """Speeds up to which the joints may move now (n,) [rad/s] or [m/s]."""
        return self.velocity * self.scaling

    @cached_property
    def acceleration_now(self) -> np.ndarray:
        """Accelerations of the joints, at most (n,) [rad/s²] or [m/s²]."""
        return self.acceleration * self.unit

    @cached_property
    def joint_bounds(self) -> JointBounds:
        """The bounds as the gate takes them."""
        braking = self.braking * self.unit
        jerk = None if self.jerk is None else self.jerk * self.unit
        return JointBounds(self.lower, self.upper, self.velocity_now, braking, jerk)

    @cached_property
    def rows(self) -> np.ndarray:
        """The bounds as :mod:`.motion_kernels` take them (5, n)."""
        rows = self.lower, self.upper, self.unit, self.acceleration, self.movable
        return np.array(rows, dtype=np.float64)

    @cached_property
    def braking(self) -> np.ndarray:
        """Largest decrease of the share in a second (n,) [1/s]."""
        return np.maximum(self.acceleration, self.scaling / self.longest_ramp)

    @cached_property
    def averaged(self) -> MotionLimits:
        """The bounds of a motion whose average keeps these, also in ticks of unequal lengths."""
        ramp = self.longest_ramp / AVERAGED
        return replace(self, acceleration=AVERAGED * self.acceleration, longest_ramp=ramp)

    def braking_since_rest(self, before: np.ndarray, moving: bool) -> np.ndarray:
        """
        Return the largest braking (n,) since the command last rested [1/s].

        :param before: (n,) its value so far; the same array is returned where nothing is larger.
        :param moving: whether the command moves.
        """
        if before is self.braking or not moving:
            return self.braking
        return np.maximum(before, self.braking) if (before < self.braking).any() else before

    def reachable_speeds(
        self, q: np.ndarray, speed: np.ndarray, braking: np.ndarray, dt: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """
        Return the bounds of the speeds that a command may have in a tick.

        They are within the acceleration, within the velocity limits (or approaching them as fast
        as braking allows), and such that every joint can stop before its limits.

        :param q: (n,) the last command [rad] or [m]; a joint outside its limits may stay or come
            back.
        :param speed: (n,) its speed, in shares of the velocity limits.
        :param braking: (n,) largest decrease of a share in a second [1/s].
        :param dt: length of the tick [s], above 0.
        :returns: (n,) lowest and (n,) highest share.
        """
        state = np.zeros((ROWS_OF_STATE, len(q)))
        state[Q], state[SPEED], state[BRAKING] = q, speed, braking
        motion_kernels().reachable(state, self.rows, float(self.scaling), float(dt))
        return state[LOW], state[HIGH]

    def inside(self, q: np.ndarray, last: np.ndarray) -> np.ndarray:
        """
        Return positions brought inside the joint limits.

        :param q: (n,) positions [rad] or [m].
        :param last: (n,) the positions before; a joint that was outside its limits there may stay
            or come back, so that its position is its limit for now.
        """
        return clamped(q, np.minimum(self.lower, last), np.maximum(self.upper, last))


def clamped(values: np.ndarray, low: np.ndarray | float, high: np.ndarray | float) -> np.ndarray:
    """
    Return values brought into intervals; for few values faster than ``numpy.clip``.

    :param values: (n,) values of any unit.
    :param low: (n,) or one for all, the lower ends.
    :param high: (n,) or one for all, the upper ends.
    """
    return np.minimum(np.maximum(values, low), high)


def largest(sizes: np.ndarray) -> float:
    """Return the largest of values (n,) that are not negative; 0 of none."""
    return float(sizes.max(initial=0.0))


def remaining_share(sizes: np.ndarray, less: np.ndarray) -> float:
    """
    Return the share of all speeds that is left when they decrease in proportion, 0 to 1.

    :param sizes: (n,) speeds, not negative.
    :param less: (n,) by how much each may decrease, in the same unit.
    """
    ticks = largest(sizes / np.maximum(less, 1e-12))
    return 1.0 - 1.0 / ticks if ticks > 1.0 else 0.0


def bound_along(bounds: np.ndarray, line: np.ndarray) -> float:
    """
    Return the largest number that, times a line, keeps the bounds of all joints.

    :param bounds: (n,) the bounds; inf for none.
    :param line: (n,) a direction, of the same unit.
    """
    most = largest(np.abs(line) / np.maximum(bounds, 1e-300))
    return 1.0 / most if most > 0.0 else math.inf


def stopping_speed_along(distance: float, braking: float, dt: float) -> float:
    """
    Return the highest speed from which the ticks that follow can stop within a distance.

    A tick at the speed s covers s·dt, and slowing down after it at most s²/(2 braking), whatever
    the length of the ticks; this is the root of s·dt + s²/(2 braking) = distance, in the form
    that loses no digits. A command that keeps to it can keep to it in the next tick by slowing
    down with no more than ``braking``.

    :param distance: as the time that it takes at full speed [s]; may be inf.
    :param braking: decrease of the speed, in shares of the full speed, in a second [1/s].
    :returns: share of the full speed.
    """
    if braking <= 0.0:
        return 0.0
    distance = min(distance, 1e9)
    return 2.0 * distance / (dt + math.sqrt(dt * dt + 2.0 * distance / braking))


def averaging_window(velocity: np.ndarray, acceleration: np.ndarray, jerk: np.ndarray) -> float:
    """
    Return over which time a motion has to be averaged so that its jerk is bounded.

    The average of accelerations up to a over the window T has jerks up to 2 a / T. Of the windows
    that keep the bounds, this one lets the slowest joint be at its full speed the soonest: a
    ramp takes v / a + T, and a is T jerk / 2 at most.

    :param velocity: (n,) the highest speeds [rad/s] or [m/s].
    :param acceleration: (n,) the highest accelerations [rad/s²] or [m/s²]; inf for none.
    :param jerk: (n,) the highest jerks [rad/s³] or [m/s³]; inf for none.
    :returns: [s]; 0 without a bound on a jerk.
    """
    limited = np.isfinite(jerk) & (velocity > 0.0)
    if not limited.any():
        return 0.0
    v, a, j = velocity[limited], acceleration[limited], jerk[limited]
    return float(min(np.minimum(2.0 * a / j, np.sqrt(2.0 * v / j)).max(), _LONGEST_WINDOW))
