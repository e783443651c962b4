"""Poses and speeds of the tip of a chain in many postures."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ik_service.common.arguments import real_array
from ik_service.exceptions import ArgumentError
from ik_service.jit.entry import entry_point
from ik_service.kinematics.chain import KinematicChain
from ik_service.kinematics.joint_space import FAR
from ik_service.kinematics.kernels import fill_poses, fill_speeds


def tip_poses(chain: KinematicChain, q: ArrayLike) -> np.ndarray:
    """
    Return the poses of the tip in many postures.

    :param q: (N, n) joint positions [rad] or [m].
    :returns: (N, 4, 4) T_base_tip [m].
    :raises ArgumentError: q has another shape or is not finite.
    """
    rows = _postures(chain, q)
    poses = np.empty((len(rows), 4, 4))
    arguments = chain.arrays, rows, *_scratch(chain), poses
    entry_point(fill_poses, *arguments)(*arguments)
    return poses


def tip_speeds(chain: KinematicChain, q: ArrayLike, velocities: ArrayLike) -> np.ndarray:
    """
    Return the speed of the origin of the tip in many postures, each with its joint velocities.

    :param q: (N, n) joint positions [rad] or [m].
    :param velocities: (N, n) joint velocities [rad/s] or [m/s].
    :returns: (N,) [m/s]: of each row the norm of the first three rows of J q̇.
    :raises ArgumentError: an array has another shape or is not finite.
    """
    rows = _postures(chain, q)
    moving = _rows('velocities', velocities, rows.shape)
    speeds = np.empty(len(rows))
    columns = np.empty((chain.n, 6))
    arguments = chain.arrays, rows, moving, *_scratch(chain), columns, speeds
    entry_point(fill_speeds, *arguments)(*arguments)
    return speeds


def _postures(chain: KinematicChain, q: ArrayLike) -> np.ndarray:
    """Return a copy of postures, without full turns, whose rounding errors poses would have."""
    rows = _rows('q', q, (None, chain.n))
    far = (np.abs(rows) > FAR) & (chain.arrays.turn > 0.0)
    rows[far] = np.arctan2(np.sin(rows[far]), np.cos(rows[far]))
    return rows


def _rows(name: str, values: ArrayLike, shape: tuple[int | None, int]) -> np.ndarray:
    rows = real_array(values, name)
    count, n = shape
    if rows.ndim != 2 or rows.shape[1] != n or count not in (None, len(rows)):
        wanted = f'({"N" if count is None else count}, {n})'
        raise ArgumentError(name, f'has shape {rows.shape}, has to be {wanted}')
    if not np.isfinite(rows).all():
        row = int(np.argmin(np.isfinite(rows).all(axis=1)))
        raise ArgumentError(f'{name}[{row}]', 'has to be finite')
    return rows


def _scratch(chain: KinematicChain) -> tuple[np.ndarray, np.ndarray]:
    return np.empty((len(chain.arrays.variables), 6)), np.empty(12)
