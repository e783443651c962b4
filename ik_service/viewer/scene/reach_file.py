"""The file that ``ik_study reach`` leaves: where the tip of an arm can get."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ik_service.common.regular_file import open_regular
from ik_service.exceptions import ArgumentError, IkServiceError

LONGEST = 256 * 2**20
"""Longest file that is read [byte]."""
_FARTHEST = 1e6  # no arm gets there [m]


@dataclass(frozen=True)
class ReachFile:
    """
    Positions that the tip of an arm can reach.

    :ivar path: the file's.
    :ivar points: (N, 3) in the frame of the base link [m].
    :ivar share: (N,) share of the orientations that can be reached there, 0 to 1.
    :ivar spacing: distance of neighbours [m]; 0 where there are none.
    :ivar base_link: the base link.
    :ivar tip_link: the link that was surveyed.
    """

    path: Path
    points: np.ndarray
    share: np.ndarray
    spacing: float
    base_link: str
    tip_link: str


def read_reach(path: Path) -> ReachFile:
    """
    Read a survey.

    :param path: the archive ``reach.npz``.
    :raises ArgumentError: there is no such file, or it is damaged, or it is something else.
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
        raise _foreign(path, error.args[0]) from error
    except Exception as error:  # what a damaged archive raises depends on where the damage is
        raise ArgumentError(str(path), f'it cannot be read: {error}') from error
    _check(found)
    return found


def _load(path: Path) -> ReachFile:
    with open_regular(path, LONGEST) as file:
        archive = np.load(file, allow_pickle=False)
        if not isinstance(archive, np.lib.npyio.NpzFile):
            raise _foreign(path, 'it is a single array')
        return ReachFile(
            path,
            np.asarray(archive['points'], dtype=float),
            np.asarray(archive['reachable'], dtype=float),
            float(np.max(archive['spacing'])),
            str(archive['base_link'].item()),
            str(archive['tip_link'].item()),
        )


def _check(found: ReachFile) -> None:
    shapes = found.points.shape, found.share.shape
    count = len(found.share) if found.share.ndim == 1 else 0
    if not count or shapes != ((count, 3), (count,)):
        raise _foreign(found.path, f'points and reachable have the shapes {shapes}')
    numbers = (found.points, found.share, found.spacing)
    if not all((np.abs(values) <= _FARTHEST).all() for values in numbers) or found.spacing < 0.0:
        raise _foreign(found.path, 'it holds numbers that cannot be')  # NaN among them
    if found.share.min() < 0.0 or found.share.max() > 1.0:
        raise _foreign(found.path, 'reachable is a share, 0 to 1')


def _foreign(path: Path, reason: object) -> ArgumentError:
    return ArgumentError(str(path), f'not a file of ik_study reach: {reason}')
