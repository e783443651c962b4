"""Map of the reach of an arm, as the page shows it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
import math
import os
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ik_service.exceptions import ArgumentError
from ik_service.extras.scale.chain_spec import ChainSpec
from ik_service.extras.viewer.reach.survey_file import read_reach

if TYPE_CHECKING:
    from ik_service.extras.reach.capability import CapabilityMap

MOST_POINTS = 5_000_000
"""Most positions of a map that is shown: a browser has to hold them."""

_FARTHEST = 1e6  # bound of a plausible coordinate [m]


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
