"""
Survey of a grid of positions: which of them an arm reaches, and with how many orientations.

A position that cannot be reached with any orientation needs only one solve, for the position
alone. At the others every orientation is solved for. What takes the time are the poses that
cannot be reached, because each is searched for until the searches are used up; so there are few
of them, and what that misses is measured on a sample, which is searched for thoroughly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
import math

import numpy as np

from ik_service.exceptions import ChainError
from ik_service.kinematics.chain import KinematicChain
from ik_service.solvers.batch import solve_ik_batch
from ik_service.solvers.collision_test import Collisions
from ik_service.solvers.options import IkOptions
from ik_service.solvers.result import IkBatchResult, IkStatus
from ik_service.reach.orientations import even_orientations

THOROUGH_SEARCHES = 200
"""Searches for a pose of the sample; as many as the default solver makes."""

_SAMPLE = 3000  # poses that are searched for once more
_POSTURES = 20_000  # random ones that show how far the arm reaches
_MARGIN = 0.05  # around where they put the tip, of the largest side
_FLAT = 1e-9  # a side of the box that is thinner than this share of the largest is none
_CHUNK = 20_000  # poses that are held at a time
_PATIENCE = 60.0  # with a solve: a busy machine must not change the picture [s]
_POSE = (1.0,) * 6
_POSITION_ONLY = (1.0, 1.0, 1.0, 0.0, 0.0, 0.0)

_Solve = Callable[..., IkBatchResult]


@dataclass(frozen=True)
class Check:
    """
    Sample of the targets that were given up, searched for more thoroughly.

    :ivar tried: targets that were given up, and searched for once more.
    :ivar found: those of them that were reached then.
    :ivar given_up: how many targets there are that were given up.
    """

    tried: int
    found: int
    given_up: int

    @property
    def missed(self) -> float:
        """
        Estimated number of reachable targets that the survey misses.

        Where the sample has none, this is the number that is not exceeded with 95 % confidence:
        three in place of none were found (the "rule of three").
        """
        if self.tried in (0, self.given_up):
            return float(self.found)
        return (self.found or 3) / self.tried * self.given_up


@dataclass(frozen=True)
class Reachability:
    """
    A surveyed grid of positions, nx × ny × nz.

    :ivar axes: three vectors, the grid's coordinates along x, y and z of the base frame [m].
    :ivar orientations: how many were tried at a position.
    :ivar position: (nx, ny, nz) whether the tip gets there with any orientation.
    :ivar count: (nx, ny, nz) with how many of the orientations it does.
    :ivar missed_positions: what the limit of searches misses among the positions.
    :ivar missed_poses: what it misses among the poses at the positions that are reached.
    :ivar colliding_positions: positions that the tip only gets to with a collision.
    :ivar colliding_poses: such poses, at the positions that are reached without.
    """

    axes: tuple[np.ndarray, ...]
    orientations: int
    position: np.ndarray
    count: np.ndarray
    missed_positions: Check
    missed_poses: Check
    colliding_positions: int = 0
    colliding_poses: int = 0

    @property
    def points(self) -> np.ndarray:
        """The positions that can be reached (N, 3), in the base frame [m]."""
        return _grid(self.axes)[self.position.ravel()]

    @property
    def share(self) -> np.ndarray:
        """Share of the orientations that can be reached at each of ``points``, (N,) 0 to 1."""
        return self.count[self.position] / self.orientations

    @property
    def on_shell(self) -> np.ndarray:
        """Which of ``points`` have a neighbour along x, y or z that is not reached, (N,)."""
        reached = np.pad(self.position, 1)
        enclosed = self.position.copy()
        for axis in range(3):
            if self.position.shape[axis] > 1:
                for step in (-1, 1):
                    enclosed &= np.roll(reached, step, axis)[1:-1, 1:-1, 1:-1]
        return ~enclosed[self.position]

    @property
    def spacing(self) -> np.ndarray:
        """Distance of neighbours along x, y and z (3,) [m]; 0 where there is one layer."""
        return np.array([axis[1] - axis[0] if len(axis) > 1 else 0.0 for axis in self.axes])

    @property
    def volume(self) -> float:
        """Volume of the cells around the positions that can be reached [m³]; 0 of a flat arm."""
        return float(self.position.sum() * self.spacing.prod())

    @property
    def touches_edge(self) -> bool:
        """Whether the tip gets to the edge of the grid, and so perhaps beyond."""
        faces = (np.moveaxis(self.position, i, 0) for i in range(3))
        return any(face[[0, -1]].any() for face in faces if len(face) > 1)


def survey(
    chain: KinematicChain,
    points: int,
    orientations: int,
    max_searches: int,
    collisions: Collisions | None = None,
) -> Reachability:
    """
    Try orientations at a grid of positions that holds all that an arm can reach.

    :param chain: the arm.
    :param points: positions along each of x, y and z.
    :param orientations: tried at each position.
    :param max_searches: for a pose, at most.
    :param collisions: what postures must be free of; what is reached with a collision only is not
        reached, and is counted.
    :raises ChainError: the arm reaches endlessly far.
    """
    axes = grid_axes(chain, points)
    places = _grid(axes)
    turns = even_orientations(orientations)
    solve = partial(solve_ik_batch, chain, collisions=collisions)
    position, seeds, missed_positions, colliding_positions = _reached_places(
        solve, places, max_searches
    )
    reached, missed_poses, colliding_poses = _reached_poses(
        solve, places[position], seeds[position], turns, max_searches
    )
    shape = tuple(len(axis) for axis in axes)
    count = np.zeros(len(places), dtype=int)
    count[position] = reached.sum(axis=1)
    return Reachability(
        axes,
        orientations,
        position.reshape(shape),
        count.reshape(shape),
        missed_positions,
        missed_poses,
        colliding_positions,
        colliding_poses,
    )


def grid_axes(chain: KinematicChain, points: int) -> tuple[np.ndarray, ...]:
    """
    Return the coordinates of a grid around all that an arm can reach.

    :param chain: the arm.
    :param points: along each direction; a direction in which the tip never moves gets one.
    :returns: coordinates along x, y and z of the base frame [m].
    :raises ChainError: the arm reaches endlessly far.
    """
    if not math.isfinite(chain.arrays.reach[3]):
        raise ChainError('the arm reaches endlessly far: one of its joints slides without limits')
    rng = np.random.default_rng(0)
    # A joint that turns for ever shows all it can do in one turn, within the limit it may have.
    turn = 2.0 * math.pi
    top = np.minimum(chain.upper, math.pi)
    lower = np.where(np.isfinite(chain.lower), chain.lower, top - turn)
    upper = np.where(np.isfinite(chain.upper), chain.upper, lower + turn)
    tips = np.array(
        [chain.forward(q)[:3, 3] for q in rng.uniform(lower, upper, (_POSTURES, chain.n))]
    )
    low, high = tips.min(axis=0), tips.max(axis=0)
    largest = float((high - low).max())
    flat = high - low <= _FLAT * largest
    margin = np.where(flat, 0.0, _MARGIN * largest)
    return tuple(
        np.linspace(a, b, 1 if is_flat else points)
        for a, b, is_flat in zip(low - margin, high + margin, flat, strict=True)
    )


def _grid(axes: tuple[np.ndarray, ...]) -> np.ndarray:
    return np.stack(np.meshgrid(*axes, indexing='ij'), axis=-1).reshape(-1, 3)


def _reached_places(
    solve: _Solve, places: np.ndarray, max_searches: int
) -> tuple[np.ndarray, np.ndarray, Check, int]:
    """Return the positions reached (N,), postures at or near them (N, n), check, colliding."""
    targets = _poses(places, np.eye(3)[None])
    options = _options(max_searches, task_weights=_POSITION_ONLY)
    with _progress_bar('positions', len(targets)) as advance:
        batch = solve(targets, options=options, progress=advance)
    chosen, given_up = _sample(~batch.success)
    options = _options(THOROUGH_SEARCHES, task_weights=_POSITION_ONLY)
    found = _search_again(solve, targets[chosen], batch.q[chosen], options)
    return batch.success, batch.q, Check(len(chosen), found, given_up), _colliding(batch)


def _reached_poses(
    solve: _Solve,
    places: np.ndarray,
    seeds: np.ndarray,
    turns: np.ndarray,
    max_searches: int,
) -> tuple[np.ndarray, Check, int]:
    """Return the orientations reached at each position (N, k), their check, those colliding."""
    colliding = 0
    reached = np.zeros((len(places), len(turns)), dtype=bool)
    size = max(1, _CHUNK // len(turns))
    with _progress_bar('poses', reached.size) as advance:
        for first in range(0, len(places), size):
            rows = slice(first, first + size)
            batch = solve(
                _poses(places[rows], turns),
                np.repeat(seeds[rows], len(turns), axis=0),
                options=_options(max_searches),
                progress=partial(advance, before=first * len(turns)),
            )
            reached[rows] = batch.success.reshape(-1, len(turns))
            colliding += _colliding(batch)
    chosen, given_up = _sample(~reached.ravel())
    at, turned = np.divmod(chosen, len(turns))
    targets = _poses(places[at], np.eye(3)[None])
    targets[:, :3, :3] = turns[turned]
    found = _search_again(solve, targets, seeds[at], _options(THOROUGH_SEARCHES))
    return reached, Check(len(chosen), found, given_up), colliding


def _colliding(batch: IkBatchResult) -> int:
    """Return how many targets of a batch are reached with a collision only."""
    return int((batch.status == IkStatus.IN_COLLISION).sum())


def _options(max_searches: int, task_weights: tuple[float, ...] = _POSE) -> IkOptions:
    return IkOptions(max_searches=max_searches, timeout=_PATIENCE, task_weights=task_weights)


def _sample(given_up: np.ndarray) -> tuple[np.ndarray, int]:
    """Return the indices of some targets that were given up, and how many of those there are."""
    indices = np.flatnonzero(given_up)
    return np.random.default_rng(0).permutation(indices)[:_SAMPLE], len(indices)


def _search_again(
    solve: _Solve, targets: np.ndarray, seeds: np.ndarray, options: IkOptions
) -> int:
    """Return how many of some targets are reached with other options."""
    with _progress_bar('a sample, thoroughly', len(targets)) as advance:
        batch = solve(targets, seeds, options=options, progress=advance)
    return int(batch.success.sum())


@contextmanager
def _progress_bar(label: str, total: int) -> Iterator[Callable[..., None]]:
    """
    Show a bar on a terminal during a ``with`` block; none without tqdm, from the extra ``plot``.

    :returns: a callback for :func:`solve_ik_batch`; ``before``: targets of earlier batches.
    """
    try:
        from tqdm import tqdm
    except ImportError:
        yield lambda done, _total, before=0: None
        return
    with tqdm(total=total, desc=label, disable=None) as bar:  # None: only on a terminal
        yield lambda done, _total, before=0: bar.update(before + done - bar.n)


def _poses(places: np.ndarray, turns: np.ndarray) -> np.ndarray:
    """Return every orientation (k, 3, 3) at every position (N, 3), as (N k, 4, 4)."""
    poses = np.zeros((len(places), len(turns), 4, 4))
    poses[..., :3, :3] = turns
    poses[..., :3, 3] = places[:, None]
    poses[..., 3, 3] = 1.0
    return poses.reshape(-1, 4, 4)
