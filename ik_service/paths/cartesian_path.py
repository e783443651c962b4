"""Joint paths along straight lines: :func:`cartesian_path`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
import time

import numpy as np

from ik_service.common.transforms import inverse_transform
from ik_service.exceptions import ArgumentError
from ik_service.kinematics.chain import KinematicChain, tip_poses
from ik_service.paths.jumps import first_jump, Jump, JumpThresholds
from ik_service.paths.line_distances import distances_from_lines, PARTS
from ik_service.paths.search.options import PathOptions
from ik_service.paths.search.path_solver import solve_path
from ik_service.paths.search.result import PathResult, PathStatus
from ik_service.paths.straight_lines import straight_lines, StraightLines
from ik_service.paths.timing.joint_curve import joint_curve, JointCurve
from ik_service.paths.timing.limit_easing import bounds_of_rows, within_limits
from ik_service.paths.timing.timing import TOLERANCE
from ik_service.solvers.collision_test import CollisionTest

LONGEST_STEP = 0.01
"""Largest motion between two rows [m], however long the steps are that a client allows."""
_NEAR = TOLERANCE  # distance from the lines between rows [m] above which there are more rows
_FINER, _ROUNDS = 4.0, 4
# Reasons for the end of a path that are no matter of the spacing of its rows, and those that may
# be one even where they are close: near a singular posture joints move fast.
_FINAL = (PathStatus.UNREACHABLE, PathStatus.TIMED_OUT)
_RESOLVED = (PathStatus.SUCCESS, PathStatus.SINGULARITY, PathStatus.TOO_FAR)


@dataclass(frozen=True)
class CartesianPath:
    """
    Joint path along straight lines, as far as there is one.

    :ivar q: (k, n) the rows [rad] or [m], the start first.
    :ivar poses: (k, 4, 4) T_base_tip of the rows.
    :ivar progress: way points that are passed at the end, and the part of the next line.
    :ivar waypoints: number of way points.
    :ivar length: way of the point up to the end [m].
    :ivar reason: why it ends there; empty where it is complete.
    :ivar bodies: two bodies that collide at the next row, where that is why.
    :ivar largest_step: largest motion of a joint from one row to the next [rad] or [m].
    :ivar deviation: largest distance from the lines between rows [m].
    :ivar solve_time: time of the search [s].
    """

    q: np.ndarray
    poses: np.ndarray
    progress: float
    waypoints: int
    length: float
    reason: str
    bodies: tuple[str, str] | None
    largest_step: float
    deviation: float
    solve_time: float

    @property
    def fraction(self) -> float:
        """Share of the way points that is reached; 0 where there are none."""
        return self.progress / self.waypoints if self.waypoints else 0.0


FaultOf = Callable[[np.ndarray], str]


@dataclass(frozen=True)
class CartesianSettings:
    """
    How a path along straight lines is searched for.

    :ivar max_step: largest motion of the point from one row to the next [m]; turns by up to 3.5
        rad for each metre of it.
    :ivar jumps: thresholds.
    :ivar options: options of the search; ``max_step`` bounds that of every joint.
    :ivar T_tip_point: (4, 4) the point that moves straight, in the frame of the tip [m].
    :ivar speeds: (n,) largest speeds of the joints with which the path will be timed, on which the
        motion between its rows depends [rad/s] or [m/s]; 0 for a joint that does not move.
    """

    max_step: float
    jumps: JumpThresholds
    options: PathOptions
    T_tip_point: np.ndarray
    speeds: np.ndarray


def cartesian_path(
    chain: KinematicChain,
    start: np.ndarray,
    waypoints: np.ndarray,
    settings: CartesianSettings,
    collisions: CollisionTest | None = None,
    fault_of: FaultOf | None = None,
) -> CartesianPath:
    """
    Find a joint path on which a point of the tip moves along straight lines.

    The rows are as close as the motion needs to stay on the lines between them.

    :param chain: the chain.
    :param start: (n,) where it starts [rad] or [m], within the limits.
    :param waypoints: (k, 4, 4) T_base_point of the way points.
    :param settings: how it is searched for.
    :param collisions: test of the rows, and of the middles between them; None for none.
    :param fault_of: returns why (4, 4) T_base_tip is none that the tip may have, or an empty text;
        None where it may have any.
    :returns: the path; where none leads through all way points, the longest that was found.
    :raises ArgumentError: the steps are so small, or the way points so many, that there would be
        more than :data:`~ik_service.paths.straight_lines.MOST_POSES` rows.
    """
    began = time.monotonic()
    at_start = chain.forward(start) @ settings.T_tip_point
    step = min(settings.max_step, LONGEST_STEP)
    found: CartesianPath | None = None
    allowed = 0.0
    for number in range(_ROUNDS):
        left = settings.options.timeout - (time.monotonic() - began)
        if found is not None and left <= 0.0:
            break
        try:
            lines = straight_lines(at_start, waypoints, step)
        except ArgumentError:
            if found is None:
                raise
            break
        search = _Search(chain, start, lines, settings, collisions, len(waypoints), fault_of)
        newer, status = search.run(left if number == _ROUNDS - 1 else 0.5 * left)
        if found is not None and status is PathStatus.TIMED_OUT:
            newer = replace(newer, reason=found.reason)  # which says more
        if found is None or newer.progress >= found.progress - allowed:
            found = newer
        near = newer.deviation <= _NEAR
        # What leaves its lines between rows gives way to a path that ends up to a row earlier.
        allowed = 0.0 if near else len(waypoints) / len(lines.poses)
        good = near and newer.reason in ('', search.fault)
        if good or status in _FINAL or (near and number > 0 and status not in _RESOLVED):
            break
        step /= _FINER
    assert found is not None
    return replace(found, solve_time=time.monotonic() - began)


class _Search:
    """
    Search with the rows of one spacing.

    :ivar fault: why the tip may not have one of the poses, up to which the search goes.
    """

    def __init__(
        self,
        chain: KinematicChain,
        start: np.ndarray,
        lines: StraightLines,
        settings: CartesianSettings,
        collisions: CollisionTest | None,
        waypoints: int,
        fault_of: FaultOf | None,
    ) -> None:
        self._chain, self._start, self._lines = chain, start, lines
        self._settings, self._collisions = settings, collisions
        self._waypoints = waypoints
        self._poses = lines.poses @ inverse_transform(settings.T_tip_point)
        self.fault = ''
        if fault_of is not None:
            self._end_at_fault(fault_of)

    def _end_at_fault(self, fault_of: FaultOf) -> None:
        """Leave out the poses from the first one on that the tip may not have."""
        for row, T in enumerate(self._poses):
            self.fault = fault_of(T)
            if self.fault:
                self._poses = self._poses[: max(row, 1)]
                return

    def run(self, timeout: float) -> tuple[CartesianPath, PathStatus]:
        """
        Return the path, and why the search ended.

        :param timeout: time for the search [s].
        """
        result = solve_path(
            self._chain,
            self._poses,
            self._start,
            replace(self._settings.options, max_step=self._bound(), timeout=max(timeout, 1e-3)),
            collisions=self._collisions,
        )
        q = np.array(result.q[: result.reached])
        if len(q) == 0:
            path = self._path(self._start[None], result, None, result.end.bodies)
            return path, result.status
        q[0] = self._start
        jump = first_jump(self._chain, q, self._settings.jumps)
        if jump is not None:
            q = q[: jump.row]
        curve, bodies = self._curve(q), None
        if self._collisions is not None and len(curve.h):
            middles = _between(curve, 0.5)
            colliding = np.asarray(self._collisions.colliding(middles), bool)
            if colliding.any():
                segment = int(np.argmax(colliding))
                bodies = self._collisions.first_contact(middles[segment])
                q, jump = q[: curve.rows[segment] + 1], None
        return self._path(q, result, jump, bodies, self._deviation(curve, len(q))), result.status

    def _bound(self) -> float:
        """Return the largest step of a joint that the search may make."""
        bounds = self._settings.jumps.bounds(self._chain)
        return float(min(self._settings.options.max_step, bounds.max()))

    def _curve(self, q: np.ndarray) -> JointCurve:
        """Return the motion through the rows."""
        poses = self._poses[: len(q)]
        curve = joint_curve(self._chain, q, self._settings.speeds, poses, TOLERANCE)
        return within_limits(curve, bounds_of_rows(self._chain, curve.q))

    def _deviation(self, curve: JointCurve, rows: int) -> float:
        """Return the largest distance of the point from the lines between the first rows [m]."""
        ends = curve.rows[curve.rows < rows]
        points = self._lines.poses[ends, :3, 3]
        largest = 0.0
        for part in PARTS if len(points) > 1 else ():
            poses = tip_poses(self._chain, _between(curve, part)[: len(points) - 1])
            there = (poses @ self._settings.T_tip_point)[:, :3, 3]
            largest = max(largest, float(distances_from_lines(points, there).max()))
        return largest

    def _path(
        self,
        q: np.ndarray,
        result: PathResult,
        jump: Jump | None,
        bodies: tuple[str, str] | None,
        deviation: float = 0.0,
    ) -> CartesianPath:
        rows = len(q)
        points = self._lines.poses[:rows, :3, 3]
        if jump is not None:
            reason = jump.text
        elif bodies is not None and result.reached:
            reason = f'a collision is in the way, between {bodies[0]} and {bodies[1]}'
        elif result.reached == len(self._poses):
            reason = self.fault
        else:
            reason = result.end.detail
        if result.status is PathStatus.COLLISION and bodies is None:
            bodies = result.end.bodies
        return CartesianPath(
            q,
            self._poses[:rows],
            float(self._lines.progress[rows - 1]),
            self._waypoints,
            float(np.linalg.norm(np.diff(points, axis=0), axis=1).sum()),
            reason,
            bodies,
            float(np.abs(np.diff(q, axis=0)).max(initial=0.0)),
            deviation,
            result.solve_time,
        )


def _between(curve: JointCurve, part: float) -> np.ndarray:
    """Return where a curve is at a part (0 to 1) of each of its segments, (k−1, n)."""
    ahead, h = np.diff(curve.q, axis=0), curve.h[:, None]
    bow = (1.0 - part) * (h * curve.start - ahead) - part * (h * curve.end - ahead)
    return np.ascontiguousarray(curve.q[:-1] + part * ahead + part * (1.0 - part) * bow)
