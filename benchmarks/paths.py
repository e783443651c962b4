"""
Whole paths: jumps of solvers that go from point to point, and what ``solve_path`` does instead.

The points are poses along smooth joint paths within the limits: from one random posture to the
next every joint moves by up to 30 % of its range. So there is a way through all points on which no
joint moves by 0.1 rad from one point to the next. Solvers that go from point to point are seeded
with their answer before. A path counts as far as every row is verified.
"""

from __future__ import annotations

import math
from pathlib import Path
import tempfile
from time import perf_counter

import numpy as np
from peers import Adapter, ours, searches
from records import Row
from robots import BenchRobot, published_arms
from timing import measure_robots
from tracking import Follower
from verifier import Verifier

import ik_service as iks
from ik_service.extras.studies.paths import wandering_path

_JUMP = 0.1  # [rad]
_SHARED = 'panda,iiwa14,abb_yumi_right,schunk_lwa4d,kinova_gen3,ur5'


def main() -> None:
    """Measure and save."""
    with tempfile.TemporaryDirectory() as folder:
        measure_robots(
            'paths',
            __doc__,
            measure,
            published_arms(Path(folder)),
            one_core=False,
            count=(2000, 'points of a path'),
            paths=(3, 'paths for each chain'),
            legs=(40, 'random postures on a path'),
            repeats=(3, 'of solve_path: the least counts'),
            chains=(_SHARED, 'names, beside the arms held out'),
            seed=(1, 'of the random paths'),
        )


def measure(
    robot: BenchRobot, count: int, paths: int, legs: int, repeats: int, seed: int
) -> list[Row]:
    """Rows of the table for one robot."""
    return [
        {'path': k + 1, **row}
        for k in range(paths)
        for row in compare(robot, wandering_path(robot.chain, seed + k, count, legs), repeats)
    ]


def compare(robot: BenchRobot, truth: np.ndarray, repeats: int) -> list[Row]:
    """Rows of the table for one path."""
    verifier = Verifier(robot)
    targets = verifier.poses(truth)
    there, absent = searches(robot)
    rows = [_whole(robot, verifier, truth, targets, repeats)]
    for adapter in [ours(robot, 'levenberg_marquardt'), *there]:
        try:
            rows.append(_point_by_point(adapter, verifier, truth, targets))
        except ValueError as error:  # roboticstoolbox refuses joints without limits
            absent.append({'solver': adapter.name, 'absent': str(error)})
    return rows + absent


def _whole(
    robot: BenchRobot, verifier: Verifier, truth: np.ndarray, targets: np.ndarray, repeats: int
) -> dict[str, object]:
    iks.solve_path(robot.chain, targets[:20], truth[0])  # compiles
    seconds = []
    for _ in range(repeats):
        began = perf_counter()
        path = iks.solve_path(robot.chain, targets, truth[0])
        seconds.append(perf_counter() - began)
    q = path.q[: path.reached]
    verified = sum(verifier.accepts(row, T) for row, T in zip(q, targets, strict=False))
    return {
        'solver': 'solve_path',
        'points': len(targets),
        'solved_percent': 100.0 * verified / len(targets),
        'fraction_percent': 100.0 * path.fraction,
        'seconds': min(seconds),
        **_smoothness(q, truth),
        'reason': path.end.text,
    }


def _point_by_point(
    adapter: Adapter, verifier: Verifier, truth: np.ndarray, targets: np.ndarray
) -> dict[str, object]:
    follower = Follower(adapter, truth[0])
    follower.follow(verifier, targets[:3])  # compiles
    follower = Follower(adapter, truth[0])
    follower.follow(verifier, targets)
    motions = np.array(follower.motions)
    before = np.flatnonzero(motions > _JUMP)
    whole = follower.solved == len(targets)
    first = int(before[0]) if len(before) else follower.solved if whole else math.nan
    return {
        'solver': adapter.name,
        'points': len(targets),
        'solved_percent': 100.0 * follower.solved / len(targets),
        'fraction_percent': 100.0 * first / len(targets),
        'seconds': float(np.sum(follower.seconds)),
        'jumps_0.1': len(before),
        'largest_motion': motions.max(initial=0.0),
    }


def _smoothness(q: np.ndarray, truth: np.ndarray) -> dict[str, object]:
    """Jumps, and the lengths and bends of a path beside those of the path that made the points."""
    steps, own = np.diff(q, axis=0), np.diff(truth[: len(q)], axis=0)
    bends, own_bends = np.diff(steps, axis=0), np.diff(own, axis=0)
    return {
        'jumps_0.1': int((np.abs(steps).max(axis=1) > _JUMP).sum()),
        'largest_motion': float(np.abs(steps).max(initial=0.0)),
        'length_ratio': float(np.abs(steps).sum() / np.abs(own).sum()),
        'bend_rms_ratio': float(np.sqrt(np.square(bends).mean() / np.square(own_bends).mean())),
    }


if __name__ == '__main__':
    main()
