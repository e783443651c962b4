"""Timing of joint paths: :func:`time_path`."""

from __future__ import annotations

from collections.abc import Callable
from types import NoneType

import numpy as np
from numpy.typing import ArrayLike

from ik_service.common.arguments import check_kind, positive, real_array
from ik_service.common.quoting import safe_repr
from ik_service.exceptions import ArgumentError, TrajectoryError
from ik_service.kinematics.chain import KinematicChain
from ik_service.kinematics.link_poses import tip_speeds
from ik_service.kinematics.pose_error import check_transforms
from ik_service.model.motion_bounds import MotionBounds
from ik_service.model.tool_frame import ToolFrame
from ik_service.paths.timing.jerk_timing import jerk_limited_motion, JerkLimits
from ik_service.paths.timing.joint_curve import (
    Bounds,
    bounds_of_rows,
    eased,
    joint_curve,
    JointCurve,
    resting,
    ROUNDING,
    within_limits,
)
from ik_service.paths.timing.speed_profile import (
    fastest_motion,
    long_segments_parted,
    Motion,
    Pace,
    TIMINGS,
)
from ik_service.paths.timing.timing_limits import (
    jerk_limits,
    JointTorques,
    timing_limits,
    TimingLimits,
)
from ik_service.paths.trajectory.joint_trajectory import JointTrajectory, time_powers
from ik_service.paths.trajectory.limit_check import leaves_range, POSITION_ALLOWANCE

_POINT = 'cartesian_speed: point'  # link of that name at a point; no other one is called so

# Parts of a segment at whose ends the speed of a link is sampled, and by how much the joints move
# together in one of them, if there may be as many [rad] or [m].
_FEWEST_PARTS, _MOST_PARTS, _PART = 8, 512, 0.1


class LinkSpeed:
    """
    Speed of the origin or another point of a link, as the joints move it.

    :param chain: the chain.
    :param link: the link; None for the tip.
    :param point: (3,) the point in the frame of the link [m]; None for its origin.
    :raises ArgumentError: the link is moved by a joint that the chain does not move.
    :raises UnknownLinkError: there is no such link.
    """

    def __init__(
        self, chain: KinematicChain, link: str | None, point: np.ndarray | None = None
    ) -> None:
        self._columns: list[int] = []
        robot, link = chain.robot, link or chain.tip_link
        movers = {
            robot.resolve_mimic(joint.name)[0]
            for joint, _ in robot.path(chain.base_link, link)
            if joint.movable
        }
        names = [name for name in chain.joint_names if name in movers - set(chain.locked)]
        others = movers - set(names) - set(chain.locked)
        if names and others:
            raise ArgumentError(
                'link', f'{safe_repr(link)} is moved by {", ".join(sorted(others))}, which the '
                'chain does not move'
            )  # fmt: skip
        if names:
            if point is not None and point.any():
                robot = robot.with_tool_frames({_POINT: ToolFrame(link, point.tolist())})
                link = _POINT
            self._chain = KinematicChain(robot, chain.base_link, link, chain.locked)
            self._columns = [chain.joint_names.index(name) for name in self._chain.joint_names]

    def along(self, curve: JointCurve) -> np.ndarray:
        """Return the largest speed of the link in each segment, by the curve's parameter."""
        h = curve.h[:, None]
        swings = curve.start - curve.secants, curve.secants - curve.end

        def sample(chosen: np.ndarray, u: float) -> np.ndarray:
            v, secants = 1.0 - u, curve.secants[chosen]
            first, last = (swing[chosen] for swing in swings)
            q = curve.q[chosen] + h[chosen] * u * (secants + v * (v * first + u * last))
            slope = secants + v * (v - 2.0 * u) * first + u * (2.0 * v - u) * last
            return self._speeds(q, slope)

        return _largest(sample, h * np.abs([curve.secants, curve.start, curve.end]))

    def of(self, trajectory: JointTrajectory) -> np.ndarray:
        """Return the largest speed of the link in every segment of a trajectory, (k−1,) [m/s]."""
        h = np.diff(trajectory.times)[:, None]
        scaled = trajectory.coefficients * (h ** np.arange(6.0))[:, :, None]  # of 1 s each

        def sample(chosen: np.ndarray, u: float) -> np.ndarray:
            position, velocity, _ = np.tensordot(time_powers(u), scaled[chosen], (1, 1))
            return self._speeds(position, velocity / h[chosen])

        return _largest(sample, np.abs(np.moveaxis(scaled[:, 1:], 1, 0)))

    def _speeds(self, q: np.ndarray, velocities: np.ndarray) -> np.ndarray:
        """Return the speed of the link at joint vectors and velocities (k, n)."""
        if not self._columns:
            return np.zeros(len(q))
        return tip_speeds(self._chain, q[:, self._columns], velocities[:, self._columns])


def _largest(sample: Callable[[np.ndarray, float], np.ndarray], motions: np.ndarray) -> np.ndarray:
    """
    Return the largest value of a function in every segment (k−1,), by parabolas through samples.

    A sample is its values in chosen segments at a place from 0 to 1; the more the joints move in a
    segment (m, k−1, n), the more samples there are.
    """
    parts = np.clip(motions.max(axis=0).sum(axis=1) / _PART, _FEWEST_PARTS, _MOST_PARTS)
    counts = 2 ** np.ceil(np.log2(parts)).astype(int)
    largest = np.empty(len(counts))
    for count in np.unique(counts).tolist():
        chosen = np.flatnonzero(counts == count)
        values = np.stack([sample(chosen, u) for u in np.linspace(0.0, 1.0, count + 1).tolist()])
        # A parabola through three samples exceeds the middle one, if that is the largest, by no
        # more than an eighth of their second difference.
        values[1:-1] += np.abs(np.diff(values, 2, axis=0)) / 8.0
        largest[chosen] = values.max(axis=0)
    return largest


TOLERANCE = 1e-4
"""Distance within which the tip rounds the corners of a path [m]; sharper ones are stops."""
_MOST_ROWS = 1_000_000  # of a path
# Rounds in which the motion is slowed down where a link is too fast between rows, and by how much
# it may be for them to end; what remains slows all down.
_PACE_ROUNDS = 6
_FINE = 1.001
# Share by which a speed between the samples may exceed the largest that they show.
_UNSEEN = 1e-4
_ROUNDED = 1e-9  # by which the rows of a joint that cannot move differ from rounding [rad] or [m]
_LONGEST = 1e9  # [s]; the powers of longer times are beyond all numbers


def time_path(
    chain: KinematicChain,
    q: ArrayLike,
    limits: TimingLimits | MotionBounds | None = None,
    velocity_scaling: float = 1.0,
    acceleration_scaling: float = 1.0,
    cartesian_speed: float | None = None,
    link: str | None = None,
    targets: ArrayLike | None = None,
    timing: str = 'auto',
    tolerance: float = TOLERANCE,
    jerk: ArrayLike | None = None,
    torques: JointTorques | None = None,
    point: ArrayLike | None = None,
) -> JointTrajectory:
    """
    Time the rows of a joint path, as quickly as the limits allow, without changing its geometry.

    Every row is met exactly, and between rows the motion follows the cubic splines through them:
    a client that interpolates by position, velocity and acceleration stays on them. At both ends,
    at corners too sharp to be rounded, and where that is much quicker than to go on, the motion
    rests. Where all rows of a joint are within its position limits, it is within them between the
    rows too. Rows that are reached within a microsecond of one another at full speed count as one.

    Where few rows are farther apart than the rise to full speed takes, there are further points
    between them. So there are with limits of jerk or torque, and the motion rests with
    accelerations of 0. Between points it is quintic, so that accelerations are continuous; its
    jerk, which is that of the quintics, is within the limits at every instant. Of rows that are
    reached within 50 µs of one another one is a point, and the others are met to about 1e-12.

    :param chain: the chain.
    :param q: (N, n) the rows [rad] or [m]; of successive ones that are equal, one is timed.
    :param limits: limits of velocity and acceleration of the joints, or those of a
        ``joint_limits.yaml``; None for the velocities of the robot description. Accelerations
        that are not given reach the velocities in 0.2 s.
    :param velocity_scaling: share of the velocities that is used, above 0 and at most 1.
    :param acceleration_scaling: share of the accelerations, likewise.
    :param cartesian_speed: largest speed of the origin of a link [m/s], at and between the rows;
        None for no bound.
    :param link: the link; None for the tip.
    :param targets: (N, 4, 4) T_base_tip of the rows where the tip is meant to move straight from
        each to the next; None where the rows are of a smooth curve.
    :param timing: 'built_in', 'toppra' (extra ``path``), or 'auto', which is 'built_in'.
    :param tolerance: how far the tip may leave the corners of the path [m], and ten times as much
        in [rad]; where a corner is too sharp for that, the motion rests.
    :param jerk: (n,) largest jerks [rad/s³] or [m/s³], or one number for all joints; inf for none;
        None for those of the limits, if these are of a ``joint_limits.yaml`` that has any.
    :param torques: torques of the joints and their limits, such as
        :class:`~ik_service.extras.dynamics.rigid_body.RigidBodyTorques`, which are kept
        between the points too, as far as samples tell; None for no such limits.
    :param point: (3,) the point of the link that ``cartesian_speed`` is for, in the frame of the
        link [m]; None for its origin.
    :returns: the trajectory, with velocities and accelerations in every point.
    :raises ArgumentError: an argument has another shape, is not finite, or is out of range.
    :raises TrajectoryError: a row is more than 0.001 rad or m beyond a position limit, and farther
        than the first one; a joint moves whose limit of velocity, acceleration or jerk is 0; the
        motion takes more than 1e9 s; or a joint needs as much torque as it has to rest somewhere
        on the path.
    :raises UnknownLinkError: there is no such link.
    :raises MissingExtraError: timing is 'toppra', and it is not installed.
    """
    check_kind(chain, KinematicChain, 'chain')
    rows = _checked_rows(chain, q)
    bounds = timing_limits(chain, limits)
    fastest = bounds.velocity * _share('velocity_scaling', velocity_scaling)
    strongest = bounds.acceleration * _share('acceleration_scaling', acceleration_scaling)
    if not isinstance(timing, str) or timing not in TIMINGS:
        names = ', '.join(TIMINGS)
        raise ArgumentError('timing', f'has to be one of {names}, not {safe_repr(timing)}')
    if not isinstance(link, (str, NoneType)):
        raise ArgumentError('link', f'has to be the name of a link, not {safe_repr(link)}')
    poses = None if targets is None else check_transforms(targets, 'targets')
    if poses is not None and len(poses) != len(rows):
        raise ArgumentError('targets', f'are {len(poses)} poses for {len(rows)} rows')
    tolerance = positive(tolerance, 'tolerance')
    smoothest = jerk_limits(chain, limits, jerk)
    if torques is not None and np.shape(getattr(torques, 'limit', ())) != (chain.n,):
        raise ArgumentError('torques', f'have to be those of {chain.n} joints')
    _check_positions(chain, rows)
    with np.errstate(over='ignore'):
        rounded = np.ptp(rows, axis=0) < _ROUNDED
    rounded &= np.minimum.reduce([fastest, strongest, smoothest]) == 0.0
    rows = np.where(rounded, rows[0], rows)
    _check_moving(chain, rows, fastest, strongest, smoothest)
    fastest = _reachable_speeds(rows, fastest, strongest)
    speed = None if cartesian_speed is None else positive(cartesian_speed, 'cartesian_speed')
    place = np.zeros(3) if point is None else real_array(point, 'point')
    if place.shape != (3,) or not np.isfinite(place).all():
        raise ArgumentError('point', f'has to be 3 finite numbers, not {safe_repr(point)}')
    moving = (rows != rows[0]).any(axis=0)
    smooth = torques is not None or bool(np.isfinite(smoothest[moving]).any())
    if smooth and timing == 'toppra':
        raise ArgumentError(
            'timing', "'toppra' keeps no limits of jerk or torque; 'built_in' does"
        )
    curve = joint_curve(chain, rows, fastest, poses, tolerance)
    if len(curve.q) == 1:
        still = np.zeros((1, chain.n))
        return JointTrajectory(chain.joint_names, np.zeros(1), curve.q, still, still)
    reach = bounds_of_rows(chain, curve.q)
    curve = within_limits(curve, reach)
    bound = _Bound(chain, curve, speed, link, place)
    if not smooth:
        coarse, curve = curve, long_segments_parted(curve, fastest, strongest, bound.pace(curve))
        bound = bound if curve is coarse else _Bound(chain, curve, speed, link, place)

    def motion_along(curve: JointCurve, pace: Pace) -> tuple[Motion, np.ndarray, np.ndarray]:
        if smooth:
            all_limits = JerkLimits(fastest, strongest, smoothest, torques)
            return *jerk_limited_motion(curve, all_limits, pace), np.zeros(len(curve.h), bool)
        motion, slow = fastest_motion(curve, fastest, strongest, pace, timing)
        return motion, np.arange(len(curve.h)), slow

    return _timed(chain, curve, reach, bound, motion_along)


# Speed [rad/s] or [m/s] above which limits are compared with the speeds that a joint can come to;
# and how many times these the limits may be: farther beyond them, rounding decides on the motion.
_FASTEST, _MUCH_FASTER = 1e3, 100.0


def _reachable_speeds(rows: np.ndarray, fastest: np.ndarray, strongest: np.ndarray) -> np.ndarray:
    """Return limits of velocity (n,), those far beyond what accelerations lead to lowered."""
    travel = np.abs(np.diff(rows, axis=0)).sum(axis=0)
    with np.errstate(over='ignore', invalid='ignore'):
        reachable = _MUCH_FASTER * np.sqrt(strongest * travel)
    return np.fmin(fastest, np.fmax(_FASTEST, reachable))


def _timed(
    chain: KinematicChain,
    curve: JointCurve,
    reach: Bounds,
    bound: _Bound,
    motion_along: Callable[[JointCurve, Pace], tuple[Motion, np.ndarray, np.ndarray]],
) -> JointTrajectory:
    """
    Return the motion along a curve, within position limits and the speed of the link.

    ``motion_along`` returns the fastest motion along a curve, the numbers (k−1,) of its points at
    the rows but the last, and the segments (k−1,) at whose ends it is better to rest.
    """
    easings = 0
    while True:
        pace = bound.pace(curve)
        with np.errstate(over='ignore'):  # as slow as can be
            seconds = 0.0 if pace is None else float((curve.h / pace).sum())
        if not seconds <= _LONGEST:
            raise TrajectoryError(f'cannot be that slow: {seconds:.3g} s by cartesian_speed')
        motion, starts, slow = motion_along(curve, pace)
        if slow.any():
            curve = resting(curve, slow)
            continue
        trajectory = JointTrajectory(chain.joint_names, *motion)
        beyond = np.logical_or.reduceat(_leaving(trajectory, reach), starts)
        beyond &= ~(curve.rests[:-1] & curve.rests[1:])
        if beyond.any():
            curve = within_limits(eased(curve, beyond, reach, easings), reach)
            easings += 1
        elif bound.kept(trajectory, starts):
            return bound.within(trajectory)


def _leaving(trajectory: JointTrajectory, bounds: Bounds) -> np.ndarray:
    """Return the segments (k−1,) in which a trajectory leaves the position limits."""
    lengths = np.diff(trajectory.times)[:, None, None]
    scaled = trajectory.coefficients * lengths ** np.arange(6.0)[:, None]
    return np.asarray(leaves_range(scaled, *bounds, ROUNDING).any(axis=1))


class _Bound:
    """Bound on the speed of a point of a link [m/s], also between rows; None for no bound."""

    def __init__(
        self,
        chain: KinematicChain,
        curve: JointCurve,
        speed: float | None,
        link: str | None,
        point: np.ndarray,
    ) -> None:
        self._speed, self._rounds = speed, 0
        if speed is not None:
            self._link = LinkSpeed(chain, link, point)
            self._slower = np.ones(len(curve.h))

    def pace(self, curve: JointCurve) -> np.ndarray | None:
        """Return the largest ṡ in every segment (k−1,) that keeps the bound; None for no bound."""
        if self._speed is None:
            return None
        with np.errstate(over='ignore'):  # as fast as can be
            return self._speed / (self._slower * np.maximum(self._link.along(curve), 1e-12))

    def kept(self, trajectory: JointTrajectory, starts: np.ndarray) -> bool:
        """Return whether it is kept, or no further round helps; if not, slow down there."""
        excess = self._excess(trajectory)
        self._rounds += 1
        if excess.max() <= _FINE or self._rounds >= _PACE_ROUNDS:
            return True
        self._slower *= np.maximum(np.maximum.reduceat(excess, starts), 1.0)
        return False

    def within(self, trajectory: JointTrajectory) -> JointTrajectory:
        """Return a trajectory slowed down as a whole by the excess that remains over the bound."""
        factor = (1.0 + _UNSEEN) * float(self._excess(trajectory).max())
        velocities, accelerations = trajectory.velocities, trajectory.accelerations
        if factor <= 1.0 or velocities is None or accelerations is None:
            return trajectory
        return JointTrajectory(
            trajectory.joint_names,
            trajectory.times * factor,
            trajectory.positions,
            velocities / factor,
            accelerations / factor**2,
        )

    def _excess(self, trajectory: JointTrajectory) -> np.ndarray:
        """Return the largest speeds (k−1,) in the segments, as shares of the bound."""
        if self._speed is None:
            return np.zeros(1)
        return self._link.of(trajectory) / self._speed


def _checked_rows(chain: KinematicChain, q: ArrayLike) -> np.ndarray:
    rows = real_array(q, 'q')
    if rows.ndim != 2 or rows.shape[1] != chain.n or not 1 <= len(rows) <= _MOST_ROWS:
        raise ArgumentError(
            'q', f'has shape {rows.shape}, has to be (N, {chain.n}) with N from 1 to {_MOST_ROWS}'
        )
    finite = np.isfinite(rows)
    if not finite.all():
        row, joint = np.argwhere(~finite)[0].tolist()
        raise ArgumentError(f'q[{row}]', f'has {chain.joint_names[joint]} at {rows[row, joint]}')
    return rows


def _share(name: str, value: float) -> float:
    share = positive(value, name)
    if share > 1.0:
        raise ArgumentError(name, f'has to be above 0 and at most 1, not {safe_repr(value)}')
    return share


def _check_positions(chain: KinematicChain, rows: np.ndarray) -> None:
    """Refuse a row beyond a position limit, unless the first one is, from where an arm returns."""
    excess = np.maximum(chain.lower - rows, rows - chain.upper)
    wrong = np.argwhere(excess > np.maximum(excess[0], POSITION_ALLOWANCE))
    if len(wrong):
        row, joint = wrong[0].tolist()
        q, lower, upper = rows[row, joint], chain.lower[joint], chain.upper[joint]
        limit = lower if q < lower else upper
        fault = f'the position {q:.7g} is beyond the limit {limit:.7g}'
        raise TrajectoryError(fault, row, chain.joint_names[joint])


def _check_moving(chain: KinematicChain, rows: np.ndarray, *limits: np.ndarray) -> None:
    """Refuse a path on which a joint moves that cannot, by its limits of velocity and so on."""
    for order, limit in enumerate(limits, 1):
        with np.errstate(all='ignore'):  # the limit may be 0 and the motion beyond all numbers
            times = (np.ptp(rows, axis=0) / limit) ** (1.0 / order)
        if not (times > _LONGEST).any():
            continue
        what, joint = ('velocity', 'acceleration', 'jerk')[order - 1], int(np.nanargmax(times))
        row = int(np.argmax(rows[:, joint] != rows[0, joint]))
        fault = f'needs {times[joint]:.3g} s by its limit of {what}; {_LONGEST:g} s are the most'
        if limit[joint] == 0.0:
            fault = f'moves a joint whose limit of {what} is 0'
        raise TrajectoryError(fault, row, chain.joint_names[joint])
