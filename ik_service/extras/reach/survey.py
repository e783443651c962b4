"""
Survey of an arm's reach: :func:`capability_map`.

A position that cannot be reached with any orientation needs only one solve, for the position
alone. At the others every orientation is solved for. Most of the time goes into poses that
cannot be reached, because each is searched for until the searches are used up; so there are few
of them, and the share they miss is measured on a sample, which is searched for thoroughly.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
import os
from pathlib import Path
from typing import Any, cast, NamedTuple, TYPE_CHECKING

import numpy as np

from ik_service.common.arguments import check_kind, real_array, whole_number
from ik_service.exceptions import ArgumentError
from ik_service.extras.reach.capability import CapabilityMap, MapCheck
from ik_service.extras.reach.grid import chain_orientations, cubic_axes, grid_positions
from ik_service.extras.reach.postures import PostureMeasure
from ik_service.extras.scale.chain_spec import ChainSpec
from ik_service.extras.scale.group_files import group_folder
from ik_service.extras.scale.result_store import ResultStore
from ik_service.extras.scale.targets import ArrayTargets, BlockTargets, PoseGrid
from ik_service.extras.scale.to_store import solve_to_store
from ik_service.kinematics.chain import KinematicChain
from ik_service.solvers.result import IkStatus

if TYPE_CHECKING:
    from distributed import Client
    from numpy.typing import ArrayLike


SEARCHES = 20
"""Searches for a target, where the options of the specification leave that open."""
THOROUGH_SEARCHES = 200  # searches for a target of the sample; as many as the default solver makes

Progress = bool | Callable[[str, int, int], object]
"""Whether to show bars; or a function of the kind of solves, the number done, and all of them."""

_SUCCESS, _IN_COLLISION = IkStatus.SUCCESS.number, IkStatus.IN_COLLISION.number
SAMPLE = 3000  # targets that are searched for once more, at most
_PART = 1_000_000  # targets that are looked through at a time
_PATIENCE = 60.0  # with a solve, at least: a busy machine must not change the map [s]

_ROWS = 200_000  # that are read at a time

MOST_POSES = 200_000_000  # poses of a map, at most: the data of each take some bytes of memory


@dataclass(frozen=True)
class Stages:
    """Batches of a survey: specification, folder of the stores, whether bars are shown."""

    spec: ChainSpec
    folder: Path
    progress: Progress
    arguments: dict[str, Any]

    @property
    def searches(self) -> int:
        """Number of searches for a target before it is given up."""
        return self.spec.options.max_searches or SEARCHES

    def solve(self, name: str, targets: BlockTargets) -> ResultStore:
        """Solve for all targets: ``poses``, or ``positions`` with whatever orientation."""
        return self._solve(name, targets, self._spec(name, self.searches))

    def _spec(self, name: str, searches: int) -> ChainSpec:
        options = self.spec.options
        weights = options.task_weights
        return replace(
            self.spec,
            options=replace(
                options,
                max_searches=searches,
                timeout=max(options.timeout, _PATIENCE),
                task_weights=(*weights[:3], 0.0, 0.0, 0.0) if name == 'positions' else weights,
            ),
        )

    def _solve(self, name: str, targets: BlockTargets, spec: ChainSpec) -> ResultStore:
        path = self.folder / name.replace(' ', '_')
        shown: Any = name
        if callable(self.progress):
            shown = partial(self._tell, name, len(targets))
        elif not self.progress:
            shown = False
        return solve_to_store(spec, targets, path, progress=shown, **self.arguments).store

    def _tell(self, name: str, total: int, done: int, _count: int | None) -> None:
        cast('Callable', self.progress)(name, done, total)

    def check(self, name: str, targets: BlockTargets, free: np.ndarray) -> MapCheck:
        """Search once more for some targets that were given up, of which (N,) are free."""
        given_up = ~free
        chosen = sample(given_up)
        if not len(chosen):
            return MapCheck(0, 0, 0)
        poses = np.concatenate([targets.block(i, i + 1) for i in chosen.tolist()])
        spec = self._spec(name, max(self.searches, THOROUGH_SEARCHES))
        store = self._solve(f'{name} again', ArrayTargets(poses), spec)
        found = int((store.read('status') == _SUCCESS).sum())
        return MapCheck(len(chosen), found, int(given_up.sum()))


def sample(given_up: np.ndarray) -> np.ndarray:
    """Return the numbers (k,) of the targets that are searched for once more, of (N,) given up."""
    total = int(np.count_nonzero(given_up))
    # Not all numbers first, of which there may be very many.
    rng = np.random.default_rng(0)
    ranks = np.sort(rng.choice(total, min(total, SAMPLE), replace=False, shuffle=False))
    chosen, before = [np.empty(0, int)], 0
    for first in range(0, len(given_up), _PART):
        numbers = first + np.flatnonzero(given_up[first : first + _PART])
        here = slice(*np.searchsorted(ranks, (before, before + len(numbers))))
        chosen.append(numbers[ranks[here] - before])
        before += len(numbers)
    return np.concatenate(chosen)


class Summary(NamedTuple):
    """Reached and free (P, W) bool, and the best qualities (P,) of free answers, NaN without."""

    reached: np.ndarray
    free: np.ndarray
    manipulability: np.ndarray
    limit_distance: np.ndarray


def summary(chain: KinematicChain, answers: ResultStore, width: int) -> Summary:
    """Sum up answers of positions with ``width`` poses each; never are all of them in memory."""
    measure = PostureMeasure(chain)
    count = answers.size // width
    reached, free = np.empty((2, count, width), bool)
    best = np.full((2, count), np.nan)
    size = max(1, _ROWS // width)
    for first in range(0, count, size):
        last = min(first + size, count)
        rows = first * width, last * width
        status = answers.read('status', *rows)
        free[first:last] = (status == _SUCCESS).reshape(-1, width)
        reached[first:last] = (status == _IN_COLLISION).reshape(-1, width)
        q = answers.read('q', *rows)[status == _SUCCESS]
        at = first + np.flatnonzero(status == _SUCCESS) // width
        np.fmax.at(best[0], at, measure.manipulability(q))
        np.fmax.at(best[1], at, measure.limit_distance(q))
    reached |= free
    return Summary(reached, free, *best)


def capability_map(
    spec: ChainSpec,
    store: str | os.PathLike[str],
    *,
    spacing: float = 0.05,
    positions: ArrayLike | None = None,
    orientations: int = 24,
    rotations: ArrayLike | None = None,
    chunk: int = 50_000,
    client: Client | None = None,
    threads: int | None = None,
    progress: Progress = True,
) -> CapabilityMap:
    """
    Survey the reach of an arm, and its quality; called again, it goes on where it was interrupted.

    The map does not depend on interruptions, chunks, threads or workers.

    :param spec: chain, solver and options, and whether collisions count. Where it leaves
        ``max_searches`` open, there are :data:`~ik_service.extras.reach.survey.SEARCHES`.
    :param store: folder in which the answers are kept; the same one goes on.
    :param spacing: distance of neighbours in a grid around all that the arm can reach [m].
    :param positions: (P, 3) in the frame of the base link [m]; instead of that grid.
    :param orientations: how many there are at each position, spread evenly over those that the
        tip may have.
    :param rotations: (R, 3, 3) rotation matrices R_base_tip; instead of these.
    :param chunk: targets that are held and written at a time.
    :param client: as for :func:`~ik_service.extras.scale.solve_to_store`.
    :param threads: likewise.
    :param progress: see :data:`~ik_service.extras.reach.survey.Progress`.
    :raises ArgumentError: an argument has another shape or type, or there are too many poses.
    :raises ChainError: the arm reaches endlessly far, and no positions are given.
    :raises StoreError: the store holds something else, is written by somebody else, or cannot be
        written; its content is kept.
    :raises MissingExtraError: zarr, or for ``client`` dask, is not installed.
    """
    check_kind(spec, ChainSpec, 'spec')
    chain = spec.build().chain
    grid = _poses(chain, spacing, positions, orientations, rotations)
    arguments = {'chunk': chunk, 'client': client, 'threads': threads}
    stages = Stages(spec, group_folder(store), progress, arguments)
    return _survey(chain, grid, stages)


def _survey(chain: KinematicChain, grid: PoseGrid, stages: Stages) -> CapabilityMap:
    everywhere = PoseGrid(grid.positions, np.eye(3)[None])
    places = summary(chain, stages.solve('positions', everywhere), 1)
    numbers = np.flatnonzero(places.reached)
    there = PoseGrid(grid.positions[numbers], grid.rotations)
    poses = summary(chain, stages.solve('poses', there), len(grid.rotations))
    # A pose may be free where the search for the position alone has only found collisions.
    places.free[numbers, 0] |= poses.free.any(axis=1)
    for name in ('manipulability', 'limit_distance'):
        everyone, better = getattr(places, name), getattr(poses, name)
        everyone[numbers] = np.where(np.isnan(better), everyone[numbers], better)
    return CapabilityMap(
        spec=stages.spec,
        base_link=chain.base_link,
        tip_link=chain.tip_link,
        positions=grid.positions,
        rotations=grid.rotations,
        reached=_spread(poses.reached, numbers, len(grid.positions)),
        free=_spread(poses.free, numbers, len(grid.positions)),
        position_reached=places.reached[:, 0],
        position_free=places.free[:, 0],
        manipulability=places.manipulability,
        limit_distance=places.limit_distance,
        missed_positions=stages.check('positions', everywhere, places.free.ravel()),
        missed_poses=stages.check('poses', there, poses.free.ravel()),
        searches=stages.searches,
    )


def _spread(values: np.ndarray, numbers: np.ndarray, count: int) -> np.ndarray:
    """Return rows of some positions as rows of all; the others are False."""
    everywhere = np.zeros((count, values.shape[1]), bool)
    everywhere[numbers] = values
    return everywhere


def _poses(
    chain: KinematicChain,
    spacing: float,
    positions: ArrayLike | None,
    orientations: int,
    rotations: ArrayLike | None,
) -> PoseGrid:
    orientations = whole_number(orientations, 'orientations')
    if positions is None:
        places = grid_positions(cubic_axes(chain, spacing))
    else:
        places = real_array(positions, 'positions')
        if not np.isfinite(places).all():
            raise ArgumentError('positions', 'hold NaN or infinity')
    given = None if rotations is None else real_array(rotations, 'rotations')
    count = places.size // 3 * (orientations if given is None else given.size // 9)
    if count > MOST_POSES:
        raise ArgumentError(
            'orientations',
            f'at {places.size // 3:,} positions make {count:,} poses, more than {MOST_POSES:,}: '
            'take fewer, or survey parts of the positions',
        )
    grid = PoseGrid(places, chain_orientations(chain, orientations) if given is None else given)
    if not len(grid):
        raise ArgumentError('rotations' if len(places) else 'positions', 'are none')
    return grid
