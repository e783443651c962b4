"""File of ``ik_place``: where the base of an arm may stand for some poses."""

from __future__ import annotations

from dataclasses import dataclass
import json
import os
from pathlib import Path

import numpy as np

from ik_service.common.regular_file import read_regular
from ik_service.exceptions import ArgumentError

LONGEST = 64 * 2**20
"""Longest file that is read [byte]."""

MOST_PLACES = 20
"""Places that are shown, at most; the best ones."""

_ROUNDING = 1e-6  # of rotation matrices in the file
_FARTHEST = 1e6  # bound of a plausible coordinate [m]


@dataclass(frozen=True)
class Places:
    """
    Where the base of an arm may stand, best first.

    :ivar ends: base and tip link of the arm.
    :ivar T_world_base: (k, 4, 4) [m].
    :ivar shares: (k,) share of the poses that are reached from there, 0 to 1.
    :ivar T_world_tip: (K, 4, 4) the poses [m].
    """

    ends: tuple[str, str]
    T_world_base: np.ndarray
    shares: np.ndarray
    T_world_tip: np.ndarray


def read_places(path: str | os.PathLike[str]) -> Places:
    """
    Read a file that ``ik_place --output`` has written; of many places only the first ones.

    :param path: the file.
    :raises ArgumentError: there is none, it is damaged, or holds something else.
    """
    found = Path(path).expanduser()
    try:
        content = json.loads(read_regular(found, LONGEST))
        places, robot = content['places'][:MOST_PLACES], content['robot']
        read = Places(
            (str(robot['base_link']), str(robot['tip_link'])),
            _transforms([place['T_world_base'] for place in places]),
            np.array([float(place['share']) for place in places]),
            _transforms(content['poses']['T_world_tip']),
        )
    except OSError as error:
        raise ArgumentError(str(found), f'cannot be read: {error.strerror or error}') from error
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise ArgumentError(str(found), f'is no file of ik_place: {error}') from error
    if not len(read.shares) or not ((read.shares >= 0.0) & (read.shares <= 1.0)).all():
        raise ArgumentError(str(found), 'is no file of ik_place: it has no places with shares')
    return read


def _transforms(values: object) -> np.ndarray:
    """Return rigid transforms (N, 4, 4)."""
    T = np.array(values, dtype=float).reshape(-1, 4, 4)
    R = T[:, :3, :3]
    is_rigid = np.abs(R @ R.transpose(0, 2, 1) - np.eye(3)) <= _ROUNDING
    if not (is_rigid.all() and (np.abs(T) <= _FARTHEST).all()):  # NaN among them
        raise ValueError('a transform is not rigid')
    return T
