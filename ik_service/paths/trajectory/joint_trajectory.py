"""
Joint motion in time, as waypoints of positions, velocities and accelerations.

Between the points it is interpolated as by the joint_trajectory_controller of ros2_control
(``Trajectory::interpolate_between_points``): linear from positions, cubic from positions and
velocities, quintic from positions, velocities and accelerations at both ends of a segment.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ik_service.common.arguments import single_number
from ik_service.common.quoting import listed
from ik_service.exceptions import TrajectoryError


def segment_coefficients(
    times: np.ndarray,
    positions: np.ndarray,
    velocities: np.ndarray | None,
    accelerations: np.ndarray | None,
) -> np.ndarray:
    """
    Return the polynomials of the time since the start of each segment.

    :param times: (k,) times of the points [s].
    :param positions: (k, n) positions [rad] or [m].
    :param velocities: (k, n) velocities [rad/s] or [m/s]; None for none.
    :param accelerations: (k, n) accelerations [rad/s²] or [m/s²]; None for none.
    :returns: (k−1, 6, n) coefficients of τ⁰ to τ⁵.
    """
    h = np.diff(times)[:, None]
    start, ahead = positions[:-1], np.diff(positions, axis=0)
    c = np.zeros((len(h), 6, positions.shape[1]))
    c[:, 0] = start
    if velocities is None:
        c[:, 1] = ahead / h
        return c
    v0, v1 = velocities[:-1], velocities[1:]
    c[:, 1] = v0
    if accelerations is None:
        c[:, 2] = (3.0 * ahead / h - 2.0 * v0 - v1) / h
        c[:, 3] = (v0 + v1 - 2.0 * ahead / h) / h**2
        return c
    a0, a1 = accelerations[:-1], accelerations[1:]
    c[:, 2] = 0.5 * a0
    # Residual after the parabola of the start: in position, velocity × h, acceleration × h².
    p = ahead - v0 * h - 0.5 * a0 * h**2
    v = (v1 - v0 - a0 * h) * h
    a = (a1 - a0) * h**2
    c[:, 3] = (10.0 * p - 4.0 * v + 0.5 * a) / h**3
    c[:, 4] = (-15.0 * p + 7.0 * v - a) / h**4
    c[:, 5] = (6.0 * p - 3.0 * v + 0.5 * a) / h**5
    return c


def time_powers(t: float) -> np.ndarray:
    """Return rows (3, 6) that map coefficients to position, velocity, acceleration at t [s]."""
    t2, t3 = t * t, t * t * t
    return np.array(
        [
            [1.0, t, t2, t3, t2 * t2, t2 * t3],
            [0.0, 1.0, 2.0 * t, 3.0 * t2, 4.0 * t3, 5.0 * t2 * t2],
            [0.0, 0.0, 2.0, 6.0 * t, 12.0 * t2, 20.0 * t3],
        ]
    )


@dataclass(frozen=True, eq=False)
class JointTrajectory:
    """
    Waypoints of n joints in time, and the motion between them.

    Between two points the motion is the polynomial that ros2_control's joint trajectory
    controller takes: linear from positions alone, cubic from positions and velocities, quintic
    from accelerations too.

    :ivar joint_names: names of the joints.
    :ivar times: (k,) time of each point from the start, which increases [s]; read-only, as all
        arrays.
    :ivar positions: (k, n) positions [rad] or [m].
    :ivar velocities: (k, n) velocities [rad/s] or [m/s]; None where none are given.
    :ivar accelerations: (k, n) accelerations [rad/s²] or [m/s²]; None where none are given.
    :raises TrajectoryError: a shape does not fit, a number is not finite, times do not increase,
        or a name comes twice; with the point and the joint.
    """

    joint_names: tuple[str, ...]
    times: np.ndarray
    positions: np.ndarray
    velocities: np.ndarray | None = None
    accelerations: np.ndarray | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, 'joint_names', _checked_names(self.joint_names))
        object.__setattr__(self, 'times', _checked_times(self.times))
        shape = (len(self.times), len(self.joint_names))
        for field in ('positions', 'velocities', 'accelerations'):
            values = getattr(self, field)
            if values is not None:
                object.__setattr__(self, field, _checked(field, values, shape, self.joint_names))
        if self.positions is None:
            raise TrajectoryError('has no positions')
        if self.accelerations is not None and self.velocities is None:
            raise TrajectoryError('has accelerations, but no velocities')

    def __len__(self) -> int:
        """Return the number of points."""
        return len(self.times)

    @property
    def duration(self) -> float:
        """Time of the last point [s]."""
        return float(self.times[-1])

    def at(self, t: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """
        Return the motion at a time.

        :param t: time from the start [s]; before the first point the arm rests there, and after
            the last one there.
        :returns: (n,) positions [rad] or [m], (n,) velocities [rad/s] or [m/s] and (n,)
            accelerations [rad/s²] or [m/s²]; at a point where they jump, those after it, and at
            the last point those before it.
        :raises TrajectoryError: the time is NaN.
        :raises ArgumentError: it is no number.
        """
        if not isinstance(t, (int, float)):
            t = single_number(t, 't')
        if not self.times[0] <= t <= self.times[-1] or len(self.times) == 1:
            if t != t:  # NaN
                raise TrajectoryError('cannot be sampled at the time NaN')
            return self._resting(0 if t <= self.times[0] else -1)
        i = min(int(self.times.searchsorted(t, 'right')), len(self.times) - 1) - 1
        q, velocity, acceleration = time_powers(t - self.times[i]) @ self.coefficients[i]
        return q, velocity, acceleration

    @cached_property
    def coefficients(self) -> np.ndarray:
        """Polynomials (k−1, 6, n) of the time since the point before, the constant first."""
        coefficients = segment_coefficients(
            self.times, self.positions, self.velocities, self.accelerations
        )
        coefficients.setflags(write=False)
        return coefficients

    def of_joints(self, joint_names: Sequence[str]) -> JointTrajectory:
        """
        Return the same motion with the joints in another order.

        :param joint_names: all joints, in the order wanted.
        :raises TrajectoryError: these are other joints; names them.
        """
        names = _checked_names(joint_names)
        missing = [name for name in names if name not in self.joint_names]
        other = [name for name in self.joint_names if name not in names]
        if missing:
            raise TrajectoryError(
                f'does not name the joint, but {listed(self.joint_names)}', joint=missing[0]
            )
        if other:
            raise TrajectoryError(
                f'is for another joint too; those of the arm are {listed(names)}', joint=other[0]
            )
        if names == self.joint_names:
            return self
        order = [self.joint_names.index(name) for name in names]
        columns = (
            None if values is None else values[:, order]
            for values in (self.positions, self.velocities, self.accelerations)
        )
        return JointTrajectory(names, self.times, *columns)  # type: ignore[arg-type]

    def _resting(self, i: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        still = np.zeros(len(self.joint_names))
        return self.positions[i].copy(), still, still.copy()


def _checked_names(names: Sequence[str]) -> tuple[str, ...]:
    if isinstance(names, str):
        raise TrajectoryError(f'names its joints in one text, {names!r}, not in a sequence')
    names = tuple(names)
    if not names:
        raise TrajectoryError('names no joints')
    for i, name in enumerate(names):
        if not isinstance(name, str) or not name:
            raise TrajectoryError(f'has the name {name!r} for its joint {i}')
        if name in names[:i]:
            raise TrajectoryError('names the joint twice', joint=name)
    return names


def _checked_times(times: np.ndarray) -> np.ndarray:
    times = _numbers('times', times)
    if times.ndim != 1:
        raise TrajectoryError(f'has times of shape {times.shape}; (k,) is right')
    if len(times) == 0:
        raise TrajectoryError('has no points')
    wrong = np.flatnonzero(~np.isfinite(times) | (times < 0.0))
    if len(wrong):
        i = int(wrong[0])
        raise TrajectoryError(f'has the time {times[i]} s; 0 or more is right', point=i)
    early = np.flatnonzero(np.diff(times) <= 0.0)
    if len(early):
        i = int(early[0]) + 1
        raise TrajectoryError(
            f'has the time {times[i]} s, and the point before it {times[i - 1]} s; '
            f'times have to increase',
            point=i,
        )
    return times


def _checked(
    field: str, values: np.ndarray, shape: tuple[int, int], names: tuple[str, ...]
) -> np.ndarray:
    values = _numbers(field, values)
    if values.shape != shape:
        raise TrajectoryError(
            f'has {field} of shape {values.shape}; {shape} is right, for {shape[0]} points and '
            f'{shape[1]} joints'
        )
    finite = np.isfinite(values)
    if not finite.all():
        i, j = np.argwhere(~finite)[0].tolist()
        quantity = {'positions': 'position', 'velocities': 'velocity'}.get(field, 'acceleration')
        raise TrajectoryError(f'has the {quantity} {values[i, j]}', point=i, joint=names[j])
    return values


def _numbers(field: str, values: np.ndarray) -> np.ndarray:
    """Return values as a read-only array of floating-point numbers of their own."""
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TrajectoryError(f'has {field} that are no array of numbers: {error}') from None
    array.setflags(write=False)
    return array


def starting_from(
    trajectory: JointTrajectory,
    position: np.ndarray,
    turns: np.ndarray,
    tolerance: np.ndarray,
    velocity: np.ndarray | None = None,
) -> JointTrajectory:
    """
    Return a trajectory that starts where an arm is, or near.

    One whose first point has a later time than 0 gets a point more there. One that begins at the
    time 0 has to begin there within a tolerance, and stays as it is, unless the arm moves.

    :param trajectory: the trajectory.
    :param position: (n,) where the arm is [rad] or [m], in the trajectory's order of joints.
    :param turns: (n,) full turn of each joint that may turn without end [rad], otherwise 0; such
        joints are put on the turn on which the arm is.
    :param tolerance: (n,) how far the first point may lie away [rad] or [m].
    :param velocity: (n,) how fast the arm moves [rad/s] or [m/s], which is the velocity of the
        first point then; None at rest.
    :raises TrajectoryError: it lies farther away; names the joint.
    """
    away = trajectory.positions[0] - position
    shift = turns * np.round(away / np.where(turns > 0.0, turns, 1.0))
    positions = trajectory.positions - shift if shift.any() else trajectory.positions
    names, times = trajectory.joint_names, trajectory.times
    velocities, accelerations = trajectory.velocities, trajectory.accelerations
    if times[0] > 0.0:
        times = np.concatenate([[0.0], times])
        positions = np.vstack([position, positions])
        still = np.zeros(len(names))
        first = still if velocity is None else velocity
        velocities = None if velocities is None else np.vstack([first, velocities])
        accelerations = None if accelerations is None else np.vstack([still, accelerations])
    else:
        far = np.flatnonzero(np.abs(positions[0] - position) > tolerance)
        if len(far):
            j = int(far[0])
            raise TrajectoryError(
                f'starts at {positions[0, j]:.4f}, but the joint is at {position[j]:.4f}; '
                f'{tolerance[j]:.4g} away is allowed (or a first point at a later time than 0)',
                0,
                names[j],
            )
        if velocity is not None and velocities is not None:
            positions, velocities = positions.copy(), velocities.copy()
            positions[0], velocities[0] = position, velocity
    return JointTrajectory(names, times, positions, velocities, accelerations)
