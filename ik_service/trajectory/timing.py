"""Timing of joint paths: :func:`time_path`."""

from __future__ import annotations

from itertools import count
import math
from types import NoneType

import numpy as np
from numpy.typing import ArrayLike

from ik_service.common.quoting import safe_repr
from ik_service.common.real_arrays import real_array
from ik_service.exceptions import ArgumentError, TrajectoryError
from ik_service.kinematics.chain import KinematicChain
from ik_service.kinematics.pose_error import check_transforms
from ik_service.model.motion_bounds import MotionBounds
from ik_service.trajectory.joint_curve import joint_curve, JointCurve, slopes
from ik_service.trajectory.joint_trajectory import JointTrajectory
from ik_service.trajectory.limit_easing import (
    Bounds,
    bounds_of_rows,
    eased,
    ROUNDING,
    within_limits,
)
from ik_service.trajectory.speed_profile import fastest_motion, TIMINGS
from ik_service.trajectory.timing_limits import timing_limits, TimingLimits
from ik_service.trajectory.value_ranges import leaves_range

TOLERANCE = 1e-4
"""How far the tip may leave the corners of a path [m]; a corner that is sharper is a stop."""
_MOST_ROWS = 1_000_000


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
) -> JointTrajectory:
    """
    Time the rows of a joint path, as quickly as the limits allow, without changing its geometry.

    Every row is met exactly, and between rows the motion follows the cubic splines through them:
    a client that interpolates by position, velocity and acceleration stays on them. At both ends,
    and at corners too sharp to be rounded, the motion rests. Where all rows of a joint are within
    its position limits, it is within them between the rows too.

    :param chain: the chain.
    :param q: (N, n) the rows [rad] or [m]; of successive ones that are equal, one is timed.
    :param limits: limits of velocity and acceleration of the joints, or those of a
        ``joint_limits.yaml``; None for the velocities of the robot description. Accelerations
        that are not given reach the velocities in 0.2 s.
    :param velocity_scaling: share of the velocities that is used, above 0 and at most 1.
    :param acceleration_scaling: share of the accelerations, likewise.
    :param cartesian_speed: largest speed of the origin of a link [m/s]; None for no bound.
    :param link: the link; None for the tip.
    :param targets: (N, 4, 4) T_base_tip of the rows where the tip is meant to move straight from
        each to the next; None where the rows are of a smooth curve.
    :param timing: 'built_in', 'toppra' (extra ``path``), or 'auto', which is 'built_in'.
    :param tolerance: how far the tip may leave the corners of the path [m], and ten times as much
        in [rad]; where a corner is too sharp for that, the motion rests.
    :returns: the trajectory, with velocities and accelerations in every point.
    :raises ArgumentError: an argument has another shape, is not finite, or is out of range.
    :raises TrajectoryError: a joint moves whose velocity limit is 0.
    :raises UnknownLinkError: there is no such link.
    :raises MissingExtraError: timing is 'toppra', and it is not installed.
    """
    if not isinstance(chain, KinematicChain):
        raise ArgumentError('chain', f'has to be a KinematicChain, not {safe_repr(chain)}')
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
    tolerance = _positive('tolerance', tolerance)
    _check_moving(chain, rows, fastest, strongest)
    speed = None if cartesian_speed is None else _positive('cartesian_speed', cartesian_speed)
    curve = joint_curve(chain, rows, fastest, poses, tolerance)
    if len(curve.q) == 1:
        still = np.zeros((1, chain.n))
        return JointTrajectory(chain.joint_names, np.zeros(1), curve.q, still, still)
    reach = bounds_of_rows(chain, curve.q)
    curve = within_limits(curve, reach)
    for number in count():
        pace = None if speed is None else _Pace(chain, curve, link, poses).at(speed)
        motion = fastest_motion(curve, fastest, strongest, pace, timing)
        trajectory = JointTrajectory(chain.joint_names, *motion)
        beyond = _leaving(trajectory, reach) & ~(curve.rests[:-1] & curve.rests[1:])
        if not beyond.any():
            break
        curve = within_limits(eased(curve, beyond, reach, number), reach)
    return trajectory


def _leaving(trajectory: JointTrajectory, bounds: Bounds) -> np.ndarray:
    """Return the segments (k−1,) in which a trajectory leaves the position limits."""
    lengths = np.diff(trajectory.times)[:, None, None]
    scaled = trajectory.coefficients * lengths ** np.arange(6.0)[:, None]
    return np.asarray(leaves_range(scaled, *bounds, ROUNDING).any(axis=1))


class _Pace:
    """
    Speed of the origin of a link along a curve.

    :param chain: the chain.
    :param curve: the curve.
    :param link: the link; None for the tip.
    :param targets: (N, 4, 4) poses of the tip at all rows; None where they are not known.
    """

    def __init__(
        self,
        chain: KinematicChain,
        curve: JointCurve,
        link: str | None,
        targets: np.ndarray | None,
    ) -> None:
        if targets is not None and link in (None, chain.tip_link):
            points = targets[curve.rows, :3, 3]
        else:
            points = _link_positions(chain, curve.q, link or chain.tip_link)
        secants = np.diff(points, axis=0) / curve.h[:, None]
        start, end = slopes(curve.h, secants, curve.rests, curve.weights)
        lengths = [np.sqrt(np.square(part).sum(axis=1)) for part in (secants, start, end)]
        self._rates = np.max(lengths, axis=0)

    def at(self, speed: float) -> np.ndarray:
        """
        Return the largest ṡ in every segment (k−1,) that keeps the link at a speed.

        :param speed: the largest speed of the link [m/s].
        """
        return speed / np.maximum(self._rates, 1e-12)


def _link_positions(chain: KinematicChain, q: np.ndarray, link: str) -> np.ndarray:
    """Return where the origin of a link is at the rows, (k, 3) in the base frame [m]."""
    robot = chain.robot
    movers = {
        robot.resolve_mimic(joint.name)[0]
        for joint, _ in robot.path(chain.base_link, link)
        if joint.movable
    }
    names = [name for name in chain.joint_names if name in movers - set(chain.locked)]
    if not names:
        return np.zeros((len(q), 3))
    others = movers - set(names) - set(chain.locked)
    if others:
        raise ArgumentError(
            'link', f'{safe_repr(link)} is moved by {", ".join(sorted(others))}, which the chain '
            'does not move'
        )  # fmt: skip
    to_link = KinematicChain(robot, chain.base_link, link, chain.locked)
    columns = [chain.joint_names.index(name) for name in to_link.joint_names]
    return np.array([to_link.forward(row)[:3, 3] for row in q[:, columns]])


def _checked_rows(chain: KinematicChain, q: ArrayLike) -> np.ndarray:
    rows = real_array(q, 'q')
    if rows.ndim != 2 or rows.shape[1] != chain.n or not 1 <= len(rows) <= _MOST_ROWS:
        raise ArgumentError(
            'q', f'has shape {rows.shape}, has to be (N, {chain.n}) with N from 1 to {_MOST_ROWS}'
        )
    wrong = np.argwhere(~np.isfinite(rows))
    if len(wrong):
        row, joint = wrong[0].tolist()
        raise ArgumentError(f'q[{row}]', f'has {chain.joint_names[joint]} at {rows[row, joint]}')
    return rows


def _share(name: str, value: float) -> float:
    share = _positive(name, value)
    if share > 1.0:
        raise ArgumentError(name, f'has to be above 0 and at most 1, not {safe_repr(value)}')
    return share


def _positive(name: str, value: float) -> float:
    number = real_array(value, name)
    if number.shape != () or not 0.0 < number < math.inf:
        raise ArgumentError(name, f'has to be a finite number above 0, not {safe_repr(value)}')
    return float(number)


def _check_moving(
    chain: KinematicChain, rows: np.ndarray, fastest: np.ndarray, strongest: np.ndarray
) -> None:
    """Refuse a path on which a joint moves that cannot."""
    for limit, what in ((fastest, 'velocity'), (strongest, 'acceleration')):
        moved = np.argwhere((limit <= 0.0) & (rows != rows[0]))
        if len(moved):
            row, joint = moved[0].tolist()
            raise TrajectoryError(
                f'moves a joint whose limit of {what} is 0', row, chain.joint_names[joint]
            )
