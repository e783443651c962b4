"""Shortening of joint paths of straight lines, and timed trajectories with rounded corners."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
import math

import numpy as np
from numpy.linalg import norm

from ik_service.extras.planning.motion_check import MotionCheck
from ik_service.kinematics.chain import KinematicChain
from ik_service.paths.timing.timing import time_path, TOLERANCE
from ik_service.paths.timing.timing_limits import TimingLimits
from ik_service.paths.trajectory.joint_trajectory import JointTrajectory

TRIES = 40  # shortcuts that are tried, at most
PATIENCE = 8  # shortcuts in a row that do not help, after which no more are tried
_GAIN = 0.98  # length of a shortcut as a share of the part it replaces, at most

LineTest = Callable[[np.ndarray], bool]
"""Returns whether the straight motion from one posture to another, (2, n), is allowed."""


def shortened(
    path: np.ndarray,
    units: np.ndarray,
    line_is_free: LineTest,
    seed: int,
    stopped: Callable[[], bool],
) -> np.ndarray:
    """
    Return a shorter path from the same start to the same end.

    :param path: (k, n) corners [rad] or [m].
    :param units: (n,) motion of each joint that counts as 1, such as its speed.
    :param line_is_free: test of the straight motions of which the path is made.
    :param seed: of the random numbers.
    :param stopped: returns whether the time is over.
    :returns: (m, n) corners.
    """
    path = _reduced(path, line_is_free, stopped)
    random = np.random.default_rng(seed)
    failures, ends = 0, _places(path, units)
    for _ in range(TRIES):
        if len(path) <= 2 or failures >= PATIENCE or stopped():
            break
        a, b = sorted(random.uniform(0.0, ends[-1], 2).tolist())
        i, j = (bisect_right(ends, s, hi=len(ends) - 1) - 1 for s in (a, b))
        failures += 1
        if i == j:
            continue
        line = np.array([_between(path, ends, k, s) for k, s in ((i, a), (j, b))])
        if norm((line[1] - line[0]) / units) <= _GAIN * (b - a) and line_is_free(line):
            path = np.concatenate([path[: i + 1], line, path[j + 1 :]])
            failures, ends = 0, _places(path, units)
    return path


def lengths(path: np.ndarray, units: np.ndarray) -> np.ndarray:
    """Return the lengths (k−1,) of the lines of a path (k, n), with units (n,) of each joint."""
    return np.asarray(norm(np.diff(path, axis=0) / units, axis=1))


def _reduced(path: np.ndarray, line_is_free: LineTest, stopped: Callable[[], bool]) -> np.ndarray:
    """Return a path without the corners that a straight line may leave out."""
    kept, i = [0], 0
    while i < len(path) - 1:
        ahead = len(path) - 1
        while ahead > i + 1 and not stopped() and not line_is_free(path[[i, ahead]]):
            ahead = i + (ahead - i + 1) // 2 if ahead - i > 2 else i + 1
        i = ahead if ahead == i + 1 or not stopped() else i + 1
        kept.append(i)
    return path[kept]


def _places(path: np.ndarray, units: np.ndarray) -> list[float]:
    """Return how far along a path its corners are."""
    return [0.0, *np.cumsum(lengths(path, units)).tolist()]


def _between(path: np.ndarray, ends: list[float], k: int, s: float) -> np.ndarray:
    """Return the posture at a position, behind corner k of a path."""
    return np.asarray(
        path[k] + (path[k + 1] - path[k]) * ((s - ends[k]) / (ends[k + 1] - ends[k]))
    )


SHARES = (1.0, 0.5, 0.2, 0.0)
"""
Size of the arc instead of a corner, as a share of the largest for which there is space: half of
the shorter line at the corner. Without an arc the motion rests there.
"""
_ROWS = 40  # of a whole path, about
_ARC_ROWS = 6  # of a rounded corner
# Weights of the three corners of a parabola in its rows.
_ARC = np.array([[(1 - t) ** 2, 2 * t * (1 - t), t * t] for t in np.linspace(0.0, 1.0, _ARC_ROWS)])
_LINE_ROWS = 3
_NO_CORNERS = 10.0  # tolerance [m] with which no rows count as a corner
_SAME = 1e-9


@dataclass(frozen=True)
class Timing:
    """
    Limits with which a path is timed.

    :ivar limits: velocity and acceleration of the joints.
    :ivar jerk: (n,) largest jerks [rad/s³] or [m/s³]; inf for none.
    :ivar velocity_scaling: share of the velocities that is used.
    :ivar acceleration_scaling: share of the accelerations.
    :ivar cartesian_speed: largest speed of the origin of a link [m/s]; None for no bound.
    :ivar link: the link; None for the tip.
    """

    limits: TimingLimits
    jerk: np.ndarray
    velocity_scaling: float = 1.0
    acceleration_scaling: float = 1.0
    cartesian_speed: float | None = None
    link: str | None = None

    @property
    def still(self) -> np.ndarray:
        """Which joints (n,) cannot move, as one of their limits is 0."""
        least = np.minimum.reduce([self.limits.velocity, self.limits.acceleration, self.jerk])
        return np.asarray(least == 0.0)

    def timed(
        self, chain: KinematicChain, rows: np.ndarray, targets: np.ndarray | None = None
    ) -> JointTrajectory:
        """Motion along rows (N, n) [rad, m]: smooth, or straight between targets (N, 4, 4)."""
        tolerance = _NO_CORNERS if targets is None else TOLERANCE
        return time_path(
            chain,
            rows,
            self.limits,
            self.velocity_scaling,
            self.acceleration_scaling,
            self.cartesian_speed,
            self.link,
            targets,
            tolerance=tolerance,
            jerk=self.jerk,
        )


def rounded(
    chain: KinematicChain,
    path: np.ndarray,
    timing: Timing,
    check: MotionCheck,
    step: float,
    stopped: Callable[[], bool],
) -> JointTrajectory | None:
    """Timed motion along corners (k, n), checked as a whole; None where none passes the check."""
    path = _distinct(path)
    if len(path) == 1:
        return timing.timed(chain, path)
    sizes = lengths(path, np.maximum(timing.limits.velocity, 1e-6))
    level = np.array([_free_level(path, sizes, i, check, step) for i in range(1, len(path) - 1)])
    while True:
        pieces = _pieces(path, sizes, [SHARES[i] for i in level.tolist()])
        trajectory = joined([timing.timed(chain, rows) for rows in pieces])
        fault = check.first_fault(trajectory)
        if fault is None:
            return trajectory
        corner = _nearest_corner(path, trajectory, fault)
        beside = [i for i in (corner - 1, corner, corner + 1) if 0 <= i < len(level)]
        sharper = [i for i in beside if level[i] < len(SHARES) - 1]
        if not sharper or stopped():
            return None
        level[sharper] += 1


_PAUSE = 1e-3  # rest in which accelerations change without exceeding those before and after [s]


def joined(trajectories: Sequence[JointTrajectory]) -> JointTrajectory:
    """
    Return trajectories that rest at both ends, each beginning where one ends, as one.

    Where the accelerations before and after differ, there is a pause between two points.
    """
    parts: list[list[np.ndarray]] = [[], [], [], []]
    start, before = 0.0, None
    for each in trajectories:
        assert each.velocities is not None
        assert each.accelerations is not None
        pauses = before is not None and not np.array_equal(before, each.accelerations[0])
        first = 0 if before is None or pauses else 1
        start += _PAUSE if pauses else 0.0
        arrays = each.times + start, each.positions, each.velocities, each.accelerations
        for part, values in zip(parts, arrays, strict=True):
            part.append(values[first:])
        start, before = start + each.duration, each.accelerations[-1]
    return JointTrajectory(trajectories[0].joint_names, *map(np.concatenate, parts))


def _free_level(
    path: np.ndarray, sizes: np.ndarray, i: int, check: MotionCheck, step: float
) -> int:
    """Return the level of the largest arc at a corner that is free of collisions."""
    for level, share in enumerate(SHARES[:-1]):
        corners = _arc_corners(path, sizes, i, share)
        fine = max(check.spacing(corners) / _ARC_ROWS, _SAME)
        if check.line_is_free(corners, min(step, fine)):
            return level
    return len(SHARES) - 1


def _arc_corners(path: np.ndarray, sizes: np.ndarray, i: int, share: float) -> np.ndarray:
    """Return the ends (3, n) of the arc instead of corner i, and that corner between them."""
    size = 0.5 * share * min(sizes[i - 1], sizes[i])
    shares = np.array([[size / sizes[i - 1]], [0.0], [size / sizes[i]]])
    return np.asarray(path[i] + shares * (path[i - 1 : i + 2] - path[i]))


def _pieces(path: np.ndarray, sizes: np.ndarray, shares: Sequence[float]) -> list[np.ndarray]:
    """Return the rows of each smooth part of a path, which rests at both ends."""
    spacing = float(sizes.sum()) / _ROWS
    pieces: list[np.ndarray] = []
    rows = [path[:1]]
    for i in range(1, len(path)):
        last = i == len(path) - 1
        share = 0.0 if last else shares[i - 1]
        corners = path[i : i + 1] if share == 0.0 else _arc_corners(path, sizes, i, share)
        arc = corners if share == 0.0 else _ARC @ corners
        a, b = rows[-1][-1], arc[0]
        part = np.linalg.norm(b - a) / max(float(np.linalg.norm(path[i] - path[i - 1])), 1e-12)
        count = max(math.ceil(part * sizes[i - 1] / spacing), _LINE_ROWS)
        line = a + np.linspace(0.0, 1.0, count + 1)[1:, None] * (b - a)
        rows += [line, arc[1:]] if len(arc) > 1 else [line]
        if share == 0.0:
            pieces.append(np.concatenate(rows))
            rows = [path[i : i + 1]]
    return pieces


def _nearest_corner(path: np.ndarray, trajectory: JointTrajectory, time: float) -> int:
    """Return which inner corner of a path, from 0, is nearest to where a trajectory is."""
    q = trajectory.at(time)[0]
    if len(path) <= 2:
        return 0
    return int(np.argmin(np.linalg.norm(path[1:-1] - q, axis=1)))


def _distinct(path: np.ndarray) -> np.ndarray:
    """Return a path without corners that equal the one before."""
    kept = [path[0]]
    for q in path[1:]:
        if np.abs(q - kept[-1]).max() > _SAME:
            kept.append(q)
    return np.array(kept)
