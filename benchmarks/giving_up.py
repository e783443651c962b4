"""
Targets that cannot be reached: how long it takes to know, and how near the answer comes.

Two kinds: poses farther away than the chain is long, and poses at the edge of the workspace with
the tool turned back inwards, whose distance alone gives nothing away. The column ``reached``
counts those that somebody reached all the same.
"""

from __future__ import annotations

import argparse
from collections import Counter
from time import perf_counter

from contestants import Contestant, gather, ours
from judge import Judge
from measure import rounds_of, use_one_core
import numpy as np
import peers
from records import progress, save
from robots import BenchRobot, chosen_robots, MAIN

import ik_service as iks

# Poses among which the outermost are turned, for each one that is kept.
_POOL = 20


def main() -> None:
    """Measure and save."""
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    parser.add_argument('--count', type=int, default=200, help='targets of each kind')
    parser.add_argument('--chains', default=','.join(MAIN), help='names, separated by commas')
    parser.add_argument('--seed', type=int, default=1, help='of the random targets')
    args = parser.parse_args()
    use_one_core()
    rows = []
    for robot in chosen_robots(args.chains):
        judge = Judge(robot)
        for kind, make in (('outside the reach', outside), ('turned inwards', turned_inwards)):
            progress(f'giving up: {robot.name}, {kind}')
            targets = make(judge, args.count, args.seed)
            rows += [
                {'chain': robot.name, 'targets': kind, **row}
                for row in compare(robot, judge, targets)
            ]
    save('giving_up', rows, count=args.count, seed=args.seed)


def outside(judge: Judge, count: int, seed: int) -> np.ndarray:
    """Random poses, moved to five times their farthest distance, (N, 4, 4)."""
    poses = judge.poses(judge.postures(count, seed))
    distance = np.linalg.norm(poses[:, :3, 3], axis=1, keepdims=True)
    poses[:, :3, 3] *= 5.0 * distance.max() / distance
    return poses


def turned_inwards(judge: Judge, count: int, seed: int) -> np.ndarray:
    """Outer poses, moved as far out as any of them and the tool turned by 180°, (N, 4, 4)."""
    poses = judge.poses(judge.postures(_POOL * count, seed))
    distance = np.linalg.norm(poses[:, :3, 3], axis=1)
    poses = poses[np.argsort(distance)[-count:]]
    for pose in poses:
        outwards = pose[:3, 3] / np.linalg.norm(pose[:3, 3])
        pose[:3, 3] = distance.max() * outwards
        across = np.cross(outwards, np.eye(3)[np.argmin(np.abs(outwards))])
        across /= np.linalg.norm(across)
        pose[:3, :3] = (2 * np.outer(across, across) - np.eye(3)) @ pose[:3, :3]
    return poses


def compare(robot: BenchRobot, judge: Judge, targets: np.ndarray) -> list[dict[str, object]]:
    """Rows of the table for one robot and one kind of target."""
    there, absent = gather(
        {
            'roboticstoolbox': lambda: peers.roboticstoolbox(robot),
            'TRAC-IK': lambda: peers.trac_ik(robot),
        }
    )
    contestants = [ours(robot, 'levenberg_marquardt'), *there]
    seed = robot.chain.mid_range()
    times = {contestant.name: [] for contestant in contestants}
    solved = dict.fromkeys(times, 0)
    for rows in rounds_of(len(targets), 50):
        for contestant in contestants:
            solved[contestant.name] += _try(
                contestant, judge, targets[rows], seed, times[contestant.name]
            )
    table = [
        {
            'solver': name,
            'problems': len(seconds),
            'mean_us': 1e6 * float(np.mean(seconds)),
            'p99_us': 1e6 * float(np.percentile(seconds, 99)),
            'max_us': 1e6 * max(seconds),
            'reached': solved[name],
            **(_closest(robot, judge, targets) if name == contestants[0].name else {}),
            'absent': '',
        }
        for name, seconds in times.items()
    ]
    return table + [{'solver': name, 'absent': reason} for name, reason in absent.items()]


def _try(
    contestant: Contestant, judge: Judge, targets: np.ndarray, seed: np.ndarray, times: list[float]
) -> int:
    """Number of targets that were reached after all."""
    reached = 0
    for target, T in zip([contestant.prepare(T) for T in targets], targets, strict=True):
        began = perf_counter()
        q = contestant.solve(target, seed)
        times.append(perf_counter() - began)
        reached += judge.accepts(q, T)
    return reached


def _closest(robot: BenchRobot, judge: Judge, targets: np.ndarray) -> dict[str, object]:
    """What our answers say, and how far the pose that they give is from the target."""
    solver = iks.Solver(robot.chain)
    results = [solver.solve(T) for T in targets]
    errors = np.array([judge.errors(r.q, T)[:2] for r, T in zip(results, targets, strict=True)])
    says = Counter(result.status.name for result in results)
    return {
        'says': ' '.join(f'{name} {count}' for name, count in says.most_common()),
        'mean_searches': float(np.mean([result.searches for result in results])),
        'closest_mm': 1e3 * float(np.median(errors[:, 0])),
        'closest_deg': float(np.degrees(np.median(errors[:, 1]))),
    }


if __name__ == '__main__':
    main()
