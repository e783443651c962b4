"""Joint paths along straight lines: poses, jumps, deviations, and :func:`cartesian_path`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
import math
import time

import numpy as np
from numpy.typing import ArrayLike

from ik_service.common.arguments import positive, real_array
from ik_service.common.transforms import inverse_transform
from ik_service.exceptions import ArgumentError
from ik_service.kinematics.chain import KinematicChain
from ik_service.kinematics.joint_space import JointSpace
from ik_service.kinematics.link_poses import tip_poses
from ik_service.kinematics.pose_error import check_transform, check_transforms, pose_error
from ik_service.model.joint import JointType
from ik_service.paths.search.path_solver import PathOptions, solve_path
from ik_service.paths.search.result import PathResult, PathStatus
from ik_service.paths.timing.joint_curve import (
    bounds_of_rows,
    joint_curve,
    JointCurve,
    within_limits,
)
from ik_service.paths.timing.timing import TOLERANCE
from ik_service.paths.trajectory.joint_trajectory import JointTrajectory
from ik_service.solvers.collision_test import CollisionTest

TURN_PER_METRE = 3.5
"""Rotation in a step [rad] for each metre of its largest length, as with MoveIt."""
MOST_POSES = 20_000  # poses of a path, at most
_SMALLEST = 1e-9  # length [m] and angle [rad] of a line that has none


@dataclass(frozen=True, eq=False)
class StraightLines:
    """
    Poses along straight lines.

    :ivar poses: (N, 4, 4) the start, and the poses of each line after its start; read-only.
    :ivar progress: (N,) the number of waypoints passed, and the part of the next line,
        at each pose.
    """

    poses: np.ndarray
    progress: np.ndarray


def straight_lines(
    start: ArrayLike, waypoints: ArrayLike, max_step: float, max_turn: float | None = None
) -> StraightLines:
    """
    Return poses along the straight lines from a pose through waypoints.

    The origin moves straight, and the rotation is that about a fixed axis by the smaller angle
    (spherical linear interpolation), in steps of equal size on each line. A waypoint that equals
    the one before it adds no pose.

    :param start: (4, 4) the first pose.
    :param waypoints: (k, 4, 4) the poses to pass.
    :param max_step: largest motion of the origin from one pose to the next [m].
    :param max_turn: largest rotation [rad]; 3.5 rad for each metre of ``max_step`` when left out.
    :raises ArgumentError: an argument is not finite or no pose, or the poses would be more than
        :data:`MOST_POSES`.
    """
    first = check_transform(start, 'start')
    others = real_array(waypoints, 'waypoints')
    if others.size:
        others = check_transforms(others, 'waypoints')
    points = np.concatenate([first[None], others.reshape(-1, 4, 4)])
    step = positive(max_step, 'max_step')
    turn = TURN_PER_METRE * step if max_turn is None else positive(max_turn, 'max_turn')
    twists = [pose_error(T, T_next) for T, T_next in pairwise(points)]
    counts = [_count(twist, step, turn) for twist in twists]
    if 1 + sum(counts) > MOST_POSES:
        raise ArgumentError(
            'max_step',
            f'of {step:g} m, with up to {turn:g} rad, makes {1 + sum(counts):.3g} poses of '
            f'{len(twists)} lines; at most {MOST_POSES} are supported',
        )
    poses, progress = [points[:1]], [np.zeros(1)]
    for i, (twist, count) in enumerate(zip(twists, counts, strict=True)):
        if count == 0:  # the waypoint equals the one before, and is passed with it
            progress[-1][-1] = i + 1
            continue
        parts = np.arange(1, int(count) + 1) / count
        poses.append(_line(points[i], twist, parts))
        poses[-1][-1] = points[i + 1]
        progress.append(i + parts)
    found = np.concatenate(poses)
    found.setflags(write=False)
    return StraightLines(found, np.concatenate(progress))


def _count(twist: np.ndarray, step: float, turn: float) -> float:
    """Return the number of steps of a line, 0 without length; a float, as it may be huge."""
    length, angle = math.hypot(*twist[:3]), math.hypot(*twist[3:])
    if length <= _SMALLEST and angle <= _SMALLEST:
        return 0.0
    return max(1.0, float(np.floor(max(length / step, angle / turn) * (1.0 - 1e-12))) + 1.0)


def _line(T: np.ndarray, twist: np.ndarray, parts: np.ndarray) -> np.ndarray:
    """Return the poses at some parts of a line, (k, 4, 4), by Rodrigues' formula."""
    poses = np.tile(T, (len(parts), 1, 1))
    poses[:, :3, 3] += parts[:, None] * twist[:3]
    angle = float(np.linalg.norm(twist[3:]))
    if angle > _SMALLEST:
        x, y, z = twist[3:] / angle
        K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
        sines = np.sin(parts * angle)[:, None, None]
        halves = np.sin(0.5 * parts * angle)[:, None, None]
        turned = np.eye(3) + sines * K + 2.0 * halves * halves * (K @ K)
        poses[:, :3, :3] = turned @ T[:3, :3]
    return poses


LEAST_ROWS = 10  # of which the mean says something, as with MoveIt


@dataclass(frozen=True)
class JumpThresholds:
    """
    Thresholds above which a step from one row of a path to the next counts as a jump; 0 for none.

    :ivar relative: of a step, the sum over all joints, as a multiple of the mean step.
    :ivar revolute: of a turning joint [rad].
    :ivar prismatic: of a sliding joint [m].
    """

    relative: float = 0.0
    revolute: float = 0.0
    prismatic: float = 0.0

    def bounds(self, chain: JointSpace) -> np.ndarray:
        """Return the largest step of every joint of a chain (n,) [rad] or [m]; inf for any."""
        slides = [joint.type is JointType.PRISMATIC for joint in chain.joints]
        bounds = np.where(slides, self.prismatic, self.revolute)
        return np.where(bounds > 0.0, bounds, np.inf)


@dataclass(frozen=True)
class Jump:
    """
    Step of a path above a threshold.

    :ivar row: the row at which it ends.
    :ivar joint: the joint that moves most.
    :ivar motion: by how much [rad] or [m].
    :ivar threshold: name of the threshold, as clients know it.
    """

    row: int
    joint: str
    motion: float
    threshold: str

    @property
    def text(self) -> str:
        """The jump in words."""
        return f'{self.joint} would have to move by {self.motion:.3g}, above {self.threshold}'


def first_jump(chain: JointSpace, q: np.ndarray, thresholds: JumpThresholds) -> Jump | None:
    """
    Return the first jump of a path; None where there is none.

    :param q: (N, n) rows [rad] or [m].
    """
    steps = np.abs(np.diff(q, axis=0))
    above = steps > thresholds.bounds(chain)
    jumps = above.any(axis=1)
    if thresholds.relative > 0.0 and len(q) >= LEAST_ROWS:
        size = steps.sum(axis=1)
        jumps |= size > thresholds.relative * size.mean()
    if not jumps.any():
        return None
    row = int(np.argmax(jumps))
    absolute = bool(above[row].any())
    joint = int(np.argmax(np.where(above[row], steps[row], 0.0) if absolute else steps[row]))
    name, motion = chain.joint_names[joint], float(steps[row, joint])
    if not absolute:
        return Jump(row + 1, name, motion, 'jump_threshold times the mean step')
    slides = chain.robot.joints[name].type is JointType.PRISMATIC
    return Jump(row + 1, name, motion, f'{"prismatic" if slides else "revolute"}_jump_threshold')


PARTS = tuple(k / 8.0 for k in range(1, 8))
"""Parts of the step from one row to the next at which distances are taken."""


def distance_beside_lines(
    chain: KinematicChain, trajectory: JointTrajectory, rows: np.ndarray, T_tip_point: np.ndarray
) -> float:
    """
    Return how far a point of the tip is from the lines between the rows of a trajectory.

    :param trajectory: the trajectory, which its polynomials lead from point to point.
    :param rows: (N, n) the rows; other points of the trajectory lie between them [rad] or [m].
    :param T_tip_point: (4, 4) the point, in the frame of the tip [m].
    :returns: the largest distance found at seven points between any two points [m].
    """
    if len(trajectory) < 2:
        return 0.0
    known = {row.tobytes() for row in rows}
    is_row = np.array([q.tobytes() in known for q in trajectory.positions])
    is_row[[0, -1]] = True
    ends = (tip_poses(chain, trajectory.positions[is_row]) @ T_tip_point)[:, :3, 3]
    lines = np.cumsum(is_row[:-1]) - 1
    powers = np.arange(trajectory.coefficients.shape[1])
    scaled = trajectory.coefficients * np.power.outer(np.diff(trajectory.times), powers)[..., None]
    largest = 0.0
    for part in PARTS:
        q = np.tensordot(np.power(part, powers), scaled, (0, 1))
        there = (tip_poses(chain, q) @ T_tip_point)[:, :3, 3]
        largest = max(largest, float(distances_from_lines(ends, there, lines).max()))
    return largest


def distances_from_lines(points: np.ndarray, there: np.ndarray, lines: np.ndarray) -> np.ndarray:
    """
    Return how far points are from the lines around them.

    :param points: (k, 3) ends of the lines [m].
    :param there: (m, 3) the points [m].
    :param lines: (m,) numbers of their lines, from 0 to k − 2.
    :returns: (m,) distance from the line, or from the one before or after it [m].
    """
    ahead = np.diff(points, axis=0)
    square = np.maximum(np.square(ahead).sum(axis=1), 1e-24)
    nearest = np.full(len(there), np.inf)
    for neighbour in (-1, 0, 1):
        line = np.clip(lines + neighbour, 0, len(ahead) - 1)
        off = there - points[line]
        part = np.clip((off * ahead[line]).sum(axis=1) / square[line], 0.0, 1.0)
        off -= part[:, None] * ahead[line]
        nearest = np.minimum(nearest, np.linalg.norm(off, axis=1))
    return nearest


LONGEST_STEP = 0.01
"""Largest motion between two rows [m], however long the steps are that a client allows."""
_NEAR = TOLERANCE  # distance from the lines between rows [m] above which there are more rows
_FAR = 1e-3  # distance from the lines between rows [m] above which the path ends, as with MoveIt
_FINER, _ROUNDS = 4.0, 4  # factor between the steps of rounds, and their number
# The reason for the end of a path that is no matter of the spacing of its rows, and those that may
# be one even where they are close: near a singular posture joints move fast. Some searches end
# sooner where the rows are closer.
_FINAL = PathStatus.UNREACHABLE
_RESOLVED = (
    PathStatus.SUCCESS,
    PathStatus.SINGULARITY,
    PathStatus.TOO_FAR,
    PathStatus.TIMED_OUT,
)
# Rows from the start on in which self-motions lead only so far: past a limit that ends a path
# there, closer rows may lead.
_FEW = 10


@dataclass(frozen=True, eq=False)
class CartesianPath:
    """
    Joint path along straight lines, as far as there is one.

    :ivar q: (k, n) the rows [rad] or [m], the start first.
    :ivar poses: (k, 4, 4) T_base_tip of the rows.
    :ivar progress: waypoints passed at the end, and the part of the next line.
    :ivar waypoints: number of waypoints.
    :ivar length: distance that the point moves up to the end [m].
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
        """Share of the waypoints that is reached; 0 where there are none."""
        return self.progress / self.waypoints if self.waypoints else 0.0


FaultOf = Callable[[np.ndarray], str]


@dataclass(frozen=True)
class CartesianSettings:
    """
    Settings of the search for a path along straight lines.

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

    :param start: (n,) where it starts [rad] or [m], within the limits.
    :param waypoints: (k, 4, 4) T_base_point of the waypoints.
    :param settings: settings of the search.
    :param collisions: test of the rows, and of the middles between them; None for none.
    :param fault_of: returns why (4, 4) T_base_tip is none that the tip may have, or an empty text;
        None where it may have any.
    :returns: the path; where none passes all waypoints, the longest found.
    :raises ArgumentError: the steps are so small, or the waypoints so many, that there would be
        more than :data:`~ik_service.paths.cartesian_path.MOST_POSES` rows.
    """
    began = time.monotonic()
    at_start = chain.forward(start) @ settings.T_tip_point
    step = min(settings.max_step, LONGEST_STEP)
    found: CartesianPath | None = None
    reached, row, allowed, jumped = -math.inf, 0.0, 0.0, False
    for number in range(_ROUNDS):
        left = settings.options.timeout - (time.monotonic() - began)
        if found is not None and left <= 0.0:
            break
        try:
            lines = straight_lines(at_start, waypoints, step)
        except ArgumentError:
            if found is not None:
                break
            step = settings.max_step  # of lines of hundreds of metres
            lines = straight_lines(at_start, waypoints, step)
        search = _Search(chain, start, lines, settings, collisions, len(waypoints), fault_of)
        newer, status = search.run(left if number == _ROUNDS - 1 else 0.5 * left, jumped)
        jumped |= search.jumped
        if found is not None and status is PathStatus.TIMED_OUT:
            newer = replace(newer, reason=found.reason)  # which says more
        if found is None or newer.progress >= found.progress - allowed:
            found = newer
        near, gained = newer.deviation <= _NEAR, newer.progress > reached + row
        reached, row = newer.progress, len(waypoints) / len(lines.poses)
        # A path that leaves its lines between rows yields to one that ends up to a row earlier.
        allowed = 0.0 if near else row
        good = near and newer.reason in ('', search.fault)
        if good or status is _FINAL or (near and not gained and status not in _RESOLVED):
            break
        step /= _FINER
    assert found is not None
    return replace(found, solve_time=time.monotonic() - began)


class _Search:
    """Search with the rows of one spacing, up to a pose that the tip may not have."""

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
        self.fault, self.jumped = '', False
        if fault_of is not None:
            self._end_at_fault(fault_of)

    def _end_at_fault(self, fault_of: FaultOf) -> None:
        """Leave out the poses from the first one on that the tip may not have."""
        for row, T in enumerate(self._poses):
            self.fault = fault_of(T)
            if self.fault:
                self._poses = self._poses[: max(row, 1)]
                return

    def run(self, timeout: float, jumped: bool) -> tuple[CartesianPath, PathStatus]:
        """
        Return the path found within a time-out [s], and why the search ended.

        :param jumped: whether the path of another spacing ended at a jump: where the thresholds of
            joints differ, the search then keeps the smallest one for all.
        """
        result = solve_path(
            self._chain,
            self._poses,
            self._start,
            replace(
                self._settings.options, max_step=self._bound(jumped), timeout=max(timeout, 1e-3)
            ),
            collisions=self._collisions,
        )
        q = np.array(result.q[: result.reached])
        if len(q) == 0:
            path = self._path(self._start[None], result, '', result.end.bodies)
            return path, result.status
        q[0] = self._start
        jump, obstacle = first_jump(self._chain, q, self._settings.jumps), ''
        self.jumped = jump is not None
        if jump is not None:
            q, obstacle = q[: jump.row], jump.text
        curve, bodies, status = self._curve(q), None, result.status
        if result.end.redundant and result.reached <= _FEW:
            status = PathStatus.TOO_FAR
        beside = self._beside(curve)
        far = beside > _FAR
        if far.any():
            segment = int(np.argmax(far))
            obstacle = f'the tip would leave its line by {1e3 * beside[segment]:.2g} mm'
            q, beside = q[: curve.rows[segment] + 1], beside[:segment]
        if obstacle and status is not PathStatus.TIMED_OUT:
            status = PathStatus.TOO_FAR  # whatever ends it later: closer rows may help
        if self._collisions is not None and len(beside):
            middles = _between(curve, 0.5)[: len(beside)]
            colliding = np.asarray(self._collisions.colliding(middles), bool)
            if colliding.any():
                segment = int(np.argmax(colliding))
                bodies = self._collisions.first_contact(middles[segment])
                q, beside, obstacle = q[: curve.rows[segment] + 1], beside[:segment], ''
        path = self._path(q, result, obstacle, bodies, float(beside.max(initial=0.0)))
        return path, status

    def _bound(self, jumped: bool) -> float:
        """Return the largest step of a joint that the search may make."""
        bounds = self._settings.jumps.bounds(self._chain)
        bound = bounds.min() if jumped else bounds.max()
        return float(min(self._settings.options.max_step, bound))

    def _curve(self, q: np.ndarray) -> JointCurve:
        """Return the motion through the rows."""
        poses = self._poses[: len(q)]
        curve = joint_curve(self._chain, q, self._settings.speeds, poses, TOLERANCE)
        return within_limits(curve, bounds_of_rows(self._chain, curve.q))

    def _beside(self, curve: JointCurve) -> np.ndarray:
        """Return the largest distance of the point from the lines in each segment (k−1,) [m]."""
        points, largest = self._lines.poses[curve.rows, :3, 3], np.zeros(len(curve.h))
        for part in PARTS if len(points) > 1 else ():
            poses = tip_poses(self._chain, _between(curve, part))
            there = (poses @ self._settings.T_tip_point)[:, :3, 3]
            lines = np.arange(len(there))
            largest = np.maximum(largest, distances_from_lines(points, there, lines))
        return largest

    def _path(
        self,
        q: np.ndarray,
        result: PathResult,
        obstacle: str,
        bodies: tuple[str, str] | None,
        deviation: float = 0.0,
    ) -> CartesianPath:
        rows = len(q)
        points = self._lines.poses[:rows, :3, 3]
        if obstacle:
            reason = obstacle
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
