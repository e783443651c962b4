"""
Unreachable targets: time until a solver gives up, and distance of the closest pose.

Two kinds: poses farther away than the chain is long, and poses at the edge of the workspace with
the tool turned back inwards, which are not known to be out of reach by their distance. The column
``reached`` counts those that a solver reached all the same.
"""

from __future__ import annotations

from collections import Counter
from time import perf_counter

import numpy as np
from peers import Adapter, ours, searches
from records import Row
from robots import BenchRobot, MAIN
from timing import measure_robots, rounds_of, times_row
from verifier import Verifier

import ik_service as iks

# Poses among which the outermost are turned, for each one that is kept.
_POOL = 20


def main() -> None:
    """Measure and save."""
    count, seed = (200, 'targets of each kind'), (1, 'of the random targets')
    measure_robots('giving_up', __doc__, measure, count=count, chains=','.join(MAIN), seed=seed)


def measure(robot: BenchRobot, count: int, seed: int) -> list[Row]:
    """Rows of the table for one robot."""
    verifier = Verifier(robot)
    return [
        {'targets': kind, **row}
        for kind, make in (('outside the reach', outside), ('turned inwards', turned_inwards))
        for row in compare(robot, verifier, make(verifier, count, seed))
    ]


def outside(verifier: Verifier, count: int, seed: int) -> np.ndarray:
    """Random poses, moved to five times their farthest distance, (N, 4, 4)."""
    poses = verifier.poses(verifier.postures(count, seed))
    distance = np.linalg.norm(poses[:, :3, 3], axis=1, keepdims=True)
    poses[:, :3, 3] *= 5.0 * distance.max() / distance
    return poses


def turned_inwards(verifier: Verifier, count: int, seed: int) -> np.ndarray:
    """Outer poses, moved as far out as any of them and the tool turned by 180°, (N, 4, 4)."""
    poses = verifier.poses(verifier.postures(_POOL * count, seed))
    distance = np.linalg.norm(poses[:, :3, 3], axis=1)
    poses = poses[np.argsort(distance)[-count:]]
    for pose in poses:
        outwards = pose[:3, 3] / np.linalg.norm(pose[:3, 3])
        pose[:3, 3] = distance.max() * outwards
        across = np.cross(outwards, np.eye(3)[np.argmin(np.abs(outwards))])
        across /= np.linalg.norm(across)
        pose[:3, :3] = (2 * np.outer(across, across) - np.eye(3)) @ pose[:3, :3]
    return poses


def compare(robot: BenchRobot, verifier: Verifier, targets: np.ndarray) -> list[Row]:
    """Rows of the table for one robot and one kind of target."""
    there, absent = searches(robot)
    adapters = [ours(robot, 'levenberg_marquardt'), *there]
    seed = robot.chain.mid_range()
    times = {adapter.name: [] for adapter in adapters}
    solved = dict.fromkeys(times, 0)
    for rows in rounds_of(len(targets), 50):
        for adapter in adapters:
            solved[adapter.name] += _try(
                adapter, verifier, targets[rows], seed, times[adapter.name]
            )
    table = [
        {
            'solver': name,
            'problems': len(seconds),
            **times_row(seconds),
            'max_us': 1e6 * max(seconds),
            'reached': solved[name],
            **(_closest(robot, verifier, targets) if name == adapters[0].name else {}),
        }
        for name, seconds in times.items()
    ]
    return table + absent


def _try(
    adapter: Adapter, verifier: Verifier, targets: np.ndarray, seed: np.ndarray, times: list[float]
) -> int:
    """Solve for targets; return how many were reached after all."""
    reached = 0
    for target, T in zip([adapter.prepare(T) for T in targets], targets, strict=True):
        began = perf_counter()
        q = adapter.solve(target, seed)
        times.append(perf_counter() - began)
        reached += verifier.accepts(q, T)
    return reached


def _closest(robot: BenchRobot, verifier: Verifier, targets: np.ndarray) -> Row:
    """Status of this project's results, and distance of their poses from the target."""
    solver = iks.Solver(robot.chain)
    results = [solver.solve(T) for T in targets]
    errors = np.array([verifier.errors(r.q, T)[:2] for r, T in zip(results, targets, strict=True)])
    says = Counter(result.status.name for result in results)
    return {
        'says': ' '.join(f'{name} {count}' for name, count in says.most_common()),
        'mean_searches': float(np.mean([result.searches for result in results])),
        'closest_mm': 1e3 * float(np.median(errors[:, 0])),
        'closest_deg': float(np.degrees(np.median(errors[:, 1]))),
    }


if __name__ == '__main__':
    main()
