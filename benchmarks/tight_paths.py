"""
Known joint paths on which joints move nearly as far as they may in every step.

The paths lead from one random posture to the next; they are cut so that in every step the joint
that moves most moves by the same. ``solve_path`` gets the poses, the first posture and a largest
step of 0.1 rad. Then straight lines between random postures, most of which cannot be followed: how
long it takes to say so. Writes nothing; prints a table.
"""

from __future__ import annotations

from pathlib import Path
import tempfile
from time import perf_counter

import numpy as np
from records import options, progress
from robots import BenchRobot, chosen_robots, published_arms
from scipy.interpolate import PchipInterpolator

import ik_service as iks
from ik_service.extras.studies.paths import poses_along, random_corners

_CHAINS = 'panda,iiwa14,abb_yumi_right,schunk_lwa4d,kinova_gen3'
_STEPS = (0.05, 0.08, 0.09, 0.095, 0.0975)
_LEGS = 60
_FINE = 80_000


def main() -> None:
    """Measure and print."""
    args = options(
        __doc__,
        paths=(8, 'paths for each chain'),
        rows=(300, 'points of a path'),
        lines=(30, 'straight lines for each chain'),
        chains=(_CHAINS, 'names, beside the arms held out'),
    )
    with tempfile.TemporaryDirectory() as folder:
        robots = [*published_arms(Path(folder)), *chosen_robots(args.chains)]
        for step in _STEPS:
            followed, seconds = 0, []
            for robot in robots:
                progress(f'steps of {step}: {robot.name}')
                for k in range(args.paths):
                    way = paced_path(robot, k, step, args.rows)
                    success, duration = _solved(robot, poses_along(robot.chain, way), way[0])
                    followed += success
                    seconds.append(duration)
            print(
                f'steps of {step} rad: {followed} of {len(seconds)} followed, '
                f'{np.median(seconds):.3f} s in the middle, {max(seconds):.2f} s at most'
            )
        _lines(robots, args.lines)


def paced_path(robot: BenchRobot, seed: int, step: float, rows: int) -> np.ndarray:
    """Joint path (rows, n) on which the joint that moves most moves by ``step`` [rad]."""
    corners = random_corners(robot.chain, seed, _LEGS, 0.3)
    curve = PchipInterpolator(np.arange(len(corners)), corners)
    fine = np.linspace(0, len(corners) - 1, _FINE)
    lengths = np.abs(np.diff(curve(fine), axis=0)).max(axis=1)
    travelled = np.concatenate([[0.0], np.cumsum(lengths)])
    return curve(np.interp(0.9999 * step * np.arange(rows), travelled, fine))


def _solved(robot: BenchRobot, targets: np.ndarray, start: np.ndarray) -> tuple[bool, float]:
    """Return whether a path is followed to the end, and the time for it [s]."""
    began = perf_counter()
    path = iks.solve_path(robot.chain, targets, start)
    return path.success, perf_counter() - began


def _lines(robots: list[BenchRobot], count: int) -> None:
    """Measure straight lines between random postures, in one orientation."""
    failing = []
    for robot in robots:
        progress(f'lines: {robot.name}')
        for k in range(count):
            first, last = random_corners(robot.chain, k, 1, 1.0)
            A, B = poses_along(robot.chain, np.array([first, last]))
            targets = np.tile(A, (300, 1, 1))
            targets[:, :3, 3] += np.linspace(0, 1, 300)[:, None] * (B - A)[:3, 3]
            success, duration = _solved(robot, targets, first)
            if not success:
                failing.append(duration)
    print(
        f'lines: {len(failing)} of {count * len(robots)} not followed to the end, told after '
        f'{np.mean(failing):.2f} s in the mean, {max(failing):.2f} s at most'
    )


if __name__ == '__main__':
    main()
