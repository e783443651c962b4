"""Places for the base of an arm from which it reaches given poses: :func:`place`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ik_service.common.arguments import check_kind, single_number, whole_number
from ik_service.exceptions import ArgumentError
from ik_service.extras.reach.capability import CapabilityMap
from ik_service.extras.reach.grid import check_spacing
from ik_service.extras.reach.inverse_map import BaseScores, InverseMap
from ik_service.extras.reach.place_task import PlaceTask, read_arm, solved_scores
from ik_service.extras.reach.region import around, MOST_PLACES, Region
from ik_service.extras.scale.chain_spec import ChainSpec
from ik_service.kinematics.chain import KinematicChain
from ik_service.kinematics.pose_error import check_transforms
from ik_service.solvers.batch import check_course, IkBatchResult
from ik_service.solvers.collision_test import Collisions, CollisionTest
from ik_service.solvers.options import IkOptions

_STARTS = 4  # of searches for a posture of better quality, besides the first
_MANY = 10_000  # poses at all places, from which on there is one such start only
_ROWS = 100_000  # answers that are held at a time

_RADIUS = 0.3  # of a tool: a point so far from the tip tells how orientations differ [m]

_ROUNDS = (1.0, 1.0, 1.0, 0.5, 0.5, 0.5, 0.25, 0.25, 0.125, 0.125)  # shares of the first step

CANDIDATES = 10_000  # places that are compared, where no spacing is given
HEADINGS = 8  # headings of a full turn that are compared at a position

_SOLVES = 400_000  # of inverse kinematics to compare places; beyond, fewer poses are compared
_LEAST_POSES, _MOST_POSES = 8, 100  # that are compared then
_PARTS = 20  # of the longest side of the region: places that are returned lie half of one apart
_MORE = 4  # places that are refined for each that is returned
_CHECKED = 25  # places that are solved for after a map or for collisions, for each of these
_VERIFIED = 40_000  # poses in the verification, beyond which fewer places are verified


@dataclass(frozen=True, eq=False)
class Placement:
    """
    Place for a base, with a posture for every pose.

    :ivar place: (4,) x, y, z [m] and yaw [rad] of the base.
    :ivar T_world_base: (4, 4).
    :ivar reached: (K,) whether each pose is reached, as :func:`~ik_service.solve_ik` says.
    :ivar q: (K, n) joint vectors [rad] or [m]; where a pose is not reached, of the closest one
        that was found.
    :ivar position_error: (K,) [m].
    :ivar orientation_error: (K,) [rad].
    :ivar status: (K,) :class:`~ik_service.IkStatus`.
    :ivar collision: (K,) names of two links that collide where a pose is only reached with a
        collision, else None.
    :ivar quality: least quality of a posture at a pose that is reached, 0 to 1; 0 without one.
    """

    place: np.ndarray
    T_world_base: np.ndarray
    reached: np.ndarray
    q: np.ndarray
    position_error: np.ndarray
    orientation_error: np.ndarray
    status: np.ndarray
    collision: np.ndarray
    quality: float

    @property
    def share(self) -> float:
        """Share of the poses that are reached; 1 for all."""
        return float(self.reached.mean())

    @property
    def score(self) -> float:
        """
        Score from 0 to 1 by which places are ranked: (poses reached + quality) / (K + 1).

        One more pose counts more than any quality.
        """
        return (int(self.reached.sum()) + self.quality) / (len(self.reached) + 1)

    @property
    def miss(self) -> float:
        """Mean distance of the closest poses from the poses [m], by which equal scores rank."""
        return float(np.where(self.reached, 0.0, self.position_error).mean())


def verify(task: PlaceTask, places: np.ndarray, q: np.ndarray | None = None) -> list[Placement]:
    """Placements of places (S, 4), with all searches, and those from ``q`` (S, K, n) [rad, m]."""
    size = max(1, _ROWS // len(task.poses))
    found: list[Placement] = []
    for first in range(0, len(places), size):
        own = slice(first, first + size)
        starts: list[np.ndarray] = list(task.arm.chain.random_postures(_STARTS))
        if len(places) * len(task.poses) > _MANY:
            starts = starts[:1]
        if q is not None:
            starts.append(q[own].reshape(-1, q.shape[-1]))
        found += _verified(task, places[own], starts)
    return found


def _verified(task: PlaceTask, places: np.ndarray, starts: list[np.ndarray]) -> list[Placement]:
    batch = task.solve(places)
    q, status = batch.q.copy(), batch.status.copy()
    errors = np.stack([batch.position_error, batch.orientation_error], axis=1)
    collision = np.full(len(q), None) if batch.collision is None else batch.collision.copy()
    quality = _qualities(task, batch)
    for start in starts:
        other = task.solve(places, start, searches=1)
        values = _qualities(task, other)
        better = values > quality
        q[better], quality[better] = other.q[better], values[better]
        status[better] = other.status[better]
        errors[better, 0] = other.position_error[better]
        errors[better, 1] = other.orientation_error[better]
    reached = quality >= 0.0
    collision[reached] = None
    rows = np.arange(len(q)).reshape(len(places), -1)
    bases = task.region.poses(places)
    return [
        Placement(
            place=place, T_world_base=base, reached=reached[own], q=q[own],
            position_error=errors[own, 0], orientation_error=errors[own, 1], status=status[own],
            collision=collision[own],
            quality=float(quality[own][reached[own]].min(initial=1.0)) * bool(reached[own].any()),
        )
        for place, base, own in zip(places, bases, rows, strict=True)
    ]  # fmt: skip


def _qualities(task: PlaceTask, batch: IkBatchResult) -> np.ndarray:
    """Return the quality of each answer (N,); −1 where its pose is not reached."""
    quality = np.full(len(batch.q), -1.0)
    quality[batch.success] = task.arm.measure.quality(batch.q[batch.success])
    return quality


def apart(places: np.ndarray, order: np.ndarray, distance: float, count: int) -> np.ndarray:
    """Numbers of at most ``count`` places (C, 4), best first, at least ``distance`` [m] apart."""
    chosen: list[int] = []
    left = order
    while len(left) and len(chosen) < count:
        number = int(left[0])
        chosen.append(number)
        away = np.linalg.norm(places[left, :3] - places[number, :3], axis=1)
        away[0] = 0.0
        left = left[(away >= distance) & (away > 0.0)]
    return np.array(chosen, int)


def spread_poses(poses: np.ndarray, count: int) -> np.ndarray:
    """
    Choose poses that differ as much as possible, in position and orientation.

    Each is the one that is farthest from all chosen before it, so that the outermost come first
    (T. F. Gonzalez, "Clustering to minimize the maximum intercluster distance", 1985).

    :param poses: (K, 4, 4).
    :param count: how many, at most.
    :returns: their numbers, sorted.
    """
    if len(poses) <= count:
        return np.arange(len(poses))
    axes = _RADIUS * poses[:, :3, :3].reshape(-1, 9)
    points = np.hstack([poses[:, :3, 3], axes])
    chosen = [int(np.argmax(np.linalg.norm(points - points.mean(axis=0), axis=1)))]
    away = np.linalg.norm(points - points[chosen[0]], axis=1)
    while len(chosen) < count:
        chosen.append(int(np.argmax(away)))
        away = np.minimum(away, np.linalg.norm(points - points[chosen[-1]], axis=1))
    return np.sort(np.array(chosen))


class Refined(NamedTuple):
    """Places (S, 4) x, y, z [m] and yaw [rad], their scores, and postures (S, K, n) there."""

    places: np.ndarray
    scores: BaseScores
    q: np.ndarray


def refine(task: PlaceTask, places: np.ndarray, q: np.ndarray, steps: np.ndarray) -> Refined:
    """Places (S, 4) moved to better ones by a pattern search from ``steps`` (4,) [m, rad]."""
    free = np.flatnonzero(task.region.upper > task.region.lower)
    scores, q = task.estimate(places, q.reshape(-1, q.shape[-1]))
    for share in _ROUNDS if len(free) else ():
        trials = _neighbours(task, places, share * steps, free)
        count = trials.shape[1]
        flat = trials.reshape(-1, 4)
        seeds = np.repeat(q, count, axis=0).reshape(-1, q.shape[-1])
        tried = task.estimate(flat, seeds)
        places, scores, q = _better(Refined(places, scores, q), Refined(flat, *tried))
    return Refined(places, scores, q)


def _neighbours(
    task: PlaceTask, places: np.ndarray, steps: np.ndarray, free: np.ndarray
) -> np.ndarray:
    """Return the places a step to either side along each axis (S, 2 a, 4), inside the region."""
    moves = np.vstack([np.diag(steps)[free], -np.diag(steps)[free]])
    moved = task.region.bounded((places[:, None] + moves).reshape(-1, 4))
    outside = ~task.region.contains(moved)
    moved[outside] = np.repeat(places, len(moves), axis=0)[outside]
    return moved.reshape(len(places), -1, 4)


def _better(present: Refined, trials: Refined) -> Refined:
    count = len(present.places)
    places = np.concatenate([present.places, trials.places])
    scores = BaseScores.joined([present.scores, trials.scores])
    neighbours = np.arange(count, len(places)).reshape(count, -1)
    groups = np.hstack([np.arange(count)[:, None], neighbours])
    chosen = np.array([group[scores.take(group).order()[0]] for group in groups])
    return Refined(
        places[chosen], scores.take(chosen), np.concatenate([present.q, trials.q])[chosen]
    )


@dataclass(frozen=True, eq=False)
class PlaceSearch:
    """
    Places found, and the grid on which they were searched for.

    :ivar placements: the places, the best first, each verified for all poses.
    :ivar region: where the base may stand.
    :ivar poses: (K, 4, 4) T_world_tip.
    :ivar places: (C, 4) x, y, z [m] and yaw [rad] of the grid.
    :ivar scores: scores of the grid, for ``looked_at``.
    :ivar looked_at: (k,) numbers of the poses that the grid was scored with.
    :ivar spacing: of the grid [m].
    """

    placements: tuple[Placement, ...]
    region: Region
    poses: np.ndarray
    places: np.ndarray
    scores: BaseScores
    looked_at: np.ndarray
    spacing: float

    @property
    def best(self) -> Placement:
        """The first of the placements."""
        return self.placements[0]


def place(
    source: ChainSpec | KinematicChain | CapabilityMap | InverseMap,
    poses: ArrayLike,
    **settings: object,
) -> tuple[Placement, ...]:
    """Return the places that :func:`search_places` finds for poses (K, 4, 4), the best first."""
    return search_places(source, poses, **settings).placements  # type: ignore[arg-type]


def search_places(
    source: ChainSpec | KinematicChain | CapabilityMap | InverseMap,
    poses: ArrayLike,
    *,
    region: Region | None = None,
    base_height: float = 0.0,
    inverse_map: InverseMap | None = None,
    candidates: int = CANDIDATES,
    spacing: float | None = None,
    headings: int = HEADINGS,
    best: int = 5,
    options: IkOptions | None = None,
    collisions: Collisions | CollisionTest | None = None,
    threads: int | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> PlaceSearch:
    """
    Find places for the base of an arm from which it reaches poses, or most of them.

    The places of a grid are scored: with an inverse reachability map by looking the poses up
    (N. Vahrenkamp, T. Asfour, R. Dillmann, "Robot placement based on reachability inversion",
    ICRA 2013; the map itself: F. Zacharias, C. Borst, G. Hirzinger, "Capturing robot workspace
    structure: representing robot capabilities", IROS 2007), without one by inverse kinematics.
    The best ones that lie apart are moved to where they are better still, and then verified:
    every pose is solved for, and only poses that forward kinematics confirms are called reached.

    Places are ranked by the share of the poses that they reach, then by the least quality of a
    posture at a pose that is reached, see
    :meth:`~ik_service.extras.reach.postures.PostureMeasure.quality`, then by how close to the
    poses they come. The answer is the same at every call.

    :param source: the arm, or a map of it.
    :param poses: (K, 4, 4) T_world_tip.
    :param region: where the base may stand; when left out upright at the height ``base_height``,
        anywhere from where one of the poses might be reached.
    :param base_height: z of the base where no region is given [m].
    :param inverse_map: map with which the places of the grid are scored; that of the source when
        left out, and none for a chain or its specification.
    :param candidates: places of the grid, at most; without a ``spacing``.
    :param spacing: of the grid [m], at most.
    :param headings: of a full turn, that are tried at each position.
    :param best: number of places to return; fewer where the region has no room for them apart.
    :param options: of the solves; the task weights are along the axes of the base link. Those of
        the source, or the defaults, when left out.
    :param collisions: checker or test of collisions at a pose; counts when the best places
        of the grid are compared, and in the result.
    :param threads: number of threads; as many as there are cores when left out.
    :param progress: called with the number of places scored and of all.
    :raises ArgumentError: an argument has another shape, or cannot be; names it.
    :raises ChainError: the arm reaches endlessly far and no region is given.
    """
    transforms = check_transforms(poses, 'poses')
    if not len(transforms):
        raise ArgumentError('poses', 'are none: give at least one')
    candidates = whole_number(candidates, 'candidates', most=MOST_PLACES)
    headings = whole_number(headings, 'headings', most=MOST_PLACES)
    best = whole_number(best, 'best')
    check_course(None, threads, chained=False)
    arm = read_arm(source, options, collisions, inverse_map)
    if region is None:
        height = single_number(base_height, 'base_height')
        if not math.isfinite(height):
            raise ArgumentError('base_height', f'has to be finite [m], not {height}')
        region = around(transforms[:, :3, 3], arm.reach, (height, height))
    check_kind(region, Region, 'region')
    if spacing is None:
        spacing = region.spacing_for(candidates, len(region.headings(headings)))
    else:
        check_spacing(spacing)
    places = region.grid(spacing, headings)
    task = PlaceTask(arm, region, transforms, threads)
    return _search(task, places, spacing, headings, best, progress)


def _search(
    task: PlaceTask,
    places: np.ndarray,
    spacing: float,
    headings: int,
    best: int,
    progress: Callable[[int, int], object] | None,
) -> PlaceSearch:
    count = min(max(_LEAST_POSES, _SOLVES // len(places)), _MOST_POSES)
    looked_at = spread_poses(task.poses, count)
    few = task.with_poses(looked_at)
    if task.arm.inverse_map is None:
        scores = solved_scores(few, places, progress)
    else:
        looked_at = np.arange(len(task.poses))
        turned = not task.arm.only_positions
        scores = task.arm.inverse_map.scores(
            task.region, places, task.poses, turned, task.threads, progress
        )
    side = float((task.region.upper - task.region.lower)[:3].max())
    distance = max(2.0 * spacing, side / _PARTS)
    chosen = _shortlist(few, places, scores, distance, _MORE * best)
    steps = np.array([*[distance / 4.0] * 3, math.pi / headings])
    refined = refine(few, chosen, np.stack([each.q for each in verify(few, chosen)]), steps)
    most = max(best, _VERIFIED // len(task.poses))
    final = apart(refined.places, refined.scores.order(), distance / 2.0, most)
    q = refined.q[final] if len(few.poses) == len(task.poses) else None
    verified = verify(task, refined.places[final], q)
    found = sorted(verified, key=lambda placement: (-placement.score, placement.miss))
    return PlaceSearch(
        tuple(found[:best]), task.region, task.poses, places, scores, looked_at, spacing
    )


def _shortlist(
    task: PlaceTask, places: np.ndarray, scores: BaseScores, distance: float, count: int
) -> np.ndarray:
    """Return the best places of the grid that lie apart; of a map or of collisions, solved."""
    order = scores.order()
    if task.arm.inverse_map is None and task.arm.collisions is None:
        return places[apart(places, order, distance, count)]
    close = scores.share >= scores.share.max() - 1.5 / len(task.poses)
    top = order[: max(_CHECKED * count, int(close.sum()))]
    # Of a fine grid the very best ones may all be neighbours.
    some = np.unique(np.linspace(0, len(top) - 1, min(_CHECKED * count, len(top))).astype(int))
    checked = places[top[some]]
    again = task.estimate(checked).scores
    return checked[apart(checked, again.order(), distance, count)]
