"""File of ``ik_study reach``: the positions that the tip of an arm can reach."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ik_service.common.regular_file import open_regular
from ik_service.exceptions import ArgumentError, IkServiceError

LONGEST = 256 * 2**20
"""Longest file that is read [byte]."""
_FARTHEST = 1e6  # bound of a plausible coordinate [m]


@dataclass(frozen=True)
class ReachFile:
    """
    Positions that the tip of an arm can reach.

    :ivar path: path of the file.
    :ivar points: (N, 3) in the frame of the base link [m].
    :ivar fraction: (N,) fraction of the orientations that can be reached there, 0 to 1.
    :ivar spacing: distance of neighbours [m]; 0 where there are none.
    :ivar base_link: base link of the arm.
    :ivar tip_link: tip link of the arm.
    """

    path: Path
    points: np.ndarray
    fraction: np.ndarray
    spacing: float
    base_link: str
    tip_link: str


def read_reach(path: Path) -> ReachFile:
    """
    Read a file of reachable positions.

    :param path: the archive ``reach.npz``.
    :raises ArgumentError: there is no such file, it is damaged, or it holds something else.
    """
    try:
        found = _load(path)
    except IkServiceError:
        raise
    except FileNotFoundError as error:
        raise ArgumentError(str(path), 'there is no such file') from error
    except OSError as error:
        reason = error.strerror or str(error)
        raise ArgumentError(str(path), f'it cannot be read: {reason}') from error
    except KeyError as error:
        raise _wrong_content(path, error.args[0]) from error
    except Exception as error:  # what a damaged archive raises depends on where the damage is
        raise ArgumentError(str(path), f'it cannot be read: {error}') from error
    _check(found)
    return found


def _load(path: Path) -> ReachFile:
    with open_regular(path, LONGEST) as file:
        archive = np.load(file, allow_pickle=False)
        if not isinstance(archive, np.lib.npyio.NpzFile):
            raise _wrong_content(path, 'it is a single array')
        return ReachFile(
            path,
            np.asarray(archive['points'], dtype=float),
            np.asarray(archive['reachable'], dtype=float),
            float(np.max(archive['spacing'])),
            str(archive['base_link'].item()),
            str(archive['tip_link'].item()),
        )


def _check(found: ReachFile) -> None:
    shapes = found.points.shape, found.fraction.shape
    count = len(found.fraction) if found.fraction.ndim == 1 else 0
    if not count or shapes != ((count, 3), (count,)):
        raise _wrong_content(found.path, f'points and reachable have the shapes {shapes}')
    numbers = (found.points, found.fraction, found.spacing)
    if not all((np.abs(values) <= _FARTHEST).all() for values in numbers) or found.spacing < 0.0:
        raise _wrong_content(found.path, 'it holds implausible numbers')  # NaN among them
    if found.fraction.min() < 0.0 or found.fraction.max() > 1.0:
        raise _wrong_content(found.path, 'reachable is a fraction, 0 to 1')


def _wrong_content(path: Path, reason: object) -> ArgumentError:
    return ArgumentError(str(path), f'not a file of ik_study reach: {reason}')
