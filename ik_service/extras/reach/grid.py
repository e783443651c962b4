"""Grids of positions around all that an arm can reach, and evenly spread orientations."""

from __future__ import annotations

from functools import lru_cache
import math
from numbers import Real

import numpy as np

from ik_service.common.quaternions import rotation_from_quaternion_xyzw
from ik_service.common.quoting import safe_repr
from ik_service.exceptions import ArgumentError, ChainError
from ik_service.kinematics.chain import KinematicChain
from ik_service.kinematics.link_poses import tip_poses
from ik_service.solvers.batch import solve_ik_batch
from ik_service.solvers.options import IkOptions

MOST_POSITIONS = 20_000_000  # positions of a grid, at most: they are held in memory

_POSTURES = 20_000  # random ones that show how far the arm reaches
_MARGIN = 0.05  # around where they put the tip, of the largest side
_SEARCHES = 30  # for the ends of the reach
_PATIENCE = 60.0  # with each: a busy machine must not change the box [s]
_BEYOND = 0.01  # around these, of the largest side: random joints may be missed by so much
_FLAT = 1e-9  # a side of the box that is thinner than this share of the largest is none
_EVEN = 1e-6  # by how much of itself the distance of neighbours may vary

# M. Alexa, "Super-Fibonacci spirals: fast, low-discrepancy sampling of SO(3)", CVPR 2022: φ is the
# square root of 2, ψ the positive root of ψ⁴ = ψ + 4.
_PHI = math.sqrt(2.0)
_PSI = 1.533751168755204288118041

_FEW_POSTURES = 20  # random ones that show about which axes the tip turns
_PARALLEL = 1e-9  # share of the largest singular value below which there is no further axis


@lru_cache(maxsize=8)  # of arms that are surveyed and drawn
def reach_box(chain: KinematicChain) -> tuple[np.ndarray, np.ndarray]:
    """Box (3,), (3,) around all that an arm can reach [m]; ChainError for endless reach."""
    slides = chain.arrays.variables[chain.arrays.joints[:, 7] != 0.0]
    lower, upper = chain.search_limits()
    if not np.isfinite(upper - lower)[slides].all():
        raise ChainError('the arm reaches endlessly far: one of its joints slides without limits')
    rng = np.random.default_rng(0)
    postures = rng.uniform(*turn_within_limits(chain), (_POSTURES, chain.n))
    tips = tip_poses(chain, postures)[:, :3, 3]
    low, high = tips.min(axis=0), tips.max(axis=0)
    largest = float((high - low).max())
    flat = high - low <= _FLAT * largest
    lowest, highest = _ends(chain)
    margin, beyond = _MARGIN * largest, _BEYOND * largest
    box = (
        np.where(flat, low, np.minimum(low - margin, lowest - beyond)),
        np.where(flat, low, np.maximum(high + margin, highest + beyond)),
    )
    for corner in box:
        corner.setflags(write=False)
    return box


def _ends(chain: KinematicChain) -> np.ndarray:
    """
    Return how far the tip gets along the axes (2, 3), down and up [m].

    Random postures hardly ever stretch many joints out, so each coordinate alone is solved for at
    both ends of the sphere that the tip cannot leave; how close a solver gets is the answer.
    """
    reach, ends = chain.arrays.reach, np.empty((2, 3))
    for axis in range(3):
        targets = np.repeat(np.eye(4)[None], 2, axis=0)
        targets[:, :3, 3] = reach[:3]
        targets[:, axis, 3] += -reach[3], reach[3]
        alone = IkOptions(
            task_weights=tuple(np.eye(6)[axis]), max_searches=_SEARCHES, timeout=_PATIENCE
        )
        closest = solve_ik_batch(chain, targets, None, 'conjugate_gradient', alone).q
        ends[:, axis] = tip_poses(chain, closest)[:, axis, 3]
    return ends


def turn_within_limits(chain: KinematicChain) -> tuple[np.ndarray, np.ndarray]:
    """Limits (n,), (n,) [rad, m] of a chain, one turn where a joint has none."""
    turn = 2.0 * math.pi
    lower, upper = chain.search_limits()
    lower = np.where(np.isfinite(lower), lower, np.minimum(upper, math.pi) - turn)
    return lower, np.where(np.isfinite(upper), upper, lower + turn)


def check_spacing(spacing: float) -> None:
    """Refuse a spacing [m] that is no positive length; raises ArgumentError."""
    if not (isinstance(spacing, Real) and 0.0 < spacing < math.inf):
        raise ArgumentError('spacing', f'has to be a length above 0 [m], not {safe_repr(spacing)}')


def cubic_axes(chain: KinematicChain, spacing: float) -> tuple[np.ndarray, ...]:
    """
    Return the coordinates of a grid of cubes around all that an arm can reach.

    They are multiples of the spacing, so that grids of several arms have positions in common.

    :param spacing: distance of neighbours [m].
    :returns: coordinates along x, y and z of the base frame [m]; one where the tip never moves.
    :raises ArgumentError: the spacing is no positive length, or so small that there are more
        than :data:`MOST_POSITIONS`.
    :raises ChainError: the arm reaches endlessly far.
    """
    check_spacing(spacing)
    low, high = reach_box(chain)
    first, last = np.floor(low / spacing), np.ceil(high / spacing)
    counts = _counts(low, high, spacing)
    if counts.prod() > MOST_POSITIONS:
        least = spacing * (counts.prod() / MOST_POSITIONS) ** (1.0 / max((counts > 1).sum(), 1))
        raise ArgumentError(
            'spacing',
            f'of {spacing} m makes {counts.prod():.3g} positions, more than {MOST_POSITIONS:,}; '
            f'about {1.01 * least:.2g} m is the least',
        )
    return tuple(
        np.arange(first[i], last[i] + 1) * spacing if low[i] < high[i] else low[i : i + 1]
        for i in range(3)
    )


def cubic_count(chain: KinematicChain, spacing: float) -> float:
    """Return how many positions :func:`cubic_axes` has, however many that are."""
    return float(_counts(*reach_box(chain), spacing).prod())


def _counts(low: np.ndarray, high: np.ndarray, spacing: float) -> np.ndarray:
    steps = np.ceil(high / spacing) - np.floor(low / spacing)
    return np.where(high > low, steps + 1.0, 1.0)


def grid_positions(axes: tuple[np.ndarray, ...]) -> np.ndarray:
    """Return the positions (P, 3) of a grid of coordinates x, y, z [m]; z varies fastest."""
    return np.stack(np.meshgrid(*axes, indexing='ij'), axis=-1).reshape(-1, 3)


def axes_of(positions: np.ndarray) -> tuple[np.ndarray, ...] | None:
    """Return coordinates x, y, z of positions (P, 3) [m]; None where they are no grid of cubes."""
    axes = tuple(np.unique(column) for column in positions.T)
    if not len(positions) or math.prod(map(len, axes)) != len(positions):
        return None
    steps = np.concatenate([np.diff(axis) for axis in axes])
    if len(steps) and np.ptp(steps) > _EVEN * steps.max():
        return None
    return axes if np.array_equal(grid_positions(axes), positions) else None


def spacing_of(axes: tuple[np.ndarray, ...]) -> float:
    """Return the distance of neighbours in a grid of cubes [m]; NaN of a single position."""
    steps = [(axis[-1] - axis[0]) / (len(axis) - 1) for axis in axes if len(axis) > 1]
    return round(float(steps[0]), 12) if steps else math.nan  # without rounding errors


def even_orientations(count: int) -> np.ndarray:
    """
    Return orientations that are spread evenly over all rotations.

    They are the points of a super-Fibonacci spiral on the sphere of unit quaternions (Alexa 2022,
    algorithm 1).

    :returns: (count, 3, 3) rotation matrices; the same ones at every call.
    """
    s = np.arange(count) + 0.5
    inner, outer = np.sqrt(s / count), np.sqrt(1.0 - s / count)
    alpha, beta = 2.0 * math.pi * s / _PHI, 2.0 * math.pi * s / _PSI
    x, y = inner * np.sin(alpha), inner * np.cos(alpha)
    z, w = outer * np.sin(beta), outer * np.cos(beta)
    return rotation_from_quaternion_xyzw(x, y, z, w)


def chain_orientations(chain: KinematicChain, count: int) -> np.ndarray:
    """Even R_base_tip (count, 3, 3) that a tip may have: one turn for a SCARA, one for slides."""
    home = chain.forward(chain.middle)[:3, :3]
    rank, directions = _directions(chain, slice(3, 6))
    if rank == 0:
        return home[None]
    if rank == 1:
        angles = 2.0 * math.pi * np.arange(count) / count
        x, y, z = directions[0][:, None] * np.sin(0.5 * angles)
        return rotation_from_quaternion_xyzw(x, y, z, np.cos(0.5 * angles)) @ home
    return even_orientations(count)


def chooses_orientation(chain: KinematicChain) -> bool:
    """Return whether a chain has the joints to choose how its tip is turned at a place."""
    places, turns = (_directions(chain, rows)[0] for rows in (slice(0, 3), slice(3, 6)))
    axes = places + (turns if turns < 2 else 3)  # about two axes is about all
    return int(np.count_nonzero(chain.lower < chain.upper)) >= axes


def fills_grid(chain: KinematicChain) -> bool:
    """Whether a tip fills its grid, and does not stay on a curve or surface across the axes."""
    low, high = reach_box(chain)
    ranks = [np.linalg.matrix_rank(J[:3], _PARALLEL) for J in _few_jacobians(chain)]
    return int(max(ranks)) >= int((high > low).sum())


def _few_jacobians(chain: KinematicChain) -> list[np.ndarray]:
    """Return the Jacobians (6, n) of a few random postures."""
    rng = np.random.default_rng(0)
    postures = rng.uniform(*turn_within_limits(chain), (_FEW_POSTURES, chain.n))
    return [chain.jacobian(q) for q in postures]


def _directions(chain: KinematicChain, rows: slice) -> tuple[int, np.ndarray]:
    """Return in how many directions the tip moves or turns, and these (3, 3), strongest first."""
    columns = np.concatenate([J[rows].T for J in _few_jacobians(chain)])
    strengths, directions = np.linalg.svd(columns)[1:]
    return int((strengths > _PARALLEL * max(strengths[0], 1.0)).sum()), directions
