"""Joint motion in time, as way points of positions, velocities and accelerations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ik_service.common.quoting import listed
from ik_service.exceptions import TrajectoryError
from ik_service.paths.trajectory.segments import segment_coefficients, time_powers


@dataclass(frozen=True)
class JointTrajectory:
    """
    Way points of n joints in time, and the motion between them.

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
        """
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
                f'does not name the joint, but {listed(self.joint_names)}',
                joint=missing[0],
            )
        if other:
            raise TrajectoryError(
                f'is for another joint too; those of the arm are {listed(names)}',
                joint=other[0],
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
