"""Map of the reach of an arm, as the page shows it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
import math
import os
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ik_service.common.regular_file import open_regular
from ik_service.exceptions import ArgumentError, IkServiceError
from ik_service.extras.scale.chain_spec import ChainSpec

if TYPE_CHECKING:
    from ik_service.extras.reach.capability import CapabilityMap


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


MOST_POINTS = 5_000_000
"""Most positions of a map that is shown: a browser has to hold them."""


@dataclass(frozen=True)
class Quantity:
    """
    What is known about each position.

    :ivar name: what it is, in a few words.
    :ivar unit: unit of the values; empty for none.
    :ivar values: (N,) NaN where it is not known.
    :ivar highest: upper end of the colours and of the threshold.
    :ivar digits: decimal places that matter.
    """

    name: str
    unit: str
    values: np.ndarray
    highest: float
    digits: int

    def text(self, value: float) -> str:
        """
        Return a value with its unit.

        :param value: the value.
        """
        unit = f' {self.unit}' if self.unit else ''
        return f'{value:.{self.digits}f}{unit}'


@dataclass(frozen=True)
class ReachMap:
    """
    What an arm can do at N positions.

    :ivar path: file or folder that it was read from.
    :ivar base_link: link in whose frame the positions are.
    :ivar tip_link: link that is brought there.
    :ivar points: (N, 3) float32 [m].
    :ivar is_reached: (N,) bool, whether the tip gets there.
    :ivar spacing: distance of neighbours [m]; 0 where there is no grid.
    :ivar quantities: what is known, the share of orientations first.
    :ivar spec: the chain that it was made with; None where the file does not tell.
    """

    path: Path
    base_link: str
    tip_link: str
    points: np.ndarray
    is_reached: np.ndarray
    spacing: float
    quantities: tuple[Quantity, ...]
    spec: ChainSpec | None = None


def read_map(path: str | os.PathLike[str]) -> ReachMap:
    """
    Read a capability map, or a file ``reach.npz`` of ``ik_study reach``.

    :param path: folder of the one, or the other.
    :raises IkServiceError: there is none, it is damaged, or holds something else.
    :raises MissingExtraError: zarr is not installed, which a capability map needs.
    """
    found = Path(path).expanduser()
    if not found.exists():
        raise ArgumentError(str(found), 'there is no such file or folder')
    if not found.is_dir():
        return _of_survey(found)
    from ik_service.extras.reach import CapabilityMap

    return of_capability_map(found, CapabilityMap.load(found))


def of_capability_map(path: Path, found: CapabilityMap) -> ReachMap:
    """
    Return what the page shows of a capability map.

    :param path: its folder.
    :param found: the map.
    :raises ArgumentError: it has no positions, too many of them, or implausible numbers.
    """
    points = found.positions.astype(np.float32)
    if not 0 < len(points) <= MOST_POINTS:
        raise ArgumentError(
            str(path), f'has {len(points):,} positions; 1 to {MOST_POINTS:,} can be shown'
        )
    if not (np.abs(points) <= _FARTHEST).all():  # NaN among them
        raise ArgumentError(str(path), 'holds implausible positions')
    spacing = found.spacing if math.isfinite(found.spacing) else 0.0
    quantities = tuple(_quantities(found))
    ends = found.base_link, found.tip_link
    return ReachMap(path, *ends, points, found.position_free, spacing, quantities, found.spec)


def _quantities(found: CapabilityMap) -> Iterator[Quantity]:
    asks = any(found.spec.options.task_weights[3:])  # for orientations, and not for positions only
    yield _share('orientations reached' if asks else 'position reached', found.share)
    if np.isfinite(found.free_share).any():
        yield _share('orientations free of collisions', found.free_share)
    values = found.manipulability
    yield Quantity('manipulability', '', values, _largest(values), 3)
    distance = 100.0 * found.limit_distance
    yield Quantity('distance from limits', '% of the range', distance, _largest(distance), 0)


def _share(name: str, share: np.ndarray) -> Quantity:
    return Quantity(name, '%', 100.0 * share, 100.0, 0)


def _largest(values: np.ndarray) -> float:
    """Return the largest value, rounded up to two digits; 1 where there is none above 0."""
    known = values[np.isfinite(values)]
    largest = float(known.max()) if known.size else 0.0
    if largest <= 0.0:
        return 1.0
    unit = 10.0 ** (math.floor(math.log10(largest)) - 1)
    return math.ceil(round(largest / unit, 6)) * unit


def _of_survey(path: Path) -> ReachMap:
    """Read a file of ``ik_study reach``, which holds positions that are reached and no others."""
    found = read_reach(path)
    points = found.points.astype(np.float32)
    share = _share('orientations reached', found.fraction)
    everywhere = np.ones(len(points), dtype=bool)
    return ReachMap(
        path, found.base_link, found.tip_link, points, everywhere, found.spacing, (share,)
    )
