"""Checks of joint motions: straight ones during a search, and timed ones as a whole."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
import math
from typing import Protocol, runtime_checkable

import numpy as np

from ik_service.collision.posture_test import PostureTest
from ik_service.kinematics.chain import KinematicChain
from ik_service.motion.collision_guard import lever_lengths
from ik_service.paths.trajectory.joint_trajectory import JointTrajectory
from ik_service.solvers.collision_test import Bodies, CollisionTest

FINEST = 0.005
"""Motion of any point of the arm between two postures of a trajectory that are checked [m]."""
FINEST_TURN = 0.005
"""Motion of any joint between two postures that are checked for constraints [rad] or [m]."""

_FIRST_ROWS = 32  # between which the motion of the arm is computed first, at least
_SLOW = 1e-3  # speed of the arm [m/s] that makes no difference
_MARGIN = 1.08  # by which more rows are taken at once, as motions are curved
_MOST_ROWS = 200_000  # rows of one motion, at most: memory
_FEW = 8  # postures of a line that are tested first by a test that takes all of them


@runtime_checkable
class RowTest(Protocol):
    """Test of many joint vectors."""

    def violated(self, Q: np.ndarray) -> np.ndarray:
        """Return which joint vectors (N, n) are not allowed, (N,) bool."""


class MotionCheck:
    """
    Check of motions for collisions and constraints, all with the world as it is at first.

    :param collisions: test of its postures; None for none.
    :ivar checks: joint vectors that were tested so far.
    """

    def __init__(
        self,
        chain: KinematicChain,
        collisions: CollisionTest | None,
        constraints: Sequence[RowTest] = (),
    ) -> None:
        self._bodies = collisions if isinstance(collisions, PostureTest) else None
        if self._bodies is not None:
            collisions = self._bodies = self._bodies.snapshot()
        self._collisions, self._constraints = collisions, constraints
        self._lines = None if self._bodies is None else self._bodies.lines()
        self._levers = lever_lengths(chain) if self._lines is None else self._lines.levers
        self.checks = 0

    @property
    def test(self) -> CollisionTest | None:
        """The test of collisions, with the world as it was at first; None for none."""
        return self._collisions

    def contact(self, q: np.ndarray) -> Bodies | None:
        """Return the names of two bodies that collide at q (n,); None where nothing does."""
        self.checks += 1
        return None if self._collisions is None else self._collisions.first_contact(q)

    def violates(self, q: np.ndarray) -> bool:
        """Return whether q (n,) breaks a constraint."""
        return any(bool(test.violated(q[None])[0]) for test in self._constraints)

    def unmet(self, q: np.ndarray) -> str:
        """Return in words that a constraint does not hold at q (n,); empty where none is named."""
        broken = (test for test in self._constraints if test.violated(q[None])[0])
        name = next((name for test in broken if (name := getattr(test, 'name', ''))), '')
        return f'{name} does not hold' if name else ''

    def line_is_free(self, corners: np.ndarray, step: float) -> bool:
        """
        Whether a line (2, n), or a parabola (3, n), is allowed, without its first posture.

        Postures are checked ``step`` [m] apart; a parabola has its corner in the middle.
        """
        if self._lines is not None and not self._constraints:
            free, count = self._lines.free(corners, step)
            self.checks += count
            return free
        if self._collisions is None and not self._constraints:
            return True
        count = max(math.ceil(self.spacing(corners) / step), 1)
        shares = _spread(min(count, _MOST_ROWS))
        rows = corners[0] + shares * (corners[1] - corners[0])
        if len(corners) == 3:
            rows += shares * (corners[1] + shares * (corners[2] - corners[1]) - rows)
        # These tests check all postures given to them.
        return self.rows_are_free(rows[:_FEW]) and self.rows_are_free(rows[_FEW:])

    def rows_are_free(self, rows: np.ndarray) -> bool:
        """Return whether joint vectors (N, n) are all allowed."""
        self.checks += len(rows)
        if any(test.violated(rows).any() for test in self._constraints):
            return False
        return self._collisions is None or not np.asarray(self._collisions.colliding(rows)).any()

    def free_count(self, rows: np.ndarray) -> int:
        """Return how many of the first of joint vectors (N, n) are allowed."""
        return int(np.argmax(np.append(self._forbidden(rows), True)))

    def spacing(self, rows: np.ndarray) -> float:
        """Return how far a point of the arm may move along joint vectors (N, n) in all [m]."""
        return float(np.abs(np.diff(rows, axis=0)).sum(axis=0) @ self._levers)

    def first_fault(self, trajectory: JointTrajectory, finest: float = FINEST) -> float | None:
        """First time that is not allowed [s], or None, of postures ``finest`` apart [m]."""
        if self._collisions is None and not self._constraints:
            return None
        times, rows, step = self.samples(trajectory, finest)
        if self._constraints:
            fault = self._first_violation(trajectory, times, rows)
            if fault is not None:
                return fault
        forbidden = self._forbidden(rows, step)
        return float(times[int(np.argmax(forbidden))]) if forbidden.any() else None

    def samples(
        self, trajectory: JointTrajectory, finest: float = FINEST
    ) -> tuple[np.ndarray, np.ndarray, float]:
        """Times (k,) [s] and postures (k, n) between which points move ``finest`` [m], or less."""
        times, uneven = trajectory.times, self._unevenness(trajectory)
        if len(trajectory) < _FIRST_ROWS:
            times, uneven = np.linspace(0.0, trajectory.duration, _FIRST_ROWS), np.ones(1)
        while True:
            rows = positions_at(trajectory, times)
            motion = self._motion(rows)
            parts = np.where(np.isfinite(motion), np.ceil(_MARGIN * uneven * motion / finest), 1.0)
            counts = np.where(motion > finest, parts, 1.0).astype(int)
            if (counts <= 1).all() or len(rows) + counts.sum() > _MOST_ROWS:
                return times, rows, float(motion.max(initial=0.0))
            times, uneven = _divided(times, counts), np.ones(1)

    def _unevenness(self, trajectory: JointTrajectory) -> np.ndarray:
        """Return the larger of the speeds at both ends of each segment (k−1,) over their mean."""
        if trajectory.velocities is None:
            return np.ones(len(trajectory) - 1)
        speeds = np.abs(trajectory.velocities) @ self._levers + _SLOW
        before, after = speeds[:-1], speeds[1:]
        return np.asarray(2.0 * np.maximum(before, after) / (before + after))

    def _first_violation(
        self, trajectory: JointTrajectory, times: np.ndarray, rows: np.ndarray
    ) -> float | None:
        """Return when a trajectory first breaks a constraint, sampled more finely [s]."""
        largest = np.abs(np.diff(rows, axis=0)).max(axis=1, initial=0.0)
        counts = np.maximum(np.ceil(largest / FINEST_TURN), 1.0).astype(int)
        if counts.sum() <= _MOST_ROWS:
            times = _divided(times, counts)
            rows = positions_at(trajectory, times)
        broken = self._broken(rows)
        return float(times[int(np.argmax(broken))]) if broken.any() else None

    def _broken(self, rows: np.ndarray) -> np.ndarray:
        found = np.zeros(len(rows), bool)
        for test in self._constraints:
            found |= test.violated(rows)
        return found

    def _motion(self, rows: np.ndarray) -> np.ndarray:
        """Return how far any point of the arm moves from row to row, at most (N−1,) [m]."""
        if self._bodies is None:
            return np.asarray(np.abs(np.diff(rows, axis=0)) @ self._levers)
        return self._bodies.displacements(rows)

    def _forbidden(self, rows: np.ndarray, step: float = math.inf) -> np.ndarray:
        """Which rows (N, n) [rad, m], ``step`` [m] apart, collide or break a constraint."""
        self.checks += len(rows)
        found = self._broken(rows)
        kept = int(np.argmax(found)) if found.any() else len(rows)
        if self._bodies is not None and kept:
            found[:kept] |= self._bodies.colliding(rows[:kept], step=step)
        elif self._collisions is not None and kept:
            found[:kept] |= self._collisions.colliding(rows[:kept])
        return found


def positions_at(trajectory: JointTrajectory, times: np.ndarray) -> np.ndarray:
    """Return the positions (k, n) of a trajectory at times (k,) [s] between its ends."""
    if len(trajectory) == 1:
        return np.tile(trajectory.positions[0], (len(times), 1))
    segments = np.searchsorted(trajectory.times, times, 'right') - 1
    segments = np.clip(segments, 0, len(trajectory) - 2)
    since = times - trajectory.times[segments]
    powers = np.vander(since, 6, increasing=True)
    rows: np.ndarray = np.einsum('kp,kpn->kn', powers, trajectory.coefficients[segments])
    return rows


def _divided(times: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return times between which each interval of others is divided into equal parts."""
    starts = np.repeat(np.cumsum(counts) - counts, counts)
    shares = (np.arange(counts.sum()) - starts) / np.repeat(counts, counts)
    inner = np.repeat(times[:-1], counts) + shares * np.repeat(np.diff(times), counts)
    return np.append(inner, times[-1])


@lru_cache(maxsize=512)
def _spread(count: int) -> np.ndarray:
    """Return shares (count, 1) from 1/count to 1, in an order that soon spreads over the line."""
    bits = max(count - 1, 1).bit_length()
    # Bit reversal, as in the van der Corput sequence: 1, 1/2, 1/4, 3/4, …
    order = sorted(range(count), key=lambda k: int(f'{k:0{bits}b}'[::-1], 2))
    return np.array([[(count - k) / count] for k in order])
