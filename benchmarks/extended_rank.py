"""
Smallest singular value of the extended Jacobian over many postures: has it full rank at all?

Over random postures, over all postures of straight and right angles, which are singular for many
arms, and at the limits; then, starting from the worst of them, at postures that are searched for
to be worse still. Element weight 1, as in the paper; position rows are in metres where they are
alone, else in units of the mean distance of joints. ``docs/figures/extended_rank.csv`` is written;
its columns hold the arm, the rows of the elements, the kind and number of postures, the smallest
singular value, the posture where it is [degrees, mm], and the Jacobian's own smallest one there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
import itertools
import math
from pathlib import Path

import numpy as np
from records import options, progress, write_table
from robots import urdf_of

import ik_service as iks
from ik_service.common.resources import urdf_path
from ik_service.solvers.methods.extended_jacobian.basic_elements import extended_matrix

FIGURE = Path(__file__).resolve().parents[1] / 'docs' / 'figures' / 'extended_rank.csv'
# Arm, rows of the elements, weights of the task.
CASES = (
    ('planar_6r', 'position', (1.0, 1.0, 0.0, 0.0, 0.0, 0.0)),
    ('planar_6r', 'pose', (1.0,) * 6),
    ('panda', 'pose', (1.0,) * 6),
    ('ur5e', 'pose', (1.0,) * 6),
    ('stanford', 'pose', (1.0,) * 6),
)
_LINKS = {
    'planar_6r': ('base_link', 'tool0'),
    'panda': ('panda_link0', 'panda_hand_tcp'),
    'ur5e': ('base_link', 'tool0'),
}
_QUARTERS = (0.0, math.pi / 2, -math.pi / 2, math.pi)
_GRID_ENDS = (0.0, 0.5, 1.0)  # of the range of a sliding joint
# The search for worse postures: starts, rounds, tries in a round, first size [rad] or [m].
_SEARCH = (10, 80, 40, 0.1)


def main() -> None:
    """Measure and save."""
    args = options(
        __doc__,
        count=(10_000, 'random postures of each arm'),
        seed=(1, 'of the random postures'),
        output=(FIGURE, 'the table'),
    )
    rows = []
    for arm, kind, weights in CASES:
        progress(f'extended rank: {arm}, {kind}')
        rows += measure(arm, kind, weights, args.count, args.seed)
    write_table(args.output, rows)
    worst = min(rows, key=lambda row: row['smallest_singular_value'])
    progress(f'wrote {args.output.name}; the smallest: {worst}')


def measure(
    arm: str, kind: str, weights: tuple[float, ...], count: int, seed: int
) -> list[dict[str, object]]:
    """Rows of the table for one arm and task."""
    chain = chain_of(arm)
    rng = np.random.default_rng(seed)
    options = iks.IkOptions(task_weights=weights, element_weight=1.0)

    def smallest(q: np.ndarray) -> float:
        return float(np.linalg.svd(extended_matrix(chain, q, options), compute_uv=False)[-1])

    rows, worst = [], []
    for name, postures in kinds(chain, count, rng):
        values = [smallest(q) for q in postures]
        order = np.argsort(values)[: _SEARCH[0]]
        worst += [(values[k], postures[k]) for k in order]
        rows.append(_row(arm, kind, name, len(postures), values[order[0]], postures[order[0]]))
    starts = sorted(worst, key=lambda pair: pair[0])[: _SEARCH[0]]
    found = [descend(smallest, q, rng) for _, q in starts]
    value, q = min(found, key=lambda pair: pair[0])
    tries = len(starts) * _SEARCH[1] * _SEARCH[2]
    rows.append(_row(arm, kind, 'searched for', tries, value, q))
    used = np.array(weights) > 0.0
    for row in rows:
        q = row.pop('q')
        row['at'] = ' '.join(f'{value:.8g}' for value in _readable(chain, q))
        row['smallest_of_the_jacobian'] = _smallest_of_the_jacobian(chain, q, used)
    return rows


def _row(
    arm: str, kind: str, postures: str, count: int, value: float, q: np.ndarray
) -> dict[str, object]:
    return {
        'arm': arm, 'rows': kind, 'postures': postures, 'count': count,
        'smallest_singular_value': value, 'q': q,
    }  # fmt: skip


def kinds(
    chain: iks.KinematicChain, count: int, rng: np.random.Generator
) -> Iterator[tuple[str, np.ndarray]]:
    """Kinds of postures and the postures (N, n); the limits are kept by the random ones only."""
    n = chain.n
    yield 'random', rng.uniform(chain.lower, chain.upper, (count, n))
    grid = np.array(list(itertools.product(*grids(chain))))
    yield 'quarter turns', grid
    aligned = np.repeat(rng.uniform(chain.lower, chain.upper, (200, n)), 4 * n, axis=0)
    for k, q in enumerate(aligned):
        i = (k // 4) % n
        places = grids(chain)[i]
        q[i] = places[k % len(places)]
    yield 'one joint at a quarter turn', aligned
    ends = np.array(list(itertools.product((0, 1), repeat=n)))
    yield 'at the limits', np.where(ends, chain.upper, chain.lower)
    yield 'stretched', np.zeros((1, n))


def grids(chain: iks.KinematicChain) -> list[tuple[float, ...]]:
    """Position of each joint in the grid: quarter turns, or ends and middle of a slide."""
    places = []
    for i in range(chain.n):
        low, high = chain.lower[i], chain.upper[i]
        slides = not chain.arrays.joints[i, 6]
        places.append(tuple(low + e * (high - low) for e in _GRID_ENDS) if slides else _QUARTERS)
    return places


def descend(
    smallest: Callable[[np.ndarray], float], q: np.ndarray, rng: np.random.Generator
) -> tuple[float, np.ndarray]:
    """The worst posture that small random changes lead to from nearby, and its value."""
    size = _SEARCH[3]
    q = q + rng.normal(0.0, size, len(q))  # the posture itself is mostly the worst about it
    value = smallest(q)
    for _ in range(_SEARCH[1]):
        before = value
        for _ in range(_SEARCH[2]):
            other = q + rng.normal(0.0, size, len(q))
            candidate = smallest(other)
            if candidate < value:
                value, q = candidate, other
        if value > 0.999 * before:
            size *= 0.6
    return value, q


def _smallest_of_the_jacobian(chain: iks.KinematicChain, q: np.ndarray, used: np.ndarray) -> float:
    """Smallest singular value of the rows that the chain can move at all."""
    values = np.linalg.svd(chain.jacobian(q)[used], compute_uv=False)
    generic = chain.jacobian(np.linspace(0.3, 0.9, chain.n))[used]
    return float(values[np.linalg.matrix_rank(generic) - 1])


def _readable(chain: iks.KinematicChain, q: np.ndarray) -> np.ndarray:
    """A posture in degrees, and millimetres for slides."""
    values = np.where(chain.arrays.joints[:, 6] != 0.0, np.degrees(q), 1000.0 * q)
    return np.round(values, 4) + 0.0  # no −0


def chain_of(arm: str) -> iks.KinematicChain:
    """One of our own arms, or the Stanford arm, whose third joint slides."""
    if arm == 'stanford':
        return iks.Robot.from_urdf(stanford()).chain()
    return iks.Robot.from_urdf(urdf_path(arm)).chain(*_LINKS[arm])


def stanford() -> str:
    """The Stanford arm, by V. Scheinman (1969): two turns, a slide, and a spherical wrist [m]."""
    turns, none, half = (-2.9, 2.9), (0, 0, 0), math.pi / 2
    joints = (
        ((0, 0, 0.412), none, turns),
        (none, (-half, 0, 0), turns),
        ((0, 0, 0.154), (half, 0, 0), (0.2, 0.9), (0, 0, 1), 'prismatic'),
        (none, none, turns),
        (none, (-half, 0, 0), turns),
        (none, (half, 0, 0), turns),
        ((0, 0, 0.263),),
    )
    return urdf_of('stanford', joints)


if __name__ == '__main__':
    main()
