"""Errors of the client, and poses and seeds of a batch as arrays."""

from __future__ import annotations

import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from numbers import Real
import threading

from geometry_msgs.msg import PoseStamped
import numpy as np
from numpy.typing import ArrayLike
from sensor_msgs.msg import JointState

from ik_service.common.arguments import real_array, truth_value
from ik_service.common.quaternions import quaternions_xyzw_from_rotations
from ik_service.common.quoting import safe_repr
from ik_service.exceptions import ArgumentError, IkServiceError


class IkClientError(IkServiceError):
    """Batch that did not finish; answers received before are in the batch."""


class BatchCancelledError(IkClientError):
    """Batch that was cancelled."""


class NoServerError(IkClientError):
    """
    Server that is not there, or does not answer any more.

    :ivar services: full names of the services that were waited for.
    """

    def __init__(self, message: str, services: tuple[str, ...]) -> None:
        super().__init__(message)
        self.services = services


def checked_seconds(value: float, argument: str, above: float = 0.0) -> float:
    """Return a time, at most as long as threads can wait [s]; raises ArgumentError for none."""
    if not isinstance(value, Real) or not value > above:
        kind = 'a positive time' if above == 0.0 else 'a time'
        raise ArgumentError(argument, f'is {safe_repr(value)}, has to be {kind} [s]')
    return float(min(value, threading.TIMEOUT_MAX))


_RIGID = 1e-3  # how far from the identity R Rᵀ may be

Poses = ArrayLike | Sequence[PoseStamped]  # (N, 4, 4) matrices, or messages


@dataclass(frozen=True)
class Question:
    """
    Request for the solutions of a batch.

    :ivar poses: (N, 7) positions [m] and quaternions (x, y, z, w).
    :ivar blocks: frames, each with the numbers of the poses in it.
    :ivar seeds: (n,) or (N, n) [rad] or [m]; None for the server's own start.
    :ivar seed_joints: the n joints of the seeds.
    :ivar group: the planning group; empty for the default.
    :ivar link: the link that is placed; empty for the tip of the group.
    :ivar avoid_collisions: whether answers have to be free of collisions.
    """

    poses: np.ndarray
    blocks: tuple[tuple[str, np.ndarray], ...]
    seeds: np.ndarray | None = None
    seed_joints: tuple[str, ...] = field(default=())
    group: str = ''
    link: str = ''
    avoid_collisions: bool = False

    @classmethod
    def of(
        cls,
        poses: Poses,
        frame: str,
        seeds: ArrayLike | None,
        seed_joints: Sequence[str],
        group: str = '',
        link: str = '',
        avoid_collisions: bool = False,
    ) -> Question:
        """
        Return the request for the solutions of a batch.

        :param frame: frame of matrices, and of messages that name none.
        :param seeds: as the attribute; so are the other arguments.
        :raises ArgumentError: poses or seeds are of another shape, or a matrix is not rigid; names
            the row. Or a name is no text, or ``avoid_collisions`` no truth value. NaN is no
            error here: the server gives its own response to NaN.
        """
        for name, value in (('frame', frame), ('group', group), ('link', link)):
            _check_text(value, name)
        truth_value(avoid_collisions, 'avoid_collisions')  # messages take others for False
        if isinstance(poses, (list, tuple)) and all(isinstance(p, PoseStamped) for p in poses):
            rows, frames = _from_messages(poses), [p.header.frame_id or frame for p in poses]
        else:
            rows = _from_matrices(poses)
            frames = [frame] * len(rows)
        blocks = _blocks(frames)
        for name, numbers in blocks:
            _check_text(name, f'the frame of poses[{numbers[0]}]')
        given = _seeds(seeds, seed_joints, len(rows))
        return cls(rows, blocks, *given, group, link, bool(avoid_collisions))

    def write_seeds(self, joints: JointState, rows: np.ndarray) -> None:
        """Write the seeds of some poses (k,), if any, one after the other, or the one for all."""
        if self.seeds is not None:
            chosen = self.seeds if self.seeds.ndim == 1 else self.seeds[rows]
            joints.name = list(self.seed_joints)
            joints.position = array.array('d', chosen.tobytes())


def _check_text(value: object, argument: str) -> None:
    """Refuse text that no message can hold, which would end the client in its own thread."""
    if not isinstance(value, str) or not value.isprintable():
        raise ArgumentError(argument, f'has to be printable text, not {safe_repr(value)}')


def _from_messages(poses: Sequence[PoseStamped]) -> np.ndarray:
    parts = ((stamped.pose.position, stamped.pose.orientation) for stamped in poses)
    rows = [(p.x, p.y, p.z, q.x, q.y, q.z, q.w) for p, q in parts]
    return np.array(rows, dtype=np.float64).reshape(-1, 7)


def _from_matrices(poses: ArrayLike) -> np.ndarray:
    T = real_array(poses, 'poses')
    if T.size == 0:
        return np.empty((0, 7))
    if T.ndim != 3 or T.shape[1:] != (4, 4):
        raise ArgumentError('poses', f'have shape {T.shape}, have to be (N, 4, 4) or PoseStamped')
    R = T[:, :3, :3]
    with np.errstate(invalid='ignore', over='ignore'):
        off = np.abs(R @ R.transpose(0, 2, 1) - np.eye(3)).max(axis=(1, 2)) > _RIGID
        off |= (np.linalg.det(R) < 0.0) | (np.abs(T[:, 3] - (0, 0, 0, 1)).max(axis=1) > _RIGID)
        off &= np.isfinite(T).all(axis=(1, 2))
        if off.any():
            raise ArgumentError(f'poses[{int(np.argmax(off))}]', 'is no rigid transform')
        return np.hstack([T[:, :3, 3], quaternions_xyzw_from_rotations(R)])


def _blocks(frames: Sequence[str]) -> tuple[tuple[str, np.ndarray], ...]:
    places: dict[str, list[int]] = {}
    for row, frame in enumerate(frames):
        places.setdefault(frame, []).append(row)
    return tuple((frame, np.array(rows)) for frame, rows in places.items())


def _seeds(
    seeds: ArrayLike | None, joints: Sequence[str], count: int
) -> tuple[np.ndarray | None, tuple[str, ...]]:
    if seeds is None:
        return None, ()
    if isinstance(joints, str) or not isinstance(joints, Iterable):
        raise ArgumentError('seed_joints', f'have to be names, not {safe_repr(joints)}')
    rows, names = real_array(seeds, 'seeds'), tuple(joints)
    if not names:
        raise ArgumentError('seed_joints', 'have to name the joints of the seeds')
    for i, name in enumerate(names):
        _check_text(name, f'seed_joints[{i}]')
    if rows.shape not in ((len(names),), (count, len(names))):
        raise ArgumentError(
            'seeds',
            f'have shape {rows.shape}, have to be ({len(names)},) or ({count}, {len(names)})',
        )
    return rows, names
