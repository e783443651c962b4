"""Map of the reach of an arm: read or made, compared with the arm; the part that is drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import Enum
import math
import os
from pathlib import Path
import tempfile
import threading

import numpy as np

from ik_service.common.quoting import truncate
from ik_service.common.threads import give_way
from ik_service.exceptions import ArgumentError, IkServiceError
from ik_service.extras.reach.capability import arm_difference, CapabilityMap
from ik_service.extras.reach.grid import chooses_orientation, reach_box
from ik_service.extras.reach.survey import capability_map
from ik_service.extras.scale.chain_spec import ChainSpec
from ik_service.kinematics.chain import KinematicChain
from ik_service.robot import Robot
from ik_service.solvers.options import IkOptions

_FARTHEST = 1e6  # bound of a plausible coordinate [m]


MOST_POINTS = 5_000_000  # most positions of a map that is shown: a browser has to hold them


@dataclass(frozen=True)
class Quantity:
    """Quantity (N,) with a unit, or none; NaN where it is not known."""

    name: str
    unit: str
    values: np.ndarray
    highest: float
    digits: int

    def text(self, value: float) -> str:
        """Return a value with its unit."""
        unit = f' {self.unit}' if self.unit else ''
        return f'{value:.{self.digits}f}{unit}'


@dataclass(frozen=True)
class ReachMap:
    """Reach and dexterity at positions (N, 3) [m] of a grid with a spacing [m], 0 without one."""

    path: Path
    base_link: str
    tip_link: str
    points: np.ndarray
    is_reached: np.ndarray
    spacing: float
    quantities: tuple[Quantity, ...]
    spec: ChainSpec


def read_map(path: str | os.PathLike[str]) -> ReachMap:
    """Read a capability map; raises IkServiceError for anything else."""
    found = Path(path).expanduser()
    if not os.path.exists(found):
        raise ArgumentError(truncate(str(found)), 'there is no such file or folder')
    return of_capability_map(found, CapabilityMap.load(found))


def of_capability_map(path: Path, found: CapabilityMap) -> ReachMap:
    """Return what the page shows of a map; ArgumentError if it is empty, huge or implausible."""
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


def difference(found: ReachMap, chain: KinematicChain) -> str:
    """Return why a map does not belong to a chain; empty where it does, as far as it tells."""
    try:
        other = _chain_of(found.spec)
    except IkServiceError as error:
        return f'the arm of the map cannot be built: {error}'
    differs = arm_difference(other, chain)
    return f'the map is of {differs}' if differs else ''


def _chain_of(spec: ChainSpec) -> KinematicChain:
    """Return the chain of a specification, without preparing its solver or reading meshes."""
    robot = Robot.from_urdf(spec.urdf)
    return robot.chain(spec.base_link or None, spec.tip_link or None, dict(spec.locked) or None)


_CHUNK = 1000  # targets between two reports
_POSITION_ONLY = (1.0, 1.0, 1.0, 0.0, 0.0, 0.0)  # task weights
# Stages of a survey, with their shares of the time it takes for a Panda.
_STAGES = {
    'positions': (0.0, 0.15),
    'poses': (0.15, 0.25),
    'positions again': (0.4, 0.1),
    'poses again': (0.5, 0.5),
}


@dataclass(frozen=True)
class Fineness:
    """Grid of a map."""

    points: int
    orientations: int


FINENESSES = {'coarse': Fineness(14, 12), 'medium': Fineness(20, 24), 'fine': Fineness(30, 50)}
"""Grids to choose from; from one to the next a map takes about six times as long."""


class SurveyDroppedError(IkServiceError):
    """The survey was dropped, as another map was asked for."""


class OwnSurvey:
    """Survey that yields to other threads; ``report`` takes the share done, 0 to 1."""

    def __init__(
        self, chain: KinematicChain, fineness: Fineness, report: Callable[[float], object]
    ) -> None:
        self._chain, self._fineness, self._report = chain, fineness, report
        self._dropped = threading.Event()

    def drop(self) -> None:
        """Let :meth:`run` end soon; from any thread."""
        self._dropped.set()

    def run(self) -> ReachMap:
        """Make the map; SurveyDroppedError when dropped, IkServiceError where there is none."""
        return ThreadPoolExecutor(1, 'survey', give_way).submit(self._run).result()

    def _run(self) -> ReachMap:
        chain, fineness = self._chain, self._fineness
        turns = chooses_orientation(chain)
        low, high = reach_box(chain)
        with tempfile.TemporaryDirectory(prefix='ik_reach_') as folder:
            found = capability_map(
                self._spec(turns),
                folder,
                spacing=float((high - low).max()) / (fineness.points - 1) or 1.0,
                orientations=fineness.orientations if turns else 1,
                chunk=_CHUNK,
                threads=1,
                progress=self._tell,
            )
        return of_capability_map(Path('the map of this arm'), found)

    def _spec(self, turns: bool) -> ChainSpec:
        chain, robot = self._chain, self._chain.robot
        if not isinstance(robot, Robot):
            raise ArgumentError('robot', 'has no description that a survey could be made of')
        return ChainSpec(
            urdf=robot.urdf_text,
            base_link=chain.base_link,
            tip_link=chain.tip_link,
            options=IkOptions() if turns else IkOptions(task_weights=_POSITION_ONLY),
            locked=tuple(sorted(chain.locked.items())),
        )

    def _tell(self, name: str, done: int, total: int) -> None:
        if self._dropped.is_set():
            raise SurveyDroppedError('another map was asked for')
        start, share = _STAGES[name]
        self._report(start + share * done / max(total, 1))


# Every sixteenth colour of the map "viridis" (Stéfan van der Walt and Nathaniel Smith, 2015, CC0).
_VIRIDIS = (
    '440154 48186a 472d7b 424086 3b528b 33638d 2c728e 26828e 21918c '
    '1fa088 28ae80 3fbc73 5ec962 84d44b addc30 d8e219 fde725'
)
_COLORS = np.array([list(bytes.fromhex(color)) for color in _VIRIDIS.split()], dtype=float)


def viridis(values: np.ndarray) -> np.ndarray:
    """Return the colours (N, 3), 0 to 255, of values (N,), 0 to 1, dark where they are small."""
    knots = np.linspace(0.0, 1.0, len(_COLORS))
    colors = [np.interp(values, knots, channel) for channel in _COLORS.T]
    return np.stack(colors, axis=-1).round().astype(np.uint8)


_NO_GRID = 0.02  # thickness of a layer where there is no grid [m]


class Cut(Enum):
    """Part of a map on one side of a plane."""

    NONE = 'everything'
    LAYER_X = 'layer at x'
    LAYER_Y = 'layer at y'
    LAYER_Z = 'layer at z'
    BELOW_X = 'x up to'
    BELOW_Y = 'y up to'
    BELOW_Z = 'z up to'
    ABOVE_X = 'x from'
    ABOVE_Y = 'y from'
    ABOVE_Z = 'z from'

    @property
    def axis(self) -> int | None:
        """Axis across the plane, 0 to 2; None without a plane."""
        return None if self is Cut.NONE else (list(Cut).index(self) - 1) % 3


@dataclass(frozen=True)
class Look:
    """Drawn part of a map; the plane's offset is in the frame of the base [m]."""

    quantity: int = 0
    least: float = 0.0
    cut: Cut = Cut.NONE
    offset: float = 0.0


def chosen(points: np.ndarray, spacing: float, look: Look) -> np.ndarray:
    """Which points (N, 3) [m] the plane leaves, (N,) bool; spacing 0 is no grid."""
    cut, axis = look.cut, look.cut.axis
    if axis is None:
        return np.ones(len(points), dtype=bool)
    along = points[:, axis] - np.float32(look.offset)
    half = 0.5 * (spacing or _NO_GRID)  # so that the layer in the plane belongs to both sides
    mask = np.ones(len(points), dtype=bool)
    if cut not in (Cut.ABOVE_X, Cut.ABOVE_Y, Cut.ABOVE_Z):
        mask &= along <= half
    if cut not in (Cut.BELOW_X, Cut.BELOW_Y, Cut.BELOW_Z):
        mask &= along > -half
    return mask


def drawn(found: ReachMap, look: Look) -> tuple[np.ndarray, np.ndarray]:
    """Points (k, 3) float32 [m] that are reached and known, and their colours (k, 3), 0 to 255."""
    quantity = found.quantities[look.quantity]
    with np.errstate(invalid='ignore'):
        mask = found.is_reached & (quantity.values >= look.least)
    mask &= chosen(found.points, found.spacing, look)
    return found.points[mask], viridis(np.clip(quantity.values[mask] / quantity.highest, 0.0, 1.0))


def nearest(found: ReachMap, position: np.ndarray) -> int | None:
    """Return the number of the position nearest to one (3,) [m]; None where nothing is near."""
    apart = np.square(found.points - position.astype(np.float32)).sum(axis=1)
    number = int(np.argmin(apart))
    # Half the diagonal of a cell, and a little for the roundings.
    reach = 0.51 * np.sqrt(3.0) * (found.spacing or _NO_GRID)
    return number if apart[number] <= reach**2 else None


def place_text(found: ReachMap, position: np.ndarray) -> str:
    """Return the values of a map at a position (3,) of the base frame [m], as a sentence."""
    number = nearest(found, position)
    if number is None:
        return 'the map has no position here'
    if not found.is_reached[number]:
        return 'not reached'
    values = ((quantity, float(quantity.values[number])) for quantity in found.quantities)
    return ', '.join(
        f'{quantity.name} {"not known" if np.isnan(value) else quantity.text(value)}'
        for quantity, value in values
    )
